/* Caps that a converter can produce, in order of preference
 *
 * The preferences are those of videoconvert and videoscale: do not lose colour, alpha,
 * chroma or depth, in this order, and keep the display aspect ratio.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convertcaps.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

namespace transfer {
namespace {
const int largest_side = 32767;

const GstVideoFormatInfo *
format_named (const gchar *name)
{
  GstVideoFormat format =
      name ? gst_video_format_from_string (name) : GST_VIDEO_FORMAT_UNKNOWN;
  return format == GST_VIDEO_FORMAT_UNKNOWN ? nullptr
                                            : gst_video_format_get_info (format);
}

/* The formats that a structure names: one or a list. */
std::vector<const GstVideoFormatInfo *>
formats_of (const GstStructure *structure)
{
  const GValue *value = gst_structure_get_value (structure, "format");
  std::vector<const GstVideoFormatInfo *> formats;
  auto append = [&] (const GValue *name) {
    const GstVideoFormatInfo *format =
        G_VALUE_HOLDS_STRING (name) ? format_named (g_value_get_string (name)) : nullptr;
    if (format)
      formats.push_back (format);
  };

  if (!value)
    return formats;
  if (!GST_VALUE_HOLDS_LIST (value))
    append (value);
  else
    for (guint i = 0; i < gst_value_list_get_size (value); i++)
      append (gst_value_list_get_value (value, i));
  return formats;
}

/* --- what is possible --- */

bool
is_gray_only (const GstStructure *structure)
{
  auto formats = formats_of (structure);
  for (const GstVideoFormatInfo *format : formats) {
    if (!GST_VIDEO_FORMAT_INFO_IS_GRAY (format))
      return false;
  }
  return !formats.empty ();
}

/* Returns true for fields in separate buffers or GstVideoMetas, which are not
 * supported. */
bool
has_separate_fields (const GstStructure *structure)
{
  const gchar *mode = gst_structure_get_string (structure, "interlace-mode");
  return mode && (g_str_equal (mode, "fields") || g_str_equal (mode, "alternate"));
}

GstStructure *
with_formats (GstStructure *structure, bool without_gray)
{
  GValue all = G_VALUE_INIT, kept = G_VALUE_INIT;

  g_value_init (&all, GST_TYPE_LIST);
  g_value_init (&kept, GST_TYPE_LIST);
  gst_value_deserialize (&all, "{" CONVERT_FORMATS "}");
  for (guint i = 0; i < gst_value_list_get_size (&all); i++) {
    const GValue *name = gst_value_list_get_value (&all, i);
    if (!without_gray
        || !GST_VIDEO_FORMAT_INFO_IS_GRAY (format_named (g_value_get_string (name))))
      gst_value_list_append_value (&kept, name);
  }
  g_value_unset (&all);
  gst_structure_take_value (structure, "format", &kept);
  return structure;
}

/* Allows any format and size. Other fields stay. Overlays are placed in pixels, so that
 * frames with them keep their size. */
GstStructure *
widened (const GstStructure *structure, bool without_gray, bool has_overlays)
{
  GstStructure *wide = with_formats (gst_structure_copy (structure), without_gray);

  gst_structure_remove_fields (wide, "colorimetry", "chroma-site", nullptr);
  if (has_overlays)
    return wide;
  gst_structure_set (wide, "width", GST_TYPE_INT_RANGE, 1, largest_side, "height",
      GST_TYPE_INT_RANGE, 1, largest_side, nullptr);
  if (gst_structure_has_field (wide, "pixel-aspect-ratio"))
    gst_structure_set (wide, "pixel-aspect-ratio", GST_TYPE_FRACTION_RANGE, 1, G_MAXINT,
        G_MAXINT, 1, nullptr);
  return wide;
}

