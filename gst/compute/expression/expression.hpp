/* Translates an expression for each element of arrays to an OpenCL kernel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../program/program.hpp"
#include <gst/common/settings.hpp>

namespace compute {
/* Returns the shape to which arrays of `shapes` broadcast by NumPy's rule. `names`
 * appear in the error. */
bool broadcast (const std::vector<std::string> &names,
    const std::vector<std::vector<gsize>> &shapes, std::vector<gsize> &result,
    GError **error);

/* The array that an expression makes. Complex numbers are an innermost dimension of 2. */
struct ExpressionResult {
  opencl::ArrayFormat array;
  bool is_complex = false;
};

/* Finds the shape to which the inputs and the arrays in `arguments` broadcast. The type is
 * that of the first input, or of the complex value. An expression that has mistakes counts
 * as real. */
bool result_of_expression (const std::string &expression, const std::string &options,
    const std::vector<Stream> &inputs, const GstStructure *arguments,
    ExpressionResult &result, GError **error);

struct ExpressionDevice {
  bool is_cpu, has_double;
  gsize float_lanes = 4, largest_group = 1; /* as in deviceinfo.hpp */
};

/* Translates `expression` to a task. `arguments` holds the structure that the task points
 * to. `streams`, all inputs and then the output, get the names of the kernel's
 * arguments. */
bool task_of_expression (const std::string &expression, const ExpressionDevice &device,
    std::vector<Stream> &streams, const opencl::Structure &given,
    opencl::Structure &arguments, Task &task, GError **error);

/* --- products of matrices, "a @ b" --- */

bool is_product (const std::string &expression);
/* Finds type and shape of the result by NumPy's rules. */
bool array_of_product (const std::string &expression, const std::vector<Stream> &inputs,
    const GstStructure *arguments, opencl::ArrayFormat &array, GError **error);
/* As task_of_expression(), which calls it. Does not rename `streams`. */
bool task_of_product (const std::string &expression, const ExpressionDevice &device,
    std::vector<Stream> &streams, const opencl::Structure &given, GstStructure *arguments,
    Task &task, GError **error);
} // namespace compute
