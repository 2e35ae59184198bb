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
      element.set ("matteshape", "grow", double (grow));
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
  element.set ("matteshape", "grow", -64.);
  assert_same (element.run (hole), grown (hole, -64), "shrunk");
}

/* A soft edge, opaque on the right, whose middle is at column `at` of the middle row, and
 * is inclined by `slope` columns for each row */
static Picture
soft_edge (int width, int height, double at, double slope, double alpha_per_pixel)
{
  Picture picture (width, height, {10, 20, 30, 0});
  const double across = 1 / hypot (1, slope); /* distance for each column */
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const double away = (x - at - slope * (y - height / 2)) * across;
      picture.at (x, y).alpha =
          uint8_t (lround (std::clamp (127.5 + alpha_per_pixel * away, 0., 255.)));
    }
  return picture;
}

/* Column at which a row passes half of 255, by linear interpolation */
static double
edge_of_row (const Picture &picture, int y)
{
  int x = 0;
  while (picture.at (x + 1, y).alpha < 127.5)
    x++;
  const double before = picture.at (x, y).alpha, after = picture.at (x + 1, y).alpha;
  return x + (127.5 - before) / (after - before);
}

/* The disc of a whole number reaches less far where no pixel lies on its circle. At these
 * slopes, that is below a hundredth of a pixel for each pixel. */
TEST (test_matteshape_moves_soft_edges_by_a_fraction_of_a_pixel)
{
  for (double slope : {0., 1 / 16., -1 / 8.}) {
    const Picture picture = soft_edge (97, 41, 48.3, slope, 15);
    for (const auto &format : {keying_frames::formats[0], keying_frames::formats[3]}) {
      for (double grow : {0.5, 0.25, -0.5, -0.9, 1.3, -2.75}) {
        ElementUnderTest element ("matteshape");
        element.set ("matteshape", "grow", grow);
        const Picture result = element.run (picture, format, {4, 12});
        double moved = 0;
        for (int y = 8; y < 33; y++)
          moved += (edge_of_row (picture, y) - edge_of_row (result, y)) / 25;
        moved /= hypot (1, slope); /* at right angles to the edge */
        fail_unless (fabs (moved - grow) <= 0.02 + 0.012 * fabs (grow),
            "grow=%g of an edge inclined by %g: moved by %g pixels", grow, slope, moved);
      }
    }
  }
}

/* A hard edge gets the fraction as alpha. Corners, noise and every size are mixtures of
 * whole numbers. */
TEST (test_matteshape_mixes_whole_numbers_and_turns_while_it_plays)
{
  ElementUnderTest element ("matteshape");
  const Picture hard = soft_edge (40, 9, 20.5, 0, 1000);
  element.set ("matteshape", "grow", 0.25);
  fail_unless_equals_int (element.run (hard).at (20, 4).alpha, 64);
  fail_unless_equals_int (element.run (hard).at (19, 4).alpha, 0);
  element.set ("matteshape", "grow", -0.25);
  fail_unless_equals_int (element.run (hard).at (21, 4).alpha, 191);
  fail_unless_equals_int (element.run (hard).at (22, 4).alpha, 255);
  for (const auto &[width, height] : {std::pair (1, 1), std::pair (9, 1),
           std::pair (1, 7), std::pair (33, 31), std::pair (150, 40)}) {
    const Picture picture = noise (width, height, 6, 80);
    for (double grow : {0.4, 5.5, -0.75, -1.125, 63.5}) {
      for (int invert : {0, 1}) {
        element.set ("matteshape", "grow", grow, "invert", invert);
        const Picture result = element.run (picture, keying_frames::formats[1], {4, 12});
        const int whole = int (trunc (grow)), next = whole + (grow < 0 ? -1 : 1);
        const Picture less = grown (picture, whole), more = grown (picture, next);
        const double part = fabs (grow - whole);
        for (size_t n = 0; n < picture.pixels.size (); n++) {
          const double wanted =
              less.pixels[n].alpha * (1 - part) + more.pixels[n].alpha * part;
          const int is = result.pixels[n].alpha;
          fail_unless (fabs ((invert ? 255 - is : is) - wanted) <= 0.51,
              "grow=%g at pixel %d: %d, expected %g", grow, int (n), is, wanted);
        }
      }
    }
  }
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
