/* Garbage matte and holdout matte from auxiliary streams
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/gstopenclfilter.h>

#include <string>

#include "input/inputformat.hpp"
#include "input/auxiliaryframe.hpp"

namespace keying {
class Mattes {
public:
  void prepare (
      GstOpenCLContext *context, const GstVideoInfo *info, const std::string &options);

  /* Takes the mattes of running time `time`. */
  bool follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams, GstClockTime time,
      cl_command_queue queue, GError **error);
  bool has_any () const { return garbage.frame.exists () || holdout.frame.exists (); }

  /* Applies the mattes to `output`, the keyed `input`. */
  bool apply (const InputFrame &input, const GstOpenCLFrame *output, gdouble opacity,
      cl_command_queue queue, GError **error);

private:
  struct Matte {
    const char *name;
    AuxiliaryFrame frame;
    cl::Buffer plane;
  };
  bool scale (Matte &matte, const GstOpenCLFrame *frame, const GstVideoInfo *info,
      cl_command_queue queue, GError **error);

  GstOpenCLContext *context = nullptr;
  guint width = 0, height = 0;
  opencl::FrameKernel scale_matte, apply_mattes;
  Matte garbage = {"garbage", {}, {}}, holdout = {"holdout", {}, {}};
};
} // namespace keying
