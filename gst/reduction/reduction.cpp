/* Reductions and cumulative sums of strided arrays on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "reduction.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>

#include <algorithm>

namespace compute {
/* --- one launch --- */

using opencl::NumberType;

/* --- types --- */

static NumberType
widest_of (NumberType type)
{
  const opencl::NumberInfo &info = opencl::info_of (type);
  if (info.kind == 'f')
    return type == NumberType::f64 ? NumberType::f64 : NumberType::f32;
  return type == NumberType::u64 ? NumberType::u64 : NumberType::i64;
}

ReductionTypes
types_of (Reduction reduction, NumberType stored, NumberType written)
{
  const bool positions =
      reduction == Reduction::position || reduction == Reduction::position_of_minimum;
  const bool compares =
      positions || reduction == Reduction::any || reduction == Reduction::all;
  return {stored, written, widest_of (compares ? stored : written), positions};
}

std::string
type_macros (const ReductionTypes &types, gsize lanes)
{
  const opencl::NumberInfo &computed = opencl::info_of (types.computed);
  std::string macros =
      std::string (" -DSTORED=") + opencl::info_of (types.stored).opencl
      + " -DREAL=" + computed.opencl + macro ("IS_HALF", types.stored == NumberType::f16)
      + macro ("IS_DOUBLE", types.computed == NumberType::f64)
      + macro ("IS_REAL", computed.kind == 'f') + macro ("LANES", gint64 (lanes));
  if (types.written != types.stored)
    macros += std::string (" -DWRITTEN=") + opencl::info_of (types.written).opencl
              + macro ("WRITES_HALF", types.written == NumberType::f16);
  return macros;
}

std::string
number_macros (NumberType type, gsize lanes)
{
  return type_macros ({type, type, widest_of (type), false}, lanes);
}

std::string
partial_macros (Reduction reduction, const ReductionTypes &types, gsize lanes)
{
  const bool real = opencl::info_of (types.computed).kind == 'f';
  const bool unsigned_ = types.computed == NumberType::u64;
  const char *initial = "0";
  if (reduction == Reduction::product || reduction == Reduction::all)
    initial = "1";
  else if (reduction == Reduction::maximum || reduction == Reduction::position)
    initial = real ? "-INFINITY" : unsigned_ ? "0" : "LONG_MIN";
  else if (reduction == Reduction::minimum || reduction == Reduction::position_of_minimum)
    initial = real ? "INFINITY" : unsigned_ ? "ULONG_MAX" : "LONG_MAX";
  return type_macros (types, lanes) + " -DINITIAL=" + initial
         + macro ("OPERATION", gint64 (reduction));
}

gsize
partial_bytes (const ReductionTypes &types, gint64 count)
{
  const gsize second = sizeof (cl_long);
  return gsize (count) * (opencl::info_of (types.computed).size + second);
}

/* --- shapes --- */

static gint64
product_of (
    ReductionDimensions::const_iterator begin, ReductionDimensions::const_iterator end)
{
  gint64 count = 1;
  for (; begin != end; ++begin)
    count *= begin->length;
  return count;
}

gint64
ReductionShape::kept_count () const
{
  return product_of (kept.begin (), kept.end ());
}

gint64
ReductionShape::rows () const
{
  return product_of (reduced.begin () + 1, reduced.end ());
}

/* Adds a dimension outside of the others, or makes the outermost one longer. */
static void
add_dimension (ReductionDimensions &dimensions, const ReductionDimension &added)
{
  if (!dimensions.empty ()) {
    ReductionDimension &last = dimensions.back ();
    if (added.input == last.input * last.length
        && added.output == last.output * last.length) {
      last.length *= added.length;
      return;
    }
  }
  dimensions.push_back (added);
}

ReductionShape
make_shape (const ArrayLayout &input, const ArrayLayout &output)
{
  ReductionDimensions all;
  for (gsize d = input.lengths.size (); d-- > 0;)
    if (input.lengths[d] != 1)
      all.push_back ({input.lengths[d], input.strides[d],
          output.lengths[d] == input.lengths[d] ? output.strides[d] : 0});
  std::stable_sort (all.begin (), all.end (),
      [] (const ReductionDimension &a, const ReductionDimension &b) {
        return std::abs (a.input) < std::abs (b.input);
      });
  ReductionShape shape;
  for (const ReductionDimension &dimension : all)
    add_dimension (dimension.output != 0 ? shape.kept : shape.reduced, dimension);
  if (shape.kept.empty ())
    shape.kept.push_back ({1, 1, 1});
  if (shape.reduced.empty ())
    shape.reduced.push_back ({1, 0, 0});
  return shape;
}

