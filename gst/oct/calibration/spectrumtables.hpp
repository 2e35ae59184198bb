/* What octwindowinterp multiplies a spectrum with, as its kernel reads it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "calibration.hpp"
#include "dispersion.hpp"
#include "interpolation.hpp"
#include "windowfunction.hpp"

namespace oct {
/* As the properties give it. */
struct SpectrumSettings {
  Calibration calibration;
  Interpolation interpolation = Interpolation::linear;
  WindowFunction window = WindowFunction::hann;
  Dispersion dispersion;
  bool background_from_file = false;
  ValuesFile background{"background-file", ""};
};

/* One after the other: for a complex spectrum (cos, -sin) of the phase of each point; the
 * sample of each point's first tap, as integers; the weights of taps and window together,
 * all points of tap 0, then all of tap 1, …; the background, where it comes from a file.
 */
struct SpectrumTables {
  gsize taps = 0;
  bool calibrated = false;
  gsize background_offset = 0; /* in words */
  std::vector<guint32> words;  /* float32 or int32 */
};

/* What can be said before the number of samples is known. */
bool spectrum_settings_check (const SpectrumSettings &settings, GError **error);

bool spectrum_tables_load (const SpectrumSettings &settings, gsize samples, bool complex,
    SpectrumTables &tables, GError **error);
} // namespace oct
