/* Groups of B-scans within the volumes of a scan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../octscanmeta.h"

namespace oct {
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
