/* Which frames belong together, also where some were lost
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "framesequence.hpp"

#include <cmath>

namespace oct {
void
FrameSequence::restart (guint frames, guint frames_of_period, GstClockTime of_a_frame)
{
  *this = FrameSequence ();
  group = frames;
  period = frames_of_period;
  frame_duration = of_a_frame;
}

/* From the frame before: a camera's clock is not the pipeline's, so that a time long ago
 * says nothing of how many have been since. */
guint64
FrameSequence::number_of (const Arrival &arrival) const
{
  GstClockTime each =
      GST_CLOCK_TIME_IS_VALID (frame_duration) ? frame_duration : last.duration;

  if (arrival.number)
    return *arrival.number;
  if (!began)
    return 0;
  if (!arrival.lost)
    return number_ + 1;
  if (!GST_CLOCK_TIME_IS_VALID (arrival.time) || !GST_CLOCK_TIME_IS_VALID (last.time)
      || !GST_CLOCK_TIME_IS_VALID (each) || each == 0)
    return (number_ / period + 1) * period; /* nobody knows */
  const gint64 frames =
      std::llround (double (GST_CLOCK_DIFF (last.time, arrival.time)) / double (each));
  if (frames >= 0 || guint64 (-frames) <= number_)
    return number_ + guint64 (frames);
  /* Before the first one that came: where in its period, at least */
  const guint64 before = (guint64 (-frames) - number_) % period;
  return (period - before) % period;
}

FrameSequence::Part
FrameSequence::next (const Arrival &arrival)
{
  const guint64 number = number_of (arrival);
  last = arrival;
  last.lost = arrival.lost || (began && number != number_ + 1);
  began = true;
  number_ = number;
  if (last.lost || position () == 0) {
    collected = 0;
    start_ = arrival.time;
  }
  if (arrival.empty || position () != collected) {
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
