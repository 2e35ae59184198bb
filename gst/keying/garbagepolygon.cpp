/* Polygon around what is kept, as a garbage matte
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "garbagepolygon.hpp"

#include <algorithm>
#include <cmath>

namespace keying {
namespace {
const int scanlines = 16; /* per row of pixels */

/* Finds where edges cross a scanline, from left to right. */
void
find_crossings (
    const std::vector<double> &corners, double y, std::vector<double> &crossings)
{
  const gsize count = corners.size ();
  crossings.clear ();
  for (gsize a = 0, b = count - 2; a < count; b = a, a += 2) {
    const double ax = corners[a], ay = corners[a + 1];
    const double bx = corners[b], by = corners[b + 1];
    if ((ay <= y) != (by <= y))
      crossings.push_back (ax + (y - ay) / (by - ay) * (bx - ax));
  }
  std::sort (crossings.begin (), crossings.end ());
}
} // namespace

bool
check_polygon (const std::vector<double> &corners, GError **error)
{
  const gsize count = corners.size ();
  for (double number : corners) {
    if (number >= 0 && number <= 1)
      continue;
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "garbage-polygon: %g, expected 0 to 1 of the width or height", number);
    return false;
  }
  if (count == 0 || (count >= 6 && count % 2 == 0))
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "garbage-polygon: %zu numbers, expected x and y of at least three corners", count);
  return false;
}

std::vector<guint8>
matte_of_polygon (const std::vector<double> &corners, guint width, guint height)
{
  std::vector<guint8> matte (gsize (width) * height);
  std::vector<float> steps (gsize (width) + 2); /* of coverage, from pixel to pixel */
  std::vector<double> crossings;
  for (guint y = 0; y < height; y++) {
    std::fill (steps.begin (), steps.end (), 0.0f);
    for (int n = 0; n < scanlines; n++) {
      float sign = 1.0f / scanlines;
      find_crossings (corners, (y + (n + 0.5) / scanlines) / height, crossings);
      for (double crossing : crossings) {
        const double x = crossing * width;
        const auto column = gsize (x);
        const float beyond = float (x - column); /* part of the step in the next pixel */
        steps[column] += sign * (1 - beyond);
        steps[column + 1] += sign * beyond;
        sign = -sign;
      }
    }
    float inside = 0;
    for (guint x = 0; x < width; x++) {
      inside += steps[x];
      matte[gsize (y) * width + x] =
          guint8 (std::lround (255 * (1 - std::clamp (inside, 0.0f, 1.0f))));
    }
  }
  return matte;
}
} // namespace keying
