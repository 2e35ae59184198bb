/* Plan of the fused depth engine for CPUs, with one A-line per vector lane
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include "fusedengine.hpp"

#include <algorithm>

namespace oct {
namespace {
const guint least_lanes = 4;

/* Limits of the A-line length for this engine */
const gsize shortest = 64, longest = 16384;

/* Number of bytes of an image row that a work-group writes: one cache line */
const gsize segment = 64;

/* Work-groups per compute unit. With several, all units finish at about the same time. */
const cl_uint groups_of_unit = 4;

/* FFT steps: two per column, then two per row. With radix 8, a CPU of 32 registers has
 * some left for the factors. */
struct Steps {
  gsize points;
  guint radix[4];

  gsize rows () const { return radix[0] * radix[1]; }
  gsize columns () const { return radix[2] * radix[3]; }
};

const Steps all_steps[] = {
    {32, {4, 2, 2, 2}},
    {64, {4, 2, 4, 2}},
    {128, {4, 4, 4, 2}},
    {256, {4, 4, 4, 4}},
    {512, {8, 4, 4, 4}},
    {1024, {8, 4, 8, 4}},
    {2048, {8, 8, 8, 4}},
    {4096, {8, 8, 8, 8}},
    {8192, {16, 8, 8, 8}},
    {16384, {16, 8, 16, 8}},
};

const Steps *
find_steps (const EngineFormat &format)
{
  const gsize length = format.length ();
  if (length < shortest || format.samples > longest)
    return nullptr;
  const gsize points = format.complex ? length : length / 2;
  auto found = std::find_if (std::begin (all_steps), std::end (all_steps),
      [points] (const Steps &steps) { return steps.points == points; });
  return found == std::end (all_steps) || length % 2 ? nullptr : found;
}

/* Work distribution on a device */
struct Layout {
  const Steps *steps = nullptr;
  guint lanes = 0;
  guint tile = 0; /* maximum number of A-lines per work-group */
};

gsize
local_bytes (const EngineFormat &format, const Layout &layout)
{
  const DepthValue &value = value_of (format);
  bool pairs = format.taps == 0 && format.complex;
  gsize values = format.depths () * (format.output == DepthFormat::complex ? 2 : 1);
  gsize samples = std::max<gsize> (format.samples * (pairs ? 2 : 1), values)
                  + 2 * edge_of (format.taps);
  gsize points = layout.steps->rows () * (layout.steps->columns () + 1);
  gsize image = layout.tile * format.depths () * value.bytes;
  return (samples + 2 * points) * layout.lanes * sizeof (cl_float)
         + (value.full > 0 ? image : 0);
}

/* Chooses the number of lanes: that of the device's vectors, or fewer if the samples or
 * the local memory require it. */
bool
fit (GstOpenCLContext *context, const EngineFormat &format, Layout &layout)
{
  layout.steps = find_steps (format);
  if (!layout.steps || format.taps > most_taps_on_chip)
    return false;
  gsize memory = local_memory_of (context, format);
  guint widest = guint (segment / value_of (format).bytes);
  for (layout.lanes = opencl::float_lanes (context); layout.lanes >= least_lanes;
       layout.lanes /= 2) {
    if (format.samples * sample_of (format.input).bytes % (4 * layout.lanes) != 0)
      continue; /* samples are loaded in blocks of `lanes` words */
    for (layout.tile = std::max (widest, layout.lanes); layout.tile >= layout.lanes;
         layout.tile /= 2) {
      if (local_bytes (format, layout) <= memory)
        return true;
    }
  }
  return false;
}

} // namespace

bool
plan_for_lanes (GstOpenCLContext *context, const EngineFormat &format, FusedPlan &plan)
{
  Layout layout;
  if (!fit (context, format, layout))
    return false;
  plan = {"/org/freedesktop/gstreamer/opencl/oct/depth_cpu.cl", "make_depth_cpu",
      " -DLANES=" + std::to_string (layout.lanes), layout.steps->radix, 1, layout.lanes,
      layout.tile, groups_of_unit, sizeof (cl_uint), false};
  return true;
}
} // namespace oct
