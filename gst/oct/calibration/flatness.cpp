/* Optical path and scanner delay from recordings of a flat target
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "flatness.hpp"

#include "../shared/errors.hpp"
#include "gridding.hpp"

#include <algorithm>
#include <cmath>
#include <gst/gst.h>
#include <utility>

namespace oct {
namespace {
using Values = std::vector<double>;

const double least_contrast = 10;    /* dB of a surface above its A-line's median */
const double least_share = 0.5;      /* of A-lines with a surface */
const double most_residual = 1;      /* depths */
const double negligible = 0.02;      /* depths */
const double most_delay_error = 0.1; /* A-lines */
const gsize most_points = 40000;     /* of a fit */

double
median_of (Values values)
{
  if (values.empty ())
    return 0;
  const auto middle = values.begin () + gssize (values.size () / 2);
  std::nth_element (values.begin (), middle, values.end ());
  return *middle;
}

/* Standard deviation of normally distributed values, from their median */
double
robust_deviation (Values values)
{
  for (double &value : values)
    value = std::abs (value);
  return 1.4826 * median_of (values);
}
} // namespace

double
Surfaces::share () const
{
  const auto found = std::count_if (depths.begin (), depths.end (),
      [] (double depth) { return std::isfinite (depth); });
  return depths.empty () ? 0 : double (found) / double (depths.size ());
}

/* The vertex of the parabola through the peak's levels in dB and its neighbours'. For a
 * Hann window it is within 0.02 depths of the peak. */
void
Surfaces::append (const Values &decibels, gsize samples, gsize first)
{
  lines = decibels.size () / samples;
  for (gsize line = 0; line < lines; line++) {
    const double *values = decibels.data () + line * samples;
    gsize peak = first + 1;
    for (gsize n = peak; n + 1 < samples; n++)
      peak = values[n] > values[peak] ? n : peak;
    const bool exists =
        peak + 1 < samples
        && values[peak] - median_of (Values (values + first, values + samples))
               >= least_contrast
        && values[peak] > values[peak - 1] && values[peak] >= values[peak + 1];
    if (!exists) {
      depths.push_back (NAN);
      levels.push_back (NAN);
      continue;
    }
    const double before = values[peak - 1], after = values[peak + 1];
    const double away = vertex_of (before, values[peak], after);
    depths.push_back (double (peak) + away);
    levels.push_back (values[peak] - 0.25 * (before - after) * away);
  }
}

/* --- delay --- */

namespace {
/* Mean over the frames of one direction, as a function of time in the sweep */
struct Profile {
  Values mean;
  double deviation = 0; /* of `mean`, due to noise */

  /* Value at a time in A-lines, NaN where it is unknown */
  double at (double time) const
  {
    const double whole = std::floor (time), part = time - whole;
    if (whole < 0 || whole + 1 >= double (mean.size ()))
      return NAN;
    const gsize n = gsize (whole);
    return mean[n] + part * (mean[n + 1] - mean[n]);
  }
};

/* Returns the deviation of noise: neighbouring A-lines differ by less. */
double
noise_of (const Values &mean)
{
  Values bends;
  for (gsize n = 1; n + 1 < mean.size (); n++) {
    const double bend = mean[n - 1] - 2 * mean[n] + mean[n + 1];
    if (std::isfinite (bend))
      bends.push_back (bend);
  }
  return robust_deviation (bends) / std::sqrt (6);
}

Profile
profile_of (const Surfaces &surfaces, const Values &of, gsize direction)
{
  Profile profile;
  for (gsize line = 0; line < surfaces.lines; line++) {
    Values values;
    for (gsize frame = direction; frame < surfaces.frames (); frame += 2) {
      const double value = of[frame * surfaces.lines + line];
      if (std::isfinite (value))
        values.push_back (value);
    }
    profile.mean.push_back (values.empty () ? NAN : median_of (values));
  }
  profile.deviation = noise_of (profile.mean);
  return profile;
}

/* Forward and backward profiles of a quantity */
struct Sweeps {
  Sweeps (const Surfaces &surfaces, const Values &of, double least_deviation)
      : forward (profile_of (surfaces, of, 0)), backward (profile_of (surfaces, of, 1)),
        variance (std::pow (std::max (forward.deviation, least_deviation), 2)
                  + std::pow (std::max (backward.deviation, least_deviation), 2))
  {
  }

