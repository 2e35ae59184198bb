/* Input samples and their weights for each row or column of a scaled image
 *
 * Input and output share their outer edges: output position `at` has its centre at
 * (at + 0.5) * in_size / out_size.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scaling.hpp"

#include <gst/opencl/base/deviceinfo.hpp>

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

std::vector<cl_float>
lanczos_table (gint in_size, gint out_size, gint fields)
{
  const gint taps = lanczos_taps (in_size, out_size);
  const gdouble wide = widening (in_size, out_size);
  std::vector<cl_float> table;

  for (gint at = 0; at < out_size; at++) {
    const gint field = std::min (at % fields, in_size - 1);
    const gdouble middle = ((at + 0.5) * in_size / out_size - 0.5 - field) / fields;
    const gdouble first = std::floor (middle - lobes * wide) + 1;
    std::vector<gdouble> weights;
    gdouble sum = 0;
    for (gint n = 0; n < taps; n++) {
      const gdouble off = (first + n - middle) / wide;
      weights.push_back (std::fabs (off) < lobes ? sinc (off) * sinc (off / lobes) : 0);
      sum += weights.back ();
    }
    table.push_back (cl_float (first));
    for (gdouble weight : weights)
      table.push_back (cl_float (weight / sum));
  }
  return table;
}

namespace {
struct Weight {
  gint index; /* of the input sample, which may be beyond an edge */
  gdouble value;
};
using Weights = std::vector<Weight>; /* of one position, ascending */

Weights
nearest_weights (gdouble middle, gdouble, gint)
{
  return {{gint (std::floor (middle)), 1}};
}

Weights
bilinear_weights (gdouble middle, gdouble, gint)
{
  const gdouble from = std::max (middle - 0.5, 0.0);
  const gint first = gint (from);
  Weights weights = {{first, 1 - (from - first)}};
  if (from > first)
    weights.push_back ({first + 1, from - first});
  return weights;
}

/* The part of each sample that the output sample covers */
Weights
area_weights (gdouble middle, gdouble width, gint in_size)
{
  const gdouble from = std::max (middle - width / 2, 0.0);
  const gdouble to = std::min (middle + width / 2, gdouble (in_size));
  Weights weights;
  for (gint index = gint (from); index < to; index++)
    weights.push_back ({index,
        (std::min (to, index + 1.0) - std::max (from, gdouble (index))) / (to - from)});
  return weights;
}

/* From a row of lanczos_table() */
Weights
lanczos_weights (const cl_float *row, gint taps)
{
  Weights weights;
  for (gint n = 0; n < taps; n++)
    weights.push_back ({gint (row[0]) + n, row[1 + n]});
  return weights;
}

std::vector<Weights>
weights_of (ScaleMethod method, gint in_size, gint out_size)
{
  static constexpr decltype (&nearest_weights) functions[] = {
      nearest_weights, bilinear_weights, area_weights};
  const gdouble width = gdouble (in_size) / out_size;
  const bool is_lanczos = method == ScaleMethod::lanczos;
  const std::vector<cl_float> table =
      is_lanczos ? lanczos_table (in_size, out_size, 1) : std::vector<cl_float> ();
  const gint taps = lanczos_taps (in_size, out_size);
  std::vector<Weights> all;
  for (gint at = 0; at < out_size; at++)
    all.push_back (is_lanczos
                       ? lanczos_weights (&table[gsize (at) * gsize (taps + 1)], taps)
                       : functions[gint (method)]((at + 0.5) * width, width, in_size));
  return all;
}
} // namespace

/* Samples beyond an edge repeat the one at the edge. */
ScaleTable
scale_table (ScaleMethod method, gint in_size, gint out_size)
{
  const std::vector<Weights> all = weights_of (method, in_size, out_size);
  const auto inside = [in_size] (
                          gint index) { return std::clamp (index, 0, in_size - 1); };
  ScaleTable table;

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
RowScaler::enqueue (cl_command_queue queue, const GstOpenCLFrame &input,
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
} // namespace transfer
