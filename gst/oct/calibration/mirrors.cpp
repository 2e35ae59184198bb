/* Calibration found from the spectra of mirrors
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "mirrors.hpp"
#include "gridding.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <gst/gst.h>

namespace oct {
namespace {
using Values = std::vector<double>;
using Complex = std::complex<double>;
using Line = std::vector<Complex>;

/* A spectrometer's bend is one of few bends: more terms would follow noise, and leave the
 * ends, where there is little light, to it. */
const gsize degree = 5;
const guint rounds = 5;
/* Depths around a fringe's peak that are looked at: first as far as an uneven spectrum
 * smears it, then closely. */
const double first_reach = 30, reach = 6;
const double least_share = 0.1; /* of all power, in that reach */
const gsize least_depth = 6;    /* nearer lies what the lamp's spectrum leaves */

/* Of n values that lie step apart. */
void
transform_from (const Complex *x, gsize n, gsize step, const Line &roots, Complex *bins)
{
  const gsize apart = roots.size () / n;
  if (n % 2) {
    for (gsize b = 0; b < n; b++) {
      bins[b] = 0;
      for (gsize k = 0; k < n; k++)
        bins[b] += x[k * step] * roots[b * k % n * apart];
    }
    return;
  }
  transform_from (x, n / 2, 2 * step, roots, bins);
  transform_from (x + step, n / 2, 2 * step, roots, bins + n / 2);
  for (gsize b = 0; b < n / 2; b++) {
    const Complex a = bins[b], z = bins[b + n / 2], root = roots[b * apart];
    const Complex turned (z.real () * root.real () - z.imag () * root.imag (),
        z.real () * root.imag () + z.imag () * root.real ());
    bins[b] = a + turned;
    bins[b + n / 2] = a - turned;
  }
}

/* exp (sign 2 pi i k / n) for all k. */
Line
roots_of (gsize n, int sign)
{
  Line roots;
  for (gsize k = 0; k < n; k++)
    roots.push_back (std::polar (1.0, sign * 2 * G_PI * double (k) / double (n)));
  return roots;
}

/* Of any length. sign is that of the exponent. */
Line
transform (const Line &line, int sign)
{
  Line bins (line.size ());
  transform_from (
      line.data (), line.size (), 1, roots_of (line.size (), sign), bins.data ());
  return bins;
}

/* A spectrum at the samples of a map. */
Line
resampled (const Values &spectrum, const Values &map)
{
  double mean = 0;
  for (double value : spectrum)
    mean += value / double (spectrum.size ());
  Line line;
  for (double at : map)
    line.push_back (value_between (spectrum, at) - mean);
  return line;
}

gsize
peak_of (const Line &bins)
{
  gsize peak = least_depth;
  for (gsize b = least_depth; b < bins.size () / 2; b++)
    peak = std::abs (bins[b]) > std::abs (bins[peak]) ? b : peak;
  return peak;
}

double
centre_of (const Line &bins)
{
  const gsize peak = peak_of (bins);
  const gsize first = std::max<gsize> (least_depth, peak > 30 ? peak - 30 : 0);
  const gsize end = std::min (peak + 31, bins.size () / 2);
  double sum = 0, moment = 0;
  for (gsize b = first; b < end; b++) {
    sum += std::norm (bins[b]);
    moment += double (b) * std::norm (bins[b]);
  }
  return moment / sum;
}

/* The fringe of a mirror as it turns: its phase, without jumps, and its amplitude; and how
 * much of all power it has. */
struct Fringe {
  Values phase, amplitude;
  double share = 0;
};

Fringe
fringe_of (const Values &spectrum, const Values &map, bool first)
{
  const Line bins = transform (resampled (spectrum, map), -1);
  const double centre = centre_of (bins);
  const double wide =
      std::min (first ? first_reach * std::max (1.0, centre / 50) : reach, centre - 3);
  Line turning (bins.size ());
  Fringe fringe;
  double all = 0, near = 0;
  for (gsize b = 0; b < bins.size () / 2; b++) {
    const double u = std::abs (double (b) - centre) / wide;
    turning[b] = u < 1 ? bins[b] * (0.5 + 0.5 * std::cos (G_PI * u)) : 0.0;
    all += b < least_depth ? 0 : std::norm (bins[b]);
    near += u < 1 ? std::norm (bins[b]) : 0;
  }
  fringe.share = all > 0 ? near / all : 0;
  turning = transform (turning, 1);
  double before = 0;
  for (const Complex &value : turning) {
    double phase = std::arg (value);
    phase -= 2 * G_PI * std::round ((phase - before) / (2 * G_PI));
    fringe.phase.push_back (before = phase);
    fringe.amplitude.push_back (std::abs (value));
  }
  const double most =
      *std::max_element (fringe.amplitude.begin (), fringe.amplitude.end ());
  for (double &amplitude : fringe.amplitude)
    amplitude /= most;
  return fringe;
}

