/* Arrays as caps say them: one buffer of numbers, the last dimension contiguous
 *
 * `other/tensors` is NNStreamer's; `application/x-oct` and raw video of one plane are
 * arrays as well. Shapes are NumPy's, outermost dimension first; caps and kernels name
 * the innermost first.
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/numbertype.hpp>
#include <gst/video/video.h>

#include <string>
#include <vector>

namespace opencl {
/* The media type, and what every caps of it has here. */
#define TENSORS_NAME "other/tensors"
#define TENSORS_TYPES                                                                    \
  "{ float32, float64, float16, uint8, int8, uint16, int16, uint32, int32, uint64, "     \
  "int64 }"
#define TENSORS_CAPS(features) TENSORS_CAPS_OF (features, TENSORS_TYPES)
#define TENSORS_CAPS_OF(features, of_types)                                              \
  TENSORS_NAME features ", format = (string) static, num_tensors = (int) 1, "            \
                        "types = (string) " of_types ", "                                \
                        "framerate = (fraction) [ 0/1, 2147483647/1 ]"

/* Formats of video that are one array of whole components. */
#define ARRAY_VIDEO_FORMATS                                                              \
  "{ RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, GRAY8, GRAY16_LE }"

struct ArrayFormat {
  NumberType type = NumberType::f32;
  std::vector<gsize> shape;

  gsize count () const; /* of numbers */
  gsize bytes () const { return count () * info_of (type).size; }
  /* From the innermost, 0; 1 beyond the outermost. */
  gsize length (gsize dimension) const
  {
    return dimension < shape.size () ? shape[shape.size () - 1 - dimension] : 1;
  }
  bool operator== (const ArrayFormat &other) const
  {
    return type == other.type && shape == other.shape;
  }
};

/* For fixed caps that are `other/tensors` or `application/x-oct`, whose complex numbers
 * have an innermost 2. */
bool array_of_caps (GstCaps *caps, ArrayFormat &array, GError **error);

/* Shape of video of one plane with components of whole bytes: (height, width) or
 * (height, width, components) */
bool array_of_video (const GstVideoInfo *info, ArrayFormat &array, GError **error);

/* "5:3:2" of (2, 3, 5) */
std::string dimensions_text (const std::vector<gsize> &shape);
bool parse_dimensions (const char *text, std::vector<gsize> &shape, GError **error);

/* `types` and `dimensions`, the latter in every spelling that means the same: elements of
 * NNStreamer's write ones up to four. */
void set_array_fields (GstStructure *structure, const ArrayFormat &array);
} // namespace opencl
