/* Tracks which B-scans of a volume have arrived and which were lost
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <optional>
#include <vector>

namespace oct {
/* The place of a B-scan is its index over all volumes, including lost B-scans but not
 * repeats. It determines the row in the volume, so lost B-scans do not move others. */
class VolumeRows {
public:
  struct Step {
    bool begins = false; /* it is the first one of its volume to arrive */
    bool stores = true;  /* it has content */
    guint row = 0;
    bool completes = false;
    std::vector<guint> lost; /* rows of lost B-scans, up to this one */
  };

  /* Starts an empty volume of `rows` B-scans. */
  void restart (guint rows);
  /* Whether a B-scan belongs to another volume than the one in progress */
  bool leaves (guint64 place) const { return began_ && place / rows () != volume_; }
  /* Adds a B-scan. `last`: it is the last repeat at its place. `empty`: it has no
   * content. */
  Step next (guint64 place, bool last, bool empty);

  guint rows () const { return guint (filled.size ()); }
  guint64 volume () const { return volume_; }
  /* Whether a volume is in progress */
  bool began () const { return began_; }
  bool is_filled (guint row) const { return filled[row]; }
  /* Whether the latest B-scan of any row was lost */
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
