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
  TargetRectangle target;
};

/* Returns true if @meta is a GstVideoRegionOfInterestMeta or GstVideoCropMeta. */
bool marks_region (const GstMeta *meta);

/* Adds @meta to @buffer, at the position where the output shows its region.
 * marks_region() must be true for @meta. Clips the region to the input, and drops it if
 * nothing is left. */
void add_region_meta (GstBuffer *buffer, const GstMeta *meta, const Placement &placement);
} // namespace transfer
