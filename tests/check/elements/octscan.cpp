/* Tests of octscan: positions of A-lines in the sample, and the B-scan of each buffer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "scantext.hpp"

#include "gst/oct/octscanmeta.h"

using namespace check;
using namespace depths;

namespace {
const gsize n_samples = 13, lines_there = 20;

/* --- frames whose values encode their A-line and sample --- */

struct Kind {
  std::string label;
  const char *caps; /* with %zu for samples and %zu for lines */
  gsize bytes;
  bool big_endian = false;
  bool columns = false;
  bool whole = false; /* 32-bit integers */
};

#define ON_DEVICE "(memory:OpenCLMemory)"
const Kind kinds[] = {
    {"8 bits", "video/x-raw" ON_DEVICE ",format=GRAY8,width=%zu,height=%zu", 1},
    {"16 bits", "video/x-raw" ON_DEVICE ",format=GRAY16_LE,width=%zu,height=%zu", 2},
    {"16 bits, high byte first",
        "video/x-raw" ON_DEVICE ",format=GRAY16_BE,width=%zu,height=%zu", 2, true},
    {"a picture", "video/x-raw" ON_DEVICE ",format=GRAY8,height=%zu,width=%zu", 1, false,
        true},
    {"application/x-oct",
        "application/x-oct" ON_DEVICE
        ",domain=wavelength,format=U16LE,samples=%zu,lines=%zu",
        2},
    {"float",
        "application/x-oct" ON_DEVICE
        ",domain=wavenumber,format=F32LE,samples=%zu,lines=%zu",
        4},
    {"signed, high byte first",
        "application/x-oct" ON_DEVICE
        ",domain=wavelength,format=S16BE,samples=%zu,lines=%zu",
        2, true},
    {"32 bits",
        "application/x-oct" ON_DEVICE
        ",domain=wavelength,format=S32LE,samples=%zu,lines=%zu",
        4, false, false, true},
    {"complex",
        "application/x-oct" ON_DEVICE ",domain=depth,format=CF32LE,samples=%zu,lines=%zu",
        8},
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
std::string
caps_of (const Kind &kind, gsize lines, const char *rate = "50/1")
{
  return text (kind.caps, n_samples, lines) + ",framerate=" + rate;
}
#pragma GCC diagnostic pop

/* Rows of raw video are padded to multiples of 4 bytes. */
gsize
pitch_of (const Kind &kind, gsize lines)
{
  const gsize row = (kind.columns ? lines : n_samples) * kind.bytes;
  return std::string (kind.caps).find ("video") == 0 ? (row + 3) / 4 * 4 : row;
}

gsize
place_of (const Kind &kind, gsize lines, gsize line, gsize sample)
{
  const gsize pitch = pitch_of (kind, lines);
  return kind.columns ? sample * pitch + line * kind.bytes
                      : line * pitch + sample * kind.bytes;
}

gsize
size_of (const Kind &kind, gsize lines)
{
  return pitch_of (kind, lines) * (kind.columns ? n_samples : lines);
}

void
put (const Kind &kind, guint8 *at, double value)
{
  if (kind.whole) {
    const gint32 number = gint32 (value);
    memcpy (at, &number, sizeof number);
    return;
  }
  const float pair[] = {float (value), float (-2 * value)};
  if (kind.bytes >= 4) {
    memcpy (at, pair, kind.bytes);
    return;
  }
  const guint whole = guint (value);
  at[0] = guint8 (kind.big_endian ? whole >> 8 : whole);
  if (kind.bytes == 2)
    at[1] = guint8 (kind.big_endian ? whole : whole >> 8);
}

double
get (const Kind &kind, const guint8 *at)
{
  if (kind.whole)
    return gint32 (GST_READ_UINT32_LE (at));
  if (kind.bytes >= 4) {
    float value;
    memcpy (&value, at, sizeof value);
    return value;
  }
  if (kind.bytes == 1)
    return at[0];
  return kind.big_endian ? at[0] << 8 | at[1] : at[1] << 8 | at[0];
}

using Value = std::function<double (gsize line, gsize sample)>;

Bytes
frame_of (const Kind &kind, gsize lines, const Value &value)
{
  Bytes bytes (size_of (kind, lines), 0xee);
  for (gsize line = 0; line < lines; line++) {
    for (gsize sample = 0; sample < n_samples; sample++)
      put (kind, bytes.data () + place_of (kind, lines, line, sample),
          value (line, sample));
  }
  return bytes;
}

void
expect_lines (const Kind &kind, GstBuffer *buffer, gsize lines, const Value &value,
    double tolerance = 0)
{
  const Bytes bytes = read_buffer (buffer);
  expect_equal (bytes.size (), size_of (kind, lines), kind.label);
  for (gsize line = 0; line < lines; line++) {
    for (gsize sample = 0; sample < n_samples; sample++) {
      const double got = get (kind, bytes.data () + place_of (kind, lines, line, sample));
      const double expected = value (line, sample);
      fail_unless (std::abs (got - expected) <= tolerance,
          "%s: line %zu, sample %zu: %g, expected %g", kind.label.c_str (), line, sample,
          got, expected);
    }
  }
}

/* Value of a sample, different in each A-line and sample within 8 bits */
double
marker (gsize line, gsize sample)
{
  return double (line * 11 + sample);
}

GstOctScan
scan_of (GstBuffer *buffer)
{
  GstOctScan scan = {};
  fail_unless (gst_buffer_get_oct_scan (buffer, &scan), "no B-scan number");
  return scan;
}

const Kind &spectra = kinds[1];
const Kind &levels = kinds[5];

std::string
element_for (const Kind &kind, const std::string &settings)
{
  return "octscan " + settings + (kind.columns ? " columns=true" : "");
}
} // namespace

