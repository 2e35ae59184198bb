/* Operators of ONNX that compute indices, or take elements by them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace inference {
namespace {
using Moves = std::vector<IndexOp::Dimension>;

/* --- elements by indices --- */

/* Visits the moved elements in order: visit (number, place in the data or -1). */
template <typename Visit>
void
walk (const IndexOp &what, const Shape &moved, const Array &indices, const Shape &data,
    Visit visit)
{
  const std::vector<gint64> of_data = contiguous_strides (data),
                            of_indices = contiguous_strides (indices.shape);
  const gint64 step = what.components < 0 ? 0 : of_indices[gsize (what.components)];
  const gint64 count = count_of (moved);
  for (gint64 n = 0; n < count; n++) {
    gint64 rest = n, place = 0, at_index = 0;
    for (gsize d = moved.size (); d-- > 0;) {
      const gint64 at = rest % moved[d];
      const IndexOp::Dimension &own = what.dimensions[d];
      rest /= moved[d];
      place += own.data < 0 ? 0 : at * of_data[gsize (own.data)];
      at_index += own.indices < 0 ? 0 : at * of_indices[gsize (own.indices)];
    }
    for (gsize k = 0; k < what.chosen.size () && place >= 0; k++) {
      const gsize d = gsize (what.chosen[k]);
      gint64 index = indices.integer (gsize (at_index + gint64 (k) * step));
      index += index < 0 ? data[d] : 0;
      place = index < 0 || index >= data[d] ? -1 : place + index * of_data[d];
    }
    visit (gsize (n), place);
  }
}

/* An element of `to` and one of `from` become one. */
void
combine (IndexOp::Kind kind, Array &to, gsize place, const Array &from, gsize n)
{
  auto combined = [kind] (auto a, auto b) {
    return kind == IndexOp::sum       ? a + b
           : kind == IndexOp::product ? a * b
           : kind == IndexOp::maximum ? std::max (a, b)
           : kind == IndexOp::minimum ? std::min (a, b)
                                      : b;
  };
  if (is_float (to.type))
    to.set_number (place, combined (to.number (place), from.number (n)));
  else if (kind == IndexOp::sum || kind == IndexOp::product) /* wraps */
    to.set_integer (place,
        gint64 (combined (guint64 (to.integer (place)), guint64 (from.integer (n)))));
  else
    to.set_integer (place, combined (to.integer (place), from.integer (n)));
}

/* `updates` (no_value: gathers) have the shape `moved`. */
ValueId
index (Lowering &l, const IndexOp &what, ValueId data, ValueId indices, ValueId updates,
    const Shape &moved, GError **error)
{
  const bool gathers = what.kind == IndexOp::gather;
  const ElementType type = l.value (data).type;
  const Shape &into = l.shape (data), &to = gathers ? moved : into;
  const Array *known = l.constant (indices), *from = l.constant (data);
  const Array *added = gathers ? from : l.constant (updates);
  if (is_float (l.value (indices).type) || (!gathers && l.value (updates).type != type)) {
    l.fail (error, "the indices are no integers, or data and updates differ in type");
    return no_value;
  }
  bool inside = true;
  if (known && !l.reserve (ElementType::i64, moved, error))
    return no_value;
  if (known)
    walk (what, moved, *known, into,
        [&] (gsize, gint64 place) { inside = inside && place >= 0; });
  if (!inside) {
    l.fail (error, "an index is out of range");
    return no_value;
  }
  const bool empty = count_of (moved) == 0 || count_of (to) == 0;
  if ((known && added && from) || (empty && !gathers)) {
    if (!from)
      return data; /* nothing is written */
    if (!l.reserve (type, to, error))
      return no_value;
    Array result (type, to);
    if (!gathers)
      std::copy_n (from->bytes (), from->size (), result.writable ());
    if (!empty)
      walk (what, moved, *known, into, [&] (gsize n, gint64 place) {
        combine (what.kind, result, gathers ? n : gsize (place), *added,
            gathers ? gsize (place) : n);
      });
    return l.add_constant (result);
  }
  if (gathers)
    return l.add (what, {data, indices}, type, to, error);
  /* Lists of the updates of each element: the first one, and the one behind each */
  std::vector<ValueId> ids;
  return l.add (what, {data, indices, updates},
             {{"", type, to, {}}, {"", ElementType::i32, {count_of (to)}, {}},
                 {"", ElementType::i32, {count_of (moved)}, {}}},
             ids, error)
             ? ids[0]
             : no_value;
}

