/* Tests of the calibration from spectra of mirrors: the map, the dispersion, and sharp
 * peaks
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/common/npyfile.hpp>

#include "gst/oct/calibration/gridding.hpp"
#include "gst/oct/calibration/mirrors.hpp"
#include "gst/oct/calibration/sharpness.hpp"

#include "../folder.hpp"
#include "../harness.hpp"
#include "../slowness.hpp"
#include "calibrations.hpp"
#include "depthchain.hpp"

using Values = std::vector<double>;
using namespace oct;

namespace {
const gsize samples = 1024;

/* Position of a sample on the even grid, off by some percent, and its inverse */
double
grid_position (double sample)
{
  const double u = sample / (samples - 1);
  return (samples - 1) * (u + 0.12 * u * (1 - u) + 0.03 * u * (1 - u) * (1 - 2 * u));
}

double
sample_of (double place)
{
  double low = -1, high = samples;
  for (int n = 0; n < 60; n++) {
    const double middle = (low + high) / 2;
    (grid_position (middle) < place ? low : high) = middle;
  }
  return low;
}

double
dispersion_of (double place)
{
  const double u = 2 * place / (samples - 1) - 1;
  return 5 * u * u - 2 * u * u * u;
}

/* `side` is the mirror's side of zero delay, 1 or -1. */
Values
mirror (double depth, int side, guint seed)
{
  std::mt19937 random{seed};
  std::normal_distribution<double> noise (0, 0.002);
  Values x;
  for (gsize j = 0; j < samples; j++) {
    const double u = 2.0 * double (j) / (samples - 1) - 1,
                 place = grid_position (double (j));
    x.push_back (
        std::exp (-1.5 * u * u)
            * std::cos (2 * G_PI * depth * place / samples + side * dispersion_of (place))
        + noise (random));
  }
  return x;
}

/* Error of `found` apart from the position of depth 0 and the scale of depths, which a
 * computed map takes from the samples at its ends. */
double
difference (const Values &found, const Values &expected)
{
  double a = 0, b = 0, c = 0, p = 0, q = 0;
  const gsize n = found.size ();
  auto slope = [&] (gsize m) {
    const gsize low = m ? m - 1 : 0, high = std::min (m + 1, n - 1);
    return (expected[high] - expected[low]) / double (high - low);
  };
  for (gsize m = 0; m < n; m++) {
    const double first = slope (m), second = slope (m) * double (m);
    const double off = found[m] - expected[m];
    a += first * first;
    b += first * second;
    c += second * second;
    p += first * off;
    q += second * off;
  }
  const double determinant = a * c - b * b;
  const double shift = (p * c - q * b) / determinant,
               scale = (a * q - b * p) / determinant;
  double sum = 0;
  for (gsize m = 0; m < n; m++) {
    const double rest = found[m] - expected[m] - slope (m) * (shift + scale * double (m));
    sum += rest * rest / double (n);
  }
  return std::sqrt (sum);
}

Values
true_map ()
{
  Values map;
  for (gsize m = 0; m < samples; m++)
    map.push_back (sample_of (double (m)));
  return map;
}

MirrorCalibration
found_of (const Values &first, const Values &second, bool opposite)
{
  MirrorCalibration found;
  GError *error = nullptr;
  fail_unless (calibration_of_mirrors (first, second, opposite, found, &error), "%s",
      error ? error->message : "");
  return found;
}

Values
load (const std::string &path)
{
  Values values;
  std::vector<gsize> shape;
  fail_unless (opencl::npy_load_doubles (path.c_str (), values, shape, nullptr), "%s",
      path.c_str ());
  return values;
}

/* Width at half maximum with a Hann window, in depth bins */
const double ideal_width = 2;
} // namespace

