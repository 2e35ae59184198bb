/* Tests of chromakey against its rules, computed one pixel at a time
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"
#include "tests/check/as-gpu.hpp"
#include "tests/check/folder.hpp"

#include "keyingreference.hpp"

#include <array>
#include <memory>
#include <thread>

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;

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

/* Colours near the key and far from it, on both sides of any tolerance */
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

TEST (test_chromakey_distance_is_its_rule_at_every_size)
{
  ElementUnderTest element ("chromakey mixing=levels");
  Rule rule;
  for (const auto &size : sizes) {
    Picture picture = colors (size[0], size[1], rule.key, 1);
    assert_same (element.run (picture), keyed (picture, rule), "distance");
  }
  Picture large = colors (4096, 2160, rule.key, 2);
  assert_same (element.run (large), keyed (large, rule), "distance");
}

/* 0.1 * 765 is 76.5; in doubles, 0.2 * 765 and 0.6 * 255 are slightly above an
 * integer. */
TEST (test_chromakey_distance_decides_as_integers_for_every_tolerance)
{
  ElementUnderTest element ("chromakey mixing=levels");
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

/* The program that this project grew from compared signed bytes, so that 255 was -1. */
TEST (test_chromakey_distance_takes_black_and_white_for_no_green)
{
  ElementUnderTest element ("chromakey mixing=levels tolerance=0.3");
  for (const Pixel &pixel : {Pixel{0, 0, 0, 255}, Pixel{255, 255, 255, 255}}) {
    Picture picture (20, 20, pixel);
    assert_same (element.run (picture), picture, "black or white");
  }
  fail_unless (
      mask_of (element.run (Picture (20, 20, {0, 255, 0, 255}))).count () == 400);
}

/* The same tolerance serves a saturated, a pale and a dark screen. */
TEST (test_chromakey_relative_tolerance_is_of_the_keys_saturation)
{
  for (const Pixel &key : {Pixel{0, 255, 0, 255}, Pixel{120, 170, 130, 255},
           Pixel{11, 91, 6, 255}, Pixel{30, 60, 200, 255}}) {
    for (const char *from : {"none", "rectangle"}) {
      ElementUnderTest element ("chromakey mixing=levels relative=true tolerance=0.3 "
                                "auto-key-width=10 auto-key-height=4");
      element.set_text ("chromakey", "auto-key", from);
      if (g_str_equal (from, "none"))
        element.set ("chromakey", "key-color", argb_of (key));
      Picture picture = colors (160, 64, key, 19);
      for (int n = 0; n < 40; n++)
        picture.at (n % 10, n / 10) = key;
      Rule rule = {key, 0.3 * saturation (key), ALL, false};
      for (int frame = 0; frame < 2; frame++)
        assert_same (element.run (picture), keyed (picture, rule), from);
    }
  }
}

TEST (test_chromakey_invert_keys_the_rest)
{
  ElementUnderTest element ("chromakey mixing=levels");
  Rule rule;
  rule.invert = true;
  set_rule (element, rule);
  Picture picture = colors (100, 50, rule.key, 5);
  assert_same (element.run (picture), keyed (picture, rule), "inverted");
}

TEST (test_chromakey_opacity_scales_what_is_not_keyed)
{
  ElementUnderTest element ("chromakey mixing=levels");
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

static Pixel
mean_of (const Picture &picture, int left, int top, int width, int height)
{
  Color sum = {};
  for (int y = top; y < top + height; y++)
    for (int x = left; x < left + width; x++)
      for (int n = 0; n < 3; n++)
        sum[n] += color_of (picture.at (x, y))[n] / (width * height);
  return pixel_of (sum);
}

static Picture
quarters (int width, int height)
{
  Random random (7);
  const Pixel colors[] = {
      {200, 30, 40, 255}, {20, 190, 30, 255}, {10, 20, 210, 255}, {90, 90, 90, 255}};
  return Picture (width, height, [&] (int x, int y) {
    Pixel pixel = colors[2 * (y >= height / 2) + (x >= width / 2)];
    pixel.red += uint8_t (random.below (9));
    pixel.green += uint8_t (random.below (7));
    return pixel;
  });
}

TEST (test_chromakey_auto_key_takes_a_rectangle_and_clips_it)
{
  ElementUnderTest element (
      "chromakey mixing=levels auto-key=rectangle auto-key-x=100 auto-key-y=50 "
      "auto-key-width=30 auto-key-height=20");
  Picture picture = quarters (300, 200);
  Rule rule;
  rule.key = mean_of (picture, 100, 50, 30, 20);
  assert_same (element.run (picture), keyed (picture, rule), "rectangle");
  Picture later = colors (300, 200, rule.key, 8);
  assert_same (element.run (later), keyed (later, rule), "the first frame's colour");

  element.set ("chromakey", "auto-key-x", 290, "auto-key-width", 1000);
  rule.key = mean_of (picture, 290, 50, 10, 20);
  assert_same (element.run (picture), keyed (picture, rule), "clipped");

  element.set ("chromakey", "auto-key-y", 190, "auto-key-height", 1000);
  rule.key = mean_of (picture, 290, 190, 10, 10);
  assert_same (element.run (picture), keyed (picture, rule), "clipped below");

  element.set ("chromakey", "auto-key", 0);
  rule.key = {0, 255, 0, 255};
  assert_same (element.run (picture), keyed (picture, rule), "key-color again");
}

/* A screen of `key`, a larger red object in front of it, and black bars */
static Picture
screen_behind_red (int width, int height, const Pixel &key)
{
  Random random (21);
  Picture picture (width, height);
  picture.draw (0, height / 8, width, height - height / 8, [&] (int x, int) {
    Pixel pixel = x > width * 2 / 5 ? Pixel{190, 40, 60, 255} : key;
    pixel.red += uint8_t (random.below (5));
    pixel.blue += uint8_t (random.below (5));
    return pixel;
  });
  return picture;
}

/* Key colour of a message at the end of the stream, or 0 */
static guint
posted_key (ElementUnderTest &element)
{
  guint key = 0;
  gst_harness_push_event (element.get_harness (), gst_event_new_eos ());
  Owned<GstMessage> message =
      gst_bus_pop_filtered (element.get_bus (), GST_MESSAGE_ELEMENT);
  if (message && gst_message_has_name (message, "chromakey-key"))
    gst_structure_get_uint (gst_message_get_structure (message), "key-color", &key);
  return key;
}

TEST (test_chromakey_auto_key_finds_the_screen_wherever_it_is_and_tells)
{
  for (const Pixel &key : {Pixel{20, 180, 50, 255}, Pixel{10, 88, 8, 255},
           Pixel{30, 50, 200, 255}, Pixel{120, 170, 130, 255}}) {
    for (const auto &format : keying_frames::formats) {
      ElementUnderTest element (
          "chromakey mixing=levels auto-key=screen method=difference smoothness=0.9");
      Picture result = element.run (screen_behind_red (333, 201, key), format);
      const guint posted = posted_key (element);
      fail_unless (
          difference (key, {double (posted >> 16 & 255), double (posted >> 8 & 255),
                               double (posted & 255)})
              <= 4,
          "posted %x for %s", posted, text_of (key).c_str ());
      fail_unless (result.at (20, 100).alpha <= 2 && result.at (200, 100).alpha == 255
                       && result.at (20, 5).alpha == 255,
          "alpha %d, %d, %d", result.at (20, 100).alpha, result.at (200, 100).alpha,
          result.at (20, 5).alpha);
    }
  }
}

TEST (test_chromakey_auto_key_keys_nothing_where_no_screen_is_seen)
{
  ElementUnderTest element (
      "chromakey mixing=levels auto-key=screen key-color=0xffc83c32");
  Picture picture (40, 30, {200, 60, 50, 255});
  assert_same (element.run (picture), picture, "no screen");
  expect_equal (posted_key (element), 0u);
}

/* Greys, each mixed with the screen at the same place. The parts of them are the exact matte.
 * No pixel is opaque, since such pixels change the matte beside them. */
struct Greys {
  Picture picture;
  std::vector<double> parts;
  std::vector<uint8_t> levels;

  explicit Greys (const Picture &screen) : picture (screen)
  {
    Random random (19);
    for (Pixel &pixel : picture.pixels) {
      levels.push_back (uint8_t (40 + random.below (160)));
      parts.push_back (0.1 + random.below (800) / 1000.);
      const uint8_t grey = levels.back ();
      pixel = mixed (pixel, {grey, grey, grey, 255}, parts.back ());
      pixel.alpha = uint8_t (160 + random.below (80));
    }
  }
};

struct SoftRule {
  double similarity = 0.1, smoothness = 0.6, opacity = 1;
  bool invert = false;

  double matte_of (double part) const
  {
    const double matte = std::clamp ((part - similarity) / smoothness, 0., 1.);
    return invert ? 1 - matte : matte;
  }
  /* Rounded colours change the matte, those of a dark screen more. */
  double tolerance (double light = 1) const { return 1 + 4 / smoothness / light; }
};

static void
expect_mattes (
    const Picture &result, const Greys &greys, const SoftRule &rule, double light = 1)
{
  for (size_t n = 0; n < greys.parts.size (); n++) {
    const Pixel &was = greys.picture.pixels[n];
    const double wanted = was.alpha * rule.matte_of (greys.parts[n]) * rule.opacity;
    fail_unless (fabs (result.pixels[n].alpha - wanted) <= rule.tolerance (light),
        "pixel %zu, %s, has alpha %d, expected %g", n, text_of (was).c_str (),
        result.pixels[n].alpha, wanted);
  }
}

TEST_ROWS (test_chromakey_soft_methods_measure_the_part_of_the_screen,
    {"method=chroma", "method=difference"})
{
  ElementUnderTest element (
      std::string ("chromakey mixing=levels plate=none refine=false core=false ") + row);
  for (const Pixel &key :
      {Pixel{0, 255, 0, 255}, Pixel{59, 162, 69, 255}, Pixel{30, 60, 190, 255}}) {
    const Greys greys (Picture (77, 41, key));
    for (const SoftRule &rule : {SoftRule (), SoftRule{0.3, 0.4, 0.7, true}}) {
      element.set ("chromakey", "similarity", rule.similarity, "smoothness",
          rule.smoothness, "opacity", rule.opacity, "invert", rule.invert, "key-color",
          argb_of (key));
      for (const auto &format : keying_frames::formats)
        for (const Layout &layout : keying_frames::layouts) {
          const Picture result = element.run (greys.picture, format, layout);
          expect_mattes (result, greys, rule);
          for (size_t n = 0; n < result.pixels.size (); n++)
            fail_unless (
                difference (result.pixels[n], color_of (greys.picture.pixels[n])) == 0);
        }
    }
  }
}

/* The default of SoftRule */
#define SOFT_RULE                                                                        \
  "chromakey mixing=levels refine=false core=false similarity=0.1 smoothness=0.6 "       \
  "key-color=0xff3ba245 "

/* Half of a thing whose one other component is large, and whose other one is small */
TEST (test_chromakey_balance_weighs_the_other_two_components)
{
  ElementUnderTest element (
      "chromakey mixing=levels method=difference plate=none core=false");
  for (const Pixel &key : {Pixel{60, 200, 50, 255}, Pixel{20, 200, 120, 255},
           Pixel{30, 60, 190, 255}, Pixel{190, 30, 60, 255}}) {
    const Pixel thing =
        key.green > key.blue ? Pixel{20, 60, 140, 255} : Pixel{60, 140, 20, 255};
    Pixel half = mixed (key, thing, 0.5);
    half.alpha = 240;
    element.set ("chromakey", "key-color", argb_of (key));
    int last = -1;
    for (double balance : {0., 0.5, 1.}) {
      element.set ("chromakey", "balance", balance);
      const int alpha = element.run (Picture (40, 20, half)).at (20, 10).alpha;
      fail_unless (alpha > last + 4, "%x, balance %g: alpha %d after %d", argb_of (key),
          balance, alpha, last);
      last = alpha;
    }
  }
}

/* Light from two thirds to four thirds of the key's, with a grey object before the
 * screen */
static bool
is_of_thing (int x, int y, int width, int height)
{
  return abs (x - width / 2) < width / 6 && abs (y - height / 2) < height / 4;
}

static Picture
uneven_screen (int width, int height, const Pixel &key)
{
  Random random (13);
  return Picture (width, height, [&] (int x, int y) {
    double light = 2 / 3. + 2 / 3. * (x + y) / (width + height);
    Color color = color_of (lit (key, light));
    for (double &level : color)
      level += int (random.below (3)) - 1;
    return is_of_thing (x, y, width, height) ? Pixel{90, 88, 86, 255} : pixel_of (color);
  });
}

static int
wrong_pixels (const Picture &result)
{
  int wrong = 0, width = result.width, height = result.height;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      wrong +=
          abs (result.at (x, y).alpha - (is_of_thing (x, y, width, height) ? 255 : 0))
          > 3;
  return wrong;
}

TEST (test_chromakey_adaptive_follows_a_screen_that_is_lit_unevenly)
{
  const Pixel key = {40, 150, 60, 255};
  for (const char *method : {"chroma", "difference"}) {
    for (const auto &[width, height] :
        {std::pair (640, 360), std::pair (333, 257), std::pair (100, 1080)}) {
      ElementUnderTest element (
          "chromakey mixing=levels refine=false similarity=0.1 smoothness=0.5");
      element.set_text ("chromakey", "method", method);
      element.set ("chromakey", "key-color", argb_of (key));
      Picture picture = uneven_screen (width, height, key);
      int adaptive = wrong_pixels (element.run (picture, keying_frames::formats[1]));
      element.set_text ("chromakey", "plate", "none");
      int fixed = wrong_pixels (element.run (picture, keying_frames::formats[1]));
      fail_unless (adaptive == 0, "%s, %dx%d: %d wrong", method, width, height, adaptive);
      fail_unless (fixed > width * height / 10, "%s, %dx%d: %d wrong without", method,
          width, height, fixed);
    }
  }
}

/* Light and dark strands of hair before the screen, and their exact matte */
static Picture
hair (int width, int height, const Pixel &key, std::vector<double> &matte)
{
  Random random (15);
  Picture picture (width, height, key);
  matte.assign (size_t (width) * height, 0);
  for (int strand = 0; strand < width / 4; strand++) {
    double x = random.below (width), slope = (int (random.below (100)) - 50) / 60.;
    const uint8_t shade = random.below (2) ? 220 : 20;
    for (int y = 0; y < height; y++, x += slope) {
      for (int at = int (floor (x)) - 1; at <= int (floor (x)) + 2; at++) {
        double covered = std::clamp (1.5 - fabs (at - x), 0., 1.);
        if (at < 0 || at >= width || covered == 0)
          continue;
        picture.at (at, y) = mixed (picture.at (at, y), {shade, shade, shade}, covered);
        double &known = matte[size_t (y) * width + at];
        known = 1 - (1 - known) * (1 - covered);
      }
    }
  }
  return picture;
}

static double
luma (const Color &color)
{
  return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2];
}

/* Camera frame: luma for each pixel, chroma for each four pixels */
static Picture
with_coarse_chroma (const Picture &picture)
{
  Picture result = picture;
  for (int y = 0; y + 1 < picture.height; y += 2) {
    for (int x = 0; x + 1 < picture.width; x += 2) {
      const Color mean = color_of (mean_of (picture, x, y, 2, 2));
      const double mean_luma = luma (mean);
      for (int n = 0; n < 4; n++) {
        Pixel &pixel = result.at (x + n % 2, y + n / 2);
        const double more = luma (color_of (pixel)) - mean_luma;
        pixel = pixel_of (
            {std::clamp (mean[0] + more, 0., 255.), std::clamp (mean[1] + more, 0., 255.),
                std::clamp (mean[2] + more, 0., 255.)});
      }
    }
  }
  return result;
}

static double
error_of (const Picture &result, const std::vector<double> &matte)
{
  double sum = 0;
  for (size_t n = 0; n < matte.size (); n++)
    sum += pow (result.pixels[n].alpha / 255. - matte[n], 2);
  return sum / matte.size ();
}

TEST (test_chromakey_refine_finds_hair_that_coarse_chroma_has_blurred)
{
  const Pixel key = {59, 162, 69, 255};
  for (const auto &format : keying_frames::formats) {
    ElementUnderTest element (
        "chromakey mixing=levels method=chroma similarity=0 smoothness=1 "
        "plate=none key-color=0xff3ba245");
    std::vector<double> matte;
    Picture picture = with_coarse_chroma (hair (205, 133, key, matte));
    double refined = error_of (element.run (picture, format, {4, 12}), matte);
    element.set ("chromakey", "refine", FALSE);
    double coarse = error_of (element.run (picture, format, {4, 12}), matte);
    fail_unless (refined < 0.85 * coarse, "%g refined, %g without", refined, coarse);
  }
}

TEST (test_chromakey_refine_keeps_sharp_edges_sharp)
{
  ElementUnderTest element ("chromakey mixing=levels method=chroma plate=none "
                            "smoothness=0.9 key-color=0xff3ba245");
  /* Objects darker and lighter than the screen, and one that only differs in colour */
  for (const Pixel &thing :
      {Pixel{20, 20, 20, 255}, Pixel{230, 230, 230, 255}, Pixel{200, 87, 112, 255}}) {
    Picture picture (100, 70, {59, 162, 69, 255});
    picture.fill (30, 13, 71, 50, thing);
    Picture result = element.run (picture);
    for (size_t n = 0; n < picture.pixels.size (); n++)
      fail_unless (result.pixels[n].alpha == (picture.pixels[n] == thing ? 255 : 0),
          "alpha %d", result.pixels[n].alpha);
  }
}

/* No colour is near the key: an estimate from other colours would be wrong. */
TEST (test_chromakey_adaptive_keys_nothing_where_there_is_no_screen)
{
  ElementUnderTest element ("chromakey mixing=levels method=chroma smoothness=0.8");
  for (const Pixel &pixel :
      {Pixel{200, 40, 40, 255}, Pixel{128, 128, 128, 255}, Pixel{230, 210, 80, 255}}) {
    for (int size : {1, 5, 33, 300}) {
      Picture picture (size, size, pixel);
      assert_same (element.run (picture), picture, "no screen");
    }
  }
}

/* Mean square error of alpha at an edge that is blurred over 40 pixels, whose exact matte
 * is known */
static double
error_at_blurred_edge (ElementUnderTest &element, const Pixel &thing)
{
  auto matte_at = [] (int x) { return std::clamp ((x - 60) / 40., 0., 1.); };
  const Picture result = element.run (Picture (160, 64, [&] (int x, int) {
    return mixed ({59, 162, 69, 255}, thing, matte_at (x));
  }));
  double sum = 0;
  for (int x = 60; x < 100; x++)
    sum += pow (result.at (x, 32).alpha / 255. - matte_at (x), 2) / 40;
  return sum;
}

/* Alpha above the exact matte leaves a rim of screen light. */
TEST_ROWS (test_chromakey_default_ramp_follows_a_blurred_edge,
    {"method=difference", "method=chroma"})
{
  ElementUnderTest element (
      (std::string ("chromakey mixing=levels key-color=0xff3ba245 ") + row).c_str ());
  double mean = 0; /* of dark hair, skin and red cloth */
  for (const Pixel &thing :
      {Pixel{48, 40, 40, 255}, Pixel{224, 176, 144, 255}, Pixel{160, 72, 72, 255}})
    mean += error_at_blurred_edge (element, thing) / 3;
  fail_unless (mean < 0.025, "mean square error of alpha %g", mean);
}

TEST (test_chromakey_spill_keeps_luma_of_opaque_pixels)
{
  ElementUnderTest element (
      "chromakey mixing=levels spill=1 plate=none refine=false key-color=0xff3ba245");
  Random random (14);
  Picture picture (128, 64);
  for (Pixel &pixel : picture.pixels)
    pixel = {uint8_t (60 + random.below (120)), uint8_t (60 + random.below (120)),
        uint8_t (60 + random.below (120)), 255};
  for (const char *method : {"distance", "chroma", "difference"}) {
    element.set_text ("chromakey", "method", method);
    Picture result = element.run (picture, keying_frames::formats[2]);
    for (size_t n = 0; n < picture.pixels.size (); n++) {
      const Pixel &is = result.pixels[n];
      bool opaque = g_str_equal (method, "distance") || is.alpha == 255;
      if ((opaque
              && fabs (luma (color_of (is)) - luma (color_of (picture.pixels[n]))) > 0.51)
          || is.green > std::max (is.red, is.blue) + 1)
        ck_abort_msg (
            "%s: pixel %d is %d,%d,%d", method, int (n), is.red, is.green, is.blue);
    }
  }
}

/* A subject that is nearly as green as the screen, and fills many blocks by itself */
TEST (test_chromakey_adaptive_does_not_learn_a_large_subject_as_screen)
{
  const Pixel screen = {0x3c, 0x96, 0x3c, 255}, subject = {0x4b, 0x87, 0x46, 255};
  Picture picture (960, 540, screen);
  picture.fill (330, 70, 630, 470, subject);
  for (const char *method : {"chroma", "difference"}) {
    std::string launch =
        std::string ("chromakey mixing=levels key-color=0xff3c963c refine=false method=")
        + method;
    ElementUnderTest adaptive (launch), plain (launch + " plate=none");
    Picture right = plain.run (picture);
    fail_unless (right.at (480, 270).alpha > 50 && right.at (10, 10).alpha == 0);
    Picture result = adaptive.run (picture);
    for (size_t n = 0; n < result.pixels.size (); n++)
      fail_unless (abs (result.pixels[n].alpha - right.pixels[n].alpha) <= 1,
          "%s: alpha %d at %d,%d, expected %d", method, result.pixels[n].alpha,
          int (n % 960), int (n / 960), right.pixels[n].alpha);
  }
}

/* A screen that darkens from left to right, with the soft edge of an object. A disc of
 * its colour with its centre at column `at` covers both, except near the edge. */
static Picture
soft_edge_and_disc (double at)
{
  return Picture (480, 270, [&] (int x, int y) {
    const Pixel screen = lit ({59, 162, 69, 255}, 1.5 - 1.2 * x / 480);
    const double part = x > 260 ? 0 : std::clamp ((x - 230) / 12., 0., 1.);
    const bool under_disc = hypot (x - at, y - 140) < 130 && (x < 215 || x > 260);
    const Pixel red = {200, 40, 30, 255};
    return under_disc ? red : mixed (screen, red, part);
  });
}

/* Largest change of alpha at the static edge while the disc passes */
static int
pumping (const char *plate)
{
  ElementUnderTest element (
      "chromakey mixing=levels method=difference smoothness=0.8 key-color=0xff3ba245");
  element.set_text ("chromakey", "plate", plate);
  std::vector<int> least (480 * 270, 255), most (480 * 270, 0);
  int worst = 0;
  for (int frame = 0; frame < 44; frame++) {
    Picture result = element.run (soft_edge_and_disc (-100 + 16 * frame));
    for (int y = 10; y < 260; y++) {
      for (int x = 222; x < 250; x++) {
        int n = 480 * y + x;
        least[n] = std::min (least[n], int (result.pixels[n].alpha));
        most[n] = std::max (most[n], int (result.pixels[n].alpha));
        worst = std::max (worst, most[n] - least[n]);
      }
    }
  }
  return worst;
}

TEST (test_chromakey_measured_plate_still_edge_is_stable)
{
  int measured = pumping ("measured"), adaptive = pumping ("adaptive");
  fail_unless (measured <= 3 && adaptive > 4, "%d levels, %d if measured in each frame",
      measured, adaptive);
}

/* A subject of nearly the screen's colour comes and stays. */
TEST (test_chromakey_measured_plate_ignores_similar_subject)
{
  const Pixel screen = {0x3c, 0x96, 0x3c, 255};
  for (const Pixel &subject :
      {Pixel{0x45, 0x8c, 0x42, 255}, Pixel{0x2e, 0x76, 0x2e, 255}}) {
    for (const char *method : {"chroma", "difference"}) {
      ElementUnderTest element ("chromakey mixing=levels plate=measured "
                                "key-color=0xff3c963c refine=false similarity=0");
      element.set_text ("chromakey", "method", method);
      Picture picture (640, 360, screen);
      fail_unless (element.run (picture).at (300, 200).alpha == 0);
      int first = 0;
      picture.fill (190, 60, 470, 330, subject);
      for (int frame = 0; frame < 60; frame++) {
        int alpha = element.run (picture).at (320, 200).alpha;
        first = frame == 0 ? alpha : first;
        fail_unless (first >= 30 && abs (alpha - first) <= 1,
            "%s: alpha %d in frame %d, %d", method, alpha, frame, first);
      }
    }
  }
}

/* Light that dims within two seconds, as under a cloud, and at once, as when a lamp goes
 * out */
TEST (test_chromakey_measured_plate_follows_the_light)
{
  for (double step : {0.99, 0.7}) {
    ElementUnderTest element ("chromakey mixing=levels method=difference plate=measured "
                              "key-color=0xff3ba245 similarity=0.1");
    double light = 1;
    for (int frame = 0; frame < 50; frame++) {
      light = step < 0.9 ? (frame < 20 ? 1 : step) : light * step;
      const Picture screen (320, 180, lit ({59, 162, 69, 255}, light));
      fail_unless (
          mask_of (element.run (screen)).count () == 320 * 180, "light %g", light);
    }
  }
}

/* An adaptive plate in between ends what a measured one remembers. */
TEST (test_chromakey_measured_plate_starts_again_when_it_is_set)
{
  const char *const launch =
      "chromakey mixing=levels method=difference smoothness=0.8 plate=measured "
      "key-color=0xff3ba245";
  ElementUnderTest element (launch);
  for (int round = 0; round < 2; round++) {
    for (int frame = 0; frame < 3; frame++)
      element.run (soft_edge_and_disc (-200)); /* all of the screen is seen */
    element.set_text ("chromakey", "plate", "adaptive");
    element.run (soft_edge_and_disc (100));
    element.set_text ("chromakey", "plate", "measured");
    ElementUnderTest fresh (launch);
    for (double at : {200., 140.})
      assert_same (element.run (soft_edge_and_disc (at)),
          fresh.run (soft_edge_and_disc (at)), "measured again");
  }
}

TEST (test_chromakey_frozen_plate_does_not_change)
{
  const Pixel key = {40, 150, 60, 255};
  ElementUnderTest element (
      "chromakey mixing=levels method=difference refine=false similarity=0.1 "
      "smoothness=0.5 key-color=0xff28963c");
  Picture uneven = uneven_screen (640, 360, key);
  fail_unless (wrong_pixels (element.run (uneven)) == 0);
  element.set_text ("chromakey", "plate", "frozen");
  element.run (Picture (640, 360, key));
  element.flush (true);
  fail_unless (wrong_pixels (element.run (uneven)) == 0);
  /* A plate that starts frozen is measured once. */
  ElementUnderTest other (
      "chromakey mixing=levels method=difference refine=false similarity=0.1 "
      "smoothness=0.5 plate=frozen key-color=0xff28963c");
  other.run (Picture (640, 360, key));
  fail_unless (wrong_pixels (other.run (uneven)) > 10000);
}

static void
write_picture (const Picture &picture, const std::string &path)
{
  Pipeline pipeline (text ("appsrc name=source num-buffers=1 format=time "
                           "caps=video/x-raw,format=RGBA,width=%d,"
                           "height=%d,framerate=1/1 ! pngenc ! filesink location=%s",
      picture.width, picture.height, path.c_str ()));
  pipeline.start ();
  gst_app_src_push_buffer (GST_APP_SRC (pipeline["source"]),
      gst_buffer_new_memdup (picture.pixels.data (), 4 * picture.pixels.size ()));
  pipeline.play_to_eos ();
}

/* A folded screen: other light at each pixel */
static Picture
folded_screen (int width, int height, uint32_t seed)
{
  Random random (seed);
  return Picture (width, height, [&] (int, int) {
    return lit ({59, 162, 69, 255}, 0.8 + random.below (700) / 1000.);
  });
}

TEST_ROWS (test_chromakey_plate_of_a_file_is_the_screens_colour_at_each_pixel,
    {"method=chroma", "method=difference"})
{
  Folder folder;
  const std::string path = folder.file ("plate.png");
  for (const auto &[width, height] : {std::pair (77, 41), std::pair (320, 33)}) {
    const Picture plate = folded_screen (width, height, 41);
    write_picture (plate, path);
    ElementUnderTest element (
        std::string (SOFT_RULE) + row + " plate=file plate-location=" + path);
    const Greys greys (plate);
    for (const auto &format : keying_frames::formats)
      expect_mattes (
          element.run (greys.picture, format, {4, 12}), greys, SoftRule (), 0.8);
  }
}

TEST (test_chromakey_unreadable_plate_keeps_previous_with_warning)
{
  ElementUnderTest element (
      "chromakey mixing=levels method=difference key-color=0xff3ba245");
  Picture picture = uneven_screen (200, 120, {59, 162, 69, 255});
  Picture before = element.run (picture);
  element.set_text ("chromakey", "plate", "file");
  for (const char *path : {"", "/nowhere/plate.png", "/dev/null"}) {
    element.set ("chromakey", "plate-location", path);
    assert_same (element.run (picture), before, path);
    fail_if (element.messages ().warnings.empty (), "no warning of \"%s\"", path);
  }
}

/* Olive cloth, which the key alone makes partly clear, with noise. It extends beyond the
 * frame's edges, and has a hole. */
static Picture
cloth_before (const Pixel &key, int width, int height)
{
  Random random (17);
  return Picture (width, height, [&] (int x, int y) {
    const bool hole = abs (x - width * 3 / 4) < 3 && abs (y - height / 2) < 3;
    Pixel pixel = 3 * x > width && !hole ? Pixel{100, 130, 90, 255} : key;
    pixel.red += uint8_t (random.below (5));
    pixel.blue += uint8_t (random.below (5));
    return pixel;
  });
}

/* The core is opaque from three blocks of eight pixels inside of the edges on. The screen and
 * the hole stay clear. */
static void
check_core (ElementUnderTest &element, const Picture &picture,
    const keying_frames::Format &format, Layout layout)
{
  const int width = picture.width, height = picture.height;
  auto alphas_with = [&] (bool core, bool invert) {
    element.set ("chromakey", "core", core, "invert", invert);
    return element.run (picture, format, layout);
  };
  const Picture with = alphas_with (true, false), without = alphas_with (false, false),
                inverted = alphas_with (true, true);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const int alpha = with.at (x, y).alpha, before = without.at (x, y).alpha;
      /* Cloth above it does not lead down to the edge. */
      const bool is_far_from_hole = abs (x - width * 3 / 4) > 27 || y > height / 2 + 27;
      if (x > width / 3 + 25 && is_far_from_hole)
        fail_unless (alpha == 255 && before < 230 && inverted.at (x, y).alpha == 0,
            "%dx%d: %d,%d has alpha %d, %d", width, height, x, y, alpha, before);
      if (3 * x <= width - 6
          || std::max (abs (x - width * 3 / 4), abs (y - height / 2)) < 3)
        fail_unless (alpha < 25, "%dx%d: %d,%d has alpha %d", width, height, x, y, alpha);
    }
}

