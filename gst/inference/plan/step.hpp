/* One step of a plan: kernel launches that compute an operation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../graph/graph.hpp"
#include "tensor.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include <gst/convolution/convolver.hpp>

#include <memory>

namespace inference {
/* A buffer, and where its data begin in bytes */
struct Memory {
  cl_mem buffer = nullptr;
  gint64 offset = 0;
};

/* Buffers by MemoryId, for one frame */
using Memories = std::vector<Memory>;

/* Offset of a tensor in its buffer, in elements */
inline gint64
offset_of (const Tensor &tensor, const Memories &memories)
{
  return tensor.offset
         + memories[gsize (tensor.memory)].offset / gint64 (tensor.element_size ());
}

inline cl_mem
buffer_of (const Tensor &tensor, const Memories &memories)
{
  return memories[gsize (tensor.memory)].buffer;
}

class Step {
public:
  virtual ~Step () = default;

  /* Enqueues the launches. Allocates nothing and does not wait. */
  virtual bool enqueue (
      cl_command_queue queue, const Memories &memories, GError **error) = 0;

  std::string name; /* of the operation, for errors and profiles */
  /* For profiles: operations, 0 where they are not known, and bytes of inputs and outputs */
  double flop = 0, bytes = 0;
};

/* The operation of a step. `inputs` and `outputs` are placements of the operation's values; an
 * input that is left out has no memory. */
struct StepRequest {
  GstOpenCLContext *context;
  const Operation *operation;
  std::vector<Tensor> inputs, outputs;
  std::shared_ptr<compute::Workspace> workspace; /* of convolutions */
};

using StepPointer = std::unique_ptr<Step>;

/* Each returns NULL with an error set on failure. */
StepPointer make_elementwise_step (
    const StepRequest &request, const ElementProgram &program, GError **error);
StepPointer make_copy_step (const StepRequest &request, GError **error);
StepPointer make_convolution_step (
    const StepRequest &request, const ConvolutionOp &what, GError **error);
StepPointer make_window_step (
    const StepRequest &request, const WindowOp &what, GError **error);
StepPointer make_reduce_step (
    const StepRequest &request, const ReduceOp &what, GError **error);
StepPointer make_softmax_step (
    const StepRequest &request, const SoftmaxOp &what, GError **error);
StepPointer make_attention_step (
    const StepRequest &request, const AttentionOp &what, GError **error);
StepPointer make_normalize_step (
    const StepRequest &request, const NormalizeOp &what, GError **error);
StepPointer make_product_step (const StepRequest &request, GError **error);
StepPointer make_resample_step (
    const StepRequest &request, const ResampleOp &what, GError **error);
StepPointer make_index_step (
    const StepRequest &request, const IndexOp &what, GError **error);
StepPointer make_top_step (const StepRequest &request, const TopOp &what, GError **error);
StepPointer make_scan_step (
    const StepRequest &request, const ScanOp &what, GError **error);
StepPointer make_grid_step (
    const StepRequest &request, const GridOp &what, GError **error);
StepPointer make_region_step (
    const StepRequest &request, const RegionOp &what, GError **error);
StepPointer make_suppress_step (
    const StepRequest &request, const SuppressOp &what, GError **error);
StepPointer make_excite_step (
    const StepRequest &request, const ExciteOp &what, GError **error);
StepPointer make_recurrent_step (
    const StepRequest &request, const RecurrentOp &what, GError **error);

StepPointer make_step (const StepRequest &request, GError **error);
} // namespace inference
