/* interpolation=nufft: samples spread over a grid of twice as many points
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "kaiserbessel.hpp"

namespace oct {
/* For each point of a periodic grid of gridding_oversampling points a wavenumber: the sum
 * over t of weight(point, t) x[(first[point] + t) mod samples]. Its transform, rolled off,
 * is the sum over samples j of factor[j] x[j] exp (-2 pi i b place[j] / wavenumbers).
 */
struct Grid {
  gsize points = 0;
  gsize count = 0;         /* taps of each point */
  std::vector<gint> first; /* from -edge on; first + count at most samples + edge where
                                count is 8 at most */
  std::vector<double> weights; /* all points of tap 0, then all of tap 1, … */

  static constexpr gint edge = 4; /* as in kernels/oct/tables.clh */
};

/* `places` are in even wavenumbers, of which there are as many and, padded with nothing,
 * `wavenumbers`; they rise or fall strictly, and what lies outside is left out. Weights are those of the kernel
 * alone. Fails where a point has more taps than is any use. */
bool make_grid (
    const std::vector<double> &places, gsize wavenumbers, Grid &grid, GError **error);

/* How many even wavenumbers each sample stands for. */
std::vector<double> density_of (const std::vector<double> &places);

/* Where each of `samples` samples lies on the even grid, by what sample each even
 * wavenumber lies at. */
std::vector<double> places_of_map (const std::vector<double> &map, gsize samples);

/* A smooth table between its entries, and a little beyond. */
double value_between (const std::vector<double> &table, double at);
} // namespace oct
