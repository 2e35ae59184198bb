/* Weights of a blur
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <cmath>
#include <vector>

namespace opencl {
/* Of a Gaussian that `radius` is two deviations of, on one side: of the middle, and of what
 * is 1 to `radius` away. With the other side they sum to 1. */
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
