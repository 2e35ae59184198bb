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
multiply_add (Formula &f, ValueId x, ValueId scale, ValueId shift)
{
  return f.op ("Add", {f.op ("Mul", {x, scale}), shift});
}

double
epsilon_of (const Lowering &l)
{
  return l.node ().number ("epsilon", double (1e-5f));
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
  const Shape shape = of_channels (l.shape (data));
  Formula f (l, error);
  ValueId per_channel[4]; /* scale, bias, mean, variance */
  for (gsize n = 0; n < 4; n++) {
    per_channel[n] = f.reshape (l.input (n + 1), shape);
    if (per_channel[n] != no_value)
      per_channel[n] = l.cast (per_channel[n], l.value (data).type, error);
  }
  const ValueId deviation = f.op ("Sqrt", {f.op ("Add", per_channel[3], epsilon_of (l))});
  const ValueId scale = f.op ("Div", {per_channel[0], deviation});
  const ValueId shift =
      f.op ("Sub", {per_channel[1], f.op ("Mul", {per_channel[2], scale})});
  return f.give (multiply_add (f, data, scale, shift));
}

/* x less its mean over the dimensions in `reduced`, and sqrt (variance + epsilon) */
struct Spread {
  Spread (Formula &f, ValueId x, const std::vector<bool> &reduced, double epsilon)
      : mean (f.reduce (Reduction::mean, x, reduced)), centred (f.op ("Sub", {x, mean}))
  {
    const ValueId variance =
        f.reduce (Reduction::mean, f.op ("Mul", {centred, centred}), reduced);
    deviation = f.op ("Sqrt", {f.op ("Add", variance, epsilon)});
  }

  ValueId mean, centred, deviation;
};

ValueId
standardized (Formula &f, ValueId x, const std::vector<bool> &reduced, double epsilon)
{
  const Spread spread (f, x, reduced, epsilon);
  return f.op ("Div", {spread.centred, spread.deviation});
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
  Formula f (l, error);
  return f.give (multiply_add (f, standardized (f, data, reduced, epsilon_of (l)),
      f.reshape (l.input (1), shape), f.reshape (l.input (2), shape)));
}

/* The mean, and 1 / sqrt (variance + epsilon), of the rows (…, length), which most networks
 * do not read */
bool
give_statistics (Lowering &l, ValueId rows, const Shape &shape, GError **error)
{
  std::vector<bool> reduced (l.shape (rows).size (), false);
  reduced.back () = true;
  Formula f (l, error);
  const Spread spread (f, rows, reduced, epsilon_of (l));
  const ValueId factor = f.reshape (f.op ("Reciprocal", {spread.deviation}), shape);
  l.set_output (1, f.reshape (spread.mean, shape));
  l.set_output (2, factor);
  return factor != no_value;
}

/* Several normalized dimensions become one. */
bool
layer_normalization (Lowering &l, GError **error)
{
  const Shape from = l.shape (l.input (0));
  gint64 axis = l.node ().integer ("axis", -1);
  if (!l.normalize_axis (axis, from.size (), error))
    return false;
  Shape flat (from.begin (), from.begin () + axis), of_statistics = flat;
  const Shape normalized (from.begin () + axis, from.end ());
  flat.push_back (count_of (normalized));
  of_statistics.resize (from.size (), 1);
  Formula f (l, error);
  std::vector<ValueId> inputs = {f.reshape (l.input (0), flat)};
  for (gsize n = 1; n < l.inputs (); n++)
    if (l.has (n))
      inputs.push_back (f.reshape (f.expand (l.input (n), normalized), {flat.back ()}));
  if (std::count (inputs.begin (), inputs.end (), no_value) > 0
      || (l.outputs () > 1 && !give_statistics (l, inputs[0], of_statistics, error)))
    return false;
  return f.give (f.reshape (l.add (NormalizeOp{epsilon_of (l)}, inputs,
                                l.value (l.input (0)).type, flat, error),
      from));
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
  if (size < 1 || count_of (from) == 0)
    return l.fail (error, "unsupported size %" G_GINT64_FORMAT, size);
  /* Channels farther away are zeros. */
  const gint64 before = std::min ((size - 1) / 2, channels - 1),
               after = std::min (size / 2, channels - 1);
  WindowOp mean{};
  mean.kind = WindowOp::average;
  mean.window = {before + after + 1, 1};
  mean.stride = mean.dilation = {1, 1};
  mean.before = {before, 0};
  mean.after = {after, 0};
  mean.counts_padding = true;

  const Shape flat = {from[0], 1, channels, count_of (from) / (from[0] * channels)};
  Formula f (l, error);
  ValueId sum = f.reshape (f.op ("Mul", {data, data}), flat);
  if (sum != no_value)
    sum = f.reshape (l.add (mean, {sum}, type, flat, error), from);
  sum = f.op ("Mul", sum,
      l.node ().number ("alpha", double (0.0001f)) * double (mean.window[0])
          / double (size));
  sum = f.op ("Add", sum, l.node ().number ("bias", 1));
  sum = f.op ("Pow", sum, l.node ().number ("beta", 0.75));
  return f.give (f.op ("Div", {data, sum}));
}

/* Groups of channels. Before opset 21 scale and bias have a number for each group. */
bool
group_normalization (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data);
  const gint64 groups = l.node ().integer ("num_groups", 0);
  if (from.size () < 3 || groups < 1 || from[1] % groups != 0 || count_of (from) == 0)
    return l.fail (error, "unsupported num_groups %" G_GINT64_FORMAT, groups);
  const Shape rows = {from[0], groups, count_of (from) / (from[0] * groups)};
  Formula f (l, error);
  const ValueId x =
      standardized (f, f.reshape (data, rows), {false, false, true}, epsilon_of (l));
  ValueId factors[2];
  for (gsize n = 0; n < 2; n++) {
    factors[n] = l.input (n + 1);
    if (count_of (l.shape (factors[n])) == groups && groups != from[1])
      factors[n] = f.reshape (
          f.expand (f.reshape (factors[n], {groups, 1}), {groups, from[1] / groups}),
          {from[1]});
    factors[n] = f.reshape (factors[n], of_channels (from));
  }
  return f.give (multiply_add (f, f.reshape (x, from), factors[0], factors[1]));
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
  ValueId square = f.reduce (Reduction::mean, f.op ("Mul", {x, x}), reduced);
  square = f.op ("Add", square, epsilon_of (l));
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
    return l.fail (error, "unsupported p=%" G_GINT64_FORMAT, p);
  if (!l.normalize_axis (axis, reduced.size (), error))
    return false;
  reduced[gsize (axis)] = true;
  Formula f (l, error);
  const ValueId norm = f.reduce (p == 1 ? Reduction::l1 : Reduction::l2, x, reduced);
  return f.give (f.op ("Div", {x, f.op ("Clip", {norm},
                                      {double (std::numeric_limits<float>::min ()),
                                          std::numeric_limits<double>::infinity ()})}));
}

} // namespace

const std::vector<Operator> normalization_operators = {
    {"BatchNormalization", 5, 5, batch_normalization},
    {"InstanceNormalization", 3, 3, instance_normalization},
    {"LayerNormalization", 2, 3, layer_normalization},
    {"GroupNormalization", 3, 3, group_normalization},
    {"RMSNormalization", 2, 2, rms_normalization},
    {"LpNormalization", 1, 1, lp_normalization},
    {"LRN", 1, 1, local_response_normalization},
};
} // namespace inference
