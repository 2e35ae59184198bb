/* Tensors: offsets and strides of values in the memory of a plan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../model/array.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>

#include <glib.h>
#include <vector>

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

/* --- the arena: one block of memory for values with known lifetimes --- */

/* A block that is in use from operation `first` to operation `last`, inclusive */
struct Lifetime {
  gsize size = 0;
  gint32 first = 0, last = 0;
  gsize offset = 0; /* result */
};

/* Assigns offsets, the largest block first, each at the lowest place that is free during its
 * lifetime. Returns the size of the arena. (Pisarchyk and Lee, Efficient memory management for
 * deep neural net inference, 2020: greedy by size.) */
gsize assign_offsets (std::vector<Lifetime> &blocks, gsize alignment);
} // namespace inference
