/* Placement of a value in the memory of a plan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../model/array.hpp"

#include <gst/opencl/base/opencl-hpp.hpp>

namespace inference {
/* Index of a buffer of a plan. Its arena is 0, constants and the buffers that the caller
 * gives with each frame follow. */
using MemoryId = gint32;
constexpr MemoryId arena_memory = 0;
constexpr MemoryId no_memory = -1;

/* Offset and strides are in elements. A stride may be 0 or negative. */
struct Tensor {
  MemoryId memory = no_memory;
  gint64 offset = 0;
  Shape shape;
  std::vector<gint64> strides;
  opencl::NumberType type = opencl::NumberType::f32;

  gsize rank () const { return shape.size (); }
  gint64 count () const { return count_of (shape); }
  gsize element_size () const { return opencl::info_of (type).size; }
};

/* Is the dimension 1 of (images, channels, …) contiguous? */
bool is_channels_last (const Tensor &tensor);

/* Strides of a dense array in which the channels of (images, channels, …) are innermost */
std::vector<gint64> channels_last_strides (const Shape &shape);
} // namespace inference