bool
read_reduction (Lowering &l, IndexOp &what, GError **error)
{
  static const std::pair<const char *, IndexOp::Kind> known[] = {
      {"none", IndexOp::replace}, {"add", IndexOp::sum}, {"mul", IndexOp::product},
      {"max", IndexOp::maximum}, {"min", IndexOp::minimum}};
  const std::string wanted = l.node ().text ("reduction", "none");
  for (const auto &[name, kind] : known) {
    if (wanted != name)
      continue;
    what.kind = kind;
    return true;
  }
  return l.fail (error, "unsupported reduction %s", wanted.c_str ());
}

/* GatherElements, ScatterElements and Scatter: an index for each element */
bool
elements (Lowering &l, GError **error)
{
  const Shape data = l.shape (l.input (0)), moved = l.shape (l.input (1));
  gint64 axis = l.node ().integer ("axis", 0);
  IndexOp what = {IndexOp::gather, {}, {}, -1};
  const bool scatters = l.has (2);
  if (!l.normalize_axis (axis, data.size (), error)
      || (scatters && !read_reduction (l, what, error)))
    return false;
  bool fits =
      moved.size () == data.size () && (!scatters || l.shape (l.input (2)) == moved);
  for (gsize d = 0; fits && d < data.size (); d++) {
    fits = gint64 (d) == axis || moved[d] <= data[d];
    what.dimensions.push_back ({gint64 (d) == axis ? -1 : gint32 (d), gint32 (d)});
  }
  if (!fits)
    return l.fail (error, "the indices do not fit the data or the updates");
  what.chosen = {gint32 (axis)};
  return give (l, index (l, what, l.input (0), l.input (1),
                      scatters ? l.input (2) : no_value, moved, error));
}

/* GatherND and ScatterND: the last dimension of the indices chooses dimensions of the data. */
bool
blocks (Lowering &l, GError **error)
{
  const Shape data = l.shape (l.input (0)), places = l.shape (l.input (1));
  const gint64 batch = l.node ().integer ("batch_dims", 0);
  IndexOp what = {IndexOp::gather, {}, {}, -1};
  const bool scatters = l.has (2);
  if (scatters && !read_reduction (l, what, error))
    return false;
  if (places.empty () || batch < 0
      || batch >= gint64 (std::min (places.size (), data.size ())))
    return l.fail (error, "unsupported batch_dims %" G_GINT64_FORMAT, batch);
  const gint64 chosen = places.back ();
  if (chosen < 1 || chosen > gint64 (data.size ()) - batch
      || !std::equal (places.begin (), places.begin () + batch, data.begin ()))
    return l.fail (error, "the indices do not fit the data");
  Shape moved (places.begin (), places.end () - 1);
  for (gint64 d = 0; d < gint64 (moved.size ()); d++)
    what.dimensions.push_back ({d < batch ? gint32 (d) : -1, gint32 (d)});
  for (gint64 d = batch + chosen; d < gint64 (data.size ()); d++) {
    moved.push_back (data[gsize (d)]);
    what.dimensions.push_back ({gint32 (d), -1});
  }
  what.chosen.resize (gsize (chosen));
  std::iota (what.chosen.begin (), what.chosen.end (), gint32 (batch));
  what.components = gint32 (places.size ()) - 1;
  if (scatters && l.shape (l.input (2)) != moved)
    return l.fail (error, "the updates have not the shape %s", text_of (moved).c_str ());
  return give (l, index (l, what, l.input (0), l.input (1),
                      scatters ? l.input (2) : no_value, moved, error));
}

/* --- one-hot, reversed sequences, and what constants choose --- */

/* An element-wise operator, unless an operand could not be made */
ValueId
apply (Lowering &l, const char *op, const std::vector<ValueId> &inputs, GError **error)
{
  const bool missing = std::count (inputs.begin (), inputs.end (), no_value) > 0;
  return missing ? no_value : l.elementwise (op, inputs, error);
}

/* Where, which takes a condition of the type of the others */
ValueId
choose (Lowering &l, ValueId condition, ValueId yes, ValueId no, GError **error)
{
  if (condition == no_value || yes == no_value)
    return no_value;
  condition = l.cast (condition, l.value (yes).type, error);
  return apply (l, "Where", {condition, yes, no}, error);
}

/* 0, 1, … along dimension `d` of `rank` */
ValueId
counted (Lowering &l, ElementType type, gint64 length, gsize d, gsize rank)
{
  Shape shape (rank, 1);
  shape[d] = length;
  Array array (type, shape);
  for (gint64 n = 0; n < length; n++)
    array.set_integer (gsize (n), n);
  return l.add_constant (array);
}

