/* Peak, width and noise of an A-scan, and sensitivity roll-off over several of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "peak.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oct {
namespace {
const double unknown = std::numeric_limits<double>::quiet_NaN ();
const gint reach = 16;           /* bins to each side of a peak that interpolation uses */
const double search_step = 0.05; /* bins */
/* Side lobes and skirts of a peak, in bins and in widths of the peak, are not noise. */
const double least_guard = 16, guard_widths = 4;
const gsize least_noise_bins = 8;
/* A peak stands out if, on both sides of it and at these distances in bins and in widths,
 * no intensity is above a tenth (10 dB) of its own or beyond what noise alone reaches. */
const double beside_bins = 8, beside_widths = 1.5, beside_level = 0.1,
             noise_deviations = 7;
/* Magnitudes alone do not show narrower peaks. */
const double least_width_of_magnitudes = 1.6;
/* Side lobes begin below this fraction of a peak. */
const double side_lobe_level = 0.3;
const gint side_lobe_choices = 3;

double
decibels (double intensity)
{
  return 10 * std::log10 (std::max (intensity, 1e-30));
}

double
sinc (double x)
{
  return x == 0 ? 1 : std::sin (G_PI * x) / (G_PI * x);
}

/* Intensity as a function of a fractional index into an A-scan, near one of its peaks */
class Interpolation {
public:
  Interpolation (const AScan &scan, gint peak) : scan (scan), peak (peak)
  {
    if (scan.complex)
      take_intensities ();
    else
      take_amplitudes ();
  }

  double at (double place) const
  {
    if (std::abs (place - peak) > reach / 2.0)
      return between (place);
    double sum = 0;
    for (gsize n = 0; n < values.size (); n++)
      sum += values[n] * sinc ((place - first) / step - double (n));
    return scan.complex ? std::max (sum, 0.0) : sum * sum;
  }

private:
  double intensity (gint index) const
  {
    return index < 0 || gsize (index) >= scan.intensities.size ()
               ? 0
               : scan.intensities[gsize (index)];
  }
  double between (double place) const
  {
    const double before = std::floor (place);
    return intensity (gint (before))
           + (place - before)
                 * (intensity (gint (before) + 1) - intensity (gint (before)));
  }

  /* Intensities are band-limited to twice the band of complex depths, and therefore need
   * two values per bin. */
  void take_intensities ()
  {
    first = scan.fine_first;
    step = 0.5;
    for (gsize n = 0; n < scan.fine.size (); n++) {
      values.push_back (intensity (scan.fine_first + gint (n)));
      values.push_back (scan.fine[n]);
    }
  }

  /* A peak without dispersion is real and even except for a linear phase, so that its
   * amplitudes are band-limited if their signs are known. Signs alternate from the first
   * side lobe on, from bin to bin. The choice of the first lobe that makes the amplitudes
   * between bins smallest is the right one. */
  void take_amplitudes ()
  {
    std::vector<double> amplitudes;
    for (gint n = -reach; n <= reach; n++)
      amplitudes.push_back (std::sqrt (intensity (peak + n)));
    first = peak - reach;
    step = 1;
    const gint left = lobe_of (amplitudes, -1), right = lobe_of (amplitudes, 1);
    double least = INFINITY;
    for (gint l = left; l < left + side_lobe_choices; l++) {
      for (gint r = right; r < right + side_lobe_choices; r++) {
        std::vector<double> tried = with_signs (amplitudes, l, r);
        const double sum = sum_between (tried);
        if (sum < least) {
          least = sum;
          values = std::move (tried);
        }
      }
    }
  }

  /* Number of bins from the peak to the first one that may be in a side lobe */
  static gint lobe_of (const std::vector<double> &amplitudes, gint direction)
  {
    gint n = 1;
    while (n < reach
           && amplitudes[gsize (reach + direction * n)]
                  >= side_lobe_level * amplitudes[gsize (reach)])
      n++;
    return n;
  }

  static std::vector<double> with_signs (
      std::vector<double> values, gint left, gint right)
  {
    for (gint n = -reach; n <= reach; n++) {
      const gint lobe = n < 0 ? -n - left : n - right;
      if (lobe >= 0 && lobe % 2 == 0)
        values[gsize (reach + n)] *= -1;
    }
    return values;
  }

  static double sum_between (const std::vector<double> &values)
  {
    double sum = 0;
    for (gsize at = 0; at + 1 < values.size (); at++) {
      double value = 0;
      for (gsize n = 0; n < values.size (); n++)
        value += values[n] * sinc (double (at) + 0.5 - double (n));
      sum += std::abs (value);
    }
    return sum;
  }

  const AScan &scan;
  const gint peak;
  double first = 0, step = 1; /* index of the first of the values, and between them */
  std::vector<double> values; /* intensities, or amplitudes with a sign */
};

double
highest_place (const Interpolation &curve, gint peak)
{
  double place = peak, most = curve.at (peak);
  for (double tried = peak - 1.0; tried <= peak + 1.0; tried += search_step) {
    if (curve.at (tried) > most) {
      most = curve.at (tried);
      place = tried;
    }
  }
  for (double step = search_step / 2; step > 1e-5; step /= 2) {
    for (double tried : {place - step, place + step}) {
      if (curve.at (tried) > most) {
        most = curve.at (tried);
        place = tried;
      }
    }
  }
  return place;
}

/* Distance from the peak to where the intensity falls to `level`; NaN if it does not
 * before the end of the A-scan */