ReductionShape
packed_output (const ReductionShape &shape)
{
  ReductionShape packed = shape;
  gint64 stride = 1;
  for (ReductionDimension &dimension : packed.kept) {
    dimension.output = stride;
    stride *= dimension.length;
  }
  return packed;
}

/* --- vectors and work-groups --- */

/* Lanes of a vector on a CPU. Numbers of 64 bits, also positions, have half as many. */
static gsize
lanes_of_cpu (GstOpenCLContext *context, const ReductionTypes &types)
{
  const gsize size = opencl::info_of (types.computed).size;
  const gsize widest = types.has_positions ? sizeof (cl_long) : size;
  return opencl::float_lanes (context) / (widest / sizeof (cl_float));
}

gsize
kept_lanes (GstOpenCLContext *context, const ReductionTypes &types,
    const ReductionDimension &innermost)
{
  if (innermost.input != 1 || innermost.output != 1)
    return 1;
  gsize lanes = opencl::is_cpu (context)                   ? lanes_of_cpu (context, types)
                : opencl::info_of (types.stored).size <= 4 ? 4
                                                           : 1;
  while (gint64 (lanes) > innermost.length)
    lanes /= 2;
  return lanes;
}

gint64
ReductionPass::vectors () const
{
  const ReductionDimensions &kept = request.shape.kept;
  const gsize wide = vector_columns ? 1 : lanes;
  return length_in_vectors (kept[0].length, wide)
         * product_of (kept.begin () + 1, kept.end ());
}

/* Vectors of neighbours in the output or, on a CPU, along contiguous columns */
void
ReductionPass::choose_vectors (GstOpenCLContext *context)
{
  const ReductionShape &shape = request.shape;
  const gsize wide = lanes_of_cpu (context, request.types);
  lanes = kept_lanes (context, request.types, shape.kept[0]);
  vector_columns = lanes == 1 && opencl::is_cpu (context) && !request.reads_partials
                   && shape.reduced[0].input == 1
                   && shape.columns () >= gint64 (2 * wide);
  if (vector_columns)
    lanes = wide;
}

/* On a GPU, several work-items share a result if its columns are contiguous, so that
 * neighbours read neighbours, or if there are too few results. */
void
ReductionPass::choose_split (GstOpenCLContext *context, gsize group)
{
  const gint64 columns = request.shape.columns (), rows = request.shape.rows ();
  const gint64 enough = gint64 (opencl::compute_units (context)) * 1024;
  const gint64 results = vectors ();
  split = 1;
  split_rows = split_neighbours = false;
  if (opencl::is_cpu (context))
    return;
  if (request.shape.reduced[0].input == 1 && lanes == 1 && columns >= 16) {
    split_neighbours = true;
    while (split < group && gint64 (split) * 4 <= columns)
      split *= 2;
    return;
  }
  split_rows = rows > columns;
  while (split < group && results * gint64 (split) < enough
         && gint64 (split) * 8 <= std::max (rows, columns))
    split *= 2;
}

/* A work-group of a CPU runs in one thread. It gets several results if these are little
 * work. */
void
ReductionPass::choose_group_size (GstOpenCLContext *context)
{
  if (!opencl::is_cpu (context))
    return;
  const gint64 units = opencl::compute_units (context);
  const gint64 work = request.shape.rows () * request.shape.columns () / parts.count;
  const gint64 most =
      std::min (vectors () / (4 * units), 8192 / std::max (work, gint64 (1)));
  across = gsize (std::clamp (most, gint64 (1), gint64 (64)));
  across = std::min (across, opencl::largest_group (context));
}

void
ReductionPass::plan (GstOpenCLContext *context, const Request &wanted)
{
  request = wanted;
  choose_vectors (context);
  gsize group = 1;
  while (group < 128 && 2 * group <= opencl::largest_group (context))
    group *= 2;
  choose_split (context, group);
  across = group / split;
}

/* Returns true if each column of neighbouring results is in another page of memory. A CPU
 * then needs parts of few rows, whose pages it finds again for the next result. */
bool
ReductionPass::strides_over_pages () const
{
  const gint64 page = 4096;
  return lanes > 1 && !vector_columns
         && request.shape.reduced[0].input
                    * gint64 (opencl::info_of (request.types.stored).size)
                >= page;
}