TEST_ROWS (test_chromakey_core_closes_the_inside_at_odd_sizes_and_in_every_format,
    {"chroma", "difference"})
{
  ElementUnderTest element (
      std::string ("chromakey mixing=levels plate=none refine=false "
                   "key-color=0xff3ba245 method=")
      + row);
  const Pixel key = {59, 162, 69, 255};
  for (const auto &[width, height] : {std::pair (1, 1), std::pair (7, 50),
           std::pair (33, 17), std::pair (231, 97), std::pair (160, 64)})
    check_core (
        element, cloth_before (key, width, height), keying_frames::formats[0], {0, 0});
  for (const auto &format : keying_frames::formats)
    for (const Layout &layout : keying_frames::layouts)
      check_core (element, cloth_before (key, 201, 67), format, layout);
}

#define SOFT_CHAIN                                                                       \
  "chromakey mixing=levels method=difference spill=1 key-color=0xff3ba245"

/* Skin before the screen, with an edge of twelve columns. By the key, grey and not skin is
 * opaque, so that edges of skin have too much alpha. */
static Picture
soft_edge (const Pixel &screen, const Pixel &thing)
{
  return Picture (96, 80, [&] (int x, int) {
    return mixed (screen, thing, std::clamp ((x - 41.5) / 12, 0., 1.));
  });
}

