/* Tests of octangio: angiograms of repeats, and never of two positions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"

using namespace check;
using namespace depths;

namespace {
/* --- reference in double precision --- */

using Reference = Values (*) (const std::vector<Pairs> &repeats);

Values
speckle_variance (const std::vector<Pairs> &repeats)
{
  Values result;
  for (gsize at = 0; at < repeats[0].size (); at++) {
    double mean = 0, sum = 0;
    for (const Pairs &repeat : repeats)
      mean += std::abs (repeat[at]) / repeats.size ();
    for (const Pairs &repeat : repeats)
      sum += std::pow (std::abs (repeat[at]) - mean, 2);
    result.push_back (sum / repeats.size ());
  }
  return result;
}

Values
decorrelation (const std::vector<Pairs> &repeats)
{
  Values result;
  for (gsize at = 0; at < repeats[0].size (); at++) {
    double sum = 0;
    for (gsize n = 0; n + 1 < repeats.size (); n++) {
      double a = std::abs (repeats[n][at]), b = std::abs (repeats[n + 1][at]);
      sum += a * b / ((a * a + b * b) / 2);
    }
    result.push_back (1 - sum / (repeats.size () - 1));
  }
  return result;
}

Values
complex_variance (const std::vector<Pairs> &repeats)
{
  Values result (repeats[0].size ());
  for (gsize n = 0; n + 1 < repeats.size (); n++) {
    for (gsize line = 0; line < n_lines; line++) {
      Complex bulk = 0;
      for (gsize at = line * n_depths; at < (line + 1) * n_depths; at++)
        bulk += repeats[n + 1][at] * std::conj (repeats[n][at]);
      const Complex back = std::polar (1.0, -std::arg (bulk));
      for (gsize at = line * n_depths; at < (line + 1) * n_depths; at++)
        result[at] += std::norm (repeats[n + 1][at] * back - repeats[n][at])
                      / (repeats.size () - 1);
    }
  }
  return result;
}

struct Method {
  std::string label;
  Reference reference;
};

const Method methods[] = {{"speckle-variance", speckle_variance},
    {"decorrelation", decorrelation}, {"complex-variance", complex_variance}};

/* --- B-scans --- */

bool
is_vessel (gsize line, gsize depth)
{
  return line >= 8 && line < 14 && depth >= 10 && depth < 20;
}

/* Static tissue with noise, and blood that is new in each repeat. Bulk motion turns the
 * phase of each A-line. */
Pairs
flow_phantom (guint place, guint repeat)
{
  const Pairs still = speckle (1000 + place), moving = speckle (17 * place + repeat);
  const Pairs noise = speckle (5000 + 17 * place + repeat);
  Pairs pairs (still.size ());
  for (gsize line = 0; line < n_lines; line++) {
    const Complex turn = std::polar (1.0, 0.9 * repeat + 0.3 * line * repeat);
    for (gsize depth = 0; depth < n_depths; depth++) {
      const gsize at = line * n_depths + depth;
      const Complex grain = is_vessel (line, depth) ? moving[at] : still[at];
      pairs[at] = (grain + 0.03 * noise[at]) * turn;
    }
  }
  return as_float (pairs);
}

/* Probability that a value of blood is above a value of tissue */
double
area_under_curve (const Values &angiogram)
{
  Values blood, tissue;
  for (gsize at = 0; at < angiogram.size (); at++)
    (is_vessel (at / n_depths, at % n_depths) ? blood : tissue).push_back (angiogram[at]);
  double above = 0;
  for (double b : blood)
    above +=
        std::count_if (tissue.begin (), tissue.end (), [b] (double t) { return b > t; });
  return above / (double (blood.size ()) * tissue.size ());
}

std::vector<Pairs>
repeats_of (guint place, guint n = 4)
{
  std::vector<Pairs> repeats;
  for (guint repeat = 0; repeat < n; repeat++)
    repeats.push_back (flow_phantom (place, repeat));
  return repeats;
}

Values
scaled (Values values, double by)
{
  for (double &value : values)
    value /= by;
  return values;
}

void
push_place (Harness &harness, guint place, const std::vector<guint> &repeats)
{
  guint expected = 0;
  for (guint repeat : repeats) {
    harness.push (complex_frame (flow_phantom (place, repeat), 4 * place + repeat,
        repeat == expected ? 0 : GST_BUFFER_FLAG_DISCONT));
    expected = repeat + 1;
  }
}
} // namespace

