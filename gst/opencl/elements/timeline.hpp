/* Timestamps of a source's frames, forwards or backwards
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* Times come from the count of frames, so that no rounding adds up. */
class Timeline {
public:
  /* From the next frame on; those before were counted at another rate. 0/1 is a still. */
  void set_rate (gint numerator, gint denominator);
  /* To the frame that is shown at `position`, or backwards the last that begins before.
   */
  void seek (GstClockTime position, bool backwards);

  bool is_over () const { return over || (numerator == 0 && frame > 0); }
  /* Number and timestamp of the next frame */
  guint64 number () const { return frames_before + frame; }
  GstClockTime time () const { return time_before + time_of (frame); }
  /* Duration of a frame, or GST_CLOCK_TIME_NONE without a frame rate */
  GstClockTime duration_of_a_frame () const;
  /* How long `frames` are, or GST_CLOCK_TIME_NONE */
  GstClockTime duration_of (guint64 frames) const;
  /* Puts the next frame's on `buffer`, and goes on to the one after. */
  void stamp (GstBuffer *buffer);

private:
  GstClockTime time_of (guint64 frame) const;

  gint numerator = 0;
  gint denominator = 1;
  guint64 frame = 0; /* since the rate changed */
  guint64 frames_before = 0;
  GstClockTime time_before = 0;
  bool backwards = false;
  bool over = false; /* the first frame has been given, backwards */
};
} // namespace opencl
