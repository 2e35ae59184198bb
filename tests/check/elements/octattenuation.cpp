/* Tests of octattenuation: coefficients from Vermeer's definition in double precision,
 * and layers of 1 to 10 /mm within 10 %
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"
#include "tablefile.hpp"

#include <gst/opencl/core/profile.hpp>

#include <numeric>

using namespace check;
using namespace depths;

namespace {
const double step = 3; /* µm */

/* --- reference in double precision --- */

struct Reference {
  double noise = 0;
  gint window_depths = 1, window_lines = 1, end_depths = 64;
  double min_snr = 0, end_attenuation = 0;
  Values gains = {}; /* of each depth; empty: 1 */
};

Values
averaged (const Values &powers, gint lines, gint depths, const Reference &with)
{
  Values means;
  auto first_of = [] (gint at, gint size) { return at - (size - 1) / 2; };
  for (gint line = 0; line < lines; line++)
    for (gint depth = 0; depth < depths; depth++) {
      double sum = 0, count = 0;
      for (gint l = 0; l < with.window_lines; l++)
        for (gint d = 0; d < with.window_depths; d++) {
          const gint row = first_of (line, with.window_lines) + l;
          const gint column = first_of (depth, with.window_depths) + d;
          if (row < 0 || row >= lines || column < 0 || column >= depths)
            continue;
          sum += powers[row * depths + column];
          count++;
        }
      means.push_back (sum / count - with.noise);
    }
  return means;
}

/* Ends of the last blocks of 32 depths with light, and with the minimum signal */
std::pair<gsize, gsize>
ends_of (const Values &signal, double lines, const Reference &with)
{
  const gsize blocks = std::max<gsize> (signal.size () / 32, 1);
  std::pair<gsize, gsize> ends = {0, 0};
  for (gsize block = 0; block < blocks; block++) {
    const gsize end = block + 1 < blocks ? 32 * (block + 1) : signal.size ();
    const double count = double (end - 32 * block);
    const double sum = std::accumulate (
        signal.begin () + gssize (32 * block), signal.begin () + gssize (end), 0.0);
    if (sum > 3 * with.noise * std::sqrt (count / lines))
      ends.first = end;
    if (sum > std::pow (10, with.min_snr / 10) * with.noise * count)
      ends.second = end;
  }
  return ends;
}

/* Light below the end of an A-line */
double
light_below (
    const Values &light, gsize end, double gain, double lines, const Reference &with)
{
  const gsize fitted = std::min<gsize> (gsize (with.end_depths), end / 2);
  const auto last = light.begin () + gssize (end);
  const double after = std::accumulate (last - gssize (fitted), last, 0.0);
  const double before =
      std::accumulate (last - gssize (2 * fitted), last - gssize (fitted), 0.0);
  if (!(after > 0))
    return 0;
  if (with.end_attenuation > 0)
    return after / std::expm1 (2 * step / 1000 * with.end_attenuation * double (fitted));
  const double noise = with.noise * gain;
  const double variance = ((after * after + before * before) / double (fitted)
                              + 2 * double (fitted) * noise * noise)
                          / lines;
  /* Sum of the geometric series that continues the two sums */
  return before - after > 2 * std::sqrt (variance) ? after * after / (before - after) : 0;
}

Values
attenuation_of (const Values &powers, gsize lines, gsize depths, const Reference &with)
{
  const Values signals = averaged (powers, gint (lines), gint (depths), with);
  const double together = std::min<double> (with.window_lines, double (lines));
  Values result (signals.size ());
  for (gsize line = 0; line < lines; line++) {
    const Values signal (signals.begin () + gssize (line * depths),
        signals.begin () + gssize ((line + 1) * depths));
    const auto [end, shown] = ends_of (signal, together, with);
    Values light = signal;
    for (gsize n = 0; n < depths && !with.gains.empty (); n++)
      light[n] *= with.gains[n];
    if (end == 0)
      continue;
    const double gain = with.gains.empty () ? 1 : with.gains[end - 1];
    double below = light_below (light, end, gain, together, with);
    for (gsize n = end; n-- > 0; below += light[n]) {
      const double ratio = light[n] / below;
      if (below > 0 && ratio > -1 && n < shown)
        result[line * depths + n] = std::log1p (ratio) / (2 * step / 1000);
    }
  }
  return result;
}

/* --- A-lines --- */

/* Layer of a sample, down to a depth */
struct Layer {
  gsize end;
  double coefficient; /* 1/mm */
};

