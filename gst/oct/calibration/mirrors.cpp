/* Calibration from the spectra of mirrors
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "mirrors.hpp"
#include "gridding.hpp"
#include "sharpness.hpp"
#include "windowfunction.hpp"

#include <algorithm>
#include <cmath>
#include <gst/common/recording.hpp>
#include <gst/common/npyfile.hpp>
#include <gst/gst.h>
#include <numeric>
#include <string>

namespace oct {
namespace {
using Values = std::vector<double>;

/* Wavenumber and dispersion are smooth functions of the sample. Polynomials of a higher
 * degree follow noise at the ends, where the light source is weak. */
const gsize terms = 6;
const guint rounds = 12;
const gsize least_depth = 6;    /* lower depths contain the light source's spectrum */
const double least_share = 0.1; /* of the power that passes the last filter */
const double least_weight = 0.05;
/* Part of the samples at either end where a spectrum fades in or out, and fading below which
 * its phase is not used */
const double fading_part = 0.25, least_fading = 0.2;
const double most_growth = 1.01; /* tolerance for noise when comparing peak widths */
/* Amplitude, relative to its maximum, above which a fringe is compared with the other one,
 * and least ratio of both */
const double least_bright = 0.4, least_ratio = 0.5;
/* Maximum standard error of the map, in samples, and of the dispersion, in rad. Errors up
 * to twice as large are common. The map of one mirror contains the dispersion anyway. */
const double most_error = 0.01, most_error_of_one = 0.05;

/* Band-pass filter around a fringe. It gets narrower from round to round, as unknown
 * dispersion and unequal steps of wavenumber widen the fringe at first. */
struct Filter {
  explicit Filter (guint round)
      : reach (std::max (120 * std::pow (0.75, round), narrowest)),
        search (round < 4 ? 60 : 12)
  {
  }

  static constexpr double narrowest = 8;
  double reach; /* half the width of the filter, in depths */
  gsize search; /* depths on either side of the peak that determine the centre */
};

/* The factor at a sample by which a spectrum fades at its ends. Without it, light that is
 * bright there would end in a jump, and the phase of the fringe would be wrong near it, since
 * transforms are periodic. */
double
fading_at (double sample, gsize samples)
{
  const double last = double (samples - 1);
  const double part = std::min (sample, last - sample) / (fading_part * last);
  return part < 1 ? 0.5 - 0.5 * std::cos (G_PI * std::max (part, 0.0)) : 1;
}

/* Analytic signal of a fading spectrum without its mean, with `finer` times as many samples. So
 * neither interpolation nor the mirror image of a fringe changes its phase. */
struct Signal {
  explicit Signal (const Values &spectrum);
  Complex at (double sample) const
  {
    return {
        value_between (real, finer * sample), value_between (imaginary, finer * sample)};
  }

  static constexpr gsize finer = 4;
  Values real, imaginary;
};

Signal::Signal (const Values &spectrum)
{
  const gsize n = spectrum.size ();
  const double mean =
      std::accumulate (spectrum.begin (), spectrum.end (), 0.0) / double (n);
  Line fading;
  for (gsize m = 0; m < n; m++)
    fading.push_back ((spectrum[m] - mean) * fading_at (double (m), n));
  Line bins = transform (fading, -1);
  bins[0] = 0;
  std::fill (bins.begin () + gssize (n / 2), bins.end (), 0);
  bins.resize (finer * n);
  for (const Complex &value : transform (bins, 1)) {
    real.push_back (value.real ());
    imaginary.push_back (value.imag ());
  }
}

gsize
peak_of (const Line &bins, gsize first)
{
  gsize peak = first;
  for (gsize b = first; b < bins.size () / 2; b++)
    peak = std::abs (bins[b]) > std::abs (bins[peak]) ? b : peak;
  return peak;
}

double
centre_of (const Line &bins, gsize search)
{
  const gsize peak = peak_of (bins, least_depth);
  const gsize first = std::max (least_depth, peak > search ? peak - search : 0);
  const gsize end = std::min (peak + search + 1, bins.size () / 2);
  double sum = 0, moment = 0;
  for (gsize b = first; b < end; b++) {
    sum += std::norm (bins[b]);
    moment += double (b) * std::norm (bins[b]);
  }
  return moment / sum;
}

