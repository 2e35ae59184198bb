/* Reference of the keying rules, computed one pixel and one iteration at a time
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../keyingframes.hpp"
#include "../opencl-check.hpp"
#include "tests/check/slowness.hpp"

#include <cmath>
#include <cstdlib>
#include <functional>

namespace keying_reference {
using keying_frames::Color;
using keying_frames::color_of;
using keying_frames::difference;
using keying_frames::Layout;
using keying_frames::lit;
using keying_frames::mixed;
using keying_frames::Picture;
using keying_frames::Pixel;
using keying_frames::pixel_of;
using keying_frames::Random;
using keying_frames::text_of;

enum Channel {
  ALL,
  RED,
  GREEN,
  BLUE,
};

inline bool
distance_below (const Pixel &a, const Pixel &b, double tolerance, Channel channel = ALL)
{
  const int differences[] = {
      abs (a.red - b.red), abs (a.green - b.green), abs (a.blue - b.blue)};
  if (channel != ALL)
    return differences[channel - 1] < ceil (tolerance * 255);
  return differences[0] + differences[1] + differences[2] < ceil (tolerance * 765);
}

/* Distance from grey; 1 is pure green */
inline double
saturation (const Pixel &key)
{
  auto chroma = [] (double red, double green, double blue) {
    return hypot (-21 * red - 43 * green + 64 * blue, 64 * red - 54 * green - 10 * blue);
  };
  return chroma (key.red, key.green, key.blue) / chroma (0, 255, 0);
}

struct Mask {
  int width = 0, height = 0;
  std::vector<bool> keyed;

  bool at (int x, int y, bool outside) const
  {
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    return inside ? keyed[size_t (y) * width + x] : outside;
  }
  int neighbours (int x, int y, bool outside) const
  {
    return at (x - 1, y, outside) + at (x + 1, y, outside) + at (x, y - 1, outside)
           + at (x, y + 1, outside);
  }
  bool covers (const Mask &other) const
  {
    for (size_t n = 0; n < keyed.size (); n++) {
      if (other.keyed[n] && !keyed[n])
        return false;
    }
    return true;
  }
  bool operator== (const Mask &other) const { return keyed == other.keyed; }
  size_t count () const
  {
    size_t sum = 0;
    for (bool is : keyed)
      sum += is;
    return sum;
  }
};

inline Mask
mask_of (const Picture &picture)
{
  Mask mask = {picture.width, picture.height, {}};
  for (const Pixel &pixel : picture.pixels)
    mask.keyed.push_back (pixel.alpha == 0);
  return mask;
}

inline uint8_t
times_opacity (uint8_t alpha, double opacity)
{
  return uint8_t ((alpha * std::lround (opacity * 65536) + 32768) >> 16);
}

/* Keyed pixels get alpha 0. Pixels that are no longer keyed get their alpha in `original`
 * times `opacity`, or become opaque if that is 0. */
inline Picture
with_mask (Picture picture, const Mask &mask, const Picture &original, double opacity = 1)
{
  for (size_t n = 0; n < picture.pixels.size (); n++) {
    uint8_t &alpha = picture.pixels[n].alpha;
    uint8_t before = times_opacity (original.pixels[n].alpha, opacity);
    if (alpha == 0)
      alpha = before ? before : 255;
    if (mask.keyed[n])
      alpha = 0;
  }
  return picture;
}

inline Picture
with_mask (const Picture &picture, const Mask &mask)
{
  return with_mask (picture, mask, picture);
}

/* Every pixel reads the mask of the previous iteration. Stops if nothing changes. */
inline Mask
iterate (
    Mask mask, int iterations, const std::function<bool (const Mask &, int, int)> &rule)
{
  for (int i = 0; i < iterations; i++) {
    Mask next = mask;
    for (int y = 0; y < mask.height; y++) {
      for (int x = 0; x < mask.width; x++)
        next.keyed[size_t (y) * mask.width + x] = rule (mask, x, y);
    }
    if (next == mask)
      break;
    mask = next;
  }
  return mask;
}

inline Mask
reduce (const Mask &mask, int iterations)
{
  return iterate (mask, iterations, [] (const Mask &before, int x, int y) {
    return before.at (x, y, true) && before.neighbours (x, y, true) >= 3;
  });
}

inline Mask
fill (const Mask &mask, int iterations)
{
  return iterate (mask, iterations, [] (const Mask &before, int x, int y) {
    return before.at (x, y, false) || before.neighbours (x, y, false) >= 2;
  });
}