void
append_if_new (GstCaps *caps, GstStructure *structure, bool has_overlays)
{
  GstCapsFeatures *features =
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY,
          has_overlays ? OVERLAY_FEATURE : nullptr, nullptr);
  if (gst_caps_is_subset_structure_full (caps, structure, features)) {
    gst_structure_free (structure);
    gst_caps_features_free (features);
    return;
  }
  gst_caps_append_structure_full (caps, structure, features);
}

bool
has_overlays (const GstCaps *caps, guint index)
{
  return gst_caps_features_contains (
      gst_caps_get_features (caps, index), OVERLAY_FEATURE);
}

/* --- formats --- */

struct Loss {
  bool (*happens) (const GstVideoFormatInfo *from, const GstVideoFormatInfo *to);
  int cost;
};

GstVideoFormatFlags
colour_kind (const GstVideoFormatInfo *info)
{
  return GstVideoFormatFlags (GST_VIDEO_FORMAT_INFO_FLAGS (info)
                              & (GST_VIDEO_FORMAT_FLAG_YUV | GST_VIDEO_FORMAT_FLAG_RGB
                                  | GST_VIDEO_FORMAT_FLAG_GRAY));
}

using Format = const GstVideoFormatInfo *;

const Loss losses[] = {
    {[] (Format from, Format to) {
       return GST_VIDEO_FORMAT_INFO_IS_GRAY (to) && !GST_VIDEO_FORMAT_INFO_IS_GRAY (from);
     },
        128},
    {[] (Format from, Format to) { return from->h_sub[1] < to->h_sub[1]; }, 32},
    {[] (Format from, Format to) { return from->w_sub[1] < to->w_sub[1]; }, 16},
    {[] (Format from, Format to) {
       return GST_VIDEO_FORMAT_INFO_HAS_ALPHA (from)
              && !GST_VIDEO_FORMAT_INFO_HAS_ALPHA (to);
     },
        8},
    {[] (Format from, Format to) { return from->bits > to->bits; }, 4},
    {[] (Format from, Format to) { return colour_kind (from) != colour_kind (to); }, 2},
    /* changes that lose nothing */
    {[] (Format from, Format to) { return from->h_sub[1] != to->h_sub[1]; }, 1},
    {[] (Format from, Format to) { return from->w_sub[1] != to->w_sub[1]; }, 1},
    {[] (Format from, Format to) { return from->bits != to->bits; }, 1},
    {[] (Format from, Format to) {
       return GST_VIDEO_FORMAT_INFO_HAS_ALPHA (from)
              != GST_VIDEO_FORMAT_INFO_HAS_ALPHA (to);
     },
        1},
    {[] (Format from, Format to) { return from != to; }, 1},
};

int
cost_of (Format from, Format to)
{
  int cost = 0;
  for (const Loss &loss : losses)
    cost += loss.happens (from, to) ? loss.cost : 0;
  return cost;
}

/* Keeps the structure of `others` whose format is nearest to that of `known`. */
GstCaps *
choose_format (GstCaps *others, const GstStructure *known)
{
  Format from = format_named (gst_structure_get_string (known, "format"));
  Format best = nullptr;
  guint best_index = 0;

  for (guint i = 0; from && i < gst_caps_get_size (others); i++) {
    for (Format to : formats_of (gst_caps_get_structure (others, i))) {
      if (best && cost_of (from, to) >= cost_of (from, best))
        continue;
      best = to;
      best_index = i;
    }
  }
  GstCaps *chosen = gst_caps_copy_nth (others, best_index);
  gst_caps_unref (others);
  if (best)
    gst_caps_set_simple (
        chosen, "format", G_TYPE_STRING, GST_VIDEO_FORMAT_INFO_NAME (best), nullptr);
  return chosen;
}

/* --- size and shape --- */

struct Shape {
  int width, height;
  int par_n, par_d; /* pixel-aspect-ratio */
};

double
display_ratio (const Shape &shape)
{
  return double (shape.width) * shape.par_n / (double (shape.height) * shape.par_d);
}