/* Phase and amplitude of the fringe of a mirror. */
struct Fringe {
  Values phase;     /* unwrapped, in rad */
  Values amplitude; /* relative to its maximum */
  double share = 0; /* of the power of all depths that passes the filter */
  double error = 0; /* standard error of the phase from noise, in rad */
};

/* Returns the mean power of the noise in a depth, from the median of the depths outside
 * of the filter. The power of noise has an exponential distribution. */
double
noise_power (const Line &bins, double centre, double reach)
{
  Values powers;
  for (gsize b = least_depth; b < bins.size () / 2; b++) {
    if (std::abs (double (b) - centre) > 2 * reach)
      powers.push_back (std::norm (bins[b]));
  }
  if (powers.empty ())
    return 0;
  const auto middle = powers.begin () + gssize (powers.size () / 2);
  std::nth_element (powers.begin (), middle, powers.end ());
  return *middle / std::log (2);
}

/* Keeps the depths that pass the filter, shifted by `middle` to depth 0. `noise` is the
 * mean power of the noise that passes. */
Line
band_of (
    const Line &bins, const Filter &filter, gsize &middle, double &share, double &noise)
{
  const double centre = centre_of (bins, filter.search);
  const double reach = std::min (filter.reach, centre - 3);
  const gsize n = bins.size ();
  Line band (n);
  const double floor = noise_power (bins, centre, reach);
  double all = 0, passed = 0;
  noise = 0;
  middle = gsize (std::lround (centre));
  for (gsize b = 0; b < n / 2; b++) {
    const double u = std::abs (double (b) - centre) / reach;
    const double power = b < least_depth ? 0 : std::norm (bins[b]);
    const double gain = u < 1 ? 0.5 + 0.5 * std::cos (G_PI * u) : 0;
    band[(b + n - middle) % n] = bins[b] * gain;
    noise += gain * gain * floor;
    all += power;
    passed += u < 1 ? power : 0;
  }
  share = all > 0 ? passed / all : 0;
  return band;
}

/* Removes the phase sign * dispersion before the filter, so that the whole fringe passes
 * the filter. Adds it back to the result. */
Fringe
fringe_of (const Signal &signal, const Values &map, const Values &dispersion, double sign,
    const Filter &filter)
{
  Line line;
  for (gsize m = 0; m < map.size (); m++)
    line.push_back (signal.at (map[m]) * std::polar (1.0, -sign * dispersion[m]));
  Fringe fringe;
  gsize middle = 0;
  double noise = 0;
  line =
      transform (band_of (transform (line, -1), filter, middle, fringe.share, noise), 1);
  double before = 0;
  for (gsize m = 0; m < line.size (); m++) {
    const double shift = 2 * G_PI * double (middle * m) / double (line.size ());
    double phase = std::arg (line[m]);
    phase -= 2 * G_PI * std::round ((phase - before) / (2 * G_PI));
    before = phase;
    fringe.phase.push_back (phase + shift + sign * dispersion[m]);
    const double fading = fading_at (map[m], map.size ());
    fringe.amplitude.push_back (fading > least_fading ? std::abs (line[m]) / fading : 0);
  }
  const double most =
      *std::max_element (fringe.amplitude.begin (), fringe.amplitude.end ());
  double variance = 0, bright = 0;
  for (double &amplitude : fringe.amplitude) {
    amplitude /= most;
    if (amplitude * amplitude < least_weight)
      continue;
    variance += noise / (2 * most * most * amplitude * amplitude);
    bright++;
  }
  fringe.error = std::sqrt (variance / bright);
  return fringe;
}

/* Returns the first `count` Chebyshev polynomials at u, which is from -1 to 1. */
Values
polynomials_at (double u, gsize count)
{
  Values values = {1, u};
  while (values.size () < count)
    values.push_back (2 * u * values[values.size () - 1] - values[values.size () - 2]);
  return values;
}

double
unit_of (double place, gsize samples)
{
  return 2 * place / double (samples - 1) - 1;
}

/* Returns the coefficients of the polynomial that fits `values` at `places`, by weighted
 * least squares and Gauss-Jordan elimination. */