/* --- A-lines --- */

TEST_ROWS (test_octscan_default_passes_frames_unchanged, kinds)
{
  Harness harness (element_for (row, ""), caps_of (row, lines_there));
  Owned<GstBuffer> out = harness.pass (timed (frame_of (row, lines_there, marker), 0));
  expect_lines (row, out, lines_there, marker);
}

TEST_ROWS (test_octscan_drops_the_flyback, kinds)
{
  Harness harness (
      element_for (row, "flyback=6 first-line=2 delay=3"), caps_of (row, lines_there));
  Owned<GstBuffer> out = harness.pass (timed (frame_of (row, lines_there, marker), 0));
  expect_lines (row, out, lines_there - 8,
      [] (gsize line, gsize sample) { return marker (line + 2 + 3, sample); });
}

/* A sample of 16 positions is scanned forward and back. A-line t of a buffer was taken at
 * position t - delay, on the way back at 15 minus that. */
TEST_ROWS (test_octscan_turns_what_comes_back_round, kinds)
{
  const gsize sweep = 16, delay = 3;
  Harness harness (
      element_for (row, "flyback=4 delay=3 reverse=odd"), caps_of (row, lines_there));
  for (guint n = 0; n < 4; n++) {
    auto taken = [&] (gsize line, gsize sample) {
      const gsize time = line - delay;
      if (line < delay || time >= sweep)
        return 255.0;
      return marker (n % 2 ? sweep - 1 - time : time, sample);
    };
    Owned<GstBuffer> out = harness.pass (timed (frame_of (row, lines_there, taken), n));
    expect_lines (row, out, sweep, marker);
    expect_equal (scan_of (out).reversed, n % 2 == 1);
  }
}

/* Without a flyback, the delay costs A-lines at one end of each direction. Only positions
 * that both directions have are output, and they are equal. */
TEST (test_octscan_has_the_same_places_both_ways)
{
  const gsize delay = 3;
  Harness harness ("octscan delay=3 reverse=even", caps_of (spectra, lines_there));
  for (guint n = 0; n < 4; n++) {
    auto taken = [&] (gsize line, gsize sample) {
      const gsize time = line - delay;
      if (line < delay)
        return 60000.0;
      return marker (n % 2 ? time : lines_there - 1 - time, sample);
    };
    Owned<GstBuffer> out =
        harness.pass (timed (frame_of (spectra, lines_there, taken), n));
    expect_lines (spectra, out, lines_there - 2 * delay,
        [] (gsize line, gsize sample) { return marker (line + delay, sample); });
  }
}

