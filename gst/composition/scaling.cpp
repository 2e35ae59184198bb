/* Input samples and their weights for each row or column of a scaled image
 *
 * Input and output share their outer edges: output position `at` has its centre at
 * (at + 0.5) * in_size / out_size.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scaling.hpp"

#include <gst/common/videoformats.hpp>
#include <gst/opencl/core/deviceinfo.hpp>

#include <algorithm>
#include <cmath>

namespace transfer {
static const gdouble lobes = 3;

static gdouble
sinc (gdouble x)
{
  return x == 0 ? 1 : std::sin (G_PI * x) / (G_PI * x);
}

static gdouble
widening (gint in_size, gint out_size)
{
  return std::max (1.0, gdouble (in_size) / out_size);
}

gint
lanczos_taps (gint in_size, gint out_size)
{
  return int (std::ceil (2 * lobes * widening (in_size, out_size)));
}

namespace {
struct Weight {
  gint index; /* of the input sample, which may be beyond an edge */
  gdouble value;
};
using Weights = std::vector<Weight>; /* of one position, ascending */

Weights
nearest_weights (gdouble middle, gdouble)
{
  return {{gint (std::floor (middle)), 1}};
}

Weights
bilinear_weights (gdouble middle, gdouble)
{
  const gdouble from = middle - 0.5;
  const gint first = gint (std::floor (from));
  Weights weights = {{first, 1 - (from - first)}};
  if (from > first)
    weights.push_back ({first + 1, from - first});
  return weights;
}

/* The part of each sample that the output sample covers */
Weights
area_weights (gdouble middle, gdouble width)
{
  const gdouble from = middle - width / 2, to = middle + width / 2;
  Weights weights;
  for (gint index = gint (std::floor (from)); index < to; index++)
    weights.push_back (
        {index, (std::min (to, index + 1.0) - std::max (from, gdouble (index))) / width});
  return weights;
}

Weights
lanczos_weights (gdouble middle, gdouble width)
{
  const gdouble wide = std::max (1.0, width);
  const gint first = gint (std::floor (middle - 0.5 - lobes * wide)) + 1;
  Weights weights;
  gdouble sum = 0;
  for (gint n = 0; n < std::ceil (2 * lobes * wide); n++) {
    const gdouble off = (first + n - (middle - 0.5)) / wide;
    weights.push_back (
        {first + n, std::fabs (off) < lobes ? sinc (off) * sinc (off / lobes) : 0});
    sum += weights.back ().value;
  }
  for (Weight &weight : weights)
    weight.value /= sum;
  return weights;
}

/* Adds weights of `count` positions that are `width` input samples apart, moved by
 * `offset`. */
void
add_weights (std::vector<Weights> &all, ScaleMethod method, gint count, gdouble width,
    gdouble offset = 0)
{
  static constexpr decltype (&nearest_weights) functions[] = {
      nearest_weights, bilinear_weights, area_weights, lanczos_weights};
  for (gint at = 0; at < count; at++)
    all.push_back (functions[gint (method)]((at + 0.5) * width + offset, width));
}
} // namespace

std::vector<cl_float>
lanczos_table (gint in_size, gint out_size, gint fields)
{
  const gdouble width = gdouble (in_size) / out_size;
  std::vector<cl_float> table;

  for (gint at = 0; at < out_size; at++) {
    const gint field = std::min (at % fields, in_size - 1);
    const Weights weights =
        lanczos_weights (((at + 0.5) * width - 0.5 - field) / fields + 0.5, width);
    table.push_back (cl_float (weights[0].index));
    for (const Weight &weight : weights)
      table.push_back (cl_float (weight.value));
  }
  return table;
}

/* Samples beyond an edge repeat the one at the edge. */
ScaleTable
scale_table (ScaleMethod method, gint in_size, gint out_size)
{
  std::vector<Weights> all;
  const auto inside = [in_size] (
                          gint index) { return std::clamp (index, 0, in_size - 1); };
  ScaleTable table;

  add_weights (all, method, out_size, gdouble (in_size) / out_size);
  for (const Weights &weights : all)
    table.taps = std::max (
        table.taps, inside (weights.back ().index) - inside (weights.front ().index) + 1);
  for (const Weights &weights : all) {
    const gint first = std::min (inside (weights.front ().index), in_size - table.taps);
    std::vector<gdouble> row (gsize (table.taps));
    for (const Weight &weight : weights)
      row[gsize (inside (weight.index) - first)] += weight.value;
    table.values.push_back (cl_float (first));
    table.values.insert (table.values.end (), row.begin (), row.end ());
  }
  return table;
}

