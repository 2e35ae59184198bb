/* Typed values of an expression, as OpenCL C
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "expressionvalue.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace compute {
namespace {
using opencl::NumberType;

struct Range {
  Number least, most;
};

template <typename T>
constexpr Range
range_of ()
{
  return {
      Number (std::numeric_limits<T>::min ()), Number (std::numeric_limits<T>::max ())};
}

constexpr Range range_of_int = range_of<gint32> (), range_of_long = range_of<gint64> (),
                range_of_ulong = range_of<guint64> ();

/* In the order of the integers of NumberType */
constexpr Range ranges[] = {range_of<gint8> (), range_of<guint8> (), range_of<gint16> (),
    range_of<guint16> (), range_of_int, range_of<guint32> (), range_of_long,
    range_of_ulong};

bool
is_integer (NumberType type)
{
  return opencl::info_of (type).kind != 'f';
}

bool
is_within (const Range &range, const Range &whole)
{
  return range.least >= whole.least && range.most <= whole.most;
}

Range
range_of (const Value &value)
{
  return {value.least, value.most};
}

Range
hull (const Range &a, const Range &b)
{
  return {std::min (a.least, b.least), std::max (a.most, b.most)};
}

bool
has_type (const Value &value, const char *type)
{
  return strcmp (value.type (), type) == 0;
}

/* Returns the narrowest type for integers within `range`. */
const char *
width_of (const Range &range)
{
  return is_within (range, range_of_int) ? "int" : "long";
}

/* Returns a value of `range`, whose `text` has the type `width`, which may be wider. */
Value
integer_of (const Range &range, const char *width, const std::string &text)
{
  Value value = {Value::INTEGER, range.least, range.most, text};
  if (!has_type (value, width))
    value.text = "((" + std::string (value.type ()) + ") " + text + ")";
  return value;
}

Value
unsigned_value (const std::string &text)
{
  return {Value::UNSIGNED, range_of_ulong.least, range_of_ulong.most, text};
}

/* A constant of the type `type`. C has no negative literals, and none for 2^63. */
std::string
literal (Number number, const char *type)
{
  const char *suffix = strcmp (type, "int") == 0    ? ""
                       : strcmp (type, "long") == 0 ? "L"
                                                    : "UL";
  const std::string digits =
      std::to_string (guint64 (number < 0 ? -(number + 1) : number)) + suffix;
  return number < 0 ? "(-" + digits + " - 1)" : digits;
}

/* "(a + b)", both of the type `type` */
std::string
infix (const Value &a, const std::string &symbol, const Value &b, const char *type)
{
  return "(" + convert (a, type) + " " + symbol + " " + convert (b, type) + ")";
}

std::string
call (const std::string &function, const Value &a, const Value &b, const char *type)
{
  return function + " (" + convert (a, type) + ", " + convert (b, type) + ")";
}

Value
value_of_kind (
    Value::Kind kind, const Range &range, const char *type, const std::string &text)
{
  return kind == Value::COMPLEX    ? complex_value (text)
         : kind == Value::REAL     ? real_value (text)
         : kind == Value::UNSIGNED ? unsigned_value (text)
                                   : integer_of (range, type, text);
}

/* --- ranges --- */

