/* Converts camera formats (NV12, YUY2 …) to the RGBA format being keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "inputformat.hpp"

#include <gst/opencl/base/opencl-hpp.hpp>

namespace keying {
/* For work that reads a picture several times: a frame of pixels, made on the device. Whoever
 * enqueues has one queue, which is in order, and takes the next frame after all work on this
 * one. */
class FormatConverter {
public:
  /* The kernel is built when first needed. */
  void prepare (GstOpenCLContext *of, const InputFormat &format);
  /* `made`, of the input's buffer, is valid as long as this. */
  bool take (const GstOpenCLFrame *input, GstOpenCLFrame *made, cl_command_queue queue,
      GError **error);

private:
  GstOpenCLContext *context = nullptr; /* which outlives this */
  InputFormat format;
  opencl::FrameKernel kernel;
  cl::Buffer pixels;
};
} // namespace keying
