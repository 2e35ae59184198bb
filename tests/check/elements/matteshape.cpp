/* Tests of matteshape against its rule
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include "keyingreference.hpp"

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;

/* Alpha at a position; beyond the frame that of the nearest edge pixel */
static int
alpha_at (const Picture &picture, int x, int y)
{
  return picture
      .at (std::clamp (x, 0, picture.width - 1), std::clamp (y, 0, picture.height - 1))
      .alpha;
}

/* The largest or smallest alpha in a disc */
static Picture
grown (const Picture &picture, int grow)
{
  Picture result = picture;
  int radius = abs (grow);
  for (int y = 0; y < picture.height; y++) {
    for (int x = 0; x < picture.width; x++) {
      int best = alpha_at (picture, x, y);
      for (int down = -radius; down <= radius; down++) {
        for (int right = -radius; right <= radius; right++) {
          if (right * right + down * down > radius * radius)
            continue;
          int other = alpha_at (picture, x + right, y + down);
          best = grow > 0 ? std::max (best, other) : std::min (best, other);
        }
      }
      result.at (x, y).alpha = uint8_t (best);
    }
  }
  return result;
}

static double
feathered_at (const Picture &picture, int radius, int x, int y)
{
  double sum = 0, weights = 0;
  for (int down = -radius; down <= radius; down++) {
    for (int right = -radius; right <= radius; right++) {
      double weight =
          exp (-2. * (right * right + down * down) / std::max (1, radius * radius));
      sum += weight * alpha_at (picture, x + right, y + down);
      weights += weight;
    }
  }
  return sum / weights;
}

TEST (test_matteshape_leaves_the_picture_alone_by_default)
{
  ElementUnderTest element ("matteshape");
  Picture picture = noise (77, 41, 1, 50);
  for (const auto &format : keying_frames::formats)
    for (const Layout &layout : keying_frames::layouts)
      assert_same (element.run (picture, format, layout), picture, "default");
}

TEST (test_matteshape_grows_and_shrinks_by_a_disc_at_every_size)
{
  ElementUnderTest element ("matteshape");
  for (const auto &[width, height] : {std::pair (1, 1), std::pair (9, 1),
           std::pair (1, 7), std::pair (33, 31), std::pair (150, 40)}) {
    Picture picture = noise (width, height, 2, 93);
    for (int grow : {1, -1, 2, -3, 7, -12}) {
      element.set ("matteshape", "grow", grow);
      assert_same (element.run (picture, keying_frames::formats[2], {4, 12}),
          grown (picture, grow), "grown");
    }
  }
}

TEST (test_matteshape_grows_and_shrinks_as_far_as_64_pixels)
{
  ElementUnderTest element ("matteshape grow=64");
  Picture dot (201, 170, {10, 20, 30, 0}), hole (201, 170, {10, 20, 30, 255});
  dot.at (100, 90).alpha = 255;
  hole.at (30, 20).alpha = 0;
  assert_same (element.run (dot), grown (dot, 64), "grown");
  element.set ("matteshape", "grow", -64);
  assert_same (element.run (hole), grown (hole, -64), "shrunk");
}

TEST (test_matteshape_feathers_as_a_gaussian_and_inverts)
{
  ElementUnderTest element ("matteshape");
  Picture picture = noise (57, 43, 3, 70);
  for (int radius : {1, 2, 9, 64}) {
    for (int invert : {0, 1}) {
      element.set ("matteshape", "feather", radius, "invert", invert);
      Picture result = element.run (picture, keying_frames::formats[1]);
      for (int y = 0; y<picture.height; y += radius> 9 ? 7 : 1) {
        for (int x = 0; x < picture.width; x++) {
          double wanted = feathered_at (picture, radius, x, y);
          int is = result.at (x, y).alpha;
          fail_unless (fabs ((invert ? 255 - is : is) - wanted) <= 0.51,
              "radius %d at %d,%d: %d, expected %g", radius, x, y, is, wanted);
          fail_unless (result.at (x, y).red == picture.at (x, y).red
                       && result.at (x, y).green == picture.at (x, y).green
                       && result.at (x, y).blue == picture.at (x, y).blue);
        }
      }
    }
  }
}

TEST (test_matteshape_knobs_turn_while_it_plays)
{
  ElementUnderTest element ("matteshape");
  Picture picture = noise (40, 30, 4, 80);
  for (int grow : {3, 0, -2, 5}) {
    element.set ("matteshape", "grow", grow, "invert", FALSE, "feather", 0);
    assert_same (element.run (picture), grown (picture, grow), "turned");
    element.set ("matteshape", "feather", abs (grow));
    element.run (picture);
  }
  /* New sizes take effect as well. */
  Picture other = noise (23, 57, 5, 80);
  element.set ("matteshape", "feather", 0);
  assert_same (element.run (other), grown (other, 5), "size");
}
