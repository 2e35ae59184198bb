/* Finds objects in the outputs of a network on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "layout.hpp"

#include <optional>

#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/device/kernel.hpp>

namespace inference {
struct Thresholds {
  gfloat certain = 0.4f; /* of the objectness, or of the mean of a region of text */
  gfloat score = 0.4f;
  gfloat overlap = 0.7f; /* largest intersection over union */
  bool is_agnostic = false;
};

/* A box that is turned about its middle, in pixels */
struct TurnedBox {
  double x, y, width, height;
  double angle; /* degrees, clockwise */
};

/* An object in pixels of the frame */
struct DetectedObject {
  gfloat left, top, width, height, score;
  gint32 kind; /* class */
  std::optional<TurnedBox> turned = {};
  std::vector<gfloat> points = {}; /* x, y and score of each */

  /* Sets the turned box, and the part of its extent that is in the frame. */
  void place (const TurnedBox &box, double frame_width, double frame_height);
};

class Detector {
public:
  static std::unique_ptr<Detector> create (GstOpenCLContext *context,
      const OutputsFormat &format, const OutputLayout &layout, guint most,
      GError **error);

  /* Results are pixels of a part of this size, which `fitted` places in the network's input. */
  void set_frame (const FittedFrame &fitted, double width, double height);
  /* Enqueues the search in `outputs`. Behind those of the network is the map of classes of
   * method=segmentation. */
  bool enqueue_detection (cl_command_queue queue, const std::vector<Memory> &outputs,
      const Thresholds &thresholds, GError **error);
  /* Downloads the results, the best objects first, and waits for them. */
  bool read (
      cl_command_queue queue, std::vector<DetectedObject> &objects, GError **error);

  const OutputLayout &layout () const { return found; }

private:
  bool make_kernels (GstOpenCLContext *context, const OutputsFormat &, GError **error);
  bool enqueue_search (cl_command_queue queue, const std::vector<Memory> &outputs,
      const Thresholds &thresholds, GError **error);
  bool enqueue_text (
      cl_command_queue queue, cl_mem map, const Thresholds &thresholds, GError **error);

  void turn (const cl_uint *words, DetectedObject &object) const;

  OutputLayout found;
  gint width = 0, height = 0; /* of the network's input */
  guint most = 0;
  gsize group = 0;
  cl_float4 map = {};
  cl_float2 frame = {};
  opencl::Kernel search, select, place;
  opencl::Kernel mark, join, measure, turn_boxes; /* of text */
  cl::Buffer candidates, number, results, anchors, first, regions, turned;
  opencl::ReadBack values, turned_values;
};
} // namespace inference
