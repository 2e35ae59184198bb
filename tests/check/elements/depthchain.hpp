/* octwindowinterp and octfft in a harness: numbers of spectra in, complex depths out
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib/gstdio.h>

#include "../harness.hpp"
#include "../octreference.hpp"

namespace check {
/* A file of numbers for as long as a test needs it. */
class TableFile {
public:
  explicit TableFile (const reference::Values &values)
  {
    std::string text;
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    for (double value : values)
      text += std::string (g_ascii_dtostr (number, sizeof number, value)) + "\n";
    gchar *name = nullptr;
    gint descriptor = g_file_open_tmp ("oct-table-XXXXXX", &name, nullptr);
    fail_unless (descriptor >= 0);
    g_close (descriptor, nullptr);
    path = name;
    g_free (name);
    fail_unless (g_file_set_contents (
        path.c_str (), text.data (), gssize (text.size ()), nullptr));
  }
  TableFile (const TableFile &) = delete;
  ~TableFile () { g_remove (path.c_str ()); }
  std::string path;
};

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

  /* Of float32. */
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