/* RMS of the error of alpha, in levels, and that of colours over black where a fifth or more
 * of the thing is in the pixel */
static std::pair<double, double>
errors_of_edge (const Picture &result, const Pixel &thing)
{
  double alphas = 0, colors = 0;
  int n_colors = 0;
  for (int x = 42; x < 54; x++) {
    const double alpha = std::clamp ((x - 41.5) / 12, 0., 1.);
    const Pixel &got = result.at (x, 40);
    alphas += pow (got.alpha - 255 * alpha, 2);
    if (alpha < 0.2)
      continue;
    colors += pow (got.red - thing.red, 2) + pow (got.green - thing.green, 2)
              + pow (got.blue - thing.blue, 2);
    n_colors += 3;
  }
  return {sqrt (alphas / 12), sqrt (colors / n_colors)};
}

/* The exact matte and colour are known. Red hides so much green that half of the edge counts
 * as the subject, whose colours become less exact. A key that takes the subject for grey is 20
 * to 50 levels off. */
TEST_ROWS (test_chromakey_subject_gives_edges_their_alpha_and_colour,
    std::vector<const char *>{"", "linear=true", "quiet=true"})
{
  const Pixel screen = {59, 162, 69, 255};
  const std::pair<Pixel, double> things[] = {{{224, 172, 140, 255}, 8},
      {{200, 40, 30, 255}, 20}, {{96, 112, 60, 255}, 8}, {{40, 40, 44, 255}, 8}};
  for (const auto &[thing, most] : things) {
    ElementUnderTest element (std::string (SOFT_CHAIN " ") + row);
    const Picture picture = soft_edge (screen, thing);
    const Picture with = element.run (picture);
    const auto [alpha, color] = errors_of_edge (with, thing);
    const bool mixes_light = strstr (row, "linear"); /* but the picture mixes levels */
    fail_unless (mixes_light || (alpha < most && color < 20),
        "%s: alpha is %g levels off, colours are %g", text_of (thing).c_str (), alpha,
        color);
    fail_unless (with.at (8, 40).alpha == 0 && with.at (90, 40).alpha == 255);
    element.set ("chromakey", "invert", true);
    const Picture inverted = element.run (picture);
    for (int x = 0; x < 96; x++)
      fail_unless (abs (inverted.at (x, 40).alpha + with.at (x, 40).alpha - 255) <= 1,
          "%s inverted at %d: %d", text_of (thing).c_str (), x,
          inverted.at (x, 40).alpha);
  }
}

