/* Output caps of octvolume: en face projection or volume
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "volumecaps.hpp"

#include "volumestore.hpp"

#include <gst/common/arrayformat.hpp>

namespace oct {
namespace {
void
copy_steps (GstStructure *to, const GstStructure *from)
{
  for (const char *field :
      {"depth-start", "depth-step", "line-step", "b-scan-step", "quantity"}) {
    if (const GValue *value = gst_structure_get_value (from, field))
      gst_structure_set_value (to, field, value);
  }
}

/* (transfer full) */
GstStructure *
image_of (const GstStructure *input, const VolumeExtent &extent, bool true_scale)
{
  const bool video = gst_structure_has_name (input, "video/x-raw");
  double line_step = 0, b_scan_step = 0;
  GstStructure *image = gst_structure_from_string (
      "video/x-raw, format=(string){GRAY8, GRAY16_LE}", nullptr);

  if (const GValue *lines = gst_structure_get_value (input, video ? "width" : "lines"))
    gst_structure_set_value (image, "width", lines);
  gst_structure_set (image, "height", G_TYPE_INT, gint (extent.b_scans), nullptr);
  if (const GValue *rate = gst_structure_get_value (input, "framerate"))
    gst_structure_set_value (image, "framerate", rate);
  gst_structure_get_double (input, "line-step", &line_step);
  gst_structure_get_double (input, "b-scan-step", &b_scan_step);
  if (true_scale)
    set_true_scale (image, line_step, b_scan_step);
  return image;
}

/* (transfer full): caps of any volume if the input caps are not fixed */
GstStructure *
volume_of (GstCaps *input, guint n, const VolumeExtent &extent, bool live)
{
  GstStructure *volume = gst_structure_new (TENSORS_NAME, "format", G_TYPE_STRING,
      "static", "num_tensors", G_TYPE_INT, 1, nullptr);
  GstCaps *one = gst_caps_copy_nth (input, n);
  const GstStructure *structure = gst_caps_get_structure (one, 0);
  DepthLayout layout;

  if (gst_caps_is_fixed (one) && parse_depth_layout (one, false, layout)) {
    opencl::set_array_fields (
        volume, {volume_type_of (layout), {extent.b_scans, layout.lines, layout.depths}});
    gint numerator = layout.rate.numerator, denominator = layout.rate.denominator;
    if (!live
        && !gst_util_fraction_multiply (numerator, denominator, 1,
            gint (extent.b_scans * extent.repeats), &numerator, &denominator))
      numerator = 0, denominator = 1;
    gst_structure_set (
        volume, "framerate", GST_TYPE_FRACTION, numerator, denominator, nullptr);
    copy_steps (volume, structure);
  }
  gst_caps_unref (one);
  return volume;
}

} // namespace

GstCaps *
volume_outputs_of (
    GstCaps *inputs, const VolumeExtent &extent, bool live, bool true_scale)
{
  GstCaps *outputs = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    GstCapsFeatures *features = gst_caps_get_features (inputs, n);
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    for (GstStructure *output :
        {image_of (input, extent, true_scale), volume_of (inputs, n, extent, live)})
      gst_caps_append_structure_full (outputs, output, gst_caps_features_copy (features));
  }
  return outputs;
}
} // namespace oct
