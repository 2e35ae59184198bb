/* Tests of octaverage: means of B-scans and of A-lines, only of those that belong
 * together
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "scantext.hpp"

using namespace check;
using namespace depths;

namespace {
/* Mean of frames, whose values are ordered as [line * n_depths + depth] */
Pairs
mean_of_frames (const std::vector<Pairs> &frames)
{
  Pairs mean (frames[0].size ());
  for (gsize n = 0; n < mean.size (); n++) {
    for (const Pairs &frame : frames)
      mean[n] += frame[n] / double (frames.size ());
  }
  return mean;
}

/* Mean of each group of `every` A-lines or, if rolling, of those around each A-line */
Values
mean_of_lines (const Values &frame, gsize every, bool rolling)
{
  Values mean;
  const gint before = gint (every - 1) / 2;
  for (gint line = 0; line < gint (rolling ? n_lines : n_lines / every); line++) {
    gint from = rolling ? std::max (0, line - before) : line * gint (every);
    gint end = rolling ? std::min (gint (n_lines), line - before + gint (every))
                       : from + gint (every);
    for (gsize depth = 0; depth < n_depths; depth++) {
      double sum = 0;
      for (gint of = from; of < end; of++)
        sum += frame[of * n_depths + depth];
      mean.push_back (sum / (end - from));
    }
  }
  return mean;
}

double
decibels (const Complex &value)
{
  return 20 * std::log10 (std::max (std::abs (value), 1e-6));
}

Pairs
mapped (const Pairs &pairs, double (*function) (const Complex &))
{
  Pairs result;
  for (const Complex &value : pairs)
    result.push_back (function (value));
  return result;
}

double
magnitude (const Complex &value)
{
  return std::abs (value);
}

struct Kind {
  const char *label;
  const char *mean;
  const char *output, *quantity;
  double (*function) (const Complex &); /* null: complex */
  double tolerance;
};

const Kind kinds[] = {
    {"values", "values", "CF32LE", nullptr, nullptr, 1e-3},
    {"complex", "complex", "CF32LE", nullptr, nullptr, 1e-3},
    {"linear", "linear", "F32LE", "amplitude", magnitude, 1e-3},
    {"log", "log", "F32LE", "decibels", decibels, 1e-4},
};

void
expect_output (Harness &harness, const char *format, const char *quantity)
{
  const GstStructure *structure = gst_caps_get_structure (harness.caps (), 0);
  expect_equal (gst_structure_get_string (structure, "format"), format);
  fail_unless (
      g_strcmp0 (gst_structure_get_string (structure, "quantity"), quantity) == 0);
}

std::vector<Pairs>
frames_of (guint n)
{
  std::vector<Pairs> frames;
  for (guint frame = 0; frame < n; frame++)
    frames.push_back (speckle (frame + 1));
  return frames;
}
} // namespace

TEST_ROWS (test_octaverage_gives_the_mean_of_each_n_frames_of_complex_depths, kinds)
{
  Harness harness (text ("octaverage frames=3 mean=%s", row.mean), frame_caps ("CF32LE"));
  const std::vector<Pairs> frames = frames_of (6);
  for (guint n = 0; n < 6; n++) {
    harness.push (complex_frame (frames[n], n));
    expect_equal (waiting (harness), n % 3 == 2 ? 1u : 0u);
    if (n % 3 < 2)
      continue;
    Owned<GstBuffer> out = harness.pull ();
    expect_output (harness, row.output, row.quantity);
    expect_equal (GST_BUFFER_PTS (out), (n - 2) * each);
    expect_equal (GST_BUFFER_DURATION (out), 3 * each);
    std::vector<Pairs> of (frames.begin () + n - 2, frames.begin () + n + 1);
    if (!row.function) {
      expect_near (
          pairs_in (read_buffer (out)), mean_of_frames (of), row.tolerance, row.label);
      continue;
    }
    for (Pairs &frame : of)
      frame = mapped (frame, row.function);
    expect_near (numbers_in<float> (read_buffer (out)), real_of (mean_of_frames (of)),
        row.tolerance, row.label);
  }
}

TEST (test_octaverage_divides_the_frame_rate)
{
  Harness harness ("octaverage frames=4", frame_caps ("F32LE"));
  for (guint n = 0; n < 4; n++)
    harness.push (timed (bytes_of<float> (real_of (speckle (n))), n));
  gint numerator, denominator;
  gst_structure_get_fraction (
      gst_caps_get_structure (harness.caps (), 0), "framerate", &numerator, &denominator);
  expect_equal (numerator, 25);
  expect_equal (denominator, 2);
}

