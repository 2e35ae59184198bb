/* Frames of a stream of bytes, their timestamps, and seeks to them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "frameparser.hpp"

#include <algorithm>
#include <utility>

namespace opencl {
namespace {
using Guard = std::lock_guard<std::mutex>;
}

void
FrameTimeline::reset ()
{
  const Guard guard (lock);
  first.reset ();
  requested.reset ();
  upstream_format = GST_FORMAT_UNDEFINED;
  gst_segment_init (&segment, GST_FORMAT_TIME);
}

void
FrameTimeline::set_position (GstBuffer *buffer)
{
  const Guard guard (lock);
  GstClockTime end = GST_BUFFER_PTS (buffer);
  if (!GST_CLOCK_TIME_IS_VALID (end))
    return;
  if (segment.rate > 0 && GST_BUFFER_DURATION_IS_VALID (buffer))
    end += GST_BUFFER_DURATION (buffer);
  segment.position = std::max (std::min (end, segment.stop), segment.start);
}

gint64
FrameTimeline::end_segment ()
{
  const Guard guard (lock);
  if (segment.rate < 0)
    segment.position = segment.start;
  else if (GST_CLOCK_TIME_IS_VALID (segment.stop))
    segment.position = segment.stop;
  return gint64 (segment.position);
}

bool
FrameTimeline::is_pulling () const
{
  GST_OBJECT_LOCK (sinkpad);
  const bool pulling = GST_PAD_MODE (sinkpad) == GST_PAD_MODE_PULL;
  GST_OBJECT_UNLOCK (sinkpad);
  return pulling;
}

bool
FrameTimeline::is_upstream (GstFormat format) const
{
  const Guard guard (lock);
  return upstream_format == format;
}

bool
FrameTimeline::get_size (guint64 *size) const
{
  gint64 bytes = -1;
  if (!is_upstream (GST_FORMAT_BYTES)
      || !gst_pad_peer_query_duration (sinkpad, GST_FORMAT_BYTES, &bytes) || bytes < 0)
    return false;
  *size = guint64 (bytes);
  return true;
}

/* Only the end of a first run that is the whole stream is known. */
bool
FrameTimeline::count (guint64 *frames) const
{
  guint64 size = 0;
  const bool has_size = get_size (&size);
  const Guard guard (lock);
  if (!first || first->frames == FrameRun::endless
      || !(first->is_only || (has_size && first->end () == size)))
    return false;
  *frames = first->end_frame ();
  return true;
}

/* Queries */

gint64
FrameTimeline::duration (GstFormat format) const
{
  guint64 frames;
  const bool known = count (&frames);
  const Guard guard (lock);
  if (known && format == GST_FORMAT_DEFAULT)
    return gint64 (frames);
  return known && format == GST_FORMAT_TIME && framerate.is_fixed ()
             ? gint64 (framerate.time_of (frames))
             : -1;
}

bool
FrameTimeline::answer_duration (GstQuery *query) const
{
  GstFormat format;
  gst_query_parse_duration (query, &format, nullptr);
  const gint64 found = duration (format);
  gst_query_set_duration (query, format, found);
  return found >= 0;
}

bool
FrameTimeline::answer_position (GstQuery *query) const
{
  GstFormat format;
  gst_query_parse_position (query, &format, nullptr);
  const Guard guard (lock);
  guint64 position =
      gst_segment_to_stream_time (&segment, GST_FORMAT_TIME, segment.position);
  if (format == GST_FORMAT_DEFAULT && framerate.is_fixed ())
    position = framerate.frame_at (position);
  else if (format != GST_FORMAT_TIME)
    return false;
  gst_query_set_position (query, format, gint64 (position));
  return true;
}

bool
FrameTimeline::answer_seeking (GstQuery *query) const
{
  GstFormat format;
  gst_query_parse_seeking (query, &format, nullptr, nullptr, nullptr);
  const gint64 end = format == GST_FORMAT_TIME ? duration (format) : -1;
  GstQuery *bytes = gst_query_new_seeking (GST_FORMAT_BYTES);
  gboolean seekable = FALSE;
  if (end >= 0 && gst_pad_peer_query (sinkpad, bytes))
    gst_query_parse_seeking (bytes, nullptr, &seekable, nullptr, nullptr);
  gst_query_unref (bytes);
  gst_query_set_seeking (query, format, seekable, 0, end);
  return true;
}

/* If upstream works in time, its answer takes precedence. */
bool
FrameTimeline::answer (GstQuery *query) const
{
  const GstQueryType type = GST_QUERY_TYPE (query);
  const bool is_known = type == GST_QUERY_DURATION || type == GST_QUERY_POSITION
                        || type == GST_QUERY_SEEKING;
  if (is_known && is_upstream (GST_FORMAT_TIME) && gst_pad_peer_query (sinkpad, query))
    return true;
  return (type == GST_QUERY_DURATION && answer_duration (query))
         || (type == GST_QUERY_POSITION && answer_position (query))
         || (type == GST_QUERY_SEEKING && answer_seeking (query));
}

/* Seeks */

/* Only the first run is known. A seek into a later one goes on from the end of the first. */
void
FrameTimeline::find_frames (PlannedSeek &seek, guint64 total) const
{
  const GstSegment &wanted = seek.segment;
  const bool backward = wanted.rate < 0;
  guint64 end = total;
  seek.begin =
      std::min (total, framerate.frame_at (backward ? wanted.start : wanted.position));
  if (GST_CLOCK_TIME_IS_VALID (wanted.stop))
    end = std::min (total, framerate.frame_from (wanted.stop));
  seek.frame = backward ? end : std::min (seek.begin, first->end_frame ());
  seek.offset = first->offset_of (seek.frame);
}

std::optional<PlannedSeek>
FrameTimeline::plan (GstEvent *event) const
{
  const bool pulling = is_pulling ();
  guint64 total = G_MAXUINT64;
  const bool counted = count (&total);
  PlannedSeek seek = {};
  GstSegment &wanted = seek.segment;
  gdouble rate;
  GstFormat format;
  GstSeekType start_type, stop_type;
  gint64 start, stop;

  gst_event_parse_seek (
      event, &rate, &format, &seek.flags, &start_type, &start, &stop_type, &stop);
  seek.seqnum = gst_event_get_seqnum (event);
  const Guard guard (lock);
  if (format != GST_FORMAT_TIME || (seek.flags & GST_SEEK_FLAG_INSTANT_RATE_CHANGE)
      || (rate < 0 && !(pulling && counted))
      || (!pulling && (seek.flags & GST_SEEK_FLAG_SEGMENT))
      || upstream_format != GST_FORMAT_BYTES || !first || !framerate.is_fixed ())
    return std::nullopt;
  wanted = segment;
  if (counted)
    wanted.duration = framerate.time_of (total);
  if (!gst_segment_do_seek (&wanted, rate, format, seek.flags, start_type,
          guint64 (start), stop_type, guint64 (stop), nullptr))
    return std::nullopt;
  if (rate < 0 && !GST_CLOCK_TIME_IS_VALID (wanted.stop))
    wanted.stop = wanted.position = wanted.duration;
  find_frames (seek, total);
  return seek;
}

std::optional<PlannedSeek>
FrameTimeline::take_requested (guint32 seqnum)
{
  const Guard guard (lock);
  if (!requested || requested->seqnum != seqnum)
    return std::nullopt;
  return std::exchange (requested, std::nullopt);
}
} // namespace opencl