/* --- on a CPU --- */

void
define_wide (std::string &options, const GstVideoInfo &in, const GstVideoInfo &out)
{
  const GstOpenCLFrame anywhere = {};
  opencl::define (options, "WIDE", "", "1");
  opencl::define_steps (options, "IN", opencl::layout_of (in, anywhere));
  opencl::define_steps (options, "OUT", opencl::layout_of_output (out, anywhere));
}

bool
RowScaler::can_scale (const GstVideoInfo &in, gint width, gint height)
{
  static const gint most_reduction = 10;
  return in.width <= most_reduction * width && in.height <= most_reduction * height;
}

bool
RowScaler::prepare (GstOpenCLContext *context, ScaleMethod method, const GstVideoInfo &in,
    const GstVideoInfo &out, const std::string &options, GError **error)
{
  const ScaleTable columns = scale_table (method, in.width, out.width);
  const ScaleTable rows = scale_table (method, in.height, out.height);
  std::string all = options;

  taps = {{columns.taps, rows.taps}};
  define_wide (all, in, out);
  opencl::define (all, "TAPS", "_X", std::to_string (columns.taps));
  opencl::define (all, "TAPS", "_Y", std::to_string (rows.taps));
  has_words_in = opencl::has_pixels_of_four_bytes (in);
  has_words_out = opencl::has_pixels_of_four_bytes (out);
  kernel.prepare (context, "/org/freedesktop/gstreamer/opencl/transfer/scale_cpu.cl",
      "scale_cpu", all, {4, 1});
  return kernel.variant ({}, error)
         && opencl::make_table (context, columns.values, across, error)
         && opencl::make_table (context, rows.values, down, error)
         && make_memory (context, in, out, error);
}

/* Divides the rows among the processors, and makes memory as scale_cpu.cl lays it out. */
bool
RowScaler::make_memory (GstOpenCLContext *context, const GstVideoInfo &in,
    const GstVideoInfo &out, GError **error)
{
  const gsize components = 4, vector = 16;
  const gsize rows = gsize (1) << out.finfo->h_sub[2];
  const gsize blocks = (gsize (out.height) + rows - 1) / rows;
  const gsize wanted = std::min (blocks, 2 * gsize (opencl::compute_units (context)));
  const auto row = [] (gint width) {
    return components * ((gsize (width) + vector - 1) / vector * vector);
  };

  band_blocks = cl_int ((blocks + wanted - 1) / wanted);
  bands = (blocks + gsize (band_blocks) - 1) / gsize (band_blocks);
  band_bytes = (row (in.width) + rows * row (out.width)) * sizeof (cl_float)
               + gsize (taps.s[1]) * row (in.width) * sizeof (cl_ushort);
  band_bytes = (band_bytes + 63) / 64 * 64;
  return memory.resize (context, bands * band_bytes, error);
}

bool
RowScaler::enqueue_scaling (cl_command_queue queue, const GstOpenCLFrame &input,
    const GstOpenCLFrame &output, const opencl::VideoLayout &in,
    const opencl::VideoLayout &out, const opencl::FixedPointRow (&colors)[3],
    GError **error)
{
  /* Alignment only matters for pixels of four bytes. */
  opencl::Kernel *variant = kernel.variant (
      {has_words_in ? &input : nullptr, has_words_out ? &output : nullptr}, error);
  return variant
         && variant->set_all (error, input.data, in.size, in.start, in.stride,
             output.data, out.size, out.start, out.stride, colors[0], colors[1],
             colors[2], across (), down (), memory (), band_blocks, band_bytes)
         && variant->enqueue_groups (queue, {bands, 1, 1}, error);
}

/* --- on a GPU --- */

static const gint tile_height = 16; /* as in scale_planes.cl */

/* Chroma is at the positions that its siting gives. A cosited sample is at the first of the
 * luma samples that share it. */
PlaneScaler::Direction
PlaneScaler::direction (ScaleMethod method, gint in_size, gint out_size,
    guint subsampling, opencl::ChromaSamples site)
{
  static const gint most_unrolled = 24;
  const gdouble width = gdouble (in_size) / out_size;
  const gint shared = 1 << subsampling;
  const gdouble offset = (1 - width) * (shared - 1) / (2.0 * shared);
  std::vector<Weights> all;
  Direction made;

  add_weights (all, method, out_size, width);
  add_weights (all, method, GST_VIDEO_SUB_SCALE (gint (subsampling), out_size), width,
      site == opencl::ChromaSamples::cosited ? offset : 0);
  for (const Weights &weights : all)
    made.taps = std::max (made.taps, gint (weights.size ()));
  for (const Weights &weights : all) {
    made.values.push_back (cl_float (weights[0].index));
    for (gsize n = 0; n < gsize (made.taps); n++)
      made.values.push_back (n < weights.size () ? cl_float (weights[n].value) : 0);
  }
  if (made.taps <= most_unrolled && in_size % out_size == 0)
    made.step = in_size / out_size;
  return made;
}

