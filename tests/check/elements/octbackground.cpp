/* Tests of octbackground: fixed patterns are removed; features that move or are only in
 * some A-lines stay
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/core/profile.hpp>

#include "depthframes.hpp"
#include "tablefile.hpp"

#include <gst/common/npyfile.hpp>

using namespace check;
using namespace depths;

namespace {
/* Pattern that is subtracted from one row of depths, in double precision */
Pairs
pattern_of (const Pairs &frame, gsize lines, gsize depths, gsize segment_lines)
{
  const gsize segments = std::max<gsize> (lines / segment_lines, 1);
  Pairs pattern;
  for (gsize depth = 0; depth < depths; depth++) {
    double chosen[2] = {}, least[2] = {INFINITY, INFINITY};
    for (gsize s = 0; s < segments; s++) {
      const gsize begin = lines * s / segments, end = lines * (s + 1) / segments;
      for (int part = 0; part < 2; part++) {
        auto value = [&] (gsize line) {
          const Complex pair = frame[line * depths + depth];
          return part ? pair.imag () : pair.real ();
        };
        double mean = 0, variance = 0;
        for (gsize line = begin; line < end; line++)
          mean += value (line) / double (end - begin);
        for (gsize line = begin; line < end; line++)
          variance += std::pow (value (line) - mean, 2) / double (end - begin);
        if (variance < least[part]) {
          least[part] = variance;
          chosen[part] = mean;
        }
      }
    }
    pattern.emplace_back (chosen[0], chosen[1]);
  }
  return pattern;
}

Pairs
without (Pairs frame, const Pairs &pattern)
{
  for (gsize n = 0; n < frame.size (); n++)
    frame[n] -= pattern[n % pattern.size ()];
  return frame;
}

Pairs
pull_pairs (Harness &harness)
{
  return pairs_in (read_buffer (harness.pull ()));
}

void
assert_near (const Pairs &found, const Pairs &expected, const std::string &what)
{
  double largest = 0, worst = 0;
  fail_unless_equals_int (found.size (), expected.size ());
  for (gsize n = 0; n < found.size (); n++) {
    largest = std::max (largest, std::abs (expected[n]));
    worst = std::max (worst, std::abs (found[n] - expected[n]));
  }
  fail_unless (
      worst < 1e-5 * largest, "%s: %g of the largest", what.c_str (), worst / largest);
}

/* Speckle plus a stronger pattern */
Pairs
on_a_pattern (guint seed, gsize depths, gsize lines, double height = 1000)
{
  Pairs frame = speckle (seed, depths * lines);
  for (gsize n = 0; n < frame.size (); n++)
    frame[n] += std::polar (height, 0.1 * double (n % depths));
  return as_float (frame);
}

double
decibels (double quotient)
{
  return 20 * std::log10 (quotient);
}

const gsize many = 256, deep = 64; /* A-lines, depths */

/* A flat interface of constant phase at depth 20, in all A-lines except 160 to 200, where
 * the sample ends. Its level fluctuates by 1 %; everything else is weak noise. */
Pairs
flat_interface ()
{
  Pairs frame = speckle (3, many * deep);
  for (gsize n = 0; n < frame.size (); n++) {
    const gsize line = n / deep;
    frame[n] *= 1e-3;
    if (n % deep == 20 && (line < 160 || line >= 200))
      frame[n] += Complex (300, 400) * (1 + 0.1 * frame[n].real ());
  }
  return as_float (frame);
}

/* Level of the interface in the A-lines that contain it */
double
level_of_interface (const Pairs &frame)
{
  double sum = 0;
  for (gsize line = 0; line < 160; line++)
    sum += std::norm (frame[line * deep + 20]) / 160;
  return decibels (std::sqrt (sum) / 500);
}
} // namespace