bool
one_hot (Lowering &l, GError **error)
{
  const Array *depth = l.constant_input (1, error);
  Shape to = l.shape (l.input (0));
  gint64 axis = l.node ().integer ("axis", -1);
  if (!depth || !l.normalize_axis (axis, to.size () + 1, error))
    return false;
  const gint64 length = depth->count () == 1 ? depth->integer (0) : 0;
  if (length < 1 || l.shape (l.input (2)) != Shape{2})
    return l.fail (error, "expected a depth from 1 and two values");
  to.insert (to.begin () + axis, 1);
  if (!l.reserve (ElementType::i64, {length}, error))
    return false;
  ValueId at = l.cast (l.input (0), ElementType::i64, error);
  if (at != no_value)
    at = l.reshape (at, to, error);
  const ValueId end = l.number (ElementType::i64, double (length));
  const ValueId before = apply (l, "Less", {at, l.number (ElementType::i64, 0)}, error);
  const ValueId turned =
      choose (l, before, apply (l, "Add", {at, end}, error), at, error);
  const ValueId hot = apply (l, "Equal",
      {turned, counted (l, ElementType::i64, length, gsize (axis), to.size ())}, error);
  ValueId values[2] = {no_value, no_value};
  for (gint64 n = 0; n < 2 && hot != no_value; n++)
    values[n] = l.slice (l.input (2), {n}, {1}, {1}, error);
  return give (l, choose (l, hot, values[1], values[0], error));
}

bool
reverse_sequence (Lowering &l, GError **error)
{
  const Shape data = l.shape (l.input (0));
  const gint64 time = l.node ().integer ("time_axis", 0),
               batch = l.node ().integer ("batch_axis", 1);
  if (data.size () < 2 || time < 0 || time > 1 || batch != 1 - time
      || l.shape (l.input (1)) != Shape{data[gsize (batch)]})
    return l.fail (error, "expected a length for each sequence");
  IndexOp what = {IndexOp::gather, {}, {gint32 (time)}, -1};
  for (gint64 d = 0; d < gint64 (data.size ()); d++)
    what.dimensions.push_back ({d == time ? -1 : gint32 (d), d < 2 ? gint32 (d) : -1});
  /* length - 1 - n up to the length of the sequence, then n */
  if (!l.reserve (ElementType::i64, {data[gsize (time)]}, error))
    return false;
  const ValueId n = counted (l, ElementType::i64, data[gsize (time)], gsize (time), 2);
  ValueId length = l.cast (l.input (1), ElementType::i64, error);
  if (length != no_value)
    length = l.reshape (length, time == 0 ? Shape{1, data[1]} : Shape{data[0], 1}, error);
  const ValueId turned = apply (l, "Sub", {length, n}, error);
  const ValueId last = apply (l, "Sub", {turned, l.number (ElementType::i64, 1)}, error);
  const ValueId places =
      choose (l, apply (l, "Less", {n, length}, error), last, n, error);
  return places != no_value
         && give (l, index (l, what, l.input (0), places, no_value, data, error));
}

/* Places of the elements of a constant that are not 0 */
bool
non_zero (Lowering &l, GError **error)
{
  const Array *array = l.constant_input (0, error);
  if (!array || !l.reserve (ElementType::i64, array->shape, error, growth_effort))
    return false;
  const std::vector<gint64> strides = contiguous_strides (array->shape);
  std::vector<gint64> found, columns;
  for (gsize n = 0; n < array->count (); n++)
    if (array->number (n) != 0)
      found.push_back (gint64 (n));
  for (gsize d = 0; d < strides.size (); d++)
    for (const gint64 n : found)
      columns.push_back (n / strides[d] % array->shape[d]);
  if (!l.reserve (ElementType::i64, {gint64 (columns.size ())}, error))
    return false;
  return give (l, l.add_constant (Array::of_integers (columns).reshaped (
                      {gint64 (strides.size ()), gint64 (found.size ())})));
}

/* --- along one dimension --- */

/* The places of the elements of line `n` along a dimension */
std::vector<gsize>
places_of (const Shape &shape, gint64 axis, gsize n)
{
  const gsize step = gsize (contiguous_strides (shape)[gsize (axis)]);
  const gsize length = gsize (shape[gsize (axis)]);
  std::vector<gsize> places (length);
  for (gsize k = 0; k < length; k++)
    places[k] = n / step * length * step + k * step + n % step;
  return places;
}

