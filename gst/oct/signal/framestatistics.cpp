/* Statistics of the spectra or the depths of a frame over its A-lines, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "framestatistics.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octsignal.cl"

namespace oct {
namespace {
const guint rows_of_partial = 5; /* as in the kernel */
const guint most_blocks = 256, least_lines = 8;

/* Distribution of A-lines over work-items, as few blocks as keep the device busy */
guint
lines_of_block (GstOpenCLContext *context, guint lines)
{
  const guint blocks = opencl::is_cpu (context)
                           ? 2 * guint (opencl::compute_units (context))
                           : most_blocks;
  return std::max ((lines + blocks - 1) / blocks, least_lines);
}

/* Number of adjacent values per work-item. Neighbouring work-items of a GPU read together
 * anyway. */
guint
width_of_items (GstOpenCLContext *context, gsize values)
{
  const guint wide = 8;
  return opencl::is_cpu (context) && values >= wide ? wide : 1;
}

std::string
width_option (guint wide)
{
  return " -DWIDE=" + std::to_string (wide)
         + " -DTWICE_WIDE=" + std::to_string (2 * wide);
}
} // namespace

bool
SpectrumStatistics::create (GstOpenCLContext *of, const CapsFormat &caps_format,
    guint n_samples, guint n_lines, GError **error)
{
  context = of;
  format = &caps_format;
  samples = n_samples;
  lines = n_lines;
  line_bytes = format->line_bytes (samples);
  wide = width_of_items (context, samples);
  lines_of_block = oct::lines_of_block (context, lines);
  blocks = (lines + lines_of_block - 1) / lines_of_block;
  frames = 0;
  return opencl::make_buffer (context,
             sizeof (cl_float) * rows_of_partial * blocks * samples, partial, error)
         && opencl::make_buffer (context, sizeof (cl_float) * samples, background, error);
}

/* Kernels are built when a frame first needs them. */
SpectrumStatistics::Kernels *
SpectrumStatistics::kernels_for (
    const GstOpenCLFrame *frame, cl_long stride, GError **error)
{
  const bool complex = g_str_equal (format->format, "CF32LE");
  const bool words = G_BYTE_ORDER == G_LITTLE_ENDIAN && !format->unpack
                     && format->sample == SampleFormat::u16le;
  const bool aligned =
      words && frame->offset[0] % sizeof (cl_ushort) == 0 && stride % 2 == 0;
  if (complex && !check_frame_alignment (frame, sizeof (cl_float), error))
    return nullptr;
  std::string options = complex   ? "-DCOMPLEX_SAMPLES"
                        : aligned ? "-DLOADED=ushort"
                                  : std::string ("-DTO_FLOAT -D") + format->unpacking ();
  options += width_option (wide);
  Kernels &made = kernels[aligned];
  if (made.find.created ()
      || (made.sum.create (context, KERNELS, "sum_spectra", options.c_str (), error)
          && made.find.create (
              context, KERNELS, "find_spectrum", options.c_str (), error)))
    return &made;
  return nullptr;
}

bool
SpectrumStatistics::enqueue (cl_command_queue queue, const GstOpenCLFrame *frame,
    const Request &request, cl_mem result, GError **error)
{
  const cl_long stride =
      frame->stride[0] == 0 ? cl_long (line_bytes) : cl_long (frame->stride[0]);
  const double full_scale = request.full_scale > 0 ? request.full_scale : INFINITY;
  Kernels *made = kernels_for (frame, stride, error);
  frames = std::min (frames + 1, request.background_frames);
  return made
         && made->sum.launch (queue, (samples + wide - 1) / wide, blocks, error,
             frame->data, cl_ulong (frame->offset[0]), stride, cl_uint (samples),
             cl_uint (lines), cl_uint (request.shift), cl_float (full_scale),
             lines_of_block, blocks, partial ())
         && made->find.launch (queue, samples, 1, error, partial (), cl_uint (samples),
             blocks, frame->data, cl_ulong (frame->offset[0]), stride,
             cl_int (request.line), cl_uint (request.shift), cl_float (1.0 / frames),
             background (), result);
}

bool
DepthStatistics::create (
    GstOpenCLContext *context, const DepthLayout &layout, GError **error)
{
  wide = width_of_items (context, layout.depths);
  std::string options = layout.complex                   ? "-DCOMPLEX_DEPTHS"
                        : layout.quantity == "amplitude" ? "-DAMPLITUDES"
                                                         : "-DDECIBELS";
  options += width_option (wide) + " -DGROUP=" + std::to_string (around);
  depths = layout.depths;
  lines = guint (layout.lines);
  first_bin = layout.first_depth;
  value_bytes = guint (layout.bytes);
  complex = layout.complex;
  lines_of_block = oct::lines_of_block (context, lines);
  blocks = (lines + lines_of_block - 1) / lines_of_block;
  around_blocks = std::min (lines, most_around_blocks);
  return sum.create (context, KERNELS, "sum_depths", options.c_str (), error)
         && find.create (context, KERNELS, "find_depths", options.c_str (), error)
         && (!complex
             || sum_around.create (
                 context, KERNELS, "sum_around_peak", options.c_str (), error))
         && opencl::make_buffer (
             context, sizeof (cl_float) * 2 * blocks * depths, partial, error);
}

bool
DepthStatistics::enqueue (cl_command_queue queue, const GstOpenCLFrame *frame, gint line,
    guint least_bin, cl_mem result, GError **error)
{
  const cl_ulong first =
      frame->offset[0] / value_bytes + (line < 0 ? 0 : gsize (line) * depths);
  const cl_uint used = line < 0 ? lines : 1;
  const cl_uint used_blocks = (used + lines_of_block - 1) / lines_of_block;
  const cl_uint least = least_bin > first_bin ? least_bin - first_bin : 0;
  return check_frame_alignment (frame, value_bytes, error)
         && sum.launch (queue, (depths + wide - 1) / wide, used_blocks, error,
             frame->data, first, cl_uint (depths), used, lines_of_block, used_blocks,
             partial ())
         && find.launch (
             queue, depths, 1, error, partial (), cl_uint (depths), used_blocks, result)
         && (!complex
             || sum_around.launch_groups (queue, around_blocks, around, error,
                 frame->data, first, cl_uint (depths), used,
                 cl_uint ((used + around_blocks - 1) / around_blocks), least, result));
}

AScan
DepthStatistics::read (const float *result, gint line, guint least_bin) const
{
  AScan scan;
  scan.intensities.assign (result, result + depths);
  scan.first_bin = first_bin;
  scan.least_bin = least_bin;
  scan.complex = complex;
  const float *valid = result + depths;
  scan.lines = std::max (double (*std::max_element (valid, valid + depths)), 1.0);
  if (!complex)
    return scan;
  const auto peak = gsize (valid[depths]);
  const float *sums = valid + depths + 1;
  scan.fine_first = gint (peak) - gint (around) / 2;
  for (gsize n = 0; n < around; n++) {
    double sum = 0;
    for (gsize block = 0; block < around_blocks; block++)
      sum += sums[block * around + n];
    scan.fine.push_back (sum / std::max (double (valid[peak]), 1.0));
  }
  return scan;
}
} // namespace oct
