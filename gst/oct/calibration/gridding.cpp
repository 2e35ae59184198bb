/* interpolation=nufft: interpolation to twice as many even wavenumbers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gridding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace oct {
namespace {
/* Number of samples that a kernel covers */
const gsize taps = 16;

/* Weights of a kernel's errors. Depths are relative to the last output depth, frequencies
 * in cycles from one sample to the next. */
struct KernelWeights {
  /* Level of a fringe: (depth, weight) */
  double level[4][2];
  /* Near half a cycle, a fringe and its image cannot be told apart. The weight falls to 0
   * there over `unknown` cycles, to this power. */
  double unknown, power;
  /* Samples no further apart than wavenumbers have no images at output depths. So deep
   * fringes keep their level, with this weight. */
  double kept;

  /* First image of a fringe at an output depth: (depth, decimal logarithm of the weight) */
  double image[5][2];
  double further_images; /* relative to the first one */
  double other_depths;   /* weight of images that are at no output depth */
  double soft_end;       /* width of the transition to these, in cycles */
};

/* A search found the numbers, for samples at even wavelengths from 1187 to 1433 nm. */
const KernelWeights weights = {
    {{0, 1}, {0.5, 1}, {0.7006, 1}, {1, 0.0435}},
    0.1442,
    0.7845,
    1.0,
    {{0, 1.4}, {0.79, 1.4}, {0.82, -0.1339}, {0.93, -1.4}, {1, -2.5}},
    24.52,
    0.05034,
    0.0602,
};

/* A kernel is a sum of cosines. The n-th cosine has n periods over the kernel. These are
 * the factors of the cosines. */
using Cosines = std::array<double, taps + 2>;

/* Kernels are designed for these distances between samples, in even wavenumbers. Factors
 * are interpolated between designs. Other distances use the first or the last kernel. */
const double least_distance = 0.5, greatest_distance = 2, distance_step = 0.02;

/* Least squares design of a kernel by its frequency response. */
class Design {
public:
  void add (double frequency, double response, double weight)
  {
    const Cosines responses = responses_at (frequency);
    for (gsize row = 0; row < size; row++) {
      const double weighted = weight * weight * responses[row];
      for (gsize column = 0; column <= row; column++)
        matrix[row][column] += weighted * responses[column];
      wanted[row] += weighted * response;
    }
  }

  /* Cholesky decomposition and substitution */
  Cosines solve ()
  {
    for (gsize column = 0; column < size; column++) {
      matrix[column][column] += least_square;
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
  /* taps / 2 (sinc (taps f - n) + sinc (taps f + n)), with a single sine */
  static Cosines responses_at (double frequency)
  {
    const double x = double (taps) * frequency, sine = std::sin (G_PI * x);
    Cosines all = {};
    for (gsize n = 0; n < size; n++) {
      const double below = x - double (n), above = x + double (n);
      all[n] = std::abs (below) < 1e-6
                   ? 0.5 * double (taps) * (sinc (below) + sinc (above))
                   : (n % 2 ? -1 : 1) * double (taps) * x * sine / (G_PI * below * above);
    }
    return all;
  }

  /* Keeps factors finite that the design does not determine. */
  static constexpr double least_square = 1e-10;
  static constexpr gsize size = std::tuple_size<Cosines>::value;

  std::array<Cosines, size> matrix = {};
  Cosines wanted = {};
};

/* Falls from 1 at `x` = 0 to 0 at 1. */
double
fall (double x)
{
  return 0.5 + 0.5 * std::cos (G_PI * std::clamp (x, 0.0, 1.0));
}

/* Straight lines between points (x, y) of rising x */
template <gsize count>
double
between (const double (&points)[count][2], double x)
{
  gsize n = 1;
  while (n + 1 < count && x > points[n][0])
    n++;
  const double *from = points[n - 1], *to = points[n];
  const double share = std::clamp ((x - from[0]) / (to[0] - from[0]), 0.0, 1.0);
  return from[1] + share * (to[1] - from[1]);
}

double
level_weight (double depth, double cycles, double distance)
{
  const double known =
      std::pow (1 - fall ((0.5 - cycles) / weights.unknown), weights.power);
  const double kept = weights.kept * std::clamp ((1.084 - distance) / 0.084, 0.0, 1.0);
  return between (weights.level, depth) * std::max (known, kept);
}

/* `cycles` are per sample, and aliased by the grid, which has two points per
 * wavenumber. */
double
image_weight (double depth, double cycles, double distance)
{
  const double position =
      std::abs (std::remainder (cycles / distance, gridding_oversampling));
  const double visible = fall ((position - 0.5) / weights.soft_end);
  return std::pow (10, between (weights.image, depth)) * visible
             * (cycles < 1 ? 1 : weights.further_images)
         + weights.other_depths;
}

/* Designs the kernel for samples that are `distance` even wavenumbers apart. A fringe of
 * f cycles per sample has images at n - f and n + f cycles, n = 1, 2 etc. */
Cosines
design_kernel (double distance)
{
  const guint depths = 160, most_images = 6;
  Design design;
  for (guint n = 0; n < depths; n++) {
    const double depth = (n + 0.5) / depths, cycles = depth / 2 * distance;
    design.add (cycles, 1, level_weight (depth, cycles, distance));
    for (guint image = 1; image <= most_images; image++) {
      for (double at : {image - cycles, image + cycles})
        design.add (at, 0, image_weight (depth, at, distance));
    }
  }
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
