/* The image-orientation tags of a stream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "orientationtags.hpp"

namespace transfer {
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
} // namespace transfer
