/* Operators of ONNX on single elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <limits>

namespace inference {
namespace {
bool
expect_inputs (Lowering &l, gsize least, gsize most, GError **error)
{
  gsize given = 0;
  while (l.has (given))
    given++;
  if (given >= least && l.inputs () <= most)
    return true;
  return l.fail (error, "%" G_GSIZE_FORMAT " inputs", given);
}

/* An operator with the name and the operands of the element-wise one */
template <gsize operands>
bool
same (Lowering &l, GError **error)
{
  std::vector<ValueId> inputs;
  if (!expect_inputs (l, operands, operands, error))
    return false;
  for (gsize n = 0; n < operands; n++)
    inputs.push_back (l.input (n));
  const ValueId result = l.elementwise (l.node ().op.c_str (), inputs, error);
  l.set_output (0, result);
  return result != no_value;
}

/* Sum, Max, Min and Mean of any number of operands */
ValueId
chain (Lowering &l, const char *op, GError **error)
{
  if (!expect_inputs (l, 1, G_MAXSIZE, error))
    return no_value;
  ValueId result = l.input (0);
  for (gsize n = 1; n < l.inputs () && result != no_value; n++)
    result = l.elementwise (op, {result, l.input (n)}, error);
  return result;
}

bool
chain_of_adds (Lowering &l, GError **error)
{
  const ValueId result = chain (l, "Add", error);
  l.set_output (0, result);
  return result != no_value;
}

bool
chain_of_same (Lowering &l, GError **error)
{
  const ValueId result = chain (l, l.node ().op.c_str (), error);
  l.set_output (0, result);
  return result != no_value;
}

bool
mean (Lowering &l, GError **error)
{
  const ValueId sum = chain (l, "Add", error);
  if (sum == no_value)
    return false;
  const ValueId count = l.number (l.value (sum).type, double (l.inputs ()));
  const ValueId result = l.elementwise ("Div", {sum, count}, error);
  l.set_output (0, result);
  return result != no_value;
}

bool
with_parameters (Lowering &l, const std::vector<double> &parameters, GError **error)
{
  if (!expect_inputs (l, 1, 1, error))
    return false;
  const ValueId result =
      l.elementwise (l.node ().op.c_str (), {l.input (0)}, error, parameters);
  l.set_output (0, result);
  return result != no_value;
}

bool
hard_sigmoid (Lowering &l, GError **error)
{
  const double alpha = double (0.2f);
  return with_parameters (
      l, {l.node ().number ("alpha", alpha), l.node ().number ("beta", 0.5)}, error);
}

bool
leaky_relu (Lowering &l, GError **error)
{
  return with_parameters (l, {l.node ().number ("alpha", double (0.01f))}, error);
}

bool
elu (Lowering &l, GError **error)
{
  return with_parameters (l, {l.node ().number ("alpha", 1)}, error);
}

/* Limits are attributes before opset 11, then inputs. Constant ones become parameters. */
bool
clip (Lowering &l, GError **error)
{
  if (!expect_inputs (l, 1, 3, error))
    return false;
  const ElementType type = l.value (l.input (0)).type;
  const bool real = is_float (type);
  const double lowest = real ? -std::numeric_limits<float>::max () : double (G_MININT64);
  const double highest = real ? std::numeric_limits<float>::max () : double (G_MAXINT64);
  double limits[2] = {
      l.node ().number ("min", lowest), l.node ().number ("max", highest)};
  ValueId result = l.input (0);
  bool constant = true;
  for (gsize n = 0; n < 2; n++) {
    if (!l.has (n + 1))
      continue;
    const Array *limit = l.constant (l.input (n + 1));
    if (limit && limit->count () == 1)
      limits[n] = limit->number (0);
    else
      constant = false;
  }
  if (constant && (real || (l.has (1) && l.has (2)))) {
    result = l.elementwise ("Clip", {result}, error, {limits[0], limits[1]});
  } else {
    if (l.has (1))
      result = l.elementwise ("Max", {result, l.input (1)}, error);
    if (result != no_value && l.has (2))
      result = l.elementwise ("Min", {result, l.input (2)}, error);
  }
  l.set_output (0, result);
  return result != no_value;
}

