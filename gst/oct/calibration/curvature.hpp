/* Polynomial of the optical path over the field of view
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

namespace oct {
/* z(x, y), with x and y from -1 to 1. Coefficients are sorted by degree, and within a
 * degree by the power of y: of 1, x, y, x^2, xy, y^2, x^3, … Missing ones are 0. */
struct Curvature {
  explicit Curvature (std::vector<double> coefficients = {});

  static constexpr gsize most_order = 6, most_terms = 28;

  /* Returns the number of terms up to this degree. */
  static constexpr gsize terms_of (gsize order) { return (order + 1) * (order + 2) / 2; }

  /* Returns the values of all terms up to this degree. */
  static std::vector<double> terms_at (double x, double y, gsize order);

  /* Returns the coefficients of 1, x, x^2, … for one y. */
  std::vector<double> in_x (double y) const;
  bool depends_on_y () const;
  double at (double x, double y) const;

  std::vector<double> coefficients;
};
} // namespace oct
