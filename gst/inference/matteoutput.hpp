/* Writes a channel of a network's output into the alpha of a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "plan/tensor.hpp"
#include "videoinput.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace inference {
class MatteOutput {
public:
  /* `matte` has a shape of (…, height, width), where `channel` counts the images of this
   * shape, or (…, height, width, 1). `network` is the size of the network's input. FALSE
   * with an error if it has no such channel. */
  bool create_kernels (GstOpenCLContext *context, const GstVideoInfo &input,
      const GstVideoInfo &output, const Tensor &matte, gint64 channel, Fit fit,
      gint network_width, gint network_height, GError **error);

  bool enqueue_matte (cl_command_queue queue, const GstOpenCLFrame *input,
      const GstOpenCLFrame *output, cl_mem matte, GError **error);

private:
  GstVideoInfo info = {};
  opencl::FixedPointRow rows[3] = {};
  gint64 offset = 0, line = 0, column = 0;
  cl_int2 size = {};
  cl_float2 scale = {}, shift = {};
  cl::Buffer stretched;      /* the matte, as wide as the frame */
  bool keeps_pixels = false; /* input and output have the same format */
  opencl::FrameKernel stretch, apply;
};
} // namespace inference
