/* Tests of octwindowinterp's tables: those read from files and those computed from them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/octreference.hpp"

#include "gst/oct/calibration/calibration.hpp"
#include "gst/oct/calibration/interpolation.hpp"
#include "gst/oct/calibration/windowfunction.hpp"

#include "calibrations.hpp"

#include <random>

using namespace check;
using namespace oct;

namespace {
using Values = std::vector<double>;

/* A file that is deleted at the end of its scope */
struct TemporaryFile {
  explicit TemporaryFile (const std::string &contents)
      : path (folder.write ("values", contents))
  {
  }

  Folder folder;
  const std::string path;
};

std::string
text_of (const Values &values)
{
  std::string text = "# a table\n\n";
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  for (double value : values)
    text += std::string (g_ascii_dtostr (number, sizeof number, value)) + "\n";
  return text;
}

std::string
npy_of (const Values &values)
{
  std::string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': ("
                           + std::to_string (values.size ()) + ",), }";
  dictionary.resize (117, ' ');
  dictionary += '\n';
  std::string npy ("\x93NUMPY\x01\x00\x76\x00", 10);
  return npy + dictionary
         + std::string (
             reinterpret_cast<const char *> (values.data ()), 8 * values.size ());
}

Calibration
of_range (double min, double max)
{
  Calibration calibration;
  calibration.wavelength_min = min;
  calibration.wavelength_max = max;
  return calibration;
}

void
fail_unless_error (
    bool succeeded, GError *error, std::initializer_list<std::string> parts)
{
  fail_if (succeeded);
  fail_unless (error != nullptr);
  for (const std::string &part : parts)
    fail_unless (strstr (error->message, part.c_str ()) != nullptr, "\"%s\" lacks \"%s\"",
        error->message, part.c_str ());
  g_error_free (error);
}

void
fail_unless_bad (const Calibration &calibration, gsize samples,
    std::initializer_list<std::string> parts)
{
  Values map;
  GError *error = nullptr;
  bool loaded = calibration_load (calibration, samples, map, &error);
  fail_unless_error (loaded, error, parts);
}

/* Position by definition: that of the segment that holds the wavenumber */
double
position_of_wavenumber (const Values &wavelengths, double wavenumber)
{
  for (gsize j = 0; j + 1 < wavelengths.size (); j++) {
    double k0 = 2 * G_PI / wavelengths[j], k1 = 2 * G_PI / wavelengths[j + 1];
    double part = (wavenumber - k0) / (k1 - k0);
    if (part >= -1e-9 && part <= 1 + 1e-9)
      return j + part;
  }
  return NAN;
}

void
fail_unless_map_of (const Values &wavelengths, const Values &map)
{
  gsize n = wavelengths.size ();
  double first = 2 * G_PI / wavelengths[0], last = 2 * G_PI / wavelengths[n - 1];
  expect_equal (map.size (), n);
  for (gsize m = 0; m < n; m++) {
    double even = first + m * (last - first) / (n - 1);
    double expected = position_of_wavenumber (wavelengths, even);
    fail_unless (std::abs (map[m] - expected) < 1e-6, "r[%d] = %.9g, expected %.9g",
        (int)m, map[m], expected);
  }
  fail_unless (map[0] == 0);
  fail_unless (std::abs (map[n - 1] - (n - 1)) < 1e-9);
}

/* Rising wavelengths, with the bend of a grating spectrometer */
Values
spectrometer (gsize samples)
{
  Values wavelengths (samples);
  for (gsize j = 0; j < samples; j++) {
    double u = double (j) / (samples - 1);
    wavelengths[j] = 1187.176 + 245.666 * (u + 0.04 * u * (1 - u));
  }
  return wavelengths;
}

double
interpolate (const Taps &taps, const Values &x, gsize m)
{
  double sum = 0;
  for (gsize t = 0; t < taps.count; t++) {
    gint j = CLAMP (taps.first[m] + gint (t), 0, gint (x.size ()) - 1);
    sum += taps.weights[t * x.size () + m] * x[j];
  }
  return sum;
}
} // namespace

TEST (test_calibration_rising_and_falling_wavelengths)
{
  for (gsize samples : {2, 64, 999, 2048}) {
    Values rising = spectrometer (samples);
    Values falling (rising.rbegin (), rising.rend ());
    for (const Values &wavelengths : {rising, falling}) {
      TemporaryFile file (text_of (wavelengths));
      fail_unless_map_of (wavelengths, load_map (of_wavelengths (file.path), samples));
    }
  }
}

TEST (test_calibration_does_not_depend_on_the_unit_of_wavelength)
{
  Values metres = spectrometer (512), map = resample_map_of_wavelengths (metres);
  for (double &wavelength : metres)
    wavelength *= 1e-9;
  Values same = resample_map_of_wavelengths (metres);
  for (gsize m = 0; m < map.size (); m++)
    fail_unless (std::abs (map[m] - same[m]) < 1e-9);
}

