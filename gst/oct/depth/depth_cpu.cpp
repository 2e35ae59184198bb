/* Fused depth engine for CPUs, with one A-line per vector lane
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depth_cpu.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

#include "depthparts.hpp"

#include <algorithm>
#include <string>

namespace oct {
namespace {
const char *const resource = "/org/freedesktop/gstreamer/opencl/oct/depth_cpu.cl";

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
plan (GstOpenCLContext *context, const EngineFormat &format, Layout &layout)
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

std::string
build_options (const EngineFormat &format, const Layout &layout)
{
  const guint *radix = layout.steps->radix;
  gchar *options = g_strdup_printf (
      "-cl-mad-enable -DLANES=%u -DSAMPLES=%u -DGRID=%u -DOVERSAMPLING=%u -DRADIX_1=%u "
      "-DRADIX_2=%u -DRADIX_3=%u "
      "-DRADIX_4=%u -D%s -DTAPS=%u -DBACKGROUND=%d -DCOMPLEX=%d "
      "-DTILE=%u %s",
      layout.lanes, format.samples, format.length (), format.oversampling, radix[0],
      radix[1], radix[2], radix[3], sample_of (format.input).option, guint (format.taps),
      format.background, format.complex, layout.tile, value_of (format).options);
  std::string copy (options);
  g_free (options);
  return copy;
}
} // namespace

bool
DepthCpu::is_faster (GstOpenCLContext *context, const EngineFormat &format)
{
  Layout layout;
  return opencl::is_cpu (context) && plan (context, format, layout);
}

std::unique_ptr<DepthEngine>
DepthCpu::make (GstOpenCLContext *context, const EngineFormat &format, GError **error)
{
  auto made = std::make_unique<DepthCpu> ();
  if (!made->create (context, format, error))
    return nullptr;
  return made;
}

bool
DepthCpu::create (GstOpenCLContext *context, const EngineFormat &wanted, GError **error)
{
  Layout layout;
  if (!plan (context, wanted, layout)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%u samples per A-line, expected a power of two from 64 to 16384, with %u "
        "A-lines that fit the local memory of %s",
        wanted.samples, least_lanes, gst_opencl_context_get_device_name (context));
    return false;
  }
  format = wanted;
  lanes = layout.lanes;
  most_lines = layout.tile;
  wanted_groups = groups_of_unit * opencl::compute_units (context);
  return create_roots (context, format.length (), roots, error)
         && kernel.create (context, resource, "make_depth_cpu",
             build_options (format, layout).c_str (), error);
}

/* Returns the number of A-lines per work-group: the maximum, or fewer if part of the
 * device would be idle otherwise. */
cl_uint
DepthCpu::lines_of_group (cl_uint lines) const
{
  cl_uint fair = (lines + wanted_groups - 1) / wanted_groups;
  return std::min ((fair + lanes - 1) / lanes * lanes, most_lines);
}

bool
DepthCpu::enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
    cl_mem background, cl_uint background_offset, const DepthOutput &output,
    GError **error)
{
  const gsize word = 4, bytes = value_of (format).bytes;
  if (!check_alignment (output, bytes, error))
    return false;

  cl_uint lines = lines_of_group (spectra.lines);
  gsize groups = (spectra.lines + lines - 1) / lines;
  bool words = spectra.offset % word == 0 && spectra.stride % cl_long (word) == 0;
  DepthScaling scaling = scaling_of (format, output);

  return kernel.launch_groups (queue, groups, 1, error, spectra.data, spectra.offset,
      spectra.stride, cl_uint (words), spectra.lines, spectra.shift,
      spectra.counter_data (), tables, background, background_offset, roots (), lines,
      cl_uint (output.first), cl_uint (output.depths), cl_uint (output.logarithmic),
      scaling.factor, scaling.zero, scaling.least, output.data,
      cl_ulong (output.offset / bytes), output.pitch (bytes));
}
} // namespace oct
