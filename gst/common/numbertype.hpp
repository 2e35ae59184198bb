/* Number types and their names in NumPy, NNStreamer's caps and OpenCL C
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

namespace opencl {
enum class NumberType { i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };

struct NumberInfo {
  NumberType type;
  const char *name;   /* "float32", in NumPy and in `other/tensors` caps */
  const char *opencl; /* "float" */
  char kind;          /* 'i', 'u' or 'f', as in NumPy's "<f4" */
  gsize size;         /* in bytes */
};

const NumberInfo &info_of (NumberType type);

/* Finds a type by its name in caps, or in OpenCL C. (nullable) */
const NumberInfo *number_named (const char *name);
const NumberInfo *number_of_opencl (const char *name);
/* Finds a type by its NumPy kind and its size in bytes. (nullable) */
const NumberInfo *number_of_kind (char kind, gsize size);
} // namespace opencl
