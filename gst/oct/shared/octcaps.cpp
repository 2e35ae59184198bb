/* Caps of spectra, depths and B-scan images: pad templates and fields
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "octcaps.hpp"

#include <algorithm>
#include <cmath>
#include <gst/opencl/gstopenclmemory.h>

namespace oct {
bool
is_video (const GstStructure *structure)
{
  return gst_structure_has_name (structure, "video/x-raw");
}

const char *
lines_field (const GstStructure *structure, bool rows)
{
  if (!is_video (structure))
    return "lines";
  return rows ? "height" : "width";
}

const char *
samples_field (const GstStructure *structure)
{
  return is_video (structure) ? "width" : "samples";
}

const char *
depths_field (const GstStructure *structure)
{
  return is_video (structure) ? "height" : "samples";
}

void
copy_field (
    GstStructure *to, const char *to_field, const GstStructure *from, const char *field)
{
  const GValue *value = gst_structure_get_value (from, field);
  if (value)
    gst_structure_set_value (to, to_field, value);
}

double
double_field (const GstStructure *structure, const char *field)
{
  double value = 0;
  gst_structure_get_double (structure, field, &value);
  return value;
}

bool
has_string (const GstStructure *structure, const char *field, const char *text)
{
  return g_strcmp0 (gst_structure_get_string (structure, field), text) == 0;
}

void
set_known (GstStructure *structure,
    std::initializer_list<std::pair<const char *, double>> fields)
{
  for (const auto &[field, value] : fields) {
    if (value > 0)
      gst_structure_set (structure, field, G_TYPE_DOUBLE, value, nullptr);
  }
}

Limits
limits_of (const GValue *value, Limits limits)
{
  if (value && G_VALUE_HOLDS_INT (value))
    return {g_value_get_int (value), g_value_get_int (value)};
  if (value && GST_VALUE_HOLDS_INT_RANGE (value))
    return {gst_value_get_int_range_min (value), gst_value_get_int_range_max (value)};
  if (!value || !GST_VALUE_HOLDS_LIST (value))
    return limits;

  Limits found = {limits.most, limits.least};
  for (guint n = 0; n < gst_value_list_get_size (value); n++) {
    Limits entry = limits_of (gst_value_list_get_value (value, n), limits);
    found = {std::min (found.least, entry.least), std::max (found.most, entry.most)};
  }
  return found;
}

void
set_limits (GstStructure *structure, const char *field, Limits limits, Limits allowed)
{
  gint least = gint (std::clamp (limits.least, allowed.least, allowed.most));
  gint most = gint (std::clamp (limits.most, allowed.least, allowed.most));
  if (least == most)
    gst_structure_set (structure, field, G_TYPE_INT, least, nullptr);
  else
    gst_structure_set (structure, field, GST_TYPE_INT_RANGE, least, most, nullptr);
}

bool
set_scaled_rate (GstStructure *to, const GstStructure *from, guint more, guint fewer)
{
  gint numerator, denominator;
  if (!gst_structure_get_fraction (from, "framerate", &numerator, &denominator)
      || !gst_util_fraction_multiply (
          numerator, denominator, gint (more), gint (fewer), &numerator, &denominator))
    return false;
  gst_structure_set (to, "framerate", GST_TYPE_FRACTION, numerator, denominator, nullptr);
  return true;
}

/* Limits both terms of the ratio. Sinks multiply them with frame sizes in 32 bits and
 * refuse caps with larger terms. */
void
set_true_scale (GstStructure *image, double line_step, double depth_step)
{
  const double most = 10000;
  if (!(line_step > 0) || !(depth_step > 0))
    return;
  const double ratio = std::clamp (line_step / depth_step, 1 / most, most);
  const double lesser = std::floor (most * std::min (ratio, 1 / ratio));
  const gint numerator = gint (ratio < 1 ? lesser : std::lround (lesser * ratio));
  const gint denominator = gint (ratio < 1 ? std::lround (lesser / ratio) : lesser);
  gst_structure_set (
      image, "pixel-aspect-ratio", GST_TYPE_FRACTION, numerator, denominator, nullptr);
}

void
append_on_device (GstCaps *caps, GstStructure *structure)
{
  gst_caps_append_structure_full (caps, structure,
      gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, nullptr));
}
} // namespace oct
