/* Wavenumber calibration: map from even wavenumbers to samples of a spectrometer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "calibration.hpp"

#include "gridding.hpp"

#include <algorithm>
#include <cmath>
#include <gst/gst.h>

namespace oct {
namespace {
const double two_pi = 2 * G_PI;

bool
range_given (const Calibration &calibration)
{
  return calibration.wavelength_min != 0 || calibration.wavelength_max != 0;
}

bool
check_single_kind (const Calibration &calibration, GError **error)
{
  const struct {
    bool given;
    const char *name;
  } kinds[] = {
      {calibration.wavelengths.given (), "wavelengths"},
      {range_given (calibration), "wavelength-min/wavelength-max"},
      {calibration.resample_map.given (), "resample-map"},
  };
  std::string names;
  guint count = 0;
  for (const auto &kind : kinds) {
    if (!kind.given)
      continue;
    names += count++ ? " and " : "";
    names += kind.name;
  }
  if (count > 1)
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "%s are set, expected at most one of them", names.c_str ());
  return count <= 1;
}

bool
check_range (const Calibration &calibration, GError **error)
{
  if (!range_given (calibration)
      || (calibration.wavelength_min > 0 && calibration.wavelength_max > 0
          && calibration.wavelength_min != calibration.wavelength_max))
    return true;
  return REFUSE_SETTINGS (error,
      "wavelength-min %.9g and wavelength-max %.9g: expected two different values above "
      "0",
      calibration.wavelength_min, calibration.wavelength_max);
}

std::vector<double>
even_wavelengths (double first, double last, const Samples &samples)
{
  std::vector<double> wavelengths (samples.used);
  for (gsize j = 0; j < samples.used; j++)
    wavelengths[j] = first + (last - first) * (samples.first + j) / (samples.all - 1);
  return wavelengths;
}

/* Fails unless values strictly rise or fall. `quantity` names them in the plural. */
bool
check_monotone (const std::string &of, const std::vector<double> &values,
    const char *quantity, GError **error)
{
  bool rising = values.back () > values.front ();
  for (gsize j = 1; j < values.size (); j++) {
    if (rising ? values[j] > values[j - 1] : values[j] < values[j - 1])
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s: value %" G_GSIZE_FORMAT " is %.9g after %.9g, expected strictly %s %s",
        of.c_str (), j, values[j], values[j - 1], rising ? "rising" : "falling",
        quantity);
    return false;
  }
  return true;
}

/* In any unit. The limits keep wavenumbers within the range of a double. */
const double least_wavelength = 1e-100, greatest_wavelength = 1e100;

/* Reports an invalid value. `of` starts the message. */
bool
fail_at_value (
    const std::string &of, gsize j, double value, const char *expected, GError **error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "%s: value %" G_GSIZE_FORMAT " is %.9g, expected %s", of.c_str (), j, value,
      expected);
  return false;
}

/* Also fails if rounding makes wavenumbers of different wavelengths equal. */
bool
check_wavelengths (
    const std::string &of, const std::vector<double> &wavelengths, GError **error)
{
  for (gsize j = 0; j < wavelengths.size (); j++) {
    if (!(wavelengths[j] >= least_wavelength && wavelengths[j] <= greatest_wavelength))
      return fail_at_value (of, j, wavelengths[j],
          "a wavelength above 0, from 1e-100 to 1e+100 in any unit", error);
  }
  if (!check_monotone (of, wavelengths, "wavelengths", error))
    return false;
  for (gsize j = 1; j < wavelengths.size (); j++) {
    if (two_pi / wavelengths[j] == two_pi / wavelengths[j - 1])
      return fail_at_value (
          of, j, wavelengths[j], "a larger step from the previous wavelength", error);
  }
  return true;
}

/* Returns the position of each sample on the grid of even wavenumbers. */
std::vector<double>
places_of_wavelengths (const std::vector<double> &wavelengths)
{
  const double last = double (wavelengths.size () - 1);
  const double begin = 1 / wavelengths.front (), span = 1 / wavelengths.back () - begin;
  std::vector<double> places;
  places.reserve (wavelengths.size ());
  for (double wavelength : wavelengths)
    places.push_back ((1 / wavelength - begin) / span * last);
  return places;
}
} // namespace

std::vector<double>
map_of_places (const std::vector<double> &places)
{
  std::vector<double> map = places_of_map (places, places.size ());
  for (double &sample : map)
    sample = std::clamp (sample, 0.0, double (places.size () - 1));
  return map;
}

bool
check_resample_map (const std::string &of, const std::vector<double> &map, GError **error)
{
  for (gsize m = 0; m < map.size (); m++) {
    if (map[m] >= -1 && map[m] <= map.size ())
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s: value %" G_GSIZE_FORMAT
        " is %.9g, expected a sample from -1 to %" G_GSIZE_FORMAT,
        of.c_str (), m, map[m], map.size ());
    return false;
  }
  return check_monotone (of, map, "samples", error);
}

