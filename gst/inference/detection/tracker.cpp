/* Identities of objects over consecutive frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tracker.hpp"

#include <algorithm>

namespace inference {
namespace {
const gfloat least_likeness = 0.1f;
const gfloat of_missed = 0.6f;   /* factor of likeness: objects in sight come first */
const gfloat of_place = 0.5f;    /* weights of the last frame: place, velocity and size */
const gfloat of_velocity = 0.1f; /* more in the first frames */
const gfloat of_size = 0.3f;

gfloat
overlap_of (const DetectedObject &a, const DetectedObject &b)
{
  const gfloat width =
      std::min (a.left + a.width, b.left + b.width) - std::max (a.left, b.left);
  const gfloat height =
      std::min (a.top + a.height, b.top + b.height) - std::max (a.top, b.top);
  if (width <= 0 || height <= 0)
    return 0;
  const gfloat both = width * height;
  return both / (a.width * a.height + b.width * b.height - both);
}
/* Intersection over union, times the square of the ratio of sizes: objects that cross have the
 * same place, but keep their sizes. */
gfloat
likeness_of (const DetectedObject &expected, const DetectedObject &found)
{
  const gfloat wide = std::min (expected.width, found.width)
                      / std::max ({expected.width, found.width, 1e-6f}),
               high = std::min (expected.height, found.height)
                      / std::max ({expected.height, found.height, 1e-6f});
  return overlap_of (expected, found) * (wide * high) * (wide * high);
}
} // namespace

/* Pairs that may be the same object, the most alike first */
std::vector<Tracker::Pair>
Tracker::pairs_with (const std::vector<DetectedObject> &objects) const
{
  std::vector<Pair> pairs;
  for (gsize t = 0; t < tracks.size (); t++)
    for (gsize n = 0; n < objects.size (); n++) {
      const gfloat likeness = likeness_of (tracks[t].box, objects[n]);
      if (likeness >= least_likeness && tracks[t].box.kind == objects[n].kind)
        pairs.push_back ({likeness * (tracks[t].missed > 0 ? of_missed : 1), t, n});
    }
  std::stable_sort (pairs.begin (), pairs.end (),
      [] (const Pair &a, const Pair &b) { return a.likeness > b.likeness; });
  return pairs;
}

/* Moves the expected box towards the one that was found, and its velocity, unless the object
 * was out of sight: its path there is unknown. */
void
Tracker::follow (Track &track, const DetectedObject &found)
{
  DetectedObject &box = track.box;
  const gfloat weight = track.missed > 0 ? 1 : of_place;
  const gfloat off_x = found.left + found.width / 2 - box.left - box.width / 2,
               off_y = found.top + found.height / 2 - box.top - box.height / 2;
  const gfloat gain =
      track.missed > 0 ? 0 : std::max (of_velocity, 1 / gfloat (track.frames + 1));
  const gfloat x = box.left + box.width / 2 + weight * off_x,
               y = box.top + box.height / 2 + weight * off_y;
  track.speed_x += gain * off_x;
  track.speed_y += gain * off_y;
  box.width += of_size * (found.width - box.width);
  box.height += of_size * (found.height - box.height);
  box.left = x - box.width / 2;
  box.top = y - box.height / 2;
  track.missed = 0;
  track.frames++;
}

std::vector<Tracker::Identity>
Tracker::identify (
    const std::vector<DetectedObject> &objects, guint most, GstClockTime time)
{
  std::vector<Identity> identities (objects.size ());
  std::vector<bool> is_followed (tracks.size ());
  for (const Pair &pair : pairs_with (objects)) {
    if (identities[pair.object].number > 0 || is_followed[pair.track])
      continue;
    is_followed[pair.track] = true;
    identities[pair.object] = tracks[pair.track].identity;
    follow (tracks[pair.track], objects[pair.object]);
  }
  for (gsize t = 0; t < is_followed.size (); t++)
    tracks[t].missed += !is_followed[t];
  tracks.erase (std::remove_if (tracks.begin (), tracks.end (),
                    [most] (const Track &track) { return track.missed > most; }),
      tracks.end ());
  for (gsize n = 0; n < objects.size (); n++)
    if (identities[n].number == 0) {
      identities[n] = {++latest, time};
      tracks.push_back ({identities[n], objects[n], 0, 0, 0, 0});
    }
  for (Track &track : tracks) {
    track.box.left += track.speed_x;
    track.box.top += track.speed_y;
  }
  return identities;
}
} // namespace inference
