/* Fourier transform of any length in double precision, for calibrations
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
} // namespace oct
