/* Plan of the fused depth engine for GPUs, with A-lines in local memory
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
/* Minimum number of work-items per work-group. Short A-lines share one. */
const gsize least_group = 128;

/* Minimum number of bytes of an image row that a work-group writes */
const gsize shortest_segment = 4;

/* Ways to save local memory, fastest first. Shorter segments of image rows waste memory
 * bandwidth. `halves` (see Layout) needs three barriers instead of one. */
const struct {
  gsize segment;
  bool halves;
} memory_plans[] = {
    {16, false}, {12, false}, {16, true}, {8, false}, {8, true}, {4, false}, {4, true}};

/* Work-groups per compute unit, so that one can compute while another waits */
const cl_uint groups_of_unit = 2;

/* FFT steps. Radix 16 needs the fewest exchanges. In the last step a work-item has at
 * least two butterflies. After the first step, length / radix is a multiple of 16. */
struct Steps {
  guint length;
  guint points; /* per work-item, in registers */
  guint radix[4];
};

const Steps all_steps[] = {
    {64, 16, {16, 4, 1, 1}},
    {128, 16, {16, 8, 1, 1}},
    {256, 16, {16, 4, 4, 1}},
    {512, 16, {16, 4, 8, 1}},
    {1024, 16, {16, 8, 8, 1}},
    {2048, 16, {16, 16, 8, 1}},
    {4096, 16, {16, 16, 4, 4}},
    {8192, 16, {16, 16, 8, 4}},
    {16384, 16, {16, 16, 8, 8}},
};

/* One exchange less. The registers have room for 32 points, since they hold neither taps
 * nor a background. */
const Steps steps_of_grid = {4096, 32, {16, 16, 16, 1}};

const Steps *
find_steps (const EngineFormat &format)
{
  const guint length = format.length ();
  if (format.oversampling > 1 && !format.complex && !format.background
      && length == steps_of_grid.length)
    return &steps_of_grid;
  auto found = std::find_if (std::begin (all_steps), std::end (all_steps),
      [length] (const Steps &steps) { return steps.length == length; });
  return found == std::end (all_steps) ? nullptr : found;
}

/* Work distribution on a device */
struct Layout {
  const Steps *steps = nullptr;
  gsize items = 0;      /* work-items per transform */
  gsize transforms = 0; /* per work-group at a time */
  gsize step = 0;       /* minimum number of A-lines per work-group */
  gsize lines = 0;      /* maximum, a multiple of `step` */
  bool shared = false;  /* samples and transforms use the same local memory in turn */
  bool halves = false;  /* real and imaginary parts use it in turn */

  gsize group () const { return items * transforms; }
};

gsize
local_bytes (const EngineFormat &format, const Layout &layout)
{
  const bool numbers = format.input == SampleFormat::f32le || format.oversampling > 1;
  gsize sample = numbers ? 8 : 4; /* per pair of A-lines */
  gsize edges = 2 * edge_of (format.taps);
  gsize samples = (format.samples + edges) * sample;
  gsize places =
      (format.length () + format.length () / 16 + edges) * (layout.halves ? 4 : 8);
  gsize transform = layout.shared ? std::max (samples, places) : samples + places;
  const DepthValue &value = value_of (format);
  gsize image = layout.lines * (format.depths () + 8) * value.bytes;
  return layout.transforms * transform + (value.full > 0 ? image : 0);
}

bool
fit (const EngineFormat &format, gsize memory, Layout &layout)
{
  const DepthValue &value = value_of (format);
  gsize pixel = value.full > 0 ? value.bytes : 1;
  layout.step = std::max (2 * layout.transforms, shortest_segment / pixel);
  for (const auto &memory_plan : memory_plans) {
    layout.lines =
        std::max<gsize> (memory_plan.segment / pixel / layout.step, 1) * layout.step;
    layout.halves = memory_plan.halves;
    for (bool shared : {false, true}) {
      layout.shared = shared;
      if (local_bytes (format, layout) <= memory)
        return true;
    }
  }
  return false;
}

} // namespace

bool
plan_for_groups (GstOpenCLContext *context, const EngineFormat &format, FusedPlan &plan)
{
  Layout layout;
  layout.steps = find_steps (format);
  if (!layout.steps || format.taps == 0 || format.taps > most_taps_on_chip
      || format.length () != format.samples * format.oversampling)
    return false;
  layout.items = format.length () / layout.steps->points;
  layout.transforms = std::max<gsize> (1, least_group / layout.items);
  if (layout.group () > opencl::largest_group (context)
      || !fit (format, local_memory_of (context, format), layout))
    return false;
  gchar *options =
      g_strdup_printf (" -DPOINTS=%u -DTRANSFORMS=%u -DSHARED=%d -DHALVES=%d",
          layout.steps->points, guint (layout.transforms), layout.shared, layout.halves);
  plan = {"/org/freedesktop/gstreamer/opencl/oct/depth_gpu.cl", "make_depth", options,
      layout.steps->radix, layout.group (), layout.step, layout.lines, groups_of_unit,
      4 * sample_of (format.input).bytes, true};
  g_free (options);
  return true;
}
} // namespace oct
