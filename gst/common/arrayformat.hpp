/* Number types, and the array format of caps: number type and shape
 *
 * Number types have names in NumPy, NNStreamer's caps and OpenCL C.
 *
 * An array is one buffer of numbers whose last dimension is contiguous. NNStreamer's
 * `other/tensors`, `application/x-oct` and raw video of one plane are arrays. Shapes have
 * NumPy's order, outermost dimension first. Caps and kernels name the innermost dimension
 * first.
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/videoformats.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace opencl {
/* --- number types --- */

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

/* --- arrays --- */

/* Media type and caps template of an array */
#define TENSORS_NAME "other/tensors"
#define TENSORS_TYPES                                                                    \
  "{ float32, float64, float16, uint8, int8, uint16, int16, uint32, int32, uint64, "     \
  "int64 }"
#define TENSORS_CAPS(features) TENSORS_CAPS_OF (features, TENSORS_TYPES)
#define TENSORS_CAPS_OF(features, of_types)                                              \
  TENSORS_NAME features ", format = (string) static, num_tensors = (int) 1, "            \
                        "types = (string) " of_types ", "                                \
                        "framerate = (fraction) [ 0/1, 2147483647/1 ]"

/* Several tensors in one buffer, see arrays_of_caps() */
#define SEVERAL_TENSORS_CAPS(features)                                                   \
  TENSORS_NAME features ", format = (string) static, num_tensors = (int) [ 2, 256 ], "   \
                        "framerate = (fraction) [ 0/1, 2147483647/1 ]"

/* Video formats with one plane and components of whole bytes */
#define ARRAY_VIDEO_FORMATS                                                              \
  "{ RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, GRAY8, "                  \
  "GRAY16_LE, " RGB64_FORMATS " }"

struct ArrayFormat {
  NumberType type = NumberType::f32;
  std::vector<gsize> shape;

  gsize count () const; /* number of values */
  gsize bytes () const { return count () * info_of (type).size; }
  /* Returns the length of a dimension, where 0 is the innermost. Returns 1 beyond the
   * outermost. */
  gsize length (gsize dimension) const
  {
    return dimension < shape.size () ? shape[shape.size () - 1 - dimension] : 1;
  }
  bool operator== (const ArrayFormat &other) const
  {
    return type == other.type && shape == other.shape;
  }
};

/* Reads fixed `other/tensors` or `application/x-oct` caps. Complex numbers become an
 * innermost dimension of 2. */
bool array_of_caps (GstCaps *caps, ArrayFormat &array, GError **error);

/* Reads all tensors of fixed caps. With several, `types` and `dimensions` are lists, and
 * the tensors follow each other in one buffer without gaps. */
bool arrays_of_caps (GstCaps *caps, std::vector<ArrayFormat> &arrays, GError **error);

/* get_frame_size of elements whose frames are arrays, for any base class */
template <typename Element>
gboolean
get_array_size (Element *, GstCaps *caps, gsize *size)
{
  std::vector<ArrayFormat> arrays;
  if (!arrays_of_caps (caps, arrays, nullptr))
    return FALSE;
  *size = 0;
  for (const ArrayFormat &array : arrays)
    *size += array.bytes ();
  return TRUE;
}

/* Reads video of one plane with components of whole bytes. The shape is (height, width)
 * or (height, width, components). */
bool array_of_video (const GstVideoInfo *info, ArrayFormat &array, GError **error);

/* Returns a shape as caps write it: "5:3:2" for (2, 3, 5) */
std::string dimensions_text (const std::vector<gsize> &shape);
bool parse_dimensions (const char *text, std::vector<gsize> &shape, GError **error);

/* Sets `types` and `dimensions`. `dimensions` lists all equivalent spellings, because
 * NNStreamer's elements pad shapes with ones to four dimensions. */
void set_array_fields (GstStructure *structure, const ArrayFormat &array);
} // namespace opencl
