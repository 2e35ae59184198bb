/* The property `threshold` of octangio and octdoppler, see threshold.clh
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <cmath>

namespace oct {
/* Limits in dB of the mean power; the minimum disables the threshold */
const double least_threshold = -1000, most_threshold = 1000;

/* Returns the power for the kernels; 0 without a threshold. */
inline float
power_of_threshold (double threshold)
{
  return float (std::pow (10, threshold / 10));
}
} // namespace oct