/* So that a blur or a scaler mixes no light of the screen into the edge */
TEST (test_chromakey_subject_continues_its_colours_below_transparent_pixels)
{
  const Pixel thing = {224, 172, 140, 255};
  ElementUnderTest element (SOFT_CHAIN);
  const Picture keyed = element.run (soft_edge ({59, 162, 69, 255}, thing));
  for (int x = 36; x < 42; x++) {
    const Pixel &pixel = keyed.at (x, 40);
    fail_unless (pixel.alpha <= 2 && difference (pixel, color_of (thing)) <= 12, "%d: %s",
        x, text_of (pixel).c_str ());
  }
}

/* In a subject with texture, as hair, the comparison fades out inwards: mean alpha of columns
 * has no step where a block ends, which without that is 14. */
TEST (test_chromakey_subject_shows_no_blocks)
{
  Picture picture = soft_edge ({59, 162, 69, 255}, {120, 84, 60, 255});
  Random random (5);
  picture.draw (54, 0, 96, 80, [&] (int x, int y) {
    const int change = int (random.below (41)) - 20; /* along the line to the screen */
    const Pixel &pixel = picture.at (x, y);
    return Pixel{
        uint8_t (pixel.red - change), uint8_t (pixel.green + change), pixel.blue, 255};
  });
  ElementUnderTest element (SOFT_CHAIN);
  const Picture keyed = element.run (picture);
  double last = 0, least = 255;
  for (int x = 56; x < 96; x++) {
    double mean = 0;
    for (int y = 0; y < 80; y++)
      mean += keyed.at (x, y).alpha / 80.;
    least = std::min (least, mean);
    fail_unless (x == 56 || fabs (mean - last) < 10, "%d: %g after %g", x, mean, last);
    last = mean;
  }
  fail_unless (least < 253, "%g: the comparison has done nothing", least);
}

TEST (test_chromakey_subject_leaves_screen_and_interior)
{
  const Pixel thing = {224, 172, 140, 255};
  const Picture picture = soft_edge ({59, 162, 69, 255}, thing);
  for (bool inverted : {false, true}) {
    ElementUnderTest element (SOFT_CHAIN);
    element.set ("chromakey", "invert", inverted, "opacity", inverted ? 0.5 : 1);
    const Picture keyed = element.run (picture);
    for (int y = 0; y < 80; y++) {
      for (int x : {0, 7, 20})
        expect_equal (keyed.at (x, y).alpha, inverted ? 128 : 0);
      for (int x : {80, 95})
        fail_unless (keyed.at (x, y).alpha == (inverted ? 0 : 255)
                         && difference (keyed.at (x, y), color_of (thing)) <= 1,
            "%s", text_of (keyed.at (x, y)).c_str ());
    }
  }
}

/* Applications may still set the property, which has no effect. */
TEST (test_chromakey_subject_property_is_always_true)
{
  ElementUnderTest element (SOFT_CHAIN " subject=false"), same (SOFT_CHAIN);
  Owned<GstElement> chromakey = element.element ("chromakey");
  gboolean subject = FALSE;
  g_object_get (chromakey.operator->(), "subject", &subject, nullptr);
  fail_unless (subject);
  const Picture picture = soft_edge ({59, 162, 69, 255}, {224, 172, 140, 255});
  assert_same (element.run (picture), same.run (picture), "subject=false");
}

/* A subject may be nowhere, everywhere, or of one pixel; frames have any size and format. */
TEST (test_chromakey_subject_takes_every_size_and_format)
{
  ElementUnderTest element (
      "chromakey mixing=levels method=difference spill=1 plate=none "
      "key-color=0xff3ba245");
  const Pixel key = {59, 162, 69, 255};
  for (const auto &[width, height] :
      {std::pair (1, 1), std::pair (7, 50), std::pair (33, 17), std::pair (131, 97)}) {
    for (const auto &format : keying_frames::formats)
      for (const Layout &layout : keying_frames::layouts) {
        const Picture all_screen (width, height, key);
        const Picture result = element.run (all_screen, format, layout);
        for (const Pixel &pixel : result.pixels)
          fail_unless_equals_int (pixel.alpha, 0);
        const Picture all_thing (width, height, {200, 40, 30, 255});
        for (const Pixel &pixel : element.run (all_thing, format, layout).pixels)
          fail_unless (pixel.alpha >= 254, "alpha %d", pixel.alpha);
      }
  }
}