TEST_ROWS (test_octscan_turns_samples_of_every_second_line_round, kinds)
{
  for (bool odd : {false, true}) {
    Harness harness (
        element_for (row, odd ? "reverse-samples=odd" : "reverse-samples=even"),
        caps_of (row, lines_there));
    Owned<GstBuffer> out = harness.pass (timed (frame_of (row, lines_there, marker), 0));
    expect_lines (row, out, lines_there, [&] (gsize line, gsize sample) {
      return marker (line, (line % 2 == 1) == odd ? n_samples - 1 - sample : sample);
    });
  }
}

TEST_ROWS (test_octscan_separates_b_scans_of_a_buffer, kinds)
{
  Harness harness (
      element_for (row, "b-scans-per-buffer=3 flyback=1"), caps_of (row, lines_there));
  for (guint n = 0; n < 2; n++) {
    harness.push (timed (frame_of (row, lines_there, marker), n));
    expect_equal (waiting (harness), 3u);
    for (guint part = 0; part < 3; part++) {
      Owned<GstBuffer> out = harness.pull ();
      expect_lines (row, out, 5,
          [&] (gsize line, gsize sample) { return marker (6 * part + line, sample); });
      expect_equal (scan_of (out).frame, guint64 (3 * n + part));
      expect_equal (GST_BUFFER_PTS (out), n * each + part * each / 3);
    }
  }
  Owned<GstCaps> expected = gst_caps_from_string (caps_of (row, 5, "150/1").c_str ());
  fail_unless (gst_caps_can_intersect (harness.caps (), expected));
}

namespace {
struct Sine {
  std::string label;
  double part;
  bool back;
};
} // namespace

/* A resonant scanner over a sample that is a linear ramp: the output is a linear ramp
 * too. */
TEST_ROWS (test_octscan_straightens_a_sine,
    std::vector<Sine>{
        {"all the way", 1, false}, {"and back", 1, true}, {"the middle", 0.6, false}})
{
  const gsize lines = 101;
  const double edge = row.part * G_PI / 2;
  auto place_at = [&] (double line) {
    return std::sin (edge * (2 * line / (lines - 1) - 1)) / std::sin (edge);
  };
  auto taken = [&] (gsize line, gsize sample) {
    return 1000 * place_at (row.back ? double (lines - 1 - line) : double (line))
           + double (sample);
  };
  Harness harness (text ("octscan interpolation=linear sinusoidal=%g reverse=%s",
                       row.part, row.back ? "even" : "none"),
      caps_of (levels, lines));
  Owned<GstBuffer> out = harness.pass (timed (frame_of (levels, lines, taken), 0));
  /* Linear interpolation between A-lines that are 2 % of the scan apart */
  expect_lines (
      levels, out, lines,
      [&] (gsize line, gsize sample) {
        return 1000 * (2 * double (line) / (lines - 1) - 1) + double (sample);
      },
      1);
}

/* Tolerance: rounding to integers */
TEST_ROWS (test_octscan_takes_what_is_between_two_lines, kinds)
{
  Harness harness (element_for (row, "flyback=4 delay=1.25 interpolation=linear"),
      caps_of (row, lines_there));
  Owned<GstBuffer> out = harness.pass (timed (frame_of (row, lines_there, marker), 0));
  expect_lines (
      row, out, lines_there - 4,
      [&] (gsize line, gsize sample) { return marker (line, sample) + 1.25 * 11; },
      row.bytes < 4 || row.whole ? 0.5 : 1e-4);
}

TEST (test_octscan_takes_the_nearer_line)
{
  for (const auto &[delay, expected] :
      std::vector<std::pair<double, gsize>>{{1.25, 1}, {1.75, 2}}) {
    Harness harness (
        text ("octscan flyback=4 delay=%g", delay), caps_of (spectra, lines_there));
    Owned<GstBuffer> out =
        harness.pass (timed (frame_of (spectra, lines_there, marker), 0));
    const gsize from = expected;
    expect_lines (spectra, out, lines_there - 4,
        [&] (gsize line, gsize sample) { return marker (line + from, sample); });
  }
}

