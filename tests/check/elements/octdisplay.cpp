/* Tests of octdisplay: the same image as octfft makes, after any chain, and the automatic
 * range
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"

using namespace check;
using namespace depths;

namespace {
/* --- reference in double precision --- */

struct Quantity {
  std::string label, settings;
  std::function<double (double)> brightness; /* maps a number to 0 … 1 */
  double spread;                             /* of the test's numbers */
};

double
between (double value, double least, double most)
{
  return (value - least) / (most - least);
}

const Quantity quantities[] = {
    {"decibels", "db-min=-20 db-max=45", [] (double v) { return between (v, -20, 45); },
        30},
    {"", "db-max=50", [] (double v) { return between (v, 0, 50); }, 30},
    {"amplitude", "db-min=10 db-max=55",
        [] (double v) { return between (20 * std::log10 (std::abs (v)), 10, 55); }, 100},
    {"amplitude", "db-min=10 db-max=55 scale=linear",
        [] (double v) {
          return between (std::abs (v), std::pow (10, 0.5), std::pow (10, 2.75));
        },
        100},
    {"variance", "db-max=40",
        [] (double v) { return between (10 * std::log10 (std::max (v, 1e-30)), 0, 40); },
        1000},
    {"variance", "db-max=30 scale=linear", [] (double v) { return between (v, 1, 1000); },
        500},
    {"decorrelation", "", [] (double v) { return v; }, 1},
    {"phase", "", [] (double v) { return between (v, -G_PI, G_PI); }, 2},
    {"velocity", "", [] (double v) { return between (v, -10, 10); }, 8},
    {"velocity", "min=-2 max=3", [] (double v) { return between (v, -2, 3); }, 3},
};

Values
some_numbers (double spread)
{
  Values values;
  for (const Complex &pair : speckle (11))
    values.push_back (float (pair.real () / 100 * spread));
  return values;
}

/* Expected image: the value of each pixel, from its A-line and depth */
Values
picture_of (const Values &values, double full,
    const std::function<double (double)> &brightness, bool flip = false)
{
  Values picture;
  for (gsize row = 0; row < n_depths; row++) {
    const gsize depth = flip ? n_depths - 1 - row : row;
    for (gsize line = 0; line < n_lines; line++)
      picture.push_back (std::nearbyint (
          full * std::clamp (brightness (values[line * n_depths + depth]), 0.0, 1.0)));
  }
  return picture;
}

Values
pixels_of (GstBuffer *buffer, gsize bytes)
{
  return pixels_in (read_buffer (buffer), bytes);
}

const std::string wide =
    " ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory),format=GRAY16_LE\"";

std::string
caps_with (const std::string &quantity)
{
  return frame_caps ("F32LE", n_lines, n_depths, "50/1", quantity);
}
} // namespace

TEST_ROWS (test_octdisplay_shows_numbers_by_what_they_are, quantities)
{
  const Values values = some_numbers (row.spread);
  for (gsize bytes : {1, 2}) {
    Harness harness (
        "octdisplay " + row.settings + (bytes == 2 ? wide : ""), caps_with (row.label));
    Owned<GstBuffer> out = harness.pass (timed (bytes_of<float> (values), 0));
    expect_near (pixels_of (out, bytes),
        picture_of (values, bytes == 1 ? 255 : 65535, row.brightness), bytes == 1 ? 1 : 2,
        row.label);
  }
}

TEST (test_octdisplay_shows_complex_numbers_as_octfft_does)
{
  const Pairs pairs = speckle (3);
  for (bool linear : {false, true}) {
    Harness harness (
        text ("octdisplay db-min=20 db-max=50 scale=%s", linear ? "linear" : "log"),
        frame_caps ("CF32LE"));
    Owned<GstBuffer> out = harness.pass (complex_frame (pairs, 0));
    auto brightness = [linear] (double v) {
      return linear ? between (v, 10, std::pow (10, 2.5))
                    : between (20 * std::log10 (std::max (v, 1e-6)), 20, 50);
    };
    expect_near (pixels_of (out, 1), picture_of (amplitudes (pairs), 255, brightness), 1,
        "complex");
  }
}

/* Numbers of the chain, shown by octfft and by octdisplay */
TEST_ROWS (test_octdisplay_makes_the_picture_of_octfft,
    {std::string ("CF32LE"), std::string ("F32LE")})
{
  const std::string spectra =
      "video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,width=74,"
      "height=21,framerate=50/1";
  const std::string range = "db-min=30 db-max=90 flip=true";
  std::mt19937 random (7);
  Values samples (74 * 21);
  for (double &sample : samples)
    sample = random () % 60000;
  Bytes raw;
  const Bytes packed = bytes_of<guint16> (samples);
  for (gsize line = 0; line < 21; line++)
    raw.insert (raw.end (), packed.begin () + gssize (line * 148),
        packed.begin () + gssize ((line + 1) * 148));
  Harness direct ("octwindowinterp ! octfft " + range, spectra);
  Harness by_numbers ("octwindowinterp ! octfft ! capsfilter "
                      "caps=\"application/x-oct(memory:OpenCLMemory),format="
                          + row + "\" ! octdisplay " + range,
      spectra);
  Owned<GstBuffer> expected = direct.pass (timed (raw, 0));
  Owned<GstBuffer> got = by_numbers.pass (timed (raw, 0));
  expect_near (pixels_of (got, 1), pixels_of (expected, 1), 1, row);
}

TEST (test_octdisplay_turns_the_picture_upside_down)
{
  const Values values = some_numbers (1);
  Harness harness ("octdisplay flip=true", caps_with ("decorrelation"));
  Owned<GstBuffer> out = harness.pass (timed (bytes_of<float> (values), 0));
  expect_near (pixels_of (out, 1),
      picture_of (
          values, 255, [] (double v) { return v; }, true),
      1, "flipped");
}

