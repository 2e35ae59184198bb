/* Timestamps of a source's frames, forwards or backwards
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "timeline.hpp"

namespace opencl {
GstClockTime
Timeline::time_of (guint64 frame) const
{
  return numerator > 0
             ? gst_util_uint64_scale (frame, denominator * GST_SECOND, numerator)
             : 0;
}

GstClockTime
Timeline::duration_of_a_frame () const
{
  return numerator > 0 ? time_of (1) : GST_CLOCK_TIME_NONE;
}

GstClockTime
Timeline::duration_of (guint64 frames) const
{
  if (numerator == 0)
    return GST_CLOCK_TIME_NONE;
  return time_before + time_of (frames > frames_before ? frames - frames_before : 0);
}

void
Timeline::set_rate (gint new_numerator, gint new_denominator)
{
  const GstClockTime end = time_before + time_of (frame + (backwards ? 1 : 0));

  if (!backwards) {
    frames_before += frame;
    time_before = end;
    frame = 0;
  }
  numerator = new_numerator;
  denominator = new_denominator;
  if (backwards)
    seek (end, true);
}

void
Timeline::seek (GstClockTime position, bool to_go_backwards)
{
  backwards = to_go_backwards;
  over = false;
  frames_before = frame = 0;
  time_before = 0;
  if (numerator == 0)
    return;
  frame = gst_util_uint64_scale (position, numerator, denominator * GST_SECOND);
  /* time_of() rounds down. */
  if (time_of (frame + 1) <= position)
    frame++;
  if (!backwards || time_of (frame) < position)
    return;
  over = frame == 0;
  frame -= over ? 0 : 1;
}

void
Timeline::stamp (GstBuffer *buffer)
{
  GST_BUFFER_PTS (buffer) = time ();
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) =
      numerator > 0 ? time_of (frame + 1) - time_of (frame) : GST_CLOCK_TIME_NONE;
  GST_BUFFER_OFFSET (buffer) = number ();
  GST_BUFFER_OFFSET_END (buffer) = number () + 1;
  if (!backwards)
    frame++;
  else if (frame > 0)
    frame--;
  else
    over = true;
}
} // namespace opencl
