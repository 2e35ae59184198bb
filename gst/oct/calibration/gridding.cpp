/* interpolation=nufft: samples spread over a grid of twice as many points
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gridding.hpp"

#include <algorithm>
#include <cmath>
#include <gst/gst.h>

namespace oct {
namespace {
const gsize least_taps = 3; /* from which on kernels have samples beyond the ends */
const gsize most_taps = 64;
const gsize most_taps_on_chip = 8;

/* What falls on a point: samples in rising order, and how far each is away. */
struct Share {
  gsize sample;
  double weight;
};
using Shares = std::vector<Share>;

std::vector<Shares>
spread (const std::vector<double> &places, gsize wavenumbers)
{
  const gint points = gint (gridding_oversampling * wavenumbers);
  const double half = KaiserBessel::width / 2;
  std::vector<Shares> shares (points);
  for (gsize j = 0; j < places.size (); j++) {
    if (places[j] < 0 || places[j] > double (places.size () - 1))
      continue;
    const double at = places[j] * gridding_oversampling;
    for (gint point = gint (std::floor (at - half)) + 1; point < at + half; point++)
      shares[(point + points) % points].push_back ({j, KaiserBessel::at (point - at)});
  }
  return shares;
}

/* Of samples in a ring: those from `first` on, `length` of them, hold all shares. */
struct Span {
  gint first = 0;
  gint length = 0;
};

Span
span_of (const Shares &shares, gint samples)
{
  if (shares.empty ())
    return {};
  Span span = {0, samples + 1};
  for (gsize n = 0; n < shares.size (); n++) {
    const gint first = gint (shares[n].sample);
    const gint last = gint (shares[(n + shares.size () - 1) % shares.size ()].sample);
    const gint length = (last - first + samples) % samples + 1;
    if (length < span.length)
      span = {first, length};
  }
  return span;
}

/* The first of `count` taps around `span` that reach no further than the edges. */
bool
place_taps (const Span &span, gint samples, gint count, gint &first)
{
  for (gint base : {span.first, span.first - samples}) {
    first = gsize (count) > most_taps_on_chip
                ? base
                : std::clamp (base, -Grid::edge, samples + Grid::edge - count);
    if (first <= base && base + span.length <= first + count)
      return true;
  }
  return false;
}

bool
place_all (const std::vector<Span> &spans, gint samples, Grid &grid)
{
  grid.first.resize (spans.size ());
  for (gsize point = 0; point < spans.size (); point++) {
    if (!place_taps (spans[point], samples, gint (grid.count), grid.first[point]))
      return false;
  }
  return true;
}

gdouble
slope_between (const std::vector<double> &table, double at)
{
  return value_between (table, at + 0.5) - value_between (table, at - 0.5);
}
} // namespace

bool
make_grid (
    const std::vector<double> &places, gsize wavenumbers, Grid &grid, GError **error)
{
  const gint samples = gint (places.size ());
  const std::vector<Shares> shares = spread (places, wavenumbers);
  std::vector<Span> spans;
  gint longest = gint (least_taps);
  for (const Shares &of : shares) {
    spans.push_back (span_of (of, samples));
    longest = std::max (longest, spans.back ().length);
  }
  grid = Grid ();
  grid.points = shares.size ();
  grid.count = gsize (longest);
  while (grid.count <= most_taps && !place_all (spans, samples, grid))
    grid.count++;
  if (grid.count > most_taps) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "interpolation is nufft and %d samples lie within three even wavenumbers, "
        "expected %" G_GSIZE_FORMAT " at most",
        longest, most_taps);
    return false;
  }

  grid.weights.assign (grid.count * grid.points, 0.0);
  for (gsize point = 0; point < grid.points; point++) {
    for (const Share &share : shares[point]) {
      gint tap = (gint (share.sample) - grid.first[point] + samples) % samples;
      grid.weights[gsize (tap) * grid.points + point] = share.weight;
    }
  }
  return true;
}

std::vector<double>
density_of (const std::vector<double> &places)
{
  const gsize last = places.size () - 1;
  std::vector<double> density (last + 1);
  for (gsize j = 0; j <= last; j++) {
    gsize before = j > 0 ? j - 1 : 0, after = std::min (j + 1, last);
    density[j] = std::abs (places[after] - places[before]) / double (after - before);
  }
  return density;
}

double
value_between (const std::vector<double> &table, double at)
{
  const gint last = gint (table.size ()) - 1;
  const gint i = gint (std::clamp (std::floor (at), 0.0, double (last - 1)));
  const double f = at - i;
  /* Beyond the ends it goes on as straight as it came. */
  auto value = [&] (gint n) {
    return n < 0      ? 2 * table[0] - table[1]
           : n > last ? 2 * table[last] - table[last - 1]
                      : table[n];
  };
  const double a = value (i - 1), b = value (i), c = value (i + 1), d = value (i + 2);
  if (f < 0 || f > 1) /* straight lines */
    return b + f * (c - b);
  return b
         + 0.5 * f
               * (c - a + f * (2 * a - 5 * b + 4 * c - d + f * (3 * (b - c) + d - a)));
}

std::vector<double>
places_of_map (const std::vector<double> &map, gsize samples)
{
  const gsize last = map.size () - 1;
  const bool rises = map[last] > map[0];
  std::vector<double> places (samples);
  for (gsize j = 0; j < samples; j++) {
    auto behind = [&] (double entry, double sample) {
      return rises ? entry < sample : entry > sample;
    };
    gsize m =
        std::lower_bound (map.begin (), map.end (), double (j), behind) - map.begin ();
    m = std::clamp<gsize> (m, 1, last) - 1;
    double at = double (m) + (double (j) - map[m]) / (map[m + 1] - map[m]);
    for (guint n = 0; n < 3; n++)
      at += (double (j) - value_between (map, at)) / slope_between (map, at);
    places[j] = at;
  }
  return places;
}
} // namespace oct
