/* Harness of octwindowinterp and octfft: numbers of spectra in, complex depths out
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../harness.hpp"
#include "../octreference.hpp"
#include "tablefile.hpp"

namespace check {
class DepthChain {
public:
  DepthChain (const std::string &spectra, const std::string &depth, gsize samples,
      gsize lines, const std::string &format = "F32LE")
      : harness ("openclupload ! octwindowinterp " + spectra + " ! octfft " + depth
                     + " ! application/x-oct(memory:OpenCLMemory),domain=depth,"
                       "format=CF32LE ! opencldownload",
          "application/x-oct,domain=wavelength,framerate=25/1,format=" + format
              + ",samples=" + std::to_string (samples)
              + ",lines=" + std::to_string (lines))
  {
  }

  GstElement *find (const char *factory)
  {
    Owned<GstElement> found = harness.find (factory);
    return found;
  }

  /* Rounds the samples to float32. */
  fourier::Line pass (const reference::Values &samples)
  {
    Bytes bytes (samples.size () * 4);
    for (gsize n = 0; n < samples.size (); n++)
      GST_WRITE_FLOAT_LE (&bytes[4 * n], float (samples[n]));
    return pass_bytes (bytes);
  }

  fourier::Line pass_bytes (const Bytes &bytes)
  {
    const Bytes found = read_buffer (harness.pass (buffer_of (bytes)));
    fourier::Line bins (found.size () / 8);
    for (gsize n = 0; n < bins.size (); n++)
      bins[n] = {
          GST_READ_FLOAT_LE (&found[8 * n]), GST_READ_FLOAT_LE (&found[8 * n + 4])};
    return bins;
  }

  Harness harness;
};
} // namespace check
