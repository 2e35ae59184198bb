/* chromakey against its rules
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyingreference.hpp"

#include <gst/controller/gstinterpolationcontrolsource.h>
#include <gst/controller/gstdirectcontrolbinding.h>

using namespace keying_reference;
using video_frames::ElementUnderTest;

static guint
argb_of (const Pixel &color)
{
  return 0xff000000u | guint (color.red) << 16 | guint (color.green) << 8 | color.blue;
}

struct Rule {
  Pixel key = {0, 255, 0, 255};
  double tolerance = 0.025;
  Channel channel = ALL;
  bool invert = false;
};

static Picture
keyed (Picture picture, const Rule &rule)
{
  for (Pixel &pixel : picture.pixels) {
    if (distance_below (pixel, rule.key, rule.tolerance, rule.channel) != rule.invert)
      pixel.alpha = 0;
  }
  return picture;
}

/* Near the key and far from it, on both sides of any tolerance */
static Picture
colors (int width, int height, const Pixel &key, uint32_t seed)
{
  Random random (seed);
  Picture picture (width, height);
  for (Pixel &pixel : picture.pixels) {
    int spread = random.below (3) == 0 ? 256 : 12;
    uint8_t *components[] = {&pixel.red, &pixel.green, &pixel.blue};
    const int centers[] = {key.red, key.green, key.blue};
    for (int n = 0; n < 3; n++)
      *components[n] = uint8_t (
          std::clamp (centers[n] + int (random.below (2 * spread)) - spread, 0, 255));
    pixel.alpha = uint8_t (random.below (256));
  }
  return picture;
}

static void
set_rule (ElementUnderTest &element, const Rule &rule)
{
  element.set ("chromakey", "key-color", argb_of (rule.key), "tolerance", rule.tolerance,
      "channel", int (rule.channel), "invert", rule.invert);
}

GST_START_TEST (test_chromakey_distance_is_its_rule_at_every_size)
{
  ElementUnderTest element ("chromakey");
  Rule rule;
  for (const auto &size : sizes) {
    Picture picture = colors (size[0], size[1], rule.key, 1);
    assert_same (element.run (picture), keyed (picture, rule), "distance");
  }
  Picture large = colors (4096, 2160, rule.key, 2);
  assert_same (element.run (large), keyed (large, rule), "distance");
}
GST_END_TEST;

GST_START_TEST (test_chromakey_distance_is_its_rule_in_every_format_and_layout)
{
  ElementUnderTest element ("chromakey");
  Rule rule;
  rule.key = {17, 200, 99, 255};
  set_rule (element, rule);
  Picture picture = colors (77, 41, rule.key, 3);
  for (const auto &format : video_frames::formats) {
    for (const Layout &layout : video_frames::layouts)
      assert_same (
          element.run (picture, format, layout), keyed (picture, rule), format.name);
  }
}
GST_END_TEST;

/* 0.1 * 765 is 76.5, 0.2 * 765 is 153 and a little in doubles, 0.6 * 255 likewise */
GST_START_TEST (test_chromakey_distance_decides_as_integers_for_every_tolerance)
{
  ElementUnderTest element ("chromakey");
  for (double tolerance : {0., 1e-12, 0.025, 0.1, 0.2, 0.3, 0.6, 0.7, 1 / 765., 2 / 765.,
           1 / 255., 0.999, 1.}) {
    for (Channel channel : {ALL, RED, GREEN, BLUE}) {
      Rule rule = {{0, 255, 0, 255}, tolerance, channel, false};
      set_rule (element, rule);
      Picture picture = colors (64, 64, rule.key, 4);
      assert_same (element.run (picture), keyed (picture, rule), "tolerance");
    }
  }
}
GST_END_TEST;

/* The program that this grew from compared signed bytes: there 255 was -1. */
GST_START_TEST (test_chromakey_distance_takes_black_and_white_for_no_green)
{
  ElementUnderTest element ("chromakey tolerance=0.3");
  for (const Pixel &pixel : {Pixel{0, 0, 0, 255}, Pixel{255, 255, 255, 255}}) {
    Picture picture (20, 20, pixel);
    assert_same (element.run (picture), picture, "black or white");
  }
  fail_unless (
      mask_of (element.run (Picture (20, 20, {0, 255, 0, 255}))).count () == 400);
}
GST_END_TEST;

