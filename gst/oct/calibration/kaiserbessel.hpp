/* The kernel of interpolation=nufft, and what it does to depth
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <cmath>
#include <glib.h>

namespace oct {
/* Points of the grid for one of the even wavenumbers. */
constexpr guint gridding_oversampling = 2;

/* Of six points of the grid, as Beatty (2005) has it for twice as many points: what other
 * periods of the grid add to a depth is below 1.2e-5 of what is there, and less than a tenth
 * of that near the first one. */
class KaiserBessel {
public:
  static constexpr double width = 6;

  /* Of a sample so many points of the grid away; of area 1. */
  static double at (double distance)
  {
    double u = 2 * distance / width;
    return std::abs (u) < 1 ? bessel (beta () * std::sqrt (1 - u * u)) / area () : 0;
  }

  /* What a bin of a grid's transform is to be multiplied with. */
  static double rolloff (gsize bin, gsize points)
  {
    double turn = G_PI * width * double (bin) / double (points);
    return area () / transform (std::sqrt (beta () * beta () - turn * turn));
  }

private:
  static double beta ()
  {
    const double u = width / gridding_oversampling * (gridding_oversampling - 0.5);
    return G_PI * std::sqrt (u * u - 0.8);
  }
  static double transform (double root) { return width * std::sinh (root) / root; }
  static double area () { return transform (beta ()); }

  /* Modified, of the first kind and order 0. */
  static double bessel (double x)
  {
    double sum = 1, term = 1;
    for (int n = 1; term > sum * 1e-17; n++)
      sum += term *= x * x / 4 / n / n;
    return sum;
  }
};
} // namespace oct
