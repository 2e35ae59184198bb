/* Tests of noisereduce against its rule, computed one pixel at a time
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include "keyingreference.hpp"

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;

static Picture
expected (const Picture &picture, int fills, int iterations)
{
  return with_mask (picture, reduce (fill (mask_of (picture), fills), iterations));
}

static void
expect_reduced (ElementUnderTest &element, const Picture &picture, int fills,
    int iterations, const keying_frames::Format &format, Layout layout)
{
  Owned<gchar> what =
      g_strdup_printf ("%d fills, %d iterations, %s, offset %d, padding %d", fills,
          iterations, format.name, int (layout.offset), int (layout.padding));
  element.set ("noisereduce", "fill-iterations", fills, "iterations", iterations);
  assert_same (
      element.run (picture, format, layout), expected (picture, fills, iterations), what);
}

TEST (test_noisereduce_is_its_rule_at_every_size)
{
  ElementUnderTest element ("noisereduce");
  const int iterations[][2] = {{0, 0}, {0, 1}, {0, 5}, {1, 0}, {2, 3}, {0, 16}, {0, 32},
      {0, 33}, {20, 30}, {0, 50}};
  for (const auto &size : sizes) {
    Picture dense = noise (size[0], size[1], 1, 90);
    for (const auto &[fills, reductions] : iterations)
      expect_reduced (
          element, dense, fills, reductions, keying_frames::formats[0], {0, 0});
    expect_reduced (element, noise (size[0], size[1], 2, 30), 3, 2,
        keying_frames::formats[0], {0, 0});
  }
}

TEST (test_noisereduce_is_its_rule_on_a_frame_of_4096x2160)
{
  ElementUnderTest element ("noisereduce");
  Picture picture = noise (4096, 2160, 4, 95);
  expect_reduced (element, picture, 0, 5, keying_frames::formats[1], {0, 0});
}

static Picture
island (int width, int height)
{
  Picture picture (width + 70, height + 40);
  picture.fill (30, 20, 30 + width, 20 + height, {0, 0, 0, 0});
  return picture;
}

TEST (test_noisereduce_removes_an_island_in_as_many_iterations_as_its_depth)
{
  ElementUnderTest element ("noisereduce");
  const int islands[][2] = {{2, 2}, {2, 9}, {3, 3}, {10, 7}, {33, 65}, {64, 2}, {90, 41}};
  for (const auto &[width, height] : islands) {
    int survives = (width - 1) / 2 + (height - 1) / 2;
    element.set ("noisereduce", "iterations", survives);
    fail_unless (mask_of (element.run (island (width, height))).count () > 0,
        "%dx%d is gone after %d", width, height, survives);
    element.set ("noisereduce", "iterations", survives + 1);
    fail_unless (mask_of (element.run (island (width, height))).count () == 0,
        "%dx%d is there after %d", width, height, survives + 1);
  }
  element.set ("noisereduce", "iterations", 1);
  fail_unless (mask_of (element.run (island (200, 1))).count () == 0);
}

TEST (test_noisereduce_a_band_across_the_frame_stays)
{
  ElementUnderTest element ("noisereduce");
  Picture across (300, 90), down (90, 300);
  across.fill (0, 40, 300, 42, {0, 0, 0, 0});
  down.fill (31, 0, 33, 300, {0, 0, 0, 0});
  for (int iterations : {1, 5, 40, 1000}) {
    element.set ("noisereduce", "iterations", iterations);
    assert_same (element.run (across), across, "a band across");
    assert_same (element.run (down), down, "a band down");
  }
}

TEST (test_noisereduce_fill_does_not_begin_at_the_frames_edge)
{
  ElementUnderTest element ("noisereduce fill-iterations=100 iterations=0");
  Picture picture (70, 50);
  picture.at (35, 25).alpha = 0;
  assert_same (element.run (picture), picture, "one keyed pixel");
}

/* A spiral two pixels wide, which each iteration shortens by a column at its ends */
static Picture
spiral (int width, int height)
{
  Picture picture (width, height);
  int left = 1, top = 1, right = width - 2, bottom = height - 2;
  auto key = [&] (int x, int y) { picture.fill (x, y, x + 2, y + 2, {0, 0, 0, 0}); };
  while (right - left > 8 && bottom - top > 8) {
    for (int x = left; x < right; x++)
      key (x, top);
    for (int y = top; y < bottom; y++)
      key (right - 1, y);
    for (int x = left + 4; x < right; x++)
      key (x, bottom - 1);
    for (int y = top + 4; y < bottom; y++)
      key (left + 4, y);
    left += 4, top += 4, right -= 4, bottom -= 4;
  }
  return picture;
}

TEST (test_noisereduce_a_million_iterations_can_be_interrupted)
{
  Picture picture = spiral (4096, 2160);
  assert_interruptible ("noisereduce iterations=1000000", picture);
}

TEST (test_noisereduce_a_million_iterations_end_and_are_right)
{
  ElementUnderTest element ("noisereduce iterations=1000000");
  Picture picture = spiral (120, 90);
  Mask left = mask_of (element.run (picture));
  fail_unless (left == reduce (mask_of (picture), 1000000));
}
