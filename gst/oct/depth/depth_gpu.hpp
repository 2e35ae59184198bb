/* Fused depth engine for GPUs, with A-lines in local memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthengine.hpp"

#include <gst/opencl/device/kernel.hpp>

namespace oct {
class DepthGpu : public DepthEngine {
public:
  /* Returns whether this engine is faster than separate kernels. */
  static bool is_faster (GstOpenCLContext *context, const EngineFormat &format);

  static std::unique_ptr<DepthEngine> make (
      GstOpenCLContext *context, const EngineFormat &format, GError **error);

  bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error) override;

private:
  bool create (GstOpenCLContext *context, const EngineFormat &format, GError **error);
  cl_uint lines_of_group (cl_uint lines) const;

  EngineFormat format;
  gsize group = 0;           /* work-items per work-group */
  cl_uint least_lines = 0;   /* A-lines per work-group */
  cl_uint most_lines = 0;    /* a multiple of `least_lines` */
  cl_uint wanted_groups = 0; /* that keep the whole device busy */
  cl::Buffer roots;
  opencl::Kernel kernel;
};
} // namespace oct
