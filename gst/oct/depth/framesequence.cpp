/* Assigns frames to groups, also after frames were lost, and within volumes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "framesequence.hpp"

#include "../shared/errors.hpp"

#include <cmath>

namespace oct {
bool
FrameSequence::set_grouping (const Grouping &wanted)
{
  const bool is_resized = wanted.frames != grouping.frames;
  const bool breaks = is_resized && break_group ();
  grouping = wanted;
  if (is_resized)
    collected = grouping.frames; /* frames are skipped until a group begins */
  return breaks;
}

bool
FrameSequence::break_group ()
{
  const bool begun = collected > 0 && collected < grouping.frames;
  if (begun)
    collected = grouping.frames;
  return begun;
}

/* Returns the number of a frame. After a loss it is computed from the time since the last
 * frame. A longer time would be less exact, since the camera's clock is not the
 * pipeline's. */
guint64
FrameSequence::number_of (const Arrival &arrival) const
{
  GstClockTime each = GST_CLOCK_TIME_IS_VALID (grouping.frame_duration)
                          ? grouping.frame_duration
                          : last.duration;
  const guint period = grouping.period;

  if (arrival.number)
    return *arrival.number;
  if (!began)
    return arrival.missing;
  if (!arrival.lost)
    return number_ + 1;
  if (!GST_CLOCK_TIME_IS_VALID (arrival.time) || !GST_CLOCK_TIME_IS_VALID (last.time)
      || !GST_CLOCK_TIME_IS_VALID (each) || each == 0)
    return arrival.missing > 0 ? number_ + 1 + arrival.missing
                               : (number_ / period + 1) * period; /* unknown */
  const gint64 frames =
      std::llround (double (GST_CLOCK_DIFF (last.time, arrival.time)) / double (each));
  if (frames >= 0 || guint64 (-frames) <= number_)
    return number_ + guint64 (frames);
  /* The frame is earlier than the first one. Keep at least its position in the period. */
  const guint64 before = (guint64 (-frames) - number_) % period;
  return (period - before) % period;
}

FrameSequence::Part
FrameSequence::next (const Arrival &arrival)
{
  const guint64 number = number_of (arrival), frames = grouping.frames;
  const guint64 place = arrival.unit > 0 ? number % arrival.unit : number;
  last = arrival;
  last.lost = arrival.lost || (began && number != number_ + 1);
  began = true;
  number_ = number;
  position_ = guint (place % frames);
  if (last.lost || position_ == 0) {
    collected = 0;
    start_ = arrival.time;
  }
  if (arrival.unit > 0 && place >= arrival.unit / frames * frames)
    return Part::left_over;
  if (arrival.empty || position_ != collected) {
    collected = frames; /* frames are skipped until a group begins */
    return Part::incomplete;
  }
  collected++;
  return collected == frames ? Part::last : Part::some;
}

GstClockTime
FrameSequence::duration () const
{
  if (!GST_CLOCK_TIME_IS_VALID (start_) || !GST_CLOCK_TIME_IS_VALID (last.time)
      || !GST_CLOCK_TIME_IS_VALID (last.duration) || last.time < start_)
    return GST_CLOCK_TIME_NONE;
  return last.time + last.duration - start_;
}

namespace {
guint64
frames_of_volume (const GstOctScan &scan)
{
  return guint64 (scan.b_scans) * scan.repeats;
}

bool
fits_repeats (const GstOctScan &scan, guint frames)
{
  return scan.repeats > 1 && frames <= scan.repeats;
}
} // namespace

bool
ScanGroups::check (const GstOctScan &scan, guint frames, GError **error)
{
  if (frames == 1 || fits_repeats (scan, frames))
    return true;
  if (scan.repeats > 1 && frames % scan.repeats != 0) {
    return REFUSE_SETTINGS (error,
        "groups of %u frames, but the scan repeats each B-scan %u times: expected "
        "at most %u frames or a multiple of that",
        frames, scan.repeats, scan.repeats);
  }
  if (scan.b_scans == 0 || frames <= frames_of_volume (scan))
    return true;
  return REFUSE_SETTINGS (error,
      "groups of %u frames, but a volume of the scan has %" G_GUINT64_FORMAT
      ": expected at most that many frames",
      frames, frames_of_volume (scan));
}

ScanGroups::ScanGroups (const GstOctScan &scan, guint frames)
    : frames (frames),
      unit_ (fits_repeats (scan, frames) ? scan.repeats : frames_of_volume (scan))
{
}

/* A group of repeats counts as one repeat, any other group as one B-scan. */
GstOctScan
ScanGroups::scan_of_group (const GstOctScan &first) const
{
  const guint64 groups = unit_ / frames;
  GstOctScan scan = first;

  scan.frame = unit_ > 0 ? first.frame / unit_ * groups + first.frame % unit_ / frames
                         : first.frame / frames;
  if (fits_repeats (first, frames)) {
    scan.repeat = first.repeat / frames;
    scan.repeats = guint (groups);
    return scan;
  }
  scan.b_scans = guint (groups);
  scan.b_scan = guint (unit_ > 0 ? first.frame % unit_ / frames : scan.frame);
  scan.repeat = 0;
  scan.repeats = 1;
  return scan;
}
} // namespace oct
