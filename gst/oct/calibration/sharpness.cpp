/* Dispersion of a sample, from images of parts of its spectrum
 *
 * Dispersion delays a part of the spectrum by the slope of its phase, so that images of
 * different parts are shifted in depth: linearly in the part's wavenumber by the quadratic
 * phase, quadratically by the cubic one. The shifts are found by least squares over all
 * A-lines, from the logarithm of the power. Sharpness alone cannot tell several rad of the
 * cubic phase on speckle. The entropy of the power over depth, which has a single minimum
 * over dozens of radians, gives the first estimate.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "sharpness.hpp"

#include "../shared/errors.hpp"
#include "gridding.hpp"

#include <algorithm>
#include <array>
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
const gsize coarse_lines = 24;

/* Quadratic and cubic phase at the ends of the spectrum, in rad */
struct Radians {
  double square = 0, cube = 0;
};

const double greatest_square = 180, coarse_step = 4, last_step = 1;

/* Neighbouring A-lines whose power is averaged, how many of these blocks are used, and the
 * number of groups whose results are compared */
const gsize block_lines = 4, most_blocks = 256, groups = 16;

/* Parts of the spectrum: their centres and half of their width, where the spectrum is
 * from -1 to 1 */
const gsize bands = 5;
const double band_step = 0.3, band_reach = 0.4;

double
centre_of (gsize band)
{
  return (double (band) - double (bands / 2)) * band_step;
}

/* Weight at `share` of the spectrum. It tapers less than a Hann window, since the ends
 * contain most of the information about dispersion. */
double
taper (double share)
{
  const double tapered = 0.3, from_end = std::min (share, 1 - share) / tapered;
  return from_end < 1 ? 0.5 - 0.5 * std::cos (G_PI * from_end) : 1;
}

double
hann (double from_centre)
{
  return std::fabs (from_centre) < 1 ? 0.5 + 0.5 * std::cos (G_PI * from_centre) : 0;
}

/* Position of an even wavenumber, from -1 to 1 */
double
position (gsize m, gsize samples)
{
  return 2 * double (m) / double (samples) - 1;
}

/* Mean of A-lines */
Values
mean_of (const double *lines, gsize count, gsize samples)
{
  Values mean (samples);
  for (gsize n = 0; n < count * samples; n++)
    mean[n % samples] += lines[n] / double (count);
  return mean;
}

/* Standard deviation of A-lines, smoothed over neighbouring samples */
Values
deviation_of (const double *lines, gsize count, const Values &mean)
{
  const gsize samples = mean.size (), reach = samples / 32;
  Values sums = {0}, deviation;
  for (gsize j = 0; j < samples; j++) {
    double variance = 0;
    for (gsize line = 0; line < count; line++)
      variance += std::pow (lines[line * samples + j] - mean[j], 2) / double (count);
    sums.push_back (sums.back () + variance);
  }
  for (gsize j = 0; j < samples; j++) {
    const gsize from = j - std::min (j, reach), to = std::min (j + reach + 1, samples);
    deviation.push_back (std::sqrt ((sums[to] - sums[from]) / double (to - from)));
  }
  return deviation;
}

/* The source's spectrum on even wavenumbers, with a floor, as it divides noise. It is the
 * mean of the A-lines, or has the shape of their fringes if a background was subtracted. */
Values
even_source (const Values &mean, const Values &deviation, const Values &map)
{
  const double floor = 0.05;
  gsize below = 0;
  for (gsize j = 0; j < mean.size (); j++)
    below += mean[j] < deviation[j];
  const Values &shape = below > mean.size () / 2 ? deviation : mean;
  Values even;
  for (double place : map)
    even.push_back (value_between (shape, place));
  const double most = *std::max_element (even.begin (), even.end ());
  for (double &value : even)
    value = std::max (value, floor * most);
  return even;
}

/* An A-line without the source's spectrum, resampled and divided by it. Its light may be
 * stronger than the mean. */
Values
even_line (
    const double *line, const Values &mean, const Values &source, const Values &map)
{
  double product = 0, square = 0;
  for (gsize j = 0; j < mean.size (); j++) {
    product += line[j] * mean[j];
    square += mean[j] * mean[j];
  }
  Values fringes, even;
  for (gsize j = 0; j < mean.size (); j++)
    fringes.push_back (line[j] - (square > 0 ? product / square : 0) * mean[j]);
  for (gsize m = 0; m < map.size (); m++)
    even.push_back (source[m] > 0 ? value_between (fringes, map[m]) / source[m] : 0);
  return even;
}

