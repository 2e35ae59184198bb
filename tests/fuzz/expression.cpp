/* Fuzzing: an expression of the user's, translated to OpenCL C
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "input.hpp"

#include "gst/compute/expression/expressionparser.hpp"

using fuzz::promise;

/* Clang reads no more than 256 brackets within each other. */
static void
check_brackets (const std::string &text)
{
  int depth = 0;
  for (char letter : text) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    promise (depth >= 0 && depth < 250, "brackets are balanced and not too deep");
  }
  promise (depth == 0, "brackets are closed");
}

static void
check_value (const compute::Value &value)
{
  promise (value.least <= value.most, "a range has numbers");
  promise (value.kind != compute::Value::INTEGER
               || (value.least >= compute::Number (G_MININT64)
                   && value.most <= compute::Number (G_MAXINT64)),
      "integers are of 64 bits");
  check_brackets (value.text);
  check_brackets (compute::stored (value, opencl::NumberType::u8));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  fuzz::Input input (data, size);
  compute::Names names;
  compute::Translation translation;
  GError *error = nullptr;

  for (int type = 0; type <= int (opencl::NumberType::f64); type++) {
    const std::string name (1, char ('a' + type));
    names.values[name] = compute::value_of_type (opencl::NumberType (type), name);
  }
  names.values["z"] = compute::complex_value ("z");
  const std::string expression = input.take_text ();
  names.macros["M"] = input.take_text ();
  const bool translated =
      compute::translate_expression (expression, names, translation, &error);
  promise (translated == !error, "an expression that is refused has a reason");
  if (translated) {
    check_value (translation.value);
    check_brackets (translation.statements);
  }
  g_clear_error (&error);
  return 0;
}
