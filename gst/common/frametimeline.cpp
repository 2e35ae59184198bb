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

GstEvent *
PlannedSeek::in_bytes () const
{
  const bool ends = (frames.backward || (flags & GST_SEEK_FLAG_SEGMENT))
                    && GST_CLOCK_TIME_IS_VALID (end_offset);
  GstEvent *seek = gst_event_new_seek (frames.backward ? -1 : 1, GST_FORMAT_BYTES,
      GstSeekFlags (flags & (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT)),
      GST_SEEK_TYPE_SET, gint64 (offset), GST_SEEK_TYPE_SET,
      ends ? gint64 (end_offset) : -1);
  gst_event_set_seqnum (seek, seqnum);
  return seek;
}

void
FrameTimeline::reset ()
{
  const Guard guard (lock);
  runs.clear ();
  requested.reset ();
  upstream_format = GST_FORMAT_UNDEFINED;
  gst_segment_init (&segment, GST_FORMAT_TIME);
}

void
FrameTimeline::set_framerate (const Framerate &wanted)
{
  const Guard guard (lock);
  framerate = wanted;
}

void
FrameTimeline::set_runs (std::vector<SharedRun> found)
{
  const Guard guard (lock);
  runs = std::move (found);
}

void
FrameTimeline::set_upstream_format (GstFormat wanted)
{
  const Guard guard (lock);
  upstream_format = wanted;
}

void
FrameTimeline::set_segment (const GstSegment &wanted)
{
  const Guard guard (lock);
  segment = wanted;
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
FrameTimeline::is_before_segment (GstBuffer *buffer) const
{
  return GST_BUFFER_PTS_IS_VALID (buffer) && GST_BUFFER_DURATION_IS_VALID (buffer)
         && GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer) <= segment.start;
}

bool
FrameTimeline::is_after_segment (GstBuffer *buffer) const
{
  return segment.rate > 0 && GST_BUFFER_PTS_IS_VALID (buffer)
         && GST_CLOCK_TIME_IS_VALID (segment.stop)
         && GST_BUFFER_PTS (buffer) >= segment.stop;
}

bool
FrameTimeline::is_pulling () const
{
  GST_OBJECT_LOCK (sinkpad);
  const bool pulling = GST_PAD_MODE (sinkpad) == GST_PAD_MODE_PULL;
  GST_OBJECT_UNLOCK (sinkpad);
  return pulling;
}

GstFormat
FrameTimeline::get_upstream_format () const
{
  const Guard guard (lock);
  return upstream_format;
}

bool
FrameTimeline::get_size (guint64 *size) const
{
  gint64 bytes = -1;
  if (get_upstream_format () != GST_FORMAT_BYTES
      || !gst_pad_peer_query_duration (sinkpad, GST_FORMAT_BYTES, &bytes) || bytes < 0)
    return false;
  *size = guint64 (bytes);
  return true;
}

FrameTimeline::Count
FrameTimeline::count (bool pulling) const
{
  Count count;
  guint64 size;
  if (!get_size (&size))
    return count;
  const Guard guard (lock);
  if (runs.empty ())
    return count;
  const FrameRun &last = *runs.back ();
  count.exact = last.end () == size || (pulling && !has_headers);
  count.known = count.exact || (!pulling && size % last.bytes == 0);
  count.frames = count.exact ? last.end_frame () : size / last.bytes * last.frames;
  return count;
}

/* Queries */

gint64
FrameTimeline::duration (GstFormat format) const
{
  const Count counted = count (is_pulling ());
  const Guard guard (lock);
  if (counted.known && format == GST_FORMAT_DEFAULT)
    return gint64 (counted.frames);
  return counted.known && format == GST_FORMAT_TIME && framerate.is_fixed ()
             ? gint64 (framerate.time_of (counted.frames))
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

bool
FrameTimeline::answers (GstQuery *query)
{
  const GstQueryType type = GST_QUERY_TYPE (query);
  return type == GST_QUERY_DURATION || type == GST_QUERY_POSITION
         || type == GST_QUERY_SEEKING;
}

gboolean
FrameTimeline::answer (GstQuery *query) const
{
  switch (GST_QUERY_TYPE (query)) {
  case GST_QUERY_DURATION:
    return answer_duration (query);
  case GST_QUERY_POSITION:
    return answer_position (query);
  case GST_QUERY_SEEKING:
    return answer_seeking (query);
  default:
    return FALSE;
  }
}

/* Seeks */

/* If the source pushes, only the first run is known. A seek into a later one reads on from
 * the end of the first, and drops frames before the segment. */
void
FrameTimeline::find_frames (PlannedSeek &seek, guint64 total) const
{
  const GstSegment &wanted = seek.segment;
  const FrameRun &first = *runs.front ();
  RemainingFrames &frames = seek.frames;
  frames.backward = wanted.rate < 0;
  frames.begin = std::min (
      total, framerate.frame_at (frames.backward ? wanted.start : wanted.position));
  frames.end = total;
  if (GST_CLOCK_TIME_IS_VALID (wanted.stop))
    frames.end = std::min (total, framerate.frame_from (wanted.stop));
  frames.end = std::max (frames.begin, frames.end);

  const guint64 begin = std::min (frames.begin, first.end_frame ());
  seek.offset = begin == 0 && !frames.backward ? 0 : first.offset_of (begin);
  seek.end_offset = frames.end > first.end_frame () ? GST_CLOCK_TIME_NONE
                                                    : first.offset_of (frames.end);
}

std::optional<PlannedSeek>
FrameTimeline::plan (GstEvent *event) const
{
  const bool pulling = is_pulling ();
  const Count counted = count (pulling);
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
      || upstream_format != GST_FORMAT_BYTES || (rate < 0 && !counted.exact)
      || runs.empty () || !framerate.is_fixed ())
    return std::nullopt;
  wanted = segment;
  if (counted.known)
    wanted.duration = framerate.time_of (counted.frames);
  if (!gst_segment_do_seek (&wanted, rate, format, seek.flags, start_type,
          guint64 (start), stop_type, guint64 (stop), nullptr))
    return std::nullopt;
  if (rate < 0 && !GST_CLOCK_TIME_IS_VALID (wanted.stop))
    wanted.stop = wanted.position = wanted.duration;
  find_frames (seek, pulling         ? runs.back ()->end_frame ()
                     : counted.known ? counted.frames
                                     : G_MAXUINT64);
  return seek;
}

void
FrameTimeline::request (std::optional<PlannedSeek> seek)
{
  const Guard guard (lock);
  requested = seek;
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
