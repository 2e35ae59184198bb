/* Branching vessel tree of the simulated tissue
 *
 * Vessels enter at the edges and branch until they are capillaries. Radii follow Murray,
 * The physiological principle of minimum work, I (1926): the cube of a radius is the sum
 * of the cubes of its branches, so the flow is proportional to the cube, and the mean
 * velocity to the radius. Angles follow his second paper, A relationship between
 * circumference and weight in trees and its bearing on branching angles (1927).
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "vesseltree.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace oct {
namespace {
constexpr double bucket_width = 60;      /* µm */
constexpr double thinnest = 7;           /* radius of capillaries, µm */
constexpr double avascular_radius = 260; /* of the fovea, µm */
constexpr double widest_dive = 22;       /* radius of vessels that change the plexus */
constexpr double crowded_radius = 25;    /* thinner vessels end among others */
constexpr double patch_width = 45;       /* of the areas that count vessels, µm */
constexpr guint vessels_of_patch = 2;
constexpr double mesh_width = 150; /* distance of starts of capillaries, µm */

/* A vessel that enters at an edge. Positions are relative to the half width. */
struct Root {
  double x, y, angle, radius;
  bool venous; /* blood flows towards the root */
};

/* Arcades above and below the fovea, and smaller vessels from the other sides */
const Root roots[] = {
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

struct Branch {
  double x, y, z;
  double angle;
  double radius;
  guint plexus;
  bool venous;
};

class Growth {
public:
  Growth (guint seed, double half_width, const PlexusDepth &depth,
      std::vector<VesselSegment> &segments)
      : random (seed), half_width (half_width), depth (depth), segments (segments)
  {
  }

  void grow ()
  {
    for (const Root &root : roots)
      pending.push_back ({root.x * half_width, root.y * half_width, 0, root.angle,
          root.radius, 0, root.venous});
    for (Branch &branch : pending)
      branch.z = depth_of (branch);
    while (!pending.empty ()) {
      const auto widest = std::max_element (pending.begin (), pending.end (),
          [] (const Branch &a, const Branch &b) { return a.radius < b.radius; });
      Branch branch = *widest;
      *widest = pending.back ();
      pending.pop_back ();
      if (extend (branch))
        fork (branch);
    }
    fill_gaps ();
  }

private:
  /* Grows capillaries where the tree leaves gaps. */
  void fill_gaps ()
  {
    const auto is_free = [&] (Branch at) {
      bool found = std::hypot (at.x, at.y) > 1.3 * avascular_radius;
      for (at.plexus = 0; at.plexus < 2; at.plexus++)
        found = found && patches.count (patch_of (at)) == 0;
      return found;
    };
    for (double y = -half_width; y < half_width; y += mesh_width) {
      for (double x = -half_width; x < half_width; x += mesh_width) {
        Branch capillary = {x + random.uniform (0, mesh_width),
            y + random.uniform (0, mesh_width), 0, random.uniform (0, 2 * G_PI), thinnest,
            random.uniform (-1, 1) < 0, random.uniform (-1, 1) < 0};
        capillary.z = depth_of (capillary);
        for (bool grows = is_free (capillary); grows;)
          grows = extend (capillary);
      }
    }
  }

  /* Vessels meander through their plexus, so that they slope. */
  double depth_of (const Branch &branch) const
  {
    const double meander = std::sin (branch.x / 83 + branch.y / 131)
                           + std::sin (branch.y / 71 - branch.x / 157);
    return depth (branch.x, branch.y, branch.plexus) + 0.35 * branch.radius * meander;
  }

  bool is_outside (const Branch &branch) const
  {
    const double edge = half_width * 1.05;
    return std::abs (branch.x) > edge || std::abs (branch.y) > edge;
  }

  void add (const Branch &from, const Branch &to)
  {
    const TissuePoint a = {from.x, from.y, from.z}, b = {to.x, to.y, to.z};
    segments.push_back ({from.venous ? b : a, from.venous ? a : b, from.radius,
        from.radius / widest_root});
  }

  static std::tuple<guint, int, int> patch_of (const Branch &at)
  {
    return {at.plexus, int (std::floor (at.x / patch_width)),
        int (std::floor (at.y / patch_width))};
  }

  /* Counts each vessel once in a patch of its plexus. Returns whether it is crowded. */
  bool enter_patch (const Branch &from, const Branch &to)
  {
    return patch_of (from) != patch_of (to)
           && patches[patch_of (to)]++ >= vessels_of_patch && to.radius < crowded_radius;
  }

  /* Vessels turn away from the fovea. */
  double turn_at (const Branch &branch, double step)
  {
    double turn = 0.28 * random.uniform (-1, 1);
    const double away = std::hypot (branch.x, branch.y);
    const double outwards = std::atan2 (branch.y, branch.x);
    const double heading = std::remainder (branch.angle - outwards, 2 * G_PI);
    if (away < 2 * avascular_radius && std::abs (heading) > G_PI / 2) {
      const double urgency = std::pow (avascular_radius / away, 2) * step / 40;
      turn -= std::copysign (0.5 * urgency, heading);
    }
    return turn;
  }

  /* Returns whether the vessel may branch at its end. */
  bool extend (Branch &branch)
  {
    const double length =
        70
        + branch.radius
              * (branch.radius > crowded_radius ? random.uniform (2, 5)
                                                : random.uniform (5, 10));
    const double step = std::clamp (2 * branch.radius, 20.0, 40.0);
    for (double done = 0; done < length; done += step) {
      Branch next = branch;
      next.angle += turn_at (branch, step);
      next.x += step * std::cos (next.angle);
      next.y += step * std::sin (next.angle);
      next.z = depth_of (next);
      add (branch, next);
      const bool crowded = enter_patch (branch, next);
      branch = next;
      if (crowded || is_outside (branch)
          || std::hypot (branch.x, branch.y) < avascular_radius)
        return false;
    }
    return true;
  }

  /* Angle between a vessel and its branch of radius r1; the other branch has r2 */
  static double fork_angle (double r0, double r1, double r2)
  {
    const double p0 = std::pow (r0, 4), p1 = std::pow (r1, 4), p2 = std::pow (r2, 4);
    return std::acos (std::clamp ((p0 + p1 - p2) / (2 * r0 * r0 * r1 * r1), -1.0, 1.0));
  }

  void fork (const Branch &branch)
  {
    const double least = branch.radius > crowded_radius ? 0.04 : 0.2;
    const double share = random.uniform (least, 0.5),
                 side = random.uniform (-1, 1) < 0 ? -1 : 1;
    const double larger = branch.radius * std::cbrt (1 - share);
    const double smaller = branch.radius * std::cbrt (share);
    Branch first = branch, second = branch;
    first.angle += side * fork_angle (branch.radius, larger, smaller);
    first.radius = larger;
    second.angle -= side * fork_angle (branch.radius, smaller, larger);
    second.radius = smaller;
    const bool dives =
        branch.plexus == 0 && smaller < widest_dive && random.uniform (0, 1) < 0.4;
    if (larger >= thinnest)
      pending.push_back (first);
    if (smaller < thinnest)
      return;
    if (dives)
      dive (second);
    pending.push_back (second);
  }

  /* Leads a vessel into the deeper plexus, nearly along the beam. */
  void dive (Branch &branch)
  {
    Branch below = branch;
    below.plexus = 1;
    below.x += 12 * std::cos (branch.angle);
    below.y += 12 * std::sin (branch.angle);
    below.z = depth_of (below);
    add (branch, below);
    branch = below;
  }

  Random random;
  double half_width;
  const PlexusDepth &depth;
  std::vector<VesselSegment> &segments;
  std::vector<Branch> pending;
  std::map<std::tuple<guint, int, int>, guint> patches; /* number of vessels */
};

double
dot (const TissuePoint &a, const TissuePoint &b)
{
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

TissuePoint
between (const TissuePoint &from, const TissuePoint &to)
{
  return {to.x - from.x, to.y - from.y, to.z - from.z};
}

/* Depths at which a line along the beam enters and leaves a body; empty by default */
struct Interval {
  double begins = HUGE_VAL, ends = -HUGE_VAL;

  bool is_empty () const { return begins >= ends; }
  void include (const Interval &other)
  {
    begins = std::min (begins, other.begins);
    ends = std::max (ends, other.ends);
  }
};

Interval
interval_of_sphere (const TissuePoint &centre, double radius, double x, double y)
{
  const double rest =
      radius * radius - std::pow (x - centre.x, 2) - std::pow (y - centre.y, 2);
  if (rest <= 0)
    return {};
  return {centre.z - std::sqrt (rest), centre.z + std::sqrt (rest)};
}

/* `axis` has length 1. With z along the beam from `begins`, the distance from the axis is
 * a z^2 + 2 b z + c, and the position along the axis is s + axis.z z. */
Interval
interval_of_cylinder (const VesselSegment &segment, const TissuePoint &axis,
    double length, double x, double y)
{
  const TissuePoint q = {x - segment.begins.x, y - segment.begins.y, 0};
  const double s = dot (q, axis);
  const double a = 1 - axis.z * axis.z, b = -s * axis.z;
  const double c = dot (q, q) - s * s - segment.radius * segment.radius;
  Interval found = {-HUGE_VAL, HUGE_VAL};

  if (a < 1e-9) {
    if (c > 0)
      return {};
  } else {
    const double root = b * b - a * c;
    if (root <= 0)
      return {};
    found = {(-b - std::sqrt (root)) / a, (-b + std::sqrt (root)) / a};
  }
  if (std::abs (axis.z) < 1e-9) {
    if (s < 0 || s > length)
      return {};
  } else {
    const double one = -s / axis.z, other = (length - s) / axis.z;
    found.begins = std::max (found.begins, std::min (one, other));
    found.ends = std::min (found.ends, std::max (one, other));
  }
  if (found.is_empty ())
    return {};
  return {segment.begins.z + found.begins, segment.begins.z + found.ends};
}

/* Returns the least distance of the segment's axis from a line along the beam. */
double
distance_from (const VesselSegment &segment, const TissuePoint &axis, double length,
    double x, double y)
{
  const double across = std::hypot (axis.x, axis.y);
  const double to_x = x - segment.begins.x, to_y = y - segment.begins.y;
  double along = 0;
  if (across > 1e-9)
    along = std::clamp ((to_x * axis.x + to_y * axis.y) / (across * across), 0.0, length);
  return std::hypot (to_x - along * axis.x, to_y - along * axis.y);
}

/* Returns the chord through a segment; without length if the line misses it. */
VesselChord
chord_of (const VesselSegment &segment, double x, double y)
{
  TissuePoint axis = between (segment.begins, segment.ends);
  const double length = std::sqrt (dot (axis, axis));
  if (length <= 0)
    return {};
  axis = {axis.x / length, axis.y / length, axis.z / length};

  const double away = distance_from (segment, axis, length, x, y);
  if (away >= segment.radius)
    return {};
  Interval inside = interval_of_cylinder (segment, axis, length, x, y);
  inside.include (interval_of_sphere (segment.begins, segment.radius, x, y));
  inside.include (interval_of_sphere (segment.ends, segment.radius, x, y));
  if (inside.is_empty ())
    return {};
  const double speed = segment.speed * (1 - std::pow (away / segment.radius, 2));
  return {inside.begins, inside.ends, speed, speed * axis.z};
}

/* Joins chords that overlap, as at the ends of segments. The faster flow counts. */
std::vector<VesselChord>
joined (std::vector<VesselChord> chords)
{
  std::sort (chords.begin (), chords.end (),
      [] (const VesselChord &a, const VesselChord &b) { return a.begins < b.begins; });
  std::vector<VesselChord> result;
  for (const VesselChord &chord : chords) {
    if (result.empty () || chord.begins > result.back ().ends) {
      result.push_back (chord);
      continue;
    }
    VesselChord &last = result.back ();
    last.ends = std::max (last.ends, chord.ends);
    if (chord.speed > last.speed) {
      last.speed = chord.speed;
      last.axial = chord.axial;
    }
  }
  return result;
}
} // namespace

VesselTree::VesselTree (guint seed, double half_width, const PlexusDepth &depth)
    : half_width (half_width)
{
  Growth (seed, half_width, depth, all).grow ();
  make_index ();
}

void
VesselTree::make_index ()
{
  const auto bucket_at = [&] (double place) {
    const double from_edge = (place + 1.2 * half_width) / bucket_width;
    return gsize (std::clamp (from_edge, 0.0, double (buckets - 1)));
  };
  buckets = gsize (2.4 * half_width / bucket_width) + 1;
  index.assign (buckets * buckets, {});
  for (guint i = 0; i < all.size (); i++) {
    const VesselSegment &s = all[i];
    const auto [left, right] = std::minmax (s.begins.x, s.ends.x);
    const auto [top, bottom] = std::minmax (s.begins.y, s.ends.y);
    for (gsize v = bucket_at (top - s.radius); v <= bucket_at (bottom + s.radius); v++) {
      for (gsize u = bucket_at (left - s.radius); u <= bucket_at (right + s.radius); u++)
        index[v * buckets + u].push_back (i);
    }
  }
}

std::vector<VesselChord>
VesselTree::chords (double x, double y) const
{
  const double u = (x + 1.2 * half_width) / bucket_width;
  const double v = (y + 1.2 * half_width) / bucket_width;
  if (!(u >= 0 && v >= 0 && u < double (buckets) && v < double (buckets)))
    return {};
  std::vector<VesselChord> found;
  for (guint i : index[gsize (v) * buckets + gsize (u)]) {
    const VesselChord chord = chord_of (all[i], x, y);
    if (chord.ends > chord.begins)
      found.push_back (chord);
  }
  return joined (std::move (found));
}
} // namespace oct