/* Chebyshev polynomials, from -1 to 1. */
Values
terms_at (double u)
{
  Values terms = {1, u};
  while (terms.size () <= degree)
    terms.push_back (2 * u * terms[terms.size () - 1] - terms[terms.size () - 2]);
  return terms;
}

double
share_of (double sample, gsize samples)
{
  return 2 * sample / double (samples - 1) - 1;
}

/* The polynomial nearest to `values` at samples `places`, by weighted squares: Gauss. */
Values
fit (const Values &places, const Values &values, const Values &weights)
{
  const gsize n = degree + 1;
  std::vector<Values> rows (n, Values (n + 1));
  for (gsize m = 0; m < places.size (); m++) {
    const Values terms = terms_at (share_of (places[m], places.size ()));
    const double weight = weights[m] * weights[m];
    for (gsize i = 0; i < n; i++) {
      for (gsize k = 0; k < n; k++)
        rows[i][k] += weight * terms[i] * terms[k];
      rows[i][n] += weight * terms[i] * values[m];
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
value_of (const Values &coefficients, double sample, gsize samples)
{
  const Values terms = terms_at (share_of (sample, samples));
  double value = 0;
  for (gsize i = 0; i < terms.size (); i++)
    value += coefficients[i] * terms[i];
  return value;
}

bool
fail (const char *why, GError **error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "spectra of mirrors: %s", why);
  return false;
}

/* Where the even steps of a phase lie among the samples that it is of. */
bool
map_of_phase (const Values &phase, Values &map, GError **error)
{
  const gsize last = phase.size () - 1;
  const double sign = phase[last] > phase[0] ? 1 : -1;
  gsize j = 0;
  for (gsize n = 1; n <= last; n++) {
    if (!(sign * (phase[n] - phase[n - 1]) > 0))
      return fail ("the phase of the fringe goes back and forth, expected one that turns "
                   "one way",
          error);
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

/* Phases of both together, and how much each is worth. */
struct Together {
  Values phase, weights;
};

Together
together (const Fringe &first, const Fringe &second, bool two, bool opposite)
{
  Together both;
  for (gsize m = 0; m < first.phase.size (); m++) {
    const double other = two ? second.phase[m] : 0;
    const double amplitude =
        two ? std::min (first.amplitude[m], second.amplitude[m]) : first.amplitude[m];
    both.phase.push_back (first.phase[m] + (opposite ? other : -other));
    both.weights.push_back (amplitude * amplitude > 0.05 ? amplitude * amplitude : 0);
  }
  return both;
}
} // namespace

namespace {
/* Windowed A-lines without what is in all of them. */
std::vector<Line>
prepared (const Values &lines, const Values &map)
{
  const gsize samples = map.size (), count = lines.size () / samples, most = 24;
  Values mean (samples);
  for (gsize n = 0; n < count * samples; n++)
    mean[n % samples] += lines[n] / double (count);
  std::vector<Line> chosen;
  for (gsize n = 0; n < std::min (count, most); n++) {
    const gsize line = n * count / std::min (count, most);
    Values x (samples);
    for (gsize j = 0; j < samples; j++)
      x[j] = lines[line * samples + j] - (count > 1 ? mean[j] : 0);
    chosen.push_back (resampled (x, map));
    for (gsize m = 0; m < samples; m++)
      chosen.back ()[m] *= 0.5 - 0.5 * std::cos (2 * G_PI * double (m) / (samples - 1));
  }
  return chosen;
}

/* Of the power of depths: the sum of its squares to the square of its sum. */
double
sharpness_of (
    const std::vector<Line> &lines, const Line &roots, SharpestDispersion dispersion)
{
  double sharpness = 0;
  Line turns, bins (roots.size ());
  for (gsize m = 0; m < roots.size (); m++) {
    const double q = double (m) - double (roots.size ()) / 2;
    turns.push_back (std::polar (1.0, -(dispersion.a2 + dispersion.a3 * q) * q * q));
  }
  for (Line line : lines) {
    double sum = 0, squares = 0;
    for (gsize m = 0; m < line.size (); m++)
      line[m] = line[m].real () * turns[m];
    transform_from (line.data (), line.size (), 1, roots, bins.data ());
    for (gsize b = least_depth; b < line.size () / 2; b++) {
      const double power = std::norm (bins[b]);
      sum += power;
      squares += power * power;
    }
    sharpness += sum > 0 ? squares / (sum * sum) : 0;
  }
  return sharpness;
}
} // namespace

/* First far and wide, then each coefficient in turn, ever closer. */
SharpestDispersion
sharpest_dispersion (const Values &lines, const Values &map)
{
  const std::vector<Line> chosen = prepared (lines, map);
  const double half = double (map.size ()) / 2;
  const double steps[] = {1 / (half * half), 1 / (half * half * half)}; /* 1 rad */
  const Line roots = roots_of (map.size (), -1);
  SharpestDispersion best;
  double most = sharpness_of (chosen, roots, best);
  auto look = [&] (int which, double change) {
    SharpestDispersion tried = best;
    (which ? tried.a3 : tried.a2) += change * steps[which];
    const double sharpness = sharpness_of (chosen, roots, tried);
    if (sharpness <= most)
      return false;
    most = sharpness;
    best = tried;
    return true;
  };
  SharpestDispersion widest;
  for (int radians = -90; radians <= 90; radians += 3) {
    const SharpestDispersion tried = {radians * steps[0], 0};
    const double sharpness = sharpness_of (chosen, roots, tried);
    if (sharpness > most) {
      most = sharpness;
      widest = tried;
    }
  }
  best = widest;
  for (int closer = 0; closer < 7; closer++) {
    const double step = std::ldexp (2, -closer);
    for (int n = 0, moved = 1; moved && n < 8; n++) {
      moved = 0;
      for (int which : {0, 1}) {
        for (double change : {step, -step})
          moved += look (which, change);
      }
    }
  }
  return best;
}

double
peak_width (const Values &spectrum, const Values &phase)
{
  const gsize n = spectrum.size (), fine = 16;
  double mean = 0;
  for (double value : spectrum)
    mean += value / double (n);
  Line padded (n * fine);
  for (gsize m = 0; m < n; m++)
    padded[m] = (spectrum[m] - mean)
                * (0.5 - 0.5 * std::cos (2 * G_PI * double (m) / double (n - 1)))
                * std::polar (1.0, phase.empty () ? 0.0 : -phase[m]);
  const Line bins = transform (padded, -1);
  gsize peak = least_depth * fine;
  for (gsize b = peak; b < bins.size () / 2; b++)
    peak = std::abs (bins[b]) > std::abs (bins[peak]) ? b : peak;
  gsize low = peak, high = peak;
  while (low > 0 && std::abs (bins[low]) > std::abs (bins[peak]) / 2)
    low--;
  while (high < bins.size () / 2 && std::abs (bins[high]) > std::abs (bins[peak]) / 2)
    high++;
  return double (high - low) / double (fine);
}

bool
calibration_of_mirrors (const Values &first, const Values &second, bool opposite,
    MirrorCalibration &found, GError **error)
{
  const gsize samples = first.size ();
  const bool two = !second.empty ();
  if (samples < 64 || (two && second.size () != samples))
    return fail ("expected 64 samples or more, and as many of both", error);
  Values map (samples);
  for (gsize m = 0; m < samples; m++)
    map[m] = double (m);
  found = MirrorCalibration ();
  found.width_before = peak_width (first);

  Fringe fringes[2];
  for (guint round = 0; round < rounds; round++) {
    fringes[0] = fringe_of (first, map, round == 0);
    if (two)
      fringes[1] = fringe_of (second, map, round == 0);
    const Together both = together (fringes[0], fringes[1], two, opposite);
    const Values coefficients = fit (map, both.phase, both.weights);
    Values phase;
    for (gsize j = 0; j < samples; j++)
      phase.push_back (value_of (coefficients, double (j), samples));
    if (!map_of_phase (phase, map, error))
      return false;
  }

  if (fringes[0].share < least_share || (two && fringes[1].share < least_share))
    return fail ("no fringe stands out of what else is there", error);

  /* What is not straight in the phase of the first one is dispersion. */
  fringes[0] = fringe_of (first, map, false);
  Values even (samples), weights;
  for (gsize m = 0; m < samples; m++) {
    even[m] = double (m);
    const double power = fringes[0].amplitude[m] * fringes[0].amplitude[m];
    weights.push_back (power > 0.05 ? power : 0);
  }
  if (two) {
    Values coefficients = fit (even, fringes[0].phase, weights);
    coefficients[0] = coefficients[1] = 0;
    for (gsize m = 0; m < samples; m++)
      found.dispersion.push_back (value_of (coefficients, double (m), samples));
  }
  found.map = map;
  Values calibrated;
  for (double at : map)
    calibrated.push_back (value_between (first, at));
  found.width_after = peak_width (calibrated, found.dispersion);
  return true;
}
} // namespace oct
