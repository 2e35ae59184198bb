/* Gridding for interpolation=nufft: resamples spectra to twice as many even wavenumbers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "interpolation.hpp"

namespace oct {
/* Grid points per even wavenumber */
constexpr guint gridding_oversampling = 2;

/* Returns the taps of each point of a grid from the first to the last even wavenumber.
 * `places` are the positions of samples, in even wavenumbers. They must strictly rise or
 * fall.
 *
 * The transform of the grid has twice as many depths as the output. A fringe has images
 * at other depths, which depend on the distance between samples in wavenumbers. A kernel
 * for each distance keeps the fringe, and suppresses images at output depths. */
Taps grid_taps (const std::vector<double> &places);

/* Inverts a table that rises or falls: returns the fractional indices of the values 0,
 * step, 2 step, …, `count` in number. */
std::vector<double> places_of_map (
    const std::vector<double> &map, gsize count, double step = 1);

/* Interpolates in a smooth table. Extrapolates beyond its ends. */
double value_between (const std::vector<double> &table, double at);
} // namespace oct