ReductionParts
ReductionPass::useful_parts (GstOpenCLContext *context) const
{
  const gint64 columns = request.shape.columns (), rows = request.shape.rows ();
  const bool cpu = opencl::is_cpu (context);
  const gint64 units = opencl::compute_units (context);
  const gint64 items = vectors () * gint64 (split);
  const gint64 enough = units * (cpu ? 4 : 2048);
  const gint64 least_work = cpu ? 16384 : 32 * gint64 (split);
  const gint64 page_rows = 32;
  const bool by_pages = cpu && strides_over_pages () && columns >= 4 * page_rows;
  const gint64 most = by_pages ? columns / page_rows
                               : std::min (enough / items, rows * columns / least_work);
  ReductionParts made;
  made.of_rows = rows > columns && !by_pages;
  const gint64 length = made.of_rows ? rows : columns;
  const gint64 unit = made.of_rows == split_rows ? gint64 (split) : 1;
  const gint64 step = unit * gint64 (vector_columns && !made.of_rows ? lanes : 1);
  const gint64 count = std::clamp (most, gint64 (1), gint64 (1024));
  made.length = ((length + count - 1) / count + step - 1) / step * step;
  made.count = (length + made.length - 1) / made.length;
  return made;
}

/* --- the launch --- */

std::string
ReductionPass::options () const
{
  return partial_macros (request.reduction, request.types, lanes)
         + macro ("VECTOR_COLUMNS", vector_columns) + macro ("SPLIT", gint64 (split))
         + (split > 1 ? macro ("ACROSS", gint64 (across)) : "")
         + macro ("SPLIT_ROWS", split_rows) + macro ("PART_ROWS", parts.of_rows)
         + macro ("SPLIT_NEIGHBOURS", split_neighbours)
         + macro ("FROM_PARTIALS", request.reads_partials)
         + macro ("TO_PARTIALS", request.writes_partials);
}

bool
ReductionPass::make_geometry (GstOpenCLContext *context, GError **error)
{
  const ReductionShape &shape = request.shape;
  std::vector<cl_long> table;
  for (const ReductionDimension &dimension : shape.kept)
    table.insert (table.end (), {dimension.length, dimension.input, dimension.output});
  table[0] = length_in_vectors (shape.kept[0].length, vector_columns ? 1 : lanes);
  for (const ReductionDimension &dimension : shape.reduced)
    table.insert (table.end (), {dimension.length, dimension.input});
  geometry = opencl::make_table (
      context, table.data (), table.size () * sizeof (cl_long), error);
  return geometry () != nullptr;
}

bool
ReductionPass::create (
    GstOpenCLContext *context, const ReductionParts &divided, GError **error)
{
  parts = divided;
  choose_group_size (context);
  if (!make_geometry (context, error))
    return false;
  for (;;) {
    if (!kernel.create (context, "/org/freedesktop/gstreamer/opencl/reduction/reduce.cl",
            "reduce", options ().c_str (), error))
      return false;
    const gsize group = across * split;
    if (kernel.allows (group) || group == 1)
      return true;
    choose_split (context, group / 2);
    across = group / 2 / split;
  }
}

bool
ReductionPass::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset,
    cl_mem output, gint64 output_offset, GError **error)
{
  const ReductionShape &shape = request.shape;
  const gint64 divisor = request.divisor;
  cl_uint index = 0;
  auto set = [&] (const auto &...values) {
    return (kernel.set (index, values, error) && ...);
  };
  if (!set (input, cl_long (input_offset), output, cl_long (output_offset), geometry (),
          cl_uint (shape.kept.size ()), cl_uint (shape.reduced.size ()),
          cl_long (shape.kept[0].length), cl_ulong (vectors ()), cl_ulong (shape.rows ()),
          cl_ulong (shape.columns ()), cl_ulong (parts.length)))
    return false;
  const NumberType computed = request.types.computed;
  const bool is_set = computed == NumberType::f64   ? set (cl_double (divisor))
                      : computed == NumberType::f32 ? set (cl_float (divisor))
                                                    : set (cl_long (divisor));
  if (!is_set || !set (centres ? centres : geometry (), cl_ulong (shape.kept_count ())))
    return false;
  const gsize groups = (gsize (vectors ()) + across - 1) / across;
  const gsize global[] = {groups * across * split, gsize (parts.count)};
  const gsize local[] = {across * split, 1};
  return gst_opencl_launch (queue, kernel.handle (), 2, global, local, error);
}

/* --- reductions --- */

