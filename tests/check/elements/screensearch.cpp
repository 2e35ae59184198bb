/* Tests of chromakey auto-key=screen in streams that do not begin with the screen
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"
#include "tests/check/keyingframes.hpp"
#include "tests/check/opencl-counting.hpp"

using namespace check;
using keying_frames::Picture;
using keying_frames::Pixel;
using keying_frames::Random;

namespace {
const int width = 128, height = 72;
const Pixel black = {0, 0, 0, 255}, white = {255, 255, 255, 255};
const Pixel green = {40, 170, 60, 255}, blue = {30, 60, 190, 255};
const Pixel dark_green = {13, 88, 8, 255}, pure_green = {0, 255, 0, 255};
const Pixel skin = {205, 150, 125, 255};

uint8_t
component (double value)
{
  return uint8_t (std::clamp (std::lround (value), 0l, 255l));
}

/* Adds a random number of -`spread` … `spread` to each component, the same to all if
 * `grey`. */
Picture
with_noise (Picture picture, int spread, unsigned seed, bool grey = false)
{
  Random random (seed);
  auto number = [&] { return int (random.below (2 * spread + 1)) - spread; };
  for (Pixel &pixel : picture.pixels) {
    const int all = number ();
    pixel.red = component (pixel.red + all);
    pixel.green = component (pixel.green + (grey ? all : number ()));
    pixel.blue = component (pixel.blue + (grey ? all : number ()));
  }
  return picture;
}

Picture
card (const Pixel &color)
{
  return Picture (width, height, color);
}

bool
is_subject (int x, int y)
{
  return abs (x - width / 2) < width / 5 && y >= height / 4;
}

/* A person before a screen that fills the rest of the frame */
Picture
scene (const Pixel &screen)
{
  return Picture (
      width, height, [&] (int x, int y) { return is_subject (x, y) ? skin : screen; });
}

/* A title card, a fifteenth of which is letters */
Picture
title (const Pixel &color)
{
  Picture picture = card (color);
  picture.draw (32, 30, 96, 42, [&] (int x, int) { return x % 5 < 4 ? white : color; });
  return picture;
}

Picture
faded (const Pixel &from, const Pixel &screen, double part)
{
  Picture picture = scene (screen);
  for (Pixel &pixel : picture.pixels)
    pixel = mixed (from, pixel, std::min (part, 1.));
  return picture;
}

struct Stream {
  const char *label;
  const char *settings;
  const char *format;
  Pixel screen;
  std::function<Picture (int frame)> opening;
  int appears = 13; /* first frame in which the screen provides a quarter of the light */
  int opens = 13;   /* number of frames of `opening` before the scene */
  bool is_opaque = true; /* until the screen appears; green or blue cards are keyed */
};

Picture
frame_of (const Stream &stream, int frame)
{
  const Picture picture =
      frame < stream.opens ? stream.opening (frame) : scene (stream.screen);
  return with_noise (picture, 2, frame + 1);
}

class Keyer {
public:
  explicit Keyer (const std::string &settings, const std::string &format = "RGBA")
      : harness ("videoconvert ! video/x-raw,format=" + format
                     + " ! openclupload ! chromakey name=keyer auto-key=screen "
                     + settings
                     + " ! opencldownload ! videoconvert ! capsfilter "
                       "caps=video/x-raw,format=RGBA",
          text ("video/x-raw, format=RGBA, width=%d, height=%d, framerate=30/1", width,
              height))
  {
  }

  Picture run (const Picture &picture, bool timed = true)
  {
    const auto *bytes = reinterpret_cast<const guint8 *> (picture.pixels.data ());
    GstBuffer *buffer = buffer_of (Bytes (bytes, bytes + 4 * picture.pixels.size ()));
    if (timed) {
      GST_BUFFER_PTS (buffer) = gst_util_uint64_scale (frames, GST_SECOND, 30);
      GST_BUFFER_DURATION (buffer) = GST_SECOND / 30;
    }
    frames++;
    const Bytes got = read_buffer (harness.pass (buffer));
    Picture keyed (width, height);
    expect_equal (got.size (), 4 * keyed.pixels.size ());
    memcpy (keyed.pixels.data (), got.data (), got.size ());
    return keyed;
  }

  Harness harness;
  guint64 frames = 0;
};

void
expect_opaque (const Picture &keyed, const std::string &when)
{
  for (const Pixel &pixel : keyed.pixels)
    fail_unless (pixel.alpha == 255, "%s: alpha %d", when.c_str (), pixel.alpha);
}

/* Without edges, at most a fiftieth of the screen is left, and the whole subject
 * stays. */
