/* Frame metas with the objects, classes and texts that a network found
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "detection/tracker.hpp"

namespace inference {
/* Names of classes, and the frame that objects are in */
struct ResultNames {
  const std::vector<std::string> &labels;
  Method method;
  gint frame_width, frame_height;

  std::string label_of (gint kind) const;
};

void set_numbers (
    GstStructure *structure, const char *name, const std::vector<gfloat> &numbers);

/* Adds metas for the objects, and appends them to the array for the message. `parent` is the
 * number of a region, or -1. */
void attach_objects (GstBuffer *frame, const ResultNames &names,
    const std::vector<DetectedObject> &objects,
    const std::vector<Tracker::Identity> &identities, gint parent, GValue *list);
/* Adds a result to a region, and the object with it to the array for the message. Takes ownership
 * of the result. */
void attach_result (GstBuffer *frame, GstVideoRegionOfInterestMeta *region,
    GstStructure *result, GValue *list);

/* Sets and returns a number of the region that no other of the frame has. */
gint ensure_number (GstBuffer *frame, GstVideoRegionOfInterestMeta *region);
/* From pixels of a region to pixels of the frame */
void move_to_frame (
    DetectedObject &object, const Region &region, gint width, gint height);
/* Turns the region by the number that is the label of its class. */
void turn_region (
    GstVideoRegionOfInterestMeta *meta, const Region &region, const GstStructure *result);
} // namespace inference
