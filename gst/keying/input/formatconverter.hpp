/* Converts camera formats (NV12, YUY2 …) to the RGBA format being keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "inputformat.hpp"

#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace keying {
/* Converts a frame once for kernels that read it several times. All work uses one
 * in-order queue. The next frame overwrites the buffer, so convert it after all work on
 * this one is enqueued. */
class FormatConverter {
public:
  /* The kernel is built when it is first needed. */
  void prepare (GstOpenCLContext *of, const InputFormat &format);
  /* Sets `result` to the converted frame, which is valid during the lifetime of this
   * object. */
  bool convert (const GstOpenCLFrame *input, GstOpenCLFrame *result,
      cl_command_queue queue, GError **error);

private:
  GstOpenCLContext *context = nullptr; /* outlives this object */
  InputFormat format;
  opencl::FrameKernel kernel;
  cl::Buffer pixels;
};
} // namespace keying
