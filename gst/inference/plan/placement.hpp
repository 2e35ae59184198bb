/* Assigns memory, offset and strides to every value of a graph
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../graph/graph.hpp"
#include "tensor.hpp"

namespace inference {
enum class Precision { single, half };

/* Memory of an input or output that the caller gives with each frame */
struct PortLayout {
  bool channels_last = false; /* else contiguous in the order of the shape */
  opencl::NumberType type = opencl::NumberType::f32;
};

struct Placements {
  std::vector<Tensor> tensors;         /* by ValueId */
  std::vector<bool> copies;            /* by operation: a view that must copy */
  std::vector<Tensor> inputs, outputs; /* in the order of the graph's */
  /* Outputs that a copy must fill: index of the output and the value that it shows */
  std::vector<std::pair<gsize, ValueId>> copied_outputs;
  std::vector<ValueId> constants; /* that need memory, from MemoryId 1 on */
  gsize arena_size = 0;           /* in bytes */
  MemoryId n_memories = 0;
};

/* Does the kernel of an operation convert between float32 and float16? */
bool converts_types (const Operation &operation);

/* For Precision::half: adds copies of float32 inputs, which become float16, for operations that
 * do not convert. */
void add_conversions (Graph &graph, const std::vector<PortLayout> &input_layouts);

/* The tensor that a reshape that copies writes: `to`, with the dimensions of its input */
Tensor copy_target (const Tensor &to, const Shape &from);

/* Values that operations compute lie in an arena, at offsets that only values share that are
 * not in use at the same time. Values of a ConcatOp are written into their part of the result
 * where that is possible. */
Placements place_values (const Graph &graph, Precision precision,
    const std::vector<PortLayout> &input_layouts);
} // namespace inference
