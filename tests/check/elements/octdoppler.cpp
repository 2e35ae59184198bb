/* Tests of octdoppler: phase differences and velocities, their sign and their unit
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"
#include "../octreference.hpp"

using namespace check;
using namespace depths;

namespace {
/* --- reference in double precision --- */

struct Window {
  gint depths, lines;
};

/* Calls `add` for each index of a window around `at` that lies within 0 to `end`. */
template <typename Add>
void
around (gint at, gint size, gint end, Add add)
{
  for (gint n = at - (size - 1) / 2; n < at - (size - 1) / 2 + size; n++) {
    if (n >= 0 && n < end)
      add (n);
  }
}

/* Pair j consists of before[j] and after[j]. */
Values
phases_of (const Pairs &before, const Pairs &after, gint n_pairs, const Window &window,
    double least_power = 0)
{
  Values phases;
  for (gint line = 0; line < gint (n_lines); line++) {
    for (gint depth = 0; depth < gint (n_depths); depth++) {
      Complex sum = 0;
      double power = 0, count = 0;
      around (std::min (line, n_pairs - 1), window.lines, n_pairs, [&] (gint pair) {
        around (depth, window.depths, n_depths, [&] (gint at) {
          const Complex a = after[pair * n_depths + at], b = before[pair * n_depths + at];
          sum += a * std::conj (b);
          power += (std::norm (a) + std::norm (b)) / 2;
          count++;
        });
      });
      phases.push_back (power / count >= least_power ? std::arg (sum) : 0);
    }
  }
  return phases;
}

Pairs
from_line (const Pairs &frame, gsize line)
{
  return Pairs (frame.begin () + line * n_depths, frame.end ());
}

Values
phases_between_lines (const Pairs &frame, const Window &window, double least_power = 0)
{
  return phases_of (frame, from_line (frame, 1), n_lines - 1, window, least_power);
}

/* Static grains whose phase turns by `step` (depth) from one A-line to the next */
template <typename Step>
Pairs
turning (guint seed, Step step)
{
  const Pairs grains = speckle (seed, n_depths);
  Pairs frame;
  for (gsize line = 0; line < n_lines; line++) {
    for (gsize depth = 0; depth < n_depths; depth++)
      frame.push_back (grains[depth] * std::polar (1.0, step (depth) * double (line)));
  }
  return as_float (frame);
}

/* Compares phases modulo 2 pi. */
void
expect_phases (const Values &got, const Values &expected, const std::string &what)
{
  Values away;
  for (gsize n = 0; n < std::min (got.size (), expected.size ()); n++)
    away.push_back (std::remainder (got[n] - expected[n], 2 * G_PI));
  expect_near (away, Values (expected.size ()), 1e-4, what);
}

const Window windows[] = {{1, 1}, {3, 3}, {4, 2}, {1, 9}, {64, 64}};
} // namespace

TEST_ROWS (test_octdoppler_finds_the_phase_between_a_lines, windows)
{
  Harness harness (text ("octdoppler quantity=phase window-depths=%d window-lines=%d",
                       row.depths, row.lines),
      frame_caps ("CF32LE"));
  /* Sums are far from the origin of the complex plane, where the phase is unstable. */
  const Pairs noise = speckle (9);
  Pairs frame = turning (4, [] (gsize) { return 1.1; });
  for (gsize n = 0; n < frame.size (); n++)
    frame[n] += 0.05 * noise[n] + 20.0 * std::polar (1.0, 1.1 * double (n / n_depths));
  frame = as_float (frame);
  harness.push (complex_frame (frame, 0));
  expect_phases (pull_numbers (harness), phases_between_lines (frame, row),
      text ("%d x %d", row.depths, row.lines));
}

TEST_ROWS (test_octdoppler_does_not_wrap_below_pi, {-3.1, -1.5, -0.01, 0.01, 1.5, 3.1})
{
  Harness harness ("octdoppler quantity=phase", frame_caps ("CF32LE"));
  harness.push (complex_frame (turning (5, [&] (gsize) { return row; }), 0));
  expect_near (pull_numbers (harness), Values (n_depths * n_lines, row), 1e-4, "phases");
}

TEST (test_octdoppler_gives_velocities_in_mm_per_second)
{
  Harness harness (
      "octdoppler wavelength=840 refractive-index=1.38 angle=60 line-rate=20000",
      frame_caps ("CF32LE"));
  harness.push (complex_frame (turning (5, [] (gsize) { return 0.5; }), 0));
  /* 0.5 rad × 840e-6 mm × 20000/s / (4 pi 1.38 cos 60°) */
  const double expected = 0.5 * 840e-6 * 20000 / (4 * G_PI * 1.38 * 0.5);
  expect_near (
      pull_numbers (harness), Values (n_depths * n_lines, expected), 1e-4, "velocity");
}

TEST (test_octdoppler_takes_the_rate_of_the_caps)
{
  Harness harness ("octdoppler", frame_caps ("CF32LE"));
  harness.push (complex_frame (turning (5, [] (gsize) { return 0.5; }), 0));
  const double expected = 0.5 * 1310e-6 * (50 * n_lines) / (4 * G_PI);
  expect_near (
      pull_numbers (harness), Values (n_depths * n_lines, expected), 1e-4, "velocity");
}

