/* Outputs of a network that travel with the frame, from openclinference to
 * opencltensordecoder
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "network.hpp"

#include <memory>

/* A GstCustomMeta for elements after opencltensordecoder, which documents it */
#define CLASS_MAP_META "GstOpenCLClassMap"

namespace inference {
/* The outputs, and the position of the frame in the network's input */
struct OutputsFormat {
  std::vector<NetworkOutput> outputs;
  gint width = 0, height = 0; /* of the network's input */
  gint frame_width = 0, frame_height = 0;
  FittedFrame fitted = {};
};

struct AttachedOutputs {
  std::shared_ptr<const OutputsFormat> format; /* (nullable) */
  std::vector<std::shared_ptr<GstBuffer>>
      buffers; /* device memory, one for each output */
};

/* Adds the outputs as a meta. It is lost when an element changes the frame. */
void attach_outputs (GstBuffer *frame, AttachedOutputs outputs);
/* Removes the outputs that were added last, and returns them: without a format if there are
 * none. */
AttachedOutputs detach_outputs (GstBuffer *frame);
} // namespace inference