bool
PlaneScaler::plan (GstOpenCLContext *context, ScaleMethod method, const GstVideoInfo &in,
    const GstVideoInfo &out)
{
  const opencl::ChromaFilter sites = opencl::chroma_filter (in, true);
  const gint bytes = opencl::sample_bits (in) > 8 ? 2 : 1;
  gint of_planes[GST_VIDEO_MAX_PLANES] = {};

  if (opencl::is_v210 (in) || opencl::bit_format_of (in) || opencl::is_big_endian (in))
    return false;
  n_planes = GST_VIDEO_INFO_N_PLANES (&in);
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&in); c++) {
    const guint plane = GST_VIDEO_INFO_COMP_PLANE (&in, c);
    const gint count = GST_VIDEO_INFO_COMP_PSTRIDE (&in, c) / bytes;
    if (of_planes[plane] > 0 && of_planes[plane] != count)
      return false; /* 4:2:2 in one plane */
    of_planes[plane] = count;
    const gint sides[] = {GST_VIDEO_INFO_COMP_WIDTH (&in, c),
        GST_VIDEO_INFO_COMP_HEIGHT (&in, c), GST_VIDEO_INFO_COMP_WIDTH (&out, c),
        GST_VIDEO_INFO_COMP_HEIGHT (&out, c)};
    std::copy_n (sides, 4, sizes.s + 4 * plane);
  }
  samples = std::max (of_planes[0], of_planes[n_planes - 1]);
  columns = direction (method, in.width, out.width, in.finfo->w_sub[2], sites.across);
  rows = direction (method, in.height, out.height, in.finfo->h_sub[2], sites.down);
  opencl::define_samples (options, "IN", in, false);
  opencl::define (options, "COMPONENTS", "",
      "(plane==0?" + std::to_string (of_planes[0]) + ":"
          + std::to_string (of_planes[n_planes - 1]) + ")");

  /* A tile of wide pixels is larger, as it reads columns beside it, too. */
  const gint room = 256 * std::min (samples, 2);
  const gdouble width = gdouble (in.width) / out.width;
  const gint fitting = gint ((room / samples - columns.taps) / width) + 1;
  tile_width = std::min (fitting, room / 2 / samples) / 8 * 8;
  reach = gint (std::ceil ((tile_width - 1) * width)) + columns.taps;
  items = gsize (room) / 4;
  const gsize words =
      gsize ((tile_height + 1) * (room + 6) + tile_height * (room / 4 + 1));
  return tile_width >= 16 && 4 * words <= opencl::local_memory (context);
}

bool
PlaneScaler::prepare (GstOpenCLContext *context, GError **error)
{
  for (const auto &[name, value] : {std::pair ("MOST_COMPONENTS", samples),
           {"TAPS_X", columns.taps}, {"TAPS_Y", rows.taps}, {"STEP_X", columns.step},
           {"STEP_Y", rows.step}, {"TILE_W", tile_width}, {"REACH", reach}})
    opencl::define (options, name, "", std::to_string (value));
  return opencl::make_table (context, columns.values, columns.table, error)
         && opencl::make_table (context, rows.values, rows.table, error)
         && kernel.create (context,
             "/org/freedesktop/gstreamer/opencl/transfer/scale_planes.cl", "scale_planes",
             options, error);
}

bool
PlaneScaler::enqueue_scaling (cl_command_queue queue, const GstOpenCLFrame &input,
    const GstOpenCLFrame &output, GError **error)
{
  cl_ulong16 layouts = {};
  gsize tile_rows = 0;

  for (guint plane = 0; plane < n_planes; plane++) {
    const cl_ulong layout[] = {input.offset[plane], cl_ulong (input.stride[plane]),
        output.offset[plane], cl_ulong (output.stride[plane])};
    std::copy_n (layout, 4, layouts.s + 4 * plane);
    tile_rows += gsize ((sizes.s[4 * plane + 3] + tile_height - 1) / tile_height);
  }
  return kernel.launch_groups (queue,
      {gsize ((sizes.s[2] + tile_width - 1) / tile_width), tile_rows, items}, error,
      input.data, output.data, sizes, layouts, columns.table (), rows.table ());
}
} // namespace transfer