/* Amplitudes of A-lines with speckle and noise: intensity is the coefficient times the
 * light that is left on the way down and back. */
Pairs
sample_of (const std::vector<Layer> &layers, gsize lines, double level, double noise,
    guint seed, const Values &losses = {})
{
  const Pairs field = speckle (seed, lines * layers.back ().end);
  const Pairs thermal = speckle (seed + 1000, lines * layers.back ().end);
  Pairs pairs;
  for (gsize line = 0; line < lines; line++) {
    double way = 0; /* optical depth */
    gsize depth = 0;
    for (const Layer &layer : layers)
      for (; depth < layer.end; depth++) {
        const gsize n = line * layers.back ().end + depth;
        const double loss = losses.empty () ? 1 : losses[depth];
        const double change = layer.coefficient * step / 1000;
        const double light = -std::expm1 (-2 * change) * std::exp (-2 * way);
        way += change;
        /* speckle() has a mean power of 2 × 100² */
        pairs.push_back (
            (level * std::sqrt (light / loss) * field[n] + noise * thermal[n])
            / std::sqrt (20000.0));
      }
  }
  return as_float (pairs);
}

Values
powers_of (const Pairs &pairs)
{
  Values powers;
  for (const Complex &value : pairs)
    powers.push_back (std::norm (value));
  return powers;
}

std::string
caps_of (const char *format, gsize lines, gsize depths, const std::string &more = "")
{
  return frame_caps (format, lines, depths) + ",depth-step=(double)3" + more;
}

/* Fails unless values agree within a part of 1e-4 and float32's rounding of sums. */
void
expect_coefficients (const Values &got, const Values &expected, const std::string &what)
{
  expect_equal (got.size (), expected.size (), what);
  for (gsize n = 0; n < got.size (); n++)
    fail_unless (std::abs (got[n] - expected[n]) <= 1e-4 * (1 + std::abs (expected[n])),
        "%s: value %zu is %g, expected %g", what.c_str (), n, got[n], expected[n]);
}

double
mean_between (const Values &values, gsize depths, gsize begin, gsize end)
{
  double sum = 0, count = 0;
  for (gsize n = 0; n < values.size (); n++) {
    if (n % depths < begin || n % depths >= end)
      continue;
    sum += values[n];
    count++;
  }
  return sum / count;
}

const std::vector<Layer> tissue = {
    {40, 0}, {140, 1}, {200, 10}, {300, 3}, {500, 2}, {700, 0.5}};

struct Row {
  std::string settings;
  Reference with;
};

const Row rows[] = {
    {"", {}},
    {"end-depths=0", {0, 1, 1, 0}},
    {"end-attenuation=4 end-depths=20", {0, 1, 1, 20, 0, 4}},
    {"noise-floor=0", {1}},
    {"noise-floor=3 min-snr=6", {std::pow (10, 0.3), 1, 1, 64, 6}},
    {"noise-floor=0 min-snr=-1000", {1, 1, 1, 64, -1000}},
    {"window-depths=5", {0, 5}},
    {"window-lines=7 noise-floor=0", {1, 1, 7}},
    {"window-lines=64 window-depths=64", {0, 64, 64}},
    {"window-lines=2 window-depths=2 noise-floor=0 min-snr=3", {1, 2, 2, 64, 3}},
};
} // namespace

TEST_ROWS (test_octattenuation_is_that_of_the_definition, rows)
{
  const struct {
    gsize lines, depths;
  } sizes[] = {{1, 1}, {3, 7}, {5, 37}, {17, 700}, {33, 257}, {2, 1500}, {3, 2300}};
  for (const auto &size : sizes) {
    std::vector<Layer> layers = tissue;
    layers.back ().end = std::max<gsize> (size.depths, 700);
    const Pairs whole = sample_of (layers, size.lines, 300, 1, 5);
    Pairs frame;
    for (gsize n = 0; n < whole.size (); n++)
      if (n % layers.back ().end < size.depths)
        frame.push_back (whole[n]);
    Harness complex (
        "octattenuation " + row.settings, caps_of ("CF32LE", size.lines, size.depths));
    Harness real ("octattenuation " + row.settings,
        caps_of ("F32LE", size.lines, size.depths, ",quantity=amplitude"));
    const std::string what =
        text ("%s, %zu x %zu", row.settings.c_str (), size.lines, size.depths);
    const Values expected =
        attenuation_of (powers_of (frame), size.lines, size.depths, row.with);
    for (guint n = 0; n < 2; n++) {
      complex.push (complex_frame (frame, n));
      expect_coefficients (pull_numbers (complex), expected, what);
    }
    real.push (timed (bytes_of<float> (amplitudes (frame)), 0));
    expect_coefficients (pull_numbers (real), expected, what + ", amplitudes");
  }
}