TEST (test_octdisplay_shows_what_is_no_number_black_or_white)
{
  Values values (n_depths * n_lines, 0.5);
  values[0] = NAN;
  values[1] = -INFINITY;
  values[2] = INFINITY;
  Harness harness ("octdisplay", caps_with ("decorrelation"));
  const Values got = pixels_of (harness.pass (timed (bytes_of<float> (values), 0)), 1);
  expect_equal (got[0], 0.0);
  expect_equal (got[n_lines], 0.0);
  expect_equal (got[2 * n_lines], 255.0);
  expect_equal (got[1], 128.0);
}

/* --- automatic range --- */

namespace {
/* Levels from `from` on, in steps of 0.1 dB, shuffled */
Values
rising (double from)
{
  Values values (n_depths * n_lines);
  for (gsize n = 0; n < values.size (); n++)
    values[(n * 331) % values.size ()] = from + 0.1 * double (n);
  return values;
}

/* Range found from a single frame */
struct Found {
  double black, white;
};

Found
range_of (double from)
{
  const double n = n_depths * n_lines;
  return {from + 0.1 * 0.05 * n, from + 0.1 * 0.999 * n};
}

void
expect_range (const Values &pixels, const Values &values, const Found &found,
    const std::string &what)
{
  /* The histogram has steps of 1/6 dB: a grey level is 0.3 dB. */
  expect_near (pixels,
      picture_of (
          values, 255, [&] (double v) { return between (v, found.black, found.white); }),
      2, what);
}
} // namespace

TEST (test_octdisplay_finds_its_range_and_keeps_it_steady)
{
  Harness harness ("octdisplay db-auto=true", caps_with ("decibels"));
  Found found = range_of (10);
  for (guint n = 0; n < 12; n++) {
    const double from = n < 3 ? 10 : 40; /* a sudden change of brightness */
    const Found own = range_of (from);
    found.black += (own.black - found.black) / 8;
    found.white += (own.white - found.white) / 8;
    Owned<GstBuffer> out = harness.pass (timed (bytes_of<float> (rising (from)), n));
    expect_range (pixels_of (out, 1), rising (from), found, text ("frame %u", n));
  }
}

TEST (test_octdisplay_finds_the_range_of_amplitudes)
{
  const Values levels = rising (0);
  Values values;
  for (double level : levels)
    values.push_back (std::pow (10, level / 20));
  Harness harness ("octdisplay db-auto=true", caps_with ("amplitude"));
  Owned<GstBuffer> out = harness.pass (timed (bytes_of<float> (values), 0));
  expect_range (pixels_of (out, 1), levels, range_of (0), "amplitudes");
  Harness linear ("octdisplay db-auto=true scale=linear", caps_with ("amplitude"));
  Owned<GstBuffer> other = linear.pass (timed (bytes_of<float> (values), 0));
  const Found found = range_of (0);
  expect_near (pixels_of (other, 1),
      picture_of (values, 255,
          [&] (double v) {
            return between (
                v, std::pow (10, found.black / 20), std::pow (10, found.white / 20));
          }),
      4, "linear");
}

TEST (test_octdisplay_of_silence_has_a_range)
{
  Harness harness ("octdisplay db-auto=true", frame_caps ("CF32LE"));
  for (guint n = 0; n < 2; n++) {
    Owned<GstBuffer> out = harness.pass (complex_frame (Pairs (n_depths * n_lines), n));
    expect_near (pixels_of (out, 1), Values (n_depths * n_lines), 0, "silence");
  }
}

TEST (test_octdisplay_takes_all_that_octs_elements_make)
{
  for (const char *chain :
      {"octangio repeats=2", "octangio repeats=2 method=decorrelation", "octdoppler",
          "octdoppler quantity=phase between=frames", "octaverage", "octaverage mean=log",
          "identity"}) {
    Outcome outcome =
        run (std::string ("octtestsrc num-buffers=8 ! "
                          "video/x-raw(memory:OpenCLMemory),width=256,height=32 ! "
                          "octwindowinterp ! octfft ! ")
             + chain
             + " ! octdisplay ! openclconvert colormap=flow ! opencldownload ! "
               "video/x-raw,format=RGBA ! fakesink");
    fail_unless (
        outcome.eos && outcome.is_clean (), "%s: %s", chain, outcome.line ().c_str ());
  }
}

/* --- automatic range of octfft --- */

TEST (test_octdisplay_range_is_found_by_octfft_too)
{
  const std::string spectra = "octtestsrc num-buffers=6 ! "
                              "video/x-raw(memory:OpenCLMemory),width=256,height=24 ! "
                              "octwindowinterp ! tee name=t ";
  for (const char *settings : {"db-auto=true", "db-auto=true flip=true scale=linear"}) {
    Pipeline pipeline (
        spectra + "t. ! queue ! octfft " + settings
        + " ! opencldownload ! appsink name=own sync=false "
          "t. ! queue ! octfft ! "
          "capsfilter caps=\"application/x-oct(memory:OpenCLMemory),format=CF32LE\" ! "
          "octdisplay "
        + settings + " ! opencldownload ! appsink name=other sync=false");
    pipeline.start ();
    for (guint n = 0; n < 6; n++)
      expect_near (numbers_in<guint8> (
                       read_buffer (gst_sample_get_buffer (pipeline.pull ("own")))),
          numbers_in<guint8> (
              read_buffer (gst_sample_get_buffer (pipeline.pull ("other")))),
          1, settings);
  }
}
