/* Translates a user-supplied expression to OpenCL C
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "expressionvalue.hpp"

#include <map>
#include <set>

namespace compute {
/* Names that are known in an expression */
struct Names {
  std::map<std::string, Value> values;
  std::map<std::string, std::string> macros; /* the expressions that replace them */
};

struct Translation {
  Value value;
  std::string statements;      /* before `value` */
  std::set<std::string> names; /* of Names::values that the expression uses */
  bool has_double = false;     /* the expression names the type double */
};

/* Returns false with an error that starts with the position, "expression:1:5: ". */
bool translate_expression (const std::string &expression, const Names &names,
    Translation &translation, GError **error);
} // namespace compute
