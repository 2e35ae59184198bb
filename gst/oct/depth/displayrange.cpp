/* Display range: the values shown as black and as white
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "displayrange.hpp"

#include <cmath>

namespace oct {
namespace {
/* The last entry applies to caps without a known quantity. */
const Quantity quantities[] = {
    {"amplitude", Numbers::amplitudes, true, 0, 0},
    {"variance", Numbers::powers, true, 0, 0},
    {"decorrelation", Numbers::values, false, 0, 1},
    {"phase", Numbers::values, false, -G_PI, G_PI},
    {"velocity", Numbers::values, false, -10, 10},
    {"decibels", Numbers::values, true, 0, 0},
};

const Quantity complex_numbers = {"", Numbers::complex, true, 0, 0};
const Quantity bytes = {"", Numbers::values, false, 0, G_MAXUINT8};
const Quantity words = {"", Numbers::values, false, 0, G_MAXUINT16};
} // namespace

const Quantity &
quantity_of (const DepthLayout &input)
{
  if (input.video)
    return input.bytes == 1 ? bytes : words;
  if (input.complex)
    return complex_numbers;
  for (const Quantity &entry : quantities) {
    if (input.quantity == entry.name)
      return entry;
  }
  return *(std::end (quantities) - 1);
}

bool
DisplayRange::check (GError **error) const
{
  if (db_min < db_max && (min < max || (min == 0 && max == 0)))
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "db-min is %g and db-max is %g, min is %g and max is %g, expected db-min below "
      "db-max and min below max",
      db_min, db_max, min, max);
  return false;
}

void
DisplayRange::set (const Quantity &shown, DepthOutput &picture) const
{
  picture.logarithmic = scale == Scale::log || shown.numbers == Numbers::values;
  picture.black = db_min;
  picture.white = db_max;
  if (!shown.decibels) {
    const bool told = min < max;
    picture.black = told ? min : shown.min;
    picture.white = told ? max : shown.max;
  } else if (!picture.logarithmic) {
    const double tenfold = shown.numbers == Numbers::powers ? 10 : 20;
    picture.black = std::pow (10, db_min / tenfold);
    picture.white = std::pow (10, db_max / tenfold);
  }
}
} // namespace oct