  /* Adds the squared differences for a delay, in units of their variance. Outliers count
   * as 4 standard deviations. */
  void compare (double delay, double end, double &sum, double &count) const
  {
    for (double place = 0; place <= end; place++) {
      const double difference =
          forward.at (place + delay) - backward.at (end - place + delay);
      if (!std::isfinite (difference))
        continue;
      sum += std::min (difference * difference / variance, 16.0);
      count++;
    }
  }

  Profile forward, backward;
  double variance;
};

/* Disagreement of both directions for a delay */
class Disagreement {
public:
  Disagreement (const Surfaces &surfaces, const FlatScan &scan)
      : depths (surfaces, surfaces.depths, 0.005),
        levels (surfaces, surfaces.levels, 0.05),
        end (double (surfaces.lines - scan.flyback) - 1)
  {
  }

  /* Returns the mean over all compared values, infinite if there are too few. */
  double at (double delay) const
  {
    double sum = 0, count = 0;
    depths.compare (delay, end, sum, count);
    levels.compare (delay, end, sum, count);
    return count > end / 2 ? sum / count : INFINITY;
  }
  double count_at (double delay) const
  {
    double sum = 0, count = 0;
    depths.compare (delay, end, sum, count);
    levels.compare (delay, end, sum, count);
    return count;
  }

private:
  Sweeps depths, levels;
  double end;
};

/* Minimum within `reach` on either side, by thirds */
double
refined (const Disagreement &of, double delay, double reach)
{
  double low = delay - reach, high = delay + reach;
  while (high - low > 1e-4) {
    const double third = (high - low) / 3;
    if (of.at (low + third) < of.at (high - third))
      high -= third;
    else
      low += third;
  }
  return (low + high) / 2;
}
} // namespace

bool
delay_of_surfaces (
    const Surfaces &surfaces, const FlatScan &scan, ScannerDelay &found, GError **error)
{
  if (surfaces.frames () < 2)
    return REFUSE_SETTINGS (error, "%" G_GSIZE_FORMAT " frames, expected both directions",
        surfaces.frames ());
  if (surfaces.lines < scan.flyback + 16)
    return REFUSE_SETTINGS (error,
        "%" G_GSIZE_FORMAT " A-lines, expected at least 16 more than the "
        "flyback of %" G_GSIZE_FORMAT,
        surfaces.lines, scan.flyback);
  const Disagreement disagreement (surfaces, scan);
  const double most = double (surfaces.lines) / 4, step = 0.5;
  double best = 0;
  for (double delay = -most; delay <= most; delay += step)
    best = disagreement.at (delay) < disagreement.at (best) ? delay : best;
  found.lines = refined (disagreement, best, 2 * step);
  const double least = disagreement.at (found.lines), apart = 1;
  const double bend = (disagreement.at (found.lines - apart) - 2 * least
                          + disagreement.at (found.lines + apart))
                      / (apart * apart) * disagreement.count_at (found.lines);
  found.error = bend > 0 ? std::sqrt (2 * std::max (least, 1.0) / bend) : INFINITY;
  if (!(found.error <= most_delay_error))
    return REFUSE_SETTINGS (error,
        "the target has too little structure along the A-lines to determine the delay: "
        "standard error %.2g A-lines, expected at most %g; tilt the target, or use one "
        "with edges",
        found.error, most_delay_error);
  if (found.lines < -3 * found.error - 0.05)
    return REFUSE_SETTINGS (error,
        "delay %.2f A-lines: backward frames are ahead of the scanner; expected 0 or "
        "more, so start the acquisition %.0f A-lines earlier, or check which frames are "
        "backward",
        found.lines, std::ceil (-found.lines));
  found.lines = std::max (found.lines, 0.0);
  return true;
}

/* --- polynomial --- */

namespace {
/* Position of an A-line in the output of octscan */
class Field {
public:
  Field (const Surfaces &surfaces, const FlatScan &scan)
      : scan (scan), lines (surfaces.lines),
        missing (std::max (0.0, std::ceil (scan.delay) - double (scan.flyback))),
        start (scan.bidirectional ? missing : 0),
        last (double (lines - scan.flyback) - 1 - missing - start),
        b_scans ((surfaces.frames () + scan.repeats - 1) / scan.repeats)
  {
  }

  gsize rows () const { return b_scans; }
  double x (gsize frame, gsize line) const
  {
    const double end = double (lines - scan.flyback) - 1;
    const double time = double (line) - scan.delay;
    const double place = scan.bidirectional && frame % 2 == 1 ? end - time : time;
    return last > 0 ? 2 * (place - start) / last - 1 : 0;
  }
  double y (gsize frame) const
  {
    return b_scans > 1 ? 2 * double (frame / scan.repeats) / double (b_scans - 1) - 1 : 0;
  }

private:
  FlatScan scan;
  gsize lines;
  double missing, start, last;
  gsize b_scans;
};

/* Sums of a weighted least-squares fit */
class NormalEquations {
public:
  explicit NormalEquations (gsize terms)
      : terms (terms), matrix (terms * terms), right (terms)
  {
  }

