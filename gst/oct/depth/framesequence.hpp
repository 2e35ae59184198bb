/* Which frames belong together, also where some were lost
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace oct {
/* Counts frames in groups of so many, the repeats of a B-scan. Where frames were lost, the
 * time says how many, so that a group begins where it would have begun; without a time it
 * begins with the next frame. */
class FrameSequence {
public:
  /* What is known of a frame when it comes. */
  struct Arrival {
    GstClockTime time = GST_CLOCK_TIME_NONE;
    GstClockTime duration = GST_CLOCK_TIME_NONE;
    bool lost = false;  /* others before it were */
    bool empty = false; /* there is nothing in it */
  };

  enum class Part {
    none, /* of a group of which frames are missing */
    some,
    last,
  };

  /* The next frame is the first of a group. `frame_duration` may be unknown. */
  void restart (guint group, GstClockTime frame_duration);

  Part next (const Arrival &arrival);

  /* Of the frame that came last, from 0. */
  guint position () const { return position_; }
  /* Of its group until then */
  GstClockTime start () const { return start_; }
  GstClockTime duration () const;

private:
  void step (const Arrival &arrival);

  guint group = 1;
  GstClockTime frame_duration = GST_CLOCK_TIME_NONE;
  Arrival last;
  bool began = false;
  guint position_ = 0;
  guint collected = 0;
  GstClockTime start_ = GST_CLOCK_TIME_NONE;
};
} // namespace oct
