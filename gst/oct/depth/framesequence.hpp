/* Which frames belong together, also where some were lost
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <optional>

namespace oct {
/* Counts frames in groups of so many, the repeats of a B-scan. Where frames were lost,
 * their numbers say how many, or where they have none the time, so that a group begins
 * where it would have begun; without either it begins with the next frame. */
class FrameSequence {
public:
  /* What is known of a frame when it comes. */
  struct Arrival {
    GstClockTime time = GST_CLOCK_TIME_NONE;
    GstClockTime duration = GST_CLOCK_TIME_NONE;
    std::optional<guint64> number; /* among all, lost ones counted */
    bool lost = false;             /* others before it were */
    bool empty = false;            /* there is nothing in it */
  };

  enum class Part {
    none, /* of a group of which frames are missing */
    some,
    last,
  };

  /* The next frame is the first of a group, unless its number says otherwise. One of
   * `period` is where what nobody could count begins anew, a multiple of `group`.
   * `frame_duration` may be unknown. */
  void restart (guint group, guint period, GstClockTime frame_duration);

  Part next (const Arrival &arrival);

  /* Of the frame that came last, from 0; lost ones count. */
  guint64 number () const { return number_; }
  guint position () const { return guint (number_ % group); }
  /* Whether others were lost before it. */
  bool lost () const { return last.lost; }
  /* Of its group until then */
  GstClockTime start () const { return start_; }
  GstClockTime duration () const;

private:
  guint64 number_of (const Arrival &arrival) const;

  guint group = 1, period = 1;
  GstClockTime frame_duration = GST_CLOCK_TIME_NONE;
  Arrival last;
  bool began = false;
  guint64 number_ = 0;
  guint collected = 0;
  GstClockTime start_ = GST_CLOCK_TIME_NONE;
};
} // namespace oct
