/* Number types, their names in NumPy, NNStreamer's caps and OpenCL C, and half precision
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <cmath>
#include <limits>

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

/* Conversion between float and IEEE 754 half precision */
inline float
float_of_half (guint16 half)
{
  const int exponent = half >> 10 & 31;
  const float fraction = float (half & 1023), sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN () : sign * INFINITY;
  return exponent == 0 ? sign * std::ldexp (fraction, -24)
                       : sign * std::ldexp (1024 + fraction, exponent - 25);
}

/* Rounds to nearest, ties to even. */
inline guint16
half_of_float (float value)
{
  const guint16 sign = std::signbit (value) ? 0x8000 : 0;
  const float size = std::fabs (value);
  if (std::isnan (value))
    return 0x7e00;
  if (size >= 65520.0f)
    return sign | 0x7c00;
  if (size < std::ldexp (1.0f, -14))
    return sign | guint16 (std::nearbyint (std::ldexp (size, 24)));
  int exponent;
  const float fraction = std::frexp (size, &exponent); /* from 0.5 to 1 */
  const guint32 rounded = guint32 (std::nearbyint (std::ldexp (fraction, 11)));
  /* A carry out of the fraction increments the exponent, as the bits are adjacent. */
  return sign | guint16 ((guint32 (exponent + 13) << 10) + rounded);
}
} // namespace opencl
