/* Phase that compensates the dispersion of the sample arm
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "valuesfile.hpp"

namespace oct {
/* Dispersion from properties: either coefficients in rad or a file */
struct Dispersion {
  double a2 = 0;
  double a3 = 0;
  ValuesFile phase{"dispersion-phase", ""};

  bool given () const { return a2 != 0 || a3 != 0 || phase.given (); }
};

/* Checks what does not depend on the number of samples. */
bool dispersion_check (const Dispersion &dispersion, GError **error);

/* Fills `phase`, in rad, for multiplication by exp(-i phase): the values of the file, or
 * a2 q^2 + a3 q^3 with q = m - samples / 2 (not rounded). All values are zero if no
 * dispersion is given. */
bool dispersion_load (const Dispersion &dispersion, gsize samples,
    std::vector<double> &phase, GError **error);
} // namespace oct
