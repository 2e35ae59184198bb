/* Fourier transform of any length in double precision, for calibrations
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "transform.hpp"

namespace oct {
void
transform_from (const Complex *x, gsize n, gsize step, const Line &roots, Complex *bins)
{
  const gsize apart = roots.size () / n;
  if (n % 2) {
    for (gsize b = 0; b < n; b++) {
      bins[b] = 0;
      for (gsize k = 0; k < n; k++)
        bins[b] += x[k * step] * roots[b * k % n * apart];
    }
    return;
  }
  transform_from (x, n / 2, 2 * step, roots, bins);
  transform_from (x + step, n / 2, 2 * step, roots, bins + n / 2);
  for (gsize b = 0; b < n / 2; b++) {
    const Complex a = bins[b], z = bins[b + n / 2], root = roots[b * apart];
    const Complex rotated (z.real () * root.real () - z.imag () * root.imag (),
        z.real () * root.imag () + z.imag () * root.real ());
    bins[b] = a + rotated;
    bins[b + n / 2] = a - rotated;
  }
}

Line
roots_of (gsize n, int sign)
{
  Line roots;
  for (gsize k = 0; k < n; k++)
    roots.push_back (std::polar (1.0, sign * 2 * G_PI * double (k) / double (n)));
  return roots;
}

Line
transform (const Line &line, int sign)
{
  Line bins (line.size ());
  transform_from (
      line.data (), line.size (), 1, roots_of (line.size (), sign), bins.data ());
  return bins;
}
} // namespace oct