TEST_ROWS (test_octangio_is_what_is_promised, methods)
{
  Harness harness ("octangio method=" + row.label, frame_caps ("CF32LE"));
  for (guint place = 0; place < 3; place++) {
    push_place (harness, place, {0, 1, 2, 3});
    Owned<GstBuffer> out = harness.pull ();
    expect_equal (waiting (harness), 0u);
    expect_equal (GST_BUFFER_PTS (out), 4 * place * each);
    expect_equal (GST_BUFFER_DURATION (out), 4 * each);
    const Values expected = row.reference (repeats_of (place));
    const double most = *std::max_element (expected.begin (), expected.end ());
    expect_near (scaled (numbers_in<float> (read_buffer (out)), most),
        scaled (expected, most), 1e-5, row.label);
  }
}

TEST_ROWS (test_octangio_takes_any_number_of_repeats, {2u, 3u, 8u})
{
  for (const Method &method : methods) {
    Harness harness (text ("octangio repeats=%u method=%s", row, method.label.c_str ()),
        frame_caps ("CF32LE"));
    const std::vector<Pairs> repeats = repeats_of (1, row);
    for (guint n = 0; n < row; n++)
      harness.push (complex_frame (repeats[n], n));
    const Values expected = method.reference (repeats);
    const double most = *std::max_element (expected.begin (), expected.end ());
    expect_near (scaled (pull_numbers (harness), most), scaled (expected, most), 1e-5,
        method.label);
  }
}

TEST_ROWS (test_octangio_separates_vessel_from_tissue, methods)
{
  Harness harness ("octangio method=" + row.label, frame_caps ("CF32LE"));
  push_place (harness, 0, {0, 1, 2, 3});
  const double area = area_under_curve (pull_numbers (harness));
  fail_unless (area >= 0.95, "%s: %g", row.label.c_str (), area);
}

/* Only the whole sample moves. */
TEST (test_octangio_takes_the_bulk_phase_out)
{
  Harness harness ("octangio method=complex-variance", frame_caps ("CF32LE"));
  const Pairs still = speckle (3);
  for (guint n = 0; n < 4; n++) {
    Pairs turned = still;
    for (gsize at = 0; at < turned.size (); at++)
      turned[at] *= std::polar (1.0, 2.5 * n + 0.7 * n * (at / n_depths));
    harness.push (complex_frame (as_float (turned), n));
  }
  const Values angiogram = pull_numbers (harness);
  const double most = *std::max_element (angiogram.begin (), angiogram.end ());
  fail_unless (most < 1e-4, "%g of a power of 20000", most);
}

TEST_ROWS (test_octangio_of_nothing_is_nothing, methods)
{
  Harness harness ("octangio repeats=2 method=" + row.label, frame_caps ("CF32LE"));
  for (guint n = 0; n < 2; n++)
    harness.push (complex_frame (Pairs (n_depths * n_lines), n));
  expect_near (pull_numbers (harness), Values (n_depths * n_lines), 0, row.label);
}

TEST (test_octangio_says_what_comes_out)
{
  Harness harness ("octangio method=decorrelation", frame_caps ("CF32LE"));
  push_place (harness, 0, {0, 1, 2, 3});
  Owned<GstCaps> expected = gst_caps_from_string (
      frame_caps ("F32LE", n_lines, n_depths, "25/2", "decorrelation").c_str ());
  fail_unless (gst_caps_is_equal (harness.caps (), expected));
}

/* --- axial movement, bands --- */