/* Blocks of neighbouring A-lines, evenly from all B-scans */
class Sample {
public:
  Sample (const Values &lines, gsize frame_lines, const Values &map);

  gsize samples () const { return roots.size (); }
  gsize blocks () const { return lines.size () / block_lines; }
  /* Group of a block, by its place in the B-scan */
  gsize group_of (gsize block) const { return group[block]; }
  /* Adds the power over depth of an A-line, with these weights of its samples. */
  void add_power (gsize line, const Line &weights, double *power) const;

  double entropy (const Radians &dispersion) const;
  double sharpness (const Radians &dispersion) const;

private:
  std::vector<Values> lines;
  std::vector<gsize> group;
  Line roots;
};

Sample::Sample (const Values &all, gsize frame_lines, const Values &map)
    : roots (roots_of (map.size (), -1))
{
  const gsize samples = map.size (), frames = all.size () / samples / frame_lines;
  const gsize in_frame = frame_lines / block_lines, count = frames * in_frame;
  const gsize used = std::min (count, most_blocks);
  gsize frame = frames; /* of `mean` */
  Values mean, source;

  for (gsize n = 0; n < used; n++) {
    const gsize block = n * count / used;
    const double *begin = &all[block / in_frame * frame_lines * samples];
    if (block / in_frame != frame) {
      frame = block / in_frame;
      mean = mean_of (begin, frame_lines, samples);
      source = even_source (mean, deviation_of (begin, frame_lines, mean), map);
    }
    begin += block % in_frame * block_lines * samples;
    for (gsize line = 0; line < block_lines; line++)
      lines.push_back (even_line (begin + line * samples, mean, source, map));
    group.push_back (block % in_frame * groups / in_frame);
  }
}

void
Sample::add_power (gsize number, const Line &weights, double *power) const
{
  Line line (samples ()), bins (samples ());
  for (gsize m = 0; m < samples (); m++)
    line[m] = lines[number][m] * weights[m];
  transform_from (line.data (), samples (), 1, roots, bins.data ());
  for (gsize b = 0; b < samples () / 2; b++)
    power[b] += std::norm (bins[b]);
}

/* Weights that undo the dispersion, times those of `window` at each position */
template <typename Window>
Line
weights_of (gsize samples, const Radians &dispersion, Window window)
{
  Line weights;
  for (gsize m = 0; m < samples; m++) {
    const double u = position (m, samples);
    weights.push_back (
        window (u)
        * std::polar (1.0, -(dispersion.square + dispersion.cube * u) * u * u));
  }
  return weights;
}

/* Returns the mean over some A-lines of the entropy of the power over depth. */
double
Sample::entropy (const Radians &dispersion) const
{
  const Line weights =
      weights_of (samples (), dispersion, [] (double u) { return taper ((u + 1) / 2); });
  const gsize used = std::min (lines.size (), coarse_lines);
  double sum = 0;
  for (gsize n = 0; n < used; n++) {
    Values power (samples () / 2);
    double sum_of_logs = 0, total = 0;
    add_power (n * lines.size () / used, weights, power.data ());
    for (gsize b = least_depth; b < power.size (); b++) {
      sum_of_logs += power[b] > 0 ? power[b] * std::log (power[b]) : 0;
      total += power[b];
    }
    if (total > 0) /* neither dark nor NaN */
      sum += std::log (total) - sum_of_logs / total;
  }
  return sum / double (used);
}

