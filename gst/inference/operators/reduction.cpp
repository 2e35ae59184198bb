/* Reductions of ONNX, and softmax
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
  std::vector<double> sums (count, what.kind == Reduction::product   ? 1
                                   : what.kind == Reduction::maximum ? -INFINITY
                                   : what.kind == Reduction::minimum ? INFINITY
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
    case Reduction::sum:
    case Reduction::mean:
      sum += value;
      break;
    case Reduction::maximum:
      sum = larger (sum, value);
      break;
    case Reduction::minimum:
      sum = smaller (sum, value);
      break;
    case Reduction::product:
      sum *= value;
      break;
    case Reduction::l1:
      sum += std::fabs (value);
      break;
    case Reduction::l2:
    case Reduction::sum_of_squares:
      sum += value * value;
      break;
    default: /* indices.cpp folds positions; networks have no others */
      break;
    }
  }
  const double reduced = count ? double (array.count ()) / double (count) : 1;
  for (gsize n = 0; n < count; n++)
    result.set_number (n, what.kind == Reduction::mean ? sums[n] / reduced
                          : what.kind == Reduction::l2 ? std::sqrt (sums[n])
                                                       : sums[n]);
  return result;
}

} // namespace

ValueId
add_reduction (Lowering &l, Reduction kind, ValueId data,
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
  if (!changes && kind != Reduction::l1 && kind != Reduction::l2
      && kind != Reduction::sum_of_squares)
    return data;
  return l.add (what, {data}, l.value (data).type, kept, error);
}

namespace {
/* log (sum of exp (x)). Without the maximum the powers would overflow. */
ValueId
log_sum_exp (Lowering &l, ValueId data, const std::vector<bool> &reduced, GError **error)
{
  Formula f (l, error);
  ValueId largest = f.reduce (Reduction::maximum, data, reduced);
  largest = f.op ("Clip", {largest},
      {double (-std::numeric_limits<float>::max ()),
          double (std::numeric_limits<float>::max ())});
  const ValueId powers = f.op ("Exp", {f.op ("Sub", {data, largest})});
  const ValueId sum = f.reduce (Reduction::sum, powers, reduced);
  return f.op ("Add", {f.op ("Log", {sum}), largest});
}

ValueId
log_sum (Lowering &l, ValueId data, const std::vector<bool> &reduced, GError **error)
{
  Formula f (l, error);
  return f.op ("Log", {f.reduce (Reduction::sum, data, reduced)});
}

template <Reduction kind>
ValueId
plain (Lowering &l, ValueId data, const std::vector<bool> &reduced, GError **error)
{
  return add_reduction (l, kind, data, reduced, error);
}

template <ValueId (*reduction) (
    Lowering &, ValueId, const std::vector<bool> &, GError **)>
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
  ValueId result = reduction (l, data, reduced, error);
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

/* Before opset 13 over all dimensions from the axis on */
template <bool logarithm>
bool
softmax (Lowering &l, GError **error)
{
  const bool flattens = l.opset () < 13;
  Shape rows = l.shape (l.input (0));
  gint64 axis = l.node ().integer ("axis", flattens ? 1 : -1);
  if (!l.normalize_axis (axis, rows.size (), error))
    return false;
  if (flattens) {
    const Shape outer (rows.begin (), rows.begin () + axis),
        inner (rows.begin () + axis, rows.end ());
    rows = {count_of (outer), count_of (inner)};
    axis = 1;
  }
  Formula f (l, error);
  const ValueId input = f.reshape (l.input (0), rows);
  return input != no_value
         && f.give (f.reshape (l.add (SoftmaxOp{axis, logarithm}, {input},
                                   l.value (input).type, rows, error),
             l.shape (l.input (0))));
}
} // namespace

const std::vector<Operator> reduction_operators = {
    {"ReduceSum", 1, 2, reduce<plain<Reduction::sum>>},
    {"ReduceMean", 1, 2, reduce<plain<Reduction::mean>>},
    {"ReduceMax", 1, 2, reduce<plain<Reduction::maximum>>},
    {"ReduceMin", 1, 2, reduce<plain<Reduction::minimum>>},
    {"ReduceProd", 1, 2, reduce<plain<Reduction::product>>},
    {"ReduceL1", 1, 2, reduce<plain<Reduction::l1>>},
    {"ReduceL2", 1, 2, reduce<plain<Reduction::l2>>},
    {"ReduceSumSquare", 1, 2, reduce<plain<Reduction::sum_of_squares>>},
    {"ReduceLogSum", 1, 2, reduce<log_sum>},
    {"ReduceLogSumExp", 1, 2, reduce<log_sum_exp>},
    {"Softmax", 1, 1, softmax<false>},
    {"LogSoftmax", 1, 1, softmax<true>},
};
} // namespace inference