/* CIE Lab of sRGB, D65 */
static Color
lab_of (const Pixel &pixel)
{
  auto linear = [] (uint8_t level) {
    double c = level / 255.;
    return c <= 0.04045 ? c / 12.92 : pow ((c + 0.055) / 1.055, 2.4);
  };
  auto f = [] (double t) {
    return t > 216. / 24389 ? cbrt (t) : (24389. / 27 * t + 16) / 116;
  };
  double r = linear (pixel.red), g = linear (pixel.green), b = linear (pixel.blue);
  double x = f ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  double y = f (0.2126 * r + 0.7152 * g + 0.0722 * b);
  double z = f ((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

TEST_ROWS (test_chromakey_spill_keeps_skin_before_every_green_and_blue_screen,
    {"unmix", "limit", "average", "luminance-preserving"})
{
  const Pixel skins[] = {{200, 140, 95, 255}, {255, 224, 189, 255}, {255, 205, 148, 255},
      {234, 192, 134, 255}, {255, 173, 96, 255}, {141, 85, 36, 255}, {198, 134, 66, 255},
      {224, 172, 105, 255}, {241, 194, 125, 255}, {92, 58, 40, 255}, {255, 219, 172, 255},
      {230, 180, 160, 255}, {170, 110, 80, 255}};
  const Pixel keys[] = {{0xbb, 0xfe, 0x3c, 255}, {150, 230, 60, 255}, {59, 162, 69, 255},
      {0, 255, 0, 255}, {13, 88, 8, 255}, {20, 200, 120, 255}, {0, 177, 140, 255},
      {30, 60, 190, 255}, {20, 90, 220, 255}, {0, 71, 187, 255}};
  ElementUnderTest element (
      (std::string (
           "chromakey mixing=levels spill=1 plate=none refine=false spill-method=")
          + row)
          .c_str ());
  Picture picture (int (G_N_ELEMENTS (skins)), 1);
  std::copy (std::begin (skins), std::end (skins), picture.pixels.begin ());
  for (const char *method : {"distance", "chroma", "difference"}) {
    element.set_text ("chromakey", "method", method);
    for (const Pixel &key : keys) {
      element.set ("chromakey", "key-color", argb_of (key));
      Picture result = element.run (picture);
      for (size_t n = 0; n < picture.pixels.size (); n++) {
        const Pixel &is = result.pixels[n];
        Color a = lab_of (is), b = lab_of (skins[n]);
        double off =
            sqrt (pow (a[0] - b[0], 2) + pow (a[1] - b[1], 2) + pow (a[2] - b[2], 2));
        fail_unless (off <= 3, "%s: skin %d before %x is %d,%d,%d, off by %g", method,
            int (n), argb_of (key), is.red, is.green, is.blue, off);
      }
    }
  }
}

/* spill-method=unmix of opaque pixels in doubles, as the property documents it */
static Color
despilled (const Color &pixel, const Color &key, double spill)
{
  const double weights[] = {0.299, 0.587, 0.114};
  auto cb = [] (const Color &c) { return (-21 * c[0] - 43 * c[1] + 64 * c[2]) / 128; };
  auto cr = [] (const Color &c) { return (64 * c[0] - 54 * c[1] - 10 * c[2]) / 128; };
  const double square = pow (cb (key), 2) + pow (cr (key), 2);
  const double along = (cb (pixel) * cb (key) + cr (pixel) * cr (key)) / square;
  const double across = (cb (pixel) * cr (key) - cr (pixel) * cb (key)) / square;
  const double part = spill * std::clamp (along - 1.25 * fabs (across), 0., 1.);
  Color color = pixel;
  for (int n = 0; n < 3; n++)
    color[n] = std::clamp (color[n] - part * (key[n] - luma (key)), 0., 255.);
  int largest = key[1] >= std::max (key[0], key[2]) ? 1 : key[2] >= key[0] ? 2 : 0;
  double other = std::max (color[(largest + 1) % 3], color[(largest + 2) % 3]);
  double excess = spill * std::max (color[largest] - other, 0.);
  color[largest] -= excess;
  for (double &component : color)
    component += excess * weights[largest];
  return color;
}

TEST (test_chromakey_spill_is_its_formula)
{
  ElementUnderTest element ("chromakey mixing=levels");
  const Pixel keys[] = {{59, 162, 69, 255}, {0xbb, 0xfe, 0x3c, 255}, {30, 60, 190, 255}};
  for (const Pixel &key : keys) {
    const Picture picture = colors (77, 41, key, 18);
    for (double spill : {1., 0.4, 0.}) {
      element.set ("chromakey", "key-color", argb_of (key), "spill", spill);
      const Picture result = element.run (picture, keying_frames::formats[2], {4, 12});
      for (size_t n = 0; n < picture.pixels.size (); n++) {
        const Color wanted =
            despilled (color_of (picture.pixels[n]), color_of (key), spill);
        fail_unless (difference (result.pixels[n], wanted) <= 0.51,
            "pixel %zu is %s, expected %s", n, text_of (result.pixels[n]).c_str (),
            text_of (wanted).c_str ());
      }
    }
  }
}

static void
expect_greys (const Picture &result, const Greys &greys)
{
  expect_mattes (result, greys, {0, 1});
  for (size_t n = 0; n < greys.parts.size (); n++) {
    const double grey = greys.levels[n];
    fail_unless (
        greys.parts[n] < 0.5 || difference (result.pixels[n], {grey, grey, grey}) <= 8,
        "pixel %zu is %s, expected %g", n, text_of (result.pixels[n]).c_str (), grey);
  }
}

TEST_ROWS (test_chromakey_spill_removes_the_screen_from_mixtures,
    {"method=chroma", "method=difference", "method=difference spill-method=limit"})
{
  ElementUnderTest element (
      std::string ("chromakey mixing=levels plate=none refine=false similarity=0 "
                   "smoothness=1 spill=1 ")
      + row);
  for (const Pixel &key :
      {Pixel{59, 162, 69, 255}, Pixel{30, 60, 190, 255}, Pixel{0, 255, 0, 255}}) {
    element.set ("chromakey", "key-color", argb_of (key));
    const Greys greys (Picture (77, 41, key));
    for (const auto &format : keying_frames::formats)
      expect_greys (element.run (greys.picture, format, {4, 12}), greys);
  }
}

/* The methods that limit the screen's component, by the angle between the chroma of a
 * colour and that of the key: full strength up to tan 0.4, nothing from tan 0.8 on */
static Color
limited (const Color &color, const Color &screen, const std::string &method,
    double balance, double spill)
{
  auto hue = [] (const Color &c) {
    return atan2 (64 * c[0] - 54 * c[1] - 10 * c[2], -21 * c[0] - 43 * c[1] + 64 * c[2]);
  };
  const double pi = acos (-1.);
  const double away = fabs (remainder (hue (color) - hue (screen), 2 * pi));
  const double weight =
      away >= pi / 2 ? 0 : std::clamp ((0.8 - tan (away)) / 0.4, 0., 1.);
  const int main =
      int (std::max_element (screen.begin (), screen.end ()) - screen.begin ());
  const int first = main == 0 ? 1 : 0, second = main == 2 ? 1 : 2;
  const double limit = method == "limit"
                           ? std::max (color[first], color[second])
                           : (1 - balance) * color[first] + balance * color[second];
  const double removed = spill * weight * std::max (0., color[main] - limit);
  const double lumas[] = {0.299, 0.587, 0.114};
  const double grey = method == "luminance-preserving" ? removed * lumas[main] : 0;
  Color result = color;
  result[main] -= removed;
  for (double &component : result)
    component = std::min (component + grey, 255.);
  return result;
}

static void
check_limited (ElementUnderTest &element, const Pixel &key, const std::string &method,
    double balance, double spill, const keying_frames::Format &format, Layout layout)
{
  const Picture picture = colors (77, 41, key, 23);
  element.set (
      "chromakey", "key-color", argb_of (key), "spill", spill, "spill-balance", balance);
  element.set_text ("chromakey", "spill-method", method);
  const Picture result = element.run (picture, format, layout);
  for (size_t n = 0; n < picture.pixels.size (); n++) {
    const Color wanted =
        limited (color_of (picture.pixels[n]), color_of (key), method, balance, spill);
    fail_unless (difference (result.pixels[n], wanted) <= 0.51,
        "%s, %x: pixel %zu is %s, expected %s", method.c_str (), argb_of (key), n,
        text_of (result.pixels[n]).c_str (), text_of (wanted).c_str ());
  }
}

/* Changes every property while it plays. */
TEST (test_chromakey_spill_methods_limit_the_screens_component)
{
  ElementUnderTest element ("chromakey mixing=levels");
  for (const Pixel &key : {Pixel{59, 162, 69, 255}, Pixel{0xbb, 0xfe, 0x3c, 255},
           Pixel{30, 60, 190, 255}, Pixel{190, 60, 40, 255}}) {
    for (const char *method : {"limit", "average", "luminance-preserving"}) {
      for (const Layout &layout : keying_frames::layouts)
        check_limited (element, key, method, 0.5, 1, keying_frames::formats[1], layout);
      for (const auto &format : keying_frames::formats)
        check_limited (element, key, method, 1 / 3., 0.4, format, {0, 0});
    }
  }
}

/* Cloth of a clearly different hue stays, except with unmix; grey hair in the light of the
 * screen gets grey. */
TEST_ROWS (test_chromakey_spill_methods_keep_other_hues_and_remove_the_tint,
    {"unmix", "limit", "average", "luminance-preserving"})
{
  for (const char *more : {"method=distance", "method=chroma", "method=difference"}) {
    ElementUnderTest element (
        std::string ("chromakey mixing=levels key-color=0xff3ba245 spill=1 ") + more
        + " spill-method=" + row);
    for (const Pixel &cloth : {Pixel{110, 130, 40, 255}, Pixel{30, 110, 110, 255},
             Pixel{150, 130, 40, 255}, Pixel{200, 60, 90, 255}}) {
      Picture picture (160, 96, {59, 162, 69, 255});
      picture.fill (60, 0, 110, 96, cloth);
      picture.fill (110, 0, 160, 96, {106, 126, 108, 255});
      const Picture result = element.run (picture);
      const Pixel &kept = result.at (85, 48), &grey = result.at (140, 48);
      fail_unless (difference (kept, color_of (cloth)) <= 1 || g_str_equal (row, "unmix"),
          "%s: cloth %s becomes %s", more, text_of (cloth).c_str (),
          text_of (kept).c_str ());
      fail_unless (abs (grey.green - grey.red) <= 2 && abs (grey.green - grey.blue) <= 2,
          "%s: tinted grey becomes %s", more, text_of (grey).c_str ());
    }
  }
}

/* Sets key-colors as an application does. */
static void
set_keys (ElementUnderTest &element, const std::vector<Pixel> &keys)
{
  GValue array = G_VALUE_INIT;
  g_value_init (&array, GST_TYPE_ARRAY);
  for (const Pixel &key : keys) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_UINT);
    g_value_set_uint (&value, argb_of (key));
    gst_value_array_append_and_take_value (&array, &value);
  }
  Owned<GstElement> chromakey = element.element ("chromakey");
  g_object_set_property (G_OBJECT ((GstElement *)chromakey), "key-colors", &array);
  g_value_unset (&array);
}

static Picture
colors_of_keys (int width, int height, const std::vector<Pixel> &keys)
{
  Picture picture (width, height);
  for (size_t n = 0; n < keys.size (); n++) {
    const Picture part = colors (width, height, keys[n], 80 + uint32_t (n));
    for (size_t at = n; at < picture.pixels.size (); at += keys.size ())
      picture.pixels[at] = part.pixels[at];
  }
  return picture;
}

/* Green screen, blue tape, a darker green, and red */
static const std::vector<Pixel> four_keys = {
    {59, 162, 69, 255}, {30, 60, 190, 255}, {20, 88, 30, 255}, {190, 40, 50, 255}};

TEST (test_chromakey_distance_takes_the_nearest_of_several_keys)
{
  ElementUnderTest element (
      "chromakey mixing=levels key-color=0xff3ba245 tolerance=0.06");
  const Picture picture = colors_of_keys (131, 41, four_keys);
  for (size_t count : {2, 4, 1, 3}) { /* changed while it plays */
    set_keys (element, {four_keys.begin () + 1, four_keys.begin () + count});
    for (Channel channel : {ALL, BLUE}) {
      for (bool relative : {false, true}) {
        for (bool invert : {false, true}) {
          element.set ("chromakey", "channel", int (channel), "relative", relative,
              "invert", invert);
          Picture expected = picture;
          for (Pixel &pixel : expected.pixels) {
            bool is_keyed = false;
            for (size_t n = 0; n < count; n++)
              is_keyed = is_keyed
                         || distance_below (pixel, four_keys[n],
                             0.06 * (relative ? saturation (four_keys[n]) : 1), channel);
            if (is_keyed != invert)
              pixel.alpha = 0;
          }
          for (const auto &format :
              {keying_frames::formats[0], keying_frames::formats[3]})
            assert_same (element.run (picture, format, {4, 12}), expected, "keys");
        }
      }
    }
  }
}

/* Pixels of greys, each mixed with one of the keys */
TEST_ROWS (test_chromakey_soft_methods_take_the_nearest_of_several_keys,
    {"chroma", "difference"})
{
  const std::vector<Pixel> keys = {four_keys[0], four_keys[1], four_keys[3]};
  ElementUnderTest element (
      std::string ("chromakey mixing=levels plate=none refine=false "
                   "similarity=0 smoothness=1 spill=1 "
                   "key-color=0xff3ba245 method=")
      + row);
  for (size_t count : {3, 1, 2}) {
    set_keys (element, {keys.begin () + 1, keys.begin () + count});
    Picture screen (77, 41);
    for (size_t n = 0; n < screen.pixels.size (); n++)
      screen.pixels[n] = keys[n % count];
    const Greys greys (screen);
    expect_greys (
        element.run (greys.picture, keying_frames::formats[count % 4], {4, 12}), greys);
  }
}

/* A green screen with a cross of blue tape, and a grey and a red thing before it */
static Picture
screen_with_tape (int width, int height)
{
  Random random (91);
  return Picture (width, height, [&] (int x, int y) {
    const bool tape = abs (x - width / 4) < 5 || abs (y - height / 4) < 5;
    Pixel pixel = tape ? Pixel{30, 60, 190, 255} : Pixel{59, 162, 69, 255};
    if (x > width / 2 && y > height / 2)
      pixel = x > width * 3 / 4 ? Pixel{180, 50, 60, 255} : Pixel{120, 120, 120, 255};
    pixel.red += uint8_t (random.below (3));
    pixel.blue += uint8_t (random.below (3));
    return pixel;
  });
}

/* The array as gst-launch reads it, with each search of a key */
TEST_ROWS (test_chromakey_further_keys_remove_tape_beside_a_key_found,
    {"tolerance=0.06 auto-key=rectangle auto-key-y=189 auto-key-width=20 "
     "auto-key-height=12",
        "method=difference auto-key=screen",
        "method=difference auto-key=screen core=false spill=1",
        "method=chroma auto-key=rectangle auto-key-y=189 auto-key-width=20 "
        "auto-key-height=12 linear=true quiet=true",
        "method=difference plate=measured key-color=0xff3ba245"})
{
  ElementUnderTest element (std::string ("chromakey mixing=levels ") + row);
  const Picture picture = screen_with_tape (333, 201);
  fail_unless (element.run (picture).at (83, 150).alpha > 200);
  element.set_text ("chromakey", "key-colors", "<0xff1e3cbe, 0xffffff00>");
  for (int frame = 0; frame < 2; frame++) {
    const Picture result = element.run (picture, keying_frames::formats[frame]);
    fail_unless (result.at (83, 150).alpha == 0 && result.at (300, 50).alpha == 0
                     && result.at (20, 150).alpha == 0,
        "alpha of tape %d and %d, of the screen %d", result.at (83, 150).alpha,
        result.at (300, 50).alpha, result.at (20, 150).alpha);
    fail_unless (result.at (200, 150).alpha > 235 && result.at (300, 150).alpha > 200,
        "alpha of grey %d, of red %d", result.at (200, 150).alpha,
        result.at (300, 150).alpha);
  }
}

TEST (test_chromakey_keeps_its_keys_when_more_than_eight_are_set)
{
  ElementUnderTest element ("chromakey mixing=levels key-colors=<4280171710>");
  Owned<GstElement> chromakey = element.element ("chromakey");
  const Picture tape (9, 3, {30, 60, 190, 255});
  GValue array = G_VALUE_INIT;
  g_value_init (&array, GST_TYPE_ARRAY);
  g_object_get_property (G_OBJECT ((GstElement *)chromakey), "key-colors", &array);
  expect_equal (gst_value_array_get_size (&array), 1u);
  expect_equal (g_value_get_uint (gst_value_array_get_value (&array, 0)), 0xff1e3cbe);
  g_value_unset (&array);
  expect_equal (element.run (tape).at (1, 1).alpha, 0);
  set_keys (element, std::vector<Pixel> (9, {200, 0, 0, 255}));
  expect_equal (element.run (tape).at (1, 1).alpha, 0);
  expect_equal (element.messages ().warnings.size (), 1u);
  set_keys (element, {});
  assert_same (element.run (tape), tape, "no further key");
}

/* Linear light, by GStreamer's own functions */
static Color
light_of (const Pixel &pixel, GstVideoTransferFunction transfer)
{
  Color color = color_of (pixel);
  for (double &level : color)
    level = 255 * gst_video_transfer_function_decode (transfer, level / 255);
  return color;
}

TEST (test_chromakey_linear_measures_the_part_of_the_screens_light)
{
  const struct {
    const char *colorimetry;
    GstVideoTransferFunction transfer;
  } curves[] = {{"sRGB", GST_VIDEO_TRANSFER_SRGB}, {"1:1:5:1", GST_VIDEO_TRANSFER_BT709},
      {"1:1:4:1", GST_VIDEO_TRANSFER_GAMMA22}, {"1:1:6:1", GST_VIDEO_TRANSFER_SMPTE240M},
      {"1:1:1:1", GST_VIDEO_TRANSFER_GAMMA10}};
  const Pixel key = {59, 162, 69, 255};
  for (const auto &curve : curves) {
    ElementUnderTest element (SOFT_RULE "plate=none linear=true similarity=0");
    element.colorimetry = curve.colorimetry;
    Greys greys (Picture (77, 41, key));
    for (size_t n = 0; n < greys.parts.size (); n++) {
      const uint8_t alpha = greys.picture.pixels[n].alpha, grey = greys.levels[n];
      Color levels = light_of (key, curve.transfer);
      const double front = light_of ({grey, grey, grey}, curve.transfer)[0];
      for (double &level : levels)
        level = 255
                * gst_video_transfer_function_encode (
                    curve.transfer, (level + greys.parts[n] * (front - level)) / 255);
      greys.picture.pixels[n] = pixel_of (levels);
      greys.picture.pixels[n].alpha = alpha;
    }
    for (const char *method : {"chroma", "difference"}) {
      element.set_text ("chromakey", "method", method);
      expect_mattes (element.run (greys.picture, keying_frames::formats[1], {4, 12}),
          greys, {0, 0.6}, 0.8);
    }
  }
}

/* Mixes as a lens does, with noise of a mean square of `noise`. */
static Pixel
filmed (
    const Pixel &screen, const Pixel &thing, double alpha, double noise, Random &random)
{
  const Color behind = light_of (screen, GST_VIDEO_TRANSFER_SRGB),
              front = light_of (thing, GST_VIDEO_TRANSFER_SRGB);
  Color levels;
  for (gsize n = 0; n < levels.size (); n++) {
    double sum = -6; /* of twelve: mean 0, variance 1 */
    for (guint part = 0; part < 12; part++)
      sum += random.below (10000) / 1e4;
    const double light = (alpha * front[n] + (1 - alpha) * behind[n]) / 255;
    levels[n] = 255 * gst_video_transfer_function_encode (GST_VIDEO_TRANSFER_SRGB, light)
                + noise * sum;
  }
  return pixel_of (levels);
}

/* The key of greenscreen.sh */
#define DEFAULT_KEY "chromakey method=difference auto-key=screen spill=1"

/* Returns true if a disc with an edge of eight pixels is keyed in light. */
static bool
finds_light (ElementUnderTest &element, bool of_light, int width, int radius = 60)
{
  const Pixel screen = {59, 162, 69, 255}, thing = {224, 172, 140, 255};
  Random random (3);
  element.run (Picture (width, 180, [&] (int x, int y) {
    const double part = std::clamp ((radius - hypot (x - 150, y - 90)) / 8 + 0.5, 0., 1.);
    return of_light ? filmed (screen, thing, part, 1, random)
                    : mixed (screen, thing, part);
  }));
  Owned<GstElement> key = element.element ("chromakey");
  gboolean linear;
  g_object_get (key.operator->(), "linear", &linear, nullptr);
  return linear;
}

/* The first frame of a stream decides, with at least 500 pixels for levels. */
TEST (test_chromakey_mixing_auto_decides_once)
{
  ElementUnderTest light (DEFAULT_KEY), levels (DEFAULT_KEY), few (DEFAULT_KEY);
  fail_unless (finds_light (light, true, 320) && finds_light (light, false, 322));
  fail_unless (!finds_light (levels, false, 320) && !finds_light (levels, true, 322));
  fail_unless (finds_light (few, false, 320, 8));
  light.set_text ("chromakey", "mixing", "auto");
  levels.set_text ("chromakey", "mixing", "auto");
  fail_unless (!finds_light (light, false, 322) && finds_light (levels, true, 320));
}

/* Formats of cameras are light, and so is RGBA that was converted from film, whatever edges
 * look like. */
TEST_ROWS (test_chromakey_mixing_of_film, {"NV12", "RGBA,colorimetry=1:1:5:1"})
{
  ElementUnderTest element (
      std::string ("openclconvert ! video/x-raw(memory:OpenCLMemory),format=") + row
      + " ! " DEFAULT_KEY);
  fail_unless (finds_light (element, false, 320));
}

/* `linear` shows what is in force, and sets `mixing`. */
TEST (test_chromakey_linear_is_mixing)
{
  Owned<GstElement> key = gst_element_factory_make ("chromakey", nullptr);
  guint notified = 0;
  g_signal_connect_swapped (key.operator->(), "notify::linear",
      G_CALLBACK (+[] (guint *count) { ++*count; }), &notified);
  for (const char *mixing : {"levels", "light", "auto"}) {
    gboolean linear;
    gst_util_set_object_arg (G_OBJECT (key.operator->()), "mixing", mixing);
    g_object_get (key.operator->(), "linear", &linear, nullptr);
    fail_unless (linear == !g_str_equal (mixing, "levels"), "%s", mixing);
  }
  fail_unless_equals_int (notified, 3);
  for (bool linear : {false, true}) {
    gint mixing;
    g_object_set (
        key.operator->(), "linear", gboolean (linear), "auto-linear", TRUE, nullptr);
    g_object_get (key.operator->(), "mixing", &mixing, nullptr);
    fail_unless_equals_int (mixing, linear ? 1 : 2); /* light, levels */
  }
}

/* Things that are filmed before an uneven screen, keyed as by greenscreen.sh. The expectation
 * is the alpha that they were mixed with. */
struct Filmed {
  const char *what;
  Pixel color;
  double alpha, noise, least, most;
};
static const Filmed things[] = {
    {"yellow cloth", {220, 215, 60, 255}, 1, 2, 0.98, 1},
    {"olive cloth", {110, 115, 50, 255}, 1, 2, 0.95, 1},
    {"white cloth in green light", {205, 228, 208, 255}, 1, 2, 0.98, 1},
    {"skin", {224, 172, 140, 255}, 1, 2, 0.99, 1},
    {"clear glass", {200, 205, 205, 255}, 0.25, 2, 0.2, 0.3},
    {"skin, much noise", {224, 172, 140, 255}, 1, 6, 0.98, 1},
};

TEST_ROWS (test_chromakey_default_key_of_filmed_things, things)
{
  ElementUnderTest element (DEFAULT_KEY);
  Random random (7);
  const Picture keyed = element.run (Picture (480, 270, [&] (int x, int y) {
    const Pixel screen = lit ({40, 150, 60, 255}, 0.9 + 0.2 * x / 480);
    const bool is_thing = x >= 180 && x < 330 && y >= 60;
    return filmed (screen, row.color, is_thing ? row.alpha : 0, row.noise, random);
  }));
  double inside = 0;
  int clear = 0, all = 0;
  for (int y = 0; y < 270; y++)
    for (int x = 0; x < 480; x++) {
      const double alpha = keyed.at (x, y).alpha / 255.;
      if (x >= 200 && x < 310 && y >= 80)
        inside += alpha / (110 * 190);
      if (x >= 170 && x < 340 && y >= 50)
        continue;
      all++;
      clear += alpha < 0.02;
    }
  fail_unless (
      inside >= row.least && inside <= row.most + 1e-6, "%s: alpha %g", row.what, inside);
  fail_unless (clear >= 0.95 * all, "%s: %d of %d pixels of the screen are clear",
      row.what, clear, all);
}

/* A grey object covers half of each pixel; a lens mixes linear light. */
TEST (test_chromakey_linear_knows_how_much_a_lens_has_mixed)
{
  const Pixel key = {59, 162, 69, 255}, thing = {200, 200, 200, 255};
  auto mixed = [] (int a, int b) {
    double light =
        (gst_video_transfer_function_decode (GST_VIDEO_TRANSFER_SRGB, a / 255.)
            + gst_video_transfer_function_decode (GST_VIDEO_TRANSFER_SRGB, b / 255.))
        / 2;
    return uint8_t (lround (
        255 * gst_video_transfer_function_encode (GST_VIDEO_TRANSFER_SRGB, light)));
  };
  Picture picture (33, 9,
      {mixed (key.red, thing.red), mixed (key.green, thing.green),
          mixed (key.blue, thing.blue), 255});
  for (const char *method : {"chroma", "difference"}) {
    ElementUnderTest element ("chromakey mixing=levels plate=none refine=false "
                              "similarity=0 smoothness=1 core=false "
                              "spill=1 key-color=0xff3ba245");
    element.colorimetry = "sRGB";
    element.set_text ("chromakey", "method", method);
    int levels = element.run (picture).at (20, 5).alpha;
    element.set ("chromakey", "linear", TRUE);
    Pixel is = element.run (picture).at (20, 5);
    fail_unless (abs (is.alpha - 128) <= 2 && abs (levels - 128) > 8
                     && abs (is.red - 200) <= 3 && abs (is.blue - 200) <= 3,
        "%s: %s, alpha %d of levels", method, text_of (is).c_str (), levels);
  }
}

/* A soft edge across a screen at column `at`, with noise of this standard deviation in
 * levels, new in each frame */
static Picture
noisy_edge (int width, int height, double at, double deviation, Random &random)
{
  return Picture (width, height, [&] (int x, int) {
    Color color = color_of (mixed ({59, 162, 69, 255}, {150, 120, 110, 255},
        std::clamp ((x - at) / 6 + 0.5, 0., 1.)));
    for (double &level : color) {
      double noise = -3;
      for (int n = 0; n < 12; n++)
        noise += random.below (1001) / 2000.;
      level += 2 * deviation * noise;
    }
    return pixel_of (color);
  });
}

/* Change of alpha from frame to frame, where it is neither 0 nor 255 */
static double
deviation_at_edges (const std::vector<Picture> &results)
{
  double sum = 0;
  int count = 0;
  for (size_t n = 0; n < results[0].pixels.size (); n++) {
    double mean = 0, square = 0;
    for (const Picture &result : results) {
      mean += result.pixels[n].alpha / double (results.size ());
      square += pow (result.pixels[n].alpha, 2) / double (results.size ());
    }
    if (mean < 20 || mean > 235)
      continue;
    sum += std::max (square - mean * mean, 0.);
    count++;
  }
  fail_unless (count > 100);
  return sqrt (sum / count);
}

/* Noise that makes edges flicker by about three levels, and much stronger noise */
TEST (test_chromakey_quiet_edges_do_not_flicker_with_noise)
{
  for (const char *method : {"chroma", "difference"}) {
    for (double noise : {1.15, 2.5}) {
      double deviations[2];
      for (int quiet : {0, 1}) {
        ElementUnderTest element (
            "chromakey mixing=levels smoothness=0.8 key-color=0xff3ba245");
        element.set_text ("chromakey", "method", method);
        element.set ("chromakey", "quiet", quiet);
        Random random (31);
        std::vector<Picture> results;
        for (int frame = 0; frame < 40; frame++) {
          Picture result = element.run (noisy_edge (101, 67, 48, noise, random));
          if (frame >= 16)
            results.push_back (result);
        }
        deviations[quiet] = deviation_at_edges (results);
      }
      fail_unless (deviations[1] < 0.3 * deviations[0]
                       && (noise > 2 || (deviations[0] > 2.5 && deviations[1] <= 1)),
          "%s, noise %g: %g levels, %g quiet", method, noise, deviations[0],
          deviations[1]);
    }
  }
}

/* Pixels that the edge has left are keyed as before. */
TEST (test_chromakey_quiet_leaves_no_trail_behind_what_moves)
{
  ElementUnderTest element (
      "chromakey mixing=levels method=difference key-color=0xff3ba245");
  for (double speed : {0.5, 3., 11.}) {
    Random random (33), same (33);
    int worst = 0;
    for (int frame = 0; frame < 24; frame++) {
      element.set ("chromakey", "quiet", TRUE);
      Picture quiet = element.run (noisy_edge (131, 40, 20 + speed * frame, 2.5, random));
      ElementUnderTest plain (
          "chromakey mixing=levels method=difference key-color=0xff3ba245");
      Picture right = plain.run (noisy_edge (131, 40, 20 + speed * frame, 2.5, same));
      for (int x = 4; x < 127; x++) {
        int sum = 0;
        for (int y = 4; y < 36; y++)
          sum += quiet.at (x, y).alpha - right.at (x, y).alpha;
        worst = std::max (worst, abs (sum / 32));
      }
    }
    fail_unless (worst <= 4, "%g columns a frame: off by %d", speed, worst);
  }
}

/* A pad of chromakey for an auxiliary stream, and the source that pushes into it */
class Side {
public:
  Side (ElementUnderTest &element, const char *name)
      : chromakey (element.element ("chromakey")),
        sink (gst_element_request_pad_simple (chromakey, name)),
        source (GST_PAD (gst_object_ref_sink (gst_pad_new ("source", GST_PAD_SRC))))
  {
    fail_unless (sink != nullptr, "no pad %s", name);
    /* The elements are in no common bin. */
    gst_pad_link_full (source, sink, GST_PAD_LINK_CHECK_NOTHING);
    gst_pad_set_active (source, TRUE);
    gst_pad_push_event (source, gst_event_new_stream_start (name));
  }
  ~Side ()
  {
    gst_pad_unlink (source, sink);
    gst_element_release_request_pad (chromakey, sink);
  }

  void begin (const char *format, int width, int height)
  {
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    Owned<GstCaps> caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING,
        format, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "framerate",
        GST_TYPE_FRACTION, 30, 1, nullptr);
    gst_pad_push_event (source, gst_event_new_caps (caps));
    gst_pad_push_event (source, gst_event_new_segment (&segment));
  }
  /* Pushes rows of `line` bytes, padded to GStreamer's default stride. */
  void push (const std::vector<uint8_t> &bytes, int line, GstClockTime time = 0)
  {
    gsize stride = (line + 3) / 4 * 4, lines = bytes.size () / line;
    GstBuffer *buffer = gst_buffer_new_and_alloc (stride * lines);
    for (gsize y = 0; y < lines; y++)
      gst_buffer_fill (buffer, y * stride, bytes.data () + y * line, line);
    GST_BUFFER_PTS (buffer) = time;
    fail_unless (gst_pad_push (source, buffer) == GST_FLOW_OK);
  }
  void end () { gst_pad_push_event (source, gst_event_new_eos ()); }

private:
  Owned<GstElement> chromakey;
  Owned<GstPad> sink, source;
};