void
expect_keyed (const Picture &keyed, const std::string &when)
{
  double screen = 0, subject = 0;
  int screens = 0, subjects = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const bool is = is_subject (x, y);
      if (is != is_subject (x - 8, y) || is != is_subject (x + 8, y)
          || is != is_subject (x, y - 8))
        continue;
      (is ? subject : screen) += keyed.at (x, y).alpha;
      (is ? subjects : screens)++;
    }
  screen /= screens, subject /= subjects;
  fail_unless (screen <= 5 && subject >= 250,
      "%s: mean alpha %.1f of the screen, %.1f of "
      "the subject",
      when.c_str (), screen, subject);
}

const char *const soft = "method=difference";
const char *const hard = "method=distance relative=true tolerance=0.2";

const Stream streams[] = {
    {"black", soft, "RGBA", green, [] (int) { return card (black); }},
    {"black, NV12", "method=chroma", "NV12", blue, [] (int) { return card (black); }},
    {"black, hard", hard, "RGBA", green, [] (int) { return card (black); }},
    {"black, hard, I420", hard, "I420", blue, [] (int) { return card (black); }},
    {"a dark camera", soft, "I420", dark_green,
        [] (int n) { return with_noise (card (black), 14, 100 + n); }},
    {"noise", soft, "RGBA", green,
        [] (int n) {
          return with_noise (card ({128, 128, 128, 255}), 127, 100 + n);
        }},
    {"noise, NV12", hard, "NV12", green,
        [] (int n) {
          return with_noise (card ({128, 128, 128, 255}), 127, 100 + n);
        }},
    {"grey noise", "method=chroma", "YUY2", blue,
        [] (int n) {
          return with_noise (card ({128, 128, 128, 255}), 127, 100 + n, true);
        }},
    {"white", soft, "RGBA", green, [] (int) { return card (white); }},
    {"grey with noise", soft, "BGRA", blue,
        [] (int n) {
          return with_noise (card ({90, 90, 90, 255}), 25, 100 + n);
        }},
    {"a white wall in greenish light", soft, "RGBA", green,
        [] (int) {
          return card ({205, 230, 205, 255});
        }},
    {"red", soft, "UYVY", green,
        [] (int) {
          return card ({200, 20, 30, 255});
        }},
    {"skin", soft, "RGBA", green, [] (int) { return card (skin); }},
    {"yellow", "method=chroma", "RGBA", green,
        [] (int) {
          return card ({230, 210, 20, 255});
        }},
    {"a blue title", soft, "RGBA", green, [] (int) { return title (blue); }, 13, 13,
        false},
    {"a green card", soft, "NV12", blue, [] (int) { return card (green); }, 13, 13,
        false},
    {"a brighter green card", "method=difference plate=none", "RGBA", dark_green,
        [] (int) { return card (pure_green); }, 13, 13, false},
    {"an exposure that rises", soft, "RGBA", green,
        [] (int n) { return faded (black, green, n / 40.); }, 10, 40, false},
    {"a slow exposure without a plate", "method=difference plate=none", "NV12", blue,
        [] (int n) { return faded (black, blue, n / 90.); }, 23, 90, false},
    {"a dissolve from red", soft, "RGBA", green,
        [] (int n) {
          return faded ({200, 20, 30, 255}, green, n / 24.);
        },
        16, 24, false},
};
} // namespace

/* Twenty streams that do not begin with the screen */
TEST_ROWS (test_screen_is_keyed_within_ten_frames_of_its_appearance, streams)
{
  Keyer keyer (row.settings, row.format);
  for (int frame = 0; frame < std::max (row.opens, row.appears + 10) + 6; frame++) {
    const Picture keyed = keyer.run (frame_of (row, frame));
    const std::string when = row.label + text (", frame %d", frame);
    if (frame < row.appears && row.is_opaque)
      expect_opaque (keyed, when);
    if (frame >= row.appears + 10)
      expect_keyed (keyed, when);
  }
  const Outcome messages = keyer.harness.messages ();
  fail_unless (messages.is_clean (), "%s", messages.line ().c_str ());
}

TEST_ROWS (test_screen_that_is_missing_is_warned_of_once_after_a_second,
    {"method=difference", "method=distance", "method=chroma"})
{
  for (bool timed : {true, false}) {
    Keyer keyer (row);
    for (int frame = 0; frame < 80; frame++) {
      expect_opaque (keyer.run (card (black), timed), "black");
      const auto warnings = keyer.harness.messages ().warnings;
      expect_equal (warnings.size (), frame == 30 ? 1 : 0);
      if (frame == 30)
        expect_contains (warnings[0], {"No green or blue screen", "auto-key=none"});
    }
    for (int frame = 0; frame < 11; frame++)
      keyer.run (scene (green), timed);
    expect_keyed (keyer.run (scene (green), timed), "at last");
    keyer.harness.send (gst_event_new_eos ());
    fail_unless (keyer.harness.messages ().is_clean ());
  }
}