bool
map_of_chirp (const std::string &of, const std::vector<double> &places,
    std::vector<double> &map, GError **error)
{
  if (!check_monotone (of, places, "wavenumbers", error))
    return false;
  map = map_of_places (places);
  return check_resample_map (of, map, error);
}

std::vector<double>
resample_map_of_wavelengths (const std::vector<double> &wavelengths)
{
  gsize last = wavelengths.size () - 1;
  double sign = wavelengths[last] < wavelengths[0] ? 1 : -1;
  std::vector<double> k (last + 1), map (last + 1);
  for (gsize j = 0; j <= last; j++)
    k[j] = sign * two_pi / wavelengths[j]; /* rises either way */

  gsize j = 0; /* only increases, because both the table and the even grid rise */
  for (gsize m = 0; m <= last; m++) {
    double even = k[0] + (k[last] - k[0]) * m / last;
    while (j + 2 <= last && k[j + 1] <= even)
      j++;
    double r = j + (even - k[j]) / (k[j + 1] - k[j]);
    map[m] = std::clamp (r, 0.0, double (last)); /* rounding may exceed the last one */
  }
  return map;
}

bool
calibration_check (const Calibration &calibration, GError **error)
{
  return check_single_kind (calibration, error) && check_range (calibration, error)
         && values_file_check (calibration.wavelengths, error)
         && values_file_check (calibration.resample_map, error);
}

double
calibration_step (const Calibration &calibration, const Samples &samples, double unit)
{
  std::vector<double> wavelengths;
  if (calibration.resample_map.given ()
      || (calibration.wavelengths.given ()
          && !values_file_load_used (
              calibration.wavelengths, samples, wavelengths, nullptr)))
    return 0;
  if (range_given (calibration))
    wavelengths = even_wavelengths (
        calibration.wavelength_min, calibration.wavelength_max, samples);
  if (wavelengths.size () < 2)
    return 0;
  const double span = two_pi / wavelengths.front () - two_pi / wavelengths.back ();
  return std::abs (span) / (double (wavelengths.size () - 1) * unit);
}

bool
calibration_load (const Calibration &calibration, const Samples &samples,
    std::vector<double> &map, GError **error, std::vector<double> *places)
{
  map.clear ();
  if (places)
    places->clear ();
  if (!calibration_check (calibration, error))
    return false;
  if (calibration.resample_map.given ()) {
    if (!values_file_load (calibration.resample_map, samples.used, map, error)
        || !check_resample_map (calibration.resample_map.described (), map, error))
      return false;
    if (places)
      *places = places_of_map (map, samples.used);
    return true;
  }

  std::vector<double> wavelengths;
  const ValuesFile &file = calibration.wavelengths;
  const bool is_range = range_given (calibration);
  if (is_range)
    wavelengths = even_wavelengths (
        calibration.wavelength_min, calibration.wavelength_max, samples);
  else if (!file.given ())
    return true;
  else if (!values_file_load_used (file, samples, wavelengths, error))
    return false;
  if (!check_wavelengths (
          is_range ? "wavelength-min to wavelength-max" : file.described (), wavelengths,
          error))
    return false;
  map = resample_map_of_wavelengths (wavelengths);
  if (places)
    *places = places_of_wavelengths (wavelengths);
  return true;
}

bool
dispersion_check (const Dispersion &dispersion, GError **error)
{
  if (dispersion.phase.given () && (dispersion.a2 != 0 || dispersion.a3 != 0)) {
    return REFUSE_SETTINGS (error,
        "dispersion-phase %s is set together with dispersion-a2 %.9g and dispersion-a3 "
        "%.9g, expected either the file or the coefficients",
        dispersion.phase.path.c_str (), dispersion.a2, dispersion.a3);
  }
  return values_file_check (dispersion.phase, error);
}

bool
dispersion_load (const Dispersion &dispersion, gsize samples, std::vector<double> &phase,
    GError **error)
{
  if (!dispersion_check (dispersion, error))
    return false;
  if (dispersion.phase.given ())
    return values_file_load (dispersion.phase, samples, phase, error);

  phase.resize (samples);
  for (gsize m = 0; m < samples; m++) {
    double q = m - samples / 2.0;
    phase[m] = dispersion.a2 * q * q + dispersion.a3 * q * q * q;
    if (std::isfinite (phase[m]))
      continue;
    return REFUSE_SETTINGS (error,
        "dispersion-a2 %.9g, dispersion-a3 %.9g: the phase at wavenumber %" G_GSIZE_FORMAT
        " is %g, expected a finite number",
        dispersion.a2, dispersion.a3, m, phase[m]);
  }
  return true;
}
} // namespace oct
