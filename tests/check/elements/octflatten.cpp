/* Tests of octflatten: A-lines move by the polynomial, between bins as well
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"
#include "scantext.hpp"
#include "tablefile.hpp"

#include <gst/opencl/core/profile.hpp>

using namespace check;
using namespace depths;

namespace {
/* Complex depth at `bin` of a surface at `place` with this phase, as octfft makes it with
 * a Hann window over n samples: the sum over the fringe of the window. */
Complex
bin_of_surface (double bin, double place, double phase, gsize n = 256)
{
  Complex sum = 0;
  double weights = 0;
  for (gsize m = 0; m < n; m++) {
    const double window = 0.5 - 0.5 * std::cos (2 * G_PI * double (m) / double (n - 1));
    sum += std::polar (
        window, 2 * G_PI * (place - bin) * (double (m) - n / 2.0) / double (n));
    weights += window;
  }
  /* Neighbouring bins have opposite phases, as the spectrum begins at m = 0. */
  return std::polar (100.0, phase - G_PI * bin) * sum / weights;
}

/* A-lines with a surface each */
Pairs
surfaces (const Values &places, gsize depths, double phase_step = 0)
{
  Pairs pairs;
  for (gsize line = 0; line < places.size (); line++)
    for (gsize bin = 0; bin < depths; bin++)
      pairs.push_back (
          bin_of_surface (double (bin), places[line], phase_step * double (line)));
  return as_float (pairs);
}

double
position_of (gsize n, gsize count)
{
  return count > 1 ? 2 * double (n) / double (count - 1) - 1 : 0;
}

/* z(x, y) from its definition: the sum over degrees and powers of y */
double
path_at (const Values &coefficients, double x, double y)
{
  double z = 0;
  gsize term = 0;
  for (int degree = 0; term < coefficients.size (); degree++)
    for (int power = 0; power <= degree && term < coefficients.size (); power++)
      z += coefficients[term++] * std::pow (x, degree - power) * std::pow (y, power);
  return z;
}

std::string
setting_of (const Values &coefficients)
{
  std::string list;
  for (double coefficient : coefficients)
    list += (list.empty () ? "" : ",") + text ("%.9g", coefficient);
  return "coefficients=<" + list + ">";
}

GstBuffer *
scanned (const Pairs &frame, guint n, guint b_scan, guint b_scans)
{
  GstBuffer *buffer = complex_frame (frame, n);
  GstOctScan scan = {};
  scan.frame = n;
  scan.b_scan = b_scan;
  scan.b_scans = b_scans;
  scan.repeats = 1;
  gst_buffer_set_oct_scan (buffer, &scan);
  return buffer;
}

Pairs
pull_pairs (Harness &harness)
{
  return pairs_in (read_buffer (harness.pull ()));
}

double
worst_of (const Pairs &got, const Pairs &expected)
{
  double worst = 0;
  fail_unless_equals_int (got.size (), expected.size ());
  for (gsize n = 0; n < got.size (); n++)
    worst = std::max (worst, std::abs (got[n] - expected[n]));
  return worst;
}
} // namespace

/* A surface is as if it had been recorded flat, within 0.2 % of its amplitude, and keeps
 * its phase. */
TEST (test_octflatten_moves_complex_depths)
{
  const gsize lines = 21, depths = 128;
  const Values paths[] = {{}, {0, 3}, {0, 0, 0, 9.3}, {2.25}, {0, 1.5, 0, -7, 0, 0, 2.2},
      {0.5, 0, 0, 6, 0, 0, 0, 0, 0, 0, -2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3}};
  for (const Values &coefficients : paths) {
    Values places, flat (lines, 60.25);
    for (gsize line = 0; line < lines; line++)
      places.push_back (60.25 + path_at (coefficients, position_of (line, lines), 0));
    Harness harness (
        coefficients.empty () ? "octflatten" : "octflatten " + setting_of (coefficients),
        frame_caps ("CF32LE", lines, depths));
    for (guint n = 0; n < 2; n++) {
      harness.push (complex_frame (surfaces (places, depths, 0.7), n));
      const double worst = worst_of (pull_pairs (harness), surfaces (flat, depths, 0.7));
      fail_unless (worst < 0.4, "%s: %g", setting_of (coefficients).c_str (), worst);
    }
    fail_unless (harness.messages ().is_clean ());
  }
}

