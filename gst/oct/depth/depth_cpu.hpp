/* Fused depth engine for CPUs, with one A-line per vector lane
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthengine.hpp"

#include <gst/opencl/device/kernel.hpp>

namespace oct {
class DepthCpu : public DepthEngine {
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
  cl_uint lanes = 0;
  cl_uint most_lines = 0;    /* per work-group, a multiple of `lanes` */
  cl_uint wanted_groups = 0; /* that keep the whole device busy */
  cl::Buffer roots;
  opencl::Kernel kernel;
};
} // namespace oct
