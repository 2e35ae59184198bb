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
  return REFUSE_SETTINGS (
      error, "k-clock is set together with a calibration, expected only one of them");
}

/* Fails unless the stream has a value for each sample. */
bool
check_stream_values (
    const char *field, const std::vector<double> &values, gsize samples, GError **error)
{
  const bool finite = std::all_of (values.begin (), values.end (),
      [] (double value) { return std::abs (value) <= FLT_MAX; });
  if (values.size () == samples && finite)
    return true;
  return REFUSE_FORMAT (error,
      "GstOctCalibration event, %s: %" G_GSIZE_FORMAT
      " values%s, expected finite ones for %" G_GSIZE_FORMAT " samples of an A-line",
      field, values.size (), finite ? "" : " that are not all finite", samples);
}

/* Positions of all samples on the stream's grid of even wavenumbers */
std::vector<double>
stream_places (const SpectrumSettings &settings, gsize all)
{
  if (settings.uses_stream_map ())
    return places_of_map (settings.stream->resample_map, all);
  std::vector<double> places (all);
  for (gsize j = 0; j < all; j++)
    places[j] = double (j);
  return places;
}

/* The grid of a part of the samples goes from its first to its last sample. */
bool
load_stream_map (const SpectrumSettings &settings, const Samples &samples,
    std::vector<double> &map, std::vector<double> &places, GError **error)
{
  map = settings.stream->resample_map;
  if (!check_stream_values ("resample-map", map, samples.all, error)
      || !check_resample_map ("GstOctCalibration event, resample-map", map, error))
    return false;
  places = stream_places (settings, samples.all);
  if (samples.used == samples.all)
    return true;
  places.erase (places.begin () + gssize (samples.first + samples.used), places.end ());
  places.erase (places.begin (), places.begin () + gssize (samples.first));
  const double begin = places.front (), span = places.back () - begin;
  for (double &place : places)
    place = (place - begin) / span * double (samples.used - 1);
  map = map_of_places (places);
  return true;
}

bool
load_stream_phase (const SpectrumSettings &settings, const Samples &samples,
    std::vector<double> &phase, GError **error)
{
  const std::vector<double> &all = settings.stream->dispersion_phase;
  if (!check_stream_values ("dispersion-phase", all, samples.all, error))
    return false;
  const std::vector<double> places = stream_places (settings, samples.all);
  const double begin = places[samples.first];
  const double span = places[samples.first + samples.used - 1] - begin;
  phase.resize (samples.used);
  for (gsize m = 0; m < samples.used; m++)
    phase[m] = value_between (all, begin + span * double (m) / double (samples.used - 1));
  return true;
}

bool
check_background (const SpectrumSettings &settings, GError **error)
{
  if (!settings.background_from_file)
    return true;
  if (settings.background.given ())
    return values_file_check (settings.background, error);
  return REFUSE_SETTINGS (error,
      "background-file is not set, expected the path of a file for background=file");
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
    return REFUSE_SETTINGS (error,
        "interpolation=nufft: %" G_GSIZE_FORMAT " wavenumbers, expected at most %u",
        settings.points_of (samples) / gridding_oversampling,
        most_samples / gridding_oversampling);
  }
  samples /= settings.channels ();
  if (settings.clock != Clock::none && used < least_clocked_samples) {
    return REFUSE_SETTINGS (error,
        "k-clock: %" G_GSIZE_FORMAT " samples of each channel, expected %u or more", used,
        least_clocked_samples);
  }
  if (settings.first_sample < samples
      && settings.samples <= samples - settings.first_sample && used >= least_samples
      && (settings.padded_samples == 0 || settings.padded_samples >= used))
    return true;
  return REFUSE_SETTINGS (error,
      "first-sample %u, samples %u, padded-samples %u: expected at least %u samples "
      "within the %" G_GSIZE_FORMAT
      " of an A-line, and padded-samples 0 or at least that number",
      settings.first_sample, settings.samples, settings.padded_samples, least_samples,
      samples);
}

bool
spectrum_settings_check (const SpectrumSettings &settings, GError **error)
{
  return check_clock (settings, error) && calibration_check (settings.calibration, error)
         && dispersion_check (settings.dispersion, error)
         && window_file_check (settings.window, error)
         && check_background (settings, error);
}

double
SpectrumSettings::stream_step (gsize all_samples) const
{
  const Samples samples = used_of (all_samples);
  const auto &map = uses_stream () ? stream->resample_map : std::vector<double> ();
  if (!uses_stream () || !(stream->wavenumber_step > 0) || samples.used < 2
      || (uses_stream_map ()
          && !(map.size () == samples.all && check_resample_map ("", map, nullptr))))
    return 0;
  if (samples.used == samples.all)
    return stream->wavenumber_step;
  const std::vector<double> places = stream_places (*this, samples.all);
  const double span = places[samples.first + samples.used - 1] - places[samples.first];
  return stream->wavenumber_step * std::abs (span) / double (samples.used - 1);
}

bool
background_load (const SpectrumSettings &settings, gsize samples,
    std::vector<double> &background, GError **error)
{
  const Samples used = settings.used_of (samples);
  background.clear ();
  if (settings.background_from_file)
    return values_file_load_used (settings.background, used, background, error)
           && check_background_values (settings, background, error);
  if (!settings.background_of_stream || !settings.uses_stream_background ())
    return true;
  const std::vector<double> &all = settings.stream->background;
  if (!check_stream_values ("background", all, used.all, error))
    return false;
  for (gsize j = 0; j < used.used; j++)
    background.push_back (std::ldexp (all[used.first + j], -int (settings.shift)));
  return true;
}

/* The background is the spectrum of the source. */
static bool
load_shape (Window &window, const std::vector<double> &background,
    const std::vector<double> &map, GError **error)
{
  std::vector<double> spectrum;
  if (!window.is_shape ())
    return true;
  if (background.empty ())
    return REFUSE_SETTINGS (error,
        "window=shape, but the spectrum of the source is unknown: expected "
        "background=file, or a recording with a background, and no k-clock");
  for (gsize m = 0; m < background.size (); m++)
    spectrum.push_back (value_between (background, map.empty () ? double (m) : map[m]));
  shape_window (window, spectrum);
  return true;
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
      || !(settings.uses_stream_map ()
               ? load_stream_map (settings, used, map, places, error)
               : calibration_load (settings.calibration, used, map, error, &places))
      || !(settings.uses_stream_phase ()
               ? load_stream_phase (settings, used, phase, error)
               : dispersion_load (settings.dispersion, used.used, phase, error))
      || !background_load (settings, samples, background, error)
      || !load_shape (window,
          settings.clock == Clock::none ? background : std::vector<double> (), map,
          error))
    return false;

  tables = SpectrumTables ();
  tables.map = map;
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