static std::vector<uint8_t>
random_matte (int width, int height, uint32_t seed)
{
  Random random (seed);
  std::vector<uint8_t> matte (size_t (width) * height);
  for (uint8_t &level : matte)
    level = random.below (3) == 0 ? 0 : random.below (2) ? 255 : random.below (256);
  return matte;
}

TEST (test_chromakey_keeps_what_is_held_out_and_shows_no_garbage)
{
  const int width = 77, height = 41;
  const Pixel key = {0, 255, 0, 255};
  Picture picture = colors (width, height, key, 61);
  std::vector<uint8_t> garbage = random_matte (width, height, 62);
  std::vector<uint8_t> holdout = random_matte (width, height, 63);
  for (const char *method : {"distance", "chroma", "difference"}) {
    for (int which : {1, 2, 3}) {
      ElementUnderTest plain (
          "chromakey mixing=levels tolerance=0.2 spill=1 opacity=0.9");
      ElementUnderTest element (
          "chromakey mixing=levels tolerance=0.2 spill=1 opacity=0.9");
      std::unique_ptr<Side> sides[2];
      for (ElementUnderTest *each : {&plain, &element})
        each->set_text ("chromakey", "method", method);
      for (int n : {0, 1}) {
        if (!(which >> n & 1))
          continue;
        sides[n] = std::make_unique<Side> (element, n ? "holdout" : "garbage");
        sides[n]->begin ("GRAY8", width, height);
        sides[n]->push (n ? holdout : garbage, width);
        sides[n]->end ();
      }
      for (const auto &format : keying_frames::formats) {
        Picture keyed = plain.run (picture, format, {4, 12});
        Picture result = element.run (picture, format, {4, 12});
        for (size_t n = 0; n < picture.pixels.size (); n++) {
          double held = which & 2 ? holdout[n] / 255. : 0;
          double seen = which & 1 ? 1 - garbage[n] / 255. : 1;
          const Pixel &was = picture.pixels[n], &without = keyed.pixels[n];
          const Pixel &is = result.pixels[n];
          auto mixed = [&] (uint8_t a, uint8_t b) { return a + held * (b - a); };
          double alpha = std::max<double> (without.alpha, was.alpha * 0.9 * held) * seen;
          const Color wanted = {mixed (without.red, was.red),
              mixed (without.green, was.green), mixed (without.blue, was.blue)};
          fail_unless (difference (is, wanted) <= 0.51 && fabs (is.alpha - alpha) <= 0.51,
              "%s, %d: pixel %zu is %s", method, which, n, text_of (is).c_str ());
        }
      }
    }
  }
}

