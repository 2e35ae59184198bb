/* Timestamps of a source's frames, forwards or backwards
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* Timestamps are computed from frame numbers, so that rounding errors do not add up. */
class Timeline {
public:
  /* Sets the frame rate from the next frame on. 0/1 means a still image. */
  void set_rate (gint numerator, gint denominator);
  /* Seeks to the frame at `position`, or, backwards, to the last one that starts before
   * it. */
  void seek (GstClockTime position, bool backwards);

  bool is_over () const { return over || (numerator == 0 && frame > 0); }
  /* Number and timestamp of the next frame */
  guint64 number () const { return frames_before + frame; }
  GstClockTime time () const { return time_before + time_of (frame); }
  /* Duration of a frame, or GST_CLOCK_TIME_NONE without a frame rate */
  GstClockTime duration_of_a_frame () const;
  /* Duration of `frames` frames, or GST_CLOCK_TIME_NONE without a frame rate */
  GstClockTime duration_of (guint64 frames) const;
  /* Sets timestamp and offsets of the next frame on `buffer`, and advances by one
   * frame. */
  void stamp (GstBuffer *buffer);

private:
  GstClockTime time_of (guint64 frame) const;

  gint numerator = 0;
  gint denominator = 1;
  guint64 frame = 0; /* since the rate changed */
  guint64 frames_before = 0;
  GstClockTime time_before = 0;
  bool backwards = false;
  bool over = false; /* backwards: the first frame was output */
};
} // namespace opencl
