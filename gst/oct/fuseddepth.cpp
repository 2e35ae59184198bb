/* From raw spectra to depth in one launch, for those A-lines that fit a work-group
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "fuseddepth.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace oct {
namespace {
const char *const resource = "/org/freedesktop/gstreamer/opencl/oct/fuseddepth.cl";

/* Samples that a work-item holds in registers, and those beyond the ends of an A-line. */
const gsize points = 16;
const gsize edge = 4;

/* Short A-lines share a work-group, so that it has no fewer work-items than this. */
const gsize least_group = 128;

/* Bytes of a picture's row that a work-group writes: less waste memory's bandwidth. */
const gsize longest_segment = 16;
const gsize shortest_segment = 4;

/* For each compute unit of a device, so that some have work while others wait. */
const cl_uint groups_of_unit = 2;

/* A step of radix 16 costs the fewest exchanges; in the last one a work-item has at least
 * two butterflies, and each begins 16 or a multiple of it apart. */
struct Steps {
  guint samples;
  guint radix[4];
};

const Steps all_steps[] = {
    {64, {16, 4, 1, 1}},
    {128, {16, 8, 1, 1}},
    {256, {16, 4, 4, 1}},
    {512, {16, 4, 8, 1}},
    {1024, {16, 8, 8, 1}},
    {2048, {16, 16, 8, 1}},
    {4096, {16, 16, 4, 4}},
    {8192, {16, 16, 8, 4}},
    {16384, {16, 16, 8, 8}},
};

struct Sample {
  const char *option;
  gsize bytes;
};

const Sample sample_formats[] = {
    {"LOAD_U8", 1},
    {"LOAD_U16LE", 2},
    {"LOAD_U16BE", 2},
    {"LOAD_F32LE", 4},
};

struct Value {
  const char *options;
  gsize bytes;
  double full; /* brightest pixel, 0 where there are none */
};

const Value value_formats[] = {
    {"-DPIXEL=uchar -DFULL=255.0f -DFULL_BITS=8", 1, 255},
    {"-DPIXEL=ushort -DFULL=65535.0f -DFULL_BITS=16", 2, 65535},
    {"", 4, 0},
    {"-DBINS", 8, 0},
};

const Sample &
sample_of (const FusedDepthFormat &format)
{
  return sample_formats[gsize (format.input)];
}

const Value &
value_of (const FusedDepthFormat &format)
{
  return value_formats[gsize (format.output)];
}

const Steps *
find_steps (guint samples)
{
  auto found = std::find_if (std::begin (all_steps), std::end (all_steps),
      [samples] (const Steps &steps) { return steps.samples == samples; });
  return found == std::end (all_steps) ? nullptr : found;
}

/* How an A-line is laid out on a device. */
struct Layout {
  const Steps *steps = nullptr;
  gsize items = 0;      /* work-items for a transform */
  gsize transforms = 0; /* side by side */
  gsize step = 0;       /* A-lines of a work-group at least, */
  gsize lines = 0;      /* and at most: a multiple of it */
  bool shared = false;  /* samples and transforms take turns in local memory, */
  bool halves = false;  /* as do real and imaginary parts */

  gsize group () const { return items * transforms; }
};

gsize
local_bytes (const FusedDepthFormat &format, const Layout &layout)
{
  gsize sample = format.input == SampleFormat::f32le ? 8 : 4; /* of a pair */
  gsize samples = (format.samples + 2 * edge) * sample;
  gsize places =
      (format.samples + format.samples / 16 + 2 * edge) * (layout.halves ? 4 : 8);
  gsize transform = layout.shared ? std::max (samples, places) : samples + places;
  const Value &value = value_of (format);
  gsize picture = layout.lines * (format.samples / 2 + 8) * value.bytes;
  return layout.transforms * transform + (value.full > 0 ? picture : 0);
}

/* Short segments cost more than what turns in local memory cost. */
bool
fit (const FusedDepthFormat &format, gsize memory, Layout &layout)
{
  const Value &value = value_of (format);
  gsize pixel = value.full > 0 ? value.bytes : 1;
  layout.step = std::max (2 * layout.transforms, shortest_segment / pixel);
  for (gsize segment = longest_segment; segment >= shortest_segment; segment /= 2) {
    layout.lines = std::max (segment / pixel, layout.step);
    for (bool halves : {false, true}) {
      for (bool shared : {false, true}) {
        layout.halves = halves;
        layout.shared = shared;
        if (local_bytes (format, layout) <= memory)
          return true;
      }
    }
  }
  return false;
}

template <typename T>
T
device_info (GstOpenCLContext *context, cl_device_info name)
{
  T value{};
  clGetDeviceInfo (
      gst_opencl_context_get_device (context), name, sizeof value, &value, nullptr);
  return value;
}

bool
plan (GstOpenCLContext *context, const FusedDepthFormat &format, Layout &layout)
{
  layout.steps = find_steps (format.samples);
  if (!layout.steps)
    return false;
  layout.items = format.samples / points;
  layout.transforms = std::max<gsize> (1, least_group / layout.items);
  gsize memory = device_info<cl_ulong> (context, CL_DEVICE_LOCAL_MEM_SIZE);
  if (format.local_memory > 0)
    memory = std::min (memory, format.local_memory);
  return layout.group () <= device_info<size_t> (context, CL_DEVICE_MAX_WORK_GROUP_SIZE)
         && fit (format, memory, layout);
}