TEST (test_octflatten_depends_on_the_b_scan)
{
  const gsize lines = 9, depths = 100;
  const guint b_scans = 5;
  const Values path = {0, 1, -2, 4, 1.5, 3, 0, 0.5, 0, -1};
  Harness harness (
      "octflatten " + setting_of (path), frame_caps ("CF32LE", lines, depths));
  for (guint n = 0; n < 2 * b_scans; n++) {
    const guint b_scan = n % b_scans;
    Values places;
    for (gsize line = 0; line < lines; line++)
      places.push_back (
          50 + path_at (path, position_of (line, lines), position_of (b_scan, b_scans)));
    harness.push (scanned (surfaces (places, depths), n, b_scan, b_scans));
    Owned<GstBuffer> out = harness.pull ();
    const double worst =
        worst_of (pairs_in (read_buffer (out)), surfaces (Values (lines, 50.0), depths));
    fail_unless (worst < 0.4, "B-scan %u: %g", b_scan, worst);
    expect_equal (scan_text (out.operator->()),
        text ("frame %u volume 0 b-scan %u/%u repeat 0/1", n, b_scan, b_scans));
  }
  fail_unless (harness.messages ().is_clean ());
}

TEST (test_octflatten_warns_once_without_positions_of_b_scans)
{
  Harness harness ("octflatten coefficients=<0,0,2>", frame_caps ("CF32LE"));
  for (guint n = 0; n < 3; n++) {
    harness.push (complex_frame (speckle (n), n));
    harness.pull ();
  }
  expect_warnings (harness.bus, "no meta", {"coefficients depend on the B-scan"});
}

/* Depths from outside are 0, and all others are kept. */
TEST (test_octflatten_fills_depths_from_outside_with_zeros)
{
  for (const auto &format : {"CF32LE", "F32LE"})
    for (double shift : {5.0, -5.0, 4.5, -4.5, 36.0, 37.0, -1000.0, 1e9}) {
      const bool complex = std::string (format) == "CF32LE";
      Harness harness ("octflatten " + setting_of ({shift}), frame_caps (format));
      const Pairs ones (n_depths * n_lines, 1.0);
      harness.push (complex
                        ? complex_frame (ones, 0)
                        : timed (bytes_of<float> (Values (n_depths * n_lines, 1)), 0));
      const Bytes out = read_buffer (harness.pull ());
      const Values got = complex ? amplitudes (pairs_in (out)) : numbers_in<float> (out);
      for (gsize n = 0; n < got.size (); n++) {
        const double from = double (n % n_depths) + shift;
        const bool inside = from >= 0 && from <= n_depths - 1;
        fail_unless (inside || got[n] == 0, "%s, %g: %g at %zu", format, shift, got[n],
            n % n_depths);
        const bool whole = shift == std::floor (shift);
        fail_unless (!inside || !whole || std::abs (got[n] - 1) < 1e-5,
            "%s, %g: %g at %zu", format, shift, got[n], n % n_depths);
      }
    }
}

/* Amplitudes keep the level of peaks and are never negative. Other numbers, such as
 * decibels, are interpolated linearly. */
