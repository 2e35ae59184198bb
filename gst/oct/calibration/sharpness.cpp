/* Dispersion of a sample, from the sharpness of its image
 *
 * Dispersion spreads the power of each structure over more depths, so the entropy of the
 * power over depth grows. The entropy has a single minimum over dozens of radians, and a
 * lower statistical error than the sum of squared powers, which follows the few brightest
 * speckles.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "sharpness.hpp"
#include "gridding.hpp"

#include <algorithm>
#include <cmath>

namespace oct {
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
    const Complex rotated (z.real () * root.real () - z.imag () * root.imag (),
        z.real () * root.imag () + z.imag () * root.real ());
    bins[b] = a + rotated;
    bins[b + n / 2] = a - rotated;
  }
}

Line
roots_of (gsize n, int sign)
{
  Line roots;
  for (gsize k = 0; k < n; k++)
    roots.push_back (std::polar (1.0, sign * 2 * G_PI * double (k) / double (n)));
  return roots;
}

Line
transform (const Line &line, int sign)
{
  Line bins (line.size ());
  transform_from (
      line.data (), line.size (), 1, roots_of (line.size (), sign), bins.data ());
  return bins;
}

namespace {
using Values = std::vector<double>;

const gsize least_depth = 6; /* lower depths contain the light source's spectrum */
const gsize coarse_lines = 24, most_lines = 192;

/* Quadratic and cubic phase at the ends of the spectrum, in rad */
struct Radians {
  double square, cube;
};

const double greatest_square = 180, coarse_step = 4, fine_step = 0.5;
const double last_step = 1.0 / 64;

/* Weight at `share` of the spectrum. It tapers less than a Hann window, since the ends
 * contain most of the information about dispersion. */
double
taper (double share)
{
  const double tapered = 0.3, from_end = std::min (share, 1 - share) / tapered;
  return from_end < 1 ? 0.5 - 0.5 * std::cos (G_PI * from_end) : 1;
}

/* A-lines without their mean, resampled and tapered */
class Sample {
public:
  Sample (const Values &lines, const Values &map, gsize most);

  /* Returns the mean over A-lines of the entropy of the power over depth. */
  double entropy (const Radians &dispersion) const;

private:
  std::vector<Values> lines;
  Line roots;
};

Sample::Sample (const Values &all, const Values &map, gsize most)
    : roots (roots_of (map.size (), -1))
{
  const gsize samples = map.size (), count = all.size () / samples;
  Values mean (samples);
  for (gsize n = 0; n < count * samples && count > 1; n++)
    mean[n % samples] += all[n] / double (count);
  for (gsize n = 0; n < std::min (count, most); n++) {
    const gsize line = n * count / std::min (count, most);
    Values spectrum, even;
    for (gsize j = 0; j < samples; j++)
      spectrum.push_back (all[line * samples + j] - mean[j]);
    for (gsize m = 0; m < samples; m++)
      even.push_back (
          value_between (spectrum, map[m]) * taper (double (m) / double (samples - 1)));
    lines.push_back (even);
  }
}

double
Sample::entropy (const Radians &dispersion) const
{
  const gsize samples = roots.size ();
  Line rotations, line (samples), bins (samples);
  double sum = 0;
  for (gsize m = 0; m < samples; m++) {
    const double u = 2 * double (m) / double (samples) - 1;
    rotations.push_back (
        std::polar (1.0, -(dispersion.square + dispersion.cube * u) * u * u));
  }
  for (const Values &even : lines) {
    double sum_of_logs = 0, power = 0;
    for (gsize m = 0; m < samples; m++)
      line[m] = even[m] * rotations[m];
    transform_from (line.data (), samples, 1, roots, bins.data ());
    for (gsize b = least_depth; b < samples / 2; b++) {
      const double norm = std::norm (bins[b]);
      sum_of_logs += norm > 0 ? norm * std::log (norm) : 0;
      power += norm;
    }
    if (power > 0) /* neither dark nor NaN */
      sum += std::log (power) - sum_of_logs / power;
  }
  return sum / double (lines.size ());
}

/* Moves to the best of eight neighbours, `step` away, until none is better. */
void
descend (const Sample &sample, double step, Radians &best, double &least)
{
  const guint most_moves = 128;
  bool moved = true;
  for (guint n = 0; n < most_moves && moved; n++) {
    const Radians from = best;
    moved = false;
    for (int neighbour = 0; neighbour < 9; neighbour++) {
      const Radians tried = {from.square + (neighbour % 3 - 1) * step,
          from.cube + (neighbour / 3 - 1) * step};
      const double entropy = neighbour == 4 ? least : sample.entropy (tried);
      if (entropy < least) {
        least = entropy;
        best = tried;
        moved = true;
      }
    }
  }
}
} // namespace

SharpestDispersion
sharpest_dispersion (const Values &lines, const Values &map)
{
  const double half = double (map.size ()) / 2;
  const Sample coarse (lines, map, coarse_lines), fine (lines, map, most_lines);
  Radians best = {0, 0};
  double least = coarse.entropy (best);
  for (double square = -greatest_square; square <= greatest_square;
       square += coarse_step) {
    const double entropy = coarse.entropy ({square, 0});
    if (entropy < least) {
      least = entropy;
      best.square = square;
    }
  }
  for (double step = coarse_step; step > fine_step; step /= 2)
    descend (coarse, step, best, least);
  least = fine.entropy (best);
  for (double step = fine_step; step >= last_step; step /= 2)
    descend (fine, step, best, least);
  return {best.square / (half * half), best.cube / (half * half * half)};
}
} // namespace oct
