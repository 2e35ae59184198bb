/* Numbers frames and assigns them to groups, also after lost frames and within volumes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../octscanmeta.h"

#include <optional>

namespace oct {
/* Numbers frames and divides them into groups, such as the repeats of a B-scan. The
 * frame's number alone decides on its group, so a change of settings never moves a group.
 * The number comes from the frame itself where it has one. Otherwise frames are counted;
 * after a loss their time says how many were lost. Without a time or a number of lost frames,
 * a new group begins. */
class FrameSequence {
public:
  struct Grouping {
    guint frames = 1; /* per group */
    /* Frames after which a scan repeats, a multiple of `frames`. After a loss of unknown
     * length the next frame is taken as the first of a period. */
    guint period = 1;
    GstClockTime frame_duration = GST_CLOCK_TIME_NONE;
  };

  /* Properties of a frame on arrival */
  struct Arrival {
    GstClockTime time = GST_CLOCK_TIME_NONE;
    GstClockTime duration = GST_CLOCK_TIME_NONE;
    std::optional<guint64> number; /* among all frames, lost ones included */
    /* Number of frames after which groups start again; no group crosses this limit. 0:
     * no limit */
    guint64 unit = 0;
    bool lost = false;  /* frames before it were lost */
    guint missing = 0;  /* the number of these, if known */
    bool empty = false; /* it has no content */
  };

  enum class Part {
    left_over, /* in no group: the unit has too few frames left */
    incomplete,
    some,
    last,
  };

  /* Back to the state before the first frame. */
  void restart () { *this = FrameSequence (); }

  /* Sets the groups of later frames. The numbers continue. Another size ends a group that
   * has begun. Returns whether it did. */
  bool set_grouping (const Grouping &wanted);
  /* Skips the rest of a group. Returns whether one had begun. */
  bool break_group ();

  Part next (const Arrival &arrival);

  /* Number of the last frame, from 0. */
  guint64 number () const { return number_; }
  /* Position of the last frame in its group, from 0. */
  guint position () const { return position_; }
  /* Whether frames were lost before the last frame. */
  bool lost () const { return last.lost; }
  /* Time of the present group up to the last frame. */
  GstClockTime start () const { return start_; }
  GstClockTime duration () const;

private:
  guint64 number_of (const Arrival &arrival) const;

  Grouping grouping;
  Arrival last;
  bool began = false;
  guint64 number_ = 0;
  guint position_ = 0;
  guint collected = 0; /* frames of the group; all if it ended early */
  GstClockTime start_ = GST_CLOCK_TIME_NONE;
};

/* A group of frames never crosses the end of a volume, nor the end of a B-scan's repeats
 * where these are enough for a group. Frames left over there belong to no group. */
class ScanGroups {
public:
  /* Groups of `frames` frames. Returns an error if a volume has fewer frames, or if a
   * group would hold some B-scans more often than others. */
  static bool check (const GstOctScan &scan, guint frames, GError **error);

  /* The arguments must pass check(). */
  ScanGroups (const GstOctScan &scan, guint frames);

  /* Number of frames after which groups start again; 0: never */
  guint64 unit () const { return unit_; }
  /* Returns the scan position of a group. `first` is that of its first frame. */
  GstOctScan scan_of_group (const GstOctScan &first) const;

private:
  guint frames;
  guint64 unit_;
};
} // namespace oct