Shape
shape_of (const GstStructure *structure)
{
  Shape shape = {1, 1, 1, 1};
  gst_structure_get_int (structure, "width", &shape.width);
  gst_structure_get_int (structure, "height", &shape.height);
  gst_structure_get_fraction (
      structure, "pixel-aspect-ratio", &shape.par_n, &shape.par_d);
  std::tie (shape.par_n, shape.par_d) =
      opencl::valid_pixel_ratio (shape.par_n, shape.par_d);
  return shape;
}

/* Returns the shape within `allowed` that is nearest to `wanted`. */
Shape
nearest_shape (const GstStructure *allowed, const Shape &wanted)
{
  GstStructure *fixated = gst_structure_copy (allowed);
  gst_structure_fixate_field_nearest_int (fixated, "width", wanted.width);
  gst_structure_fixate_field_nearest_int (fixated, "height", wanted.height);
  gst_structure_fixate_field_nearest_fraction (
      fixated, "pixel-aspect-ratio", wanted.par_n, wanted.par_d);
  Shape shape = shape_of (fixated);
  gst_structure_free (fixated);
  return shape;
}

int
rounded_side (double side)
{
  return int (std::lround (std::fmin (std::fmax (side, 1), largest_side)));
}

/* Keeps width and height and adapts the pixel-aspect-ratio, or keeps only the height, or
 * only the width. */
std::vector<Shape>
candidate_shapes (const GstStructure *allowed, const Shape &from)
{
  std::vector<Shape> candidates;
  Shape kept = nearest_shape (allowed, from);
  Shape wanted = kept;
  guint n, d;
  if (gst_video_calculate_display_ratio (&n, &d, from.width, from.height, from.par_n,
          from.par_d, kept.width, kept.height)) {
    wanted.par_n = int (n);
    wanted.par_d = int (d);
    candidates.push_back (nearest_shape (allowed, wanted));
  }

  double pixel = double (kept.par_n) / kept.par_d;
  wanted = kept;
  wanted.width = rounded_side (display_ratio (from) * kept.height / pixel);
  candidates.push_back (nearest_shape (allowed, wanted));
  wanted = kept;
  wanted.height = rounded_side (kept.width * pixel / display_ratio (from));
  candidates.push_back (nearest_shape (allowed, wanted));
  return candidates;
}

double
distortion (const Shape &from, const Shape &to)
{
  /* Half a sample of rounding is no distortion. */
  double tolerance = 0.5 / std::fmin (to.width, to.height);
  double distortion = std::fabs (std::log (display_ratio (to) / display_ratio (from)));
  return distortion <= tolerance ? 0 : distortion;
}

Shape
choose_shape (const GstStructure *allowed, const Shape &from)
{
  std::vector<Shape> candidates = candidate_shapes (allowed, from);
  Shape best = candidates.front ();
  for (const Shape &candidate : candidates) {
    if (distortion (from, candidate) < distortion (from, best))
      best = candidate;
  }
  return best;
}

/* A missing pixel-aspect-ratio is 1/1 for the input, and open for the output. */
void
fixate_shape (GstPadDirection direction, GstStructure *open, const GstStructure *known)
{
  bool had_ratio = gst_structure_has_field (open, "pixel-aspect-ratio");

  if (!had_ratio && direction == GST_PAD_SINK)
    gst_structure_set (open, "pixel-aspect-ratio", GST_TYPE_FRACTION_RANGE, 1, G_MAXINT,
        G_MAXINT, 1, nullptr);
  else if (!had_ratio)
    gst_structure_set (open, "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1, nullptr);

  Shape shape = choose_shape (open, shape_of (known));
  gst_structure_set (open, "width", G_TYPE_INT, shape.width, "height", G_TYPE_INT,
      shape.height, "pixel-aspect-ratio", GST_TYPE_FRACTION, shape.par_n, shape.par_d,
      nullptr);
  if (!had_ratio && shape.par_n == shape.par_d)
    gst_structure_remove_field (open, "pixel-aspect-ratio");
}

/* Fixates all other fields. Without an interlace-mode, caps are progressive. Takes
 * ownership of `caps`. (transfer full) */
GstCaps *
fixate_rest (GstCaps *caps)
{
  caps = gst_caps_make_writable (gst_caps_truncate (caps));
  GstStructure *structure = gst_caps_get_structure (caps, 0);
  if (gst_structure_has_field (structure, "interlace-mode"))
    gst_structure_fixate_field_string (structure, "interlace-mode", "progressive");
  return gst_caps_fixate (caps);
}
} // namespace