/* The exponent may have another type. */
bool
power (Lowering &l, GError **error)
{
  if (!expect_inputs (l, 2, 2, error))
    return false;
  const ElementType type = l.value (l.input (0)).type;
  const ElementType other = l.value (l.input (1)).type;
  /* A whole base with a fractional exponent is computed with floating-point numbers. */
  const ElementType computed = is_float (type) || !is_float (other) ? type : other;
  ValueId base = l.cast (l.input (0), computed, error);
  const ValueId exponent = l.cast (l.input (1), computed, error);
  if (base == no_value || exponent == no_value)
    return false;
  base = l.elementwise ("Pow", {base, exponent}, error);
  const ValueId result = base == no_value ? no_value : l.cast (base, type, error);
  l.set_output (0, result);
  return result != no_value;
}

bool
modulo (Lowering &l, GError **error)
{
  if (l.node ().integer ("fmod", 0))
    return l.fail (error, "fmod=1 is not supported");
  return same<2> (l, error);
}

bool
where (Lowering &l, GError **error)
{
  if (!expect_inputs (l, 3, 3, error))
    return false;
  const ElementType type = l.value (l.input (1)).type;
  const ValueId condition = l.cast (l.input (0), type, error);
  const ValueId result =
      condition == no_value
          ? no_value
          : l.elementwise ("Where", {condition, l.input (1), l.input (2)}, error);
  l.set_output (0, result);
  return result != no_value;
}

bool
cast (Lowering &l, GError **error)
{
  if (!expect_inputs (l, 1, 1, error))
    return false;
  const gint64 wanted = l.node ().integer ("to", 0);
  const ElementInfo *to = element_of_onnx (gint32 (wanted));
  if (!to)
    return l.fail (
        error, "element type %" G_GINT64_FORMAT " of ONNX is not supported", wanted);
  const ValueId result = l.cast (l.input (0), to->type, error);
  l.set_output (0, result);
  return result != no_value;
}

bool
cast_like (Lowering &l, GError **error)
{
  if (!expect_inputs (l, 2, 2, error))
    return false;
  const ValueId result = l.cast (l.input (0), l.value (l.input (1)).type, error);
  l.set_output (0, result);
  return result != no_value;
}

/* gelu (x) = x / 2 (1 + erf (x / √2)) */
bool
gelu (Lowering &l, GError **error)
{
  if (!expect_inputs (l, 1, 1, error) || l.node ().text ("approximate", "none") != "none")
    return l.fail (error, "only approximate=none is supported");
  const ValueId x = l.input (0);
  const ElementType type = l.value (x).type;
  ValueId y = l.elementwise ("Mul", {x, l.number (type, G_SQRT2 / 2)}, error);
  if (y != no_value)
    y = l.elementwise ("Erf", {y}, error);
  if (y != no_value)
    y = l.elementwise ("Add", {y, l.number (type, 1)}, error);
  if (y != no_value)
    y = l.elementwise ("Mul", {y, l.number (type, 0.5)}, error);
  if (y != no_value)
    y = l.elementwise ("Mul", {x, y}, error);
  l.set_output (0, y);
  return y != no_value;
}
} // namespace

const std::vector<Operator> elementwise_operators = {
    {"Add", same<2>},
    {"Sub", same<2>},
    {"Mul", same<2>},
    {"Div", same<2>},
    {"Mod", modulo},
    {"Pow", power},
    {"PRelu", same<2>},
    {"Sum", chain_of_adds},
    {"Max", chain_of_same},
    {"Min", chain_of_same},
    {"Mean", mean},
    {"Relu", same<1>},
    {"Clip", clip},
    {"Sigmoid", same<1>},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", same<1>},
    {"LeakyRelu", leaky_relu},
    {"Elu", elu},
    {"Softplus", same<1>},
    {"Tanh", same<1>},
    {"Exp", same<1>},
    {"Log", same<1>},
    {"Sqrt", same<1>},
    {"Reciprocal", same<1>},
    {"Erf", same<1>},
    {"Gelu", gelu},
    {"Abs", same<1>},
    {"Neg", same<1>},
    {"Floor", same<1>},
    {"Ceil", same<1>},
    {"Round", same<1>},
    {"Sin", same<1>},
    {"Cos", same<1>},
    {"Equal", same<2>},
    {"Less", same<2>},
    {"LessOrEqual", same<2>},
    {"Greater", same<2>},
    {"GreaterOrEqual", same<2>},
    {"And", same<2>},
    {"Or", same<2>},
    {"Not", same<1>},
    {"Where", where},
    {"Cast", cast},
    {"CastLike", cast_like},
};
} // namespace inference
