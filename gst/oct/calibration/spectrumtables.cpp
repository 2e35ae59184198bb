/* What octwindowinterp multiplies a spectrum with, as its kernel reads it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "spectrumtables.hpp"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <gst/gst.h>

namespace oct {
namespace {
/* Everything before was computed in double; here it is rounded, once. */
void
append (std::vector<guint32> &words, double value)
{
  float rounded = float (value);
  guint32 word;
  memcpy (&word, &rounded, sizeof word);
  words.push_back (word);
}

void
append_phase (std::vector<guint32> &words, const std::vector<double> &phase)
{
  for (double angle : phase) {
    append (words, std::cos (angle));
    append (words, -std::sin (angle));
  }
}

void
append_weights (
    std::vector<guint32> &words, const Taps &taps, const std::vector<double> &window)
{
  for (gint first : taps.first)
    words.push_back (guint32 (first));
  for (gsize n = 0; n < taps.weights.size (); n++)
    append (words, taps.weights[n] * window[n % window.size ()]);
}

/* Samples are floats on the device. */
bool
check_background_values (const SpectrumSettings &settings,
    const std::vector<double> &background, GError **error)
{
  for (gsize j = 0; j < background.size (); j++) {
    if (std::abs (background[j]) <= FLT_MAX)
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s: value %" G_GSIZE_FORMAT " is %g, expected a number that a float holds",
        settings.background.described ().c_str (), j, background[j]);
    return false;
  }
  return true;
}

bool
check_background (const SpectrumSettings &settings, GError **error)
{
  if (!settings.background_from_file)
    return true;
  if (settings.background.given ())
    return values_file_check (settings.background, error);
  g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "background is file and background-file is not set, expected the path of a file");
  return false;
}
} // namespace

bool
spectrum_settings_check (const SpectrumSettings &settings, GError **error)
{
  return calibration_check (settings.calibration, error)
         && dispersion_check (settings.dispersion, error)
         && check_background (settings, error);
}

bool
spectrum_tables_load (const SpectrumSettings &settings, gsize samples, bool complex,
    SpectrumTables &tables, GError **error)
{
  std::vector<double> map, phase, background;
  if (!check_background (settings, error)
      || !calibration_load (settings.calibration, samples, map, error)
      || !dispersion_load (settings.dispersion, samples, phase, error)
      || (settings.background_from_file
          && !(values_file_load (settings.background, samples, background, error)
               && check_background_values (settings, background, error))))
    return false;

  Taps taps = interpolation_taps (settings.interpolation, map, samples);
  tables = SpectrumTables ();
  tables.taps = taps.count;
  tables.calibrated = !map.empty ();
  if (complex)
    append_phase (tables.words, phase);
  append_weights (tables.words, taps, scaled_window_function (settings.window, samples));
  tables.background_offset = tables.words.size ();
  for (double value : background)
    append (tables.words, value);
  return true;
}
} // namespace oct