GST_START_TEST (test_chromakey_invert_keys_the_rest)
{
  ElementUnderTest element ("chromakey");
  Rule rule;
  rule.invert = true;
  set_rule (element, rule);
  Picture picture = colors (100, 50, rule.key, 5);
  assert_same (element.run (picture), keyed (picture, rule), "inverted");
}
GST_END_TEST;

GST_START_TEST (test_chromakey_opacity_scales_what_is_not_keyed)
{
  ElementUnderTest element ("chromakey");
  Rule rule;
  Picture picture = colors (100, 50, rule.key, 6);
  for (double opacity : {0., 0.25, 0.5, 0.9}) {
    element.set ("chromakey", "opacity", opacity);
    Picture expected = keyed (picture, rule);
    for (Pixel &pixel : expected.pixels)
      pixel.alpha = uint8_t (pixel.alpha * lround (opacity * 65536) / 65536. + 0.5);
    assert_same (element.run (picture), expected, "opacity");
  }
}
GST_END_TEST;

static Pixel
mean_of (const Picture &picture, int left, int top, int width, int height)
{
  long sums[3] = {0, 0, 0}, count = long (width) * height;
  for (int y = top; y < top + height; y++) {
    for (int x = left; x < left + width; x++) {
      sums[0] += picture.at (x, y).red;
      sums[1] += picture.at (x, y).green;
      sums[2] += picture.at (x, y).blue;
    }
  }
  return {uint8_t ((2 * sums[0] + count) / (2 * count)),
      uint8_t ((2 * sums[1] + count) / (2 * count)),
      uint8_t ((2 * sums[2] + count) / (2 * count)), 255};
}

static Picture
quarters (int width, int height)
{
  Random random (7);
  Picture picture (width, height);
  const Pixel colors[] = {
      {200, 30, 40, 255}, {20, 190, 30, 255}, {10, 20, 210, 255}, {90, 90, 90, 255}};
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      Pixel &pixel = picture.at (x, y);
      pixel = colors[2 * (y >= height / 2) + (x >= width / 2)];
      pixel.red += uint8_t (random.below (9));
      pixel.green += uint8_t (random.below (7));
    }
  }
  return picture;
}