TEST (test_two_mirrors_tell_map_and_dispersion_apart)
{
  for (int side : {-1, 1}) {
    const MirrorCalibration found =
        found_of (mirror (60, 1, 1), mirror (130, side, 2), side < 0);
    const double off = difference (found.map, true_map ());
    fail_unless (off < 0.05, "side %d: %g samples", side, off);
    Values calibrated;
    for (double at : found.map)
      calibrated.push_back (value_between (mirror (60, 1, 1), at));
    const double raw = peak_width (mirror (60, 1, 1));
    const double width = peak_width (calibrated, found.dispersion);
    Values ideal;
    for (gsize m = 0; m < samples; m++) {
      const double u = 2 * sample_of (double (m)) / (samples - 1) - 1;
      ideal.push_back (
          std::exp (-1.5 * u * u) * std::cos (2 * G_PI * 60 * double (m) / samples));
    }
    fail_unless (width < 1.05 * peak_width (ideal), "%g depths, expected %g", width,
        peak_width (ideal));
    fail_unless (raw > 1.5 * width && std::abs (width - found.width_after) < 0.2,
        "width %g uncalibrated, %g calibrated, %g reported", raw, width,
        found.width_after);
  }
}

TEST (test_one_mirror_without_dispersion_gives_the_map)
{
  Values x;
  for (gsize j = 0; j < samples; j++) {
    const double u = 2.0 * double (j) / (samples - 1) - 1;
    x.push_back (std::exp (-1.5 * u * u)
                 * std::cos (2 * G_PI * 80 * grid_position (double (j)) / samples));
  }
  const MirrorCalibration found = found_of (x, {}, true);
  fail_unless (difference (found.map, true_map ()) < 0.05, "%g samples",
      difference (found.map, true_map ()));
  fail_unless (found.dispersion.empty ());
}

/* Layers of tissue, blurred by a dispersion of 25 rad, without the source's light */
TEST (test_sharpest_image_gives_the_dispersion)
{
  const double a2 = 25 / 512.0 / 512, a3 = -6 / 512.0 / 512 / 512;
  std::mt19937 random{11};
  std::uniform_real_distribution<double> uniform (0, 1);
  Values lines, even;
  for (gsize m = 0; m < samples; m++)
    even.push_back (double (m));
  for (int line = 0; line < 64; line++) {
    Values x (samples);
    for (int layer = 0; layer < 6; layer++) {
      const double depth = 60 + 50 * layer + 20 * uniform (random);
      const double turn = 2 * G_PI * uniform (random);
      for (gsize m = 0; m < samples; m++) {
        const double q = double (m) - 512;
        x[m] += std::cos (
            2 * G_PI * depth * double (m) / samples + a2 * q * q + a3 * q * q * q + turn);
      }
    }
    lines.insert (lines.end (), x.begin (), x.end ());
  }
  SampleDispersion found;
  fail_unless (sample_dispersion (lines, 64, even, found, nullptr));
  fail_unless (std::abs (found.a2 / a2 - 1) < 0.01 && std::abs (found.a3 / a3 - 1) < 0.05,
      "a2 %g, expected %g; a3 %g, expected %g", found.a2, a2, found.a3, a3);
}

TEST (test_no_fringe_is_no_calibration)
{
  MirrorCalibration found;
  GError *error = nullptr;
  fail_if (calibration_of_mirrors (Values (20, 1), {}, true, found, &error));
  fail_unless (strstr (error->message, "at least 64") != nullptr);
  g_clear_error (&error);
  fail_if (calibration_of_mirrors (mirror (60, 1, 1), Values (100), true, found, &error));
  g_clear_error (&error);
  const Values once = mirror (60, 1, 1);
  fail_if (calibration_of_mirrors (once, once, true, found, &error));
  fail_unless (strstr (error->message, "both mirrors have the same spectrum") != nullptr);
  g_clear_error (&error);
}

/* --- synthetic instruments with more dispersion than one pass of the filter allows
 * --- */

