/* Interpolation between samples: taps and weights
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "interpolation.hpp"

#include <algorithm>
#include <cmath>

namespace oct {
double
sinc (double x)
{
  return x == 0 ? 1 : std::sin (G_PI * x) / (G_PI * x);
}

namespace {
const gsize most_taps = 16;

void
linear_weights (double f, double *weights)
{
  weights[0] = 1 - f;
  weights[1] = f;
}

void
cubic_weights (double f, double *weights)
{
  weights[0] = ((-0.5 * f + 1) * f - 0.5) * f;
  weights[1] = (1.5 * f - 2.5) * f * f + 1;
  weights[2] = ((-1.5 * f + 2) * f + 0.5) * f;
  weights[3] = (0.5 * f - 0.5) * f * f;
}

template <gint lobes>
void
lanczos_weights (double f, double *weights)
{
  double sum = 0;
  for (gint t = 0; t < 2 * lobes; t++) {
    double distance = f - (t - lobes + 1);
    bool reached = std::abs (distance) < lobes;
    weights[t] = reached ? sinc (distance) * sinc (distance / lobes) : 0;
    sum += weights[t];
  }
  for (gint t = 0; t < 2 * lobes; t++)
    weights[t] /= sum;
}

struct Kind {
  gsize count;
  gint first; /* relative to i */
  void (*weights) (double f, double *weights);
};

/* In the order of Interpolation. */
const Kind kinds[] = {
    {1, 0, nullptr},
    {2, 0, linear_weights},
    {4, -1, cubic_weights},
    {8, -3, lanczos_weights<4>},
    {1, 0, nullptr},
    {16, -7, lanczos_weights<8>},
};

Taps
unchanged_samples (gsize samples)
{
  Taps taps{1, std::vector<gint> (samples), std::vector<double> (samples, 1.0)};
  for (gsize m = 0; m < samples; m++)
    taps.first[m] = gint (m);
  return taps;
}
} // namespace

Taps
interpolation_taps (
    Interpolation interpolation, const std::vector<double> &map, gsize samples)
{
  const Kind &kind = kinds[static_cast<int> (interpolation)];
  if (map.empty () || !kind.weights)
    return unchanged_samples (samples);

  Taps taps{kind.count, std::vector<gint> (samples),
      std::vector<double> (kind.count * samples)};
  for (gsize m = 0; m < samples; m++) {
    double i = std::clamp (std::floor (map[m]), 0.0, double (samples - 2));
    double weights[most_taps];
    kind.weights (map[m] - i, weights);
    taps.first[m] = gint (i) + kind.first;
    for (gsize t = 0; t < kind.count; t++)
      taps.weights[t * samples + m] = weights[t];
  }
  return taps;
}
} // namespace oct
