/* Branching vessels of the simulated retina
 *
 * Vessels enter at the edges and branch until they are capillaries. Radii follow Murray,
 * The physiological principle of minimum work, I (1926): the cube of a radius is the sum
 * of the cubes of its branches, so the flow is proportional to the cube, and the mean
 * velocity to the radius.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "vesseltree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

namespace oct {
namespace {
constexpr double thinnest = 7;           /* radius of capillaries, µm */
constexpr double avascular_radius = 260; /* of the fovea, µm */
constexpr double widest_dive = 22;       /* radius of vessels that change the plexus */
constexpr double crowded_radius = 25;    /* thinner vessels end among others */
constexpr double patch_width = 45;       /* of the areas that count vessels, µm */
constexpr guint vessels_of_patch = 2;
constexpr double mesh_width = 150; /* distance of starts of capillaries, µm */

struct Branch {
  double x, y, angle, radius;
  bool venous; /* blood flows towards the root */
  guint plexus = 0;
  bool dives = false; /* into the deeper plexus */
};

/* Arcades above and below the fovea, and smaller vessels from the other sides. Positions
 * are relative to the half width. */
const Branch roots[] = {
    {-1.00, -0.62, -0.15, 40, false},
    {-1.00, 0.58, 0.15, 42, true},
    {-1.00, -0.05, 0.05, 18, true},
    {1.00, -0.55, 3.20, 30, true},
    {1.00, 0.50, 3.05, 28, false},
    {1.00, -0.02, 3.14, 18, false},
    {0.15, -1.00, 1.45, 26, false},
    {0.30, 1.00, -1.65, 28, true},
    {-0.45, 1.00, -1.35, 20, false},
};
constexpr double widest_root = 42;

class Growth {
public:
  Growth (guint seed, double half_width, const PlexusDepth &depth)
      : random (g_rand_new_with_seed (seed), g_rand_free), half_width (half_width),
        depth (depth)
  {
  }

  std::vector<VesselSegment> grow ()
  {
    for (Branch root : roots) {
      root.x *= half_width;
      root.y *= half_width;
      branches.push_back (root);
    }
    for (gsize n = 0; n < branches.size (); n++) {
      Branch branch = branches[n];
      if (extend (branch))
        fork (branch);
    }
    fill_gaps ();
    return std::move (segments);
  }

private:
  double uniform (double from, double to)
  {
    return g_rand_double_range (random.get (), from, to);
  }

  /* Grows capillaries until they meet enough others. */
  void fill_gaps ()
  {
    for (double y = -half_width; y < half_width; y += mesh_width) {
      for (double x = -half_width; x < half_width; x += mesh_width) {
        Branch capillary = {x + uniform (0, mesh_width), y + uniform (0, mesh_width),
            uniform (0, 2 * G_PI), thinnest, uniform (-1, 1) < 0, uniform (-1, 1) < 0};
        bool grows = std::hypot (capillary.x, capillary.y) > 1.3 * avascular_radius
                     && patches[patch_of (capillary)] == 0;
        while (grows)
          grows = extend (capillary);
      }
    }
  }

  /* Vessels meander through their plexus, so that they slope. */
  TissuePoint point_of (const Branch &at) const
  {
    const double meander =
        std::sin (at.x / 83 + at.y / 131) + std::sin (at.y / 71 - at.x / 157);
    return {at.x, at.y, depth (at.x, at.y, at.plexus) + 0.35 * at.radius * meander};
  }

  static std::array<int, 3> patch_of (const Branch &at)
  {
    return {int (at.plexus), int (std::floor (at.x / patch_width)),
        int (std::floor (at.y / patch_width))};
  }

