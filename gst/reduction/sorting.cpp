/* Sorted arrays, quantiles and histograms on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "sorting.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/deviceinfo.hpp>

#include <algorithm>
#include <cmath>

namespace compute {
using opencl::NumberType;

/* --- lines --- */

bool
Lines::create_lines (
    GstOpenCLContext *context, const LineArrays &arrays, gint64 longest, GError **error)
{
  shape = make_shape (arrays.input, arrays.output);
  lines = shape.kept_count ();
  length = shape.rows () * shape.columns ();
  on_cpu = opencl::is_cpu (context);
  if (length > longest) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%" G_GINT64_FORMAT
        " elements along the axes, expected at most %" G_GINT64_FORMAT,
        length, longest);
    return false;
  }
  std::vector<cl_long> table;
  for (const ReductionDimension &dimension : shape.kept)
    table.insert (table.end (), {dimension.length, dimension.input, dimension.output, 0});
  for (const ReductionDimension &dimension : shape.reduced)
    table.insert (table.end (), {dimension.length, dimension.input});
  return opencl::make_table (context, table, outer, error);
}

/* Bytes of the integers whose order is that of the numbers */
static gsize
key_size (const ReductionTypes &types)
{
  const opencl::NumberInfo &computed = opencl::info_of (types.computed);
  const gsize size =
      computed.kind == 'f' ? computed.size : opencl::info_of (types.stored).size;
  return MAX (size, sizeof (cl_uint));
}

std::string
Lines::options (const ReductionTypes &types) const
{
  return type_macros (types, 1)
         + macro ("IS_SIGNED", opencl::info_of (types.stored).kind == 'i')
         + " -DKEY=" + (key_size (types) == sizeof (cl_uint) ? "uint" : "ulong")
         + macro ("OUTER_RANK", gint64 (shape.kept.size ()))
         + macro ("INNER_RANK", gint64 (shape.reduced.size ()));
}

bool
Lines::make_numbers (GstOpenCLContext *context, NumberType computed,
    const std::vector<double> &numbers, cl::Buffer &buffer, GError **error) const
{
  auto make = [&] (auto zero) {
    using Number = decltype (zero);
    return opencl::make_table (
        context, std::vector<Number> (numbers.begin (), numbers.end ()), buffer, error);
  };
  return computed == NumberType::f64   ? make (cl_double ())
         : computed == NumberType::f32 ? make (cl_float ())
         : computed == NumberType::u64 ? make (cl_ulong ())
                                       : make (cl_long ());
}

/* --- sorting --- */

static const gint64 run_length = 16; /* RUN of order.cl */

/* A quantile lies between two elements in order. */
bool
Sorter::create_quantiles (GstOpenCLContext *context, const Request &request,
    NumberType computed, GError **error)
{
  std::vector<cl_uint> whole;
  std::vector<double> rest;
  for (double quantile : request.quantiles) {
    const double place = quantile * double (length - 1);
    whole.push_back (cl_uint (place));
    rest.push_back (place - std::floor (place));
  }
  return opencl::make_table (context, whole, below, error)
         && make_numbers (context, computed, rest, fractions, error);
}

bool
Sorter::create_kernels (GstOpenCLContext *context, const Request &request,
    const ReductionTypes &types, GError **error)
{
  static const char *const names[] = {
      "store_values", "store_positions", "store_quantiles"};
  const std::string order = options (types) + macro ("LARGEST", request.descending)
                            + macro ("HAS_CHOSEN", sorted < length);
  if (interpolates && !create_quantiles (context, request, types.computed, error))
    return false;
  split = 256;
  while (split > 1 && (on_cpu || split > opencl::largest_group (context)))
    split /= 2;
  do {
    const std::string all = order + macro ("SPLIT", gint64 (split));
    if (!opencl::create_kernels (context, ORDER_KERNELS, all,
            {{select, "select_top"}, {sort, "sort_runs"}, {merge, "merge_runs"},
                {store, names[request.result]}},
            error))
      return false;
  } while (!select.allows (split) && (split /= 2) > 0);
  return true;
}

/* A few elements of many lines are selected before they are sorted. */
bool
Sorter::create (GstOpenCLContext *context, const Request &request, GError **error)
{
  const gint64 longest = 1 << 30;
  if (!create_lines (context, request.arrays, longest, error))
    return false;
  interpolates = request.result == quantiles;
  results = interpolates ? gint64 (request.quantiles.size ()) : request.wanted;
  step = request.step;
  const bool selects = !interpolates && results * 4 <= length
                       && lines >= gint64 (opencl::compute_units (context))
                       && shape.reduced.size () == 1;
  sorted = selects ? results : length;
  const NumberType stored = request.arrays.stored;
  const ReductionTypes types =
      interpolates ? types_of (Reduction::mean, stored, request.arrays.written)
                   : types_of (Reduction::position, stored, stored);
  if (!create_kernels (context, request, types, error))
    return false;
  const gsize elements = gsize (lines) * gsize (sorted), key = key_size (types);
  for (int n = 0; n < 2; n++) {
    if (!opencl::make_buffer (context, elements * key, keys[n], error)
        || !opencl::make_buffer (context, elements * sizeof (cl_uint), indices[n], error))
      return false;
  }
  return true;
}

