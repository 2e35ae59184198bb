/* Fourier transforms on the host, and the dispersion of a sample from the sharpness of its
 * image
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <complex>
#include <glib.h>
#include <vector>

namespace oct {
using Complex = std::complex<double>;
using Line = std::vector<Complex>;

/* Returns exp (sign 2 pi i k / n) for all k. */
Line roots_of (gsize n, int sign);

/* DFT of `roots.size ()` values, which are read `step` elements apart. `roots` are those
 * of roots_of(), for repeated transforms. */
void transform_from (
    const Complex *x, gsize n, gsize step, const Line &roots, Complex *bins);

/* DFT of any length, with `sign` in the exponent. */
Line transform (const Line &line, int sign);

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
