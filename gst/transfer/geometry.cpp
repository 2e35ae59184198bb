/* Geometry of a conversion: rotation, mirroring, scaling and borders, tags and metas
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

/* As in `videoscale`, sides are rounded down. The top and left borders are whole chroma blocks,
 * in both fields. */
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
  const GstVideoFormatInfo *format = output.finfo;
  const gint fields = GST_VIDEO_INFO_IS_INTERLACED (&output) ? 2 : 1;
  TargetRectangle target = {0, 0, output.width, output.height};
  target.height = gint (gst_util_uint64_scale_int (output.width, gint (d), gint (n)));
  if (target.height > output.height) {
    target.height = output.height;
    target.width = gint (gst_util_uint64_scale_int (output.height, gint (n), gint (d)));
  }
  target.width = MAX (target.width, 1);
  target.height = MAX (target.height, 1);
  target.left = (output.width - target.width) / 2 & ~((1 << format->w_sub[1]) - 1);
  target.top = (output.height - target.height) / 2 & ~((fields << format->h_sub[1]) - 1);
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

/* --- the image-orientation tags of a stream --- */

namespace {
GstTagList *
tags_of (GstEvent *event)
{
  GstTagList *tags;
  gst_event_parse_tag (event, &tags);
  return tags;
}

bool
has_orientation (GstEvent *event, GstVideoOrientationMethod &method)
{
  return event && GST_EVENT_TYPE (event) == GST_EVENT_TAG
         && gst_video_orientation_from_tag (tags_of (event), &method);
}
} // namespace

OwnedEvent
with_upright_orientation (OwnedEvent event)
{
  GstVideoOrientationMethod method;
  if (!has_orientation (event.get (), method))
    return event;
  GstTagList *tags = gst_tag_list_copy (tags_of (event.get ()));
  gst_tag_list_add (
      tags, GST_TAG_MERGE_REPLACE, GST_TAG_IMAGE_ORIENTATION, "rotate-0", nullptr);
  OwnedEvent upright (gst_event_new_tag (tags));
  gst_event_set_seqnum (upright.get (), gst_event_get_seqnum (event.get ()));
  return upright;
}

bool
OrientationTags::take (GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_TAG) {
    by_scope[gst_tag_list_get_scope (tags_of (event))].reset (gst_event_ref (event));
  } else {
    const gchar *id;
    gst_event_parse_stream_start (event, &id);
    if (stream_id != id)
      by_scope = {};
    stream_id = id;
  }
  GstVideoOrientationMethod method = GST_VIDEO_ORIENTATION_IDENTITY;
  if (!has_orientation (by_scope[GST_TAG_SCOPE_STREAM].get (), method))
    has_orientation (by_scope[GST_TAG_SCOPE_GLOBAL].get (), method);
  return method_.exchange (method) != method;
}

void
OrientationTags::clear ()
{
  by_scope = {};
  stream_id.clear ();
  method_ = GST_VIDEO_ORIENTATION_IDENTITY;
}

std::vector<OwnedEvent>
OrientationTags::events () const
{
  std::vector<OwnedEvent> result;
  GstVideoOrientationMethod method;
  for (GstTagScope scope : {GST_TAG_SCOPE_GLOBAL, GST_TAG_SCOPE_STREAM}) {
    if (has_orientation (by_scope[scope].get (), method))
      result.emplace_back (gst_event_ref (by_scope[scope].get ()));
  }
  return result;
}

/* --- metas with positions in a frame --- */

namespace {
/* Region of a meta. Its values are unsigned and may exceed the range of gint. */
struct Rectangle {
  guint x, y, w, h;
};

/* Returns false if @rectangle lies outside the frame. */
bool
clip (const Rectangle &rectangle, const GstVideoInfo &frame, GstVideoRectangle &clipped)
{
  const guint width = guint (frame.width), height = guint (frame.height);
  if (rectangle.x >= width || rectangle.y >= height)
    return false;
  clipped = {gint (rectangle.x), gint (rectangle.y),
      gint (std::min (rectangle.w, width - rectangle.x)),
      gint (std::min (rectangle.h, height - rectangle.y))};
  return true;
}

void
add_region (GstBuffer *buffer, const GstVideoRegionOfInterestMeta &from,
    const GstVideoRectangle &at)
{
  GstVideoRegionOfInterestMeta *to = gst_buffer_add_video_region_of_interest_meta_id (
      buffer, from.roi_type, guint (at.x), guint (at.y), guint (at.w), guint (at.h));
  to->id = from.id;
  to->parent_id = from.parent_id;
  for (GList *item = from.params; item; item = item->next)
    gst_video_region_of_interest_meta_add_param (
        to, gst_structure_copy (static_cast<GstStructure *> (item->data)));
}

void
add_crop (GstBuffer *buffer, const GstVideoRectangle &at)
{
  GstVideoCropMeta *to = gst_buffer_add_video_crop_meta (buffer);
  to->x = guint (at.x), to->y = guint (at.y);
  to->width = guint (at.w), to->height = guint (at.h);
}
} // namespace

bool
marks_region (const GstMeta *meta)
{
  return meta->info->api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE
         || meta->info->api == GST_VIDEO_CROP_META_API_TYPE;
}

void
add_region_meta (GstBuffer *buffer, const GstMeta *meta, const Placement &placement)
{
  const bool is_crop = meta->info->api == GST_VIDEO_CROP_META_API_TYPE;
  auto *crop = reinterpret_cast<const GstVideoCropMeta *> (meta);
  auto *region = reinterpret_cast<const GstVideoRegionOfInterestMeta *> (meta);
  const Rectangle from = is_crop ? Rectangle{crop->x, crop->y, crop->width, crop->height}
                                 : Rectangle{region->x, region->y, region->w, region->h};
  GstVideoRectangle at;

  if (!clip (from, placement.input, at))
    return;
  at = to_output (placement.input, placement.target, placement.orientation, at);
  if (is_crop)
    add_crop (buffer, at);
  else
    add_region (buffer, *region, at);
}

void
place_meta (GstBuffer *to, GstMeta *meta, GstBuffer *from, const GstVideoInfo &output,
    const Placement &placement)
{
#if GST_CHECK_VERSION(1, 28, 0)
  const auto &[input, orientation, target] = placement;
  const GstVideoRectangle all = {0, 0, input.width, input.height};
  const GstVideoRectangle at = {target.left, target.top, target.width, target.height};
  const bool mirrored[] = {orientation.mirrored_x, orientation.mirrored_y};
  const float lengths[] = {float (all.w), float (all.h)},
              sides[] = {float (at.w), float (at.h)};
  GstVideoMetaTransformMatrix data;
  gst_video_meta_transform_matrix_init (&data, &input, &all, &output, &at);
  for (int row = 0; row < 2; row++) {
    const int column = orientation.transposed ? 1 - row : row;
    const float scale = sides[row] / lengths[column];
    data.matrix[row][row] = 0;
    data.matrix[row][column] = mirrored[column] ? -scale : scale;
    /* Positions are edges of pixels. */
    data.matrix[row][2] = mirrored[column] ? sides[row] : 0;
  }
  if (meta->info->transform_func)
    meta->info->transform_func (
        to, meta, from, gst_video_meta_transform_matrix_get_quark (), &data);
#endif
}
} // namespace transfer