double
Sample::sharpness (const Radians &dispersion) const
{
  const Line weights = weights_of (samples (), dispersion, hann);
  double sum = 0, squares = 0, n = 0;
  for (gsize line = 0; line < lines.size (); line++) {
    Values power (samples () / 2);
    add_power (line, weights, power.data ());
    for (gsize b = least_depth; b < power.size (); b++, n++) {
      sum += power[b];
      squares += power[b] * power[b];
    }
  }
  return sum > 0 ? squares * n / (sum * sum) : 0;
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

Radians
first_estimate (const Sample &sample)
{
  Radians best;
  double least = sample.entropy (best);
  for (double square = -greatest_square; square <= greatest_square;
       square += coarse_step) {
    const double entropy = sample.entropy ({square, 0});
    if (entropy < least) {
      least = entropy;
      best.square = square;
    }
  }
  for (double step = coarse_step; step >= last_step; step /= 2)
    descend (sample, step, best, least);
  return best;
}

/* --- shifts between images of the bands --- */

/* Sums of a least-squares fit: how far the image of each band lies deeper than their mean
 * is `product` / `square`, in depths. */
struct Shifts {
  std::array<double, bands> product{};
  double square = 0;

  void add (const Shifts &other, double sign)
  {
    for (gsize band = 0; band < bands; band++)
      product[band] += sign * other.product[band];
    square += sign * other.square;
  }
};

/* Quadratic and cubic phase that shift the bands so, by least squares. A phase with the
 * slope s (rad per unit of the position) shifts by s / pi depths. The parts of the two are
 * orthogonal as the bands lie symmetrically. `misfit` is the standard error from what
 * remains. */
Radians
phase_of (const Shifts &shifts, Radians *misfit = nullptr)
{
  std::array<double, bands> shift, linear, squared;
  double mean = 0, mean_square = 0;
  for (gsize band = 0; band < bands; band++) {
    shift[band] = shifts.square > 0 ? shifts.product[band] / shifts.square : 0;
    mean += shift[band] / double (bands);
    mean_square += centre_of (band) * centre_of (band) / double (bands);
  }
  double along[2] = {0, 0}, norm[2] = {0, 0}, rest = 0;
  for (gsize band = 0; band < bands; band++) {
    const double c = centre_of (band);
    linear[band] = 2 * c / G_PI;
    squared[band] = 3 * (c * c - mean_square) / G_PI;
    along[0] += linear[band] * shift[band];
    along[1] += squared[band] * shift[band];
    norm[0] += linear[band] * linear[band];
    norm[1] += squared[band] * squared[band];
  }
  const Radians phase = {along[0] / norm[0], along[1] / norm[1]};
  for (gsize band = 0; band < bands; band++) {
    const double off =
        shift[band] - mean - phase.square * linear[band] - phase.cube * squared[band];
    rest += off * off / double (bands - 3);
  }
  if (misfit)
    *misfit = {std::sqrt (rest / norm[0]), std::sqrt (rest / norm[1])};
  return phase;
}

/* First depth of the sample: where the power rises behind its minimum next to zero delay,
 * less the resolution of a band */
gsize
begin_of_sample (const Values &power)
{
  const double rise = 0.03;
  const gsize resolution = 8;
  gsize valley = 2;
  while (valley < power.size () / 8 && power[valley + 1] < power[valley])
    valley++;
  const double most = *std::max_element (power.begin () + gssize (valley), power.end ());
  gsize top = valley;
  while (top + 1 < power.size () && power[top] <= rise * most)
    top++;
  return std::max (valley, top - std::min (top, resolution));
}

/* Images of all bands: the logarithm of the power of each block over depth */
class BandImages {
public:
  BandImages (const Sample &sample, const Radians &dispersion);

  /* Returns the sums of a block. */
  Shifts shifts_of (gsize block) const;

private:
  double &at (gsize band, gsize block, gsize depth)
  {
    return images[band][block * depths + depth];
  }
  double mean_at (gsize block, gsize depth) const
  {
    double sum = 0;
    for (const Values &image : images)
      sum += image[block * depths + depth];
    return sum / double (bands);
  }
  void take_logarithms (gsize blocks);

  const gsize depths;
  gsize begin = 0;
  std::array<Values, bands> images;
};

BandImages::BandImages (const Sample &sample, const Radians &dispersion)
    : depths (sample.samples () / 2)
{
  for (gsize band = 0; band < bands; band++) {
    const Line weights = weights_of (sample.samples (), dispersion,
        [band] (double u) { return hann ((u - centre_of (band)) / band_reach); });
    images[band].resize (sample.blocks () * depths);
    for (gsize line = 0; line < sample.blocks () * block_lines; line++)
      sample.add_power (line, weights, &at (band, line / block_lines, 0));
  }
  take_logarithms (sample.blocks ());
}

/* Relative to a band's mean, with a floor: noise has no shift. */
void
BandImages::take_logarithms (gsize blocks)
{
  const double floor = 0.1;
  Values profile (depths);
  for (const Values &image : images)
    for (gsize n = 0; n < image.size (); n++)
      profile[n % depths] += image[n];
  begin = begin_of_sample (profile);
  for (Values &image : images) {
    double mean = 0;
    for (gsize n = 0; n < image.size (); n++)
      mean += n % depths >= begin ? image[n] : 0;
    mean /= double (blocks * (depths - begin));
    for (double &value : image)
      value = mean > 0 ? std::log (value / mean + floor) : 0;
  }
}

Shifts
BandImages::shifts_of (gsize block) const
{
  Shifts sums;
  for (gsize depth = std::max<gsize> (begin, 1); depth + 1 < depths; depth++) {
    const double mean = mean_at (block, depth);
    const double slope = (mean_at (block, depth + 1) - mean_at (block, depth - 1)) / 2;
    for (gsize band = 0; band < bands; band++)
      sums.product[band] -= (images[band][block * depths + depth] - mean) * slope;
    sums.square += slope * slope;
  }
  return sums;
}

/* Noise in the slopes shortens each step. */
const double gain = 1.2;

/* Standard error of the phase, from leaving out one group of blocks after the other
 * (jackknife) */
Radians
deviation (const std::array<Shifts, groups> &parts, const Shifts &all)
{
  Radians sum, squares;
  for (const Shifts &part : parts) {
    Shifts others = all;
    others.add (part, -1);
    const Radians phase = phase_of (others);
    sum = {sum.square + phase.square, sum.cube + phase.cube};
    squares = {squares.square + phase.square * phase.square,
        squares.cube + phase.cube * phase.cube};
  }
  const auto error = [] (double sum, double squares) {
    const double variance = squares - sum * sum / double (groups);
    return gain * std::sqrt (std::max (0.0, variance * double (groups - 1) / groups));
  };
  return {error (sum.square, squares.square), error (sum.cube, squares.cube)};
}

/* Improves `phase` until the images of all bands coincide. Returns the error: three
 * standard errors, and what curved layers were seen to cost. */
Radians
align_bands (const Sample &sample, Radians &phase)
{
  const guint most_steps = 12;
  const double enough = 0.01, standard_errors = 3, least = 0.05;
  Radians misfit, spread;
  for (guint n = 0; n < most_steps; n++) {
    const BandImages images (sample, phase);
    std::array<Shifts, groups> parts;
    Shifts all;
    for (gsize block = 0; block < sample.blocks (); block++) {
      const Shifts shifts = images.shifts_of (block);
      parts[sample.group_of (block)].add (shifts, 1);
      all.add (shifts, 1);
    }
    const Radians step = phase_of (all, &misfit);
    spread = deviation (parts, all);
    phase.square += gain * step.square;
    phase.cube += gain * step.cube;
    if (std::max (std::fabs (step.square), std::fabs (step.cube)) < enough)
      break;
  }
  return {least + standard_errors * std::hypot (misfit.square, spread.square),
      least + standard_errors * std::hypot (misfit.cube, spread.cube)};
}

/* Noise gets a little sharper by chance. Speckle hides what little dispersion costs. */
bool
is_sharper (const SampleDispersion &found, const Radians &phase)
{
  const double little = 8, chance = 0.01;
  const bool is_little =
      std::fabs (phase.square) < little && std::fabs (phase.cube) < little;
  return found.sharpness > (1 + (is_little ? -chance : chance)) * found.sharpness_before;
}
} // namespace

