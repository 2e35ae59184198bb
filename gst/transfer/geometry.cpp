/* Geometry of a conversion: rotation, mirroring, scaling and borders
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "geometry.hpp"

#include <gst/common/videoformats.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace transfer {
Orientation
orientation_of (GstVideoOrientationMethod method)
{
  static const struct {
    GstVideoOrientationMethod method;
    Orientation orientation;
  } known[] = {
      {GST_VIDEO_ORIENTATION_90R, {true, false, true}},
      {GST_VIDEO_ORIENTATION_180, {false, true, true}},
      {GST_VIDEO_ORIENTATION_90L, {true, true, false}},
      {GST_VIDEO_ORIENTATION_HORIZ, {false, true, false}},
      {GST_VIDEO_ORIENTATION_VERT, {false, false, true}},
      {GST_VIDEO_ORIENTATION_UL_LR, {true, false, false}},
      {GST_VIDEO_ORIENTATION_UR_LL, {true, true, true}},
  };
  for (const auto &entry : known) {
    if (entry.method == method)
      return entry.orientation;
  }
  return {false, false, false};
}

/* The top and left borders are whole chroma blocks, in both fields. */
TargetRectangle
target_of (const GstVideoInfo &input, const GstVideoInfo &output,
    const Orientation &orientation, bool borders)
{
  guint n, d;
  gint in_width = input.width, in_height = input.height;
  gint par_n = input.par_n, par_d = input.par_d;
  if (orientation.transposed) {
    std::swap (in_width, in_height);
    std::swap (par_n, par_d);
  }
  if (!borders
      || !opencl::calculate_display_ratio (
          &n, &d, in_width, in_height, {par_n, par_d}, {output.par_n, output.par_d}))
    return {0, 0, output.width, output.height};
  const gdouble ratio = gdouble (n) / d;
  TargetRectangle target = {0, 0, output.width, output.height};
  if (output.width > ratio * output.height)
    target.width = std::max (1, int (std::lround (ratio * output.height)));
  else
    target.height = std::max (1, int (std::lround (output.width / ratio)));
  target.left = (output.width - target.width) / 2 & ~1;
  target.top = (output.height - target.height) / 2 & ~3;
  return target;
}

void
to_input (const GstVideoInfo &input, const TargetRectangle &target,
    const Orientation &orientation, gdouble *x, gdouble *y)
{
  gdouble across = (*x - target.left) / target.width;
  gdouble down = (*y - target.top) / target.height;
  if (orientation.transposed)
    std::swap (across, down);
  *x = input.width * (orientation.mirrored_x ? 1 - across : across);
  *y = input.height * (orientation.mirrored_y ? 1 - down : down);
}

GstVideoRectangle
to_output (const GstVideoInfo &input, const TargetRectangle &target,
    const Orientation &orientation, GstVideoRectangle region)
{
  gint width = input.width, height = input.height;
  if (orientation.mirrored_x)
    region.x = width - region.x - region.w;
  if (orientation.mirrored_y)
    region.y = height - region.y - region.h;
  if (orientation.transposed) {
    std::swap (width, height);
    region = {region.y, region.x, region.h, region.w};
  }
  auto scaled = [] (gint length, gint to, gint from) {
    return gint (gint64 (length) * to / from);
  };
  auto side = [&] (gint length, gint to, gint from) {
    return std::max (scaled (length, to, from), std::min (length, 1));
  };
  return {target.left + scaled (region.x, target.width, width),
      target.top + scaled (region.y, target.height, height),
      side (region.w, target.width, width), side (region.h, target.height, height)};
}

static void
swap_fields (GstStructure *structure, const gchar *one, const gchar *other)
{
  const GValue *first = gst_structure_get_value (structure, one);
  const GValue *second = gst_structure_get_value (structure, other);
  if (!first || !second)
    return;
  GValue kept = G_VALUE_INIT;
  g_value_init (&kept, G_VALUE_TYPE (first));
  g_value_copy (first, &kept);
  gst_structure_set_value (structure, one, second);
  gst_structure_take_value (structure, other, &kept);
}

GstCaps *
transposed_caps (GstCaps *caps)
{
  GstCaps *result = gst_caps_copy (caps);
  for (guint i = 0; i < gst_caps_get_size (result); i++) {
    GstStructure *structure = gst_caps_get_structure (result, i);
    gint n, d;
    swap_fields (structure, "width", "height");
    if (!gst_structure_get_fraction (structure, "pixel-aspect-ratio", &n, &d))
      continue;
    std::tie (d, n) = opencl::valid_pixel_ratio (n, d);
    gst_structure_set (structure, "pixel-aspect-ratio", GST_TYPE_FRACTION, n, d, nullptr);
  }
  return result;
}

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
} // namespace transfer
