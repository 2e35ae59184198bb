/* Normalizations of ONNX, as element-wise operations and reductions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <cmath>
#include <limits>

namespace inference {
namespace {
/* The shape that makes a number for each channel broadcast to (images, channels, …) */
Shape
of_channels (const Shape &data)
{
  Shape shape (data.size () > 1 ? data.size () - 1 : 1, 1);
  shape[0] = data.size () > 1 ? data[1] : 1;
  return shape;
}

ValueId
multiply_add (Lowering &l, ValueId x, ValueId scale, ValueId shift, GError **error)
{
  x = l.elementwise ("Mul", {x, scale}, error);
  return x == no_value ? no_value : l.elementwise ("Add", {x, shift}, error);
}

/* With constant statistics, scale x + shift, which a convolution before it can take in */
bool
batch_normalization (Lowering &l, GError **error)
{
  if (l.node ().integer ("training_mode", 0) != 0)
    return l.fail (error, "training_mode is not supported");
  if (l.shape (l.input (0)).size () < 2)
    return l.fail (error, "expected (images, channels, …)");
  const ValueId data = l.input (0);
  const ElementType type = l.value (data).type;
  const Shape shape = of_channels (l.shape (data));
  ValueId per_channel[4]; /* scale, bias, mean, variance */
  for (gsize n = 0; n < 4; n++) {
    per_channel[n] = l.reshape (l.input (n + 1), shape, error);
    if (per_channel[n] != no_value)
      per_channel[n] = l.cast (per_channel[n], type, error);
    if (per_channel[n] == no_value)
      return false;
  }
  const ValueId epsilon = l.number (type, l.node ().number ("epsilon", double (1e-5f)));
  ValueId deviation = l.elementwise ("Add", {per_channel[3], epsilon}, error);
  if (deviation != no_value)
    deviation = l.elementwise ("Sqrt", {deviation}, error);
  const ValueId scale = deviation == no_value
                            ? no_value
                            : l.elementwise ("Div", {per_channel[0], deviation}, error);
  ValueId shift = scale == no_value
                      ? no_value
                      : l.elementwise ("Mul", {per_channel[2], scale}, error);
  if (shift != no_value)
    shift = l.elementwise ("Sub", {per_channel[1], shift}, error);
  const ValueId result =
      shift == no_value ? no_value : multiply_add (l, data, scale, shift, error);
  l.set_output (0, result);
  return result != no_value;
}

/* (x - mean) / sqrt (variance + epsilon) over the dimensions in `reduced` */
ValueId
standardized (Lowering &l, ValueId x, const std::vector<bool> &reduced, double epsilon,
    GError **error)
{
  const ElementType type = l.value (x).type;
  Shape kept = l.shape (x);
  for (gsize d = 0; d < kept.size (); d++)
    if (reduced[d])
      kept[d] = 1;
  const ReduceOp mean_of = {ReduceOp::mean, reduced};
  const ValueId mean = l.add (mean_of, {x}, type, kept, error);
  const ValueId centred =
      mean == no_value ? no_value : l.elementwise ("Sub", {x, mean}, error);
  ValueId variance =
      centred == no_value ? no_value : l.elementwise ("Mul", {centred, centred}, error);
  if (variance != no_value)
    variance = l.add (mean_of, {variance}, type, kept, error);
  if (variance != no_value)
    variance = l.elementwise ("Add", {variance, l.number (type, epsilon)}, error);
  if (variance != no_value)
    variance = l.elementwise ("Sqrt", {variance}, error);
  return variance == no_value ? no_value
                              : l.elementwise ("Div", {centred, variance}, error);
}

bool
instance_normalization (Lowering &l, GError **error)
{
  if (l.shape (l.input (0)).size () < 3)
    return l.fail (error, "expected (images, channels, …)");
  const ValueId data = l.input (0);
  const Shape shape = of_channels (l.shape (data));
  std::vector<bool> reduced (l.shape (data).size (), true);
  reduced[0] = reduced[1] = false;
  const ValueId scale = l.reshape (l.input (1), shape, error);
  const ValueId bias =
      scale == no_value ? no_value : l.reshape (l.input (2), shape, error);
  ValueId result = bias == no_value
                       ? no_value
                       : standardized (l, data, reduced,
                           l.node ().number ("epsilon", double (1e-5f)), error);
  if (result != no_value)
    result = multiply_add (l, result, scale, bias, error);
  l.set_output (0, result);
  return result != no_value;
}

