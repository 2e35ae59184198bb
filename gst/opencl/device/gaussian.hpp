/* Weights of a Gaussian blur
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <cmath>
#include <vector>

namespace opencl {
/* Returns one side of a Gaussian with a standard deviation of radius / 2: the weight of
 * the centre, then those at distances 1 to `radius`. Both sides and the centre sum to
 * 1. */
inline std::vector<gfloat>
gaussian_weights (guint radius)
{
  std::vector<gdouble> weights;
  gdouble sum = 0;
  for (guint away = 0; away <= radius; away++) {
    const gdouble deviations = radius > 0 ? 2. * away / radius : 0;
    weights.push_back (std::exp (-deviations * deviations / 2));
    sum += (away > 0 ? 2 : 1) * weights.back ();
  }
  for (gdouble &weight : weights)
    weight /= sum;
  return {weights.begin (), weights.end ()};
}
} // namespace opencl
