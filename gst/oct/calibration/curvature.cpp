/* Polynomial of the optical path over the field of view
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "curvature.hpp"

#include <cmath>
#include <utility>

namespace oct {
namespace {
/* Powers of x and y of a term */
struct Powers {
  gsize x, y;
};

Powers
powers_of (gsize term)
{
  gsize degree = 0;
  while (Curvature::terms_of (degree) <= term)
    degree++;
  const gsize y = degree > 0 ? term - Curvature::terms_of (degree - 1) : 0;
  return {degree - y, y};
}
} // namespace

Curvature::Curvature (std::vector<double> coefficients)
    : coefficients (std::move (coefficients))
{
}

std::vector<double>
Curvature::terms_at (double x, double y, gsize order)
{
  std::vector<double> values;
  for (gsize term = 0; term < terms_of (order); term++) {
    const Powers powers = powers_of (term);
    values.push_back (std::pow (x, powers.x) * std::pow (y, powers.y));
  }
  return values;
}

std::vector<double>
Curvature::in_x (double y) const
{
  std::vector<double> sums (most_order + 1);
  for (gsize term = 0; term < coefficients.size (); term++) {
    const Powers powers = powers_of (term);
    sums[powers.x] += coefficients[term] * std::pow (y, powers.y);
  }
  return sums;
}

bool
Curvature::depends_on_y () const
{
  for (gsize term = 0; term < coefficients.size (); term++)
    if (powers_of (term).y > 0 && coefficients[term] != 0)
      return true;
  return false;
}

double
Curvature::at (double x, double y) const
{
  const std::vector<double> sums = in_x (y);
  double z = 0;
  for (gsize n = sums.size (); n-- > 0;)
    z = z * x + sums[n];
  return z;
}
} // namespace oct