struct FlowRule {
  double tolerance = 0.025;
  Channel channel = ALL;
  double limit = 0;
  Pixel key = {0, 255, 0, 255};
};

/* Exact, in 1/128 of a level */
inline long
chroma_square (const Pixel &a, const Pixel &b)
{
  long red = a.red - b.red, green = a.green - b.green, blue = a.blue - b.blue;
  long cb = -21 * red - 43 * green + 64 * blue;
  long cr = 64 * red - 54 * green - 10 * blue;
  return cb * cb + cr * cr;
}

inline bool
may_enter (const Pixel &pixel, const FlowRule &rule)
{
  double limit = rule.limit * 255 * 128;
  return rule.limit == 0 || chroma_square (pixel, rule.key) <= floor (limit * limit);
}

/* Spreads from keyed pixels to their neighbours. A pixel is keyed in the iteration after
 * its first keyed neighbour. */
inline Mask
flow (const Picture &picture, int iterations, const FlowRule &rule)
{
  Mask mask = mask_of (picture);
  std::vector<std::pair<int, int>> front, next;
  for (int y = 0; y < mask.height; y++) {
    for (int x = 0; x < mask.width; x++) {
      if (mask.at (x, y, false))
        front.push_back ({x, y});
    }
  }
  for (int i = 0; !front.empty () && (iterations == 0 || i < iterations); i++) {
    next.clear ();
    for (const auto &[x, y] : front) {
      const int neighbours[][2] = {{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}};
      for (const auto &[nx, ny] : neighbours) {
        if (mask.at (nx, ny, true)
            || !distance_below (
                picture.at (x, y), picture.at (nx, ny), rule.tolerance, rule.channel)
            || !may_enter (picture.at (nx, ny), rule))
          continue;
        mask.keyed[size_t (ny) * mask.width + nx] = true;
        next.push_back ({nx, ny});
      }
    }
    front.swap (next);
  }
  return mask;
}

/* Noise to which every rule applies: each pixel is keyed with a probability, or has one
 * of a few colours, some of them similar, and any alpha. */
inline Picture
noise (int width, int height, uint32_t seed, int percent_keyed)
{
  Random random (seed);
  Picture picture (width, height);
  for (Pixel &pixel : picture.pixels) {
    uint8_t shade = uint8_t (random.below (12));
    bool other = random.below (8) == 0;
    pixel.red = uint8_t ((other ? 200 : 10) + shade);
    pixel.green = uint8_t (random.below (5) == 0 ? 120 : 250);
    pixel.blue = uint8_t (random.below (6) + 20);
    bool keyed = int (random.below (100)) < percent_keyed;
    pixel.alpha = keyed ? 0 : random.below (2) ? 255 : uint8_t (1 + random.below (254));
  }
  return picture;
}

/* Pushes frames that keep the element busy, and stops the pipeline while it processes
 * them. */
inline void
assert_interruptible (const char *element, const Picture &picture)
{
  keying_frames::ElementUnderTest maker (element);
  check::Pipeline pipeline (check::text (
      "appsrc name=source caps=\"video/x-raw(memory:OpenCLMemory), format=RGBA, "
      "width=%d, height=%d, framerate=30/1\" format=time ! %s name=busy ! "
      "fakesink async=false",
      picture.width, picture.height, element));
  pipeline.start ();
  for (int n = 0; n < 3; n++)
    fail_unless (gst_app_src_push_buffer (GST_APP_SRC (pipeline["source"]),
                     maker.make_buffer (picture, keying_frames::formats[0], {0, 0}))
                 == GST_FLOW_OK);
  auto launches = [&] { return check::counts_of (pipeline["busy"]).launches; };
  fail_unless (check::soon ([&] { return launches () >= 2; }), "%s is idle", element);
  gint64 begin = g_get_monotonic_time ();
  pipeline.set_state (GST_STATE_NULL);
  gint64 took = g_get_monotonic_time () - begin;
  fail_unless (gdouble (took) < 2 * check::slowness () * G_USEC_PER_SEC,
      "%s: to NULL in %" G_GINT64_FORMAT " ms", element, took / 1000);
}

/* Sizes around those of a byte, a word, a tile and its core, and of real frames */
const int sizes[][2] = {{1, 1}, {1, 7}, {9, 1}, {2, 2}, {8, 8}, {31, 33}, {32, 32},
    {33, 31}, {63, 65}, {64, 64}, {65, 63}, {127, 130}, {255, 57}, {256, 64}, {257, 129},
    {496, 118}, {512, 128}, {513, 257}, {1919, 65}};
} // namespace keying_reference
