/* Geometry of a conversion: rotation, mirroring, scaling and borders, tags and metas
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/composition/converter.hpp>
#include <gst/video/video.h>

#include <vector>
#include <array>
#include <atomic>
#include <memory>
#include <string>

namespace transfer {
Orientation orientation_of (GstVideoOrientationMethod method);

/* With `borders`, the input keeps its aspect ratio. */
TargetRectangle target_of (const GstVideoInfo &input, const GstVideoInfo &output,
    const Orientation &orientation, bool borders);

/* Converts a point of the output to pixels of the input. */
void to_input (const GstVideoInfo &input, const TargetRectangle &target,
    const Orientation &orientation, gdouble *x, gdouble *y);

/* Returns the rectangle of the output that shows @region of the input. Rounds down, as
 * GStreamer does when it scales regions of interest, but keeps sides of at least one
 * pixel. */
GstVideoRectangle to_output (const GstVideoInfo &input, const TargetRectangle &target,
    const Orientation &orientation, GstVideoRectangle region);

/* Returns caps with width and height swapped. (transfer full) */
GstCaps *transposed_caps (GstCaps *caps);

/* --- the image-orientation tags of a stream --- */

struct EventUnref {
  void operator() (GstEvent *event) const { gst_event_unref (event); }
};
using OwnedEvent = std::unique_ptr<GstEvent, EventUnref>;

/* Keeps the tag events of both scopes and finds the orientation, as newer versions of
 * videoflip do. Tags of the stream take precedence over global ones. A list without the
 * tag resets it. A stream with another id starts without tags. */
class OrientationTags {
public:
  /* Any thread */
  GstVideoOrientationMethod method () const { return method_; }

  /* Streaming thread. Handles a STREAM_START or TAG event. Returns true if method()
   * changed. */
  bool take (GstEvent *event);
  void clear ();
  /* The events that have an orientation, to be sent again */
  std::vector<OwnedEvent> events () const;

private:
  std::array<OwnedEvent, 2> by_scope; /* of GstTagScope */
  std::string stream_id;
  std::atomic<GstVideoOrientationMethod> method_{GST_VIDEO_ORIENTATION_IDENTITY};
};

/* For frames that were rotated by their tag: replaces the orientation in a TAG event by
 * rotate-0. Returns any other event as it is. */
OwnedEvent with_upright_orientation (OwnedEvent event);

/* --- metas with positions in a frame --- */

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

/* Adds another meta at its position in the output, if it has the transform of GStreamer
 * 1.28 for that. */
void place_meta (GstBuffer *to, GstMeta *meta, GstBuffer *from,
    const GstVideoInfo &output, const Placement &placement);
} // namespace transfer