TEST (test_octattenuation_says_what_its_numbers_are)
{
  Harness harness ("octattenuation", caps_of ("CF32LE", 4, 40, ",depth-start=7"));
  harness.push (complex_frame (speckle (1, 160), 0));
  harness.pull ();
  Owned<GstCaps> caps = harness.caps ();
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  expect_equal (
      std::string (gst_structure_get_string (structure, "quantity")), "attenuation");
  expect_equal (std::string (gst_structure_get_string (structure, "format")), "F32LE");
  gint first = 0;
  gst_structure_get_int (structure, "depth-start", &first);
  expect_equal (first, 7);
}

/* --- layers --- */

namespace {
/* Prints the mean of each layer and returns the largest relative error. The ends of a
 * layer are left out by the reach of the window. */
double
worst_layer (const char *name, const Values &found, const std::vector<Layer> &layers)
{
  const gsize margin = 3;
  double worst = 0;
  gsize begin = 0;
  for (const Layer &layer : layers) {
    const double mean =
        mean_between (found, layers.back ().end, begin + margin, layer.end - margin);
    begin = layer.end;
    if (layer.coefficient == 0)
      continue;
    g_print ("%s: %4.1f /mm, found %6.2f (%+.1f %%)\n", name, layer.coefficient, mean,
        100 * (mean / layer.coefficient - 1));
    worst = std::max (worst, std::abs (mean / layer.coefficient - 1));
  }
  return worst;
}

Values
mean_of_frames (const std::string &settings, const std::string &more,
    const std::vector<Layer> &layers, double noise, const Values &losses = {})
{
  const gsize lines = 192, depths = layers.back ().end;
  const guint frames = 4;
  Harness harness ("octattenuation " + settings, caps_of ("CF32LE", lines, depths, more));
  Values mean (lines * depths);
  for (guint n = 0; n < frames; n++) {
    harness.push (
        complex_frame (sample_of (layers, lines, 30000, noise, 10 + n, losses), n));
    const Values found = pull_numbers (harness);
    for (gsize at = 0; at < found.size (); at++)
      mean[at] += found[at] / frames;
  }
  return mean;
}

const std::vector<Layer> layered = {
    {30, 0}, {130, 2}, {180, 10}, {300, 4}, {450, 1}, {560, 6}, {700, 3}};
const std::string noisy = "window-lines=16 window-depths=3 min-snr=-1000 ";
} // namespace

TEST (test_octattenuation_finds_layers_of_1_to_10_per_mm)
{
  const Values found = mean_of_frames (noisy + "noise-floor=0", "", layered, 1);
  const double worst = worst_layer ("layers", found, layered);
  fail_unless (worst < 0.1, "%g", worst);
}

/* A third of the light is left at the end. Without it, coefficients are far too high. */
TEST (test_octattenuation_needs_the_light_below_the_end)
{
  const std::vector<Layer> cut = {{20, 0}, {160, 0.5}, {260, 1}};
  const double worst = worst_layer ("light below",
      mean_of_frames ("window-lines=64 window-depths=3 end-depths=45", "", cut, 0), cut);
  fail_unless (worst < 0.1, "%g", worst);
  const double known = worst_layer ("known coefficient below",
      mean_of_frames ("window-lines=8 end-attenuation=1", "", cut, 0), cut);
  fail_unless (known < 0.1, "%g", known);
  const double without = worst_layer ("no light below",
      mean_of_frames ("window-lines=32 window-depths=3 end-depths=0", "", cut, 0), cut);
  fail_unless (without > 0.5, "%g", without);
}

TEST (test_octattenuation_takes_roll_off_and_focus_off)
{
  const gsize depths = layered.back ().end, first = 50;
  Values losses, decibels;
  for (gsize n = 0; n < depths; n++) {
    const double z = step * double (first + n);
    decibels.push_back (4e-3 * z);
    losses.push_back (
        std::pow (10, decibels.back () / 10) * (1 + std::pow ((z - 900) / 500, 2)));
  }
  const std::string focus =
      noisy + "noise-floor=-10.457575 focus-depth=900 rayleigh-range=500 ";
  TableFile part (decibels);
  Values all (first, -1000.0);
  all.insert (all.end (), decibels.begin (), decibels.end ());
  TableFile whole (all);
  for (const std::string &roll_off : {std::string ("roll-off=4"),
           "roll-off-file=" + part.path, "roll-off-file=" + whole.path}) {
    const double worst = worst_layer ("roll-off and focus",
        mean_of_frames (focus + roll_off, ",depth-start=50", layered, 0.3, losses),
        layered);
    fail_unless (worst < 0.1, "%s: %g", roll_off.c_str (), worst);
  }
  const double without = worst_layer ("neither taken off",
      mean_of_frames (noisy + "noise-floor=0", ",depth-start=50", layered, 1, losses),
      layered);
  fail_unless (without > 0.25, "%g", without);
}

