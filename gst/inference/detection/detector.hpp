/* Finds objects in the outputs of a network on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "layout.hpp"

#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/device/kernel.hpp>

namespace inference {
struct Thresholds {
  gfloat certain = 0.4f; /* of the objectness, or of the mean of a region of text */
  gfloat score = 0.4f;
  gfloat overlap = 0.7f; /* largest intersection over union */
  bool is_agnostic = false;
};

/* An object in pixels of the frame, as select.cl writes it */
struct DetectedObject {
  gfloat left, top, width, height, score;
  gint32 kind;  /* class */
  gint32 index; /* of the candidate */
};
static_assert (sizeof (DetectedObject) == 28);

class Detector {
public:
  static std::unique_ptr<Detector> create (GstOpenCLContext *context,
      const OutputsFormat &format, const OutputLayout &layout, guint most,
      GError **error);

  /* Enqueues the search in `outputs`. Behind those of the network is the map of classes of
   * method=segmentation. */
  bool enqueue_detection (cl_command_queue queue, const std::vector<Memory> &outputs,
      const Thresholds &thresholds, GError **error);
  /* Downloads the results, the best objects first, and waits for them. */
  bool read (
      cl_command_queue queue, std::vector<DetectedObject> &objects, GError **error);

  const OutputLayout &layout () const { return found; }
  /* x, y and score of each key point of the objects that were read */
  const std::vector<gfloat> &points () const { return found_points; }

private:
  bool make_kernels (GstOpenCLContext *context, const OutputsFormat &, GError **error);
  bool enqueue_search (cl_command_queue queue, const std::vector<Memory> &outputs,
      const Thresholds &thresholds, GError **error);
  bool enqueue_text (
      cl_command_queue queue, cl_mem map, const Thresholds &thresholds, GError **error);

  OutputLayout found;
  guint most = 0;
  gsize group = 0;
  cl_float4 map = {};
  cl_float2 frame = {};
  opencl::Kernel search, select, place;
  opencl::Kernel mark, join, measure; /* of text */
  cl::Buffer candidates, number, results, anchors, first, regions;
  opencl::ReadBack values;
  std::vector<gfloat> found_points;
};
} // namespace inference