  void add (const Values &row, double value, double weight)
  {
    for (gsize i = 0; i < terms; i++) {
      right[i] += weight * row[i] * value;
      for (gsize j = 0; j < terms; j++)
        matrix[i * terms + j] += weight * row[i] * row[j];
    }
  }

  /* By Cholesky's method; terms that the data do not determine become 0. */
  Values solve () const
  {
    Values lower (terms * terms), solution (terms);
    for (gsize i = 0; i < terms; i++)
      for (gsize j = 0; j <= i; j++) {
        double sum = matrix[i * terms + j];
        for (gsize k = 0; k < j; k++)
          sum -= lower[i * terms + k] * lower[j * terms + k];
        const double pivot = lower[j * terms + j];
        const bool is_determined = sum > 1e-10 * matrix[i * terms + i];
        lower[i * terms + j] = i == j ? (is_determined ? std::sqrt (sum) : 0)
                                      : (pivot > 0 ? sum / pivot : 0);
      }
    for (gsize i = 0; i < terms; i++) {
      double sum = right[i];
      for (gsize k = 0; k < i; k++)
        sum -= lower[i * terms + k] * solution[k];
      const double pivot = lower[i * terms + i];
      solution[i] = pivot > 0 ? sum / pivot : 0;
    }
    for (gsize i = terms; i-- > 0;) {
      double sum = solution[i];
      for (gsize k = i + 1; k < terms; k++)
        sum -= lower[k * terms + i] * solution[k];
      const double pivot = lower[i * terms + i];
      solution[i] = pivot > 0 ? sum / pivot : 0;
    }
    return solution;
  }

private:
  gsize terms;
  Values matrix, right;
};

/* Surface points in the field of view */
struct Points {
  Points (const Surfaces &surfaces, const Field &field, gsize order)
  {
    const gsize every = surfaces.depths.size () / most_points + 1;
    for (gsize frame = 0; frame < surfaces.frames (); frame++)
      for (gsize line = frame % every; line < surfaces.lines; line += every) {
        const double x = field.x (frame, line), y = field.y (frame);
        const double depth = surfaces.depths[frame * surfaces.lines + line];
        if (std::abs (x) > 1 + 1e-9)
          continue;
        all++;
        if (!std::isfinite (depth))
          continue;
        rows.push_back (Curvature::terms_at (x, y, order));
        depths.push_back (depth);
      }
  }

  double fitted (gsize n, const Values &coefficients) const
  {
    double z = 0;
    for (gsize term = 0; term < coefficients.size (); term++)
      z += coefficients[term] * rows[n][term];
    return z;
  }
  Values residuals (const Values &coefficients) const
  {
    Values values;
    for (gsize n = 0; n < depths.size (); n++)
      values.push_back (depths[n] - fitted (n, coefficients));
    return values;
  }

