/* Outputs of a network that travel with the frame, from openclinference to
 * opencltensordecoder
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "network.hpp"

#include <memory>
#include <optional>

/* A GstCustomMeta for elements after opencltensordecoder, which documents it */
#define CLASS_MAP_META "GstOpenCLClassMap"

namespace inference {
/* The outputs, and the position of the frame in the network's input */
struct OutputsFormat {
  std::vector<NetworkOutput> outputs;
  gint width = 0, height = 0; /* of the network's input */
  gint frame_width = 0, frame_height = 0;
  FittedFrame fitted = {};
  gint64 batch = 1;       /* regions of a run */
  std::string characters; /* of a network that reads text, one a line */
};

/* A part of a frame, in pixels, turned about its middle */
struct Region {
  gsize number;   /* of its GstVideoRegionOfInterestMeta, in their order */
  GQuark label;   /* 0: none */
  guint identity; /* of a tracked object, 0: none */
  double x, y;    /* middle */
  double width, height;
  double angle;       /* degrees, clockwise */
  FittedFrame fitted; /* place in the network's input */
};

/* The outputs of one run of the network */
struct NetworkRun {
  std::shared_ptr<const OutputsFormat> format;
  std::vector<std::shared_ptr<GstBuffer>>
      buffers;                 /* device memory, one for each output */
  std::vector<Region> regions; /* in the places of the batch; of the frame: none */
};

struct AttachedOutputs {
  bool of_regions = false;
  std::vector<NetworkRun> runs; /* of the frame: one */
};

/* Regions of interest of the frame, in the order of their metas */
std::vector<GstVideoRegionOfInterestMeta *> region_metas_of (GstBuffer *frame);

/* Adds the outputs as a meta. It is lost when an element changes the frame. */
void attach_outputs (GstBuffer *frame, AttachedOutputs outputs);
/* Removes the outputs that were added last, and returns them, if there are any. */
std::optional<AttachedOutputs> detach_outputs (GstBuffer *frame);
} // namespace inference
