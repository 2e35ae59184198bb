/* OpenCL C's functions and constants in an expression
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "expressionvalue.hpp"

namespace compute {
struct Function {
  gsize arguments;
  Value (*call) (const std::string &name, const std::vector<Value> &arguments);
};

/* (nullable): a function of scalars that takes no pointer */
const Function *function_named (const std::string &name);

/* Whether there is a constant of that name. */
bool constant_named (const std::string &name, Value &value);
} // namespace compute