  /* Counts each vessel once in a patch of its plexus. Returns whether it ends there. */
  bool is_stopped (const Branch &from, const Branch &to)
  {
    const bool crowded = patch_of (from) != patch_of (to)
                         && patches[patch_of (to)]++ >= vessels_of_patch
                         && to.radius < crowded_radius;
    return crowded || std::max (std::abs (to.x), std::abs (to.y)) > 1.05 * half_width
           || std::hypot (to.x, to.y) < avascular_radius;
  }

  /* Vessels turn away from the fovea. */
  double turn_at (const Branch &branch, double step)
  {
    const double away = std::hypot (branch.x, branch.y);
    const double heading =
        std::remainder (branch.angle - std::atan2 (branch.y, branch.x), 2 * G_PI);
    double turn = uniform (-0.28, 0.28);
    if (away < 2 * avascular_radius && std::abs (heading) > G_PI / 2)
      turn -= std::copysign (std::pow (avascular_radius / away, 2) * step / 80, heading);
    return turn;
  }

  /* Returns whether the vessel may branch at its end. */
  bool extend (Branch &branch)
  {
    const double least = branch.radius > crowded_radius ? 2 : 5;
    const double length = 70 + branch.radius * uniform (least, 2 * least);
    const double step = std::clamp (2 * branch.radius, 20.0, 40.0);
    TissuePoint from = point_of (branch);
    branch.plexus |= branch.dives;
    for (double done = 0; done < length; done += step) {
      const Branch before = branch;
      branch.angle += turn_at (branch, step);
      branch.x += step * std::cos (branch.angle);
      branch.y += step * std::sin (branch.angle);
      const TissuePoint to = point_of (branch);
      segments.push_back ({branch.venous ? to : from, branch.venous ? from : to,
          branch.radius, branch.radius / widest_root});
      from = to;
      if (is_stopped (before, branch))
        return false;
    }
    return true;
  }

  void fork (const Branch &branch)
  {
    const double share = uniform (branch.radius > crowded_radius ? 0.04 : 0.2, 0.5);
    const double side = uniform (-1, 1) < 0 ? -1 : 1;
    Branch larger = branch, smaller = branch;
    larger.radius *= std::cbrt (1 - share);
    larger.angle += side * share;
    smaller.radius *= std::cbrt (share);
    smaller.angle -= side * (1.4 - share);
    smaller.dives = smaller.radius < widest_dive && uniform (0, 1) < 0.4;
    for (const Branch &next : {larger, smaller}) {
      if (next.radius >= thinnest)
        branches.push_back (next);
    }
  }

  std::unique_ptr<GRand, void (*) (GRand *)> random;
  double half_width;
  const PlexusDepth &depth;
  std::vector<Branch> branches;
  std::vector<VesselSegment> segments;
  std::map<std::array<int, 3>, guint> patches; /* number of vessels */
};
} // namespace

std::vector<VesselSegment>
grow_vessels (guint seed, double half_width, const PlexusDepth &depth)
{
  return Growth (seed, half_width, depth).grow ();
}

/* The vessel is taken as straight along the beam, and as wide as its slope makes it. */
VesselChord
chord_at (const VesselSegment &segment, double x, double y)
{
  const auto [begins, ends, radius, speed] = segment;
  const double dx = ends.x - begins.x, dy = ends.y - begins.y, dz = ends.z - begins.z;
  const double across = std::hypot (dx, dy), length = std::hypot (across, dz);
  const double along = std::clamp (
      ((x - begins.x) * dx + (y - begins.y) * dy) / (across * across), 0.0, 1.0);
  const double away =
      std::hypot (x - begins.x - along * dx, y - begins.y - along * dy) / radius;
  if (away >= 1)
    return {};
  const double middle = begins.z + along * dz;
  const double half = radius * std::sqrt (1 - away * away) * length / across;
  const double at_axis = speed * (1 - away * away);
  return {std::max (middle - half, std::min (begins.z, ends.z) - radius),
      std::min (middle + half, std::max (begins.z, ends.z) + radius), at_axis,
      at_axis * dz / length};
}
} // namespace oct