GstCaps *
convertible_caps (GstPadDirection direction, GstCaps *caps, bool coloring)
{
  GstCaps *result = gst_caps_new_empty ();

  /* Caps that pass through come first, for all structures. */
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);
    if (!has_separate_fields (structure) && (!coloring || !is_gray_only (structure)))
      append_if_new (result, gst_structure_copy (structure), has_overlays (caps, i));
  }
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);
    bool from_gray = direction == GST_PAD_SINK && is_gray_only (structure);
    bool to_gray = direction == GST_PAD_SRC && is_gray_only (structure);
    if (!has_separate_fields (structure))
      append_if_new (result,
          widened (structure, coloring && (from_gray || to_gray), has_overlays (caps, i)),
          has_overlays (caps, i));
  }
  return result;
}

GstCaps *
without_overlays (GstCaps *caps)
{
  caps = gst_caps_make_writable (caps);
  for (guint i = gst_caps_get_size (caps); i > 0; i--) {
    if (has_overlays (caps, i - 1))
      gst_caps_remove_structure (caps, i - 1);
  }
  return caps;
}

GstCaps *
fixate_converted_caps (GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  GstCaps *same = gst_caps_intersect (others, caps);
  if (!gst_caps_is_empty (same)) {
    gst_caps_unref (others);
    return fixate_rest (same);
  }
  gst_caps_unref (same);

  const GstStructure *known = gst_caps_get_structure (caps, 0);
  GstCaps *chosen = choose_format (others, known);
  fixate_shape (direction, gst_caps_get_structure (chosen, 0), known);
  chosen = fixate_rest (chosen);
  if (direction == GST_PAD_SINK)
    opencl::keep_colours (chosen, caps);
  return chosen;
}

gchar *
unsupported_reason (GstCaps *caps)
{
  if (gst_caps_is_empty (caps) || gst_caps_is_any (caps))
    return nullptr;
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const GstCapsFeatures *features = gst_caps_get_features (caps, 0);
  const gchar *format = gst_structure_get_string (structure, "format");
  Format info = format_named (format);
  GstCaps *supported = gst_caps_from_string (CONVERT_CAPS);
  bool fits =
      gst_caps_can_intersect (caps, supported) && !has_separate_fields (structure);
  gst_caps_unref (supported);
  if (fits)
    return nullptr;

  if (!gst_caps_features_contains (features, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY))
    return g_strdup ("memory is not on the device, expected "
                     "memory:" GST_OPENCL_MEMORY_NAME);
  if (has_separate_fields (structure))
    return g_strdup_printf (
        "interlace-mode %s, expected progressive, interleaved or mixed",
        gst_structure_get_string (structure, "interlace-mode"));
  Shape shape = {0, 0, 1, 1};
  gst_structure_get_int (structure, "width", &shape.width);
  gst_structure_get_int (structure, "height", &shape.height);
  std::string names = "{" CONVERT_FORMATS "}";
  if (info && names.find (format) == std::string::npos)
    return g_strdup_printf ("format %s, expected one of " CONVERT_FORMATS, format);
  return g_strdup_printf ("format %s, size %dx%d: expected one of " CONVERT_FORMATS
                          " from 1x1 to %dx%d",
      format ? format : "(none)", shape.width, shape.height, largest_side, largest_side);
}
} // namespace transfer
