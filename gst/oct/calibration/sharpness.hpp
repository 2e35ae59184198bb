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

/* Dispersion of a sample. The errors are what the result may be off, in rad at the ends of
 * the spectrum. */
struct SampleDispersion {
  double a2 = 0,
         a3 = 0; /* as octwindowinterp's dispersion-a2 and dispersion-a3, in rad */
  double square_error = 0, cube_error = 0;
  double sharpness_before = 0,
         sharpness = 0; /* mean squared power / squared mean power */
};

/* Finds the dispersion with which all parts of the spectrum show structures at the same
 * depths. `lines` are contiguous raw A-lines, each with as many samples as `map` has
 * entries; `frame_lines` of them are a B-scan. The quadratic part may reach 180 rad at the
 * ends of the spectrum. Returns zero if the sample does not tell the dispersion from none.
 * Fails if A-lines disagree, or if the image does not get sharper. */
bool sample_dispersion (const std::vector<double> &lines, gsize frame_lines,
    const std::vector<double> &map, SampleDispersion &found, GError **error);
} // namespace oct
