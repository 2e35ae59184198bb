/* Interpolation between samples: taps and weights
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

namespace oct {
/* sin (pi x) / (pi x) */
double sinc (double x);

enum class Interpolation {
  none,
  linear,
  cubic,
  lanczos,
  nufft, /* see gridding.hpp */
  lanczos16,
};

/* The value of point m is the sum over t of weight(m, t) * x[clamp(first[m] + t, 0,
 * samples - 1)]. */
struct Taps {
  gsize count;             /* number of taps per point */
  std::vector<gint> first; /* first tap of each point; may be outside of the samples */
  std::vector<double> weights; /* all points of tap 0, then all of tap 1, … */
};

/* With r = map[m], i = clamp(floor(r), 0, samples - 2) and f = r - i (slightly outside of
 * 0…1 if r is outside of the samples):
 *
 *  none     the samples unchanged; ignores the map
 *  linear   x[i] + f (x[i + 1] - x[i])
 *  cubic    Catmull-Rom through i - 1 … i + 2
 *  lanczos  sinc(d) sinc(d / 4) of the distances to i - 3 … i + 4, divided by their sum
 *  lanczos16  sinc(d) sinc(d / 8) of the distances to i - 7 … i + 8, divided by their sum
 *  nufft    the samples unchanged; see grid_taps()
 *
 * An empty map leaves the samples unchanged. */
Taps interpolation_taps (
    Interpolation interpolation, const std::vector<double> &map, gsize samples);
} // namespace oct
