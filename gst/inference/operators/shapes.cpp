/* Operators of ONNX that compute shapes, indices and constants
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <cmath>

namespace inference {
namespace {
const gint64 most_elements = 1 << 28; /* of an array that is filled or counted up */

bool
constant (Lowering &l, GError **error)
{
  const Node &node = l.node ();
  auto value = node.attributes.find ("value");
  if (value != node.attributes.end () && value->second.array)
    return give (l, l.add_constant (*value->second.array));
  if (node.has ("value_float"))
    return give (
        l, l.add_constant (Array::of_float (float (node.number ("value_float", 0)))));
  if (node.has ("value_int"))
    return give (
        l, l.add_constant (
               Array::of_integers ({node.integer ("value_int", 0)}).reshaped ({})));
  if (node.has ("value_ints"))
    return give (l, l.add_constant (Array::of_integers (node.integers ("value_ints"))));
  if (node.has ("value_floats")) {
    const std::vector<float> &numbers = node.attributes.at ("value_floats").numbers;
    Array array (ElementType::f32, {gint64 (numbers.size ())});
    for (gsize n = 0; n < numbers.size (); n++)
      array.set_number (n, double (numbers[n]));
    return give (l, l.add_constant (array));
  }
  return l.fail (error, "expected an attribute value, value_float(s) or value_int(s)");
}

bool
constant_of_shape (Lowering &l, GError **error)
{
  std::vector<gint64> shape;
  gint64 count;
  if (!l.integers_of_input (0, shape, error))
    return false;
  if (!count_within (shape, most_elements, count))
    return l.fail (error, "the shape %s is too large", text_of (shape).c_str ());
  auto value = l.node ().attributes.find ("value");
  if (value == l.node ().attributes.end () || !value->second.array)
    return l.reserve (ElementType::f32, shape, error)
           && give (l, l.add_constant (Array (ElementType::f32, shape)));
  if (value->second.array->count () != 1)
    return l.fail (error, "value must have one element");
  if (!l.reserve (value->second.array->type, shape, error))
    return false;
  return give (l, l.add_constant (expanded (value->second.array->reshaped ({}), shape)));
}

bool
shape (Lowering &l, GError **error)
{
  const Shape &own = l.shape (l.input (0));
  const gint64 rank = gint64 (own.size ());
  auto place = [&] (gint64 at) {
    return std::clamp (at < 0 ? at + rank : at, gint64 (0), rank);
  };
  const gint64 start = place (l.node ().integer ("start", 0));
  const gint64 end = std::max (place (l.node ().integer ("end", rank)), start);
  return give (l, l.add_constant (Array::of_integers (
                      std::vector<gint64> (own.begin () + start, own.begin () + end))));
}

bool
size (Lowering &l, GError **error)
{
  const gint64 count = count_of (l.shape (l.input (0)));
  return give (l, l.add_constant (Array::of_integers ({count}).reshaped ({})));
}

bool
range (Lowering &l, GError **error)
{
  const Array *limits[3];
  for (gsize n = 0; n < 3; n++) {
    limits[n] = l.constant_input (n, error);
    if (!limits[n])
      return false;
    if (limits[n]->count () != 1 || limits[n]->type != limits[0]->type)
      return l.fail (error, "expected three numbers of one type");
  }
  const double start = limits[0]->number (0), step = limits[2]->number (0);
  const double count = std::ceil ((limits[1]->number (0) - start) / step);
  if (!(step != 0) || !(count <= double (most_elements)))
    return l.fail (error, "the range is too long, or its step is 0");
  const gint64 length = std::max (truncated (count), gint64 (0));
  if (!l.reserve (limits[0]->type, {length}, error))
    return false;
  Array array (limits[0]->type, {length});
  for (gsize n = 0; n < array.count (); n++) {
    if (is_float (array.type))
      array.set_number (n, start + double (n) * step);
    else
      /* wraps, as the device's integers do */
      array.set_integer (n, gint64 (guint64 (limits[0]->integer (0))
                                    + guint64 (n) * guint64 (limits[2]->integer (0))));
  }
  return give (l, l.add_constant (array));
}

/* Indices may be negative. With constant indices the result is constant too, or a
 * ResampleOp; the device reads other ones. */
bool
gather (Lowering &l, GError **error)
{
  const ValueId data = l.input (0), indices = l.input (1);
  const Shape from = l.shape (data), taken = l.shape (indices);
  gint64 axis = l.node ().integer ("axis", 0);
  if (!l.normalize_axis (axis, from.size (), error))
    return false;
  const gint64 length = from[gsize (axis)];
  Shape to (from.begin (), from.begin () + axis);
  to.insert (to.end (), taken.begin (), taken.end ());
  to.insert (to.end (), from.begin () + axis + 1, from.end ());
  Shape flat = from; /* with all indices in one dimension */
  flat[gsize (axis)] = count_of (taken);

  const Array *constant_indices = l.constant (indices);
  if (!constant_indices)
    return give (l, gather_rows (l, data, indices, axis, error));
  ResampleOp::Table table;
  for (gint64 index : constant_indices->integers ()) {
    if (index < -length || index >= length)
      return l.fail (
          error, "index %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, index, length);
    table.index.push_back (gint32 (index < 0 ? index + length : index));
  }
  if (const Array *array = l.constant (data)) {
    if (!l.reserve (array->type, flat, error))
      return false;
    Array result (array->type, flat);
    const gint64 outer = count_of (Shape (from.begin (), from.begin () + axis));
    const gsize bytes = gsize (count_of (Shape (from.begin () + axis + 1, from.end ())))
                        * size_of (array->type);
    guint8 *at = result.writable ();
    for (gint64 block = 0; block < outer; block++)
      for (const gint32 index : table.index)
        at = std::copy_n (
            array->bytes () + (gsize (block * length) + gsize (index)) * bytes, bytes,
            at);
    return give (l, l.add_constant (result.reshaped (to)));
  }
  ValueId result;
  if (table.index.size () == 1) { /* a view */
    std::vector<gint64> starts (from.size (), 0);
    starts[gsize (axis)] = table.index[0];
    result = l.slice (data, starts, std::vector<gint64> (from.size (), 1), flat, error);
  } else {
    ResampleOp what;
    what.tables.resize (from.size ());
    what.tables[gsize (axis)] = table;
    result = l.add (what, {data}, l.value (data).type, flat, error);
  }
  return result != no_value && give (l, l.reshape (result, to, error));
}
} // namespace

const std::vector<Operator> shape_operators = {
    {"Constant", 0, 0, constant},
    {"ConstantOfShape", 1, 1, constant_of_shape},
    {"Shape", 1, 1, shape},
    {"Size", 1, 1, size},
    {"Range", 3, 3, range},
    {"Gather", 2, 2, gather},
};
} // namespace inference
