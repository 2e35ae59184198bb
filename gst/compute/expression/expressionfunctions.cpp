/* Functions and constants of OpenCL C in expressions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "expressionfunctions.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace compute {
namespace {
using opencl::NumberType;
using Arguments = std::vector<Value>;

/* Returns "name (a, b)", with each argument converted to `type`. */
std::string
call_of (const std::string &name, const Arguments &arguments, const char *type)
{
  std::string text;
  for (const Value &argument : arguments)
    text +=
        (text.empty () ? "" : ", ") + ("(" + std::string (type) + ") ") + argument.text;
  return name + " (" + text + ")";
}

Arguments
to_integers (const Arguments &arguments)
{
  Arguments integers;
  for (const Value &argument : arguments)
    integers.push_back (to_integer (argument));
  return integers;
}

/* --- floating-point --- */

Value
call_real (const std::string &name, const Arguments &arguments)
{
  return real_value (call_of (name, arguments, "real"));
}

/* OpenCL C has these functions only for float. */
Value
call_float (const std::string &name, const Arguments &arguments)
{
  return real_value ("((real) " + call_of (name, arguments, "float") + ")");
}

Value
call_real_int (const std::string &name, const Arguments &arguments)
{
  const Value power = cast_saturated (arguments[1], NumberType::i32, "trunc");
  return real_value (
      name + " (" + convert (arguments[0], "real") + ", " + power.text + ")");
}

Value
call_rounding (const std::string &name, const Arguments &arguments)
{
  return arguments[0].is_real () ? call_real (name, arguments) : arguments[0];
}

Value
call_ilogb (const std::string &name, const Arguments &arguments)
{
  return value_of_type (NumberType::i32, call_of (name, arguments, "real"));
}

Value
not_a_number (const std::string &, const Arguments &arguments)
{
  return real_value ("((real) nan ((uint) " + to_integer (arguments[0]).text + "))");
}

/* --- complex numbers --- */

/* The functions of expression.clh for complex numbers end in _real2. */
Value
call_complex (const std::string &name, const Arguments &arguments)
{
  return arguments[0].is_complex ()
             ? complex_value (call_of (name + "_real2", arguments, "real2"))
             : call_real (name, arguments);
}

Value
complex_part (const std::string &name, const Arguments &arguments)
{
  if (arguments[0].is_complex () && name == "conj")
    return call_complex (name, arguments);
  if (arguments[0].is_complex ())
    return real_value (call_of (name + "_real2", arguments, "real2"));
  return name == "angle"  ? call_real ("atan2", {integer_constant (0), arguments[0]})
         : name == "abs"  ? magnitude (arguments[0])
         : name == "imag" ? integer_constant (0)
                          : arguments[0];
}

Value
make_complex (const std::string &, const Arguments &arguments)
{
  return complex_value (call_of ("(real2)", arguments, "real"));
}

/* --- relational --- */

Value
call_predicate (const std::string &name, const Arguments &arguments)
{
  return integer_value (0, 1, "(" + call_of (name, arguments, "real") + " != 0)");
}

/* Integers are compared without a conversion to floating point. */
Value
call_comparison (const std::string &name, const Arguments &arguments)
{
  static constexpr struct {
    const char *name, *symbol;
  } symbols[] = {
      {"isequal", "=="},
      {"isnotequal", "!="},
      {"isgreater", ">"},
      {"isgreaterequal", ">="},
      {"isless", "<"},
      {"islessequal", "<="},
  };
  auto compare = [&] (const char *symbol) {
    return binary_operator (symbol)->apply (symbol, arguments[0], arguments[1]);
  };
  for (const auto &row : symbols) {
    if (row.name == name)
      return compare (row.symbol);
  }
  return binary_operator ("||")->apply ("||", compare ("<"), compare (">"));
}

/* --- integers --- */

Value
call_long (const std::string &name, const Arguments &arguments)
{
  const Arguments integers = to_integers (arguments);
  const bool is_unsigned = common_kind (integers) == Value::UNSIGNED;
  const std::string call = call_of (name, integers, is_unsigned ? "ulong" : "long");
  return value_of_type (is_unsigned ? NumberType::u64 : NumberType::i64, call);
}

Value
count_bits (const std::string &name, const Arguments &arguments)
{
  return integer_value (
      0, 64, "((int) " + call_of (name, to_integers (arguments), "ulong") + ")");
}