bool
Sorter::enqueue_merges (cl_command_queue queue, GError **error)
{
  const gint64 most = on_cpu ? 4096 : 8;
  const gsize group = on_cpu ? 1 : merge.allowed (64);
  for (gint64 run = run_length; run < sorted; run *= 2, in_order ^= 1) {
    const gint64 span = std::min (2 * run, most), spans = (sorted + span - 1) / span;
    const gsize items = gsize (lines) * gsize (spans);
    if (!merge.launch_groups (queue, (items + group - 1) / group, group, error,
            keys[in_order](), indices[in_order](), keys[in_order ^ 1](),
            indices[in_order ^ 1](), cl_uint (sorted), cl_uint (run), cl_uint (span),
            cl_uint (spans), cl_ulong (items)))
      return false;
  }
  return true;
}

bool
Sorter::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
    gint64 output_offset, GError **error)
{
  const cl_long from = input_offset, input_step = shape.reduced[0].input;
  const gint64 runs = (sorted + run_length - 1) / run_length;
  const gsize items = gsize (lines) * gsize (runs);
  const gsize made = gsize (lines) * gsize (results);
  in_order = 0;
  if (sorted < length
      && !select.launch_groups (queue, gsize (lines), split, error, input, from,
          indices[1](), cl_long (0), outer (), cl_int (length), input_step,
          cl_int (results)))
    return false;
  if (!sort.launch (queue, items, 1, error, input, from, outer (), input_step,
          indices[1](), keys[0](), indices[0](), cl_uint (sorted), cl_uint (runs),
          cl_ulong (items))
      || !enqueue_merges (queue, error))
    return false;
  cl_uint index = 0;
  auto set = [&] (const auto &...values) {
    return (store.set (index, values, error) && ...);
  };
  return set (input, from, outer (), input_step, indices[in_order](), cl_uint (sorted),
             output, cl_long (output_offset), cl_long (step), cl_uint (results),
             cl_ulong (made))
         && (!interpolates || set (below (), fractions ()))
         && store.enqueue (queue, made, 1, error);
}

/* --- histograms --- */

/* Edges as numpy.linspace() computes them. Whole numbers are compared with whole edges. */
static std::vector<double>
edges_of (const Histogram::Request &request, NumberType computed)
{
  const double width = (request.most - request.least) / request.bins;
  std::vector<double> edges;
  for (guint n = 0; n < request.bins; n++)
    edges.push_back (n * width + request.least);
  edges.push_back (request.most);
  if (opencl::info_of (computed).kind == 'f')
    return edges;
  const double lowest = computed == NumberType::u64 ? 0 : -9e18;
  for (double &edge : edges)
    edge = std::clamp (
        &edge == &edges.back () ? std::floor (edge) : std::ceil (edge), lowest, 9e18);
  return edges;
}

bool
Histogram::create (GstOpenCLContext *context, const Request &request, GError **error)
{
  const NumberType stored = request.arrays.stored;
  const ReductionTypes types = types_of (Reduction::position, stored, stored);
  const gsize most_local = MIN (opencl::local_memory (context) / 2, 16384);
  bins = request.bins;
  if (!create_lines (context, request.arrays, G_MAXINT32, error))
    return false;
  const gint64 units = opencl::compute_units (context), least = 4096;
  const gint64 groups =
      std::clamp (units * (on_cpu ? 4 : 16) / lines, gint64 (1), length / least + 1);
  span = (length + groups - 1) / groups;
  group = on_cpu ? 1 : std::min (gsize (256), opencl::largest_group (context));
  const bool is_local = bins * sizeof (cl_uint) <= most_local;
  const std::string all = options (types) + macro ("LARGEST", 0) + macro ("SPLIT", 1)
                          + macro ("LOCAL_BINS", is_local ? gint64 (bins) : 0);
  if (!opencl::create_kernels (context, ORDER_KERNELS, all,
          {{count, "count_bins"}, {store, "store_counts"}}, error))
    return false;
  group = count.allowed (group);
  return make_numbers (
             context, types.computed, edges_of (request, types.computed), edges, error)
         && opencl::make_buffer (
             context, gsize (lines) * bins * sizeof (cl_uint), counts, error);
}

bool
Histogram::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset,
    cl_mem output, gint64 output_offset, GError **error)
{
  const cl_uint zero = 0;
  const gsize made = gsize (lines) * bins;
  const gsize global[] = {gsize ((length + span - 1) / span) * group, gsize (lines), 1},
              local[] = {group, 1, 1};
  return gst_opencl_check (clEnqueueFillBuffer (queue, counts (), &zero, sizeof zero, 0,
                               made * sizeof zero, 0, nullptr,
                               opencl::Profiled (queue, opencl::command::fill)),
             "clEnqueueFillBuffer", error)
         && count.set_all (error, input, cl_long (input_offset), outer (),
             cl_long (shape.reduced[0].input), edges (), cl_uint (bins), counts (),
             cl_uint (length), cl_uint (span))
         && count.enqueue_box (queue, global, local, error)
         && store.launch (queue, made, 1, error, counts (), outer (), cl_uint (bins),
             output, cl_long (output_offset), cl_ulong (made));
}
} // namespace compute
