/* Element-wise operators: OpenCL C for the device and functions for the host
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elementops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace inference {
namespace {
double
power (double base, double exponent)
{
  return std::pow (base, exponent);
}

gint64
whole_power (gint64 base, gint64 exponent)
{
  guint64 result = 1;
  for (guint64 factor = guint64 (base), left = exponent < 0 ? 0 : guint64 (exponent);
       left; left >>= 1, factor *= factor)
    if (left & 1)
      result *= factor;
  return gint64 (result);
}

/* Wrap as the device's integers do; signed overflow is undefined in C++. */
gint64
wrapped (guint64 value)
{
  return gint64 (value);
}

/* Upper half of the bits of float32, rounded to the nearest, to even between two. NaN stays. */
double
bfloat16 (double value)
{
  const float single = float (value);
  guint32 bits;
  memcpy (&bits, &single, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  float rounded;
  memcpy (&rounded, &bits, sizeof bits);
  return std::isnan (value) ? value : double (rounded);
}

gint64
quotient (gint64 a, gint64 b)
{
  return b == 0 || (b == -1 && a == G_MININT64) ? 0 : a / b;
}

/* The remainder has the sign of the divisor, as in Python. */
gint64
floored_remainder (gint64 a, gint64 b)
{
  if (b == 0 || b == -1)
    return 0;
  const gint64 rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* The approximation by tanh (Hendrycks and Gimpel, Gaussian error linear units, 2016) */
double
gelu_tanh (double x)
{
  return x * (1 + std::tanh (std::sqrt (2 / G_PI) * (x + 0.044715 * x * x * x))) / 2;
}

#define X const double *x, [[maybe_unused]] const double *p
#define I const gint64 *x, [[maybe_unused]] const double *p
#define REAL(value) [] (X) -> double { return value; }
#define WHOLE(value) [] (I) -> gint64 { return value; }
#define FUNCTION(Name, name)                                                             \
  {                                                                                      \
    Name, 1, ElementOp::same, #name " ($0)", nullptr, REAL (std::name (x[0])), nullptr   \
  }
#define CHOICE(condition) "select ((T)0, (T)1, (M)(" condition "))"

const ElementOp ops[] = {
    {"Add", 2, ElementOp::same, "$0 + $1", "$0 + $1", REAL (x[0] + x[1]),
        WHOLE (wrapped (guint64 (x[0]) + guint64 (x[1])))},
    {"Sub", 2, ElementOp::same, "$0 - $1", "$0 - $1", REAL (x[0] - x[1]),
        WHOLE (wrapped (guint64 (x[0]) - guint64 (x[1])))},
    {"Mul", 2, ElementOp::same, "$0 * $1", "$0 * $1", REAL (x[0] * x[1]),
        WHOLE (wrapped (guint64 (x[0]) * guint64 (x[1])))},
    {"Div", 2, ElementOp::same, "$0 / $1", "$0 / ($1 == 0 ? 1 : $1)", REAL (x[0] / x[1]),
        WHOLE (quotient (x[0], x[1]))},
    {"Mod", 2, ElementOp::same, nullptr, "floored_remainder ($0, $1)", nullptr,
        WHOLE (floored_remainder (x[0], x[1]))},
    /* The remainder has the sign of the dividend, as in C. */
    {"FMod", 2, ElementOp::same, "fmod ($0, $1)", "truncated_remainder ($0, $1)",
        REAL (std::fmod (x[0], x[1])), WHOLE (x[1] == 0 || x[1] == -1 ? 0 : x[0] % x[1])},
    {"Pow", 2, ElementOp::same, "pow ($0, $1)", "whole_power ($0, $1)",
        REAL (power (x[0], x[1])), WHOLE (whole_power (x[0], x[1]))},
    {"Max", 2, ElementOp::same, "LARGER ($0, $1)", "max ($0, $1)",
        REAL (larger (x[0], x[1])), WHOLE (std::max (x[0], x[1]))},
    {"Min", 2, ElementOp::same, "SMALLER ($0, $1)", "min ($0, $1)",
        REAL (smaller (x[0], x[1])), WHOLE (std::min (x[0], x[1]))},
    {"PRelu", 2, ElementOp::same, "select ($0, $0 * $1, (M)($0 < 0))",
        "($0 < 0 ? $0 * $1 : $0)", REAL (x[0] < 0 ? x[0] * x[1] : x[0]),
        WHOLE (x[0] < 0 ? wrapped (guint64 (x[0]) * guint64 (x[1])) : x[0])},

    {"Relu", 1, ElementOp::same, "AT_LEAST ($0, (T)0)", "max ($0, (T)0)",
        REAL (larger (x[0], 0.0)), WHOLE (std::max (x[0], gint64 (0)))},
    {"Clip", 1, ElementOp::same, "WITHIN ($0, (T)%0, (T)%1)",
        "min (max ($0, (T)%0), (T)%1)", REAL (smaller (larger (x[0], p[0]), p[1])),
        WHOLE (std::min (std::max (x[0], truncated (p[0])), truncated (p[1])))},
    {"Sigmoid", 1, ElementOp::same, "1 / (1 + exp (-$0))", nullptr,
        REAL (1 / (1 + std::exp (-x[0]))), nullptr},
    {"HardSigmoid", 1, ElementOp::same, "WITHIN ($0 * (T)%0 + (T)%1, (T)0, (T)1)",
        nullptr, REAL (std::clamp (x[0] * p[0] + p[1], 0.0, 1.0)), nullptr},
    {"HardSwish", 1, ElementOp::same, "$0 * clamp ($0 + 3, (T)0, (T)6) * ((T)1 / 6)",
        nullptr, REAL (x[0] * std::clamp (x[0] + 3, 0.0, 6.0) / 6), nullptr},
    {"Silu", 1, ElementOp::same, "$0 / (1 + exp (-$0))", nullptr,
        REAL (x[0] / (1 + std::exp (-x[0]))), nullptr},
    {"Gelu", 1, ElementOp::same, "$0 * (1 + erf ($0 * (T)0.70710678118654752)) / 2",
        nullptr, REAL (x[0] * (1 + std::erf (x[0] * std::sqrt (0.5))) / 2), nullptr},
    {"GeluTanh", 1, ElementOp::same,
        "$0 * (1 + tanh ($0 * ((T)0.79788456080286536 + (T)0.035677408136300125 * $0 * "
        "$0))) / 2",
        nullptr, REAL (gelu_tanh (x[0])), nullptr},
    {"LeakyRelu", 1, ElementOp::same, "select ($0, $0 * (T)%0, (M)($0 < 0))", nullptr,
        REAL (x[0] < 0 ? x[0] * p[0] : x[0]), nullptr},
    {"Elu", 1, ElementOp::same, "select ($0, (T)%0 * expm1 ($0), (M)($0 < 0))", nullptr,
        REAL (x[0] < 0 ? p[0] * std::expm1 (x[0]) : x[0]), nullptr},
    {"Softplus", 1, ElementOp::same, "fmax ($0, (T)0) + log1p (exp (-fabs ($0)))",
        nullptr, REAL (std::fmax (x[0], 0.0) + std::log1p (std::exp (-std::fabs (x[0])))),
        nullptr},
    {"Selu", 1, ElementOp::same, "select ($0, (T)%0 * expm1 ($0), (M)($0 < 0)) * (T)%1",
        nullptr, REAL ((x[0] < 0 ? p[0] * std::expm1 (x[0]) : x[0]) * p[1]), nullptr},
    {"Celu", 1, ElementOp::same, "select ($0, (T)%0 * expm1 ($0 / (T)%0), (M)($0 < 0))",
        nullptr, REAL (x[0] < 0 ? p[0] * std::expm1 (x[0] / p[0]) : x[0]), nullptr},
    {"Mish", 1, ElementOp::same, "$0 * tanh (fmax ($0, (T)0) + log1p (exp (-fabs ($0))))",
        nullptr,
        REAL (x[0]
              * std::tanh (
                  std::fmax (x[0], 0.0) + std::log1p (std::exp (-std::fabs (x[0]))))),
        nullptr},
    {"Swish", 1, ElementOp::same, "$0 / (1 + exp ($0 * -(T)%0))", nullptr,
        REAL (x[0] / (1 + std::exp (x[0] * -p[0]))), nullptr},
    {"Softsign", 1, ElementOp::same, "$0 / (1 + fabs ($0))", nullptr,
        REAL (x[0] / (1 + std::fabs (x[0]))), nullptr},
    {"ThresholdedRelu", 1, ElementOp::same, "select ($0, (T)0, (M)($0 <= (T)%0))",
        nullptr, REAL (x[0] <= p[0] ? 0 : x[0]), nullptr},
    {"Shrink", 1, ElementOp::same,
        "select (select ((T)0, $0 - (T)%1, (M)($0 > (T)%0)), $0 + (T)%1, "
        "(M)($0 < -(T)%0))",
        nullptr, REAL (x[0]<-p[0] ? x[0] + p[1] : x[0]> p[0] ? x[0] - p[1] : 0), nullptr},
    {"Bfloat16", 1, ElementOp::same, "BFLOAT16 ($0, T, M)", nullptr,
        REAL (bfloat16 (x[0])), nullptr},
    FUNCTION ("Tanh", tanh),
    FUNCTION ("Exp", exp),
    FUNCTION ("Log", log),
    FUNCTION ("Sqrt", sqrt),
    {"Reciprocal", 1, ElementOp::same, "1 / $0", nullptr, REAL (1 / x[0]), nullptr},
    FUNCTION ("Erf", erf),
    {"Abs", 1, ElementOp::same, "fabs ($0)", "($0 < 0 ? -$0 : $0)",
        REAL (std::fabs (x[0])), WHOLE (x[0] < 0 ? wrapped (-guint64 (x[0])) : x[0])},
    {"Sign", 1, ElementOp::same, "select (sign ($0), $0, (M)($0 != $0))",
        "($0 > 0 ? 1 : $0 < 0 ? -1 : 0)",
        REAL (std::isnan (x[0]) ? x[0] : (x[0] > 0) - (x[0] < 0)),
        WHOLE ((x[0] > 0) - (x[0] < 0))},
    {"Neg", 1, ElementOp::same, "-$0", "-$0", REAL (-x[0]),
        WHOLE (wrapped (-guint64 (x[0])))},
    FUNCTION ("Floor", floor),
    FUNCTION ("Ceil", ceil),
    {"Round", 1, ElementOp::same, "rint ($0)", nullptr, REAL (std::nearbyint (x[0])),
        nullptr},
    FUNCTION ("Sin", sin),
    FUNCTION ("Cos", cos),
    FUNCTION ("Tan", tan),
    FUNCTION ("Asin", asin),
    FUNCTION ("Acos", acos),
    FUNCTION ("Atan", atan),
    FUNCTION ("Sinh", sinh),
    FUNCTION ("Cosh", cosh),

    {"Equal", 2, ElementOp::truth, CHOICE ("$0 == $1"), "($0 == $1)", REAL (x[0] == x[1]),
        WHOLE (x[0] == x[1])},
    {"Less", 2, ElementOp::truth, CHOICE ("$0 < $1"), "($0 < $1)", REAL (x[0] < x[1]),
        WHOLE (x[0] < x[1])},
    {"LessOrEqual", 2, ElementOp::truth, CHOICE ("$0 <= $1"), "($0 <= $1)",
        REAL (x[0] <= x[1]), WHOLE (x[0] <= x[1])},
    {"Greater", 2, ElementOp::truth, CHOICE ("$0 > $1"), "($0 > $1)", REAL (x[0] > x[1]),
        WHOLE (x[0] > x[1])},
    {"GreaterOrEqual", 2, ElementOp::truth, CHOICE ("$0 >= $1"), "($0 >= $1)",
        REAL (x[0] >= x[1]), WHOLE (x[0] >= x[1])},
    {"And", 2, ElementOp::truth, nullptr, "($0 != 0 && $1 != 0)", nullptr,
        WHOLE (x[0] && x[1])},
    {"Or", 2, ElementOp::truth, nullptr, "($0 != 0 || $1 != 0)", nullptr,
        WHOLE (x[0] || x[1])},
    {"Xor", 2, ElementOp::truth, nullptr, "(($0 != 0) != ($1 != 0))", nullptr,
        WHOLE ((x[0] != 0) != (x[1] != 0))},
    {"IsNaN", 1, ElementOp::truth, CHOICE ("$0 != $0"), nullptr, REAL (x[0] != x[0]),
        nullptr},
    /* The parameters are the infinities that count, or NaN. */
    {"IsInf", 1, ElementOp::truth, CHOICE ("($0 == (T)%0) | ($0 == (T)%1)"), nullptr,
        REAL (x[0] == p[0] || x[0] == p[1]), nullptr},
    {"Not", 1, ElementOp::truth, nullptr, "($0 == 0)", nullptr, WHOLE (!x[0])},

    /* The first operand is a boolean of the type of the others: 0 or 1. */
    {"Where", 3, ElementOp::same, "select ($2, $1, (M)($0 != 0))", "($0 != 0 ? $1 : $2)",
        REAL (x[0] != 0 ? x[1] : x[2]), WHOLE (x[0] ? x[1] : x[2])},
    /* Multiples of a step $1 from a zero point $2 on, for integers from %0 to %1.
     * A NaN becomes the least one, as in onnxruntime. */
    {"Quantize", 3, ElementOp::same,
        "fmin (fmax (rint ($0 / $1), (T)%0 - $2), (T)%1 - $2)", nullptr,
        REAL (std::fmin (
            std::fmax (std::nearbyint (float (x[0] / x[1])), p[0] - x[2]), p[1] - x[2])),
        nullptr},
    {"Cast", 1, ElementOp::other, "$0", "$0", REAL (x[0]), WHOLE (x[0])},
};
} // namespace

const ElementOp *
element_op (const std::string &name)
{
  for (const ElementOp &op : ops) {
    if (name == op.name)
      return &op;
  }
  return nullptr;
}
} // namespace inference
