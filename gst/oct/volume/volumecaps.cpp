/* Caps of volumes, and of en face projections
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "volumecaps.hpp"

#include "volumestore.hpp"
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
namespace {
/* Sets the frame rate of whole volumes, or 0 if that is unknown. */
void
set_volume_rate (
    GstStructure *structure, const GstStructure *input, const VolumeExtent &extent)
{
  if (!set_scaled_rate (structure, input, 1, extent.b_scans * extent.repeats))
    gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, 0, 1, nullptr);
}

/* (transfer full) */
GstStructure *
image_of (
    const GstStructure *input, const VolumeExtent &extent, const VolumeOutput &output)
{
  const GValue *rate = gst_structure_get_value (input, "framerate");
  GstStructure *image = gst_structure_from_string (
      "video/x-raw, format=(string){GRAY8, GRAY16_LE}", nullptr);

  copy_field (image, "width", input, lines_field (input));
  gst_structure_set (image, "height", G_TYPE_INT, gint (extent.b_scans), nullptr);
  if (!output.whole_images)
    copy_field (image, "framerate", input, "framerate");
  else if (rate && GST_VALUE_HOLDS_FRACTION (rate))
    set_volume_rate (image, input, extent);
  if (output.true_scale)
    set_true_scale (
        image, double_field (input, "line-step"), double_field (input, "b-scan-step"));
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
    if (live)
      copy_field (volume, "framerate", structure, "framerate");
    else
      set_volume_rate (volume, structure, extent);
    for (const char *field :
        {"depth-start", "depth-step", "line-step", "b-scan-step", "quantity"})
      copy_field (volume, field, structure, field);
  }
  gst_caps_unref (one);
  return volume;
}
} // namespace

GstCaps *
volume_outputs_of (
    GstCaps *inputs, const VolumeExtent &extent, const VolumeOutput &output)
{
  GstCaps *outputs = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    for (GstStructure *structure :
        {image_of (input, extent, output), volume_of (inputs, n, extent, output.live)})
      append_on_device (outputs, structure);
  }
  return outputs;
}

bool
parse_volume (
    GstCaps *caps, gsize most_voxels, opencl::ArrayFormat &array, GError **error)
{
  if (!opencl::array_of_caps (caps, array, error))
    return false;
  while (array.shape.size () > 3 && array.shape[0] == 1)
    array.shape.erase (array.shape.begin ());
  if (array.shape.size () <= 3 && array.count () <= most_voxels
      && array.length (0) <= G_MAXINT && array.length (1) <= G_MAXINT
      && array.length (2) <= G_MAXINT)
    return true;
  return REFUSE_FORMAT (error,
      "an array of dimensions %s is not a volume%s, expected depth:lines:b-scans",
      opencl::dimensions_text (array.shape).c_str (),
      most_voxels == G_MAXINT ? " of at most 2^31 voxels" : "");
}

bool
check_volume_alignment (
    const GstOpenCLFrame *frame, opencl::NumberType type, GError **error)
{
  const gsize bytes = opencl::info_of (type).size;
  if (frame->offset[0] % bytes == 0)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "a buffer begins at byte %" G_GSIZE_FORMAT ", expected a multiple of "
      "%" G_GSIZE_FORMAT,
      frame->offset[0], bytes);
  return false;
}
} // namespace oct
