/* Offsets in one block of memory for values with known lifetimes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <vector>

namespace inference {
/* A block that is in use from operation `first` to operation `last`, inclusive */
struct Lifetime {
  gsize size = 0;
  gint32 first = 0, last = 0;
  gsize offset = 0; /* result */
};

/* Assigns offsets, the largest block first, each at the lowest place that is free during its
 * lifetime. Returns the size of the arena. (Pisarchyk and Lee, Efficient memory management for
 * deep neural net inference, 2020: greedy by size.) */
gsize assign_offsets (std::vector<Lifetime> &blocks, gsize alignment);
} // namespace inference
