/* Reductions of ONNX, and softmax
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inference {
namespace {
/* Axes are an attribute before opset 13 or 18, then an input. */
bool
read_axes (Lowering &l, gsize rank, std::vector<bool> &reduced, bool &any, GError **error)
{
  std::vector<gint64> axes = l.node ().integers ("axes");
  if (l.has (1) && !l.integers_of_input (1, axes, error))
    return false;
  any = !axes.empty ();
  reduced.assign (rank, false);
  for (gint64 axis : axes) {
    if (!l.normalize_axis (axis, rank, error))
      return false;
    reduced[gsize (axis)] = true;
  }
  return true;
}

/* For small constants, such as shapes */
Array
reduce_on_host (const Array &array, const ReduceOp &what, const Shape &kept)
{
  Array result (array.type, kept);
  const gsize count = result.count ();
  std::vector<double> sums (count, what.kind == ReduceOp::product   ? 1
                                   : what.kind == ReduceOp::maximum ? -INFINITY
                                   : what.kind == ReduceOp::minimum ? INFINITY
                                                                    : 0);
  const std::vector<gint64> from = contiguous_strides (array.shape),
                            to = contiguous_strides (kept);
  for (gsize n = 0; n < array.count (); n++) {
    gint64 place = 0;
    for (gsize d = 0; d < kept.size (); d++)
      if (!what.axes[d])
        place += gint64 (n) / from[d] % array.shape[d] * to[d];
    double &sum = sums[gsize (place)];
    const double value = array.number (n);
    switch (what.kind) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      sum += value;
      break;
    case ReduceOp::maximum:
      sum = larger (sum, value);
      break;
    case ReduceOp::minimum:
      sum = smaller (sum, value);
      break;
    case ReduceOp::product:
      sum *= value;
      break;
    case ReduceOp::l1:
      sum += std::fabs (value);
      break;
    case ReduceOp::l2:
    case ReduceOp::sum_of_squares:
      sum += value * value;
      break;
    }
  }
  const double reduced = count ? double (array.count ()) / double (count) : 1;
  for (gsize n = 0; n < count; n++)
    result.set_number (n, what.kind == ReduceOp::mean ? sums[n] / reduced
                          : what.kind == ReduceOp::l2 ? std::sqrt (sums[n])
                                                      : sums[n]);
  return result;
}

ValueId
add_reduction (Lowering &l, ReduceOp::Kind kind, ValueId data,
    const std::vector<bool> &reduced, GError **error)
{
  Shape kept = l.shape (data);
  bool changes = false;
  for (gsize d = 0; d < kept.size (); d++) {
    changes = changes || (reduced[d] && kept[d] != 1);
    if (reduced[d])
      kept[d] = 1;
  }
  const ReduceOp what = {kind, reduced};
  if (const Array *array = l.constant (data))
    return l.reserve (ElementType::f64, kept, error)
                   && l.reserve (ElementType::f64, array->shape, error, 4)
               ? l.add_constant (reduce_on_host (*array, what, kept))
               : no_value;
  if (!changes && kind != ReduceOp::l1 && kind != ReduceOp::l2
      && kind != ReduceOp::sum_of_squares)
    return data;
  return l.add (what, {data}, l.value (data).type, kept, error);
}

template <ReduceOp::Kind kind>
bool
reduce (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data);
  std::vector<bool> reduced;
  bool any;
  if (!read_axes (l, from.size (), reduced, any, error))
    return false;
  if (!any && l.node ().integer ("noop_with_empty_axes", 0) != 0) {
    l.set_output (0, data);
    return true;
  }
  if (!any)
    reduced.assign (from.size (), true);
  ValueId result = add_reduction (l, kind, data, reduced, error);
  if (result != no_value && l.node ().integer ("keepdims", 1) == 0) {
    Shape to;
    for (gsize d = 0; d < from.size (); d++)
      if (!reduced[d])
        to.push_back (from[d]);
    result = l.reshape (result, to, error);
  }
  l.set_output (0, result);
  return result != no_value;
}

/* Before opset 13 softmax is over all dimensions from the axis on. */
template <bool logarithm>
bool
softmax (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data);
  const bool flattens = l.opset () < 13;
  gint64 axis = l.node ().integer ("axis", flattens ? 1 : -1);
  if (!l.normalize_axis (axis, from.size (), error))
    return false;
  ValueId input = data;
  if (flattens) {
    const Shape outer (from.begin (), from.begin () + axis),
        inner (from.begin () + axis, from.end ());
    input = l.reshape (data, {count_of (outer), count_of (inner)}, error);
    axis = 1;
  }
  if (input == no_value)
    return false;
  ValueId result = l.add (
      SoftmaxOp{axis, logarithm}, {input}, l.value (data).type, l.shape (input), error);
  if (result != no_value)
    result = l.reshape (result, from, error);
  l.set_output (0, result);
  return result != no_value;
}
} // namespace

const std::vector<Operator> reduction_operators = {
    {"ReduceSum", 1, 2, reduce<ReduceOp::sum>},
    {"ReduceMean", 1, 2, reduce<ReduceOp::mean>},
    {"ReduceMax", 1, 2, reduce<ReduceOp::maximum>},
    {"ReduceMin", 1, 2, reduce<ReduceOp::minimum>},
    {"ReduceProd", 1, 2, reduce<ReduceOp::product>},
    {"ReduceL1", 1, 2, reduce<ReduceOp::l1>},
    {"ReduceL2", 1, 2, reduce<ReduceOp::l2>},
    {"ReduceSumSquare", 1, 2, reduce<ReduceOp::sum_of_squares>},
    {"Softmax", 1, 1, softmax<false>},
    {"LogSoftmax", 1, 1, softmax<true>},
};
} // namespace inference