bool
sample_dispersion (const Values &lines, gsize frame_lines, const Values &map,
    SampleDispersion &found, GError **error)
{
  const double half = double (map.size ()) / 2, least_error = 1, share = 0.05;
  if (frame_lines < groups * block_lines)
    return REFUSE_SETTINGS (error, "a B-scan has %zu A-lines, expected at least %zu",
        frame_lines, groups * block_lines);
  const Sample sample (lines, frame_lines, map);
  Radians phase = first_estimate (sample);
  const Radians off = align_bands (sample, phase);

  found = {};
  found.square_error = off.square;
  found.cube_error = off.cube;
  found.sharpness_before = found.sharpness = sample.sharpness ({});
  if (!(off.square <= std::max (least_error, share * std::fabs (phase.square))))
    return REFUSE_SETTINGS (error,
        "the A-lines do not agree on a dispersion (%.2f +- %.2f rad at the ends of the "
        "spectrum): take a sample with layers, more B-scans, or two mirrors",
        phase.square, off.square);
  if (std::fabs (phase.square) <= off.square && std::fabs (phase.cube) <= off.cube)
    return true;
  found.sharpness = sample.sharpness (phase);
  if (!is_sharper (found, phase))
    return REFUSE_SETTINGS (error,
        "the dispersion that was found does not make the image sharper (%.2f, then "
        "%.2f): take another sample, or two mirrors",
        found.sharpness_before, found.sharpness);
  found.a2 = phase.square / (half * half);
  found.a3 = phase.cube / (half * half * half);
  return true;
}
} // namespace oct