Values
fit (const Values &places, const Values &values, const Values &weights, gsize n)
{
  std::vector<Values> rows (n, Values (n + 1));
  for (gsize m = 0; m < places.size (); m++) {
    const Values at = polynomials_at (unit_of (places[m], places.size ()), n);
    const double weight = weights[m] * weights[m];
    for (gsize i = 0; i < n; i++) {
      for (gsize k = 0; k < n; k++)
        rows[i][k] += weight * at[i] * at[k];
      rows[i][n] += weight * at[i] * values[m];
    }
  }
  for (gsize i = 0; i < n; i++) {
    for (gsize k = 0; k < n; k++) {
      const double factor = k == i ? 0 : rows[k][i] / rows[i][i];
      for (gsize c = i; c <= n; c++)
        rows[k][c] -= factor * rows[i][c];
    }
  }
  Values coefficients;
  for (gsize i = 0; i < n; i++)
    coefficients.push_back (rows[i][n] / rows[i][i]);
  return coefficients;
}

double
value_of (const Values &coefficients, double place, gsize samples)
{
  const Values at = polynomials_at (unit_of (place, samples), coefficients.size ());
  double value = 0;
  for (gsize i = 0; i < coefficients.size (); i++)
    value += coefficients[i] * at[i];
  return value;
}

bool
fail (const std::string &why, GError **error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "mirror spectra: %s", why.c_str ());
  return false;
}

/* Finds the samples, with fractions, that divide the phase into even steps. */
bool
map_of_phase (const Values &phase, Values &map, GError **error)
{
  const gsize last = phase.size () - 1;
  const double sign = phase[last] > phase[0] ? 1 : -1;
  gsize j = 0;
  for (gsize n = 1; n <= last; n++) {
    if (!(sign * (phase[n] - phase[n - 1]) > 0))
      return fail ("the phase of the fringe is not monotone", error);
  }
  for (gsize m = 0; m <= last; m++) {
    const double wanted =
        phase[0] + (phase[last] - phase[0]) * double (m) / double (last);
    while (j + 2 <= last && sign * (phase[j + 1] - wanted) <= 0)
      j++;
    map[m] = std::clamp (
        double (j) + (wanted - phase[j]) / (phase[j + 1] - phase[j]), 0.0, double (last));
  }
  return true;
}

/* Iterative estimate of map and dispersion from one or two mirrors */
class Estimate {
public:
  Estimate (const Values &first, const Values &second, bool opposite);

  /* Refines the estimate. The present estimate narrows the fringes first. */
  bool refine (const Filter &filter, GError **error);

  /* Fails if a fringe is too weak or too close to either end of the depth range, or if
   * the estimate makes a peak wider. Sets the peak widths of the first mirror. */
  bool check (MirrorCalibration &found, GError **error) const;

  Values map, dispersion;
  double map_error = 0, dispersion_error = 0; /* see MirrorCalibration */

private:
  struct Mirror {
    Values spectrum;
    double sign; /* sign of the dispersion in the phase */
    Signal signal;
    Fringe fringe;
  };

  void find_weights ();
  Values combined (double first, double second) const;
  Values places_of (const Values &wavenumbers) const;
  void find_dispersion (const Values &places);
  bool check_depths (gsize n, GError **error) const;
  bool check_amplitudes (GError **error) const;
  bool check_errors (GError **error) const;
  void find_errors (const Values &places);
  void measure (const Mirror &mirror, double &before, double &after) const;

  std::vector<Mirror> mirrors;
  Values weights; /* weight of each map entry, from the amplitude of the fringes */
};

Estimate::Estimate (const Values &first, const Values &second, bool opposite)
    : map (first.size ()), dispersion (first.size ()), weights (first.size ())
{
  mirrors.push_back ({first, 1, Signal (first), {}});
  if (!second.empty ())
    mirrors.push_back ({second, opposite ? -1.0 : 1.0, Signal (second), {}});
  for (gsize m = 0; m < map.size (); m++)
    map[m] = double (m);
}

bool
Estimate::refine (const Filter &filter, GError **error)
{
  for (Mirror &mirror : mirrors)
    mirror.fringe = fringe_of (mirror.signal, map, dispersion, mirror.sign, filter);
  find_weights ();
  /* Two mirrors: the sum or difference is free of dispersion. */
  const Values phases = combined (1, mirrors.size () > 1 ? -mirrors[1].sign : 0);
  const Values wavenumbers = fit (map, phases, weights, terms);
  const Values places = places_of (wavenumbers);
  Values phase;
  for (gsize j = 0; j < map.size (); j++)
    phase.push_back (value_of (wavenumbers, double (j), map.size ()));
  if (!map_of_phase (phase, map, error))
    return false;
  if (mirrors.size () > 1)
    find_dispersion (places);
  find_errors (places);
  return true;
}