Range
range_of_product (const Value &a, const Value &b)
{
  const auto ends = std::minmax (
      {a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
  return {ends.first, ends.second};
}

Range
range_of_sum (const std::string &symbol, const Value &a, const Value &b)
{
  if (symbol == "*")
    return range_of_product (a, b);
  return symbol == "+" ? Range{a.least + b.least, a.most + b.most}
                       : Range{a.least - b.most, a.most - b.least};
}

Number
largest_magnitude (const Value &value)
{
  return std::max (-value.least, value.most);
}

Range
range_of_division (const std::string &symbol, const Value &a, const Value &b)
{
  const Number most = largest_magnitude (a);
  if (symbol == "//")
    return {-most, most};
  return {std::min (b.least + 1, Number (0)), std::max (b.most - 1, Number (0))};
}

/* In two's complement, all higher bits of negative integers are set. */
Range
range_of_bits (const std::string &symbol, const Value &a, const Value &b)
{
  const Range both = hull (range_of (a), range_of (b));
  Number power = 1;

  if (symbol == "&" && (a.least >= 0 || b.least >= 0))
    return {0, a.least < 0 ? b.most : b.least < 0 ? a.most : std::min (a.most, b.most)};
  while (power - 1 < std::max (both.most, -both.least - 1))
    power *= 2;
  return {both.least < 0 ? -power : 0, power - 1};
}

/* --- operators --- */

/* Signed overflow is undefined in C, so sums that may overflow are computed unsigned. */
Value
add (const std::string &symbol, const Value &a, const Value &b)
{
  const Value::Kind kind = common_kind ({a, b});
  if (kind == Value::COMPLEX && symbol == "*")
    return complex_value (call ("multiply_real2", a, b, "real2"));
  if (kind != Value::INTEGER)
    return value_of_kind (kind, {}, "", infix (a, symbol, b, common_type ({a, b})));
  const Range range = range_of_sum (symbol, a, b);
  if (!is_within (range, range_of_long))
    return integer_of (
        range_of_long, "long", "((long) " + infix (a, symbol, b, "ulong") + ")");
  const char *width = width_of (hull (range, hull (range_of (a), range_of (b))));
  return integer_of (range, width, infix (a, symbol, b, width));
}

Value
divide (const std::string &, const Value &a, const Value &b)
{
  if (common_kind ({a, b}) == Value::COMPLEX)
    return complex_value (call ("divide_real2", a, b, "real2"));
  return real_value (infix (a, "/", b, "real"));
}

/* "//" and "%" */
Value
divide_whole (const std::string &symbol, const Value &a, const Value &b)
{
  const std::string function = symbol == "%" ? "modulo_" : "floor_divide_";
  const Value::Kind kind = common_kind ({a, b});
  Range range = range_of_long;
  const char *type = kind == Value::REAL ? "real" : "ulong";

  if (kind == Value::INTEGER) {
    range = range_of_division (symbol, a, b);
    if (!is_within (range, range_of_long))
      range = range_of_long;
    type = width_of (hull (range, hull (range_of (a), range_of (b))));
  }
  return value_of_kind (kind, range, type, call (function + type, a, b, type));
}

Value
combine_bits (const std::string &symbol, const Value &a, const Value &b)
{
  const Value::Kind kind = common_kind ({a, b});
  if (kind == Value::UNSIGNED)
    return unsigned_value (infix (a, symbol, b, "ulong"));
  const char *width = width_of (hull (range_of (a), range_of (b)));
  return integer_of (range_of_bits (symbol, a, b), width, infix (a, symbol, b, width));
}

/* Returns true if 32 bits are enough for a shift, and finds the range of its result. */
bool
is_short_shift (const std::string &symbol, const Value &a, const Value &b, Range &range)
{
  if (b.least < 0 || b.most > 31 || !is_within (range_of (a), range_of_int))
    return false;
  const Number power = std::exp2 (symbol == "<<" ? b.most : Number (0));
  range = {std::min (a.least * power, a.least), std::max (a.most * power, a.most)};
  if (symbol == ">>")
    range = {std::min (a.least, Number (0)), std::max (a.most, Number (0))};
  return is_within (range, range_of_int);
}

Value
shift (const std::string &symbol, const Value &a, const Value &b)
{
  const Value::Kind kind = common_kind ({a, b});
  const bool is_unsigned = kind == Value::UNSIGNED;
  Range range = range_of_long;

  if (!is_unsigned && is_short_shift (symbol, a, b, range))
    return integer_of (range, "int", infix (a, symbol, b, "int"));
  const std::string function =
      std::string (symbol == "<<" ? "shift_left_" : "shift_right_")
      + (is_unsigned ? "ulong" : "long");
  return value_of_kind (kind, range_of_long, "long",
      function + " (" + convert (a, is_unsigned ? "ulong" : "long") + ", "
          + convert (b, "long") + ")");
}

/* Also exact between a negative integer and a uint64 */
Value
compare (const std::string &symbol, const Value &a, const Value &b)
{
  const Value &other = a.kind == Value::UNSIGNED ? b : a;
  std::string text;

  if (common_kind ({a, b}) == Value::COMPLEX)
    text = (symbol == "==" ? "all " : "any ") + infix (a, symbol, b, "real2");
  else if (a.kind != b.kind && a.is_integer () && b.is_integer () && other.least < 0)
    text =
        &other == &a
            ? "(compare (" + convert (a, "long") + ", " + b.text + ") " + symbol + " 0)"
            : "(0 " + symbol + " compare (" + convert (b, "long") + ", " + a.text + "))";
  else
    text = infix (a, symbol, b, common_type ({a, b}));
  return integer_value (0, 1, text);
}

Value
combine_truths (const std::string &symbol, const Value &a, const Value &b)
{
  return integer_value (0, 1, "(" + truth (a) + " " + symbol + " " + truth (b) + ")");
}

/* Converts an integer to `type` as C does, modulo its range. */
std::string
wrapped (const Value &value, NumberType type)
{
  return "(" + std::string (opencl::info_of (type).opencl) + ") " + value.text;
}

/* Converts an integer to `type`, clamped to its range. */
std::string
clamped (const Value &value, NumberType type)
{
  const Range whole = ranges[int (type)];
  Value inside = value;
  if (inside.least < whole.least)
    inside.text =
        "max (" + inside.text + ", " + literal (whole.least, value.type ()) + ")";
  if (inside.most > whole.most)
    inside.text =
        "min (" + inside.text + ", " + literal (whole.most, value.type ()) + ")";
  return wrapped (inside, type);
}

/* Returns a value for `text`, which has the integer type `type`. */
Value
value_of_text (NumberType type, const std::string &text)
{
  Value value = value_of_type (type, text);
  value.text = "((" + std::string (value.type ()) + ") " + text + ")";
  return value;
}
} // namespace

const char *
Value::type () const
{
  return kind == COMPLEX    ? "real2"
         : kind == REAL     ? "real"
         : kind == UNSIGNED ? "ulong"
                            : width_of ({least, most});
}

Value
real_value (const std::string &text)
{
  return {Value::REAL, 0, 0, text};
}

Value
complex_value (const std::string &text)
{
  return {Value::COMPLEX, 0, 0, text};
}

Value
integer_value (Number least, Number most, const std::string &text)
{
  return {Value::INTEGER, least, most, text};
}

Value
value_of_type (NumberType type, const std::string &text)
{
  if (!is_integer (type))
    return real_value (text);
  const Range range = ranges[int (type)];
  return type == NumberType::u64 ? unsigned_value (text)
                                 : integer_value (range.least, range.most, text);
}

Value
integer_constant (Number number)
{
  if (number > range_of_long.most)
    return unsigned_value (literal (number, "ulong"));
  Value value = integer_value (number, number, "");
  value.text = literal (number, value.type ());
  return value;
}

std::string
convert (const Value &value, const char *type)
{
  if (has_type (value, type))
    return value.text;
  return strcmp (type, "real2") == 0 ? "(real2) ((real) " + value.text + ", 0)"
                                     : "(" + std::string (type) + ") " + value.text;
}

Value
cast (const Value &value, NumberType type)
{
  if (!is_integer (type))
    return real_value (type == NumberType::f64 ? "((real) " + value.text + ")"
                                               : "((real) (float) " + value.text + ")");
  if (value.is_real ())
    return cast_saturated (value, type, "trunc");
  const bool fits = value.kind == Value::INTEGER && type != NumberType::u64
                    && is_within (range_of (value), ranges[int (type)]);
  return fits ? value : value_of_text (type, wrapped (value, type));
}

Value
cast_saturated (const Value &value, NumberType type, const std::string &rounding)
{
  if (value.is_real ())
    return value_of_text (type, std::string ("saturated_") + opencl::info_of (type).opencl
                                    + " (" + rounding + " (" + value.text + "))");
  return value_of_text (type, clamped (value, type));
}

Value
to_integer (const Value &value)
{
  return value.is_real () ? cast (value, NumberType::i64) : value;
}

std::string
stored (const Value &value, NumberType type)
{
  const opencl::NumberInfo &number = opencl::info_of (type);
  if (value.is_complex ())
    return "convert_" + std::string (number.opencl) + "2 (" + value.text + ")";
  if (type == NumberType::f16)
    return "(float) " + value.text;
  if (number.kind == 'f')
    return "(" + std::string (number.opencl) + ") " + value.text;
  return value.is_real ()
             ? std::string ("saturated_") + number.opencl + " (" + value.text + ")"
             : clamped (value, type);
}

std::string
truth (const Value &value)
{
  return (value.is_complex () ? "any (" : "(") + value.text + " != 0)";
}

Value::Kind
common_kind (const std::vector<Value> &values)
{
  Value::Kind kind = Value::INTEGER;
  for (const Value &value : values)
    kind = std::max (kind, value.kind);
  return kind;
}

const char *
common_type (const std::vector<Value> &values)
{
  Value all = values[0];
  for (const Value &value : values) {
    const Range both = hull (range_of (all), range_of (value));
    all = {std::max (all.kind, value.kind), both.least, both.most, ""};
  }
  return all.type ();
}

Value
apply_unary (const std::string &symbol, const Value &value)
{
  if (symbol == "+")
    return value;
  if (symbol == "!")
    return integer_value (0, 1, "(" + value.text + " == 0)");
  if (value.kind != Value::INTEGER)
    return value_of_kind (value.kind, {}, "", "(" + symbol + value.text + ")");
  if (symbol == "-")
    return add ("-", integer_constant (0), value);
  return integer_of (
      {-value.most - 1, -value.least - 1}, value.type (), "(~" + value.text + ")");
}

const BinaryOperator *
binary_operator (const std::string &symbol)
{
  static constexpr BinaryOperator operators[] = {
      {"*", 10, false, true, add},
      {"/", 10, false, true, divide},
      {"//", 10, false, false, divide_whole},
      {"%", 10, false, false, divide_whole},
      {"+", 9, false, true, add},
      {"-", 9, false, true, add},
      {"<<", 8, true, false, shift},
      {">>", 8, true, false, shift},
      {"<", 7, false, false, compare},
      {"<=", 7, false, false, compare},
      {">", 7, false, false, compare},
      {">=", 7, false, false, compare},
      {"==", 6, false, true, compare},
      {"!=", 6, false, true, compare},
      {"&", 5, true, false, combine_bits},
      {"^", 4, true, false, combine_bits},
      {"|", 3, true, false, combine_bits},
      {"&&", 2, false, false, combine_truths},
      {"||", 1, false, false, combine_truths},
  };
  auto found = std::find_if (std::begin (operators), std::end (operators),
      [&] (const BinaryOperator &row) { return row.symbol == symbol; });
  return found == std::end (operators) ? nullptr : found;
}

Value
choose (const Value &condition, const Value &first, const Value &second)
{
  const char *type = common_type ({first, second});
  if (common_kind ({first, second}) == Value::COMPLEX)
    return complex_value ("choose_real2 (" + truth (condition) + ", "
                          + convert (first, type) + ", " + convert (second, type) + ")");
  return value_of_kind (common_kind ({first, second}),
      hull (range_of (first), range_of (second)), type,
      "(" + truth (condition) + " ? " + convert (first, type) + " : "
          + convert (second, type) + ")");
}

/* Exact within 64 bits */
static Number
power_of (Number base, guint64 n)
{
  Number power = 1;
  for (; n > 0; n /= 2, base *= base)
    power *= n % 2 ? base : 1;
  return power;
}

static std::string
power_text (const char *type, const Value &base, guint64 n)
{
  return std::string ("power_") + type + " (" + convert (base, type) + ", "
         + std::to_string (n) + "UL)";
}

/* Integers wrap in 64 bits. */
static Value
integer_power (const Value &base, guint64 n)
{
  const std::string text = power_text ("ulong", base, n);
  const Number most = power_of (largest_magnitude (base), n);
  const Range range = {base.least < 0 ? -most : power_of (base.least, n), most};
  return base.kind == Value::UNSIGNED
             ? unsigned_value (text)
             : integer_of (is_within (range, range_of_long) ? range : range_of_long,
                 "long", "((long) " + text + ")");
}

Value
raise (const Value &base, const Value &exponent)
{
  const Number longest = 16; /* in products, which are faster than pow () */
  const guint64 n = guint64 (std::fabs (exponent.least));
  const bool is_negative = exponent.least < 0;

  if (base.is_integer () && exponent.is_constant () && !is_negative)
    return integer_power (base, n);
  if (base.is_complex ()) {
    const Value power = complex_value (power_text ("real2", base, n));
    return is_negative ? divide ("/", integer_constant (1), power) : power;
  }
  if (!exponent.is_constant () || n > longest)
    return real_value (call ("pow", base, exponent, "real"));
  const std::string power = power_text ("real", base, n);
  return real_value (is_negative ? "(1 / " + power + ")" : power);
}

static Value
extreme (const std::string &function, const Range &range, const Value &a, const Value &b)
{
  const char *type = common_type ({a, b});
  return value_of_kind (common_kind ({a, b}), range, type, call (function, a, b, type));
}

Value
smaller (const Value &a, const Value &b)
{
  return extreme ("min", {std::min (a.least, b.least), std::min (a.most, b.most)}, a, b);
}

Value
larger (const Value &a, const Value &b)
{
  return extreme ("max", {std::max (a.least, b.least), std::max (a.most, b.most)}, a, b);
}

/* OpenCL's abs () has an unsigned result. */
Value
magnitude (const Value &value)
{
  if (value.is_real ())
    return real_value ("fabs (" + value.text + ")");
  const Range range = {value.least > 0 ? value.least : 0, largest_magnitude (value)};
  if (value.kind == Value::UNSIGNED || value.least >= 0)
    return value;
  if (!is_within (range, range_of_long))
    return integer_of (range_of_long, "long", "((long) abs (" + value.text + "))");
  const char *width = width_of (hull (range, range_of (value)));
  return integer_of (range, width,
      "((" + std::string (width) + ") abs (" + convert (value, width) + "))");
}

Value
distance_between (const Value &a, const Value &b)
{
  const Value::Kind kind = common_kind ({a, b});
  const char *type = common_type ({a, b});
  if (kind == Value::REAL)
    return magnitude (add ("-", a, b));
  if (kind == Value::UNSIGNED)
    return unsigned_value (call ("abs_diff", a, b, type));
  const Number most = largest_magnitude (add ("-", a, b));
  return integer_of ({0, std::min (most, range_of_long.most)}, "long",
      "((long) " + call ("abs_diff", a, b, type) + ")");
}
} // namespace compute
