/* Tables of window, resampling and dispersion for the kernel of octwindowinterp
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "spectrumtables.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <gst/gst.h>

namespace oct {
namespace {
/* Rounds to float only here. All computations use double. */
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

/* Padding points have zero weights. */
void
append_taps (std::vector<guint32> &words, const Taps &taps,
    const std::vector<double> &window, gsize points)
{
  for (gsize point = 0; point < points; point++)
    words.push_back (point < taps.first.size () ? guint32 (taps.first[point]) : 0);
  for (gsize tap = 0; tap < taps.count; tap++) {
    for (gsize point = 0; point < window.size (); point++)
      append (words, taps.weights[tap * window.size () + point] * window[point]);
    words.resize (words.size () + points + weight_gap - window.size ());
  }
}

/* Resamples a table of even wavenumbers to `points` points. */
std::vector<double>
oversampled (const std::vector<double> &table, gsize points)
{
  std::vector<double> values (points);
  for (gsize n = 0; n < points; n++)
    values[n] = value_between (
        table, double (n) * double (table.size () - 1) / double (points - 1));
  return values;
}

void
append_spectrum (const SpectrumSettings &settings, const Window &window, const Taps &taps,
    const std::vector<double> &phase, bool complex, SpectrumTables &tables)
{
  const gsize samples = phase.size (), points = taps.first.size ();
  tables.taps = taps.count;
  tables.points =
      settings.oversampling () * std::max<gsize> (samples, settings.padded_samples);
  if (complex) {
    std::vector<double> angles = oversampled (phase, points);
    angles.resize (tables.points);
    append_phase (tables.words, angles);
  }
  append_taps (tables.words, taps,
      scaled_window_function (window, samples, settings.oversampling ()), tables.points);
}

/* The device stores the background as float. */
bool
check_background_values (const SpectrumSettings &settings,
    const std::vector<double> &background, GError **error)
{
  for (gsize j = 0; j < background.size (); j++) {
    if (std::abs (background[j]) <= FLT_MAX)
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s: value %" G_GSIZE_FORMAT
        " is %g, expected a number within the range of float32",
        settings.background.described ().c_str (), j, background[j]);
    return false;
  }
  return true;
}

bool
check_clock (const SpectrumSettings &settings, GError **error)
{
  if (settings.clock == Clock::none || !settings.calibration.given ())
    return true;
  g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "k-clock is set together with a calibration, expected only one of them");
  return false;
}

bool
check_background (const SpectrumSettings &settings, GError **error)
{
  if (!settings.background_from_file)
    return true;
  if (settings.background.given ())
    return values_file_check (settings.background, error);
  g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "background-file is not set, expected the path of a file for background=file");
  return false;
}
} // namespace

Samples
SpectrumSettings::used_of (gsize samples_of_line) const
{
  const gsize all = std::max<gsize> (samples_of_line / channels (), 1);
  const gsize first = std::min<gsize> (first_sample, all - 1);
  const gsize rest = all - first;
  return {all, first, samples > 0 ? std::min<gsize> (samples, rest) : rest};
}

bool
spectrum_samples_check (const SpectrumSettings &settings, gsize samples, GError **error)
{
  const gsize used = settings.used_of (samples).used;
  if (settings.gridded () && settings.points_of (samples) > most_samples) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "interpolation=nufft: %" G_GSIZE_FORMAT " wavenumbers, expected at most %u",
        settings.points_of (samples) / gridding_oversampling,
        most_samples / gridding_oversampling);
    return false;
  }
  samples /= settings.channels ();
  if (settings.clock != Clock::none && used < least_clocked_samples) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "k-clock: %" G_GSIZE_FORMAT " samples of each channel, expected %u or more", used,
        least_clocked_samples);
    return false;
  }
  if (settings.first_sample < samples
      && settings.samples <= samples - settings.first_sample && used >= least_samples
      && (settings.padded_samples == 0 || settings.padded_samples >= used))
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "first-sample %u, samples %u, padded-samples %u: expected at least %u samples "
      "within the %" G_GSIZE_FORMAT
      " of an A-line, and padded-samples 0 or at least that number",
      settings.first_sample, settings.samples, settings.padded_samples, least_samples,
      samples);
  return false;
}

bool
spectrum_settings_check (const SpectrumSettings &settings, GError **error)
{
  return check_clock (settings, error) && calibration_check (settings.calibration, error)
         && dispersion_check (settings.dispersion, error)
         && window_file_check (settings.window, error)
         && check_background (settings, error);
}

bool
spectrum_tables_load (const SpectrumSettings &settings, gsize samples, bool complex,
    SpectrumTables &tables, GError **error)
{
  std::vector<double> map, places, phase, background;
  Window window = settings.window;
  const Samples used = settings.used_of (samples);
  if (!spectrum_samples_check (settings, samples, error) || !check_clock (settings, error)
      || !check_background (settings, error) || !window_load (window, used.used, error)
      || !window_check (window, used.used, error)
      || !calibration_load (settings.calibration, used, map, error, &places)
      || !dispersion_load (settings.dispersion, used.used, phase, error)
      || (settings.background_from_file
          && !(values_file_load_used (settings.background, used, background, error)
               && check_background_values (settings, background, error))))
    return false;

  tables = SpectrumTables ();
  tables.calibrated = !map.empty ();
  append_spectrum (settings, window,
      settings.gridded () ? grid_taps (places)
                          : interpolation_taps (settings.interpolation, map, used.used),
      phase, complex, tables);
  tables.background_offset = tables.words.size ();
  for (double value : background)
    append (tables.words, value);
  return true;
}
} // namespace oct
