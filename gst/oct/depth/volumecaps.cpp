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

void
set_rate (GstStructure *structure, opencl::Fraction rate)
{
  gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, rate.numerator,
      rate.denominator, nullptr);
}

/* Copies the frame rate, or sets that of whole volumes. Omits the latter if the frame
 * rate is not fixed. */
void
set_image_rate (GstStructure *image, const GstStructure *input,
    const VolumeExtent &extent, bool whole_images)
{
  opencl::Fraction rate = {0, 1};
  const GValue *value = gst_structure_get_value (input, "framerate");
  if (value && !whole_images)
    gst_structure_set_value (image, "framerate", value);
  else if (gst_structure_get_fraction (
               input, "framerate", &rate.numerator, &rate.denominator))
    set_rate (image, extent.rate_of (rate));
}

/* (transfer full) */
GstStructure *
image_of (
    const GstStructure *input, const VolumeExtent &extent, const VolumeOutput &output)
{
  const bool video = gst_structure_has_name (input, "video/x-raw");
  double line_step = 0, b_scan_step = 0;
  GstStructure *image = gst_structure_from_string (
      "video/x-raw, format=(string){GRAY8, GRAY16_LE}", nullptr);

  if (const GValue *lines = gst_structure_get_value (input, video ? "width" : "lines"))
    gst_structure_set_value (image, "width", lines);
  gst_structure_set (image, "height", G_TYPE_INT, gint (extent.b_scans), nullptr);
  set_image_rate (image, input, extent, output.whole_images);
  gst_structure_get_double (input, "line-step", &line_step);
  gst_structure_get_double (input, "b-scan-step", &b_scan_step);
  if (output.true_scale)
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
    set_rate (volume, live ? layout.rate : extent.rate_of (layout.rate));
    copy_steps (volume, structure);
  }
  gst_caps_unref (one);
  return volume;
}
} // namespace

opencl::Fraction
VolumeExtent::rate_of (opencl::Fraction frames) const
{
  opencl::Fraction rate = {0, 1};
  if (!gst_util_fraction_multiply (frames.numerator, frames.denominator, 1,
          gint (b_scans * repeats), &rate.numerator, &rate.denominator))
    return {0, 1};
  return rate;
}

GstCaps *
volume_outputs_of (
    GstCaps *inputs, const VolumeExtent &extent, const VolumeOutput &output)
{
  GstCaps *outputs = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    GstCapsFeatures *features = gst_caps_get_features (inputs, n);
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    for (GstStructure *structure :
        {image_of (input, extent, output), volume_of (inputs, n, extent, output.live)})
      gst_caps_append_structure_full (
          outputs, structure, gst_caps_features_copy (features));
  }
  return outputs;
}
} // namespace oct
