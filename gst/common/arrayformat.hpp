/* Array format of caps: number type and shape
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

#include <gst/common/numbertype.hpp>
#include <gst/video/video.h>

#include <string>
#include <vector>

namespace opencl {
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

/* Video formats with one plane and components of whole bytes */
#define ARRAY_VIDEO_FORMATS                                                              \
  "{ RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, GRAY8, GRAY16_LE }"

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

/* get_frame_size of elements whose frames are arrays, for any base class */
template <typename Element>
gboolean
get_array_size (Element *, GstCaps *caps, gsize *size)
{
  ArrayFormat array;
  if (!array_of_caps (caps, array, nullptr))
    return FALSE;
  *size = array.bytes ();
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
