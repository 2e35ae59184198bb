/* Elements by computed indices, the first ones in order, samples at computed places, and boxes
 * that do not overlap
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernelstep.hpp"

#include <gst/reduction/sorting.hpp>

#include <algorithm>

namespace inference {
namespace {
/* The largest power of two up to `wanted` that a work-group can have; 1 on a CPU */
gsize
split_of (GstOpenCLContext *context, gsize wanted)
{
  while (wanted > 1
         && (opencl::is_cpu (context) || wanted > opencl::largest_group (context)))
    wanted /= 2;
  return wanted;
}

/* A gather's table has the strides of the data. A scatter's numbers the data in order. */
std::vector<cl_long>
table_of (const IndexOp &what, const Tensor &data, const Tensor &indices,
    const Tensor &moved, const Tensor &output)
{
  const bool gathers = what.kind == IndexOp::gather;
  const Shape &shape = gathers ? data.shape : output.shape;
  const std::vector<gint64> strides = gathers ? data.strides : contiguous_strides (shape);
  std::vector<cl_long> table;
  for (gsize d = moved.rank (); d-- > 0;) {
    const auto [of_data, of_indices] = what.dimensions[d];
    table.insert (table.end (),
        {moved.shape[d], of_data < 0 ? 0 : strides[gsize (of_data)],
            of_indices < 0 ? 0 : indices.strides[gsize (of_indices)], moved.strides[d]});
  }
  for (const gint32 d : what.chosen)
    table.insert (table.end (), {strides[gsize (d)], shape[gsize (d)]});
  for (gsize d = output.rank (); d-- > 0 && !gathers;)
    table.insert (table.end (), {output.shape[d], data.strides[d], output.strides[d]});
  return table;
}
} // namespace

StepPointer
make_index_step (const StepRequest &request, const IndexOp &what, GError **error)
{
  auto step = std::make_unique<CallStep> (request.context);
  const bool gathers = what.kind == IndexOp::gather;
  const Tensor &data = request.inputs[0], &indices = request.inputs[1],
               &output = request.outputs[0];
  const Tensor &moved = gathers ? output : request.inputs[2];
  const cl_long index_step =
      what.components < 0 ? 0 : indices.strides[gsize (what.components)];
  const gsize items = gsize (moved.count ()), elements = gsize (output.count ());
  const std::string options = compute::number_macros (moved.type, 1)
                              + macro ("RANK", gint64 (moved.rank ()))
                              + macro ("CHOSEN", gint64 (what.chosen.size ()))
                              + macro ("DATA_RANK", gint64 (output.rank ()))
                              + macro ("COMBINE", gint64 (what.kind))
                              + " -DINDEX=" + opencl::info_of (indices.type).opencl;
  const cl_mem table = step->table (table_of (what, data, indices, moved, output), error);
  if (!table)
    return nullptr;
  if (gathers)
    return step->add ("index.cl", "gather", options, items, 0, error, data, indices,
               index_step, output, table, cl_uint (items))
               ? std::move (step)
               : nullptr;
  const Tensor &heads = request.outputs[1], &next = request.outputs[2];
  return step->add (
             "index.cl", "clear", options, elements, 0, error, heads, cl_uint (elements))
                 && step->add ("index.cl", "link_updates", options, items, 0, error,
                     indices, index_step, heads, next, table, cl_uint (items))
                 && step->add ("index.cl", "scatter", options, elements, 0, error, data,
                     moved, output, heads, next, table, cl_uint (elements))
             ? std::move (step)
             : nullptr;
}

StepPointer
make_top_step (const StepRequest &request, const TopOp &what, GError **error)
{
  auto step = std::make_unique<CallStep> (request.context);
  const Tensor &input = request.inputs[0], &output = request.outputs[0],
               &indices = request.outputs[1], &chosen = request.outputs[2];
  const gsize axis = gsize (what.axis);
  const cl_int wanted = cl_int (output.shape[axis]);
  std::vector<cl_long> table;
  for (gsize d = input.rank (); d-- > 0;)
    if (d != axis)
      table.insert (table.end (),
          {input.shape[d], input.strides[d], output.strides[d], indices.strides[d]});
  const gsize rank = table.size () / 4, items = gsize (output.count ());
  const gsize split = split_of (request.context, 256);
  const opencl::NumberInfo &number = opencl::info_of (input.type);
  const std::string options =
      compute::number_macros (input.type, 1) + macro ("IS_REAL", number.kind == 'f')
      + macro ("IS_SIGNED", input.type != opencl::NumberType::u64)
      + " -DKEY=" + (number.kind == 'f' && number.size < 8 ? "uint" : "ulong")
      + macro ("SPLIT", gint64 (split)) + macro ("LARGEST", what.largest)
      + macro ("OUTER_RANK", gint64 (rank));
  const cl_mem outer = step->table (table, error);
  const cl_long input_step = input.strides[axis];
  return outer
                 && step->add (ORDER_KERNELS, "select_top", options,
                     items / gsize (wanted) * split, split, error, input, chosen, outer,
                     cl_int (input.shape[axis]), input_step, wanted)
                 && step->add (ORDER_KERNELS, "order_top", options, items, 0, error,
                     input, chosen, output, indices, outer, cl_uint (items), wanted,
                     input_step, cl_long (output.strides[axis]),
                     cl_long (indices.strides[axis]))
             ? std::move (step)
             : nullptr;
}