namespace {
/* A spectrometer with known wavenumbers and dispersion, and the effects of its camera and
 * light source on the spectra of two mirrors */
struct Instrument {
  std::string label;
  double chirp =
      0.12;         /* distance of the middle sample's wavenumber from the even one's */
  double edge = 0;  /* rad, of the quadratic dispersion at the ends */
  double cubic = 0; /* rad, of the cubic dispersion at the end */
  double depths[2] = {180, 260};
  bool opposite = true;
  bool falls = false; /* wavenumber, with the sample index */
  gsize samples = 2048;
  double noise = 4, amplitudes[2] = {5600, 5600}, most = 65535;
  bool ripple = false; /* of the light source */

  /* Wavenumber from 0 to 1, or from 1 to 0 */
  double wavenumber (double sample) const
  {
    const double u = sample / double (samples - 1), t = falls ? 1 - u : u;
    return t + 4 * chirp * t * (1 - t) * (1 + 0.23 * (1 - 2 * t));
  }

  double dispersion (double wavenumber) const
  {
    const double x = 2 * wavenumber - 1;
    return edge * x * x + cubic * x * x * x;
  }

  double light (double sample) const
  {
    const double t = sample / double (samples - 1), x = (t - 0.5) / 0.22;
    return (0.95 * std::exp (-0.5 * x * x) + 0.05)
           * (ripple ? 1 + 0.1 * std::cos (2 * G_PI * 23 * t + 1) : 1);
  }