/* Returns 1 if the highest bit is set. */
Value
sign_bit (const std::string &name, const Arguments &arguments)
{
  return integer_value (
      0, 1, "(" + call_of (name, to_integers (arguments), "long") + " != 0)");
}

Value
call_int (const std::string &name, const Arguments &arguments)
{
  return value_of_type (NumberType::i32, call_of (name, to_integers (arguments), "int"));
}

Value
call_upsample (const std::string &name, const Arguments &arguments)
{
  const Arguments integers = to_integers (arguments);
  return value_of_type (NumberType::i64,
      name + " ((int) " + integers[0].text + ", (uint) " + integers[1].text + ")");
}

/* --- of any numbers --- */

Value
min_or_max (const std::string &name, const Arguments &arguments)
{
  return name == "min" ? smaller (arguments[0], arguments[1])
                       : larger (arguments[0], arguments[1]);
}

Value
call_clamp (const std::string &, const Arguments &arguments)
{
  return smaller (larger (arguments[0], arguments[1]), arguments[2]);
}

Value
abs_diff (const std::string &, const Arguments &arguments)
{
  return distance_between (arguments[0], arguments[1]);
}

Value
opencl_select (const std::string &, const Arguments &arguments)
{
  return choose (arguments[2], arguments[1], arguments[0]);
}

Value
numpy_where (const std::string &, const Arguments &arguments)
{
  return choose (arguments[0], arguments[1], arguments[2]);
}

/* --- the table --- */

struct Group {
  Function function;
  const char *names; /* separated by blanks, also at both ends */
};

constexpr Group groups[] = {
    {{1, call_real},
        " acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt cos cosh cospi "
        "degrees erf erfc exp2 exp10 expm1 fabs length lgamma log2 log10 log1p logb "
        "normalize radians rsqrt sign sin sinh sinpi tan tanh tanpi tgamma "},
    {{2, call_real},
        " atan2 atan2pi copysign distance dot fdim fmax fmin fmod hypot maxmag minmag "
        "nextafter pow powr remainder step "},
    {{3, call_real}, " fma mad mix smoothstep "},
    {{1, call_float},
        " fast_length fast_normalize half_cos half_exp half_exp2 half_exp10 half_log "
        "half_log2 half_log10 half_recip half_rsqrt half_sin half_sqrt half_tan "
        "native_cos native_exp native_exp2 native_exp10 native_log native_log2 "
        "native_log10 native_recip native_rsqrt native_sin native_sqrt native_tan "},
    {{2, call_float}, " fast_distance half_divide half_powr native_divide native_powr "},
    {{2, call_real_int}, " ldexp pown rootn "},
    {{1, call_rounding}, " ceil floor rint round trunc "},
    {{1, call_ilogb}, " ilogb "},
    {{1, not_a_number}, " nan "},
    {{1, call_predicate}, " isfinite isinf isnan isnormal signbit "},
    {{2, call_predicate}, " isordered isunordered "},
    {{2, call_comparison},
        " isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater "},
    {{2, call_long}, " add_sat hadd mul_hi rhadd rotate sub_sat "},
    {{3, call_long}, " bitselect mad_hi mad_sat "},
    {{1, count_bits}, " clz popcount "},
    {{1, sign_bit}, " all any "},
    {{2, call_int}, " mul24 "},
    {{3, call_int}, " mad24 "},
    {{2, call_upsample}, " upsample "},
    {{2, min_or_max}, " max min "},
    {{3, call_clamp}, " clamp "},
    {{2, make_complex}, " complex "},
    {{1, call_complex, true}, " exp log sqrt "},
    {{1, complex_part, true}, " abs angle conj imag real "},
    {{2, abs_diff}, " abs_diff "},
    {{3, opencl_select, true}, " select "},
    {{3, numpy_where, true}, " where "},
};

/* --- functions with a type in their name --- */

bool
starts_with (const std::string &text, const char *start)
{
  return text.compare (0, strlen (start), start) == 0;
}

/* convert_TYPE, with or without "_sat" and a rounding mode such as "_rte" */
struct Conversion {
  NumberType type;
  bool saturates = false;
  const char *rounding = "trunc";
};

