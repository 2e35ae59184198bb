/* Filter that runs a user-supplied program: openclkernel, base class of openclkernelmixer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "liveprogram.hpp"

#include <gst/opencl/elements/auxiliarystream.hpp>

namespace compute {
/* A frame of another input than the main one, and the stream that holds it */
struct OtherFrame : opencl::AuxiliaryStream::Frame {
  std::shared_ptr<opencl::AuxiliaryStream> stream;
};

/* Inputs besides the main one: openclkernelmixer only */
struct OtherInputs {
  InputFormats formats; /* object lock */
  std::vector<OtherFrame> frames;
  guint losses = 0; /* of all pads */
};
} // namespace compute

/* The library has a type GstOpenCLKernel, and elements are named after their type. */
G_DECLARE_FINAL_TYPE (
    GstOpenclKernel, gst_opencl_kernel_filter, GST, OPENCL_KERNEL_FILTER, GstOpenCLFilter)

struct _GstOpenclKernel {
  GstOpenCLFilter parent;

  opencl::Settings<compute::ProgramSettings> *settings;
  compute::LiveProgram *program;
  guint64 frames; /* since open */
  opencl::AuxiliaryStreams *streams;
  compute::OtherInputs *others;
};
