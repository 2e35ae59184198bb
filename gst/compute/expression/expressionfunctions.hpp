/* Functions and constants of OpenCL C in expressions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "expressionvalue.hpp"

namespace compute {
struct Function {
  gsize arguments;
  Value (*call) (const std::string &name, const std::vector<Value> &arguments);
  bool takes_complex = false;
};

/* Returns a function of scalars without pointer arguments, or NULL. */
const Function *function_named (const std::string &name);

/* Returns true and sets `value` if there is a constant of that name. */
bool constant_named (const std::string &name, Value &value);
} // namespace compute