namespace {
/* Grains with a spectrum that peaks in the middle, `shift` bins deeper; the phase of each
 * A-line turns with the shift. */
Pairs
moved (guint seed, double shift)
{
  Pairs frame;
  for (gsize line = 0; line < n_lines; line++) {
    const Pairs grains = speckle (seed + 100 * guint (line), 2 * n_depths);
    for (gsize depth = 0; depth < n_depths; depth++) {
      Complex sum = 0;
      for (gsize grain = 0; grain < grains.size (); grain++) {
        const double away = double (depth) - (0.6 * double (grain) - 3 + shift);
        sum += grains[grain] * std::exp (-0.35 * away * away)
               * std::polar (1.0, -G_PI * away);
      }
      frame.push_back (sum * std::polar (1.0, 5.3 * 2 * G_PI * shift));
    }
  }
  return as_float (frame);
}

double
mean_inside (const Values &values)
{
  double sum = 0, count = 0;
  for (gsize at = 0; at < values.size (); at++) {
    const gsize depth = at % n_depths;
    if (depth < 6 || depth >= n_depths - 6)
      continue;
    sum += values[at];
    count++;
  }
  return sum / count;
}

/* Band-pass filter by a zero-padded transform of each A-line */
Pairs
in_band (const Pairs &frame, guint band, guint bands)
{
  const gsize size = 256;
  const double sigma = 1 / (bands * std::sqrt (8 * std::log (2)));
  Pairs result;
  for (gsize line = 0; line < n_lines; line++) {
    Pairs spectrum (size), filtered (n_depths);
    for (gsize m = 0; m < size; m++) {
      const double part = double (m) / size;
      double height = 0;
      for (int turn = -2; turn <= 2; turn++)
        height +=
            std::exp (-0.5 * std::pow ((part - (band + 0.5) / bands + turn) / sigma, 2));
      for (gsize depth = 0; depth < n_depths; depth++)
        spectrum[m] += height * frame[line * n_depths + depth]
                       * std::polar (1.0, 2 * G_PI * part * double (depth));
    }
    for (gsize depth = 0; depth < n_depths; depth++) {
      Complex sum = 0;
      for (gsize m = 0; m < size; m++)
        sum +=
            spectrum[m] * std::polar (1.0 / size, -2 * G_PI * double (m * depth) / size);
      result.push_back (sum);
    }
  }
  return result;
}
} // namespace

/* Without blood, only residual motion remains of a sample that moves by this number of
 * bins. */
TEST_ROWS (test_octangio_takes_the_axial_movement_out, {-2.0, -0.4, 0.7, 1.0, 3.3})
{
  for (const Method &method : methods) {
    double seen[2];
    for (bool aligned : {false, true}) {
      Harness harness (text ("octangio repeats=3 axial-shift=%u method=%s",
                           aligned ? 5 : 0, method.label.c_str ()),
          frame_caps ("CF32LE"));
      for (guint n = 0; n < 3; n++)
        harness.push (complex_frame (moved (9, n * row / 2), n));
      seen[aligned] = mean_inside (pull_numbers (harness));
    }
    fail_unless (seen[1] < 0.25 * seen[0], "%s, %g bins: %g, of %g",
        method.label.c_str (), row, seen[1], seen[0]);
  }
}

TEST (test_octangio_leaves_what_stands_still_where_it_is)
{
  for (const Method &method : methods) {
    Harness harness (
        "octangio axial-shift=4 method=" + method.label, frame_caps ("CF32LE"));
    for (guint n = 0; n < 4; n++)
      harness.push (complex_frame (speckle (2), n));
    const Values angiogram = pull_numbers (harness);
    fail_unless (*std::max_element (angiogram.begin (), angiogram.end ()) < 1e-2, "%s",
        method.label.c_str ());
  }
}

TEST_ROWS (test_octangio_averages_the_bands_of_a_spectrum, {2u, 4u, 7u})
{
  const std::vector<Pairs> repeats = repeats_of (2, 3);
  for (const Method &method : methods) {
    Values expected (n_depths * n_lines);
    for (guint band = 0; band < row; band++) {
      std::vector<Pairs> filtered;
      for (const Pairs &repeat : repeats)
        filtered.push_back (in_band (repeat, band, row));
      const Values part = method.reference (filtered);
      for (gsize at = 0; at < expected.size (); at++)
        expected[at] += part[at] / row;
    }
    Harness harness (
        text ("octangio repeats=3 bands=%u method=%s", row, method.label.c_str ()),
        frame_caps ("CF32LE"));
    for (guint n = 0; n < 3; n++)
      harness.push (complex_frame (repeats[n], n));
    const double most = *std::max_element (expected.begin (), expected.end ());
    expect_near (scaled (pull_numbers (harness), most), scaled (expected, most), 1e-5,
        method.label);
  }
}

/* --- threshold --- */

