/* The property `threshold` of octangio and octdoppler, see threshold.clh
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <cmath>

namespace oct {
/* In dB, of the mean power; the least is no threshold. */
const double least_threshold = -1000, most_threshold = 1000;

/* For kernels; 0 for no threshold */
inline float
power_of_threshold (double threshold)
{
  return float (std::pow (10, threshold / 10));
}
} // namespace oct
