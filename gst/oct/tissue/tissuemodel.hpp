/* Simulated retina of octtestsrc: layers, vessels, attenuation and motion, on the host
 *
 * This is the definition of the phantom. The kernels read its tables, and the files of
 * `truth-folder` are computed from it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "vesseltree.hpp"

#include <array>
#include <vector>

namespace oct {
constexpr guint tissue_layers = 9;    /* each begins at one of the boundaries */
constexpr guint column_chords = 4;    /* maximum number of chords of a column */
constexpr double tissue_width = 3000; /* of the part that has vessels, µm */

/* How a volume is scanned. Lengths are in µm of tissue. */
struct TissueScan {
  guint lines = 0, b_scans = 1, depths = 0;
  double line_step = 0, b_scan_step = 0, depth_step = 0;

  bool operator== (const TissueScan &other) const
  {
    return lines == other.lines && b_scans == other.b_scans && depths == other.depths
           && line_step == other.line_step && b_scan_step == other.b_scan_step
           && depth_step == other.depth_step;
  }

  /* Position from the centre of the volume. `line` may be fractional. */
  double x_of (double line) const { return (line - (lines - 1) / 2.0) * line_step; }
  double y_of (double b_scan) const
  {
    return (b_scan - (b_scans - 1) / 2.0) * b_scan_step;
  }
};

/* Chord through a vessel, in depth bins. Speeds are those at its middle, in mm/s. */
struct ColumnChord {
  double begins, ends;
  double speed, axial;

  /* Parabolic flow: 1 at the middle, 0 at the wall and outside */
  double profile (double bin) const
  {
    const double away = (bin - (begins + ends) / 2) / ((ends - begins) / 2);
    return away * away < 1 ? 1 - away * away : 0;
  }
};

/* The tissue along one line parallel to the beam, in depth bins */
struct TissueColumn {
  std::array<double, tissue_layers> boundaries;
  std::vector<ColumnChord> chords; /* ordered and disjoint */

  /* The chord that includes a depth (nullable) */
  const ColumnChord *chord_at (double bin) const;
};

class TissueModel {
public:
  TissueModel (const TissueScan &scan, guint seed, double flow_velocity);

  /* Returns the tissue at a position in µm from the centre. */
  TissueColumn column (double x, double y) const;

  /* Attenuation coefficient in 1/mm; 0 in front of the tissue */
  double attenuation_at (const TissueColumn &column, double bin) const;

  /* Integral of the attenuation coefficient of the layers from the surface, without
   * vessels; without unit */
  double layer_optical_depth (const TissueColumn &column, double bin) const;

  const TissueScan &scan () const { return geometry; }

  static double layer_attenuation (guint layer);
  static double blood_attenuation ();

private:
  struct Wave {
    double along_x, along_y, phase; /* rad/µm, rad */
  };
  static constexpr guint waves = 3;
  using Undulation = std::array<Wave, waves>;

  using Boundaries = std::array<double, tissue_layers>;
  Boundaries boundaries_at (double x, double y) const;
  static double undulation (const Undulation &of, double x, double y);

  TissueScan geometry;
  double flow_velocity;
  double bins_per_um; /* of the model's depths */
  std::array<Undulation, tissue_layers>
      undulations; /* of thicknesses, then of the whole */
  VesselTree tree;
};

/* Displacement of the tissue under the scanner in µm, at a time in s: x, y, and z to
 * greater depth. `rms` is that of each of them over a long time. */
TissuePoint tissue_motion (guint seed, double rms, double seconds);

/* Upper bound of each displacement */
double largest_motion (double rms);
} // namespace oct
