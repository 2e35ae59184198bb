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
    {"amplitude", ValueType::amplitudes, true, 0, 0},
    {"variance", ValueType::powers, true, 0, 0},
    {"attenuation", ValueType::values, false, 0, 10},
    {"decorrelation", ValueType::values, false, 0, 1},
    {"phase", ValueType::values, false, -G_PI, G_PI},
    {"velocity", ValueType::values, false, -10, 10},
    {"log-variance", ValueType::values, false, 0, 30},
    {"decay-speed", ValueType::values, false, 0, 5},
    {"swiftness", ValueType::values, false, 0, 10},
    {"frequency", ValueType::values, false, 0, 15},
    {"decibels", ValueType::values, true, 0, 0},
};

const Quantity complex_values = {"", ValueType::complex, true, 0, 0};
const Quantity bytes = {"", ValueType::values, false, 0, G_MAXUINT8};
const Quantity words = {"", ValueType::values, false, 0, G_MAXUINT16};
} // namespace

const opencl::EnumTypeOf<Scale> scale_type = {
    "GstOctScale", {
                       {Scale::log, "Decibels: 20 log10(max(amplitude, 1e-6))", "log"},
                       {Scale::linear, "Amplitude", "linear"},
                   }};

const Quantity &
quantity_of (const DepthLayout &input)
{
  if (input.video)
    return input.bytes == 1 ? bytes : words;
  if (input.complex)
    return complex_values;
  for (const Quantity &entry : quantities) {
    if (input.quantity == entry.name)
      return entry;
  }
  return *(std::end (quantities) - 1);
}

DepthFormat
depth_format_of (const DepthLayout &output)
{
  if (output.image)
    return output.bytes == 1 ? DepthFormat::gray8 : DepthFormat::gray16;
  return output.complex ? DepthFormat::complex : DepthFormat::levels;
}

bool
DisplayRange::check (GError **error) const
{
  if (db_min < db_max && (min < max || (min == 0 && max == 0)))
    return true;
  return REFUSE_SETTINGS (error,
      "db-min is %g and db-max is %g, min is %g and max is %g, expected db-min below "
      "db-max and min below max",
      db_min, db_max, min, max);
}

void
DisplayRange::apply_to (const Quantity &quantity, DepthOutput &image) const
{
  image.logarithmic = scale == Scale::log || quantity.value_type == ValueType::values;
  image.black = db_min;
  image.white = db_max;
  if (!quantity.decibels) {
    const bool is_set = min < max;
    image.black = is_set ? min : quantity.min;
    image.white = is_set ? max : quantity.max;
  } else if (!image.logarithmic) {
    const double tenfold = quantity.value_type == ValueType::powers ? 10 : 20;
    image.black = std::pow (10, db_min / tenfold);
    image.white = std::pow (10, db_max / tenfold);
  }
}
} // namespace oct
