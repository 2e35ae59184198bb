/* Fused depth engine for GPUs, with A-lines in local memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depth_gpu.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

#include "depthparts.hpp"

#include <algorithm>
#include <string>

namespace oct {
namespace {
const char *const resource = "/org/freedesktop/gstreamer/opencl/oct/depth_gpu.cl";

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

bool
plan (GstOpenCLContext *context, const EngineFormat &format, Layout &layout)
{
  layout.steps = find_steps (format);
  if (!layout.steps || format.taps == 0 || format.taps > most_taps_on_chip
      || format.length () != format.samples * format.oversampling)
    return false;
  layout.items = format.length () / layout.steps->points;
  layout.transforms = std::max<gsize> (1, least_group / layout.items);
  gsize memory = local_memory_of (context, format);
  return layout.group () <= opencl::largest_group (context)
         && fit (format, memory, layout);
}

std::string
build_options (const EngineFormat &format, const Layout &layout)
{
  const guint *radix = layout.steps->radix;
  gchar *options =
      g_strdup_printf ("-cl-mad-enable -DSAMPLES=%u -DGRID=%u -DOVERSAMPLING=%u "
                       "-DPOINTS=%u -DRADIX_1=%u -DRADIX_2=%u -DRADIX_3=%u "
                       "-DRADIX_4=%u -DTRANSFORMS=%u -D%s -DTAPS=%u -DBACKGROUND=%d "
                       "-DCOMPLEX=%d -DTILE=%u -DSHARED=%d -DHALVES=%d %s",
          format.samples, format.length (), format.oversampling, layout.steps->points,
          radix[0], radix[1], radix[2], radix[3], guint (layout.transforms),
          sample_of (format.input).option, guint (format.taps), format.background,
          format.complex, guint (layout.lines), layout.shared, layout.halves,
          value_of (format).options);
  std::string copy (options);
  g_free (options);
  return copy;
}
} // namespace

bool
DepthGpu::is_faster (GstOpenCLContext *context, const EngineFormat &format)
{
  Layout layout;
  /* Local memory has no benefit on a CPU, which keeps it in its caches like other
   * memory. */
  return !opencl::is_cpu (context)
         && opencl::device_info<cl_device_local_mem_type> (
                context, CL_DEVICE_LOCAL_MEM_TYPE)
                == CL_LOCAL
         && plan (context, format, layout);
}

std::unique_ptr<DepthEngine>
DepthGpu::make (GstOpenCLContext *context, const EngineFormat &format, GError **error)
{
  auto made = std::make_unique<DepthGpu> ();
  if (!made->create (context, format, error))
    return nullptr;
  return made;
}

bool
DepthGpu::create (GstOpenCLContext *context, const EngineFormat &wanted, GError **error)
{
  Layout layout;
  if (!plan (context, wanted, layout)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%u samples per A-line, expected a power of two from 64 to 16384, with two "
        "A-lines that fit the local memory of %s",
        wanted.samples, gst_opencl_context_get_device_name (context));
    return false;
  }
  format = wanted;
  group = layout.group ();
  least_lines = cl_uint (layout.step);
  most_lines = cl_uint (layout.lines);
  wanted_groups = groups_of_unit * opencl::compute_units (context);
  if (!create_roots (context, format.length (), roots, error)
      || !kernel.create (context, resource, "make_depth",
          build_options (format, layout).c_str (), error))
    return false;
  if (kernel.allows (group))
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "%u samples per A-line need work-groups of %" G_GSIZE_FORMAT
      " work-items, more than %s supports",
      format.samples, group, gst_opencl_context_get_device_name (context));
  return false;
}

/* Returns the number of A-lines per work-group: the maximum, or fewer if part of the
 * device would be idle otherwise. */
cl_uint
DepthGpu::lines_of_group (cl_uint lines) const
{
  cl_uint fair = (lines + wanted_groups - 1) / wanted_groups;
  cl_uint steps = (fair + least_lines - 1) / least_lines;
  return std::min (steps * least_lines, most_lines);
}

bool
DepthGpu::enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
    cl_mem background, cl_uint background_offset, const DepthOutput &output,
    GError **error)
{
  const DepthValue &value = value_of (format);
  if (!check_alignment (output, value.bytes, error))
    return false;

  cl_uint lines = lines_of_group (spectra.lines);
  gsize groups = (spectra.lines + lines - 1) / lines;
  gsize four = 4 * sample_of (format.input).bytes;
  bool aligned = spectra.offset % four == 0 && spectra.stride % cl_long (four) == 0;
  bool words = (output.offset | gsize (output.stride) | lines * value.bytes) % 4 == 0;
  DepthScaling scaling = scaling_of (format, output);

  return kernel.launch_groups (queue, groups, group, error, spectra.data, spectra.offset,
      spectra.stride, cl_uint (aligned), spectra.lines, spectra.shift,
      spectra.counter_data (), tables, background, background_offset, roots (), lines,
      cl_uint (output.first), cl_uint (output.depths), cl_uint (output.logarithmic),
      scaling.factor, scaling.zero, scaling.least, output.data,
      cl_ulong (output.offset / value.bytes), output.pitch (value.bytes),
      cl_uint (words));
}
} // namespace oct
