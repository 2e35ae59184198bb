/* interpolation=nufft: interpolation to twice as many even wavenumbers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gridding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

namespace oct {
namespace {
/* Number of samples that a kernel covers */
const gsize taps = 8;

/* A kernel is a sum of cosines. The n-th cosine has n periods over the kernel. These are
 * the factors of the cosines. */
using Cosines = std::array<double, 10>;

/* Kernels are designed for these distances between samples, in even wavenumbers. Factors
 * are interpolated between designs. Other distances use the first or the last kernel. */
const double least_distance = 0.5, greatest_distance = 2, distance_step = 0.025;

/* Least squares design of a kernel by its frequency response. Frequencies are in cycles
 * from one sample to the next. */
class Design {
public:
  /* `weight` returns the weight of errors at a frequency. */
  void add_band (double from, double to, double response,
      const std::function<double (double)> &weight)
  {
    const guint steps = 48;
    for (guint n = 0; n < steps && to > from; n++) {
      const double frequency = from + (n + 0.5) * (to - from) / steps;
      const double share = weight (frequency) * weight (frequency) * (to - from) / steps;
      const Cosines responses = responses_at (frequency);
      for (gsize row = 0; row < size; row++) {
        for (gsize column = 0; column < size; column++)
          matrix[row][column] += share * responses[row] * responses[column];
        wanted[row] += share * responses[row] * response;
      }
    }
  }

  /* Cholesky decomposition and substitution */
  Cosines solve ()
  {
    for (gsize column = 0; column < size; column++) {
      for (gsize row = column; row < size; row++) {
        double rest = matrix[row][column];
        for (gsize n = 0; n < column; n++)
          rest -= matrix[row][n] * matrix[column][n];
        matrix[row][column] =
            row == column ? std::sqrt (rest) : rest / matrix[column][column];
      }
    }
    Cosines solution = wanted;
    for (gsize row = 0; row < size; row++) {
      for (gsize n = 0; n < row; n++)
        solution[row] -= matrix[row][n] * solution[n];
      solution[row] /= matrix[row][row];
    }
    for (gsize row = size; row-- > 0;) {
      for (gsize n = row + 1; n < size; n++)
        solution[row] -= matrix[n][row] * solution[n];
      solution[row] /= matrix[row][row];
    }
    return solution;
  }

private:
  static Cosines responses_at (double frequency)
  {
    Cosines all;
    for (gsize n = 0; n < size; n++)
      all[n] = 0.5 * double (taps)
               * (sinc (double (taps) * frequency - double (n))
                   + sinc (double (taps) * frequency + double (n)));
    return all;
  }

  static constexpr gsize size = std::tuple_size<Cosines>::value;

  std::array<Cosines, size> matrix = {};
  Cosines wanted = {};
};

/* Designs the kernel for samples that are `distance` even wavenumbers apart. Fringes have
 * at most 0.5 cycles per sample. A fringe of f cycles has images at 1 - f, 1 + f etc.
 *
 * A search found the weights. With samples at even wavelengths from 1187 to 1433 nm,
 * images are 85 dB below a fringe at 0.68 of the last depth, and 50 dB at 0.83. */
Cosines
design_kernel (double distance)
{
  const double last_depth = distance / 2;
  auto from_half = [] (double frequency) {
    return std::pow (std::min (std::abs (1 - 2 * frequency) / 0.356, 1.0), 1.83);
  };
  /* Samples no further apart than wavenumbers have no images at output depths. So deep
   * fringes keep their level. */
  const double keeping = 0.36 * std::clamp ((1.084 - distance) / 0.084, 0.0, 1.0);
  Design design;
  design.add_band (0, std::min (0.5, last_depth), 1,
      [&] (double frequency) { return from_half (frequency) + keeping; });
  design.add_band (0.5, last_depth, 0,
      [&] (double frequency) { return 11.85 * from_half (frequency); });
  /* Depths of the grid beyond the last output depth */
  design.add_band (
      std::max (0.5, last_depth), 3 * last_depth, 0, [] (double) { return 0.0242; });
  /* Frequencies that the grid aliases to displayed depths */
  for (guint n = 0; n < 6; n++)
    design.add_band ((3 + 4 * n) * last_depth, (5 + 4 * n) * last_depth, 0,
        [] (double) { return 12.9; });
  return design.solve ();
}

