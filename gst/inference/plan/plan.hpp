/* A network that is ready to run on a device for certain input shapes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../graph/lowering.hpp"
#include "placement.hpp"
#include "step.hpp"

namespace inference {
struct PlanOptions {
  Precision precision = Precision::single;
  InputChoice inputs;
  std::vector<PortLayout> input_layouts; /* of the model's inputs; missing: contiguous */
};

class Plan {
public:
  /* Makes graph, placements and kernels. Uploads the weights. Kernels are compiled in
   * parallel. NULL with an error set on failure. */
  static std::unique_ptr<Plan> create (GstOpenCLContext *context, const Model &model,
      const PlanOptions &options, GError **error);

  struct Port {
    std::string name;
    ElementType type;
    Tensor tensor;
  };
  const std::vector<Port> &inputs () const { return input_ports; }
  const std::vector<Port> &outputs () const { return output_ports; }

  /* Enqueues the network for one frame. Buffers are in the order of the ports. Allocates
   * nothing and does not wait. */
  bool enqueue_steps (cl_command_queue queue, const std::vector<Memory> &inputs,
      const std::vector<Memory> &outputs, GError **error);

  gsize arena_size () const { return placements.arena_size; }
  const std::vector<StepPointer> &all_steps () const { return steps; }
  const Memories &all_memories () const { return memories; } /* of the last frame */

private:
  bool upload_constants (GstOpenCLContext *context, const Graph &graph, GError **error);
  bool make_steps (GstOpenCLContext *context, Graph &graph, GError **error);

  Placements placements;
  cl::Buffer arena;
  std::shared_ptr<compute::Workspace> workspace;
  std::vector<cl::Buffer> constants;
  Memories memories;
  std::vector<StepPointer> steps;
  std::vector<Port> input_ports, output_ports;
};
} // namespace inference