void
Estimate::find_weights ()
{
  for (gsize m = 0; m < weights.size (); m++) {
    double weight = 1;
    for (const Mirror &mirror : mirrors)
      weight = std::min (weight, mirror.fringe.amplitude[m]);
    weights[m] = weight * weight > least_weight ? weight : 0;
  }
}

/* Returns a weighted sum of the phases of both fringes. */
Values
Estimate::combined (double first, double second) const
{
  Values sum;
  for (gsize m = 0; m < map.size (); m++)
    sum.push_back (first * mirrors[0].fringe.phase[m]
                   + (mirrors.size () > 1 ? second * mirrors[1].fringe.phase[m] : 0));
  return sum;
}

/* Returns the position of each entry of the map on the even grid of `wavenumbers`. */
Values
Estimate::places_of (const Values &wavenumbers) const
{
  const double last = double (map.size () - 1);
  const double low = value_of (wavenumbers, 0, map.size ());
  const double high = value_of (wavenumbers, last, map.size ());
  Values places;
  for (double sample : map)
    places.push_back (
        (value_of (wavenumbers, sample, map.size ()) - low) / (high - low) * last);
  return places;
}

/* Each phase is depth * wavenumber + dispersion. Weighting each by the other mirror's
 * depth and subtracting leaves only dispersion. Constant and slope only shift depths, so
 * they are removed. */
void
Estimate::find_dispersion (const Values &places)
{
  const double first = fit (places, mirrors[0].fringe.phase, weights, 2)[1];
  const double second = fit (places, mirrors[1].fringe.phase, weights, 2)[1];
  const double scale = second - mirrors[1].sign * first;
  const Values phases = combined (second / scale, -first / scale);
  Values coefficients = fit (places, phases, weights, terms);
  coefficients[0] = coefficients[1] = 0;
  for (gsize m = 0; m < dispersion.size (); m++)
    dispersion[m] = value_of (coefficients, double (m), dispersion.size ());
}

/* Propagates the errors of the phases. Places are in radians per even wavenumber. */
void
Estimate::find_errors (const Values &places)
{
  auto depth = [&] (const Mirror &mirror) {
    return std::abs (fit (places, mirror.fringe.phase, weights, 2)[1]) * 2
           / double (map.size () - 1);
  };
  const Mirror &one = mirrors[0];
  if (mirrors.size () == 1) {
    map_error = one.fringe.error / depth (one);
    return;
  }
  const Mirror &other = mirrors[1];
  const double first = depth (one), second = depth (other);
  const double apart = std::abs (second - other.sign * first);
  map_error = std::hypot (one.fringe.error, other.fringe.error) / apart;
  dispersion_error =
      std::hypot (second * one.fringe.error, first * other.fringe.error) / apart;
}

/* Fails if a fringe reaches zero delay or half the sampling rate. It is aliased there,
 * and its phase is no longer that of wavenumber and dispersion. */
bool
Estimate::check_depths (gsize n, GError **error) const
{
  const Fringe &fringe = mirrors[n].fringe;
  const double samples = double (map.size ());
  double least = samples, most = 0;
  for (gsize m = 1; m < map.size (); m++) {
    const double step = (fringe.phase[m] - fringe.phase[m - 1]) / (map[m] - map[m - 1]);
    if (weights[m] > 0 && weights[m - 1] > 0) {
      least = std::min (least, step * samples / (2 * G_PI));
      most = std::max (most, step * samples / (2 * G_PI));
    }
  }
  if (least >= Filter::narrowest && most <= samples / 2 - Filter::narrowest)
    return true;
  return fail ("the fringe of mirror " + std::to_string (n + 1) + " extends from depth "
                   + std::to_string (gint (std::floor (least))) + " to "
                   + std::to_string (gint (std::ceil (most))) + ", expected depths from "
                   + std::to_string (gint (Filter::narrowest)) + " to "
                   + std::to_string (gint (samples / 2 - Filter::narrowest))
                   + ": move the mirror",
      error);
}

/* Fails if a fringe is much weaker than the other one in a part of the spectrum. There it
 * is aliased and does not pass the filter, or it is not of the same light. */
