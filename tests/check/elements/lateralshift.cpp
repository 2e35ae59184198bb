/* Tests of octangio's alignment of samples that move across A-lines and along the beam
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"

using namespace check;
using namespace depths;

namespace {
const gsize bins = 128, columns = 96;
/* 1/e radius of the amplitude of the focus in A-lines: 3.5 A-lines at half the power */
const double focus = 3;
const guint axial_limit = 4, lateral_limit = 3;
/* Depths and A-lines at either end that are not compared, in addition to those that moved
 * out of the B-scan */
const gsize margin = 8;

struct Grain {
  double line, depth;
  Complex amplitude;
};

/* A sample that is larger than the B-scan */
std::vector<Grain>
grains (guint seed)
{
  std::mt19937 random (seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> line (-12, columns + 12);
  std::uniform_real_distribution<double> depth (-12, bins + 12);
  std::vector<Grain> sample;
  for (gsize n = 0; n < bins * columns / 4; n++) {
    const double x = line (random), z = depth (random), real = normal (random);
    sample.push_back ({x, z, 1000.0 * Complex (real, normal (random))});
  }
  return sample;
}

/* Transform of a Hann window, `away` bins from the peak */
Complex
peak_of_hann (double away)
{
  if (std::abs (away) < 1e-9)
    return 1;
  if (std::abs (std::abs (away) - 1) < 1e-9)
    return -0.5;
  return std::polar (1.0, -G_PI * away) * std::sin (G_PI * away)
         / (G_PI * away * (1 - away * away));
}

struct Movement {
  double axial, lateral;
  double tilt = 0; /* change of the phase from A-line to A-line, in rad */
};

/* B-scan of the sample after a movement, in double precision from its definition */
Pairs
b_scan_of (const std::vector<Grain> &sample, const Movement &movement)
{
  Pairs frame (bins * columns);
  const gssize reach = 14;
  for (const Grain &grain : sample) {
    const double x = grain.line + movement.lateral, z = grain.depth + movement.axial;
    std::vector<Complex> depths;
    const gssize first = std::max<gssize> (0, gssize (z) - 40);
    const gssize end = std::min<gssize> (bins, gssize (z) + 41);
    for (gssize depth = first; depth < end; depth++)
      depths.push_back (grain.amplitude * peak_of_hann (double (depth) - z));
    for (gssize line = std::max<gssize> (0, gssize (x) - reach);
         line < std::min<gssize> (columns, gssize (x) + reach + 1); line++) {
      const double height = std::exp (-std::pow ((double (line) - x) / focus, 2));
      for (gssize depth = first; depth < end; depth++)
        frame[gsize (line) * bins + gsize (depth)] +=
            height * depths[gsize (depth - first)];
    }
  }
  for (gsize at = 0; at < frame.size (); at++)
    frame[at] *=
        std::polar (1.0, 5.3 * movement.axial + 0.7 + movement.tilt * double (at / bins));
  return as_float (frame);
}

/* Share of the power of a static sample that remains in its angiogram */
double
residual (const std::string &settings, const Movement &movement,
    const std::vector<Grain> &sample, double factor = 1)
{
  Harness harness (
      "octangio repeats=2 " + settings, frame_caps ("CF32LE", columns, bins));
  const Pairs still = b_scan_of (sample, {0, 0});
  harness.push (complex_frame (still, 0));
  harness.push (complex_frame (b_scan_of (sample, movement), 1));
  const Values angiogram = pull_numbers (harness);
  const gsize aside = margin + gsize (std::ceil (std::abs (movement.lateral)));
  const gsize up = margin + gsize (std::ceil (std::abs (movement.axial)));
  double left = 0, power = 0;
  for (gsize line = aside; line < columns - aside; line++) {
    for (gsize depth = up; depth < bins - up; depth++) {
      left += factor * angiogram[line * bins + depth];
      power += std::norm (still[line * bins + depth]);
    }
  }
  return 10 * std::log10 (left / power);
}

const Movement movements[] = {{0, 0}, {0, 0.3}, {0, -0.5}, {0, 1}, {0, 2.4}, {0, -2.9},
    {0.5, 0.5}, {-0.3, 1.7}, {3.4, -0.6}, {-1.5, -2.2}, {0.4, 0.4, 0.3}, {0, 0.6, -0.5}};
} // namespace

