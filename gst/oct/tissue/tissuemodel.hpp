/* Simulated retina of octtestsrc: layers, vessels, attenuation and motion, on the host
 *
 * This is the definition of the phantom. The kernels read its tables, and the files of
 * `truth-folder` are computed from it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "testsettings.hpp"
#include "vesseltree.hpp"

#include <array>
#include <vector>

namespace oct {
constexpr guint tissue_layers = 15;      /* each begins at one of the boundaries */
constexpr guint column_chords = 4;       /* maximum number of chords of a column */
constexpr double tissue_width = 3000;    /* of the part that has vessels, µm */
constexpr double blood_attenuation = 10; /* 1/mm */

/* Distance of nodes of speckle, µm. The resolution is 1.5 of it, 20 µm. */
constexpr double node_distance = 40.0 / 3;

/* How a volume is scanned. Lengths are in µm of tissue. */
struct TissueScan {
  guint lines = 0, b_scans = 1, depths = 0;
  double line_step = 0, b_scan_step = 0, depth_step = 0;

  /* Position from the centre of the volume. `line` may be fractional. */
  double x_of (double line) const { return (line - (lines - 1) / 2.0) * line_step; }
  double y_of (double b_scan) const
  {
    return (b_scan - (b_scans - 1) / 2.0) * b_scan_step;
  }
};

/* Scan of these settings, with automatic steps resolved */
TissueScan tissue_scan_of (const OctTestSettings &settings, guint samples, guint lines);

/* Number of columns of tissue that the tables of these settings have */
double tissue_columns (const OctTestSettings &settings, const TissueScan &scan);

/* Displacement of an A-line by the optical path of the scanner, in depth bins.
 * `line` is its position in lines. */
double curvature_at (
    const OctTestSettings &settings, const TissueScan &scan, double line, guint b_scan);

/* Displacement of the tissue under the scanner in µm, at a time in s: x, y, and z to
 * greater depth. `rms` is that of each of them over a long time. */
TissuePoint tissue_motion (guint seed, double rms, double seconds);

/* Upper bound of each displacement */
double largest_motion (double rms);

/* Attenuation coefficient in 1/mm */
double layer_attenuation (guint layer);
/* Moving cells of a layer: their part of its intensity, and their rate relative to that of
 * the most active layer */
struct MovingCells {
  double share, rate;
};
MovingCells layer_cells (guint layer);

/* The tissue along one line parallel to the beam, in depth bins and mm/s */
struct TissueColumn {
  std::array<double, tissue_layers> boundaries;
  std::vector<VesselChord> chords; /* ordered and disjoint */

  /* The chord that includes a depth (nullable) */
  const VesselChord *chord_at (double bin) const;

  /* Attenuation coefficient in 1/mm; 0 in front of the tissue */
  double attenuation_at (double bin) const;
  MovingCells cells_at (double bin) const;
  int layer_at (double bin) const;
};

class TissueModel {
public:
  TissueModel (const TissueScan &scan, guint seed, double flow_velocity);

  /* Returns the tissue at a position in µm from the centre. */
  TissueColumn column (double x, double y) const;

  /* Integral of the attenuation coefficient of the layers from the surface, without
   * vessels; without unit */
  double layer_optical_depth (const TissueColumn &column, double bin) const;

private:
  struct Wave {
    double along_x, along_y, phase; /* rad/µm, rad */
  };
  static constexpr guint waves = 3;
  using Undulation = std::array<Wave, waves>;

  using Boundaries = std::array<double, tissue_layers>;
  Boundaries boundaries_at (double x, double y) const;
  static Undulation random_undulation (Random &random);
  static double undulation (const Undulation &of, double x, double y);

  double depth_step, flow_velocity;
  double bins_per_um; /* of the model's depths */
  std::array<Undulation, tissue_layers>
      undulations; /* of thicknesses, then of the whole */
  VesselTree tree;
};
} // namespace oct
