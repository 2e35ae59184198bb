/* Fourier transform of any length in double precision, the reference of tests
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <complex>
#include <vector>

#include <glib.h>

namespace fourier {
using Complex = std::complex<double>;
using Line = std::vector<Complex>;

inline gsize
smallest_factor (gsize n)
{
  for (gsize factor = 2; factor * factor <= n; factor++) {
    if (n % factor == 0)
      return factor;
  }
  return n;
}

/* Mixed-radix transform of n values with stride `step` */
inline Line
transform_from (
    const Complex *x, gsize n, gsize step, const Line &twiddle, gsize twiddle_step)
{
  if (n == 1)
    return {*x};

  gsize radix = smallest_factor (n);
  gsize part = n / radix;
  std::vector<Line> parts;
  for (gsize r = 0; r < radix; r++) {
    parts.push_back (
        transform_from (x + r * step, part, step * radix, twiddle, twiddle_step * radix));
  }

  Line bins (n);
  for (gsize b = 0; b < n; b++) {
    for (gsize r = 0; r < radix; r++)
      bins[b] += parts[r][b % part] * twiddle[(r * b) % n * twiddle_step];
  }
  return bins;
}

inline Line
transform (const Line &line)
{
  gsize n = line.size ();
  Line twiddle (n);
  for (gsize i = 0; i < n; i++)
    twiddle[i] = std::polar (1.0, -2 * G_PI * i / n);
  return transform_from (line.data (), n, 1, twiddle, 1);
}
} // namespace fourier