/* A stream of one frame */
TEST (test_screen_missing_in_short_stream_warns_at_eos)
{
  Keyer keyer (soft);
  expect_opaque (keyer.run (card (skin)), "skin");
  fail_unless (keyer.harness.messages ().is_clean ());
  keyer.harness.send (gst_event_new_eos ());
  expect_equal (keyer.harness.messages ().warnings.size (), 1u);
}

TEST (test_screen_of_the_first_frame_stays_the_key)
{
  for (const char *settings : {soft, hard}) {
    Keyer keyer (settings);
    for (int frame = 0; frame < 12; frame++)
      expect_keyed (keyer.run (scene (green)), "green");
    for (int frame = 0; frame < 12; frame++)
      expect_opaque (keyer.run (scene (blue)), "blue, later");
    keyer.harness.flush ();
    keyer.harness.start_segment ();
    expect_keyed (keyer.run (scene (green)), "after a flush");
    set_together (Owned<GstElement> (keyer.harness.find ("chromakey")).operator->(),
        "auto-key=screen");
    expect_keyed (keyer.run (scene (blue)), "blue, once auto-key is set again");
  }
}

/* For example, an empty screen before the actor enters. Its colour becomes the key at
 * once and does not change, so that plate=measured keeps its measurements. */
TEST (test_screen_that_fills_the_frame_is_keyed)
{
  Keyer keyer (soft);
  for (int frame = 0; frame < 12; frame++)
    for (const Pixel &pixel : keyer.run (card (green)).pixels)
      fail_unless (pixel.alpha <= 5, "alpha %d", pixel.alpha);
  for (int frame = 0; frame < 12; frame++)
    expect_keyed (keyer.run (scene (green)), "with somebody");
}

TEST (test_screen_search_goes_on_after_a_flush_and_after_other_caps)
{
  for (bool with_caps : {false, true}) {
    Keyer keyer (soft);
    for (int frame = 0; frame < 25; frame++)
      expect_opaque (keyer.run (card (black)), "black");
    keyer.harness.flush ();
    if (with_caps)
      keyer.harness.set_caps (
          text ("video/x-raw, format=RGBA, width=%d, height=%d, framerate=25/1", width,
              height));
    keyer.harness.start_segment ();
    keyer.frames = 0;
    for (int frame = 0; frame < 25; frame++)
      expect_opaque (keyer.run (card (black)), "black, after the flush");
    for (int frame = 0; frame < 10; frame++)
      keyer.run (scene (green));
    expect_keyed (keyer.run (scene (green)), "after a flush");
  }
}

TEST (test_screen_search_follows_its_settings_while_it_plays)
{
  Keyer keyer (soft);
  Owned<GstElement> element = keyer.harness.find ("chromakey");
  expect_opaque (keyer.run (card (black)), "black");
  set_together (element.operator->(), "auto-key=none key-color=0xff28aa3c");
  expect_keyed (keyer.run (scene (green)), "by key-color");
  set_together (element.operator->(), "auto-key=screen");
  expect_opaque (keyer.run (card (black)), "black again");
  set_together (element.operator->(), "auto-key=rectangle");
  expect_keyed (keyer.run (scene (blue)), "by a corner");
  set_together (element.operator->(), "auto-key=screen");
  expect_keyed (keyer.run (scene (green)), "by the screen");
}

TEST (test_screen_missing_is_opaque_whatever_alpha_is_asked_for)
{
  Keyer keyer ("method=chroma invert=true spill=1 core=true quiet=true");
  const Picture picture = with_noise (card (skin), 9, 1);
  keying_frames::assert_same (keyer.run (picture), picture, "no pixel is keyed");
}

/* A fused run of elements, which initially has no key colour */
TEST (test_screen_appears_before_a_run_of_elements)
{
  Keyer keyer (std::string (hard) + " ! noisereduce ! flowkey auto-key=true limit=0.3");
  for (int frame = 0; frame < 13; frame++)
    expect_opaque (keyer.run (with_noise (card (black), 2, frame)), "black");
  for (int frame = 0; frame < 9; frame++)
    keyer.run (scene (green));
  for (int frame = 0; frame < 6; frame++)
    expect_keyed (keyer.run (scene (green)), "green");
}