/* Does element `a` come before `b`? NaN is the largest. */
bool
precedes (const Array &array, gsize a, gsize b, bool largest)
{
  if (!largest)
    std::swap (a, b);
  if (array.type == ElementType::u64)
    return guint64 (array.integer (a)) > guint64 (array.integer (b));
  if (!is_float (array.type))
    return array.integer (a) > array.integer (b);
  const double x = array.number (a), y = array.number (b);
  return x > y || (std::isnan (x) && !std::isnan (y));
}

/* The first elements of each line and their indices */
void
order_lines (const Array &array, const TopOp &what, Array &values, Array &indices)
{
  const gint64 length = values.shape[gsize (what.axis)];
  const gsize lines = length ? values.count () / gsize (length) : 0;
  for (gsize n = 0; n < lines; n++) {
    const std::vector<gsize> from = places_of (array.shape, what.axis, n),
                             to = places_of (values.shape, what.axis, n);
    std::vector<gsize> order (from.size ());
    std::iota (order.begin (), order.end (), 0);
    std::stable_sort (order.begin (), order.end (), [&] (gsize a, gsize b) {
      return precedes (array, from[a], from[b], what.largest);
    });
    for (gsize k = 0; k < to.size (); k++) {
      combine (IndexOp::replace, values, to[k], array, from[order[k]]);
      indices.set_integer (to[k], gint64 (order[k]));
    }
  }
}

/* Sorting takes longer than copying. */
const gint64 sorting_effort = 128;

/* Values and indices; false with an error set on failure */
bool
find_top (Lowering &l, ValueId data, const TopOp &what, gint64 wanted,
    std::vector<ValueId> &ids, GError **error)
{
  Shape to = l.shape (data);
  to[gsize (what.axis)] = wanted;
  const ElementType type = l.value (data).type;
  const Array *array = l.constant (data);
  if (!array)
    return l.add (what, {data},
        {{"", type, to, {}}, {"", ElementType::i64, to, {}},
            {"", ElementType::i32, {count_of (to)}, {}}},
        ids, error);
  if (!l.reserve (type, to, error, 2)
      || !l.reserve (ElementType::i64, array->shape, error, sorting_effort))
    return false;
  Array values (type, to), indices (ElementType::i64, to);
  order_lines (*array, what, values, indices);
  ids = {l.add_constant (values), l.add_constant (indices)};
  return true;
}

bool
top_k (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  std::vector<gint64> wanted = {l.node ().integer ("k", -1)};
  TopOp what = {l.node ().integer ("axis", -1), l.node ().integer ("largest", 1) != 0};
  if (!l.normalize_axis (what.axis, l.shape (data).size (), error)
      || (l.has (1) && !l.integers_of_input (1, wanted, error)))
    return false;
  const gint64 length = l.shape (data)[gsize (what.axis)];
  if (wanted.size () != 1 || wanted[0] < 0 || wanted[0] > length)
    return l.fail (error, "K is not from 0 to %" G_GINT64_FORMAT, length);
  std::vector<ValueId> ids;
  if (!find_top (l, data, what, wanted[0], ids, error))
    return false;
  l.set_output (1, ids[1]);
  return give (l, ids[0]);
}

/* The same elements from the last to the first along a dimension */
ValueId
reversed (Lowering &l, ValueId data, gint64 axis, GError **error)
{
  const Shape shape = l.shape (data);
  std::vector<gint64> starts (shape.size (), 0), steps (shape.size (), 1);
  starts[gsize (axis)] = shape[gsize (axis)] - 1;
  steps[gsize (axis)] = -1;
  return shape[gsize (axis)] < 2 ? data : l.slice (data, starts, steps, shape, error);
}

/* ArgMin is that of the negative numbers; the last of equal ones is the first from the end. */
template <bool largest>
bool
extreme (Lowering &l, GError **error)
{
  ValueId data = l.input (0);
  Shape to = l.shape (data);
  gint64 axis = l.node ().integer ("axis", 0);
  const bool last = l.node ().integer ("select_last_index", 0) != 0;
  if (!l.normalize_axis (axis, to.size (), error))
    return false;
  const gint64 length = std::exchange (to[gsize (axis)], 1);
  if (length < 1)
    return l.fail (error, "the input has no elements");
  if (last)
    data = reversed (l, data, axis, error);
  ValueId result = no_value;
  if (data != no_value && l.constant (data)) {
    std::vector<ValueId> ids;
    if (find_top (l, data, {axis, largest}, 1, ids, error))
      result = ids[1];
  } else if (data != no_value) {
    if (!largest && !is_float (l.value (data).type))
      data = l.cast (data, ElementType::i64, error);
    if (!largest)
      data = apply (l, "Neg", {data}, error);
    ReduceOp what = {Reduction::position, std::vector<bool> (to.size (), false)};
    what.axes[gsize (axis)] = true;
    if (data != no_value)
      result = l.add (what, {data}, ElementType::i64, to, error);
  }
  if (last)
    result = apply (
        l, "Sub", {l.number (ElementType::i64, double (length - 1)), result}, error);
  if (l.node ().integer ("keepdims", 1) == 0)
    to.erase (to.begin () + axis);
  return result != no_value && give (l, l.reshape (result, to, error));
}