TEST (test_calibration_of_a_range_is_that_of_evenly_spaced_wavelengths)
{
  Values wavelengths (1001);
  for (int j = 0; j <= 1000; j++)
    wavelengths[j] = 800 + j * 0.1;
  fail_unless_map_of (wavelengths, load_map (of_range (800, 900), 1001));
}

TEST (test_calibration_files_are_npy_or_text_with_comments)
{
  Values map = {-0.25, 1e-3, 1.5, 4};
  TemporaryFile npy (npy_of (map)), text (text_of (map));
  TemporaryFile untidy ("# r\n -0.25\t# first\r\n\n1e-3 \n1.5\n#\n4");
  for (const TemporaryFile *file : {&npy, &text, &untidy})
    fail_unless (load_map (of_map (file->path), 4) == map);
}

TEST (test_calibration_not_given_is_an_empty_map)
{
  fail_unless (load_map (Calibration (), 64).empty ());
}

TEST (test_calibration_given_twice_is_refused_and_both_are_named)
{
  Calibration calibration = of_range (800, 900);
  calibration.wavelengths.path = "/nowhere";
  fail_unless_bad (calibration, 64, {"wavelengths", "wavelength-min"});
  calibration = of_range (800, 900);
  calibration.resample_map.path = "/nowhere";
  fail_unless_bad (calibration, 64, {"resample-map", "wavelength-max"});
  calibration = of_map ("/nowhere");
  calibration.wavelengths.path = "/nowhere";
  fail_unless_bad (calibration, 64, {"resample-map", "wavelengths"});
}

TEST (test_calibration_range_may_fall)
{
  Values wavelengths;
  for (gsize j = 0; j < 64; j++)
    wavelengths.push_back (1433 + (1187.0 - 1433) * j / 63);
  fail_unless (
      load_map (of_range (1433, 1187), 64) == resample_map_of_wavelengths (wavelengths));
}

TEST (test_calibration_range_must_be_one)
{
  fail_unless_bad (of_range (800, 800), 64, {"800", "different values"});
  fail_unless_bad (of_range (800, 0), 64, {"800", "different values above 0"});
  fail_unless_bad (of_range (0, 800), 64, {"800", "different values above 0"});
}

TEST (test_calibration_file_errors_name_file_value_and_expectation)
{
  struct {
    std::string contents;
    std::string found, expected;
  } bad[] = {
      {text_of ({1, 2, 3}), "3 values", "expected 4"},
      {text_of ({1, 2, 3, 4, 5}), "5 values", "expected 4"},
      {npy_of ({1, 2, 3}), "3 values", "expected 4"},
      {"", "0 values", "expected 4"},
      {"1\ntwo\n3\n4\n", "line 2 is \"two\"", "number"},
      {"1 2\n3\n4\n5\n", "line 1 is \"1 2\"", "number"},
      {"\x7f"
       "ELF\x01\xff\n",
          "line 1", "number"},
      {npy_of ({1, 2, 3, 4}).substr (0, 150), "truncated", ".npy"},
      {"1\n2\nnan\n4\n", "value 2 is nan", "finite"},
      {npy_of ({1, 2, 3, INFINITY}), "value 3 is inf", "finite"},
      {text_of ({1, 2, 2, 3}), "value 2 is 2", "strictly rising"},
      {text_of ({1, 4, 2, 3}), "value 2 is 2", "strictly rising"},
      {text_of ({4, 3, 3.5, 1}), "value 2 is 3.5", "strictly falling"},
      {text_of ({3, 3, 3, 3}), "value 1 is 3", "strictly falling"},
      {text_of ({0, 1, 2, 3}), "value 0 is 0", "above 0"},
      {text_of ({3, 2, 1, -1}), "value 3 is -1", "above 0"},
  };
  for (const auto &entry : bad) {
    TemporaryFile file (entry.contents);
    fail_unless_bad (of_wavelengths (file.path), 4,
        {"wavelengths file", file.path, entry.found, entry.expected});
  }
  fail_unless_bad (of_wavelengths ("/no/such.npy"), 4, {"/no/such.npy", "No such file"});
  fail_unless_bad (of_wavelengths (g_get_tmp_dir ()), 4, {g_get_tmp_dir (), "directory"});
}

TEST (test_calibration_map_may_reach_one_sample_beyond_the_ends)
{
  Values map = {-1, 0, 2.5, 4};
  TemporaryFile good (text_of (map));
  fail_unless (load_map (of_map (good.path), 4) == map);
  TemporaryFile low (text_of ({-1.01, 0, 2.5, 4})), high (text_of ({-1, 0, 2.5, 4.01}));
  fail_unless_bad (of_map (low.path), 4, {"value 0 is -1.01", "from -1 to 4"});
  fail_unless_bad (of_map (high.path), 4, {"value 3 is 4.01", "from -1 to 4"});
}