  /* Spectrum of mirror 0 or 1, minus the spectrum without it */
  Values spectrum (int mirror) const
  {
    std::mt19937 random (guint (mirror + 1));
    std::normal_distribution<double> normal (0, noise);
    const double side = mirror && opposite ? -1 : 1;
    Values x;
    for (gsize j = 0; j < samples; j++) {
      const double s = wavenumber (double (j)), light_here = light (double (j));
      const double turn =
          2 * G_PI * depths[mirror] * s * double (samples - 1) / double (samples);
      const double without = 14000 * light_here;
      const double fringe = std::cos (turn + side * dispersion (s));
      const double with = without + amplitudes[mirror] * light_here * fringe;
      x.push_back (std::min (with, most) - without + normal (random));
    }
    return x;
  }
};

/* RMS of `values` after subtraction of a fitted line, without the outer twentieths, where
 * there is hardly any light */
double
bend_of (const Values &values)
{
  const gsize margin = values.size () / 20;
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, rest = 0;
  for (gsize m = margin; m < values.size () - margin; m++) {
    const double at = double (m) - double (values.size ()) / 2;
    n += 1;
    x += at;
    y += values[m];
    xx += at * at;
    xy += at * values[m];
  }
  const double slope = (n * xy - x * y) / (n * xx - x * x), zero = (y - slope * x) / n;
  for (gsize m = margin; m < values.size () - margin; m++) {
    const double at = double (m) - double (values.size ()) / 2;
    rest += std::pow (values[m] - zero - slope * at, 2) / n;
  }
  return std::sqrt (rest);
}

/* RMS deviation of the wavenumbers of a map from even ones, in samples */
double
map_error (const Instrument &of, const Values &map)
{
  Values places;
  for (double sample : map)
    places.push_back (of.wavenumber (sample) * double (of.samples - 1));
  return bend_of (places);
}

/* RMS, in rad. The sign of dispersion is reversed if wavenumber falls. */
double
phase_error (const Instrument &of, const Values &map, const Values &dispersion)
{
  Values rest;
  for (gsize m = 0; m < map.size (); m++)
    rest.push_back (
        dispersion[m] - (of.falls ? -1 : 1) * of.dispersion (of.wavenumber (map[m])));
  return bend_of (rest);
}

/* Fails if a mirror's peak is wider after calibration than before. */
void
expect_no_growth (const Instrument &of, const MirrorCalibration &found)
{
  for (int mirror : {0, 1}) {
    const Values spectrum = of.spectrum (mirror);
    Values calibrated, phase;
    for (gsize m = 0; m < of.samples; m++) {
      calibrated.push_back (value_between (spectrum, found.map[m]));
      phase.push_back ((mirror && of.opposite ? -1 : 1) * found.dispersion[m]);
    }
    const double before = peak_width (spectrum), after = peak_width (calibrated, phase);
    fail_unless (after < 1.01 * before && after < 2.7, "%s, mirror %d: %g to %g depths",
        of.label.c_str (), mirror + 1, before, after);
  }
}

void
expect_truth (const Instrument &of, double samples, double radians)
{
  const MirrorCalibration found =
      found_of (of.spectrum (0), of.spectrum (1), of.opposite);
  const double map = map_error (of, found.map);
  const double phase = phase_error (of, found.map, found.dispersion);
  g_print ("%s: map %.4f samples, phase %.4f rad, %.1f to %.1f depths\n",
      of.label.c_str (), map, phase, found.width_before, found.width_after);
  fail_unless (map < samples && phase < radians, "%s: %g samples, %g rad",
      of.label.c_str (), map, phase);
  expect_no_growth (of, found);
}

Instrument
dispersed (const std::string &label, double chirp, double edge, double cubic)
{
  Instrument made;
  made.label = label;
  made.chirp = chirp;
  made.edge = edge;
  made.cubic = cubic;
  return made;
}

std::vector<Instrument>
instruments ()
{
  const double half = 1024;
  std::vector<Instrument> all = {
      dispersed ("21 rad", 0.03, 21, 3),
      dispersed ("84 rad", 0.03, 84, -8),
      dispersed ("150 rad", 0.0625, 150, 10),
      dispersed ("-150 rad, even samples", 0, -150, -16),
      dispersed ("no dispersion", 0.0625, 0, 0),
      dispersed ("a2 of 7.99e-5 and a3 of 1e-8", 0.025, 7.99e-5 * half * half,
          1e-8 * half * half * half),
  };
  for (gsize n = 0, count = all.size (); n < count; n++) {
    Instrument other = all[n];
    other.label += ", wavenumber falls";
    other.falls = true;
    other.depths[0] = 330;
    other.depths[1] = 140;
    all.push_back (other);
  }
  Instrument same = dispersed ("both on one side, 84 rad", 0.05, 84, -8);
  same.opposite = false;
  same.depths[0] = 140;
  same.depths[1] = 330;
  all.push_back (same);
  Instrument deep = dispersed ("deep, 40 rad", 0.02, 40, 5);
  deep.samples = 1024;
  deep.depths[0] = 390;
  all.push_back (deep);
  return all;
}

std::vector<Instrument>
imperfect_instruments ()
{
  std::vector<Instrument> all;
  for (const char *label : {"noise", "ripple of the light source", "saturated samples",
           "a second mirror of little light", "a mirror near zero delay"})
    all.push_back (dispersed (label, 0.05, -60, 9));
  all[0].noise = 140;
  all[1].ripple = true;
  all[2].most = 16000;
  all[3].amplitudes[1] = 150;
  all[4].edge = -20;
  all[4].depths[0] = 35;
  return all;
}
} // namespace

TEST_ROWS (test_two_mirrors_give_map_and_dispersion_up_to_150_rad, instruments ())
{
  expect_truth (row, 0.005, 0.005);
}

TEST_ROWS (test_two_imperfect_mirrors_give_map_and_dispersion, imperfect_instruments ())
{
  expect_truth (row, 0.02, 0.02);
}

/* The map includes the dispersion: the fringe's phase is linear on it. */
TEST (test_one_mirror_gives_a_map_that_includes_dispersion)
{
  for (bool falls : {false, true}) {
    Instrument of = dispersed ("one", 0.03, 84, 8);
    of.falls = falls;
    const MirrorCalibration found = found_of (of.spectrum (0), {}, true);
    Values turns;
    for (double sample : found.map) {
      const double s = of.wavenumber (sample);
      turns.push_back (
          2 * G_PI * of.depths[0] * s * double (of.samples - 1) / double (of.samples)
          + of.dispersion (s));
    }
    fail_unless (bend_of (turns) < 0.02, "%g rad", bend_of (turns));
    fail_unless (found.width_after < 2.7 && found.width_after < found.width_before,
        "%g to %g depths", found.width_before, found.width_after);
  }
}

