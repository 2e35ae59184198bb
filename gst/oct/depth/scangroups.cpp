/* Groups of B-scans within the volumes of a scan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scangroups.hpp"

namespace oct {
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
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "groups of %u frames, but the scan repeats each B-scan %u times: expected "
        "at most %u frames or a multiple of that",
        frames, scan.repeats, scan.repeats);
    return false;
  }
  if (scan.b_scans == 0 || frames <= frames_of_volume (scan))
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "groups of %u frames, but a volume of the scan has %" G_GUINT64_FORMAT
      ": expected at most that many frames",
      frames, frames_of_volume (scan));
  return false;
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