StepPointer
make_grid_step (const StepRequest &request, const GridOp &what, GError **error)
{
  auto step = std::make_unique<CallStep> (request.context);
  const Tensor &input = request.inputs[0], &grid = request.inputs[1],
               &output = request.outputs[0];
  const gsize rank = output.rank ();
  /* On a CPU, a work-item computes the place for all channels. */
  const gint64 channels = opencl::is_cpu (request.context) ? output.shape[1] : 1;
  const gsize items = gsize (output.count () / channels);
  std::vector<gsize> order;
  for (gsize d = rank; d-- > 0;)
    order.push_back (d);
  std::stable_sort (order.begin (), order.end (), [&] (gsize one, gsize other) {
    return std::abs (output.strides[one]) < std::abs (output.strides[other]);
  });
  std::vector<cl_long> table;
  for (const gsize d : order)
    table.insert (table.end (),
        {d == 1 ? output.shape[1] / channels : output.shape[d], output.strides[d],
            d == 1 ? 0 : grid.strides[d == 0 ? 0 : d - 1], d < 2 ? input.strides[d] : 0});
  for (gsize d = rank; d-- > 2;)
    table.insert (table.end (), {input.shape[d], input.strides[d]});
  static const gint64 taps[] = {1, 2, 4};
  const std::string options =
      compute::number_macros (input.type, 1) + macro ("RANK", gint64 (rank))
      + macro ("SPATIAL", gint64 (rank) - 2) + macro ("TAPS", taps[what.mode])
      + macro ("PADDING", gint64 (what.padding)) + macro ("ALIGNED", what.aligned);
  const cl_mem geometry = step->table (table, error);
  return geometry
                 && step->add ("sampling.cl", "sample_grid", options, items, 0, error,
                     input, grid, cl_long (grid.strides.back ()), output, geometry,
                     cl_int (channels), cl_long (input.strides[1]),
                     cl_long (output.strides[1]), cl_uint (items))
             ? std::move (step)
             : nullptr;
}

StepPointer
make_region_step (const StepRequest &request, const RegionOp &what, GError **error)
{
  auto step = std::make_unique<CallStep> (request.context);
  const Tensor &input = request.inputs[0], &regions = request.inputs[1],
               &images = request.inputs[2], &output = request.outputs[0];
  std::vector<cl_long> table;
  for (gsize d = 0; d < 4; d++)
    table.insert (table.end (),
        {output.shape[d], output.strides[d], input.shape[d], input.strides[d]});
  const std::string options =
      compute::number_macros (input.type, 1) + macro ("MAXIMUM", what.maximum)
      + macro ("HALF_PIXEL", what.half_pixel) + macro ("SAMPLES", what.samples)
      + " -DINDEX=" + opencl::info_of (images.type).opencl;
  const cl_mem geometry = step->table (table, error);
  return geometry
                 && step->add ("sampling.cl", "align_regions", options,
                     gsize (output.count ()), 0, error, input, regions,
                     cl_long (regions.strides[0]), cl_long (regions.strides[1]), images,
                     cl_long (images.strides[0]), output, geometry, cl_float (what.scale),
                     cl_uint (output.count ()))
             ? std::move (step)
             : nullptr;
}

StepPointer
make_suppress_step (const StepRequest &request, const SuppressOp &what, GError **error)
{
  auto step = std::make_unique<CallStep> (request.context);
  const Tensor &boxes = request.inputs[0], &scores = request.inputs[1],
               &output = request.outputs[0], &scratch = request.outputs[1];
  const gsize lines = gsize (scores.shape[0] * scores.shape[1]);
  const gsize split = split_of (request.context, 256);
  const std::string options =
      compute::number_macros (boxes.type, 1) + macro ("SPLIT", gint64 (split))
      + macro ("CENTRED", what.centred) + macro ("NO_INDEX", no_index);
  const cl_int classes = cl_int (scores.shape[1]), count = cl_int (boxes.shape[1]),
               most = cl_int (what.most);
  return step->add ("sampling.cl", "suppress", options, lines * split, split, error,
             boxes, cl_long (boxes.strides[0]), cl_long (boxes.strides[1]),
             cl_long (boxes.strides[2]), scores, cl_long (scores.strides[0]),
             cl_long (scores.strides[1]), cl_long (scores.strides[2]), scratch, classes,
             count, most, cl_float (what.overlap), cl_float (what.score))
                 && step->add ("sampling.cl", "list_boxes", options,
                     gsize (output.shape[0]), 0, error, scratch, output,
                     cl_long (output.strides[0]), cl_long (output.strides[1]), classes,
                     cl_int (lines), count, most, cl_uint (output.shape[0]))
             ? std::move (step)
             : nullptr;
}
} // namespace inference