bool
read_conversion (const std::string &name, Conversion &conversion)
{
  static constexpr struct {
    const char *suffix, *rounding;
  } roundings[] = {
      {"_rte", "rint"}, {"_rtz", "trunc"}, {"_rtn", "floor"}, {"_rtp", "ceil"}};
  const gsize start = strlen ("convert_");
  if (!starts_with (name, "convert_"))
    return false;
  const gsize end = std::min (name.find ('_', start), name.size ());
  const opencl::NumberInfo *type =
      opencl::number_of_opencl (name.substr (start, end - start).c_str ());
  if (!type || type->type == NumberType::f16)
    return false;
  std::string rest = name.substr (end);
  conversion.type = type->type;
  conversion.saturates = starts_with (rest, "_sat");
  rest.erase (0, conversion.saturates ? 4 : 0);
  for (const auto &row : roundings) {
    if (rest == row.suffix) {
      conversion.rounding = row.rounding;
      rest.clear ();
    }
  }
  return rest.empty ();
}

Value
converted (const std::string &name, const Arguments &arguments)
{
  Conversion conversion{};
  read_conversion (name, conversion);
  if (opencl::info_of (conversion.type).kind == 'f'
      || (!conversion.saturates && !arguments[0].is_real ()))
    return cast (arguments[0], conversion.type);
  return cast_saturated (arguments[0], conversion.type, conversion.rounding);
}

/* as_int (), as_uint () and as_float () */
Value
reinterpreted (const std::string &name, const Arguments &arguments)
{
  const NumberType type = opencl::number_of_opencl (name.substr (3).c_str ())->type;
  const std::string call = name + (arguments[0].is_real () ? " ((float) " : " ((uint) ")
                           + arguments[0].text + ")";
  Value value = value_of_type (type, "");
  value.text = "((" + std::string (value.type ()) + ") " + call + ")";
  return value;
}

/* --- constants --- */

template <typename T> constexpr Number most = Number (std::numeric_limits<T>::max ());
template <typename T> constexpr Number least = Number (std::numeric_limits<T>::min ());

constexpr struct {
  const char *name;
  Number value;
} integers[] = {
    {"false", 0},
    {"true", 1},
    {"CHAR_BIT", 8},
    {"CHAR_MAX", most<gint8>},
    {"CHAR_MIN", least<gint8>},
    {"SCHAR_MAX", most<gint8>},
    {"SCHAR_MIN", least<gint8>},
    {"UCHAR_MAX", most<guint8>},
    {"SHRT_MAX", most<gint16>},
    {"SHRT_MIN", least<gint16>},
    {"USHRT_MAX", most<guint16>},
    {"INT_MAX", most<gint32>},
    {"INT_MIN", least<gint32>},
    {"UINT_MAX", most<guint32>},
    {"LONG_MAX", most<gint64>},
    {"LONG_MIN", least<gint64>},
    {"ULONG_MAX", most<guint64>},
};

/* Each also exists with the suffix _F. */
const char *const reals_of_both_types =
    " M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI "
    "M_SQRT2 M_SQRT1_2 ";
const char *const floats =
    " FLT_EPSILON FLT_MAX FLT_MIN HUGE_VALF INFINITY MAXFLOAT NAN ";

bool
is_listed (const char *names, const std::string &name)
{
  return strstr (names, (" " + name + " ").c_str ()) != nullptr;
}
} // namespace

const Function *
function_named (const std::string &name)
{
  static constexpr Function conversion = {1, converted},
                            reinterpretation = {1, reinterpreted};
  Conversion unused{};

  for (const Group &group : groups) {
    if (is_listed (group.names, name))
      return &group.function;
  }
  if (read_conversion (name, unused))
    return &conversion;
  return is_listed (" as_int as_uint as_float ", name) ? &reinterpretation : nullptr;
}

bool
constant_named (const std::string &name, Value &value)
{
  for (const auto &row : integers) {
    if (row.name == name) {
      value = integer_constant (row.value);
      return true;
    }
  }
  const bool has_suffix = name.size () > 2 && name.substr (name.size () - 2) == "_F";
  const std::string both = has_suffix ? name.substr (0, name.size () - 2) : name;
  if (is_listed (reals_of_both_types, both))
    value = real_value ("CONSTANT (" + both + ")");
  else if (is_listed (floats, name))
    value = real_value ("((real) " + name + ")");
  else
    return false;
  return true;
}
} // namespace compute