bool
Reducer::create_in_two (GstOpenCLContext *context, const ReductionPass::Request &request,
    const ReductionParts &parts, GError **error)
{
  const ReductionShape packed = packed_output (request.shape);
  const gint64 results = packed.kept_count ();
  ReductionPass::Request dividing = request, combining = request;
  dividing.shape = packed;
  dividing.writes_partials = combining.reads_partials = true;
  for (gsize d = 0; d < packed.kept.size (); d++)
    combining.shape.kept[d].input = packed.kept[d].output;
  combining.shape.reduced.assign (1, {parts.count, results, 0});
  combining.types.stored = request.types.computed;

  /* Even, as positions of 64 bits follow values of 32, and GPUs only read aligned numbers */
  partial_count = (results * parts.count + 1) / 2 * 2;
  first.plan (context, dividing);
  second.plan (context, combining);
  return opencl::make_buffer (
             context, partial_bytes (request.types, partial_count), partials, error)
         && first.create (context, parts, error)
         && second.create (context, {1, G_MAXINT64}, error);
}

bool
Reducer::create_passes (
    GstOpenCLContext *context, const ReductionPass::Request &request, GError **error)
{
  first.plan (context, request);
  const ReductionParts parts = first.useful_parts (context);
  if (parts.count > 1)
    return create_in_two (context, request, parts, error);
  partial_count = 0;
  return first.create (context, {1, G_MAXINT64}, error);
}

bool
Reducer::create_chunk_sums (
    GstOpenCLContext *context, const ReductionPass::Request &request, GError **error)
{
  ReductionPass::Request sum = request;
  sum.reduction = Reduction::sum;
  sum.shape = packed_output (request.shape);
  sum.writes_partials = true;
  sum_count = sum.shape.kept_count ();
  summing = std::make_unique<Reducer> ();
  if (!opencl::make_buffer (
          context, partial_bytes (request.types, sum_count), sums, error))
    return false;
  first.centres = sums ();
  return summing->create_passes (context, sum, error);
}

bool
Reducer::create (GstOpenCLContext *context, Reduction reduction,
    opencl::NumberType stored, opencl::NumberType written, const ArrayLayout &input,
    const ArrayLayout &output, GError **error, gint64 ddof)
{
  const ReductionShape shape = make_shape (input, output);
  const bool centred =
      reduction == Reduction::variance || reduction == Reduction::deviation;
  const gint64 count = shape.rows () * shape.columns () - (centred ? ddof : 0);
  const ReductionPass::Request request = {reduction,
      types_of (reduction, stored, written), shape, std::max (count, gint64 (0))};
  return (!centred || create_chunk_sums (context, request, error))
         && create_passes (context, request, error);
}

bool
Reducer::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset,
    cl_mem output, gint64 output_offset, GError **error)
{
  if (summing
      && !summing->enqueue (queue, input, input_offset, sums (), sum_count, error))
    return false;
  if (partial_count == 0)
    return first.enqueue (queue, input, input_offset, output, output_offset, error);
  return first.enqueue (queue, input, input_offset, partials (), partial_count, error)
         && second.enqueue (
             queue, partials (), partial_count, output, output_offset, error);
}

/* --- cumulative sums --- */

gint64
CumulativeSum::vectors () const
{
  return length_in_vectors (shape.kept[0].length, lanes)
         * (shape.kept_count () / shape.kept[0].length);
}

/* On a GPU, a work-group takes a line whose elements are contiguous. Elsewhere a work-item
 * takes a line or a vector of lines. Lines are divided if there are too few of them. */
void
CumulativeSum::choose_groups (GstOpenCLContext *context)
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
CumulativeSum::create_chunk_sums (GstOpenCLContext *context, GError **error)
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
CumulativeSum::create_kernel (GstOpenCLContext *context, GError **error)
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
         && kernel.create (context, "/org/freedesktop/gstreamer/opencl/reduction/scan.cl",
             "scan", options.c_str (), error);
}

bool
CumulativeSum::create (GstOpenCLContext *context, opencl::NumberType stored,
    opencl::NumberType written, const ArrayLayout &input, const ArrayLayout &output,
    gsize axis, GError **error)
{
  ArrayLayout reduced = output;
  reduced.lengths[axis] = 1;
  types = types_of (Reduction::sum, stored, written);
  shape = make_shape (input, reduced);
  axis_output = output.strides[axis];
  choose_groups (context);
  if (chunks.count > 1 && !create_chunk_sums (context, error))
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
CumulativeSum::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset,
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