namespace {
/* Two mirrors with even samples. The phase of the first fringe ripples; the second mirror
 * reflects only the middle of the spectrum. A smooth map that fits the ripple there
 * widens the first peak by its error elsewhere. */
Values
rippled_mirror ()
{
  Values x;
  for (gsize j = 0; j < samples; j++) {
    const double t = double (j) / (samples - 1), u = 2 * t - 1;
    x.push_back (std::exp (-0.5 * std::pow ((t - 0.5) / 0.22, 2))
                 * std::cos (2 * G_PI * 180 * t + 0.4 * std::sin (4 * G_PI * u)));
  }
  return x;
}

Values
narrow_band_mirror ()
{
  Values x;
  for (gsize j = 0; j < samples; j++) {
    const double t = double (j) / (samples - 1);
    x.push_back (
        std::exp (-0.5 * std::pow ((t - 0.5) / 0.12, 2)) * std::cos (2 * G_PI * 260 * t));
  }
  return x;
}
} // namespace

TEST (test_a_peak_that_gets_wider_is_an_error)
{
  for (const Values &second : {Values (), narrow_band_mirror ()}) {
    MirrorCalibration found;
    GError *error = nullptr;
    fail_if (calibration_of_mirrors (rippled_mirror (), second, true, found, &error));
    double before = 0, after = 0;
    const char *widths = strstr (error->message, "widens the peak of mirror 1 from ");
    fail_unless (widths
                     && sscanf (widths, "widens the peak of mirror 1 from %lf to %lf",
                            &before, &after)
                            == 2,
        "%s", error->message);
    fail_unless (
        std::abs (before - peak_width (rippled_mirror ())) < 0.01 && after > 1.1 * before,
        "%s", error->message);
    g_clear_error (&error);
  }
}

/* 84 rad widen the peak beyond depth 0, where it folds back. */
TEST (test_a_mirror_too_near_to_zero_delay_is_an_error)
{
  Instrument of = dispersed ("near", 0.03, 84, 0);
  for (int mirror : {0, 1}) {
    of.depths[mirror] = 20;
    of.depths[1 - mirror] = 200;
    MirrorCalibration found;
    GError *error = nullptr;
    fail_if (
        calibration_of_mirrors (of.spectrum (0), of.spectrum (1), true, found, &error));
    const std::string which = "mirror " + std::to_string (mirror + 1);
    fail_unless (strstr (error->message, which.c_str ())
                     && strstr (error->message, "move the mirror"),
        "%s", error->message);
    g_clear_error (&error);
  }
}

/* --- calibration while spectra play --- */

namespace {
/* Waits for a message that `calibrate` causes. */
check::Owned<GstMessage>
next_message (check::DepthChain &chain, GstMessageType type)
{
  return gst_bus_timed_pop_filtered (
      chain.harness.bus, GstClockTime (check::slowness () * 10 * GST_SECOND), type);
}

Values
array_of (const GstStructure *structure, const char *field)
{
  Values values;
  const GValue *array = gst_structure_get_value (structure, field);
  for (guint n = 0; array && n < gst_value_array_get_size (array); n++)
    values.push_back (g_value_get_double (gst_value_array_get_value (array, n)));
  return values;
}

/* A-lines of a mirror, plus the spectrum without it */
Values
lines_with (const Values &mirror, const Values &without, gsize lines)
{
  Values all;
  for (gsize n = 0; n < lines * samples; n++)
    all.push_back (mirror[n % samples] + without[n % samples]);
  return all;
}

void
calibrate (check::DepthChain &chain)
{
  check::set_together (chain.find ("octwindowinterp"), "calibrate=true");
}

/* Spectrum without a mirror */
Values
hum ()
{
  Values values;
  for (gsize j = 0; j < samples; j++)
    values.push_back (2 + std::cos (2 * G_PI * 33 * double (j) / samples));
  return values;
}
} // namespace

