/* Signature of a user-supplied kernel: its parameters by name and type
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/numbertype.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

#include <string>
#include <vector>

namespace compute {
struct Parameter {
  enum Space { VALUE, GLOBAL, CONSTANT, LOCAL, OTHER /* an image, a sampler */ };

  std::string name;
  std::string type; /* without qualifiers: "float4" */
  Space space = VALUE;
  bool is_const = false; /* the target of a pointer */
  /* Type of a value, or of the target of a pointer. Null if that is not a number. */
  const opencl::NumberInfo *number = nullptr;
  unsigned lanes = 1;

  bool is_array () const { return space == GLOBAL || space == CONSTANT; }
  bool is_written () const { return space == GLOBAL && !is_const; }
  /* Size in bytes. A vector of three lanes is as large as one of four. */
  gsize size () const { return number ? number->size * (lanes == 3 ? 4 : lanes) : 0; }
  /* "__global const float4 *weights" */
  std::string text () const;
};

using Signature = std::vector<Parameter>;

/* "float gain, int n" */
std::string signature_text (const Signature &signature);

/* Reads the parameters from the driver. Needs a program built with
 * `-cl-kernel-arg-info`. */
bool read_signature (cl_kernel kernel, Signature &signature, GError **error);

/* For a kernel that the driver does not describe. `declared` has its parameters in OpenCL
 * C, such as "global const uchar *input, global uchar *output, int stride". */
bool read_declared_signature (
    cl_kernel kernel, const std::string &declared, Signature &signature, GError **error);

/* The names of a program's kernels. */
bool kernels_of_program (
    cl_program program, std::vector<std::string> &names, GError **error);
} // namespace compute
