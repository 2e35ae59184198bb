/* Mean intensities over the A-lines of a frame of depths, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthstatistics.hpp"

#include "spectrumstatistics.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octsignal.cl"

namespace oct {
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