bool
Estimate::check_amplitudes (GError **error) const
{
  for (gsize m = 0; m < map.size () && mirrors.size () > 1; m++) {
    const double first = mirrors[0].fringe.amplitude[m];
    const double second = mirrors[1].fringe.amplitude[m];
    const double more = std::max (first, second), less = std::min (first, second);
    if (more < least_bright || less > least_ratio * more)
      continue;
    return fail ("the fringe of mirror " + std::to_string (first < second ? 1 : 2)
                     + " fades at sample " + std::to_string (std::lround (map[m]))
                     + ", where the other one is bright: move the mirror nearer to zero "
                       "delay",
        error);
  }
  return true;
}

/* Fails if noise makes the result inaccurate. Fringes of mirrors on the same side of zero
 * delay must differ in depth. */
bool
Estimate::check_errors (GError **error) const
{
  char text[256];
  const double most = mirrors.size () > 1 ? most_error : most_error_of_one;
  if (map_error <= most && dispersion_error <= most)
    return true;
  g_snprintf (text, sizeof text,
      "noise makes the map uncertain by %.2g samples and the dispersion by %.2g rad, "
      "expected %g or less: average more A-lines, or move the mirrors further apart",
      map_error, dispersion_error, most);
  return fail (text, error);
}

void
Estimate::measure (const Mirror &mirror, double &before, double &after) const
{
  Values calibrated, phase;
  for (gsize m = 0; m < map.size (); m++) {
    calibrated.push_back (value_between (mirror.spectrum, map[m]));
    phase.push_back (mirror.sign * dispersion[m]);
  }
  before = peak_width (mirror.spectrum);
  after = peak_width (calibrated, phase);
}

bool
Estimate::check (MirrorCalibration &found, GError **error) const
{
  for (gsize n = 0; n < mirrors.size (); n++) {
    double before = 0, after = 0;
    char text[128];
    if (mirrors[n].fringe.share < least_share)
      return fail ("no fringe found above the noise", error);
    if (!check_depths (n, error))
      return false;
    measure (mirrors[n], before, after);
    if (!(after <= most_growth * before)) {
      g_snprintf (text, sizeof text,
          "the calibration widens the peak of mirror %d from %.2f to %.2f depths",
          int (n + 1), before, after);
      return fail (text, error);
    }
    if (n == 0) {
      found.width_before = before;
      found.width_after = after;
    }
  }
  return check_amplitudes (error) && check_errors (error);
}
} // namespace

double
peak_width (const Values &spectrum, const Values &phase)
{
  const gsize n = spectrum.size (), fine = 16, end = n * fine / 2;
  double mean = 0;
  for (double value : spectrum)
    mean += value / double (n);
  const Values window = window_function (WindowFunction::hann, n);
  Line padded (n * fine);
  for (gsize m = 0; m < n; m++)
    padded[m] = (spectrum[m] - mean) * window[m]
                * std::polar (1.0, phase.empty () ? 0.0 : -phase[m]);
  const Line bins = transform (padded, -1);
  auto height = [&] (gsize b) { return std::abs (bins[b]); };
  const double half = height (peak_of (bins, least_depth * fine)) / 2;
  gsize low = least_depth * fine, high = end - 1;
  while (height (low) < half)
    low++;
  while (height (high) < half)
    high--;
  /* Fraction of a bin at which the height falls to half */
  auto part = [&] (gsize above, gsize below) {
    return height (below) < half
               ? (height (above) - half) / (height (above) - height (below))
               : 0;
  };
  return (double (high - low) + part (low, low - 1) + part (high, high + 1))
         / double (fine);
}

bool
calibration_of_mirrors (const Values &first, const Values &second, bool opposite,
    MirrorCalibration &found, GError **error)
{
  if (first.size () < 64 || (!second.empty () && second.size () != first.size ()))
    return fail (second.empty ()
                     ? std::to_string (first.size ()) + " samples, expected at least 64"
                     : std::to_string (first.size ()) + " and "
                           + std::to_string (second.size ())
                           + " samples, expected at least 64, and the same number in "
                             "both spectra",
        error);
  if (second == first)
    return fail ("both mirrors have the same spectrum: record the second one at another "
                 "depth",
        error);
  found = MirrorCalibration ();
  Estimate estimate (first, second, opposite);
  for (guint round = 0; round < rounds; round++) {
    if (!estimate.refine (Filter (round), error))
      return false;
  }
  if (!estimate.check (found, error))
    return false;
  found.map = estimate.map;
  found.map_error = estimate.map_error;
  found.dispersion_error = estimate.dispersion_error;
  if (!second.empty ())
    found.dispersion = estimate.dispersion;
  return true;
}