/* Factors of each cosine for all distances */
using Kernels = std::array<std::vector<double>, std::tuple_size<Cosines>::value>;

Kernels
design_kernels ()
{
  Kernels kernels;
  const guint last = guint ((greatest_distance - least_distance) / distance_step + 0.5);
  for (guint n = 0; n <= last; n++) {
    const Cosines designed = design_kernel (least_distance + n * distance_step);
    for (gsize k = 0; k < kernels.size (); k++)
      kernels[k].push_back (designed[k]);
  }
  return kernels;
}

class Kernel {
public:
  explicit Kernel (double distance)
  {
    static const Kernels kernels = design_kernels ();
    const double at =
        (std::clamp (distance, least_distance, greatest_distance) - least_distance)
        / distance_step;
    for (gsize k = 0; k < factors.size (); k++)
      factors[k] = value_between (kernels[k], at);
  }

  /* Returns the kernel at a distance in samples. The recurrence computes each cosine from
   * the two before it. */
  double at (double samples) const
  {
    const double first = std::cos (2 * G_PI * samples / double (taps));
    double before = first, cosine = 1, sum = 0;
    for (double factor : factors) {
      sum += factor * cosine;
      before = std::exchange (cosine, 2 * first * cosine - before);
    }
    return 2 * std::abs (samples) < double (taps) ? sum : 0;
  }

private:
  Cosines factors;
};

gdouble
slope_between (const std::vector<double> &table, double at)
{
  return value_between (table, at + 0.5) - value_between (table, at - 0.5);
}
} // namespace

Taps
grid_taps (const std::vector<double> &places)
{
  const gsize samples = places.size ();
  const gsize points = gridding_oversampling * (samples - 1) + 1;
  const double step = 1.0 / gridding_oversampling;
  const std::vector<double> from = places_of_map (places, points, step);
  Taps made{taps, std::vector<gint> (points), std::vector<double> (taps * points)};
  for (gsize point = 0; point < points; point++) {
    const double at = std::clamp (from[point], 0.0, double (samples - 1));
    const Kernel kernel (std::abs (slope_between (places, at)));
    made.first[point] = gint (at) - gint (taps / 2 - 1);
    for (gsize t = 0; t < taps; t++)
      made.weights[t * points + point] =
          kernel.at (at - (made.first[point] + double (t)));
  }
  return made;
}

double
value_between (const std::vector<double> &table, double at)
{
  const gint last = gint (table.size ()) - 1;
  const gint i = gint (std::clamp (std::floor (at), 0.0, double (last - 1)));
  const double f = at - i;
  /* Extrapolates linearly beyond the ends. */
  auto value = [&] (gint n) {
    return n < 0      ? 2 * table[0] - table[1]
           : n > last ? 2 * table[last] - table[last - 1]
                      : table[n];
  };
  const double a = value (i - 1), b = value (i), c = value (i + 1), d = value (i + 2);
  if (f < 0 || f > 1) /* straight lines */
    return b + f * (c - b);
  return b
         + 0.5 * f
               * (c - a + f * (2 * a - 5 * b + 4 * c - d + f * (3 * (b - c) + d - a)));
}

std::vector<double>
places_of_map (const std::vector<double> &map, gsize count, double step)
{
  const gsize last = map.size () - 1;
  const bool rises = map[last] > map[0];
  std::vector<double> places (count);
  for (gsize j = 0; j < count; j++) {
    const double value = double (j) * step;
    auto behind = [&] (double entry, double of) {
      return rises ? entry < of : entry > of;
    };
    gsize m = std::lower_bound (map.begin (), map.end (), value, behind) - map.begin ();
    m = std::clamp<gsize> (m, 1, last) - 1;
    const double straight = double (m) + (value - map[m]) / (map[m + 1] - map[m]);
    double at = straight;
    for (guint n = 0; n < 3; n++)
      at += (value - value_between (map, at)) / slope_between (map, at);
    /* Newton's method may diverge if the table is not smooth. */
    places[j] = std::abs (at - straight) <= 1 ? at : straight;
  }
  return places;
}
} // namespace oct