TEST (test_octbackground_takes_the_mean_of_the_segment_with_least_variance)
{
  const struct {
    gsize depths, lines, segment;
  } sizes[] = {{37, 21, 4}, {1, 5, 2}, {3, 7, 100}, {64, 200, 32}, {130, 33, 16}};
  for (const auto &of : sizes) {
    Harness harness ("octbackground segment-lines=" + std::to_string (of.segment),
        frame_caps ("CF32LE", of.lines, of.depths));
    for (guint n = 0; n < 2; n++) {
      const Pairs frame = on_a_pattern (n, of.depths, of.lines);
      harness.push (complex_frame (frame, n));
      assert_near (pull_pairs (harness),
          without (frame, pattern_of (frame, of.lines, of.depths, of.segment)),
          text ("%zu x %zu", of.depths, of.lines));
    }
  }
}

TEST (test_octbackground_takes_a_fixed_pattern_out)
{
  Harness harness ("octbackground", frame_caps ("CF32LE", many, deep));
  Pairs frame = speckle (5, many * deep);
  for (gsize n = 0; n < frame.size (); n++)
    frame[n] = 1e-4 * frame[n] + std::polar (1000.0, double (n % deep));
  frame = as_float (frame);
  harness.push (complex_frame (frame, 0));
  double before = 0, after = 0;
  const Pairs found = pull_pairs (harness);
  for (gsize n = 0; n < found.size (); n++) {
    before += std::norm (frame[n]);
    after += std::norm (found[n]);
  }
  fail_unless (decibels (std::sqrt (after / before)) < -90, "%g dB",
      decibels (std::sqrt (after / before)));
}

/* The mean of all A-lines removes most of the interface and leaves a ghost where it was
 * absent. */
TEST (test_octbackground_keeps_a_flat_interface_that_has_an_end)
{
  const Pairs frame = flat_interface ();
  double levels[2], ghosts[2];
  for (guint n = 0; n < 2; n++) {
    Harness harness (n ? "octbackground method=mean" : "octbackground",
        frame_caps ("CF32LE", many, deep));
    harness.push (complex_frame (frame, 0));
    const Pairs found = pull_pairs (harness);
    levels[n] = level_of_interface (found);
    ghosts[n] = decibels (std::abs (found[180 * deep + 20]) / 500);
  }
  fail_unless (std::abs (levels[0]) < 0.01 && ghosts[0] < -50, "%g dB, %g dB", levels[0],
      ghosts[0]);
  fail_unless (
      levels[1] < -15 && ghosts[1] > -2, "mean: %g dB, %g dB", levels[1], ghosts[1]);
}

TEST (test_octbackground_recorded_stays_until_it_is_set_again)
{
  Harness harness (
      "octbackground method=recorded segment-lines=8", frame_caps ("CF32LE", 24, 16));
  const Pairs frames[] = {on_a_pattern (1, 16, 24), on_a_pattern (2, 16, 24, 500),
      on_a_pattern (3, 16, 24, 700)};
  const Pairs first = pattern_of (frames[0], 24, 16, 8);
  for (guint n = 0; n < 3; n++) {
    harness.push (complex_frame (frames[n], n));
    assert_near (pull_pairs (harness), without (frames[n], first), "recorded");
  }
  set_together (harness.find ("octbackground"), "dc-depths=0");
  harness.push (complex_frame (frames[1], 3));
  assert_near (pull_pairs (harness), without (frames[1], first), "another knob");
  set_together (harness.find ("octbackground"), "method=recorded");
  for (guint n = 1; n < 3; n++) {
    harness.push (complex_frame (frames[n], 3 + n));
    assert_near (pull_pairs (harness),
        without (frames[n], pattern_of (frames[1], 24, 16, 8)), "set again");
  }
  set_together (harness.find ("octbackground"), "method=none dc-depths=3");
  harness.push (complex_frame (frames[0], 6));
  Pairs expected = frames[0];
  for (gsize n = 0; n < expected.size (); n++) {
    if (n % 16 < 3)
      expected[n] = 0;
  }
  assert_near (pull_pairs (harness), expected, "DC alone");
  fail_unless (harness.messages ().is_clean ());
}

