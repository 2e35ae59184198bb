/* Dispersion of a sample, from the sharpness of its image
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <vector>

namespace oct {
/* Dispersion as in octwindowinterp's dispersion-a2 and dispersion-a3, in rad */
struct SharpestDispersion {
  double a2 = 0, a3 = 0;
};

/* Returns the dispersion with which the power is in the fewest depths. `lines` are
 * contiguous raw A-lines, each with as many samples as `map` has entries. The mean of all
 * A-lines is subtracted. The quadratic part may reach 180 rad at the ends of the
 * spectrum. At most 192 A-lines are used. */
SharpestDispersion sharpest_dispersion (
    const std::vector<double> &lines, const std::vector<double> &map);
} // namespace oct
