/* Tests of flowkey against its rule, computed one pixel at a time
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include "keyingreference.hpp"

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;

static Picture
expected (const Picture &picture, int iterations, const FlowRule &rule = {})
{
  return with_mask (picture, flow (picture, iterations, rule));
}

static void
expect_flowed (ElementUnderTest &element, const Picture &picture, int iterations,
    const FlowRule &rule = {},
    const keying_frames::Format &format = keying_frames::formats[0],
    Layout layout = {0, 0})
{
  Owned<gchar> what =
      g_strdup_printf ("%d iterations, tolerance %g, channel %d, limit %g, %s, "
                       "offset %d, padding %d",
          iterations, rule.tolerance, rule.channel, rule.limit, format.name,
          int (layout.offset), int (layout.padding));
  element.set ("flowkey", "iterations", iterations, "tolerance", rule.tolerance,
      "channel", int (rule.channel), "limit", rule.limit);
  assert_same (
      element.run (picture, format, layout), expected (picture, iterations, rule), what);
}

TEST (test_flowkey_is_its_rule_at_every_size)
{
  ElementUnderTest element ("flowkey");
  for (const auto &size : sizes) {
    Picture picture = noise (size[0], size[1], 1, 2);
    for (int iterations : {1, 2, 3, 8, 16, 17, 32, 33, 50, 0})
      expect_flowed (element, picture, iterations);
  }
}

TEST (test_flowkey_is_its_rule_for_every_tolerance_and_channel)
{
  ElementUnderTest element ("flowkey");
  Picture picture = noise (300, 140, 3, 1);
  for (double tolerance :
      {0.0, 1 / 765., 2 / 765., 0.01, 0.02, 0.025, 1 / 255., 0.3, 1.}) {
    for (Channel channel : {ALL, RED, GREEN, BLUE}) {
      FlowRule rule;
      rule.tolerance = tolerance;
      rule.channel = channel;
      expect_flowed (element, picture, 7, rule);
      expect_flowed (element, picture, 0, rule);
    }
  }
}

TEST (test_flowkey_does_not_enter_what_differs_too_much_from_the_key)
{
  ElementUnderTest element ("flowkey");
  Picture picture = noise (300, 140, 4, 3);
  for (double limit : {1e-9, 0.05, 0.2, 0.35, 0.5, 1.}) {
    FlowRule rule;
    rule.limit = limit;
    rule.tolerance = 0.5;
    for (int iterations : {4, 45, 0})
      expect_flowed (element, picture, iterations, rule);
  }
}

TEST (test_flowkey_is_its_rule_on_a_frame_of_4096x2160)
{
  ElementUnderTest element ("flowkey");
  Picture picture = noise (4096, 2160, 5, 1);
  expect_flowed (element, picture, 3, {}, keying_frames::formats[2]);
  expect_flowed (element, picture, 0, {}, keying_frames::formats[2]);
}

/* One path through the whole frame, a pixel wide, between walls of another colour: down
 * one column, up the next, and so on */
static Picture
maze (int width, int height)
{
  Picture picture (width, height, {200, 0, 0, 255});
  for (int x = 0; x < width; x += 2) {
    for (int y = 0; y < height; y++)
      picture.at (x, y) = {0, 200, 0, 255};
    if (x + 1 < width)
      picture.at (x + 1, x / 2 % 2 ? 0 : height - 1) = {0, 200, 0, 255};
  }
  picture.at (0, 0).alpha = 0;
  return picture;
}

TEST (test_flowkey_finds_through_a_maze_of_a_million_steps)
{
  ElementUnderTest element ("flowkey iterations=0");
  Picture picture = maze (1920, 1080);
  Picture result = element.run (picture);
  assert_same (result, expected (picture, 0), "maze");
  fail_unless (mask_of (result).count () == 960 * 1080 + 960 - 1 + 1);
}

TEST (test_flowkey_goes_thousands_of_steps_and_no_further)
{
  ElementUnderTest element ("flowkey");
  Picture picture = maze (200, 300);
  for (int iterations : {1000, 3000, 10001}) {
    expect_flowed (element, picture, iterations);
    fail_unless (mask_of (element.run (picture)).count () == size_t (iterations) + 1);
  }
}

TEST (test_flowkey_a_million_iterations_can_be_interrupted)
{
  Picture picture = maze (4096, 2160);
  assert_interruptible ("flowkey iterations=1000000", picture);
}

TEST (test_flowkey_a_converged_flow_does_not_change)
{
  ElementUnderTest element ("flowkey iterations=0");
  Picture once = element.run (noise (333, 222, 7, 1));
  assert_same (element.run (once), once, "converged");
  element.set ("flowkey", "iterations", 50);
  assert_same (element.run (once), once, "converged, 50 more");
}

TEST (test_flowkey_keeps_its_value_and_warns_of_one_out_of_range)
{
  Owned<GstElement> flowkey = gst_element_factory_make ("flowkey", nullptr);
  for (const gdouble value : {7.0, -1.0}) {
    gdouble tolerance = 0;
    _gst_check_expecting_log = TRUE;
    _gst_check_raised_warning = _gst_check_raised_critical = FALSE;
    g_object_set (flowkey, "tolerance", value, nullptr);
    _gst_check_expecting_log = FALSE;
    /* a CRITICAL since GLib 2.80 or so */
    fail_unless (_gst_check_raised_warning || _gst_check_raised_critical);
    g_object_get (flowkey, "tolerance", &tolerance, nullptr);
    expect_equal (tolerance, 0.025);
  }
}

/* A pale and a saturated screen, which chromakey finds in the frame */
TEST (test_flowkey_uses_key_and_saturation_of_chromakey)
{
  for (const Pixel &key : {Pixel{120, 170, 130, 255}, Pixel{20, 200, 40, 255}}) {
    ElementUnderTest element ("chromakey auto-key=rectangle auto-key-width=12 "
                              "auto-key-height=7 tolerance=0.004 ! flowkey "
                              "iterations=0 auto-key=true "
                              "relative=true tolerance=0.2 limit=0.25");
    Random random (51);
    Picture picture (200, 120, key);
    picture.draw (0, 10, 200, 120, [&] (int x, int) {
      Color color = color_of (
          mixed (key, {150, 140, 150, 255}, std::clamp ((x - 60) / 80., 0., 1.)));
      for (double &level : color)
        level += random.below (3);
      return pixel_of (color);
    });
    Picture before = picture;
    for (Pixel &pixel : before.pixels)
      pixel.alpha = distance_below (pixel, key, 0.004) ? 0 : 255;
    FlowRule rule = {0.2 * saturation (key), ALL, 0.25 * saturation (key), key};
    Mask mask = flow (before, 0, rule);
    fail_unless (mask.count () > 200 * 50 && mask.count () < 200 * 110);
    for (int frame = 0; frame < 2; frame++)
      assert_same (element.run (picture), with_mask (before, mask, picture), "auto-key");
  }
}