std::string
build_options (const FusedDepthFormat &format, const Layout &layout)
{
  const guint *radix = layout.steps->radix;
  gchar *options = g_strdup_printf (
      "-cl-mad-enable -DSAMPLES=%u -DPOINTS=%u -DRADIX_1=%u -DRADIX_2=%u -DRADIX_3=%u "
      "-DRADIX_4=%u -DSIDE_BY_SIDE=%u -D%s -DTAPS=%u -DBACKGROUND=%d "
      "-DCOMPLEX=%d -DTILE=%u -DSHARED=%d -DHALVES=%d %s",
      format.samples, guint (points), radix[0], radix[1], radix[2], radix[3],
      guint (layout.transforms), sample_of (format).option, guint (format.taps),
      format.background, format.complex, guint (layout.lines), layout.shared,
      layout.halves, value_of (format).options);
  std::string copy (options);
  g_free (options);
  return copy;
}
} // namespace

bool
FusedDepth::accepts (GstOpenCLContext *context, const FusedDepthFormat &format)
{
  Layout layout;
  /* A CPU has its caches for what is local memory elsewhere. */
  return !(device_info<cl_device_type> (context, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU)
         && device_info<cl_device_local_mem_type> (context, CL_DEVICE_LOCAL_MEM_TYPE)
                == CL_LOCAL
         && plan (context, format, layout);
}

/* exp (-2 pi i k / samples) for all k. */
bool
FusedDepth::create_roots (GstOpenCLContext *context, GError **error)
{
  std::vector<cl_float2> values (format.samples);
  for (gsize k = 0; k < values.size (); k++) {
    double angle = 2 * G_PI * double (k) / double (values.size ());
    values[k] = {{float (std::cos (angle)), float (-std::sin (angle))}};
  }
  gsize bytes = values.size () * sizeof values[0];
  cl_int code;
  roots = cl::Buffer (clCreateBuffer (gst_opencl_context_get_handle (context),
      CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, values.data (), &code));
  if (!gst_opencl_check (code, "clCreateBuffer", error))
    return false;
  gst_opencl_count_upload (bytes);
  return true;
}

bool
FusedDepth::create (
    GstOpenCLContext *context, const FusedDepthFormat &wanted, GError **error)
{
  Layout layout;
  if (!plan (context, wanted, layout)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%u samples per A-line, expected a power of two from 64 to 16384 of which the "
        "local memory of %s holds two A-lines",
        wanted.samples, gst_opencl_context_get_device_name (context));
    return false;
  }
  format = wanted;
  group = layout.group ();
  least_lines = cl_uint (layout.step);
  most_lines = cl_uint (layout.lines);
  wanted_groups =
      groups_of_unit * device_info<cl_uint> (context, CL_DEVICE_MAX_COMPUTE_UNITS);
  if (!create_roots (context, error)
      || !kernel.create (context, resource, "make_depth",
          build_options (format, layout).c_str (), error))
    return false;
  if (kernel.allows (group))
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "%u samples per A-line take work-groups of %" G_GSIZE_FORMAT
      " work-items, which are too many for %s",
      format.samples, group, gst_opencl_context_get_device_name (context));
  return false;
}

namespace {
/* From log2 of the power, or from the amplitude, to the values of the output. */
struct Scaling {
  cl_float factor;
  cl_float zero;
  cl_float least;
};

Scaling
scaling_of (const FusedDepthFormat &format, const DepthOutput &output)
{
  const double decibels = 10 * std::log10 (2.0), least_decibels = -120;
  double unit = output.logarithmic ? decibels : 1;
  double least = output.logarithmic ? least_decibels : 0;
  double full = value_of (format).full;
  if (full == 0)
    return {cl_float (unit), 0, cl_float (least)};
  double factor = full / (output.white - output.black);
  return {cl_float (unit * factor), cl_float (-output.black * factor),
      cl_float (std::max (0.0, (least - output.black) * factor))};
}

bool
check_alignment (const DepthOutput &output, gsize bytes, GError **error)
{
  if (output.offset % bytes == 0 && output.stride % bytes == 0)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "the output buffer begins at byte %" G_GSIZE_FORMAT
      " and has a stride of %" G_GSIZE_FORMAT
      " bytes, expected multiples of %" G_GSIZE_FORMAT,
      output.offset, output.stride, bytes);
  return false;
}
} // namespace

/* As many as are written in one segment, unless part of the device had nothing to do. */
cl_uint
FusedDepth::lines_of_group (cl_uint lines) const
{
  cl_uint fair = (lines + wanted_groups - 1) / wanted_groups;
  cl_uint steps = (fair + least_lines - 1) / least_lines;
  return std::min (steps * least_lines, most_lines);
}

bool
FusedDepth::enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
    cl_mem background, cl_uint background_offset, const DepthOutput &output,
    GError **error)
{
  const Value &value = value_of (format);
  if (!check_alignment (output, value.bytes, error))
    return false;

  cl_uint lines = lines_of_group (spectra.lines);
  gsize groups = (spectra.lines + lines - 1) / lines;
  gsize four = 4 * sample_of (format).bytes;
  bool aligned = spectra.offset % four == 0 && spectra.stride % cl_long (four) == 0;
  bool words = (output.offset | output.stride | lines * value.bytes) % 4 == 0;
  Scaling scaling = scaling_of (format, output);

  return kernel.launch_groups (queue, groups, group, error, spectra.data, spectra.offset,
      spectra.stride, cl_uint (aligned), spectra.lines, spectra.shift, tables, background,
      background_offset, roots (), lines, cl_uint (output.first), cl_uint (output.depths),
      cl_uint (output.logarithmic), scaling.factor, scaling.zero, scaling.least,
      output.data, cl_ulong (output.offset / value.bytes),
      cl_uint (output.stride / value.bytes), cl_uint (words));
}
} // namespace oct
