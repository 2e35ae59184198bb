/* The image-orientation tags of a stream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace transfer {
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
} // namespace transfer
