/* Polygon around what is kept, as a garbage matte
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <vector>

namespace keying {
/* Returns true if `corners` are empty or a polygon: pairs of x and y, 0 to 1 of width and
 * height. */
bool check_polygon (const std::vector<double> &corners, GError **error);

/* Returns a plane of levels, 255 outside of the polygon and 0 inside (even-odd rule). */
std::vector<guint8> matte_of_polygon (
    const std::vector<double> &corners, guint width, guint height);
} // namespace keying
