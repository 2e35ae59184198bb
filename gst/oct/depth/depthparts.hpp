/* Common code of the depth engines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthengine.hpp"

#include <gst/opencl/context/deviceinfo.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

namespace oct {
struct DepthValue {
  const char *options;
  gsize bytes;
  double full; /* brightest pixel, 0 where there are none */
};

const DepthValue &value_of (DepthFormat format);
inline const DepthValue &
value_of (const EngineFormat &format)
{
  return value_of (format.output);
}

/* exp (-2 pi i k / samples) for all k. */
bool create_roots (
    GstOpenCLContext *context, guint samples, cl::Buffer &roots, GError **error);

/* The most taps of a point that kernels for one launch take. */
constexpr gsize most_taps_on_chip = 16;

/* Samples that are repeated beyond each end of an A-line, as in kernels/oct/tables.clh. */
constexpr gsize
edge_of (gsize taps)
{
  return taps > 8 ? 8 : 4;
}

/* From log2 of the power, or from the amplitude, to the values of the output. */
struct DepthScaling {
  cl_float factor;
  cl_float zero;
  cl_float least;
};

/* Maps values in these units, of at least `least`, to the range of the output; `full`
 * is 0 without a range. */
DepthScaling scaling_to (
    double full, double unit, double least, const DepthOutput &output);

DepthScaling scaling_of (const EngineFormat &format, const DepthOutput &output);

/* Whether values lie at multiples of their size. */
bool check_alignment (const DepthOutput &output, gsize bytes, GError **error);

/* Bytes of local memory that a work-group may take. */
inline gsize
local_memory_of (GstOpenCLContext *context, const EngineFormat &format)
{
  gsize memory = opencl::device_info<cl_ulong> (context, CL_DEVICE_LOCAL_MEM_SIZE);
  return format.local_memory > 0 && format.local_memory < memory ? format.local_memory
                                                                 : memory;
}
} // namespace oct
