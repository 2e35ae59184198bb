/* Identities of objects over consecutive frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "detector.hpp"

namespace inference {
/* Gives boxes the identity of the box that they are most alike, by place and size, among those
 * of the same class. Boxes of earlier frames move on with their velocity. */
class Tracker {
public:
  struct Identity {
    guint number = 0;
    GstClockTime began = 0; /* of the first frame */
  };

  /* Returns an identity for each object of the frame of `time`, from 1 on. One without a box
   * is kept for `most` frames. */
  std::vector<Identity> identify (
      const std::vector<DetectedObject> &objects, guint most, GstClockTime time);
  /* Ends all identities. Later ones have other numbers. */
  void forget () { tracks.clear (); }

private:
  struct Track {
    Identity identity;
    DetectedObject box; /* expected in the present frame */
    gfloat speed_x, speed_y;
    guint missed; /* frames without a box, since the last one */
    guint frames; /* with a box, after the first */
  };
  struct Pair {
    gfloat likeness;
    gsize track, object;
  };

  std::vector<Pair> pairs_with (const std::vector<DetectedObject> &objects) const;
  static void follow (Track &track, const DetectedObject &object);

  std::vector<Track> tracks;
  guint latest = 0;
};
} // namespace inference
