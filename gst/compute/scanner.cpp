/* Cumulative sums of strided arrays along an axis
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scanner.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <algorithm>

namespace compute {
gint64
Scanner::vectors () const
{
  return length_in_vectors (shape.kept[0].length, lanes)
         * (shape.kept_count () / shape.kept[0].length);
}

/* On a GPU, a work-group takes a line whose elements are contiguous. Elsewhere a work-item
 * takes a line or a vector of lines. Lines are divided if there are too few of them. */
void
Scanner::choose_groups (GstOpenCLContext *context)
{
  const bool cpu = opencl::is_cpu (context);
  const gint64 length = shape.columns ();
  const gint64 units = opencl::compute_units (context);
  lanes = kept_lanes (context, types, shape.kept[0]);
  group = 1;
  if (!cpu && lanes == 1 && shape.reduced[0].input == 1 && length >= 32) {
    while (group < 128 && 2 * group <= opencl::largest_group (context))
      group *= 2;
  }
  const gint64 enough = units * (cpu ? 4 : 2048);
  const gint64 least = cpu ? 8192 : 64 * gint64 (group);
  const gint64 count =
      std::clamp (std::min (enough / (vectors () * gint64 (group)), length / least),
          gint64 (1), gint64 (256));
  chunks.length = (length + count - 1) / count;
  chunks.count = (length + chunks.length - 1) / chunks.length;
  chunks.of_rows = false;
  alone = cpu && chunks.length >= 512;
}

bool
Scanner::create_sums (GstOpenCLContext *context, GError **error)
{
  ReductionPass::Request request = {
      Reduction::sum, types, packed_output (shape), shape.columns ()};
  request.writes_partials = true;
  summing.plan (context, request);
  return opencl::make_buffer (context,
             partial_bytes (types, shape.kept_count () * chunks.count), sums, error)
         && summing.create (context, chunks, error);
}

bool
Scanner::create_kernel (GstOpenCLContext *context, GError **error)
{
  std::vector<cl_long> table;
  for (const ReductionDimension &dimension : shape.kept)
    table.insert (table.end (), {dimension.length, dimension.input, dimension.output});
  table[0] = length_in_vectors (shape.kept[0].length, lanes);
  geometry = opencl::make_table (
      context, table.data (), table.size () * sizeof (cl_long), error);
  const std::string options = partial_macros (Reduction::sum, types, lanes)
                              + " -DGROUP=" + std::to_string (group)
                              + " -DCHUNKED=" + std::to_string (chunks.count > 1);
  return geometry ()
         && kernel.create (context, "/org/freedesktop/gstreamer/opencl/compute/scan.cl",
             "scan", options.c_str (), error);
}

bool
Scanner::create (GstOpenCLContext *context, opencl::NumberType stored,
    opencl::NumberType written, const ArrayLayout &input, const ArrayLayout &output,
    gsize axis, GError **error)
{
  ArrayLayout reduced = output;
  reduced.lengths[axis] = 1;
  types = types_of (Reduction::sum, stored, written);
  shape = make_shape (input, reduced);
  axis_output = output.strides[axis];
  choose_groups (context);
  if (chunks.count > 1 && !create_sums (context, error))
    return false;
  if (!create_kernel (context, error))
    return false;
  while (!kernel.allows (group)) {
    group /= 2;
    if (!create_kernel (context, error))
      return false;
  }
  return true;
}

bool
Scanner::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset,
    cl_mem output, gint64 output_offset, GError **error)
{
  const bool is_chunked = chunks.count > 1;
  if (is_chunked
      && !summing.enqueue (
          queue, input, input_offset, sums (), shape.kept_count () * chunks.count, error))
    return false;
  if (!kernel.set_all (error, input, cl_long (input_offset), output,
          cl_long (output_offset), geometry (), cl_uint (shape.kept.size ()),
          cl_long (shape.kept[0].length), cl_ulong (vectors ()),
          cl_ulong (shape.columns ()), cl_long (shape.reduced[0].input),
          cl_long (axis_output), cl_ulong (chunks.length),
          is_chunked ? sums () : geometry (), cl_ulong (shape.kept_count ())))
    return false;
  const gsize items = gsize (vectors ()) * group;
  if (group == 1 && !alone)
    return kernel.enqueue (queue, items, gsize (chunks.count), error);
  const gsize global[] = {items, gsize (chunks.count)}, local[] = {group, 1};
  return gst_opencl_launch (queue, kernel.handle (), 2, global, local, error);
}
} // namespace compute