TEST (test_octscan_requires_the_number_of_lines)
{
  Harness harness ("octscan flyback=6 delay=8 lines=13", caps_of (spectra, lines_there));
  harness.push (timed (frame_of (spectra, lines_there, marker), 0));
  harness.messages ().expect_one_error ({"B-scans have 20 A-lines, expected 21"});
}

/* --- numbers of B-scans --- */

TEST (test_octscan_counts_repeats_b_scans_and_volumes)
{
  Harness harness ("octscan repeats=2 b-scans=3", caps_of (spectra, lines_there));
  for (guint n = 0; n < 14; n++) {
    Owned<GstBuffer> out =
        harness.pass (timed (frame_of (spectra, lines_there, marker), n));
    expect_equal (scan_text (scan_of (out)),
        text ("frame %u volume %u b-scan %u/3 repeat %u/2", n, n / 6, n / 2 % 3, n % 2));
  }
}

/* octscan, or an element before it, drops frames that are too short. */
TEST (test_octscan_counts_short_frames)
{
  for (const char *before : {"", "openclupload ! octwindowinterp ! octfft ! "})
    for (const bool has_times : {true, false}) {
      const std::string caps = *before ? "video/x-raw,format=GRAY16_LE,width=64,height=20"
                                       : caps_of (spectra, lines_there);
      Harness harness (before + std::string ("octscan reverse=odd b-scans=4"), caps);
      const gsize size = *before ? 64 * 2 * lines_there : size_of (spectra, lines_there);
      for (guint n = 0; n < 9; n++) {
        const bool is_short = n == 0 || n == 4 || n == 5;
        GstBuffer *buffer = timed (Bytes (is_short ? size / 2 : size), n);
        if (!has_times)
          GST_BUFFER_PTS (buffer) = GST_CLOCK_TIME_NONE;
        expect_equal (harness.push (buffer), GST_FLOW_OK);
        expect_equal (harness.messages ().warnings.size (), is_short ? 1u : 0u);
        if (is_short)
          continue;
        Owned<GstBuffer> out = harness.pull ();
        expect_equal (scan_text (scan_of (out)),
            text ("frame %u volume %u b-scan %u/4 repeat 0/1%s", n, n / 4, n % 4,
                n % 2 ? " reversed" : ""));
        expect_equal (
            bool (GST_BUFFER_IS_DISCONT (out)), n == 1 || n == 6, std::to_string (n));
      }
    }
}

/* A seek to before the first frame: 7 frames are one period of 6 and one more. */
TEST (test_octscan_counts_back_before_its_first_frame)
{
  Harness harness ("octscan repeats=2 b-scans=3", caps_of (spectra, lines_there));
  for (guint n : {10, 11})
    harness.pass (timed (frame_of (spectra, lines_there, marker), n));
  harness.flush ();
  harness.start_segment ();
  Owned<GstBuffer> out =
      harness.pass (timed (frame_of (spectra, lines_there, marker), 10 - 7));
  expect_equal (scan_of (out).b_scan, 2u);
  expect_equal (scan_of (out).repeat, 1u);
}

/* Elements after octscan keep the flag. */
TEST (test_octscan_is_remembered_down_the_chain)
{
  Pipeline pipeline (
      "octtestsrc num-buffers=12 ! video/x-raw(memory:OpenCLMemory),width=256,height=20 "
      "! "
      "octscan repeats=2 b-scans=3 reverse=odd flyback=4 ! tee name=t "
      "t. ! queue ! octwindowinterp ! tee name=u ! queue ! octfft ! identity ! "
      "opencldownload ! appsink name=out sync=false "
      "u. ! queue ! octfft ! octaverage frames=2 mean=complex ! opencldownload ! "
      "appsink name=mean sync=false "
      "t. ! queue ! opencldownload ! fakesink");
  pipeline.start ();
  for (guint n = 0; n < 12; n++)
    expect_equal (scan_text (scan_of (gst_sample_get_buffer (pipeline.pull ("out")))),
        text ("frame %u volume %u b-scan %u/3 repeat %u/2%s", n, n / 6, n / 2 % 3, n % 2,
            n % 2 ? " reversed" : ""));
  for (guint n = 0; n < 6; n++)
    expect_equal (scan_text (scan_of (gst_sample_get_buffer (pipeline.pull ("mean")))),
        text ("frame %u volume %u b-scan %u/3 repeat 0/1", n, n / 3, n % 3));
}

