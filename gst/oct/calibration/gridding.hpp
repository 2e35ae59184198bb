/* interpolation=nufft: interpolation to twice as many even wavenumbers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "interpolation.hpp"

namespace oct {
/* Points of the grid for one of the even wavenumbers. */
constexpr guint gridding_oversampling = 2;

/* The taps of each point of a grid from the first even wavenumber to the last one.
 * `places` are those of the samples, in even wavenumbers; they rise or fall strictly.
 *
 * The transform of the grid has twice as many depths as are wanted. A fringe between
 * samples that are p wavenumbers apart has images at other depths. A kernel for each p
 * keeps the fringe, and suppresses the images that reach the depths that are wanted. */
Taps grid_taps (const std::vector<double> &places);

/* Where 0, step, 2 step, … lie in a table that rises or falls: `count` indices, with
 * fractions. */
std::vector<double> places_of_map (
    const std::vector<double> &map, gsize count, double step = 1);

/* A smooth table between its entries, and a little beyond. */
double value_between (const std::vector<double> &table, double at);
} // namespace oct