TEST (test_chromakey_scales_a_matte_to_the_picture)
{
  ElementUnderTest element ("chromakey mixing=levels");
  Side garbage (element, "garbage");
  garbage.begin ("GRAY8", 2, 1);
  garbage.push ({0, 255}, 2);
  garbage.end ();
  Picture picture (64, 9, {200, 100, 50, 255});
  Picture result = element.run (picture);
  for (int x = 0; x < 64; x++) {
    double at = std::clamp ((x + 0.5) * 2 / 64 - 0.5, 0., 1.);
    fail_unless (fabs (result.at (x, 4).alpha - 255 * (1 - at)) <= 1.01,
        "column %d has alpha %d", x, result.at (x, 4).alpha);
  }
}

/* Part of a pixel inside of a polygon, from 32x32 samples. A sample is inside if a ray to
 * the right crosses an odd number of edges. */
static double
part_inside (const std::vector<double> &corners, int x, int y, int width, int height)
{
  const int samples = 32;
  const size_t count = corners.size () / 2;
  int inside = 0;
  for (int n = 0; n < samples * samples; n++) {
    const double px = (x + (n % samples + 0.5) / samples) / width;
    const double py = (y + (n / samples + 0.5) / samples) / height;
    bool odd = false;
    for (size_t a = 0, b = count - 1; a < count; b = a++) {
      const double ax = corners[2 * a], ay = corners[2 * a + 1];
      const double bx = corners[2 * b], by = corners[2 * b + 1];
      if ((ay > py) != (by > py) && px < (bx - ax) * (py - ay) / (by - ay) + ax)
        odd = !odd;
    }
    inside += odd;
  }
  return double (inside) / (samples * samples);
}

static std::string
text_of (const std::vector<double> &numbers)
{
  std::string text;
  for (double number : numbers)
    text += (text.empty () ? "<" : ",") + std::to_string (number);
  return numbers.empty () ? "<>" : text + ">";
}

/* A triangle, a concave polygon that touches the edges of the frame, and a star whose
 * centre is outside by the even-odd rule */
static const std::vector<std::vector<double>> polygons = {{0.1, 0.2, 0.9, 0.25, 0.5, 0.8},
    {0, 0, 1, 0, 1, 1, 0.5, 0.3, 0, 1},
    {0.5, 0.05, 0.8, 0.95, 0.05, 0.4, 0.95, 0.4, 0.2, 0.95}};

TEST_ROWS (test_chromakey_garbage_polygon_keys_what_is_outside_of_it, polygons)
{
  ElementUnderTest plain ("chromakey mixing=levels opacity=0.9");
  ElementUnderTest element (
      "chromakey mixing=levels opacity=0.9 garbage-polygon=" + text_of (row));
  for (const auto &size : {std::pair (77, 41), {160, 96}, {1, 7}, {33, 2}}) {
    const Picture picture = colors (size.first, size.second, {0, 255, 0, 255}, 64);
    std::vector<double> inside;
    for (int n = 0; n < size.first * size.second; n++)
      inside.push_back (
          part_inside (row, n % size.first, n / size.first, size.first, size.second));
    for (const char *method : {"distance", "chroma", "difference"}) {
      for (ElementUnderTest *each : {&plain, &element})
        each->set_text ("chromakey", "method", method);
      for (const Layout &layout : {Layout{0, 0}, {4, 12}, {1, 3}}) {
        const auto &format = keying_frames::formats[(size.first + layout.offset) % 4];
        const Picture keyed = plain.run (picture, format, layout);
        const Picture result = element.run (picture, format, layout);
        for (size_t n = 0; n < inside.size (); n++) {
          const Pixel &was = keyed.pixels[n], &is = result.pixels[n];
          fail_unless (fabs (is.alpha - was.alpha * inside[n]) <= 9
                           && difference (is, color_of (was)) == 0,
              "%s, %dx%d: pixel %zu has alpha %d, expected %.1f", method, size.first,
              size.second, n, is.alpha, was.alpha * inside[n]);
        }
      }
    }
  }
}

