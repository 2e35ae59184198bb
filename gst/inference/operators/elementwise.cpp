/* Operators of ONNX on single elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <cmath>
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
  return Formula (l, error).give (chain (l, "Add", error));
}

bool
chain_of_same (Lowering &l, GError **error)
{
  return Formula (l, error).give (chain (l, l.node ().op.c_str (), error));
}

bool
mean (Lowering &l, GError **error)
{
  Formula f (l, error);
  return f.give (f.op ("Div", chain (l, "Add", error), double (l.inputs ())));
}

bool
with_parameters (Lowering &l, const std::vector<double> &parameters, GError **error)
{
  return Formula (l, error).give (
      l.elementwise (l.node ().op.c_str (), {l.input (0)}, error, parameters));
}

/* Initial values are those of ONNX, which has them as float32. */
const Activated activations[] = {
    {"HardSigmoid", {{"alpha", double (0.2f)}, {"beta", 0.5}}},
    {"LeakyRelu", {{"alpha", double (0.01f)}}},
    {"Elu", {{"alpha", 1}}},
    {"Celu", {{"alpha", 1}}},
    {"Selu", {{"alpha", double (1.67326319217681884765625f)},
                 {"gamma", double (1.05070102214813232421875f)}}},
    {"Swish", {{"alpha", 1}}},
    {"ThresholdedRelu", {{"alpha", 1}}},
    {"Shrink", {{"lambd", 0.5}, {"bias", 0}}},
    {"Relu", {}},
    {"Sigmoid", {}},
    {"Tanh", {}},
    {"Softsign", {}},
    {"Softplus", {}},
};

bool
parametric (Lowering &l, GError **error)
{
  std::vector<double> parameters;
  for (const auto &[name, initial] : activation_named (l.node ().op)->parameters)
    parameters.push_back (l.node ().number (name, initial));
  return with_parameters (l, parameters, error);
}

bool
is_infinite (Lowering &l, GError **error)
{
  auto detected = [&] (const char *name, double infinity) {
    return l.node ().integer (name, 1) ? infinity : std::nan ("");
  };
  return with_parameters (l,
      {detected ("detect_negative", -INFINITY), detected ("detect_positive", INFINITY)},
      error);
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
  Formula f (l, error);
  const ValueId result = f.op ("Pow",
      {l.cast (l.input (0), computed, error), l.cast (l.input (1), computed, error)});
  return f.give (result == no_value ? result : l.cast (result, type, error));
}

bool
modulo (Lowering &l, GError **error)
{
  const char *op = l.node ().integer ("fmod", 0) ? "FMod" : "Mod";
  return Formula (l, error).give (l.elementwise (op, {l.input (0), l.input (1)}, error));
}

bool
where (Lowering &l, GError **error)
{
  Formula f (l, error);
  return f.give (f.where (l.input (0), l.input (1), l.input (2)));
}

/* A bfloat16 is a float32 here. */
bool
cast_to (Lowering &l, ElementType type, bool to_bfloat16, GError **error)
{
  Formula f (l, error);
  const ValueId result = l.cast (l.input (0), type, error);
  return f.give (to_bfloat16 ? f.op ("Bfloat16", {result}) : result);
}

bool
cast (Lowering &l, GError **error)
{
  const gint64 bfloat16 = 16, wanted = l.node ().integer ("to", 0);
  const ElementInfo *to = element_of_onnx (wanted == bfloat16 ? 1 : gint32 (wanted));
  if (!to)
    return l.fail (
        error, "element type %" G_GINT64_FORMAT " of ONNX is not supported", wanted);
  return cast_to (l, to->type, wanted == bfloat16, error);
}

bool
cast_like (Lowering &l, GError **error)
{
  return cast_to (l, l.value (l.input (1)).type, l.is_bfloat16 (1), error);
}

bool
gelu (Lowering &l, GError **error)
{
  const std::string mode = l.node ().text ("approximate", "none");
  if (mode != "none" && mode != "tanh")
    return l.fail (error, "unsupported approximate=%s", mode.c_str ());
  return Formula (l, error).give (
      l.elementwise (mode == "none" ? "Gelu" : "GeluTanh", {l.input (0)}, error));
}
} // namespace

const Activated *
activation_named (const std::string &name)
{
  const auto found = std::find_if (std::begin (activations), std::end (activations),
      [&] (const Activated &one) { return name == one.op; });
  return found == std::end (activations) ? nullptr : found;
}

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
    {"HardSigmoid", 1, 1, parametric},
    {"HardSwish", 1, 1, same},
    {"LeakyRelu", 1, 1, parametric},
    {"Elu", 1, 1, parametric},
    {"Celu", 1, 1, parametric},
    {"Selu", 1, 1, parametric},
    {"Swish", 1, 1, parametric},
    {"ThresholdedRelu", 1, 1, parametric},
    {"Shrink", 1, 1, parametric},
    {"Mish", 1, 1, same},
    {"Softplus", 1, 1, same},
    {"Softsign", 1, 1, same},
    {"Tanh", 1, 1, same},
    {"Exp", 1, 1, same},
    {"Log", 1, 1, same},
    {"Sqrt", 1, 1, same},
    {"Reciprocal", 1, 1, same},
    {"Erf", 1, 1, same},
    {"Gelu", 1, 1, gelu},
    {"Abs", 1, 1, same},
    {"Neg", 1, 1, same},
    {"Sign", 1, 1, same},
    {"Floor", 1, 1, same},
    {"Ceil", 1, 1, same},
    {"Round", 1, 1, same},
    {"Sin", 1, 1, same},
    {"Cos", 1, 1, same},
    {"Tan", 1, 1, same},
    {"Asin", 1, 1, same},
    {"Acos", 1, 1, same},
    {"Atan", 1, 1, same},
    {"Sinh", 1, 1, same},
    {"Cosh", 1, 1, same},
    {"IsNaN", 1, 1, same},
    {"IsInf", 1, 1, is_infinite},
    {"Equal", 2, 2, same},
    {"Less", 2, 2, same},
    {"LessOrEqual", 2, 2, same},
    {"Greater", 2, 2, same},
    {"GreaterOrEqual", 2, 2, same},
    {"And", 2, 2, same},
    {"Or", 2, 2, same},
    {"Xor", 2, 2, same},
    {"Not", 1, 1, same},
    {"Where", 3, 3, where},
    {"Cast", 1, 1, cast},
    {"CastLike", 2, 2, cast_like},
};
} // namespace inference
