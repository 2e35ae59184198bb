/* Fused depth engines: raw spectra to depths in one launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthengine.hpp"

#include <gst/opencl/device/kernel.hpp>

#include <string>

namespace oct {
/* How a kernel divides the A-lines of a format on a device */
struct FusedPlan {
  const char *resource, *kernel;
  std::string options;    /* beside those that all kernels have */
  const guint *radix;     /* of the four steps of a transform; 1: not needed */
  gsize group;            /* work-items per work-group */
  gsize step, most;       /* A-lines per work-group: multiples of `step`, up to `most` */
  cl_uint groups_of_unit; /* work-groups per compute unit that keep the device busy */
  gsize alignment;        /* of spectra that the kernel reads fastest, in bytes */
  bool writes_words;      /* the last argument: image rows have pieces of 4 bytes */
};

/* Return false if the device cannot run the kernel for this format. */
bool plan_for_lanes (
    GstOpenCLContext *context, const EngineFormat &format, FusedPlan &plan);
bool plan_for_groups (
    GstOpenCLContext *context, const EngineFormat &format, FusedPlan &plan);

class FusedEngine : public DepthEngine {
public:
  bool create (GstOpenCLContext *context, const EngineFormat &format,
      const FusedPlan &plan, GError **error);

  bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error) override;

private:
  cl_uint lines_of_group (cl_uint lines) const;

  EngineFormat format;
  FusedPlan plan;
  cl_uint wanted_groups = 0; /* that keep the whole device busy */
  cl::Buffer roots;
  opencl::Kernel kernel;
};
} // namespace oct
