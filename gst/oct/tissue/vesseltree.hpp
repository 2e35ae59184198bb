/* Branching vessels of the simulated retina
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <functional>
#include <vector>

namespace oct {
/* A point of the tissue in µm: x and y across the beam from the centre of the tissue, z
 * along the beam. */
struct TissuePoint {
  double x, y, z;
};

/* A straight part of a vessel. Blood flows from `begins` to `ends`. */
struct VesselSegment {
  TissuePoint begins, ends;
  double radius; /* µm */
  double speed;  /* on the axis, relative to that of the widest vessel */
};

/* Part of a line along the beam that lies within a vessel. `speed` and `axial`, its
 * component to greater depth, are those in the middle. */
struct VesselChord {
  double begins = 0, ends = 0; /* along the beam, µm */
  double speed = 0, axial = 0;
};

/* Returns the depth of a plexus at a place: (x, y, plexus), all lengths in µm. */
using PlexusDepth = std::function<double (double x, double y, guint plexus)>;

/* Returns the vessels of the square |x|, |y| <= half_width. */
std::vector<VesselSegment> grow_vessels (
    guint seed, double half_width, const PlexusDepth &depth);

/* Returns the chord of a segment; without length if the line misses it. */
VesselChord chord_at (const VesselSegment &segment, double x, double y);
} // namespace oct