TEST (test_octaverage_rolls_over_the_last_frames_from_the_first_on)
{
  Harness harness ("octaverage frames=3 rolling=true", frame_caps ("F32LE"));
  const std::vector<Pairs> frames = frames_of (8);
  for (guint n = 0; n < 8; n++) {
    harness.push (timed (bytes_of<float> (real_of (frames[n])), n));
    Owned<GstBuffer> out = harness.pull ();
    expect_equal (GST_BUFFER_PTS (out), n * each);
    expect_equal (GST_BUFFER_DURATION (out), each);
    std::vector<Pairs> of (
        frames.begin () + (n > 2 ? n - 2 : 0), frames.begin () + n + 1);
    expect_near (numbers_in<float> (read_buffer (out)), real_of (mean_of_frames (of)),
        1e-3, text ("frame %u", n));
  }
}

struct Lines {
  std::string label;
  gsize every;
  bool rolling;
};

TEST_ROWS (test_octaverage_gives_the_mean_of_neighbouring_a_lines,
    std::vector<Lines>{{"each 2", 2, false}, {"each 3", 3, false}, {"all", 21, false},
        {"rolling 2", 2, true}, {"rolling 5", 5, true}, {"rolling 40", 40, true}})
{
  Harness harness (
      text ("octaverage frames=1 lines=%zu rolling=%d", row.every, int (row.rolling)),
      frame_caps ("F32LE"));
  const Values values = real_of (speckle (7));
  harness.push (timed (bytes_of<float> (values), 0));
  const gsize every = std::min (row.every, n_lines);
  expect_near (pull_numbers (harness), mean_of_lines (values, every, row.rolling), 1e-3,
      row.label);
}

/* Columns of an image are A-lines. Half a grey level is rounded to even. */
TEST_ROWS (test_octaverage_takes_pictures, std::vector<std::string>{"GRAY8", "GRAY16_LE"})
{
  Harness harness ("octaverage frames=2 lines=2", frame_caps (row, 32, 20));
  const gsize bytes = row == "GRAY8" ? 1 : 2;
  std::vector<Values> frames;
  for (guint n = 0; n < 2; n++) {
    const Bytes picture = pattern (32 * 20 * bytes, n);
    frames.push_back (
        bytes == 1 ? numbers_in<guint8> (picture) : numbers_in<guint16> (picture));
    harness.push (timed (picture, n));
  }
  Values expected;
  for (gsize depth = 0; depth < 20; depth++) {
    for (gsize line = 0; line < 32; line += 2) {
      double sum = 0;
      for (const Values &frame : frames)
        sum += frame[depth * 32 + line] + frame[depth * 32 + line + 1];
      expected.push_back (std::nearbyint (sum / 4));
    }
  }
  const Bytes got = read_buffer (harness.pull ());
  expect_near (bytes == 1 ? numbers_in<guint8> (got) : numbers_in<guint16> (got),
      expected, 0, row);
}

/* --- frames that do not belong together --- */

namespace {
/* Frame n has the value n everywhere, so that a mean shows which frames it includes. */
GstBuffer *
numbered (guint n, guint flags = 0)
{
  return timed (bytes_of<float> (Values (n_depths * n_lines, double (n))), n, flags);
}

Values
received_means (Harness &harness)
{
  Values means;
  while (waiting (harness) > 0)
    means.push_back (pull_numbers (harness)[0]);
  return means;
}
} // namespace

/* --- volumes --- */

namespace {
struct Division {
  std::string label;
  guint repeats, b_scans, frames;
  /* Mean frame number of each group and its scan, worked out by hand */
  std::vector<std::pair<double, std::string>> groups;
};

GstBuffer *
scanned (guint n, guint repeats, guint b_scans)
{
  GstBuffer *buffer = numbered (n);
  const guint place = n / repeats;
  const GstOctScan scan = {n, b_scans ? place / b_scans : 0,
      b_scans ? place % b_scans : place, n % repeats, b_scans, repeats, FALSE};
  gst_buffer_set_oct_scan (buffer, &scan);
  return buffer;
}
} // namespace

