/* Fourier transforms of arrays along one or two axes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "arraytransform.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/device/kernel.hpp>

#include <algorithm>

namespace compute {
/* --- copies with dimensions in another order --- */

/* Merges neighbours that are contiguous on both sides. x is the innermost of the output.
 * y is the innermost of the input among the others. */
void
Permuter::order (std::vector<PermutedDimension> dimensions)
{
  std::vector<PermutedDimension> merged;
  auto by = [] (gint64 PermutedDimension::*stride) {
    return [stride] (const PermutedDimension &a, const PermutedDimension &b) {
      return a.*stride < b.*stride;
    };
  };
  std::stable_sort (dimensions.begin (), dimensions.end (), by (&PermutedDimension::to));
  for (const PermutedDimension &added : dimensions) {
    if (added.length == 1)
      continue;
    PermutedDimension *last = merged.empty () ? nullptr : &merged.back ();
    if (last && added.from == last->from * last->length
        && added.to == last->to * last->length)
      last->length *= added.length;
    else
      merged.push_back (added);
  }
  while (merged.size () < 2)
    merged.push_back ({1, 0, 0});
  x = merged[0];
  auto innermost = std::min_element (
      merged.begin () + 1, merged.end (), by (&PermutedDimension::from));
  y = *innermost;
  merged.erase (innermost);
  outer.assign (merged.begin () + 1, merged.end ());
}

bool
Permuter::create_kernel (
    GstOpenCLContext *context, Permuted elements, bool is_double, GError **error)
{
  const std::string number = is_double ? "double" : "float";
  const std::string options =
      " -DFROM=" + number + (elements == Permuted::complex ? "2" : "") + " -DTO=" + number
      + (elements == Permuted::real ? "" : "2")
      + " -DIS_DOUBLE=" + (is_double ? "1" : "0")
      + " -DWIDENS=" + (elements == Permuted::real_to_complex ? "1" : "0")
      + " -DTILE=" + std::to_string (tile);
  return kernel.create (context, "/org/freedesktop/gstreamer/opencl/compute/permute.cl",
      "permute", options.c_str (), error);
}

bool
Permuter::create (GstOpenCLContext *context, Permuted elements, bool is_double,
    const std::vector<PermutedDimension> &dimensions, GError **error)
{
  order (dimensions);
  std::vector<cl_long> table;
  for (const PermutedDimension &dimension : {x, y})
    table.insert (table.end (), {dimension.length, dimension.from, dimension.to});
  for (const PermutedDimension &dimension : outer)
    table.insert (table.end (), {dimension.length, dimension.from, dimension.to});
  geometry = opencl::make_table (
      context, table.data (), table.size () * sizeof (cl_long), error);
  if (!geometry ())
    return false;
  const bool transposes = x.length > 1 && y.length > 1 && y.from < x.from;
  tile = transposes ? 16 : 1;
  while (create_kernel (context, elements, is_double, error)) {
    if (kernel.allows (tile * tile))
      return true;
    tile /= 2;
  }
  return false;
}

bool
Permuter::enqueue_permutation (cl_command_queue queue, cl_mem from, gint64 from_offset,
    cl_mem to, gint64 to_offset, GError **error)
{
  gsize others = 1;
  for (const PermutedDimension &dimension : outer)
    others *= gsize (dimension.length);
  if (!kernel.set_all (error, from, cl_long (from_offset), to, cl_long (to_offset),
          geometry (), cl_uint (outer.size ())))
    return false;
  if (tile == 1)
    return kernel.enqueue (queue, gsize (x.length), gsize (y.length) * others, error);
  auto tiles = [this] (gint64 length) { return (gsize (length) + tile - 1) / tile; };
  const gsize group = tile * tile;
  const gsize global = tiles (x.length) * tiles (y.length) * others * group;
  return gst_opencl_launch (queue, kernel.handle (), 1, &global, &group, error);
}

/* --- Fourier transforms --- */

bool
TransformShape::operator== (const TransformShape &other) const
{
  return input == other.input && output == other.output && axes == other.axes
         && real_input == other.real_input && real_output == other.real_output
         && half == other.half && inverse == other.inverse && library == other.library
         && is_double == other.is_double;
}

static gsize
count_of (const std::vector<gsize> &lengths)
{
  gsize count = 1;
  for (gsize length : lengths)
    count *= length;
  return count;
}

/* Transforms of one sample do nothing. Libraries refuse them. */
void
ArrayTransform::choose_order (const TransformShape &shape)
{
  order.clear ();
  transformed.clear ();
  for (gsize axis : shape.axes)
    if (shape.signal_length (axis) > 1)
      transformed.push_back (axis);
  for (gsize d = 0; d < shape.input.size (); d++)
    if (std::find (transformed.begin (), transformed.end (), d) == transformed.end ())
      order.push_back (d);
  order.insert (order.end (), transformed.begin (), transformed.end ());
  real_plan =
      shape.half && !transformed.empty () && transformed.back () == shape.axes.back ();
}