namespace {
GstBuffer *
marked_repeat (guint frame)
{
  GstBuffer *buffer = complex_frame (speckle (frame), frame);
  const GstOctScan scan = {frame, 0, frame / 2, frame % 2, 0, 2, FALSE};
  gst_buffer_set_oct_scan (buffer, &scan);
  return buffer;
}

Values
variance_of (guint first)
{
  Values values = amplitudes (speckle (first)), other = amplitudes (speckle (first + 1));
  for (gsize n = 0; n < values.size (); n++)
    values[n] = std::pow ((values[n] - other[n]) / 2, 2);
  return values;
}
} // namespace

/* Dropped frames are detected without a flag. */
TEST (test_octscan_lets_no_angiogram_be_of_two_places)
{
  Harness harness ("octangio repeats=2 method=speckle-variance", frame_caps ("CF32LE"));
  for (guint n : {1, 2, 3, 4, 7, 8, 9})
    harness.push (marked_repeat (n));
  for (guint first : {2, 8}) {
    Owned<GstBuffer> out = harness.pull ();
    expect_equal (scan_of (out).frame, guint64 (first / 2));
    expect_equal (scan_of (out).b_scan, first / 2);
    expect_near (
        numbers_in<float> (read_buffer (out)), variance_of (first), 1, "repeats");
  }
  expect_equal (waiting (harness), 0u);
}

/* For applications that do not use this header */
TEST (test_octscan_meta_is_a_structure)
{
  Harness harness ("octscan b-scans=4", caps_of (spectra, lines_there));
  harness.pass (timed (frame_of (spectra, lines_there, marker), 0));
  Owned<GstBuffer> out =
      harness.pass (timed (frame_of (spectra, lines_there, marker), 1));
  Owned<GstBuffer> copy = gst_buffer_copy (out);
  GstCustomMeta *meta = gst_buffer_get_custom_meta (copy, "GstOctScanMeta");
  fail_unless (meta != nullptr);
  guint b_scan = 0;
  fail_unless (
      gst_structure_get_uint (gst_custom_meta_get_structure (meta), "b-scan", &b_scan));
  expect_equal (b_scan, 1u);
}

/* --- packed samples: an A-line has a given number of bytes --- */

TEST (test_octscan_moves_packed_lines_as_they_are)
{
  for (const char *format : {"MONO10P", "MONO12P", "MONO12PACKED"}) {
    const gsize bits = g_str_equal (format, "MONO10P") ? 10 : 12;
    const gsize line = (n_samples * bits + 7) / 8;
    Bytes frame (line * lines_there);
    for (gsize n = 0; n < frame.size (); n++)
      frame[n] = guint8 (n * 37 + n / 256);
    Harness harness ("octscan flyback=3 reverse=odd",
        text ("application/x-oct" ON_DEVICE ",domain=wavelength,format=%s,samples=%zu,"
              "lines=%zu,framerate=50/1",
            format, n_samples, lines_there));
    for (guint n = 0; n < 2; n++) {
      harness.push (buffer_of (frame));
      const Bytes found = read_buffer (harness.pull ());
      const gsize kept = lines_there - 3;
      expect_equal (found.size (), line * kept, format);
      for (gsize at = 0; at < found.size (); at++) {
        const gsize of = n ? kept - 1 - at / line : at / line;
        fail_unless (found[at] == frame[of * line + at % line],
            "%s: byte %zu of B-scan %u", format, at, n);
      }
    }
    set_together (harness.find ("octscan"), "interpolation=linear");
    harness.push (buffer_of (frame));
    read_buffer (harness.pull ());
    const Outcome messages = harness.messages ();
    fail_unless (messages.warnings.size () == 1
                     && messages.warnings[0].find ("packed") != std::string::npos,
        "%s", messages.line ().c_str ());
  }
}