TEST (test_calibration_map_must_be_monotone)
{
  TemporaryFile falling (text_of ({3, 2, 1, 0})), back (text_of ({0, 2, 1, 3}));
  fail_unless (load_map (of_map (falling.path), 4) == Values ({3, 2, 1, 0}));
  fail_unless_bad (
      of_map (back.path), 4, {"value 2 is 1 after 2", "strictly rising samples"});
}

TEST (test_calibration_missing_file_is_reported_before_caps)
{
  GError *error = nullptr;
  bool good = calibration_check (of_map ("/no/such"), &error);
  fail_unless_error (good, error, {"resample-map file /no/such", "No such file"});
}

TEST (test_interpolation_none_leaves_samples_as_they_are)
{
  Values x = {3, 1, 4, 1, 5}, map = {0.5, 1.5, 2.5, 3.5, 4};
  Taps none = interpolation_taps (Interpolation::none, map, 5);
  Taps uncalibrated = interpolation_taps (Interpolation::lanczos, {}, 5);
  for (const Taps &taps : {none, uncalibrated}) {
    expect_equal (taps.count, 1);
    for (gsize m = 0; m < 5; m++)
      fail_unless (interpolate (taps, x, m) == x[m]);
  }
}

TEST (test_interpolation_linear_brackets_and_extends_the_end_segments)
{
  Values x = {3, 1, 4, 1, 5}, map = {-0.5, 0.25, 3, 4, 4.5};
  Values expected = {4, 2.5, 1, 5, 7};
  Taps taps = interpolation_taps (Interpolation::linear, map, 5);
  for (gsize m = 0; m < 5; m++)
    fail_unless_equals_float (interpolate (taps, x, m), expected[m]);
}

TEST (test_interpolation_cubic_is_catmull_rom_and_repeats_the_end_samples)
{
  Values x = {3, 1, 4, 1, 5}, map = {0, 0.5, 1.5, 3.5, 4};
  /* Half-way it is (-a + 9b + 9c - d) / 16. */
  Values expected = {
      3, (-3 + 27 + 9 - 4) / 16.0, (-3 + 9 + 36 - 1) / 16.0, (-4 + 9 + 45 - 5) / 16.0, 5};
  Taps taps = interpolation_taps (Interpolation::cubic, map, 5);
  for (gsize m = 0; m < 5; m++)
    fail_unless_equals_float (interpolate (taps, x, m), expected[m]);
}

TEST (test_interpolation_lanczos_has_eight_normalised_taps_and_keeps_samples)
{
  Values map (64);
  for (gsize m = 0; m < 64; m++)
    map[m] = m % 2 ? m : m * 0.9 + 0.3;
  Taps taps = interpolation_taps (Interpolation::lanczos, map, 64);
  expect_equal (taps.count, 8);
  for (gsize m = 0; m < 64; m++) {
    double sum = 0, i = std::floor (std::min (map[m], 62.0)), weight[8];
    for (int t = 0; t < 8; t++) {
      double d = G_PI * (map[m] - (i + t - 3));
      weight[t] = d == 0 ? 1
                  : std::abs (d) >= 4 * G_PI
                      ? 0
                      : 4 * std::sin (d) * std::sin (d / 4) / d / d;
      sum += weight[t];
    }
    expect_equal (taps.first[m], gint (i) - 3);
    for (int t = 0; t < 8; t++)
      fail_unless (std::abs (taps.weights[t * 64 + m] - weight[t] / sum) < 1e-12);
  }
}

TEST (test_window_functions_have_the_values_of_their_formulas)
{
  const struct {
    WindowFunction function;
    double end, quarter, middle;
  } known[] = {
      {WindowFunction::rectangular, 1, 1, 1},
      {WindowFunction::hann, 0, 0.5, 1},
      {WindowFunction::hamming, 0.08, 0.54, 1},
      {WindowFunction::blackman, 0, 0.34, 1},
      {WindowFunction::gaussian, 0.043936933623, 0.457833361772, 1},
      {WindowFunction::tukey, 0, 1, 1},
      {WindowFunction::flattop, -0.000421051, -0.05473684, 1.000000003},
  };
  for (const auto &entry : known) {
    Values w = window_function (entry.function, 5);
    Values expected = {entry.end, entry.quarter, entry.middle, entry.quarter, entry.end};
    for (gsize m = 0; m < 5; m++)
      fail_unless (std::abs (w[m] - expected[m]) < 1e-9, "window %d, point %d: %.12g",
          int (entry.function), int (m), w[m]);
  }
  fail_unless_equals_float (window_function (WindowFunction::tukey, 9)[1], 0.5);
}