namespace {
/* Depths of air above the sample, with noise only */
const gsize air = 14;

bool
is_blood (gsize line, gsize depth)
{
  return line >= 8 && line < 14 && depth >= 20 && depth < 30;
}

/* Tissue of 43 dB, and noise of 13 dB at all depths */
Pairs
phantom_in_air (guint repeat)
{
  const Pairs still = speckle (42), moving = speckle (200 + repeat);
  const Pairs noise = speckle (300 + repeat);
  Pairs pairs (still.size ());
  for (gsize at = 0; at < pairs.size (); at++) {
    const gsize line = at / n_depths, depth = at % n_depths;
    const Complex grain = depth < air              ? Complex (0)
                          : is_blood (line, depth) ? moving[at]
                                                   : still[at];
    pairs[at] = grain + 0.03 * noise[at];
  }
  return as_float (pairs);
}

/* Probability that a value of blood is above another value; equal values count half. The
 * other values are all, or those outside air. */
double
area_of_blood (const Values &angiogram, bool with_air)
{
  double area = 0, pairs = 0;
  for (gsize at = 0; at < angiogram.size (); at++) {
    if (!is_blood (at / n_depths, at % n_depths))
      continue;
    for (gsize other = 0; other < angiogram.size (); other++) {
      const gsize depth = other % n_depths;
      if (is_blood (other / n_depths, depth) || (depth < air && !with_air))
        continue;
      pairs++;
      area += angiogram[at] > angiogram[other]    ? 1
              : angiogram[at] == angiogram[other] ? 0.5
                                                  : 0;
    }
  }
  return area / pairs;
}

Values
angiogram_in_air (const std::string &settings)
{
  Harness harness ("octangio " + settings, frame_caps ("CF32LE"));
  for (guint n = 0; n < 4; n++)
    harness.push (complex_frame (phantom_in_air (n), n));
  return pull_numbers (harness);
}
} // namespace

TEST_ROWS (test_octangio_threshold_separates_vessel_from_air, methods)
{
  for (const char *more : {"", " axial-shift=2", " bands=2", " axial-shift=1 bands=2"}) {
    const std::string settings = "method=" + row.label + more;
    const Values all = angiogram_in_air (settings);
    const Values some = angiogram_in_air (settings + " threshold=25");
    const double tissue = area_of_blood (all, false), air_too = area_of_blood (all, true);
    const double area = area_of_blood (some, true);
    fail_unless (area >= 0.99 && area >= tissue - 0.005,
        "%s: %.4f, of tissue %.4f, without a threshold %.4f", settings.c_str (), area,
        tissue, air_too);
    if (row.label == "decorrelation" && !*more)
      fail_unless (air_too < 0.9, "air is as dark without a threshold: %.4f", air_too);
  }
}

/* Output is 0 where the mean power of the repeats is below the threshold, and unchanged
 * elsewhere. */
TEST_ROWS (test_octangio_threshold_of_mean_power, {2u, 4u, 9u})
{
  const std::vector<Pairs> repeats = repeats_of (3, row);
  for (const Method &method : methods) {
    Harness harness (
        text ("octangio repeats=%u threshold=43 method=%s", row, method.label.c_str ()),
        frame_caps ("CF32LE"));
    for (guint n = 0; n < row; n++)
      harness.push (complex_frame (repeats[n], n));
    Values expected = method.reference (repeats);
    gsize zeros = 0;
    for (gsize at = 0; at < expected.size (); at++) {
      double power = 0;
      for (const Pairs &repeat : repeats)
        power += std::norm (repeat[at]) / row;
      if (power < std::pow (10, 4.3)) {
        expected[at] = 0;
        zeros++;
      }
    }
    fail_unless (zeros > 100 && zeros < 700, "%zu zeros", zeros);
    const double most = *std::max_element (expected.begin (), expected.end ());
    expect_near (scaled (pull_numbers (harness), most), scaled (expected, most), 1e-5,
        method.label);
  }
}

/* --- lost B-scans --- */

TEST (test_octangio_makes_octfft_give_complex_depths)
{
  Outcome outcome = run (
      "octtestsrc num-buffers=8 ! video/x-raw(memory:OpenCLMemory),width=256,height=32 ! "
      "octwindowinterp ! octfft ! octangio method=complex-variance ! opencldownload ! "
      "fakesink");
  fail_unless (outcome.eos && outcome.is_clean (), "%s", outcome.line ().c_str ());
}