Array
summed (const Array &array, gint64 axis, bool exclusive)
{
  Array result (array.type, array.shape);
  const gsize length = gsize (array.shape[gsize (axis)]);
  for (gsize n = 0; n * length < array.count (); n++) {
    const std::vector<gsize> places = places_of (array.shape, axis, n);
    for (gsize k = 0; k < length; k++) {
      if (k > 0 || !exclusive)
        combine (IndexOp::replace, result, places[k], array, places[k - exclusive]);
      if (k > 0)
        combine (IndexOp::sum, result, places[k], result, places[k - 1]);
    }
  }
  return result;
}

/* An exclusive sum is that of the elements behind a zero, without the last one. */
bool
cumulative_sum (Lowering &l, GError **error)
{
  ValueId data = l.input (0);
  const Shape shape = l.shape (data);
  const ElementType type = l.value (data).type;
  std::vector<gint64> axes;
  if (!l.integers_of_input (1, axes, error))
    return false;
  if (axes.size () != 1)
    return l.fail (error, "expected one axis");
  if (!l.normalize_axis (axes[0], shape.size (), error))
    return false;
  const gint64 axis = axes[0];
  const bool backwards = l.node ().integer ("reverse", 0) != 0,
             exclusive = l.node ().integer ("exclusive", 0) != 0;
  if (count_of (shape) == 0)
    return give (l, data);
  if (!l.reserve (type, shape, error, l.constant (data) ? growth_effort : 0))
    return false;
  if (backwards)
    data = reversed (l, data, axis, error);
  if (data != no_value && l.constant (data))
    data = l.add_constant (summed (*l.constant (data), axis, exclusive));
  else if (data != no_value) {
    ResampleOp shift;
    shift.tables.resize (shape.size ());
    ResampleOp::Table &table = shift.tables[gsize (axis)].emplace ();
    table.index.resize (gsize (shape[gsize (axis)]));
    std::iota (table.index.begin (), table.index.end (), -1);
    if (exclusive)
      data = l.add (shift, {data}, type, shape, error);
    if (data != no_value)
      data = l.add (ScanOp{axis}, {data}, type, shape, error);
  }
  if (data != no_value && backwards)
    data = reversed (l, data, axis, error);
  return give (l, data);
}
} // namespace

ValueId
gather_rows (Lowering &l, ValueId data, ValueId indices, gint64 axis, GError **error)
{
  const Shape &from = l.shape (data), &taken = l.shape (indices);
  IndexOp what = {IndexOp::gather, {}, {gint32 (axis)}, -1};
  Shape to;
  for (gint64 d = 0; d < gint64 (from.size ()); d++) {
    if (d != axis) {
      to.push_back (from[gsize (d)]);
      what.dimensions.push_back ({gint32 (d), -1});
      continue;
    }
    to.insert (to.end (), taken.begin (), taken.end ());
    for (gsize k = 0; k < taken.size (); k++)
      what.dimensions.push_back ({-1, gint32 (k)});
  }
  return index (l, what, data, indices, no_value, to, error);
}

const std::vector<Operator> index_operators = {
    {"GatherElements", 2, 2, elements},
    {"GatherND", 2, 2, blocks},
    {"ScatterElements", 3, 3, elements},
    {"Scatter", 3, 3, elements},
    {"ScatterND", 3, 3, blocks},
    {"OneHot", 3, 3, one_hot},
    {"ReverseSequence", 2, 2, reverse_sequence},
    {"NonZero", 1, 1, non_zero},
    {"TopK", 1, 2, top_k},
    {"ArgMax", 1, 1, extreme<true>},
    {"ArgMin", 1, 1, extreme<false>},
    {"CumSum", 2, 2, cumulative_sum},
};
} // namespace inference
