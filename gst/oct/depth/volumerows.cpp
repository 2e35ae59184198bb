/* Tracks which B-scans of a volume have arrived and which were lost
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "volumerows.hpp"

#include <algorithm>

namespace oct {
void
VolumeRows::restart (guint rows)
{
  filled.assign (rows, false);
  missed.assign (rows, false);
  last.reset ();
  began_ = false;
  gaps = 0;
}

/* Marks the B-scan at `place` as lost. Its row may still be that of an earlier volume. */
void
VolumeRows::lose (guint64 place, std::vector<guint> &lost)
{
  const guint row = guint (place % rows ());
  lost.push_back (row);
  filled[row] = false;
  if (!missed[row])
    gaps++;
  missed[row] = true;
}

VolumeRows::Step
VolumeRows::next (guint64 place, bool last_of_place, bool empty)
{
  Step step;
  const bool same = last && *last == place;
  const bool is_next_volume = !last || place / rows () != volume_;

  step.row = guint (place % rows ());
  step.begins = is_next_volume || !began_;
  if (is_next_volume)
    std::fill (filled.begin (), filled.end (), false);
  /* B-scans before the very first one do not count as lost. */
  const guint64 from = last ? *last + 1 : place;
  if (place > from) {
    for (guint64 n = place - std::min<guint64> (place - from, rows () - 1); n < place;
         n++)
      lose (n, step.lost);
  }
  volume_ = place / rows ();
  last = place;
  step.stores = !empty;
  if (empty && !(same && filled[step.row]))
    lose (place, step.lost);
  if (!empty) {
    filled[step.row] = true;
    if (missed[step.row])
      gaps--;
    missed[step.row] = false;
  }
  began_ = true;
  step.completes = last_of_place && step.row + 1 == rows ();
  return step;
}
} // namespace oct
