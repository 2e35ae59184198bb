/* Parameters of a user-supplied kernel by name and type, and the values of its arguments
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/gst.h>

#include <string>
#include <vector>

namespace compute {
inline gsize
round_up (gsize value, gsize multiple)
{
  return (value + multiple - 1) / multiple * multiple;
}

/* --- parameters --- */

struct Parameter {
  enum Space { VALUE, GLOBAL, CONSTANT, LOCAL, IMAGE };

  std::string name;
  std::string type; /* without qualifiers: "float4" */
  Space space = VALUE;
  bool is_const = false; /* the target of a pointer, or a read_only image */
  bool is_read = true;   /* false for a write_only image */
  /* Type of a value, or of the target of a pointer. Null if that is not a number. */
  const opencl::NumberInfo *number = nullptr;
  unsigned lanes = 1;
  /* Members of a struct that has numbers only, else empty */
  std::vector<Parameter> fields;
  gsize bytes = 0;  /* size of a struct, or 0 if it is not known */
  gsize offset = 0; /* of a field in its struct */

  bool is_array () const { return space == GLOBAL || space == CONSTANT; }
  bool is_written () const { return (space == GLOBAL || space == IMAGE) && !is_const; }
  bool is_image () const { return space == IMAGE; }
  bool is_sampler () const { return type == "sampler_t"; }
  bool is_struct () const { return space == VALUE && !number && !is_sampler (); }
  /* Size in bytes, or 0 if it is not known. A vector of three lanes is as large as one of
   * four. */
  gsize size () const;
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

/* Reads the members of a parameter's struct from the OpenCL C `source`, if it can. */
void read_fields (const std::string &source, Parameter &parameter);

/* --- values of arguments --- */

/* Exact for every type of number that OpenCL C has. */
using Number = long double;

/* Appends the numbers of `value`, which is a number of any type, a boolean, a fraction,
 * or an array or list of these. Returns FALSE for all others. */
bool numbers_of_value (const GValue *value, std::vector<Number> &numbers);

/* Converts `numbers` to the bytes of a value of `parameter`. Fails if their count is not
 * its number of lanes, or that of all its fields, or if its type cannot hold one of
 * them. */
bool bytes_of_numbers (const std::vector<Number> &numbers, const Parameter &parameter,
    std::vector<guint8> &bytes, GError **error);

/* Sets an error about settings. Returns FALSE. */
bool fail (GError **error, const std::string &message);

/* Sets an error about an argument, and lists the kernel's arguments. Returns FALSE. */
bool fail_argument (
    GError **error, const std::string &message, const Signature &signature);
} // namespace compute