double
distance_to (
    const Interpolation &curve, double place, double level, double direction, double most)
{
  double above = 0, below = search_step;
  while (curve.at (place + direction * below) > level) {
    above = below;
    below += search_step;
    if (below > most)
      return unknown;
  }
  while (below - above > 1e-6) {
    const double middle = (above + below) / 2;
    (curve.at (place + direction * middle) > level ? above : below) = middle;
  }
  return (above + below) / 2;
}

double
width_at (const AScan &scan, const Interpolation &curve, double place, double fraction)
{
  const double level = fraction * curve.at (place);
  const double last = double (scan.intensities.size ()) - 1;
  const double width = distance_to (curve, place, level, -1, place)
                       + distance_to (curve, place, level, 1, last - place);
  return !scan.complex && width < least_width_of_magnitudes ? unknown : width;
}

/* Median of the mean of `lines` independent intensities of Gaussian noise of mean 1: that
 * of a gamma distribution (Choi, 1994). With one A-line it is ln 2. */
double
median_of_noise (double lines)
{
  return (lines - 1.0 / 3 + 8 / (405 * lines) + 184 / (25515 * lines * lines)) / lines;
}

/* Mean intensity of the noise, from the median over all depths outside of the guard;
 * unknown if there are too few */
double
noise_of (const AScan &scan, double place, double guard)
{
  std::vector<double> noise;
  for (gsize n = 0; n < scan.intensities.size (); n++) {
    if (scan.first_bin + n >= scan.least_bin && std::abs (double (n) - place) > guard)
      noise.push_back (scan.intensities[n]);
  }
  if (noise.size () < least_noise_bins)
    return unknown;
  const auto middle = noise.begin () + gssize (noise.size () / 2);
  std::nth_element (noise.begin (), middle, noise.end ());
  return *middle / median_of_noise (scan.lines);
}

/* Index of the largest intensity from least_bin on; -1 if all are 0 */
gint
largest_of (const AScan &scan)
{
  gint found = -1;
  double most = 0;
  for (gsize n = 0; n < scan.intensities.size (); n++) {
    if (scan.first_bin + n >= scan.least_bin && scan.intensities[n] > most) {
      most = scan.intensities[n];
      found = gint (n);
    }
  }
  return found;
}
/* The noise around a peak of this width. With few depths, the peak is among them. */
double
noise_beside (const AScan &scan, double place, double width)
{
  const double guards[] = {std::max (least_guard, guard_widths * width), least_guard, -1};
  for (double guard : guards) {
    const double noise = noise_of (scan, place, guard);
    if (!std::isnan (noise))
      return noise;
  }
  return unknown;
}

/* Whether the width is that of one peak, and not of layers or speckle of a sample */
bool
stands_out (const AScan &scan, double place, double width, double level, double noise)
{
  const double near = std::max (beside_bins, beside_widths * width);
  const double reached = noise * (1 + noise_deviations / std::sqrt (scan.lines));
  const double most = std::max (beside_level * level, std::isnan (noise) ? 0 : reached);
  for (gsize n = 0; n < scan.intensities.size (); n++) {
    const double distance = std::abs (double (n) - place);
    if (scan.first_bin + n >= scan.least_bin && distance >= near && distance <= 2 * near
        && scan.intensities[n] > most)
      return false;
  }
  return true;
}
} // namespace

Peak
measure_peak (const AScan &scan, double least_snr)
{
  Peak peak;
  peak.bin = peak.level = peak.width = peak.intensity_width = peak.snr = unknown;
  const gint largest = largest_of (scan);
  peak.noise_floor = decibels (noise_beside (scan, largest, 0));
  if (largest < 0)
    return peak;

  const Interpolation curve (scan, largest);
  const double place = highest_place (curve, largest);
  const double level = decibels (curve.at (place));
  peak.found = level - peak.noise_floor >= least_snr;
  if (!peak.found)
    return peak;
  peak.bin = scan.first_bin + place;
  peak.level = level;
  peak.width = width_at (scan, curve, place, 0.25);
  peak.intensity_width = width_at (scan, curve, place, 0.5);
  const double width = std::isnan (peak.width) ? 0 : peak.width;
  const double noise = noise_beside (scan, place, width);
  peak.noise_floor = decibels (noise);
  peak.snr = level - peak.noise_floor;
  peak.stands_out = stands_out (scan, place, width, curve.at (place), noise);
  if (!peak.stands_out)
    peak.width = peak.intensity_width = unknown;
  return peak;
}

void
RollOff::add (const Peak &peak)
{
  Sum &sum = bins[gint (std::lround (peak.bin))];
  sum.bins += peak.bin;
  sum.levels += peak.level;
  sum.count += 1;
}

std::vector<RollOff::Point>
RollOff::curve () const
{
  std::vector<Point> points;
  for (const auto &[bin, sum] : bins)
    points.push_back ({sum.bins / sum.count, sum.levels / sum.count});
  return points;
}

double
RollOff::slope () const
{
  const std::vector<Point> points = curve ();
  double bin = 0, level = 0, product = 0, square = 0;
  for (const Point &point : points) {
    bin += point.bin / double (points.size ());
    level += point.level / double (points.size ());
  }
  for (const Point &point : points) {
    product += (point.bin - bin) * (point.level - level);
    square += (point.bin - bin) * (point.bin - bin);
  }
  return points.size () > 1 ? product / square : unknown;
}

double
RollOff::six_db_bin () const
{
  const std::vector<Point> points = curve ();
  const double drop = 20 * std::log10 (2);
  for (gsize n = 1; n < points.size (); n++) {
    const Point &before = points[n - 1], &after = points[n];
    const double level = points[0].level - drop;
    if (after.level <= level)
      return before.bin
             + (after.bin - before.bin) * (before.level - level)
                   / (before.level - after.level);
  }
  return unknown;
}
} // namespace oct
