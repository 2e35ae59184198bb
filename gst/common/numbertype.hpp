/* Types of numbers as NumPy, NNStreamer's caps and OpenCL C name them
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

namespace opencl {
enum class NumberType { i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };

struct NumberInfo {
  NumberType type;
  const char *name;   /* "float32": of NumPy and of caps `other/tensors` */
  const char *opencl; /* "float" */
  char kind;          /* 'i', 'u' or 'f', as in NumPy's "<f4" */
  gsize size;         /* in bytes */
};

const NumberInfo &info_of (NumberType type);

/* (nullable): what a name in caps, or one of OpenCL C, stands for */
const NumberInfo *number_named (const char *name);
const NumberInfo *number_of_opencl (const char *name);
/* (nullable): of a kind and a size in bytes */
const NumberInfo *number_of_kind (char kind, gsize size);
} // namespace opencl