/* The mean, and 1 / sqrt (variance + epsilon), of the rows (…, length), which most networks
 * do not read */
bool
give_statistics (Lowering &l, ValueId rows, Shape shape, double epsilon, GError **error)
{
  const ElementType type = l.value (rows).type;
  std::vector<bool> reduced (l.shape (rows).size (), false);
  reduced.back () = true;
  Shape kept = l.shape (rows);
  kept.back () = 1;
  const ReduceOp mean_of = {ReduceOp::mean, reduced};
  const ValueId mean = l.add (mean_of, {rows}, type, kept, error);
  ValueId spread =
      mean == no_value ? no_value : l.elementwise ("Sub", {rows, mean}, error);
  if (spread != no_value)
    spread = l.elementwise ("Mul", {spread, spread}, error);
  if (spread != no_value)
    spread = l.add (mean_of, {spread}, type, kept, error);
  if (spread != no_value)
    spread = l.elementwise ("Add", {spread, l.number (type, epsilon)}, error);
  for (const char *op : {"Sqrt", "Reciprocal"})
    if (spread != no_value)
      spread = l.elementwise (op, {spread}, error);
  if (spread == no_value)
    return false;
  l.set_output (1, l.reshape (mean, shape, error));
  if (l.outputs () > 2)
    l.set_output (2, l.reshape (spread, shape, error));
  return true;
}

/* Several normalized dimensions become one. */
bool
layer_normalization (Lowering &l, GError **error)
{
  const Shape from = l.shape (l.input (0));
  const double epsilon = l.node ().number ("epsilon", double (1e-5f));
  gint64 axis = l.node ().integer ("axis", -1);
  if (!l.normalize_axis (axis, from.size (), error))
    return false;
  Shape flat (from.begin (), from.begin () + axis), of_statistics = flat;
  const Shape normalized (from.begin () + axis, from.end ());
  flat.push_back (count_of (normalized));
  of_statistics.resize (from.size (), 1);
  std::vector<ValueId> inputs = {l.reshape (l.input (0), flat, error)};
  for (gsize n = 1; n < l.inputs () && inputs.back () != no_value; n++) {
    if (!l.has (n))
      continue;
    const ValueId whole = l.expand (l.input (n), normalized, error);
    inputs.push_back (
        whole == no_value ? no_value : l.reshape (whole, {flat.back ()}, error));
  }
  if (inputs.back () == no_value)
    return false;
  if (l.outputs () > 1 && !give_statistics (l, inputs[0], of_statistics, epsilon, error))
    return false;
  ValueId result =
      l.add (NormalizeOp{epsilon}, inputs, l.value (l.input (0)).type, flat, error);
  if (result != no_value)
    result = l.reshape (result, from, error);
  l.set_output (0, result);
  return result != no_value;
}

/* x / (bias + alpha / size * sum of x² over `size` channels) ^ beta. The mean over channels
 * is an average pooling of (images, 1, channels, pixels). */
bool
local_response_normalization (Lowering &l, GError **error)
{
  if (l.shape (l.input (0)).size () < 2)
    return l.fail (error, "expected (images, channels, …)");
  const ValueId data = l.input (0);
  const Shape from = l.shape (data);
  const ElementType type = l.value (data).type;
  const gint64 size = l.node ().integer ("size", 0), channels = from[1];
  if (size < 1 || size > channels * 2 || count_of (from) == 0)
    return l.fail (error, "size %" G_GINT64_FORMAT, size);
  WindowOp mean{};
  mean.kind = WindowOp::average;
  mean.window = {size, 1};
  mean.stride = mean.dilation = {1, 1};
  mean.before = {(size - 1) / 2, 0};
  mean.after = {size / 2, 0};
  mean.counts_padding = true;

  const Shape flat = {from[0], 1, channels, count_of (from) / (from[0] * channels)};
  ValueId sum = l.elementwise ("Mul", {data, data}, error);
  if (sum != no_value)
    sum = l.reshape (sum, flat, error);
  if (sum != no_value)
    sum = l.add (mean, {sum}, type, flat, error);
  if (sum != no_value)
    sum = l.reshape (sum, from, error);
  if (sum != no_value)
    sum = l.elementwise ("Mul",
        {sum, l.number (type, l.node ().number ("alpha", double (0.0001f)))}, error);
  if (sum != no_value)
    sum = l.elementwise (
        "Add", {sum, l.number (type, l.node ().number ("bias", 1))}, error);
  if (sum != no_value)
    sum = l.elementwise (
        "Pow", {sum, l.number (type, l.node ().number ("beta", 0.75))}, error);
  const ValueId result =
      sum == no_value ? no_value : l.elementwise ("Div", {data, sum}, error);
  l.set_output (0, result);
  return result != no_value;
}
/* Groups of channels. Before opset 21 scale and bias have a number for each group. */
bool
group_normalization (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data);
  const gint64 groups = l.node ().integer ("num_groups", 0);
  if (from.size () < 3 || groups < 1 || from[1] % groups != 0 || count_of (from) == 0)
    return l.fail (error, "%" G_GINT64_FORMAT " groups", groups);
  const Shape rows = {from[0], groups, count_of (from) / (from[0] * groups)};
  Formula f (l, error);
  ValueId x = f.reshape (data, rows), factors[2];
  if (x != no_value)
    x = standardized (
        l, x, {false, false, true}, l.node ().number ("epsilon", double (1e-5f)), error);
  for (gsize n = 0; n < 2; n++) {
    factors[n] = l.input (n + 1);
    if (count_of (l.shape (factors[n])) == groups && groups != from[1])
      factors[n] = f.reshape (
          f.expand (f.reshape (factors[n], {groups, 1}), {groups, from[1] / groups}),
          {from[1]});
    factors[n] = f.reshape (factors[n], of_channels (from));
  }
  return f.give (
      f.op ("Add", {f.op ("Mul", {f.reshape (x, from), factors[0]}), factors[1]}));
}

