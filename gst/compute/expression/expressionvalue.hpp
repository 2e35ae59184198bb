/* Typed values of an expression, as OpenCL C
 *
 * Types follow one rule, which docs/programs.md states. An integer is an int64, or a
 * uint64 if an operand is one. All floating-point numbers have the type `real`, and
 * complex numbers `real2`. Each integer carries its range, and is computed in 32 bits if
 * that gives the same result.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../program/signature.hpp"

#include <string>
#include <vector>

namespace compute {
struct Value {
  /* int64, uint64, floating-point, complex */
  enum Kind { INTEGER, UNSIGNED, REAL, COMPLEX };

  Kind kind = REAL;
  Number least = 0, most = 0; /* of integers */
  std::string text;           /* a primary or cast expression of OpenCL C */

  bool is_real () const { return kind == REAL; }
  bool is_complex () const { return kind == COMPLEX; }
  bool is_integer () const { return kind < REAL; }
  bool is_constant () const { return kind == INTEGER && least == most; }
  /* The type of `text`: "int", "long", "ulong", "real" or "real2" */
  const char *type () const;
};

/* --- operands --- */

Value real_value (const std::string &text);
Value complex_value (const std::string &text);
/* Any number of `type`. `text` has the type that type () names. */
Value value_of_type (opencl::NumberType type, const std::string &text);
/* An integer of a range within 64 bits. `text` has the type that type () names. */
Value integer_value (Number least, Number most, const std::string &text);
Value integer_constant (Number number);

/* --- conversions --- */

/* Converts the value to a type that type () can return. */
std::string convert (const Value &value, const char *type);
/* Like a cast in C, but floating-point values saturate. */
Value cast (const Value &value, opencl::NumberType type);
/* Rounds floating-point values by a function such as "rint". Saturates. */
Value cast_saturated (
    const Value &value, opencl::NumberType type, const std::string &rounding);
/* Truncates floating-point values to integers. */
Value to_integer (const Value &value);
/* Converts the value to an array element of `type`, or to float for float16. */
std::string stored (const Value &value, opencl::NumberType type);
/* Returns the condition that the value is not 0. */
std::string truth (const Value &value);

/* --- operators --- */

/* Returns the kind to which the operands of an operator are converted. */
Value::Kind common_kind (const std::vector<Value> &values);
const char *common_type (const std::vector<Value> &values);

struct BinaryOperator {
  const char *symbol;
  int precedence;      /* from 1 */
  bool takes_integers; /* only integers */
  bool takes_complex;
  Value (*apply) (const std::string &symbol, const Value &a, const Value &b);
};

/* (nullable) */
const BinaryOperator *binary_operator (const std::string &symbol);
/* One of - + ! ~ */
Value apply_unary (const std::string &symbol, const Value &value);
Value choose (const Value &condition, const Value &first, const Value &second);
/* Returns a power. Complex numbers take constant exponents alone. */
Value raise (const Value &base, const Value &exponent);

/* --- functions that keep integers --- */

Value smaller (const Value &a, const Value &b);
Value larger (const Value &a, const Value &b);
Value magnitude (const Value &value);
Value distance_between (const Value &a, const Value &b);
} // namespace compute