TEST (test_octflatten_moves_real_depths)
{
  const gsize lines = 16, depths = 64;
  Values places, flat (lines, 30.0);
  for (gsize line = 0; line < lines; line++)
    places.push_back (30 + 4 * position_of (line, lines));
  const Values before = amplitudes (surfaces (places, depths)),
               after = amplitudes (surfaces (flat, depths));
  Harness harness ("octflatten coefficients=<0,4>",
      frame_caps ("F32LE", lines, depths, "50/1", "amplitude"));
  harness.push (timed (bytes_of<float> (before), 0));
  const Values found = pull_numbers (harness);
  for (gsize line = 0; line < lines; line++) {
    const double peak = found[line * depths + 30];
    fail_unless (std::abs (20 * std::log10 (peak / after[30])) < 0.05, "line %zu: %g dB",
        line, 20 * std::log10 (peak / after[30]));
  }
  fail_unless (*std::min_element (found.begin (), found.end ()) >= 0);

  Harness linear ("octflatten coefficients=<2.25>",
      frame_caps ("F32LE", n_lines, n_depths, "50/1", "decibels"));
  const Values values = real_of (speckle (3));
  linear.push (timed (bytes_of<float> (values), 0));
  Values expected;
  for (gsize n = 0; n < values.size (); n++)
    expected.push_back (
        n % n_depths + 3 < n_depths ? 0.75 * values[n + 2] + 0.25 * values[n + 3] : 0);
  expect_near (pull_numbers (linear), expected, 1e-3, "linear");
}

TEST (test_octflatten_one_line_or_few_depths)
{
  for (gsize depths : {1, 2, 3, 15, 16, 17}) {
    Harness harness (
        "octflatten coefficients=<0,3,0,0>", frame_caps ("CF32LE", 1, depths));
    const Pairs frame = as_float (speckle (2, depths));
    harness.push (complex_frame (frame, 0));
    const double worst = worst_of (pull_pairs (harness), frame);
    fail_unless (worst < 1e-3, "%zu depths: %g", depths, worst);
  }
}

TEST (test_octflatten_no_waits_and_one_launch_per_frame)
{
  Harness harness ("octflatten coefficients=<0,0,0,5>", frame_caps ("CF32LE", 9, 100));
  const Pairs frame = speckle (1, 900);
  GstOpenCLCounts before, after;
  GstOpenCLStatistics *statistics =
      gst_opencl_statistics_of (harness.find ("octflatten"));
  for (guint n = 0; n < 8; n++) {
    if (n == 3)
      gst_opencl_statistics_get_counts (statistics, &before);
    harness.push (complex_frame (frame, n));
    harness.pull ();
  }
  gst_opencl_statistics_get_counts (statistics, &after);
  expect_equal (after.host_waits, before.host_waits);
  expect_equal (after.uploads - before.uploads, guint64 (5)); /* the frames */
  expect_equal (after.launches - before.launches, guint64 (5));
}

/* Repeated B-scans that do not move have no flow and no decorrelation afterwards, and
 * flow between A-lines is the same before and after. */
TEST (test_octflatten_keeps_phases)
{
  const gsize lines = 32, depths = 96;
  Values places;
  for (gsize line = 0; line < lines; line++)
    places.push_back (40 + 6 * std::pow (position_of (line, lines), 2));
  const Pairs frame = surfaces (places, depths, 0.4);
  Harness harness ("octflatten coefficients=<0,0,0,6> ! octdoppler quantity=phase "
                   "window-lines=1 window-depths=1",
      frame_caps ("CF32LE", lines, depths));
  harness.push (complex_frame (frame, 0));
  const Values phases = pull_numbers (harness);
  for (gsize line = 0; line < lines; line++)
    for (gsize depth = 39; depth <= 41; depth++)
      fail_unless (std::abs (phases[line * depths + depth] - 0.4) < 0.01, "line %zu: %g",
          line, phases[line * depths + depth]);
}

TEST (test_octflatten_in_pipelines)
{
  pictures_on_any_queue (
      "octtestsrc num-buffers=8 ! video/x-raw(memory:OpenCLMemory),width=512,height=20 ! "
      "octscan b-scans=4 ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! "
      "octfft",
      "octflatten coefficients=<0,0,0,20,0,10>", "octdisplay", 8);
}