/* The weight may change while a recorded pattern stays, and be controlled. */
TEST (test_octbackground_weight_is_the_share_of_the_pattern)
{
  Harness harness (
      "octbackground method=recorded segment-lines=8", frame_caps ("CF32LE", 24, 16));
  const Pairs frame = on_a_pattern (1, 16, 24), other = on_a_pattern (2, 16, 24, 500);
  const Pairs pattern = pattern_of (frame, 24, 16, 8);
  auto weighted = [&] (double weight) {
    Pairs part = pattern;
    for (Complex &value : part)
      value *= weight;
    return part;
  };
  guint n = 0;
  for (double weight : {0.25, 0.0, 1.0, 0.7}) {
    set_together (harness.find ("octbackground"), text ("weight=%g", weight));
    /* The pattern of the very first frame stays. */
    for (const Pairs &each : {frame, other}) {
      harness.push (complex_frame (each, n++));
      assert_near (pull_pairs (harness), without (each, weighted (weight)),
          text ("weight %g", weight));
    }
  }
  fail_unless (harness.messages ().is_clean ());
  GParamSpec *spec = g_object_class_find_property (
      G_OBJECT_GET_CLASS (harness.find ("octbackground").operator->()), "weight");
  fail_unless (spec->flags & GST_PARAM_CONTROLLABLE);
  fail_unless (spec->flags & GST_PARAM_MUTABLE_PLAYING);
}

/* With weight 0, infinite values of a pattern have no effect. */
TEST (test_octbackground_weight_0_is_no_subtraction)
{
  Harness harness ("octbackground method=mean weight=0", frame_caps ("CF32LE", 24, 16));
  Pairs frame = on_a_pattern (1, 16, 24);
  frame[5] = Complex (INFINITY, 0);
  harness.push (complex_frame (frame, 0));
  const Pairs found = pull_pairs (harness);
  for (gsize n = 0; n < found.size (); n++)
    fail_unless (n == 5
                     || (float (found[n].real ()) == float (frame[n].real ())
                         && float (found[n].imag ()) == float (frame[n].imag ())),
        "%d: %.9g, %.9g", int (n), found[n].real (), found[n].imag ());
}

/* A complex pattern in a file, as npysink writes it */
TEST (test_octbackground_takes_what_a_file_has_away)
{
  const Pairs empty = on_a_pattern (8, 16, 6), frame = on_a_pattern (9, 16, 24, 400);
  Pairs mean (16);
  std::string text = opencl::npy_make_header (opencl::NumberType::f32, true, {2, 3, 16});
  for (gsize n = 0; n < empty.size (); n++) {
    mean[n % 16] += empty[n] / 6.0;
    const gfloat parts[] = {gfloat (empty[n].real ()), gfloat (empty[n].imag ())};
    text.append (reinterpret_cast<const char *> (parts), sizeof parts);
  }
  TableFile file ({}), other ({});
  g_file_set_contents (file.path.c_str (), text.data (), gssize (text.size ()), nullptr);
  Harness harness (
      "octbackground method=file location=" + file.path, frame_caps ("CF32LE", 24, 16));
  for (guint n = 0; n < 2; n++) {
    harness.push (complex_frame (frame, n));
    assert_near (pull_pairs (harness), without (frame, mean), "of a file");
  }
  /* If a file cannot be read, the last pattern stays in effect. */
  set_together (harness.find ("octbackground"), "location=" + other.path);
  harness.push (complex_frame (frame, 2));
  assert_near (pull_pairs (harness), without (frame, mean), "of the file before");
  fail_unless_equals_int (harness.messages ().warnings.size (), 1);
  set_together (
      harness.find ("octbackground"), "method=minimum-variance segment-lines=8");
  harness.push (complex_frame (frame, 3));
  assert_near (
      pull_pairs (harness), without (frame, pattern_of (frame, 24, 16, 8)), "its own");
  set_together (harness.find ("octbackground"), "method=file location=" + file.path);
  harness.push (complex_frame (frame, 4));
  assert_near (pull_pairs (harness), without (frame, mean), "of the file again");
}

