/* The phase that takes the dispersion of the sample arm out of a spectrum
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "valuesfile.hpp"

namespace oct {
/* As the properties give it: by coefficients in rad, or by file, not by both. */
struct Dispersion {
  double a2 = 0;
  double a3 = 0;
  ValuesFile phase{"dispersion-phase", ""};

  bool given () const { return a2 != 0 || a3 != 0 || phase.given (); }
};

/* Checks that need no number of samples. */
bool dispersion_check (const Dispersion &dispersion, GError **error);

/* Fills phase, in rad, to be applied as exp(-i phase): a2 q^2 + a3 q^3 with
 * q = m - samples / 2 (a half where samples are odd), or the file's values. All zero
 * where none is given. */
bool dispersion_load (const Dispersion &dispersion, gsize samples,
    std::vector<double> &phase, GError **error);
} // namespace oct
