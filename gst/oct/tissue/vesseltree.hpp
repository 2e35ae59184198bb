/* Branching vessel tree of the simulated tissue, in three dimensions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <functional>
#include <memory>
#include <vector>

namespace oct {
/* A point of the tissue in µm: x and y across the beam from the centre of the tissue, z
 * along the beam. */
struct TissuePoint {
  double x, y, z;
};

/* A cylinder with round ends. Blood flows from `begins` to `ends`. */
struct VesselSegment {
  TissuePoint begins, ends;
  double radius; /* µm */
  double speed;  /* on the axis, relative to that of the widest vessel */
};

/* Part of a line along the beam that lies within vessels. Of a tree, lengths are in µm,
 * and velocities are relative to that of the widest vessel. */
struct VesselChord {
  double begins, ends; /* along the beam */
  double speed;        /* at its middle */
  double axial;        /* its component along the beam, positive to greater depth */

  /* Parabolic flow: 1 at the middle, 0 at the wall and outside */
  double profile (double depth) const
  {
    const double away = (depth - (begins + ends) / 2) / ((ends - begins) / 2);
    return away * away < 1 ? 1 - away * away : 0;
  }
};

/* Random numbers that depend on the seed alone */
class Random {
public:
  explicit Random (guint seed) : random (g_rand_new_with_seed (seed), g_rand_free) {}

  double uniform (double from, double to)
  {
    return g_rand_double_range (random.get (), from, to);
  }

private:
  std::unique_ptr<GRand, void (*) (GRand *)> random;
};

/* Returns the depth of a plexus at a place: (x, y, plexus), all lengths in µm. */
using PlexusDepth = std::function<double (double x, double y, guint plexus)>;

class VesselTree {
public:
  /* Grows the vessels of the square |x|, |y| <= half_width. */
  VesselTree (guint seed, double half_width, const PlexusDepth &depth);

  /* Returns the chords at a place, ordered by depth and disjoint. */
  std::vector<VesselChord> chords (double x, double y) const;

private:
  void make_index ();

  double half_width;
  gsize buckets = 0; /* of the index, along x and y */
  std::vector<VesselSegment> all;
  std::vector<std::vector<guint>> index; /* segments that touch each bucket */
};
} // namespace oct