namespace {
std::string
caps_from (guint first, gsize depths = 16)
{
  return frame_caps ("CF32LE", 24, depths) + text (",depth-start=(int)%u", first);
}
} // namespace

TEST (test_octbackground_subtracts_a_file_from_its_own_depths_alone)
{
  const Pairs line = on_a_pattern (8, 16, 1), frame = on_a_pattern (9, 16, 24, 400);
  std::string content = opencl::npy_make_header (opencl::NumberType::f32, true, {1, 16});
  for (const Complex &value : line) {
    const gfloat parts[] = {gfloat (value.real ()), gfloat (value.imag ())};
    content.append (reinterpret_cast<const char *> (parts), sizeof parts);
  }
  TableFile file ({});
  g_file_set_contents (
      file.path.c_str (), content.data (), gssize (content.size ()), nullptr);
  Harness harness ("octbackground method=file location=" + file.path, caps_from (5));
  auto expect_next = [&] (guint n, const Pairs &expected, const char *when) {
    harness.push (complex_frame (frame, n));
    assert_near (pull_pairs (harness), expected, when);
  };
  expect_next (0, without (frame, line), "from 5 on");
  harness.set_caps (caps_from (9));
  expect_next (1, frame, "from 9 on");
  expect_next (2, frame, "still");
  expect_warnings (harness.bus, "other depths",
      {"method=file: the pattern has 16 depths from bin 5 on, but the input has 16 from "
       "bin 9 on; subtracting nothing until location is set again"});
  harness.set_caps (caps_from (5));
  expect_next (3, without (frame, line), "from 5 on again");
  harness.set_caps (caps_from (9));
  set_together (harness.find ("octbackground"), "location=" + file.path);
  expect_next (4, without (frame, line), "set again");
  harness.messages ();
  expect_next (5, without (frame, line), "and stays");
  fail_unless (harness.messages ().is_clean ());
}

/* A NaN in an A-line stays there and does not affect other A-lines. */
TEST (test_octbackground_a_broken_line_is_in_no_pattern)
{
  Pairs frame = on_a_pattern (7, 16, 24);
  for (gsize depth = 0; depth < 16; depth++)
    frame[5 * 16 + depth] = Complex (NAN, NAN);
  Harness harness ("octbackground segment-lines=8", frame_caps ("CF32LE", 24, 16));
  harness.push (complex_frame (frame, 0));
  const Pairs found = pull_pairs (harness);
  for (gsize n = 0; n < found.size (); n++)
    fail_unless_equals_int (std::isfinite (found[n].real ()), n / 16 != 5);
}

TEST (test_octbackground_no_waits_and_no_allocations_per_frame)
{
  Harness harness ("octbackground", frame_caps ("CF32LE", many, deep));
  const Pairs frame = on_a_pattern (1, deep, many);
  for (guint n = 0; n < 3; n++) {
    harness.push (complex_frame (frame, n));
    harness.pull ();
  }
  GstOpenCLCounts before, after;
  GstOpenCLStatistics *statistics =
      gst_opencl_statistics_of (harness.find ("octbackground"));
  gst_opencl_statistics_get_counts (statistics, &before);
  for (guint n = 3; n < 13; n++) {
    harness.push (complex_frame (frame, n));
    harness.pull ();
  }
  gst_opencl_statistics_get_counts (statistics, &after);
  fail_unless_equals_uint64 (after.host_waits, before.host_waits);
  fail_unless_equals_uint64 (after.downloads, before.downloads);
  fail_unless_equals_uint64 (after.launches - before.launches, 30);
}