TEST (test_octwindowinterp_calibrates_by_the_mirrors_that_play)
{
  const Values without = hum ();
  check::TableFile background (without);
  const check::Folder folder;
  check::DepthChain chain ("background=file background-file=" + background.path
                               + " calibration-folder=" + folder.path,
      "", samples, 4);
  const MirrorCalibration expected =
      found_of (mirror (60, 1, 1), mirror (130, -1, 2), true);
  chain.pass (lines_with (mirror (300, 1, 4), without, 4)); /* not one of the two */
  calibrate (chain);
  chain.pass (lines_with (mirror (60, 1, 1), without, 4));
  check::Owned<GstMessage> message = next_message (chain, GST_MESSAGE_ELEMENT);
  fail_unless (message != nullptr, "%s", chain.harness.messages ().line ().c_str ());
  const GstStructure *found = gst_message_get_structure (message);
  int mirrors = 0;
  fail_unless (gst_structure_has_name (found, "octwindowinterp-calibration"));
  fail_unless (gst_structure_get_int (found, "mirrors", &mirrors) && mirrors == 1);
  fail_unless (array_of (found, "dispersion-phase").empty ());

  chain.pass (lines_with (mirror (300, 1, 4), without, 4));
  calibrate (chain);
  chain.pass (lines_with (mirror (130, -1, 2), without, 4));
  message = next_message (chain, GST_MESSAGE_ELEMENT);
  fail_unless (message != nullptr, "%s", chain.harness.messages ().line ().c_str ());
  found = gst_message_get_structure (message);
  double width = 0;
  fail_unless (gst_structure_get_int (found, "mirrors", &mirrors) && mirrors == 2);
  fail_unless (gst_structure_get_double (found, "width-after", &width)
               && std::abs (width - expected.width_after) < 0.1);
  fail_unless (difference (array_of (found, "resample-map"), true_map ()) < 0.05);
  const Values phase = array_of (found, "dispersion-phase");
  fail_unless_equals_int (phase.size (), samples);
  for (gsize m = 0; m < samples; m++)
    fail_unless (std::abs (phase[m] - expected.dispersion[m]) < 0.01, "%d: %g, not %g",
        int (m), phase[m], expected.dispersion[m]);

  fail_unless (folder.names ()
               == std::vector<std::string> (
                   {"dispersion-phase.npy", "resample-map.npy", "settings.txt"}));
  fail_unless (
      load (folder.file ("resample-map.npy")) == array_of (found, "resample-map"));
  fail_unless (load (folder.file ("dispersion-phase.npy")) == phase);
  check::set_together (chain.find ("octwindowinterp"),
      "calibrate=false settings=" + folder.file ("settings.txt"));
  chain.pass (lines_with (mirror (60, 1, 1), without, 4));
  fail_unless (chain.harness.messages ().is_clean ());
}

TEST (test_octwindowinterp_goes_on_where_no_mirror_plays)
{
  check::DepthChain chain ("", "", samples, 1);
  calibrate (chain);
  std::mt19937 random{5};
  std::normal_distribution<double> noise;
  Values x;
  for (gsize j = 0; j < samples; j++)
    x.push_back (noise (random));
  chain.pass (x);
  check::Owned<GstMessage> message =
      next_message (chain, GstMessageType (GST_MESSAGE_WARNING | GST_MESSAGE_ELEMENT));
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING);
  chain.pass (x);
  fail_unless (chain.harness.messages ().is_clean ());

  /* This frame is not the first of a pair. */
  calibrate (chain);
  chain.pass (mirror (60, 1, 1));
  message =
      next_message (chain, GstMessageType (GST_MESSAGE_WARNING | GST_MESSAGE_ELEMENT));
  int mirrors = 0;
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT);
  fail_unless (
      gst_structure_get_int (gst_message_get_structure (message), "mirrors", &mirrors));
  fail_unless_equals_int (mirrors, 1);
}

