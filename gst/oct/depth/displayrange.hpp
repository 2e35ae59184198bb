/* Display range: the values shown as black and as white
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthfilter.hpp"
#include "display.hpp"

namespace oct {
extern const opencl::EnumTypeOf<Scale> scale_type;

/* How values are displayed whose caps have this `quantity` */
struct Quantity {
  const char *name;
  ValueType value_type;
  bool decibels; /* displayed in decibels */
  double min, max;
};

const Quantity &quantity_of (const DepthLayout &input);
/* Returns the format of images or depths with this layout. */
DepthFormat depth_format_of (const DepthLayout &output);

/* Display range of the properties */
struct DisplayRange {
  Scale scale = Scale::log;
  double db_min = 0;
  double db_max = 60;
  double min = 0; /* min and max 0: range of the quantity */
  double max = 0;

  bool check (GError **error) const;
  /* Sets black, white and scale of `image`. Input in decibels is never converted. */
  void apply_to (const Quantity &quantity, DepthOutput &image) const;
};

/* Properties of an element's display range. Its Values have a DisplayRange `range`. */
template <typename Values>
opencl::PropertyTable<Values>
display_range_properties ()
{
  const double most_value = 1e9;
  auto part = [] (auto DisplayRange::*member) {
    return opencl::nested (&Values::range, member);
  };
  return {
      {"scale", "Scale", "Scale of quantities that are displayed in decibels",
          part (&DisplayRange::scale), scale_type, opencl::playing},
      {"db-min", "Black level", "Level shown as black in dB, below db-max",
          part (&DisplayRange::db_min), {least_db, most_db}, opencl::controllable},
      {"db-max", "White level", "Level shown as white in dB, above db-min",
          part (&DisplayRange::db_max), {least_db, most_db}, opencl::controllable},
      {"min", "Minimum value",
          "Value shown as black, for input that is not in decibels (min and max 0 = the "
          "default range of the caps' quantity)",
          part (&DisplayRange::min), {-most_value, most_value}, opencl::controllable},
      {"max", "Maximum value",
          "Value shown as white, above min, for input that is not in decibels",
          part (&DisplayRange::max), {-most_value, most_value}, opencl::controllable},
  };
}

template <typename Values>
opencl::PropertyTable<Values>
joined (opencl::PropertyTable<Values> first, const opencl::PropertyTable<Values> &second)
{
  first.insert (first.end (), second.begin (), second.end ());
  return first;
}
} // namespace oct