  std::vector<Values> rows;
  Values depths;
  gsize all = 0; /* including A-lines without a surface */
};

/* Weight of a residual: 1 / |r| at first, which tolerates any outlier, then Tukey's */
double
weight_of (double residual, double deviation, bool is_first)
{
  if (is_first)
    return 1 / std::max (std::abs (residual), 0.05);
  const double u = residual / (4.7 * deviation);
  return std::abs (u) < 1 ? std::pow (1 - u * u, 2) : 0;
}

Values
robust_fit (const Points &points, gsize terms)
{
  const guint first_rounds = 25, rounds = 40;
  Values coefficients (terms);
  coefficients[0] = median_of (points.depths);
  for (guint round = 0; round < rounds; round++) {
    const Values residuals = points.residuals (coefficients);
    const double deviation = std::max (robust_deviation (residuals), 0.005);
    NormalEquations equations (terms);
    for (gsize n = 0; n < residuals.size (); n++)
      equations.add (points.rows[n], points.depths[n],
          weight_of (residuals[n], deviation, round < first_rounds));
    coefficients = equations.solve ();
  }
  return coefficients;
}

/* Drops the terms of y if they hardly change z, so that frames need no position. */
void
drop_negligible_y (Values &coefficients)
{
  Values without (coefficients.size ());
  double extent = 0;
  for (double u = -1; u <= 1; u += 0.25)
    for (double y = -1; y <= 1; y += 0.25) {
      const Curvature all (coefficients);
      extent = std::max (extent, std::abs (all.at (u, y) - all.at (u, 0)));
    }
  if (extent > negligible)
    return;
  const Values in_x = Curvature (coefficients).in_x (0);
  for (gsize order = 0; Curvature::terms_of (order) <= coefficients.size (); order++)
    without[order > 0 ? Curvature::terms_of (order - 1) : 0] = in_x[order];
  coefficients = without;
}

void
describe (const Points &points, const Values &residuals, Flatness &found)
{
  const double deviation = std::max (robust_deviation (residuals), 0.005);
  double squares = 0, count = 0;
  for (double residual : residuals) {
    if (std::abs (residual) > 4.7 * deviation)
      continue;
    squares += residual * residual;
    count++;
  }
  found.share = count / double (points.all);
  found.residual = std::sqrt (squares / std::max (count, 1.0));
  found.least = INFINITY;
  found.most = -INFINITY;
  for (gsize n = 0; n < points.depths.size (); n++) {
    const double z = points.fitted (n, found.curvature.coefficients);
    found.least = std::min (found.least, z);
    found.most = std::max (found.most, z);
  }
}
} // namespace

bool
flatness_of_surfaces (const Surfaces &surfaces, const FlatScan &scan, gsize order,
    bool with_tilt, Flatness &found, GError **error)
{
  const double share = surfaces.share ();
  if (share < least_share)
    return REFUSE_SETTINGS (error,
        "a surface in %.0f %% of the A-lines, expected %.0f %% or more: a peak %.0f dB "
        "above the median of its A-line",
        100 * share, 100 * least_share, least_contrast);
  const Field field (surfaces, scan);
  const Points points (surfaces, field, order);
  const gsize terms = Curvature::terms_of (order);
  if (points.depths.size () < 4 * terms)
    return REFUSE_SETTINGS (error,
        "%" G_GSIZE_FORMAT " A-lines with a surface, expected %" G_GSIZE_FORMAT
        " or more for order %" G_GSIZE_FORMAT,
        points.depths.size (), 4 * terms, order);
  Values coefficients = robust_fit (points, terms);
  const Values residuals = points.residuals (coefficients);
  coefficients[0] = 0;
  if (!with_tilt && terms > 2)
    coefficients[1] = coefficients[2] = 0;
  drop_negligible_y (coefficients);
  found.curvature = Curvature (coefficients);
  describe (points, residuals, found);
  if (found.share < least_share || found.residual > most_residual)
    return REFUSE_SETTINGS (error,
        "no flat surface: %.0f %% of the A-lines follow a polynomial of order "
        "%" G_GSIZE_FORMAT ", %.2f depths rms away; expected %.0f %% within %g depths",
        100 * found.share, order, found.residual, 100 * least_share, most_residual);
  return true;
}

namespace {
/* Powers of x and y of a term */
struct Powers {
  gsize x, y;
};

Powers
powers_of (gsize term)
{
  gsize degree = 0;
  while (Curvature::terms_of (degree) <= term)
    degree++;
  const gsize y = degree > 0 ? term - Curvature::terms_of (degree - 1) : 0;
  return {degree - y, y};
}
} // namespace

Curvature::Curvature (std::vector<double> coefficients)
    : coefficients (std::move (coefficients))
{
}

std::vector<double>
Curvature::terms_at (double x, double y, gsize order)
{
  std::vector<double> values;
  for (gsize term = 0; term < terms_of (order); term++) {
    const Powers powers = powers_of (term);
    values.push_back (std::pow (x, powers.x) * std::pow (y, powers.y));
  }
  return values;
}

std::vector<double>
Curvature::in_x (double y) const
{
  std::vector<double> sums (most_order + 1);
  for (gsize term = 0; term < coefficients.size (); term++) {
    const Powers powers = powers_of (term);
    sums[powers.x] += coefficients[term] * std::pow (y, powers.y);
  }
  return sums;
}

bool
Curvature::depends_on_y () const
{
  for (gsize term = 0; term < coefficients.size (); term++)
    if (powers_of (term).y > 0 && coefficients[term] != 0)
      return true;
  return false;
}

double
Curvature::at (double x, double y) const
{
  const std::vector<double> sums = in_x (y);
  double z = 0;
  for (gsize n = sums.size (); n-- > 0;)
    z = z * x + sums[n];
  return z;
}
} // namespace oct
