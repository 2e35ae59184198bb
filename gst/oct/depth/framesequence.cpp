/* Which frames belong together, also where some were lost
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "framesequence.hpp"

#include <cmath>

namespace oct {
void
FrameSequence::restart (guint frames, GstClockTime of_a_frame)
{
  *this = FrameSequence ();
  group = frames;
  frame_duration = of_a_frame;
}

/* From the frame before: a camera's clock is not the pipeline's, so that a time long ago
 * says nothing of how many have been since. */
void
FrameSequence::step (const Arrival &arrival)
{
  GstClockTime each =
      GST_CLOCK_TIME_IS_VALID (frame_duration) ? frame_duration : last.duration;
  gint64 frames = 1;

  if (!began) {
    began = true;
    position_ = 0;
    return;
  }
  if (arrival.lost) {
    if (GST_CLOCK_TIME_IS_VALID (arrival.time) && GST_CLOCK_TIME_IS_VALID (last.time)
        && GST_CLOCK_TIME_IS_VALID (each) && each > 0)
      frames = std::llround (
          double (GST_CLOCK_DIFF (last.time, arrival.time)) / double (each));
    else
      frames = gint64 (group) - position_; /* nobody knows: a group begins */
  }
  gint64 next = (gint64 (position_) + frames) % group;
  position_ = guint (next < 0 ? next + group : next);
}

FrameSequence::Part
FrameSequence::next (const Arrival &arrival)
{
  step (arrival);
  last = arrival;
  if (arrival.lost || position_ == 0) {
    collected = 0;
    start_ = arrival.time;
  }
  if (arrival.empty || position_ != collected) {
    collected = group; /* so that nothing fits until a group begins */
    return Part::none;
  }
  collected++;
  return collected == group ? Part::last : Part::some;
}

GstClockTime
FrameSequence::duration () const
{
  if (!GST_CLOCK_TIME_IS_VALID (start_) || !GST_CLOCK_TIME_IS_VALID (last.time)
      || !GST_CLOCK_TIME_IS_VALID (last.duration) || last.time < start_)
    return GST_CLOCK_TIME_NONE;
  return last.time + last.duration - start_;
}
} // namespace oct
