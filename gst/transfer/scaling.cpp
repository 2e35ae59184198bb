/* Input samples and their weights for each row or column of a scaled image
 *
 * Input and output share their outer edges: output position `at` has its centre at
 * (at + 0.5) * in_size / out_size.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "scaling.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace transfer {
static const gdouble lobes = 3;

static gdouble
sinc (gdouble x)
{
  return x == 0 ? 1 : std::sin (G_PI * x) / (G_PI * x);
}

static gdouble
widening (gint in_size, gint out_size)
{
  return std::max (1.0, gdouble (in_size) / out_size);
}

gint
lanczos_taps (gint in_size, gint out_size)
{
  return int (std::ceil (2 * lobes * widening (in_size, out_size)));
}

std::vector<cl_float>
lanczos_table (gint in_size, gint out_size, gint fields)
{
  const gint taps = lanczos_taps (in_size, out_size);
  const gdouble wide = widening (in_size, out_size);
  std::vector<cl_float> table;

  for (gint at = 0; at < out_size; at++) {
    const gint field = std::min (at % fields, in_size - 1);
    const gdouble middle = ((at + 0.5) * in_size / out_size - 0.5 - field) / fields;
    const gdouble first = std::floor (middle - lobes * wide) + 1;
    std::vector<gdouble> weights;
    gdouble sum = 0;
    for (gint n = 0; n < taps; n++) {
      const gdouble off = (first + n - middle) / wide;
      weights.push_back (std::fabs (off) < lobes ? sinc (off) * sinc (off / lobes) : 0);
      sum += weights.back ();
    }
    table.push_back (cl_float (first));
    for (gdouble weight : weights)
      table.push_back (cl_float (weight / sum));
  }
  return table;
}

namespace {
/* Weights by the index of their input sample */
using Weights = std::map<gint, gdouble>;

Weights
nearest_weights (gdouble middle, gdouble, gint)
{
  return {{gint (std::floor (middle)), 1}};
}

Weights
bilinear_weights (gdouble middle, gdouble, gint)
{
  const gdouble from = std::max (middle - 0.5, 0.0), first = std::floor (from);
  Weights weights = {{gint (first), 1 - (from - first)}};
  if (from > first)
    weights[gint (first) + 1] = from - first;
  return weights;
}

/* The part of each sample that the output sample covers */
Weights
area_weights (gdouble middle, gdouble width, gint in_size)
{
  const gdouble from = std::max (middle - width / 2, 0.0);
  const gdouble to = std::min (middle + width / 2, gdouble (in_size));
  Weights weights;
  for (gint index = gint (from); index < to; index++)
    weights[index] =
        (std::min (to, index + 1.0) - std::max (from, gdouble (index))) / (to - from);
  return weights;
}

/* From a row of lanczos_table() */
Weights
lanczos_weights (const cl_float *row, gint taps)
{
  Weights weights;
  for (gint n = 0; n < taps; n++)
    weights[gint (row[0]) + n] = row[1 + n];
  return weights;
}

/* Samples beyond an edge repeat the one at the edge. */
Weights
within (const Weights &weights, gint in_size)
{
  Weights inside;
  for (const auto &[index, weight] : weights)
    inside[std::clamp (index, 0, in_size - 1)] += weight;
  return inside;
}

std::vector<Weights>
weights_of (ScaleMethod method, gint in_size, gint out_size)
{
  static constexpr decltype (&nearest_weights) functions[] = {
      nearest_weights, bilinear_weights, area_weights};
  const gdouble width = gdouble (in_size) / out_size;
  std::vector<Weights> all;
  if (method == ScaleMethod::lanczos) {
    const std::vector<cl_float> table = lanczos_table (in_size, out_size, 1);
    const gint taps = lanczos_taps (in_size, out_size);
    for (gint at = 0; at < out_size; at++)
      all.push_back (
          within (lanczos_weights (&table[gsize (at * (taps + 1))], taps), in_size));
    return all;
  }
  for (gint at = 0; at < out_size; at++)
    all.push_back (
        within (functions[gint (method)]((at + 0.5) * width, width, in_size), in_size));
  return all;
}
} // namespace

ScaleTable
scale_table (ScaleMethod method, gint in_size, gint out_size)
{
  const std::vector<Weights> all = weights_of (method, in_size, out_size);
  ScaleTable table;

  for (const Weights &weights : all)
    table.taps =
        std::max (table.taps, weights.rbegin ()->first - weights.begin ()->first + 1);
  for (const Weights &weights : all) {
    const gint first = std::min (weights.begin ()->first, in_size - table.taps);
    std::vector<cl_float> row (gsize (table.taps) + 1);
    row[0] = cl_float (first);
    for (const auto &[index, weight] : weights)
      row[gsize (1 + index - first)] = cl_float (weight);
    table.values.insert (table.values.end (), row.begin (), row.end ());
  }
  return table;
}
} // namespace transfer
