/* Operators of ONNX on single elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <limits>

namespace inference {
namespace {
/* An operator with the name and the operands of the element-wise one */
bool
same (Lowering &l, GError **error)
{
  std::vector<ValueId> inputs;
  for (gsize n = 0; n < l.inputs (); n++)
    inputs.push_back (l.input (n));
  const ValueId result = l.elementwise (l.node ().op.c_str (), inputs, error);
  l.set_output (0, result);
  return result != no_value;
}

/* Sum, Max, Min and Mean of any number of operands */
ValueId
chain (Lowering &l, const char *op, GError **error)
{
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
  return same (l, error);
}

bool
where (Lowering &l, GError **error)
{
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
  const ValueId result = l.cast (l.input (0), l.value (l.input (1)).type, error);
  l.set_output (0, result);
  return result != no_value;
}

/* gelu (x) = x / 2 (1 + erf (x / √2)) */
bool
gelu (Lowering &l, GError **error)
{
  if (l.node ().text ("approximate", "none") != "none")
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
    {"Add", 2, 2, same},
    {"Sub", 2, 2, same},
    {"Mul", 2, 2, same},
    {"Div", 2, 2, same},
    {"Mod", 2, 2, modulo},
    {"Pow", 2, 2, power},
    {"PRelu", 2, 2, same},
    {"Sum", 1, any_number, chain_of_adds},
    {"Max", 1, any_number, chain_of_same},
    {"Min", 1, any_number, chain_of_same},
    {"Mean", 1, any_number, mean},
    {"Relu", 1, 1, same},
    {"Clip", 1, 3, clip},
    {"Sigmoid", 1, 1, same},
    {"HardSigmoid", 1, 1, hard_sigmoid},
    {"HardSwish", 1, 1, same},
    {"LeakyRelu", 1, 1, leaky_relu},
    {"Elu", 1, 1, elu},
    {"Softplus", 1, 1, same},
    {"Tanh", 1, 1, same},
    {"Exp", 1, 1, same},
    {"Log", 1, 1, same},
    {"Sqrt", 1, 1, same},
    {"Reciprocal", 1, 1, same},
    {"Erf", 1, 1, same},
    {"Gelu", 1, 1, gelu},
    {"Abs", 1, 1, same},
    {"Neg", 1, 1, same},
    {"Floor", 1, 1, same},
    {"Ceil", 1, 1, same},
    {"Round", 1, 1, same},
    {"Sin", 1, 1, same},
    {"Cos", 1, 1, same},
    {"Equal", 2, 2, same},
    {"Less", 2, 2, same},
    {"LessOrEqual", 2, 2, same},
    {"Greater", 2, 2, same},
    {"GreaterOrEqual", 2, 2, same},
    {"And", 2, 2, same},
    {"Or", 2, 2, same},
    {"Not", 1, 1, same},
    {"Where", 3, 3, where},
    {"Cast", 1, 1, cast},
    {"CastLike", 2, 2, cast_like},
};
} // namespace inference
