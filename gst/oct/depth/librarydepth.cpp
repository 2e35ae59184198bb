/* From spectra to depth by an FFT library's transform, and a kernel for what follows it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "librarydepth.hpp"
#include "depthparts.hpp"

#include <gst/opencl/devicebuffer.hpp>

namespace oct {
namespace {
const char *const resource = "/org/freedesktop/gstreamer/opencl/oct/octfft.cl";

/* As in the kernels. */
const gsize tile = 32;
const gsize strip_lines = 16;
const gsize strip_depths = 8;

gsize
blocks_of (gsize values, gsize block)
{
  return (values + block - 1) / block;
}

gsize
bytes_of_spectra (const EngineFormat &format)
{
  return gsize (format.samples) * format.lines * sizeof (cl_float)
         * (format.complex ? 2 : 1);
}

} // namespace

std::unique_ptr<DepthEngine>
LibraryDepth::make (GstOpenCLContext *context, const EngineFormat &format, GError **error)
{
  auto made = std::make_unique<LibraryDepth> ();
  if (!made->create (context, format, error))
    return nullptr;
  return made;
}

bool
LibraryDepth::create (
    GstOpenCLContext *context, const EngineFormat &wanted, GError **error)
{
  const bool picture = value_of (wanted).full > 0;
  format = wanted;
  strips = picture && opencl::is_cpu (context);
  fft.reset (gst_opencl_fft_new (
      context, format.library, format.samples, format.lines, !format.complex, error));
  if (!fft)
    return false;
  gsize stride = gst_opencl_fft_get_output_stride (fft.get ());
  return create_rolloff (context, format, rolloff, error)
         && opencl::make_buffer (
             context, stride * format.lines * sizeof (cl_float2), bins, error)
         && opencl::make_buffer (context, bytes_of_spectra (format), aside, error)
         && kernel.create (context, resource,
             strips    ? "make_picture_strips"
             : picture ? "make_picture"
                       : "make_lines",
             (std::string (value_of (format).options) + (strips ? " -DSTRIPS" : "")
                 + (format.oversampling > 1 ? " -DROLLED" : ""))
                 .c_str (),
             error);
}

/* A transform reads its input from the start of a cl_mem. */
bool
LibraryDepth::transform (
    cl_command_queue queue, const RawSpectra &spectra, GError **error)
{
  cl_mem from = spectra.data;
  if (spectra.offset > 0) {
    from = aside ();
    cl_int code = clEnqueueCopyBuffer (queue, spectra.data, from, spectra.offset, 0,
        bytes_of_spectra (format), 0, nullptr, nullptr);
    if (!gst_opencl_check (code, "clEnqueueCopyBuffer", error))
      return false;
  }
  return gst_opencl_fft_enqueue (fft.get (), queue, from, bins (), error);
}

bool
LibraryDepth::enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem, cl_mem,
    cl_uint, const DepthOutput &output, GError **error)
{
  const DepthValue &value = value_of (format);
  const DepthScaling scaling = scaling_of (format, output);
  gsize columns = output.depths, rows = format.lines;
  if (strips) {
    columns = blocks_of (format.lines, strip_lines);
    rows = blocks_of (output.depths, strip_depths);
  } else if (value.full > 0) {
    /* A work-group for each tile, or more where groups are smaller. */
    columns = blocks_of (format.lines, tile) * opencl::Kernel::largest_group;
    rows = blocks_of (output.depths, tile);
  }
  return check_alignment (output, value.bytes, error) && transform (queue, spectra, error)
         && kernel.launch (queue, columns, rows, error, bins (), rolloff (),
             cl_uint (gst_opencl_fft_get_output_stride (fft.get ())),
             cl_uint (output.first), cl_uint (output.depths), cl_uint (format.lines),
             cl_uint (output.logarithmic), scaling.factor, scaling.zero, scaling.least,
             output.data, cl_ulong (output.offset / value.bytes),
             cl_uint (output.stride / value.bytes));
}
} // namespace oct
