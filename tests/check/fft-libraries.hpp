/* gstreamer-opencl tests: the FFT libraries that this build has
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/gstopenclfft.h>

#include <vector>

namespace check {
inline bool
has_clfft ()
{
  return gst_opencl_fft_library_is_built (GST_OPENCL_FFT_LIBRARY_CLFFT);
}

/* Values of the property fft-library */
inline std::vector<const char *>
fft_libraries ()
{
  std::vector<const char *> names = {"vkfft"};
  if (has_clfft ())
    names.push_back ("clfft");
  return names;
}
} // namespace check