/* x / sqrt (mean of x² + epsilon) * scale */
bool
rms_normalization (Lowering &l, GError **error)
{
  const ValueId x = l.input (0);
  std::vector<bool> reduced (l.shape (x).size (), false);
  gint64 axis = l.node ().integer ("axis", -1);
  if (!l.normalize_axis (axis, reduced.size (), error))
    return false;
  std::fill (reduced.begin () + axis, reduced.end (), true);
  Formula f (l, error);
  ValueId square = f.reduce (ReduceOp::mean, f.op ("Mul", {x, x}), reduced);
  square = f.op ("Add", square, l.node ().number ("epsilon", double (1e-5f)));
  return f.give (f.op ("Mul", {f.op ("Div", {x, f.op ("Sqrt", {square})}), l.input (1)}));
}

/* A norm of 0 gives 0, as in onnxruntime. */
bool
lp_normalization (Lowering &l, GError **error)
{
  const ValueId x = l.input (0);
  std::vector<bool> reduced (l.shape (x).size (), false);
  const gint64 p = l.node ().integer ("p", 2);
  gint64 axis = l.node ().integer ("axis", -1);
  if (p != 1 && p != 2)
    return l.fail (error, "p=%" G_GINT64_FORMAT, p);
  if (!l.normalize_axis (axis, reduced.size (), error))
    return false;
  reduced[gsize (axis)] = true;
  Formula f (l, error);
  const ValueId norm = f.reduce (p == 1 ? ReduceOp::l1 : ReduceOp::l2, x, reduced);
  return f.give (f.op ("Div", {x, f.op ("Clip", {norm},
                                      {double (std::numeric_limits<float>::min ()),
                                          std::numeric_limits<double>::infinity ()})}));
}

/* ONNX adds 1e-9 to the deviation. */
bool
mean_variance_normalization (Lowering &l, GError **error)
{
  const gsize rank = l.shape (l.input (0)).size ();
  std::vector<gint64> axes = l.node ().integers ("axes");
  if (axes.empty ())
    axes = {0, 2, 3};
  std::vector<bool> reduced (rank, false);
  for (gint64 axis : axes) {
    if (!l.normalize_axis (axis, rank, error))
      return false;
    reduced[gsize (axis)] = true;
  }
  return Formula (l, error).give (standardized (l, l.input (0), reduced, 1e-18, error));
}
} // namespace

const std::vector<Operator> normalization_operators = {
    {"BatchNormalization", 5, 5, batch_normalization},
    {"InstanceNormalization", 3, 3, instance_normalization},
    {"LayerNormalization", 2, 3, layer_normalization},
    {"GroupNormalization", 3, 3, group_normalization},
    {"RMSNormalization", 2, 2, rms_normalization},
    {"LpNormalization", 1, 1, lp_normalization},
    {"MeanVarianceNormalization", 1, 1, mean_variance_normalization},
    {"LRN", 1, 1, local_response_normalization},
};
} // namespace inference
