/* Colours of the subject beside its edges: kernels/keying/subject.cl
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <string>

namespace keying {
class SubjectColors {
public:
  /* `options`: build options of the kernels, for encoded levels and for linear light */
  void prepare (GstOpenCLContext *context, const GstVideoInfo *info,
      const std::string (&options)[2]);

  /* Measures the colours in a frame whose alpha is the matte. `linear`: in linear light */
  bool measure (
      const GstOpenCLFrame *keyed, bool linear, cl_command_queue queue, GError **error);
  opencl::FrameKernel &comparison (bool linear, guint extras)
  {
    return compare[linear][extras];
  }

  /* Kernel arguments */
  cl_mem blocks () const { return subject (); }
  cl_int columns () const { return block_columns; }
  cl_int rows () const { return block_rows; }

private:
  bool make_buffers (GError **error);

  GstOpenCLContext *context = nullptr;
  cl_uint width = 0, height = 0;
  cl_int block_columns = 0, block_rows = 0;
  opencl::FrameKernel measure_subject[2], compare[2][2]; /* [linear][extras] */
  opencl::FrameKernel spread_across, spread_down;
  cl::Buffer measured, kinds, across, subject; /* made when first needed */
};
} // namespace keying