TEST (test_octdoppler_is_nothing_below_the_threshold)
{
  Harness harness ("octdoppler quantity=phase threshold=35", frame_caps ("CF32LE"));
  Pairs frame = turning (6, [] (gsize depth) { return 0.1 * depth; });
  for (gsize n = 0; n < frame.size (); n++)
    frame[n] *= n % n_depths < 12 ? 0.1 : 1; /* 20 dB less */
  frame = as_float (frame);
  harness.push (complex_frame (frame, 0));
  const Values expected = phases_between_lines (frame, {3, 3}, std::pow (10, 3.5));
  fail_unless (std::count (expected.begin (), expected.end (), 0.0) > 100
               && std::count (expected.begin (), expected.end (), 0.0) < 700);
  expect_phases (pull_numbers (harness), expected, "masked");
}

/* All bins have the same power, 40 dB. Also at the edges, where windows have fewer bins,
 * it is above a threshold of 39.5 dB and below one of 40.5 dB. */
TEST_ROWS (
    test_octdoppler_threshold_at_edges, std::vector<Window>{{2, 1}, {3, 3}, {4, 2},
                                            {5, 7}, {36, 1}, {1, 36}, {40, 1}, {64, 64}})
{
  Pairs frame;
  for (gsize n = 0; n < n_lines * n_depths; n++)
    frame.push_back (std::polar (100.0, 0.7 * double (n / n_depths)));
  for (const char *between : {"lines", "frames"}) {
    for (double threshold : {39.5, 40.5}) {
      Harness harness (
          text ("octdoppler between=%s quantity=phase window-depths=%d window-lines=%d "
                "threshold=%g",
              between, row.depths, row.lines, threshold),
          frame_caps ("CF32LE"));
      const bool of_lines = between[0] == 'l';
      for (guint n = 0; n < (of_lines ? 1 : 2); n++) {
        Pairs turned = frame;
        for (Complex &bin : turned)
          bin *= std::polar (1.0, 0.7 * n);
        harness.push (complex_frame (as_float (turned), n));
      }
      expect_near (pull_numbers (harness),
          Values (n_depths * n_lines, threshold < 40 ? 0.7 : 0), 1e-4,
          text ("%s, %d x %d, %g dB", between, row.depths, row.lines, threshold));
    }
  }
}

TEST (test_octdoppler_finds_the_phase_between_b_scans)
{
  Harness harness (
      "octdoppler between=frames quantity=phase window-depths=1 window-lines=1",
      frame_caps ("CF32LE"));
  const Pairs frames[] = {speckle (1), speckle (2), speckle (3)};
  for (guint n = 0; n < 3; n++)
    harness.push (complex_frame (frames[n], n));
  expect_equal (waiting (harness), 2u);
  for (guint n = 0; n < 2; n++)
    expect_phases (pull_numbers (harness),
        phases_of (frames[n], frames[n + 1], n_lines, {1, 1}), text ("frame %u", n));
}

TEST (test_octdoppler_keeps_what_is_in_force_where_no_rate_is_known)
{
  Harness harness ("octdoppler quantity=phase");
  harness.set_caps (frame_caps ("CF32LE", n_lines, n_depths, "0/1"));
  for (guint n = 0; n < 3; n++) {
    if (n == 1)
      set_together (harness.find ("octdoppler"), "quantity=velocity");
    Owned<GstBuffer> out =
        harness.pass (complex_frame (turning (5, [] (gsize) { return 0.5; }), n));
    expect_near (numbers_in<float> (read_buffer (out)), Values (n_depths * n_lines, 0.5),
        1e-4, "phase");
  }
  expect_warnings (harness.bus, "no rate", {"quantity=velocity: the caps have no"});
}

/* --- the whole chain, with a moving mirror --- */

namespace {
const gsize samples = 256, lines = 16;
const double wavelength = 1310, line_rate = 10000, velocity = 0.8; /* nm, Hz, mm/s */

/* Raw spectra of a mirror that moves deeper, even in wavenumber. `falling` starts with
 * the largest wavenumber. */
Bytes
moving_mirror (bool falling)
{
  const double middle = 2 * G_PI / wavelength, band = middle * 0.06; /* 1/nm */
  Values spectra;
  for (gsize line = 0; line < lines; line++) {
    const double depth = 40 * G_PI / band + velocity * 1e6 * line / line_rate; /* nm */
    for (gsize j = 0; j < samples; j++) {
      const double part = double (j) / samples - 0.5;
      const double k = middle + (falling ? -part : part) * band;
      spectra.push_back (std::round (30000 + 9000 * std::cos (2 * k * depth)));
    }
  }
  return bytes_of<guint16> (spectra);
}
} // namespace

TEST_ROWS (test_octdoppler_finds_the_velocity_of_a_mirror, {0, 1})
{
  Harness harness (
      text ("openclupload ! octwindowinterp background=none ! octfft ! octdoppler "
            "wavelength=%g line-rate=%g threshold=60 invert=%d",
          wavelength, line_rate, row),
      text ("video/x-raw,format=GRAY16_LE,width=%zu,height=%zu,framerate=25/1", samples,
          lines));
  harness.push (timed (moving_mirror (row == 1), 0));
  const Values got = pull_numbers (harness);
  expect_equal (got.size (), samples / 2 * lines);
  for (gsize line = 0; line < lines; line++)
    fail_unless (std::abs (got[line * samples / 2 + 40] / velocity - 1) <= 0.02,
        "line %zu: %g mm/s, expected %g", line, got[line * samples / 2 + 40], velocity);
}