TEST_ROWS (test_octangio_aligns_both_directions_to_40_db, movements)
{
  const std::string limits =
      text ("axial-shift=%u lateral-shift=%u", axial_limit, lateral_limit);
  const std::vector<Grain> sample = grains (5);
  const double left = residual ("method=complex-variance " + limits, row, sample);
  fail_unless (left <= -40, "%g bins, %g A-lines, %g rad: %.1f dB are left", row.axial,
      row.lateral, row.tilt, left);
}

/* Only lateral alignment, and amplitudes only */
TEST (test_octangio_aligns_lines_without_axial_shift)
{
  const std::vector<Grain> sample = grains (6);
  for (double lateral : {-1.6, 0.4, 2.5}) {
    const double left =
        residual ("method=speckle-variance lateral-shift=3", {0, lateral}, sample, 4);
    fail_unless (left <= -40, "%g A-lines: %.1f dB are left", lateral, left);
  }
}

/* More repeats than kernels have arguments for */
TEST (test_octangio_aligns_lines_of_many_repeats)
{
  const std::vector<Grain> sample = grains (7);
  Harness harness ("octangio repeats=9 lateral-shift=2 axial-shift=2",
      frame_caps ("CF32LE", columns, bins));
  double power = 0;
  for (guint n = 0; n < 9; n++) {
    const Pairs frame = b_scan_of (sample, {0.2 * n - 0.8, 0.2 * n - 0.8});
    harness.push (complex_frame (frame, n));
    for (const Complex &bin : frame)
      power += std::norm (bin) / 9;
  }
  const Values angiogram = pull_numbers (harness);
  double left = 0;
  for (gsize at = 0; at < angiogram.size (); at++) {
    const gsize line = at / bins, depth = at % bins;
    if (line >= 10 && line < columns - 10 && depth >= 10 && depth < bins - 10)
      left += angiogram[at];
  }
  fail_unless (left <= 1e-4 * power, "%.1f dB are left", 10 * std::log10 (left / power));
}

TEST (test_octangio_lateral_shift_is_a_limit)
{
  const std::vector<Grain> sample = grains (8);
  const double without = residual ("", {0, 1.5}, sample);
  const double limited = residual ("lateral-shift=1", {0, 1.5}, sample);
  const double aligned = residual ("lateral-shift=2", {0, 1.5}, sample);
  fail_unless (without > -10 && limited > -20 && limited < without && aligned <= -40,
      "%.1f dB without, %.1f dB with 1, %.1f dB with 2 A-lines", without, limited,
      aligned);
}

/* B-scans with too few A-lines for a fraction are aligned by whole A-lines. */
TEST (test_octangio_aligns_few_lines_by_whole_ones)
{
  const Pairs still = b_scan_of (grains (9), {0, 0});
  const Pairs moved = b_scan_of (grains (9), {0, 1});
  const gsize few = 12;
  Harness harness (
      "octangio repeats=2 lateral-shift=2", frame_caps ("CF32LE", few, bins));
  harness.push (complex_frame (Pairs (still.begin (), still.begin () + few * bins), 0));
  harness.push (complex_frame (Pairs (moved.begin (), moved.begin () + few * bins), 1));
  const Values angiogram = pull_numbers (harness);
  for (gsize at = 0; at < (few - 1) * bins; at++)
    fail_unless (angiogram[at] <= 1e-2 * std::norm (still[at]) + 1e3, "line %zu: %g",
        at / bins, angiogram[at]);
}