/* The search reads back every fourth frame, and nothing once the key is found. */
TEST (test_screen_search_costs_no_read_per_frame)
{
  Keyer keyer (soft);
  auto reads_of = [&] (int frames, const Picture &picture) {
    const unsigned before = counting::count (counting::ENQUEUE_READ);
    for (int frame = 0; frame < frames; frame++)
      keyer.run (picture);
    return int (counting::count (counting::ENQUEUE_READ) - before);
  };
  reads_of (12, scene (green));
  const int without = reads_of (20, scene (green));
  set_together (keyer.harness.find ("chromakey").operator->(), "auto-key=screen");
  reads_of (4, card (black));
  expect_equal (reads_of (20, card (black)), without + 20 / 4);
}

/* --- frames of real screens, in the folder that GST_OPENCL_TEST_DATA names --- */

static std::string
data_folder ()
{
  return check::data_path ("keying/");
}

static const bool data_is_required = check::require_data ("test_footage_");

namespace {
/* Left, top, right and bottom, in hundredths of the frame */
struct Part {
  int left, top, right, bottom;
};

/* Parts of the screen and of the subject, selected by hand */
const struct Filmed {
  const char *label;
  Part screen, subject;
  double clear = 10; /* largest mean alpha of the screen */
} filmed[] = {
    {"lemur_even.png", {2, 5, 20, 90}, {42, 30, 58, 70}},
    {"lemur_uneven.png", {2, 5, 20, 90}, {42, 30, 58, 70}, 15},
    {"natron_pik_greenscreen_960x540.jpg", {70, 15, 95, 90}, {40, 25, 50, 40}},
    {"simogasp_ck6_wrinkled.jpg", {5, 20, 35, 90}, {52, 90, 62, 98}},
    {"ethanou_markers.png", {60, 10, 85, 90}, {30, 10, 33, 18}},
};

Picture
load (const std::string &name)
{
  Pipeline pipeline (
      "filesrc location=" + data_folder () + name
      + text (" ! decodebin ! videoconvert ! videoscale add-borders=false ! video/x-raw,"
              "format=RGBA,width=%d,height=%d ! "
              "appsink name=out",
          width, height));
  pipeline.start ();
  const Owned<GstSample> sample = pipeline.pull ();
  fail_unless (sample, "%s: no picture", name.c_str ());
  const Bytes bytes = read_buffer (gst_sample_get_buffer (sample));
  Picture picture (width, height);
  memcpy (picture.pixels.data (), bytes.data (), bytes.size ());
  for (Pixel &pixel : picture.pixels)
    pixel.alpha = 255;
  return picture;
}

double
mean_alpha (const Picture &picture, const Part &part)
{
  double sum = 0;
  int count = 0;
  for (int y = height * part.top / 100; y < height * part.bottom / 100; y++)
    for (int x = width * part.left / 100; x < width * part.right / 100; x++, count++)
      sum += picture.at (x, y).alpha;
  return sum / count;
}

Picture
exposed (Picture picture, double part)
{
  for (Pixel &pixel : picture.pixels)
    pixel = mixed (black, pixel, std::min (part, 1.));
  return picture;
}
} // namespace

TEST_ROWS (test_footage_is_keyed_within_ten_frames, filmed)
{
  const Picture picture = load (row.label);
  const struct {
    const char *what;
    std::function<Picture (int)> opening;
    int opens, appears;
  } streams[] = {
      {"black", [] (int) { return card (black); }, 13, 13},
      {"noise",
          [] (int n) {
            return with_noise (card ({128, 128, 128, 255}), 127, 100 + n);
          },
          13, 13},
      {"a blue card", [] (int) { return card (blue); }, 13, 13},
      {"an exposure", [&] (int n) { return exposed (picture, n / 40.); }, 40, 10},
  };
  for (const char *settings :
      {"method=difference core=true", "method=chroma core=true"}) {
    Keyer undisturbed (settings);
    Picture usual = undisturbed.run (picture);
    for (int frame = 0; frame < 13; frame++)
      usual = undisturbed.run (picture);
    const double least = mean_alpha (usual, row.screen),
                 most = mean_alpha (usual, row.subject);
    fail_unless (least <= row.clear && most >= 225, "%s: %s: mean alpha %.1f, %.1f",
        row.label, settings, least, most);
    for (const auto &stream : streams) {
      Keyer keyer (settings);
      for (int frame = 0; frame < std::max (stream.opens, stream.appears + 10) + 4;
           frame++) {
        const Picture keyed =
            keyer.run (frame < stream.opens ? stream.opening (frame) : picture);
        if (frame < stream.appears + 10)
          continue;
        const double screen = mean_alpha (keyed, row.screen),
                     subject = mean_alpha (keyed, row.subject);
        fail_unless (screen <= least + 2 && subject >= most - 2,
            "%s: %s, %s, frame %d: mean alpha %.1f of the screen (%.1f without), %.1f of "
            "the "
            "subject (%.1f)",
            row.label, settings, stream.what, frame, screen, least, subject, most);
      }
    }
  }
}