namespace {
/* Calibrates from both mirrors of an instrument. */
void
play_mirrors (check::DepthChain &chain, const Values &first, const Values &second)
{
  for (const Values &mirror : {first, second}) {
    calibrate (chain);
    Values all;
    for (int n = 0; n < 2; n++)
      all.insert (all.end (), mirror.begin (), mirror.end ());
    chain.pass (all);
  }
}
} // namespace

TEST (test_octwindowinterp_calibrates_by_dispersed_mirrors)
{
  for (bool opposite : {true, false}) {
    Instrument of = dispersed ("live", 0.03, 84, -8);
    of.opposite = opposite;
    check::DepthChain chain (
        opposite ? "" : "calibrate-same-side=true", "", of.samples, 2);
    play_mirrors (chain, of.spectrum (0), of.spectrum (1));
    next_message (chain, GST_MESSAGE_ELEMENT);
    const check::Owned<GstMessage> message = next_message (chain, GST_MESSAGE_ELEMENT);
    fail_unless (message != nullptr, "%s", chain.harness.messages ().line ().c_str ());
    const GstStructure *found = gst_message_get_structure (message);
    const Values map = array_of (found, "resample-map");
    const Values phase = array_of (found, "dispersion-phase");
    fail_unless_equals_int (phase.size (), of.samples);
    fail_unless (map_error (of, map) < 0.005 && phase_error (of, map, phase) < 0.005,
        "%g samples, %g rad", map_error (of, map), phase_error (of, map, phase));
  }
}

TEST (test_octwindowinterp_warns_of_a_calibration_that_widens_the_peak)
{
  check::DepthChain chain ("", "", samples, 1);
  calibrate (chain);
  chain.pass (rippled_mirror ());
  const check::Owned<GstMessage> message =
      next_message (chain, GstMessageType (GST_MESSAGE_WARNING | GST_MESSAGE_ELEMENT));
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING);
  check::Owned<GError> error;
  gst_message_parse_warning (message, error.out (), nullptr);
  fail_unless (strstr (error->message, "widens the peak of mirror ") != nullptr, "%s",
      error->message);
  fail_unless (chain.harness.messages ().is_clean ());
}

/* --- maps in other formats --- */

namespace {
double
worst (const Values &found, const Values &expected)
{
  double most = 0;
  fail_unless_equals_int (found.size (), expected.size ());
  for (gsize m = 0; m < found.size (); m++)
    most = std::max (most, std::abs (found[m] - expected[m]));
  return most;
}
} // namespace

TEST (test_a_chirp_is_a_map_turned_round)
{
  Values places, expected;
  std::string bare;
  for (gsize j = 0; j < samples; j++) {
    places.push_back (grid_position (double (j)));
    guint8 bytes[4];
    GST_WRITE_FLOAT_LE (bytes, float (places.back ()));
    bare.append (reinterpret_cast<const char *> (bytes), sizeof bytes);
    expected.push_back (std::clamp (sample_of (double (j)), 0.0, double (samples - 1)));
  }
  check::TableFile text (places), file ({});
  fail_unless (g_file_set_contents (
      file.path.c_str (), bare.data (), gssize (bare.size ()), nullptr));
  fail_unless (
      worst (check::load_map (check::of_chirp (text.path), samples), expected) < 1e-5);
  fail_unless (
      worst (check::load_map (check::of_chirp (file.path), samples), expected) < 2e-4);

  places[700] = places[698];
  check::TableFile back (places);
  Values map;
  GError *error = nullptr;
  fail_if (calibration_load (check::of_chirp (back.path), samples, map, &error));
  fail_unless (strstr (error->message, "chirp file") && strstr (error->message, "700"));
  g_clear_error (&error);
  fail_if (calibration_load (check::of_chirp (file.path), samples - 1, map, &error));
  g_clear_error (&error);
}

