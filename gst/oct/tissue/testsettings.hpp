/* Settings of octtestsrc's simulated spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <string>
#include <tuple>
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
  std::vector<double> curvature; /* polynomial, see curvature_at() */
  double roll_off = 0;           /* over the depth range, in dB */
  double focus_depth = 0;        /* µm */
  double rayleigh_range = 0;     /* µm; 0: light is collected equally from all depths */
  double line_step = 0;          /* µm; 0: the A-lines cover the tissue's width */
  double b_scan_step = 0;        /* µm; 0: the B-scans do */
  double refractive_index = 1.38;
  std::string truth_folder;

  bool live = false;
  guint tables_revision = 0; /* counts changes that need new tables */

  /* Whether the pattern is scanned in three dimensions */
  bool is_volume () const
  {
    return pattern == OCT_TEST_PATTERN_TISSUE || pattern == OCT_TEST_PATTERN_FLAT;
  }
};

/* Settings that define the tissue, its tables and its files, besides the size of frames */
inline auto
tissue_definition (const OctTestSettings &of)
{
  return std::make_tuple (of.pattern, of.wavelength_min, of.wavelength_max, of.seed,
      of.b_scans, of.flow_velocity, of.cell_rate, of.motion, of.curvature, of.line_step,
      of.b_scan_step, of.refractive_index, of.depths, of.truth_folder);
}

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
