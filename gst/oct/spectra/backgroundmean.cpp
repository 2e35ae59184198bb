/* The background of a spectrum as the mean over the lines of frames, kept on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "backgroundmean.hpp"

#include <algorithm>

namespace oct {
namespace {
/* Enough blocks of lines to keep a GPU busy, few enough to be summed by one work-item. */
const gsize most_blocks = 64;
const gsize smallest_block = 16;

bool
create_buffer (GstOpenCLContext *context, gsize bytes, cl::Buffer &buffer, GError **error)
{
  cl_int code;
  cl_context handle = gst_opencl_context_get_handle (context);
  buffer = cl::Buffer (clCreateBuffer (handle, CL_MEM_READ_WRITE, bytes, nullptr, &code));
  return gst_opencl_check (code, "clCreateBuffer", error);
}
} // namespace

bool
BackgroundMean::create (GstOpenCLContext *context, gsize samples, gsize lines,
    guint preceding, GError **error)
{
  block = std::max (smallest_block, (lines + most_blocks - 1) / most_blocks);
  blocks = (lines + block - 1) / block;
  frames = preceding;
  filled = next = 0;
  return create_buffer (context, sizeof (float) * samples * blocks, sums, error)
         && create_buffer (context, sizeof (float) * samples * (1 + frames), rows, error);
}

bool
BackgroundMean::mean_of_frame (BackgroundKernels &kernels, const RawSpectra &spectra,
    guint row, cl_command_queue queue, GError **error)
{
  return kernels.sum_blocks.launch (queue, spectra.samples, blocks, error, spectra.data,
             spectra.offset, spectra.stride, spectra.samples, spectra.lines,
             spectra.shift, block, sums ())
         && kernels.mean_of_rows.launch (queue, spectra.samples, 1, error, sums (),
             cl_uint (0), spectra.samples, blocks, cl_float (spectra.lines), rows (),
             cl_uint (row * spectra.samples));
}

bool
BackgroundMean::mean_of_frames (BackgroundKernels &kernels, const RawSpectra &spectra,
    cl_command_queue queue, GError **error)
{
  return kernels.mean_of_rows.launch (queue, spectra.samples, 1, error, rows (),
      spectra.samples, spectra.samples, cl_uint (filled), cl_float (filled), rows (),
      cl_uint (0));
}

bool
BackgroundMean::update (BackgroundKernels &kernels, const RawSpectra &spectra,
    cl_command_queue queue, GError **error)
{
  if (frames == 0)
    return mean_of_frame (kernels, spectra, 0, queue, error);

  bool first = filled == 0;
  if (!first && !mean_of_frames (kernels, spectra, queue, error))
    return false;
  if (!mean_of_frame (kernels, spectra, 1 + next, queue, error))
    return false;
  filled = std::min (filled + 1, frames);
  next = (next + 1) % frames;
  return !first || mean_of_frames (kernels, spectra, queue, error);
}
} // namespace oct
