/* Reductions of strided arrays on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "reducer.hpp"

#include <gst/opencl/context/devicebuffer.hpp>

#include <algorithm>

namespace compute {
using opencl::NumberType;

std::string
number_macros (NumberType type, gsize lanes)
{
  const opencl::NumberInfo &info = opencl::info_of (type);
  const bool real = info.kind == 'f';
  const std::string computed = type == NumberType::f64   ? "double"
                               : real                    ? "float"
                               : type == NumberType::u64 ? "ulong"
                                                         : "long";
  auto flag = [] (const char *name, bool value) {
    return std::string (" -D") + name + (value ? "=1" : "=0");
  };
  return std::string (" -DSTORED=") + info.opencl + " -DREAL=" + computed
         + flag ("IS_HALF", type == NumberType::f16)
         + flag ("IS_DOUBLE", type == NumberType::f64) + flag ("IS_REAL", real)
         + " -DLANES=" + std::to_string (lanes);
}

/* Vectors of neighbours in the output. On a GPU, several work-items share an output where
 * there are too few of them. */
void
Reducer::choose_split (GstOpenCLContext *context)
{
  const bool cpu = opencl::is_cpu (context);
  const bool contiguous = !kept.empty () && kept[0].input == 1 && kept[0].output == 1;
  gsize most = cpu ? opencl::float_lanes (context) : 4;
  if (contiguous && opencl::info_of (stored).size <= 4)
    while (most > 1 && kept[0].length % gint64 (most) != 0)
      most /= 2;
  else
    most = 1;
  lanes = most;
  vectors = 1;
  for (const Dimension &dimension : kept)
    vectors *= dimension.length;
  vectors /= gint64 (lanes);

  const gsize group = std::min (opencl::largest_group (context), gsize (128));
  const gint64 enough = gint64 (opencl::compute_units (context)) * 1024;
  across = split = 1;
  if (cpu || vectors >= enough || group < 128)
    return;
  while (split < group && vectors * gint64 (split) < enough && gint64 (split) * 8 < count)
    split *= 2;
  if (split > 1)
    across = std::max (group / split, gsize (1));
}

std::string
Reducer::options (Reduction reduction, NumberType type) const
{
  const bool real = opencl::info_of (type).kind == 'f';
  const char *initial = "0";
  if (reduction == Reduction::product)
    initial = "1";
  else if (reduction == Reduction::maximum)
    initial = real ? "-INFINITY" : type == NumberType::u64 ? "0" : "LONG_MIN";
  else if (reduction == Reduction::minimum)
    initial = real ? "INFINITY" : type == NumberType::u64 ? "ULONG_MAX" : "LONG_MAX";
  auto number = [] (const char *name, gsize value) {
    return std::string (" -D") + name + "=" + std::to_string (value);
  };
  return number_macros (type, lanes) + " -DINITIAL=" + initial
         + number ("OPERATION", gsize (reduction)) + number ("ACROSS", across)
         + number ("SPLIT", split) + number ("KEPT_RANK", kept.size ())
         + number ("REDUCED_RANK", reduced.size ());
}

/* Adds a dimension outside of the others, or makes the outermost one longer. */
template <typename Dimension>
static void
add_dimension (std::vector<Dimension> &dimensions, const Dimension &added)
{
  if (!dimensions.empty ()) {
    Dimension &last = dimensions.back ();
    if (added.input == last.input * last.length
        && added.output == last.output * last.length) {
      last.length *= added.length;
      return;
    }
  }
  dimensions.push_back (added);
}

bool
Reducer::create (GstOpenCLContext *context, Reduction reduction, NumberType type,
    const ArrayLayout &input, const ArrayLayout &output, GError **error)
{
  std::vector<Dimension> all;
  for (gsize d = 0; d < input.lengths.size (); d++)
    if (input.lengths[d] != 1)
      all.push_back ({input.lengths[d], input.strides[d],
          output.lengths[d] == input.lengths[d] ? output.strides[d] : 0});
  std::stable_sort (
      all.begin (), all.end (), [] (const Dimension &a, const Dimension &b) {
        return std::abs (a.input) < std::abs (b.input);
      });
  stored = type;
  kept.clear ();
  reduced.clear ();
  for (const Dimension &dimension : all)
    add_dimension (dimension.output != 0 ? kept : reduced, dimension);
  if (kept.empty ())
    kept.push_back ({1, 1, 1});
  if (reduced.empty ())
    reduced.push_back ({1, 0, 0});
  count = 1;
  for (const Dimension &dimension : reduced)
    count *= dimension.length;
  choose_split (context);

  std::vector<cl_long> table;
  for (const Dimension &dimension : kept)
    table.insert (table.end (), {dimension.length, dimension.input, dimension.output});
  for (const Dimension &dimension : reduced)
    table.insert (table.end (), {dimension.length, dimension.input});
  geometry = opencl::make_table (
      context, table.data (), table.size () * sizeof (cl_long), error);
  return geometry ()
         && kernel.create (context, "/org/freedesktop/gstreamer/opencl/compute/reduce.cl",
             "reduce", options (reduction, type).c_str (), error);
}

bool
Reducer::enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset,
    cl_mem output, gint64 output_offset, GError **error)
{
  cl_uint index = 0;
  auto set = [&] (const auto &...values) {
    return (kernel.set (index, values, error) && ...);
  };
  if (!set (input, cl_long (input_offset), output, cl_long (output_offset), geometry (),
          cl_ulong (vectors), cl_ulong (count)))
    return false;
  const opencl::NumberInfo &info = opencl::info_of (stored);
  const bool is_set = stored == NumberType::f64 ? set (cl_double (count))
                      : info.kind == 'f'        ? set (cl_float (count))
                                                : set (cl_long (count));
  if (!is_set)
    return false;
  if (split == 1)
    return kernel.enqueue (queue, gsize (vectors), 1, error);
  const gsize group = across * split;
  const gsize global = (gsize (vectors) + across - 1) / across * group;
  return gst_opencl_launch (queue, kernel.handle (), 1, &global, &group, error);
}
} // namespace compute