GST_START_TEST (test_chromakey_auto_key_is_the_mean_of_the_first_frames_corner)
{
  const struct {
    const char *corner;
    bool right, bottom;
  } corners[] = {{"top-left", false, false}, {"top-right", true, false},
      {"bottom-left", false, true}, {"bottom-right", true, true}};
  for (const auto &[width, height] : {std::pair (333, 200), std::pair (5, 5)}) {
    Picture first = quarters (width, height);
    int columns = std::max (1, width / 16), rows = std::max (1, height / 16);
    for (const auto &corner : corners) {
      ElementUnderTest element ("chromakey");
      GstElement *chromakey = element.element ("chromakey");
      gst_util_set_object_arg (G_OBJECT (chromakey), "auto-key", corner.corner);
      gst_object_unref (chromakey);
      Rule rule;
      rule.key = mean_of (first, corner.right ? width - columns : 0,
          corner.bottom ? height - rows : 0, columns, rows);
      assert_same (element.run (first), keyed (first, rule), corner.corner);
      /* Later frames are keyed with the first one's colour. */
      Picture later = colors (width, height, rule.key, 8);
      assert_same (element.run (later), keyed (later, rule), corner.corner);
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_chromakey_auto_key_takes_a_rectangle_and_clips_it)
{
  ElementUnderTest element ("chromakey auto-key=rectangle auto-key-x=100 auto-key-y=50 "
                            "auto-key-width=30 auto-key-height=20");
  Picture picture = quarters (300, 200);
  Rule rule;
  rule.key = mean_of (picture, 100, 50, 30, 20);
  assert_same (element.run (picture), keyed (picture, rule), "rectangle");

  element.set ("chromakey", "auto-key-x", 290, "auto-key-width", 1000);
  rule.key = mean_of (picture, 290, 50, 10, 20);
  assert_same (element.run (picture), keyed (picture, rule), "clipped");

  element.set ("chromakey", "auto-key", 0);
  rule.key = {0, 255, 0, 255};
  assert_same (element.run (picture), keyed (picture, rule), "key-color again");
}
GST_END_TEST;

GST_START_TEST (test_chromakey_properties_change_while_it_plays)
{
  ElementUnderTest element ("chromakey");
  Picture picture = colors (80, 60, {0, 255, 0, 255}, 9);
  for (double tolerance : {0.3, 0.01, 0.1}) {
    Rule rule;
    rule.tolerance = tolerance;
    element.set ("chromakey", "tolerance", tolerance);
    assert_same (element.run (picture), keyed (picture, rule), "tolerance");
  }
  /* And so do sizes. */
  for (int width : {80, 33, 200}) {
    picture = colors (width, 60, {0, 255, 0, 255}, 10);
    Rule rule;
    rule.tolerance = 0.1;
    assert_same (element.run (picture), keyed (picture, rule), "size");
  }
}
GST_END_TEST;

GST_START_TEST (test_chromakey_follows_a_controller)
{
  ElementUnderTest element ("chromakey");
  GstElement *chromakey = element.element ("chromakey");
  GstControlSource *source = gst_interpolation_control_source_new ();
  g_object_set (source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  GstTimedValueControlSource *timed = GST_TIMED_VALUE_CONTROL_SOURCE (source);
  gst_timed_value_control_source_set (timed, 0, 0.1);
  gst_timed_value_control_source_set (timed, GST_SECOND, 0.4);
  gst_object_add_control_binding (GST_OBJECT (chromakey),
      gst_direct_control_binding_new (GST_OBJECT (chromakey), "tolerance", source));

  Picture picture = colors (80, 60, {0, 255, 0, 255}, 11);
  element.negotiate (picture, video_frames::formats[0]);
  for (int second : {0, 1}) {
    GstBuffer *buffer = element.make_buffer (picture, video_frames::formats[0], {0, 0});
    GST_BUFFER_PTS (buffer) = second * GST_SECOND;
    GstBuffer *output = gst_harness_push_and_pull (element.get_harness (), buffer);
    Rule rule;
    rule.tolerance = second == 0 ? 0.1 : 0.4;
    assert_same (element.read_buffer (output, picture, video_frames::formats[0]),
        keyed (picture, rule), "controlled");
    gst_buffer_unref (output);
  }
  gst_object_unref (source);
  gst_object_unref (chromakey);
}
GST_END_TEST;

GST_START_TEST (test_chromakey_refuses_formats_without_alpha_and_empty_frames)
{
  GstElement *chromakey = gst_element_factory_make ("chromakey", nullptr);
  GstPad *pad = gst_element_get_static_pad (chromakey, "sink");
  const char *refused[] = {
      "video/x-raw(memory:OpenCLMemory), format=RGBx, width=8, height=8",
      "video/x-raw(memory:OpenCLMemory), format=RGBA, width=0, height=8",
      "video/x-raw, format=RGBA, width=8, height=8",
  };
  for (const char *text : refused) {
    GstCaps *caps = gst_caps_from_string (text);
    fail_unless (!gst_pad_query_accept_caps (pad, caps), "%s", text);
    gst_caps_unref (caps);
  }
  gst_object_unref (pad);
  gst_object_unref (chromakey);
}
GST_END_TEST;

static Suite *
chromakey_suite (void)
{
  Suite *suite = suite_create ("chromakey");
  TCase *test_case = tcase_create ("general");

  suite_add_tcase (suite, test_case);
  tcase_add_test (test_case, test_chromakey_distance_is_its_rule_at_every_size);
  tcase_add_test (
      test_case, test_chromakey_distance_is_its_rule_in_every_format_and_layout);
  tcase_add_test (
      test_case, test_chromakey_distance_decides_as_integers_for_every_tolerance);
  tcase_add_test (test_case, test_chromakey_distance_takes_black_and_white_for_no_green);
  tcase_add_test (test_case, test_chromakey_invert_keys_the_rest);
  tcase_add_test (test_case, test_chromakey_opacity_scales_what_is_not_keyed);
  tcase_add_test (
      test_case, test_chromakey_auto_key_is_the_mean_of_the_first_frames_corner);
  tcase_add_test (test_case, test_chromakey_auto_key_takes_a_rectangle_and_clips_it);
  tcase_add_test (test_case, test_chromakey_properties_change_while_it_plays);
  tcase_add_test (test_case, test_chromakey_follows_a_controller);
  tcase_add_test (
      test_case, test_chromakey_refuses_formats_without_alpha_and_empty_frames);
  return suite;
}

GST_CHECK_MAIN (chromakey);