TEST (test_chromakey_garbage_polygon_adds_to_the_garbage_pad)
{
  ElementUnderTest element (
      "chromakey mixing=levels garbage-polygon=<0,0,0.75,0,0.75,1,0,1>");
  Side garbage (element, "garbage");
  garbage.begin ("GRAY8", 4, 1);
  garbage.push ({255, 0, 0, 0}, 4);
  garbage.end ();
  const Picture result = element.run (Picture (64, 9, {200, 100, 50, 255}));
  fail_unless (result.at (2, 4).alpha == 0 && result.at (32, 4).alpha == 255
                   && result.at (47, 4).alpha == 255 && result.at (48, 4).alpha == 0,
      "alpha %d, %d, %d, %d", result.at (2, 4).alpha, result.at (32, 4).alpha,
      result.at (47, 4).alpha, result.at (48, 4).alpha);
}

/* Each matte lasts two frames. Another thread pushes them, a little later than the
 * picture. After a flush of the picture they are in time, too. */
TEST_ROWS (test_chromakey_mattes_are_in_time_with_the_picture, {false, true})
{
  ElementUnderTest element ("chromakey mixing=levels");
  Side garbage (element, "garbage");
  Picture picture (40, 20, {200, 100, 50, 255});
  element.negotiate (picture, keying_frames::formats[0]);
  if (row)
    element.flush (false);
  std::thread pushing ([&] {
    garbage.begin ("GRAY8", 40, 20);
    for (int n = 0; n < 5; n++) {
      g_usleep (20000);
      garbage.push (std::vector<uint8_t> (800, uint8_t (n * 40)), 40, 2 * n * GST_SECOND);
    }
    garbage.end ();
  });
  for (int second = 0; second < 12; second++) {
    GstBuffer *buffer = element.make_buffer (picture, keying_frames::formats[0], {0, 0});
    GST_BUFFER_PTS (buffer) = second * GST_SECOND;
    Owned<GstBuffer> output = gst_harness_push_and_pull (element.get_harness (), buffer);
    Picture result = element.read_buffer (output, picture, keying_frames::formats[0]);
    fail_unless (result.at (7, 7).alpha == 255 - std::min (second / 2, 4) * 40,
        "alpha %d in second %d", result.at (7, 7).alpha, second);
  }
  pushing.join ();
}

static std::vector<uint8_t>
bytes_of (const Picture &picture)
{
  std::vector<uint8_t> bytes;
  for (const Pixel &pixel : picture.pixels)
    for (uint8_t level : {pixel.blue, pixel.green, pixel.red, pixel.alpha})
      bytes.push_back (level);
  return bytes;
}

TEST (test_chromakey_plate_of_a_pad_is_the_screens_colour_at_each_pixel)
{
  const int width = 64, height = 33;
  ElementUnderTest element (SOFT_RULE "method=difference plate=none");
  Side plate (element, "plate");
  const Picture screen = folded_screen (width, height, 71);
  plate.begin ("BGRA", width, height);
  plate.push (bytes_of (screen), 4 * width);
  plate.end ();
  element.set_text ("chromakey", "plate", "file");
  const Greys greys (screen);
  expect_mattes (element.run (greys.picture), greys, SoftRule (), 0.8);
}

/* chromakey waits for a matte that does not come. */
TEST (test_chromakey_stops_while_it_waits_for_a_matte)
{
  for (bool flush : {false, true}) {
    Pipeline pipeline (
        "videotestsrc name=main ! video/x-raw,format=RGBA ! openclupload ! "
        "chromakey mixing=levels name=key ! fakesink appsrc "
        "caps=video/x-raw,format=GRAY8,width=8,"
        "height=8,framerate=1/1 format=time ! key.garbage");
    std::atomic<bool> arrived{false};
    watch (
        pipeline.pad ("key", "sink"), GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *) {
          arrived = true;
          return GST_PAD_PROBE_OK;
        });
    pipeline.start ();
    fail_unless (soon ([&] { return arrived.load (); }));
    if (flush)
      gst_element_seek_simple (pipeline["main"], GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
    gint64 begin = g_get_monotonic_time ();
    pipeline.set_state (GST_STATE_NULL);
    gint64 took = g_get_monotonic_time () - begin;
    fail_unless (gdouble (took) < 2 * check::slowness () * G_USEC_PER_SEC);
  }
}

/* Alpha is at least the missing part of the plate's luma, and what is added to it is
 * black. A twentieth missing counts nothing, a tenth all. One pixel in four is of greys. */
TEST_ROWS (test_chromakey_shadow_is_the_missing_part_of_the_plates_luma,
    {"method=chroma", "method=difference"})
{
  const int width = 77, height = 33;
  const Picture screen = folded_screen (width, height, 94);
  const SoftRule rule = {0.5, 0.4, 0.9};
  Greys greys (screen);
  Random random (95);
  for (size_t n = 0; n < greys.parts.size (); n++) {
    if (n % 4 == 0)
      continue;
    const double shadow = random.below (900) / 1000.;
    greys.parts[n] = shadow; /* black before the screen */
    greys.picture.pixels[n] = lit (screen.pixels[n], 1 - shadow);
    greys.picture.pixels[n].alpha = 240;
  }
  ElementUnderTest element (std::string (SOFT_RULE "plate=none similarity=0.5 "
                                                   "smoothness=0.4 opacity=0.9 ")
                            + row);
  Side plate (element, "plate");
  plate.begin ("BGRA", width, height);
  plate.push (bytes_of (screen), 4 * width);
  plate.end ();
  element.set_text ("chromakey", "plate", "file");
  const Picture without = element.run (greys.picture);
  expect_mattes (without, greys, rule, 0.8);
  for (double strength : {1., 0.6}) {
    element.set ("chromakey", "shadow", strength);
    for (const auto &format : {keying_frames::formats[0], keying_frames::formats[2]}) {
      const Picture result = element.run (greys.picture, format, {4, 12});
      for (size_t n = 0; n < result.pixels.size (); n++) {
        const Pixel &was = greys.picture.pixels[n], &is = result.pixels[n];
        const double matte = without.pixels[n].alpha / (0.9 * was.alpha);
        const double missing = std::clamp (
            1 - luma (color_of (was)) / luma (color_of (screen.pixels[n])), 0., 1.);
        const double counts = std::clamp ((missing - 0.05) / 0.05, 0., 1.);
        const double alpha = std::max (matte, strength * missing * counts);
        Color color = color_of (was);
        for (double &component : color)
          component *= alpha > 0 ? matte / alpha : 1;
        fail_unless (fabs (is.alpha - 0.9 * was.alpha * alpha) <= 1.1
                         && difference (is, color) * alpha <= 3,
            "pixel %zu is %s, expected %s,%g", n, text_of (is).c_str (),
            text_of (color).c_str (), 0.9 * was.alpha * alpha);
      }
    }
  }
  element.set ("chromakey", "shadow", 0.);
  assert_same (element.run (greys.picture), without, "no shadow");
  element.set ("chromakey", "invert", TRUE);
  const Picture inverted = element.run (greys.picture);
  element.set ("chromakey", "shadow", 1.);
  assert_same (element.run (greys.picture), inverted, "inverted");
}

/* The round shadow of a red thing on a screen with noise */
static Picture
scene_with_shadow (double light, unsigned seed)
{
  Random random (seed);
  return Picture (320, 200, [&] (int x, int y) {
    const bool thing = x > 40 && x < 120 && y > 60 && light < 1;
    const double here = hypot (x - 220, y - 100) < 40 ? light : 1;
    Color color = thing ? Color{190, 50, 60} : color_of (lit ({59, 162, 69, 255}, here));
    for (double &level : color)
      level += int (random.below (7)) - 3;
    return pixel_of (color);
  });
}

TEST_ROWS (test_chromakey_shadow_darkens_as_the_screen_and_noise_does_not,
    {"plate=measured core=false", "plate=frozen spill=1",
        "plate=measured quiet=true spill=1 spill-method=limit",
        "plate=measured linear=true spill=1"})
{
  ElementUnderTest element (
      std::string ("chromakey mixing=levels method=difference similarity=0.65 "
                   "smoothness=0.3 key-color=0xff3ba245 "
                   "shadow=0.8 ")
      + row);
  const bool linear = strstr (row, "linear");
  element.run (scene_with_shadow (1, 1));
  const Picture result = element.run (scene_with_shadow (0.7, 2));
  const double light =
      linear ? gst_video_transfer_function_decode (GST_VIDEO_TRANSFER_SRGB, 0.7 * 0.485)
                   / gst_video_transfer_function_decode (GST_VIDEO_TRANSFER_SRGB, 0.485)
             : 0.7;
  double alpha = 0;
  int dark = 0, noise = 0;
  for (int y = 80; y < 120; y++)
    for (int x = 200; x < 240; x++) {
      const Pixel &pixel = result.at (x, y);
      alpha += pixel.alpha / 1600.;
      dark += pixel.red + pixel.green + pixel.blue <= 6;
    }
  for (int y = 0; y < 50; y++)
    for (int x = 0; x < 320; x++)
      noise += result.at (x, y).alpha > 0;
  fail_unless (fabs (alpha - 255 * 0.8 * (1 - light)) < (linear ? 8 : 4) && dark > 1500,
      "alpha of the shadow is %g, %d of 1600 pixels are black", alpha, dark);
  fail_unless (
      noise <= 16, "%s: %d of 16000 pixels of the screen are darkened", row, noise);
  const Pixel &thing = result.at (80, 130);
  fail_unless (thing.alpha == 255 && thing.red > 180, "%s", text_of (thing).c_str ());
}

/* Fields become combs of the matte, and 8 bits are too few for HDR. Nothing is said of other
 * frames. */
struct Unexpected {
  const char *label, *caps;
  std::vector<std::string> words; /* of the warning; empty: none */
};
const Unexpected unexpected[] = {
    {"progressive", "format=RGBA,interlace-mode=progressive", {}},
    {"interleaved", "format=RGBA,interlace-mode=interleaved",
        {"interlaced", "deinterlace"}},
    {"mixed", "format=RGBA,interlace-mode=mixed", {"interlaced", "deinterlace"}},
    {"PQ", "format=RGBA,colorimetry=1:1:14:7", {"HDR", "BT.709"}},
    {"HLG", "format=NV12,colorimetry=bt2100-hlg", {"HDR", "BT.709"}},
    {"PQ of 16 bits", "format=RGBA64_LE,colorimetry=1:1:14:7", {}},
};

TEST_ROWS (test_chromakey_warns_of_frames_that_it_keys_badly, unexpected)
{
  Pipeline pipeline (
      text ("videotestsrc num-buffers=2 ! video/x-raw,width=32,height=16,%s ! "
            "openclupload ! chromakey ! appsink name=out sync=false",
          row.caps));
  pipeline.start ();
  while (pipeline.pull ())
    continue;
  const Outcome outcome = pipeline.messages ();
  fail_unless (outcome.errors.empty (), "%s", outcome.line ().c_str ());
  expect_equal (outcome.warnings.size (), gsize (row.words.empty () ? 0 : 1), row.label);
  if (!row.words.empty ())
    expect_contains (outcome.warnings[0], row.words);
}
