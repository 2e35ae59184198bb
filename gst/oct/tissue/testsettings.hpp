/* Settings of octtestsrc's simulated spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <vector>

constexpr guint OCT_TEST_MOST_B_SCANS = 65536;

enum OctTestPattern {
  OCT_TEST_PATTERN_MIRRORS,
  OCT_TEST_PATTERN_LAYERS,
  OCT_TEST_PATTERN_TISSUE,
  OCT_TEST_PATTERN_FLAT,
};

struct OctTestSettings {
  OctTestPattern pattern = OCT_TEST_PATTERN_LAYERS;
  std::vector<double> depths = {50, 100, 200};       /* of the mirrors, in depth bins */
  std::vector<double> amplitudes = {1000, 500, 250}; /* of their fringes, in raw units */
  double wavelength_min = 1187;                      /* of the first sample */
  double wavelength_max = 1433;                      /* of the last one */
  double dispersion_a2 = 0;
  double dispersion_a3 = 0;
  double level = 20000;
  double noise = 20;
  guint seed = 1;
  double velocity = 0;   /* of blood to greater depth, in mm/s; wavelengths in nm */
  double line_rate = 0;  /* A-lines per second; 0: lines take the duration of a frame */
  double sinusoidal = 0; /* fraction of a half sine period that a frame covers */
  bool bidirectional = false; /* every second frame is scanned in reverse */

  /* Patterns of tissue and of a flat surface */
  guint b_scans = 1;             /* of a volume */
  guint repeats = 1;             /* of each B-scan */
  double flow_velocity = 20;     /* maximum in the widest vessel, in mm/s */
  double cell_rate = 0;          /* of the most active cells, in Hz */
  double motion = 0;             /* of the eye along each axis, µm rms */
  std::vector<double> curvature; /* polynomial, in depth bins */
  double line_step = 0;          /* µm; 0: the A-lines cover the tissue's width */
  double b_scan_step = 0;        /* µm; 0: the B-scans do */

  bool live = false;
  guint tables_revision = 0; /* counts changes that need new tables */

  /* Whether the pattern is scanned in three dimensions */
  bool is_volume () const
  {
    return pattern == OCT_TEST_PATTERN_TISSUE || pattern == OCT_TEST_PATTERN_FLAT;
  }
};

/* A frame's number, which selects the noise, and its time, which moves the tissue */
struct OctTestMoment {
  guint64 frame;
  double seconds;
  double line_seconds; /* time from A-line to A-line */
};

/* Checks the settings as far as possible without caps. @error names the invalid value. */
bool oct_test_settings_validate (const OctTestSettings &settings, GError **error);

/* Checks the settings for frames of this size. */
bool oct_test_settings_validate_for (
    const OctTestSettings &settings, guint samples, guint lines, GError **error);

/* Leaves out mirrors that are too deep for this number of samples per A-line. */
OctTestSettings oct_test_settings_within (OctTestSettings settings, guint samples);

namespace oct {
constexpr double tissue_width = 3000; /* of the part that has vessels, µm */

/* Distance of nodes of speckle, µm. The resolution is 1.5 of it, 20 µm. */
constexpr double node_distance = 40.0 / 3;

/* How a volume is scanned. Lengths are in µm of tissue. */
struct TissueScan {
  guint lines = 0, b_scans = 1, depths = 0;
  double line_step = 0, b_scan_step = 0, depth_step = 0;

  /* Positions from the centre of the volume, in distances of nodes. `line` may be
   * fractional. */
  double x_of (double line) const
  {
    return (line - (lines - 1) / 2.0) * line_step / node_distance;
  }
  double y_of (double b_scan) const
  {
    return (b_scan - (b_scans - 1) / 2.0) * b_scan_step / node_distance;
  }
};

/* Scan of these settings, with automatic steps resolved */
TissueScan tissue_scan_of (const OctTestSettings &settings, guint samples, guint lines);

/* Nodes that the A-lines of a scan need, wherever motion takes them */
struct TissueNodes {
  int first = 0, first_row = 0;
  guint columns = 0, rows = 0;
};
TissueNodes tissue_nodes_of (const OctTestSettings &settings, const TissueScan &scan);
} // namespace oct
