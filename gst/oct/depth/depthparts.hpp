/* Common code of the depth engines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthengine.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

namespace oct {
struct DepthValue {
  const char *options;
  gsize bytes;
  double full; /* value of a white pixel; 0 if the output is no image */
};

const DepthValue &value_of (DepthFormat format);
inline const DepthValue &
value_of (const EngineFormat &format)
{
  return value_of (format.output);
}

/* Creates a table of exp (-2 pi i k / samples) for all k. */
bool create_roots (
    GstOpenCLContext *context, guint samples, cl::Buffer &roots, GError **error);

/* Maximum number of taps per point in fused kernels */
constexpr gsize most_taps_on_chip = 16;

/* Number of samples repeated beyond each end of an A-line, as in
 * kernels/oct/tables.clh */
constexpr gsize
edge_of (gsize taps)
{
  return taps > 8 ? 8 : 4;
}

/* Scale from a level (log2 of the power, or the amplitude) to an output value:
 * max (level * factor + zero, least) */
struct DepthScaling {
  cl_float factor;
  cl_float zero;
  cl_float least;
};

/* Returns the scale that maps black to 0 and white to `full`. With `full` 0 it maps a
 * level to level * `unit`. `unit` converts levels to the unit of black, white and
 * `least`. */
DepthScaling scaling_to (
    double full, double unit, double least, const DepthOutput &output);

DepthScaling scaling_of (const EngineFormat &format, const DepthOutput &output);

/* Checks that offset and stride are multiples of `bytes`, the size of a value. */
bool check_alignment (const DepthOutput &output, gsize bytes, GError **error);

/* Returns the number of bytes of local memory that a work-group may use. */
inline gsize
local_memory_of (GstOpenCLContext *context, const EngineFormat &format)
{
  gsize memory = opencl::device_info<cl_ulong> (context, CL_DEVICE_LOCAL_MEM_SIZE);
  return format.local_memory > 0 && format.local_memory < memory ? format.local_memory
                                                                 : memory;
}
} // namespace oct
