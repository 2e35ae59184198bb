/* Unpacks samples that other kernels do not read: signed, 32-bit or packed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "unpacking.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/unpack.cl"

namespace oct {
bool
Unpacking::create (
    GstOpenCLContext *of, const char *option, SampleFormat made, GError **error)
{
  context = of;
  sample_bytes = sample_of (made).bytes;
  return kernel.create (
      of, KERNELS, "unpack", (std::string ("-D") + option).c_str (), error);
}

bool
Unpacking::enqueue (cl_command_queue queue, guint first, guint samples,
    RawSpectra &spectra, GError **error)
{
  const gsize line = samples * sample_bytes;
  std::shared_ptr<cl::Buffer> made =
      buffers.unused (context, line * spectra.lines, error);
  if (!made
      || !kernel.launch (queue, samples, spectra.lines, error, spectra.data,
          spectra.offset, spectra.stride, cl_uint (first), cl_uint (samples),
          spectra.lines, spectra.shift, (*made) ()))
    return false;
  spectra.data = (*made) ();
  spectra.offset = 0;
  spectra.stride = cl_long (line);
  spectra.samples = samples;
  spectra.shift = 0;
  spectra.unpacked = std::move (made);
  spectra.is_read = true;
  return true;
}
} // namespace oct
