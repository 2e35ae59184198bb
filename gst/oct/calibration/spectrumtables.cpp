/* What octwindowinterp multiplies a spectrum with, as its kernel reads it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "spectrumtables.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>
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
append_taps (std::vector<guint32> &words, const std::vector<gint> &first)
{
  for (gint sample : first)
    words.push_back (guint32 (sample));
}

void
append_weights (
    std::vector<guint32> &words, const Taps &taps, const std::vector<double> &window)
{
  append_taps (words, taps.first);
  for (gsize n = 0; n < taps.weights.size (); n++)
    append (words, taps.weights[n] * window[n % window.size ()]);
}

/* What each sample is multiplied with before it is spread. */
std::vector<std::complex<double>>
factors_of (const SpectrumSettings &settings, const std::vector<double> &places,
    const std::vector<double> &phase, double scale)
{
  const double last = double (places.size () - 1);
  const std::vector<double> density = density_of (places);
  std::vector<std::complex<double>> factors;
  for (gsize j = 0; j < places.size (); j++)
    factors.push_back (
        std::polar (1.0, -value_between (phase, places[j]))
        * (scale * density[j]
            * settings.window.at (std::clamp (places[j] / last, 0.0, 1.0))));
  return factors;
}

/* As scaled_window_function() has it. */
double
scale_of (const Window &window, gsize samples)
{
  double sum = 0;
  for (gsize m = 0; m < samples; m++)
    sum += window.at (double (m) / double (samples - 1));
  return 2 / sum;
}

bool
append_grid (const SpectrumSettings &settings, const std::vector<double> &places,
    const std::vector<double> &phase, bool complex, SpectrumTables &tables,
    GError **error)
{
  const gsize samples = places.size ();
  const auto factors =
      factors_of (settings, places, phase, scale_of (settings.window, samples));
  Grid grid;
  if (!make_grid (
          places, std::max<gsize> (samples, settings.padded_samples), grid, error))
    return false;
  tables.taps = grid.count;
  tables.points = grid.points;
  append_taps (tables.words, grid.first);
  for (gsize n = 0; n < grid.weights.size (); n++) {
    const gsize point = n % grid.points, tap = n / grid.points;
    const gsize sample = gsize (grid.first[point] + gssize (samples + tap)) % samples;
    const std::complex<double> weight = grid.weights[n] * factors[sample];
    append (tables.words, weight.real ());
    if (complex)
      append (tables.words, weight.imag ());
  }
  return true;
}

/* Of what it is padded with nothing is taken. */
Taps
padded (const Taps &taps, gsize points)
{
  const gsize samples = taps.first.size ();
  Taps all{taps.count, taps.first, std::vector<double> (taps.count * points)};
  all.first.resize (points, 0);
  for (gsize tap = 0; tap < taps.count; tap++)
    std::copy_n (taps.weights.begin () + gssize (tap * samples), samples,
        all.weights.begin () + gssize (tap * points));
  return all;
}

void
append_even (const SpectrumSettings &settings, const std::vector<double> &map,
    std::vector<double> phase, bool complex, SpectrumTables &tables)
{
  const gsize samples = phase.size ();
  const Taps taps = interpolation_taps (settings.interpolation, map, samples);
  std::vector<double> window = scaled_window_function (settings.window, samples);
  tables.taps = taps.count;
  tables.points = std::max<gsize> (samples, settings.padded_samples);
  phase.resize (tables.points);
  window.resize (tables.points);
  if (complex)
    append_phase (tables.words, phase);
  append_weights (tables.words, padded (taps, tables.points), window);
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
check_clock (const SpectrumSettings &settings, GError **error)
{
  if (settings.clock == Clock::none || !settings.calibration.given ())
    return true;
  g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "k-clock and a calibration are set, expected one of them: a clock tells where each "
      "sample lies");
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
      "background is file and background-file is not set, expected the path of a file");
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
        "interpolation is nufft with %" G_GSIZE_FORMAT
        " wavenumbers, expected %u at most",
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
      "first-sample is %u, samples is %u and padded-samples is %u, expected %u or more "
      "among the %" G_GSIZE_FORMAT " of an A-line, and no fewer padded than those",
      settings.first_sample, settings.samples, settings.padded_samples, least_samples,
      samples);
  return false;
}

bool
spectrum_settings_check (const SpectrumSettings &settings, GError **error)
{
  return check_clock (settings, error) && calibration_check (settings.calibration, error)
         && dispersion_check (settings.dispersion, error)
         && check_background (settings, error);
}

bool
spectrum_tables_load (const SpectrumSettings &settings, gsize samples, bool complex,
    SpectrumTables &tables, GError **error)
{
  std::vector<double> map, places, phase, background;
  const Samples used = settings.used_of (samples);
  if (!spectrum_samples_check (settings, samples, error) || !check_clock (settings, error)
      || !check_background (settings, error)
      || !window_check (settings.window, used.used, error)
      || !calibration_load (settings.calibration, used, map, error, &places)
      || !dispersion_load (settings.dispersion, used.used, phase, error)
      || (settings.background_from_file
          && !(values_file_load_used (settings.background, used, background, error)
               && check_background_values (settings, background, error))))
    return false;

  tables = SpectrumTables ();
  tables.calibrated = !map.empty ();
  if (!settings.gridded ())
    append_even (settings, map, phase, complex, tables);
  else if (!append_grid (settings, places, phase, complex, tables, error))
    return false;
  tables.background_offset = tables.words.size ();
  for (double value : background)
    append (tables.words, value);
  return true;
}
} // namespace oct
