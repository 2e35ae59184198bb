/* Metas that mark a region of a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "regionmetas.hpp"

#include <algorithm>

namespace transfer {
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
} // namespace transfer
