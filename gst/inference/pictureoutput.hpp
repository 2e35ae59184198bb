/* Converts an output tensor of a network to video
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "networkinputs.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace inference {
/* How an output becomes video */
struct PictureOptions {
  std::string layout; /* letters of its dimensions, empty: found from the shape */
  /* 0: all, if there are 1, 3 or 4. -1: the number of the one with the highest value. */
  gint64 channel = 0;
  bool is_bgr = false; /* blue comes first */
  /* Values of the levels 0 and 255; empty: by the type. With `is_automatic` those are the
   * lowest and the highest value. */
  std::vector<double> range;
  bool is_automatic = false;
};

/* An output that is one picture */
struct Picture : ImageTensor {
  gint64 channels = 0; /* of the video: 1, 3 or 4 */
  gint64 classes = 0;  /* channels of which the highest is found, or 0 */
};
bool find_picture (
    const PictureOptions &options, const Shape &shape, Picture &picture, GError **error);

class PictureOutput {
public:
  bool create_kernel (GstOpenCLContext *context, const PictureOptions &options,
      const Tensor &tensor, const GstVideoInfo &video, GError **error);
  /* `lowest` and `highest` (nullable) are single values, for an automatic range. */
  bool enqueue_picture (cl_command_queue queue, cl_mem tensor, cl_mem lowest,
      cl_mem highest, const GstOpenCLFrame *output, GError **error);

private:
  Picture picture;
  gint64 offset = 0, channel = 0, line = 0, column = 0;
  cl_float2 range = {};
  opencl::Kernel kernel;
};
} // namespace inference