TEST (test_window_is_scaled_so_that_a_fringe_keeps_its_amplitude)
{
  for (gsize samples : {64, 999, 2048}) {
    for (int function = 0; function <= int (WindowFunction::flattop); function++) {
      Values w = scaled_window_function ({WindowFunction (function)}, samples);
      double real = 0, imaginary = 0, bin = samples / 4;
      for (gsize m = 0; m < samples; m++) {
        double angle = 2 * G_PI * bin * m / samples, fringe = 123 * std::cos (angle);
        real += w[m] * fringe * std::cos (angle);
        imaginary -= w[m] * fringe * std::sin (angle);
      }
      fail_unless (std::abs (std::hypot (real, imaginary) - 123) < 0.1,
          "window %d of %d: %g", function, int (samples), std::hypot (real, imaginary));
    }
  }
}

/* Windows whose sum is not positive are refused, and those of fewer than eight
 * samples. */
TEST (test_window_that_covers_too_few_samples_is_refused)
{
  std::mt19937 random (28);
  std::uniform_real_distribution<double> uniform (0, 1);
  const char *const names[] = {
      "rectangular", "hann", "hamming", "blackman", "gaussian", "tukey", "flattop"};
  guint refused = 0;
  for (guint n = 0; n < 2000; n++) {
    const gsize samples = n % 2 ? 16 : 300;
    const guint function = n % 7;
    const double centre = n % 3 ? uniform (random) : n % 2;
    const double width = std::pow (10, -2 + 2.3 * uniform (random));
    gsize covered = 0;
    double sum = 0;
    for (gsize m = 0; m < samples; m++) {
      double u = (double (m) / double (samples - 1) - centre) / width + 0.5;
      if (u < 0 || u > 1)
        continue;
      covered++;
      sum += reference::window_at (names[function], u, 1);
    }
    GError *error = nullptr;
    const bool taken =
        window_check ({WindowFunction (function), centre, width}, samples, &error);
    fail_unless (taken == (covered >= 8) && taken == !error,
        "%s, centre %g, width %g: %d of %d samples", names[function], centre, width,
        int (covered), int (samples));
    fail_unless (!taken || sum > 1, "%s, centre %g, width %g: sum %g", names[function],
        centre, width, sum);
    refused += !taken;
    g_clear_error (&error);
  }
  fail_unless (refused > 100 && refused < 1900);
}

/* A fringe keeps its amplitude with the window of a file too, also on the grid of
 * interpolation=nufft. */
TEST (test_window_of_a_file_keeps_the_amplitude)
{
  const gsize samples = 500;
  for (guint oversampling : {1, 2}) {
    Window window;
    window.function = WindowFunction::file;
    for (gsize m = 0; m < samples; m++)
      window.values.push_back (0.01 * std::exp (-std::pow ((double (m) - 180) / 60, 2)));
    fail_unless (window_check (window, samples, nullptr));
    const Values w = scaled_window_function (window, samples, oversampling);
    fail_unless_equals_int (w.size (), oversampling * (samples - 1) + 1);
    double sum = 0;
    for (double value : w)
      sum += value;
    fail_unless (std::abs (sum - 2) < 1e-6, "%g", sum);
    const gsize peak = gsize (std::max_element (w.begin (), w.end ()) - w.begin ());
    expect_equal (peak, 180 * gsize (oversampling));
  }
}

TEST (test_dispersion_is_a_polynomial_about_the_middle)
{
  for (gsize samples : {64, 65}) {
    Dispersion dispersion;
    Values phase;
    dispersion.a2 = 1e-3;
    dispersion.a3 = -2e-5;
    fail_unless (dispersion_load (dispersion, samples, phase, nullptr));
    for (gsize m = 0; m < samples; m++) {
      double q = m - 0.5 * samples;
      fail_unless (std::abs (phase[m] - (1e-3 * std::pow (q, 2) - 2e-5 * std::pow (q, 3)))
                   < 1e-12);
    }
  }
}

TEST (test_dispersion_comes_from_file_or_from_coefficients)
{
  Values values = {0, 0.5, -0.5, 7}, phase;
  TemporaryFile file (npy_of (values));
  Dispersion dispersion;
  GError *error = nullptr;
  fail_if (dispersion.given ());
  dispersion.phase.path = file.path;
  fail_unless (dispersion.given ());
  fail_unless (dispersion_load (dispersion, 4, phase, nullptr));
  fail_unless (phase == values);
  bool loaded = dispersion_load (dispersion, 5, phase, &error);
  fail_unless_error (loaded, error, {"dispersion-phase file", "4 values", "expected 5"});
  error = nullptr;
  dispersion.a3 = 0.25;
  loaded = dispersion_load (dispersion, 4, phase, &error);
  fail_unless_error (loaded, error, {file.path, "dispersion-a3 0.25", "either"});
}