/* Strides of an array without gaps whose dimensions have this order, outermost first */
static std::vector<gint64>
strides_in (const std::vector<gsize> &lengths, const std::vector<gsize> &order)
{
  std::vector<gint64> strides (lengths.size ());
  gint64 stride = 1;
  for (gsize n = order.size (); n-- > 0;) {
    strides[order[n]] = stride;
    stride *= gint64 (lengths[order[n]]);
  }
  return strides;
}

static std::vector<PermutedDimension>
dimensions_of (
    const std::vector<gsize> &lengths, const std::vector<gsize> &order, bool to_order)
{
  std::vector<gsize> natural (lengths.size ());
  for (gsize d = 0; d < lengths.size (); d++)
    natural[d] = d;
  const std::vector<gint64> outside = strides_in (lengths, natural);
  const std::vector<gint64> inside = strides_in (lengths, order);
  std::vector<PermutedDimension> dimensions;
  for (gsize d = 0; d < lengths.size (); d++)
    dimensions.push_back ({gint64 (lengths[d]), to_order ? outside[d] : inside[d],
        to_order ? inside[d] : outside[d]});
  return dimensions;
}

static bool
changes_order (const std::vector<PermutedDimension> &dimensions)
{
  return std::any_of (dimensions.begin (), dimensions.end (),
      [] (const PermutedDimension &one) { return one.length > 1 && one.from != one.to; });
}

bool
ArrayTransform::arrange_input (
    GstOpenCLContext *context, const TransformShape &shape, bool copies, GError **error)
{
  const auto dimensions = dimensions_of (shape.input, order, true);
  const bool stays_real = real_plan && !shape.inverse;
  const bool widens = shape.real_input && !stays_real;
  const gsize size = shape.number_bytes (stays_real);
  arranges_input = copies || widens || !plan || changes_order (dimensions);
  return !arranges_input
         || (before.create (context,
                 widens       ? Permuted::real_to_complex
                 : stays_real ? Permuted::real
                              : Permuted::complex,
                 shape.is_double, dimensions, error)
             && opencl::make_buffer (
                 context, count_of (shape.input) * size, arranged, error));
}

bool
ArrayTransform::arrange_output (
    GstOpenCLContext *context, const TransformShape &shape, bool copies, GError **error)
{
  const auto dimensions = dimensions_of (shape.output, order, false);
  const gsize size = shape.number_bytes (shape.real_output);
  arranges_output = copies || changes_order (dimensions);
  return !arranges_output
         || (after.create (context,
                 shape.real_output ? Permuted::real : Permuted::complex, shape.is_double,
                 dimensions, error)
             && opencl::make_buffer (
                 context, count_of (shape.output) * size, result, error));
}

bool
ArrayTransform::create_plan (
    GstOpenCLContext *context, const TransformShape &shape, GError **error)
{
  GstOpenCLFFTDescription description = {};
  gsize samples = 1;
  description.library = shape.library;
  description.direction = shape.inverse ? GST_OPENCL_FFT_INVERSE : GST_OPENCL_FFT_FORWARD;
  description.real = real_plan;
  description.double_precision = shape.is_double;
  description.normalized = shape.inverse;
  description.dimensions = guint (transformed.size ());
  for (gsize n = 0; n < transformed.size (); n++) {
    const gsize length = shape.signal_length (transformed[n]);
    description.lengths[transformed.size () - 1 - n] = length;
    samples *= length;
  }
  description.batch = count_of (shape.inverse ? shape.output : shape.input) / samples;
  plan.reset (gst_opencl_fft_new_described (context, &description, error));
  return plan != nullptr;
}

bool
ArrayTransform::create_plan (
    GstOpenCLContext *context, const TransformShape &shape, bool copies, GError **error)
{
  choose_order (shape);
  return (transformed.empty () || create_plan (context, shape, error))
         && arrange_input (context, shape, copies, error)
         && (transformed.empty () || arrange_output (context, shape, copies, error));
}

bool
ArrayTransform::enqueue_transform (cl_command_queue queue, cl_mem input,
    gint64 input_offset, cl_mem output, gint64 output_offset, GError **error)
{
  if (!plan)
    return before.enqueue_permutation (
        queue, input, input_offset, output, output_offset, error);
  const cl_mem from = arranges_input ? arranged () : input;
  const cl_mem to = arranges_output ? result () : output;
  return (!arranges_input
             || before.enqueue_permutation (queue, input, input_offset, from, 0, error))
         && gst_opencl_fft_enqueue (plan.get (), queue, from, to, error)
         && (!arranges_output
             || after.enqueue_permutation (queue, to, 0, output, output_offset, error));
}
} // namespace compute
