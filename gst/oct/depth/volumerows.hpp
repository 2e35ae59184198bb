/* Which B-scans of a volume there are, also where some were lost
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <optional>
#include <vector>

namespace oct {
/* A B-scan's place counts all of a scan, volume after volume, lost ones too. A row of a
 * volume is where its B-scan lies, whatever became of others. */
class VolumeRows {
public:
  struct Step {
    bool begins = false; /* it is the first that came of its volume */
    bool stores = true;  /* there is something in it */
    guint row = 0;
    bool completes = false;
    std::vector<guint> lost; /* rows, up to this one, that hold nothing of this time */
  };

  /* Starts an empty volume of `scans` B-scans. */
  void restart (guint rows);
  /* Whether a B-scan is of another volume than one that began and has not ended. */
  bool leaves (guint64 place) const { return began_ && place / rows () != volume_; }
  /* `last` of those of that place; `empty`: there is nothing in it. */
  Step next (guint64 place, bool last, bool empty);

  guint rows () const { return guint (filled.size ()); }
  guint64 volume () const { return volume_; }
  /* Something of the volume that has not ended came. */
  bool began () const { return began_; }
  bool is_filled (guint row) const { return filled[row]; }
  /* Whether the last that was to come for some row was lost. */
  bool has_gaps () const { return gaps > 0; }
  void end () { began_ = false; }

private:
  void lose (guint64 place, std::vector<guint> &lost);

  std::vector<bool> filled, missed;
  std::optional<guint64> last;
  guint64 volume_ = 0;
  bool began_ = false;
  guint gaps = 0;
};
} // namespace oct