/* No mean includes two volumes, or unequal numbers of frames of its B-scans. */
TEST_ROWS (test_octaverage_divides_volumes,
    std::vector<Division>{{"half of the repeats", 4, 2, 2,
                              {{0.5, "frame 0 volume 0 b-scan 0/2 repeat 0/2"},
                                  {2.5, "frame 1 volume 0 b-scan 0/2 repeat 1/2"},
                                  {4.5, "frame 2 volume 0 b-scan 1/2 repeat 0/2"},
                                  {6.5, "frame 3 volume 0 b-scan 1/2 repeat 1/2"},
                                  {8.5, "frame 4 volume 1 b-scan 0/2 repeat 0/2"}}},
        {"some of the repeats", 3, 4, 2,
            {{0.5, "frame 0 volume 0 b-scan 0/4 repeat 0/1"},
                {3.5, "frame 1 volume 0 b-scan 1/4 repeat 0/1"},
                {6.5, "frame 2 volume 0 b-scan 2/4 repeat 0/1"},
                {9.5, "frame 3 volume 0 b-scan 3/4 repeat 0/1"},
                {12.5, "frame 4 volume 1 b-scan 0/4 repeat 0/1"}}},
        {"all repeats of two B-scans", 2, 5, 4,
            {{1.5, "frame 0 volume 0 b-scan 0/2 repeat 0/1"},
                {5.5, "frame 1 volume 0 b-scan 1/2 repeat 0/1"},
                {11.5, "frame 2 volume 1 b-scan 0/2 repeat 0/1"},
                {15.5, "frame 3 volume 1 b-scan 1/2 repeat 0/1"}}},
        {"B-scans that are left over", 1, 5, 2,
            {{0.5, "frame 0 volume 0 b-scan 0/2 repeat 0/1"},
                {2.5, "frame 1 volume 0 b-scan 1/2 repeat 0/1"},
                {5.5, "frame 2 volume 1 b-scan 0/2 repeat 0/1"},
                {7.5, "frame 3 volume 1 b-scan 1/2 repeat 0/1"},
                {10.5, "frame 4 volume 2 b-scan 0/2 repeat 0/1"}}},
        {"a scan without end", 1, 0, 3,
            {{1, "frame 0 volume 0 b-scan 0/0 repeat 0/1"},
                {4, "frame 1 volume 0 b-scan 1/0 repeat 0/1"},
                {7, "frame 2 volume 0 b-scan 2/0 repeat 0/1"}}}})
{
  Harness harness (text ("octaverage frames=%u", row.frames), frame_caps ("F32LE"));
  for (guint n = 0; n < 30; n++)
    harness.push (scanned (n, row.repeats, row.b_scans));
  for (const auto &[mean, place] : row.groups) {
    Owned<GstBuffer> out = harness.pull ();
    expect_near (
        Values{numbers_in<float> (read_buffer (out))[0]}, Values{mean}, 1e-5, row.label);
    expect_equal (scan_text (out), place, row.label);
    expect_equal (
        GST_BUFFER_PTS (out), GstClockTime ((mean - (row.frames - 1) / 2.0) * each));
  }
}

TEST_ROWS (test_octaverage_refuses_groups_that_no_volume_holds,
    std::vector<Division>{{"volume of 3", 1, 3, 4, {}}, {"repeats", 3, 8, 4, {}}})
{
  const char *reason =
      row.repeats > 1 ? "repeats each B-scan 3 times" : "a volume of the scan has 3";
  Harness refused (text ("octaverage frames=%u", row.frames), frame_caps ("F32LE"));
  refused.push (scanned (0, row.repeats, row.b_scans));
  refused.messages ().expect_one_error ({"groups of 4 frames", reason});

  Harness playing ("octaverage frames=3", frame_caps ("F32LE"));
  for (guint n = 0; n < 9; n++) {
    if (n == 4)
      set_together (playing.find ("octaverage"), "frames=4");
    playing.push (scanned (n, row.repeats, row.b_scans));
  }
  expect_near (received_means (playing), Values{1, 4, 7}, 1e-5, row.label);
  expect_warnings (playing.bus, row.label, {"groups of 4 frames"});
}

/* octscan's b-scans is reduced, and increased again. */
TEST (test_octaverage_waits_for_volumes_that_hold_a_group)
{
  Harness harness ("octaverage frames=4", frame_caps ("F32LE"));
  for (guint n = 0; n < 24; n++)
    harness.push (scanned (n, 1, n < 8 || n >= 16 ? 8 : 2));
  expect_near (received_means (harness), Values{1.5, 5.5, 17.5, 21.5}, 1e-5, "volumes");
  expect_warnings (harness.bus, "volumes of 2", {"groups of 4 frames"});
}

/* --- aspect ratio --- */

TEST_ROWS (test_octaverage_widens_the_pixels_of_means,
    std::vector<std::string>{"1/1", "3/2", "9999/6887"})
{
  Harness harness (
      "octaverage frames=1 lines=4", frame_caps ("GRAY8") + ",pixel-aspect-ratio=" + row);
  harness.push (timed (Bytes (24 * n_depths), 0));
  harness.pull ();
  gint wide = 0, high = 1, numerator, denominator;
  fail_unless (gst_structure_get_fraction (gst_caps_get_structure (harness.caps (), 0),
      "pixel-aspect-ratio", &numerator, &denominator));
  fail_unless (sscanf (row.c_str (), "%d/%d", &wide, &high) == 2);
  expect_near (
      Values{double (numerator) / denominator}, Values{4.0 * wide / high}, 1e-3, row);
  /* Sinks multiply both by sizes in 32 bits. */
  fail_unless (
      numerator <= 10000 && denominator <= 10000, "%d/%d", numerator, denominator);
}

/* --- property changes --- */

TEST (test_octaverage_ends_a_chain_of_octfft)
{
  Outcome outcome = run (
      "octtestsrc num-buffers=8 ! video/x-raw(memory:OpenCLMemory),width=256,height=32 ! "
      "octwindowinterp ! octfft ! octaverage frames=2 mean=log lines=2 ! "
      "octaverage rolling=true ! opencldownload ! fakesink");
  fail_unless (outcome.eos && outcome.is_clean (), "%s", outcome.line ().c_str ());
}