namespace {
/* Returns the depth of a mirror with the calibration, in depth bins with fractions: the
 * vertex of a parabola through the logarithms of the peak. */
double
depth_of (const Values &spectrum, const MirrorCalibration &calibration, double sign)
{
  const gsize n = spectrum.size ();
  const Values window = window_function (WindowFunction::hann, n);
  Line line;
  for (gsize m = 0; m < n; m++) {
    const double phase =
        calibration.dispersion.empty () ? 0 : sign * calibration.dispersion[m];
    line.push_back (window[m] * value_between (spectrum, calibration.map[m])
                    * std::polar (1.0, -phase));
  }
  const Line bins = transform (line, -1);
  const gsize peak = std::max<gsize> (peak_of (bins, least_depth), 1);
  const auto level = [&] (gsize b) {
    return std::log (std::norm (bins[b]) + G_MINDOUBLE);
  };
  return double (peak) + vertex_of (level (peak - 1), level (peak), level (peak + 1));
}

/* Fits position = zero + step * depth, by least squares. */
void
fit_line (const Values &depths, const Values &positions, double &zero, double &step)
{
  const double n = double (depths.size ());
  const double depth = std::accumulate (depths.begin (), depths.end (), 0.0) / n;
  const double position = std::accumulate (positions.begin (), positions.end (), 0.0) / n;
  double product = 0, square = 0;
  for (gsize i = 0; i < depths.size (); i++) {
    product += (depths[i] - depth) * (positions[i] - position);
    square += (depths[i] - depth) * (depths[i] - depth);
  }
  step = product / square;
  zero = position - step * depth;
}
} // namespace

bool
depth_scale_of_mirrors (const std::vector<Values> &spectra, const Values &positions,
    bool opposite, const MirrorCalibration &calibration, DepthScale &found,
    GError **error)
{
  Values depths, known;
  double zero = 0, step = 0;
  for (gsize n = 0; n < spectra.size (); n++) {
    const double side = n == 1 && opposite ? -1 : 1;
    double depth = side * depth_of (spectra[n], calibration, side);
    const double other = -depth_of (spectra[n], calibration, -1);
    if (n > 1
        && std::fabs (zero + step * other - positions[n])
               < std::fabs (zero + step * depth - positions[n]))
      depth = other;
    depths.push_back (depth);
    known.push_back (positions[n]);
    if (n == 0)
      continue;
    if (n == 1 && !(std::fabs (depths[0] - depth) >= 1 && known[0] != known[1]))
      return fail ("the first two mirrors have the same depth or position, expected a "
                   "distance",
          error);
    fit_line (depths, known, zero, step);
  }
  for (gsize n = 0; n < depths.size (); n++)
    found.residuals.push_back (positions[n] - zero - step * depths[n]);
  found.step = std::fabs (step);
  return true;
}

bool
write_npy (const std::string &path, const std::vector<double> &values, GError **error)
{
  std::string bytes =
      opencl::npy_make_header (opencl::NumberType::f64, false, {values.size ()});
  bytes.append (
      reinterpret_cast<const char *> (values.data ()), values.size () * sizeof values[0]);
  return opencl::write_file (path, bytes, error);
}

bool
write_settings (const std::string &folder, const std::string &settings, GError **error)
{
  return opencl::write_file (folder + "/settings.txt", settings, error);
}

bool
write_calibration (const std::string &folder, const MirrorCalibration &found, bool phase,
    std::string &settings, GError **error)
{
  /* Names beside settings.txt: a folder's name may have a newline. */
  settings += "resample-map=resample-map.npy\n";
  if (phase)
    settings += "dispersion-phase=dispersion-phase.npy\n";
  return write_npy (folder + "/resample-map.npy", found.map, error)
         && (!phase
             || write_npy (folder + "/dispersion-phase.npy", found.dispersion, error))
         && write_settings (folder, settings, error);
}
} // namespace oct