/* The noise of the last depths is subtracted; it differs from frame to frame. */
TEST (test_octattenuation_measures_the_noise)
{
  const std::vector<Layer> above_noise = {{30, 0}, {130, 3}, {230, 8}, {700, 40}};
  const gsize lines = 300, depths = 700;
  Harness harness ("octattenuation noise-depths=100", caps_of ("CF32LE", lines, depths));
  for (guint n = 0; n < 2; n++) {
    const Pairs frame = sample_of (above_noise, lines, 1000, n == 0 ? 4 : 1, 20 + n);
    const Values powers = powers_of (frame);
    Reference with;
    double count = 0;
    for (gsize at = 0; at < powers.size (); at++)
      if (at % depths >= 600 && at / depths % 2 == 0) {
        with.noise += powers[at];
        count++;
      }
    with.noise /= count;
    harness.push (complex_frame (frame, n));
    const Values found = pull_numbers (harness),
                 expected = attenuation_of (powers, lines, depths, with);
    for (auto [begin, end] : {std::pair<gsize, gsize> (40, 120), {140, 200}})
      fail_unless (std::abs (mean_between (found, depths, begin, end)
                             - mean_between (expected, depths, begin, end))
                       < 1e-3,
          "%g, expected %g", mean_between (found, depths, begin, end),
          mean_between (expected, depths, begin, end));
  }
}

/* --- settings, caps and flow --- */

/* A NaN or infinite depth makes the coefficients above it 0, and no others. */
TEST (test_octattenuation_of_nonfinite_depths)
{
  for (double value : {double (NAN), double (INFINITY)}) {
    Pairs frame = sample_of (tissue, 3, 300, 1, 4);
    const Values before = attenuation_of (powers_of (frame), 3, 700, {});
    frame[700 + 200] = Complex (value, 0);
    Harness harness ("octattenuation", caps_of ("CF32LE", 3, 700));
    harness.push (complex_frame (frame, 0));
    const Values found = pull_numbers (harness);
    Values expected = before;
    for (gsize n = 700; n <= 900; n++)
      expected[n] = 0;
    expect_coefficients (found, expected, text ("%g", value));
  }
}

TEST (test_octattenuation_no_waits_and_no_allocations_per_frame)
{
  const struct {
    std::string settings;
    guint launches; /* at most */
  } cases[] = {{"", 1}, {"window-lines=4", 2}, {"noise-depths=20 window-lines=4", 3}};
  for (const auto &with : cases) {
    Harness harness ("octattenuation " + with.settings, caps_of ("CF32LE", 6, 700));
    const Pairs frame = sample_of (tissue, 6, 300, 1, 3);
    GstOpenCLCounts before, after;
    GstOpenCLStatistics *statistics =
        gst_opencl_statistics_of (harness.find ("octattenuation"));
    for (guint n = 0; n < 8; n++) {
      if (n == 3)
        gst_opencl_statistics_get_counts (statistics, &before);
      harness.push (complex_frame (frame, n));
      harness.pull ();
    }
    gst_opencl_statistics_get_counts (statistics, &after);
    expect_equal (after.host_waits, before.host_waits);
    expect_equal (after.uploads - before.uploads, guint64 (5)); /* the frames */
    fail_unless (after.launches - before.launches <= 5 * with.launches);
  }
}

/* Between octfft and a picture, on one queue and on several */
TEST (test_octattenuation_in_pipelines)
{
  const Bytes pictures = pictures_on_any_queue (
      "octtestsrc num-buffers=6 ! video/x-raw(memory:OpenCLMemory),width=512,height=20 ! "
      "octwindowinterp wavelength-min=1187 wavelength-max=1433 wavelength-unit=nm ! "
      "octfft",
      "octattenuation", "octdisplay max=20", 6);
  fail_unless (*std::max_element (pictures.begin (), pictures.end ()) > 50);
}