TEST (test_a_polynomial_is_the_map_that_octproz_makes_of_it)
{
  Calibration calibration;
  calibration.polynomial = "2, 1100.5,-120 ,30";
  Values expected;
  for (gsize m = 0; m < samples; m++) {
    const double n = double (samples) - 1, x = double (m);
    expected.push_back (
        2 + 1100.5 / n * x - 120 / (n * n) * x * x + 30 / (n * n * n) * x * x * x);
  }
  fail_unless (worst (check::load_map (calibration, samples), expected) < 1e-9);
  for (const char *bad : {"1,2,x", "nan", ",", "0,-5000", "0,1e999"}) {
    Values map;
    GError *error = nullptr;
    calibration.polynomial = bad;
    fail_if (calibration_load (calibration, samples, map, &error), "%s", bad);
    fail_unless (
        strstr (error->message, "resample-polynomial") != nullptr, "%s", error->message);
    g_clear_error (&error);
  }
}

/* --- measured spectra, of the folder that GST_OPENCL_TEST_DATA names --- */

static std::string
data_folder ()
{
  return check::data_path ("oct/scatterer/");
}

static const bool data_is_required = check::require_data ("test_measured_");

namespace {
/* Spectra with mirror 1 or 2 and without it */
struct Measured {
  explicit Measured (int number)
      : with (load (data_folder () + "mirror" + std::to_string (number) + ".npy")),
        without (load (data_folder () + "dark_sample" + std::to_string (number) + ".npy"))
  {
    const Values reference = load (data_folder () + "dark_ref.npy");
    const Values neither = load (data_folder () + "dark_not.npy");
    for (gsize j = 0; j < with.size (); j++)
      without[j] += reference[j] - neither[j];
  }

  Values fringe () const
  {
    Values fringe = with;
    for (gsize j = 0; j < fringe.size (); j++)
      fringe[j] -= without[j];
    return fringe;
  }

  Values with, without;
};

void
expect_their_map (const Values &map)
{
  const double off = difference (map, load (data_folder () + "klinear_frac_index.npy"));
  fail_unless (off < 0.05, "%g samples", off);
}

/* Peaks must be as narrow as with the folder's own map and dispersion, within 5 %. */
void
expect_their_width (double width, const Values &fringe)
{
  Values theirs;
  for (double at : load (data_folder () + "klinear_frac_index.npy"))
    theirs.push_back (value_between (fringe, at));
  const double expected =
      peak_width (theirs, load (data_folder () + "dispersion_phase.npy"));
  fail_unless (width < 1.05 * expected, "%g depths, expected %g", width, expected);
}
} // namespace

TEST (test_measured_mirrors_give_the_map_that_comes_with_them)
{
  const Values first = Measured (1).fringe (), second = Measured (2).fringe ();
  const MirrorCalibration found = found_of (first, second, true);
  expect_their_map (found.map);
  expect_their_width (found.width_after, first);
}

TEST (test_measured_mirrors_calibrate_while_they_play)
{
  const Measured mirrors[] = {Measured (1), Measured (2)};
  const gsize n_samples = mirrors[0].with.size (), lines = 4;
  check::DepthChain chain ("", "", n_samples, lines);
  check::Owned<GstMessage> message;
  for (const Measured &mirror : mirrors) {
    check::TableFile background (mirror.without);
    Values all;
    for (gsize n = 0; n < lines * n_samples; n++)
      all.push_back (mirror.with[n % n_samples]);
    check::set_together (chain.find ("octwindowinterp"),
        "calibrate=true background=file background-file=" + background.path);
    chain.pass (all);
    message = next_message (chain, GST_MESSAGE_ELEMENT);
    fail_unless (message != nullptr, "%s", chain.harness.messages ().line ().c_str ());
  }
  const GstStructure *found = gst_message_get_structure (message);
  int count = 0;
  double width = 0;
  fail_unless (gst_structure_get_int (found, "mirrors", &count) && count == 2);
  fail_unless (gst_structure_get_double (found, "width-after", &width));
  expect_their_map (array_of (found, "resample-map"));
  expect_their_width (width, mirrors[0].fringe ());
}
