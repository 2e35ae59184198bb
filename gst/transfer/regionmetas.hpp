/* Metas that mark a region of a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "geometry.hpp"

namespace transfer {
/* How a converter places the input in the output */
struct Placement {
  const GstVideoInfo &input;
  Orientation orientation;
  Shown shown;
};

/* Whether @meta is a GstVideoRegionOfInterestMeta or GstVideoCropMeta */
bool marks_region (const GstMeta *meta);

/* Adds @meta, of which marks_region() is true, to @buffer, for the place where the output
 * shows that region. What lies outside of the input is cut off; a region with nothing
 * inside is left out. */
void add_region_meta (GstBuffer *buffer, const GstMeta *meta, const Placement &placement);
} // namespace transfer
