/* What is found from the spectra of mirrors: the map, the dispersion, and a sharp peak
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/npyfile.hpp>

#include "gst/oct/calibration/gridding.hpp"
#include "gst/oct/calibration/mirrors.hpp"

#include "../harness.hpp"

using Values = std::vector<double>;
using namespace oct;

namespace {
const gsize samples = 1024;

/* Even in wavenumber but for some percent; the place of a sample, and its inverse. */
double
place_of (double sample)
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
    (place_of (middle) < place ? low : high) = middle;
  }
  return low;
}

double
dispersion_of (double place)
{
  const double u = 2 * place / (samples - 1) - 1;
  return 5 * u * u - 2 * u * u * u;
}

/* `side` is that of zero delay. */
Values
mirror (double depth, int side, guint seed)
{
  std::mt19937 random{seed};
  std::normal_distribution<double> noise (0, 0.002);
  Values x;
  for (gsize j = 0; j < samples; j++) {
    const double u = 2.0 * double (j) / (samples - 1) - 1, place = place_of (double (j));
    x.push_back (
        std::exp (-1.5 * u * u)
            * std::cos (2 * G_PI * depth * place / samples + side * dispersion_of (place))
        + noise (random));
  }
  return x;
}

/* Of `found` to `expected`, but for where depth 0 and the scale of depths lie: those of a
 * map that is found are of the samples at its ends. */
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

/* With a Hann window: 2 depths of amplitude at half height. */
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
        "%g depths as it was, %g calibrated, %g as told", raw, width, found.width_after);
  }
}

TEST (test_one_mirror_without_dispersion_tells_the_map)
{
  Values x;
  for (gsize j = 0; j < samples; j++) {
    const double u = 2.0 * double (j) / (samples - 1) - 1;
    x.push_back (std::exp (-1.5 * u * u)
                 * std::cos (2 * G_PI * 80 * place_of (double (j)) / samples));
  }
  const MirrorCalibration found = found_of (x, {}, true);
  fail_unless (difference (found.map, true_map ()) < 0.05, "%g samples",
      difference (found.map, true_map ()));
  fail_unless (found.dispersion.empty ());
}

/* Layers within tissue, by 25 rad out of shape. */
TEST (test_the_sharpest_picture_tells_the_dispersion)
{
  const double a2 = 25 / 512.0 / 512, a3 = -6 / 512.0 / 512 / 512;
  std::mt19937 random{11};
  std::uniform_real_distribution<double> uniform (0, 1);
  Values lines, even;
  for (gsize m = 0; m < samples; m++)
    even.push_back (double (m));
  for (int line = 0; line < 30; line++) {
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
  const SharpestDispersion found = sharpest_dispersion (lines, even);
  fail_unless (std::abs (found.a2 / a2 - 1) < 0.01 && std::abs (found.a3 / a3 - 1) < 0.05,
      "a2 %g, expected %g; a3 %g, expected %g", found.a2, a2, found.a3, a3);
}

TEST (test_no_fringe_is_no_calibration)
{
  MirrorCalibration found;
  GError *error = nullptr;
  fail_if (calibration_of_mirrors (Values (20, 1), {}, true, found, &error));
  fail_unless (strstr (error->message, "64 samples") != nullptr);
  g_clear_error (&error);
  fail_if (calibration_of_mirrors (mirror (60, 1, 1), Values (100), true, found, &error));
  g_clear_error (&error);
}

/* --- measured spectra, of the folder that GST_OPENCL_OCT_DATA names --- */

static std::string
data_folder ()
{
  const char *data = g_getenv ("GST_OPENCL_OCT_DATA");
  return std::string (data ? data : "") + "/scatterer/";
}

static bool
data_is_there ()
{
  if (g_file_test (data_folder ().c_str (), G_FILE_TEST_IS_DIR))
    return true;
  g_print ("NOT CHECKED: no %s\n", data_folder ().c_str ());
  return false;
}

static const bool data_are_asked_for =
    check::only_with ("data", "test_measured_", data_is_there);

TEST (test_measured_mirrors_give_the_map_that_comes_with_them)
{
  const std::string folder = data_folder ();
  Values mirrors[2];
  for (int n = 0; n < 2; n++) {
    const std::string number = std::to_string (n + 1);
    mirrors[n] = load (folder + "mirror" + number + ".npy");
    const Values sample = load (folder + "dark_sample" + number + ".npy");
    const Values reference = load (folder + "dark_ref.npy");
    const Values neither = load (folder + "dark_not.npy");
    for (gsize j = 0; j < mirrors[n].size (); j++)
      mirrors[n][j] += neither[j] - sample[j] - reference[j];
  }
  const MirrorCalibration found = found_of (mirrors[0], mirrors[1], true);
  const double off = difference (found.map, load (folder + "klinear_frac_index.npy"));
  fail_unless (off < 0.05, "%g samples", off);
  Values theirs;
  for (double at : load (folder + "klinear_frac_index.npy"))
    theirs.push_back (value_between (mirrors[0], at));
  const double width = peak_width (theirs, load (folder + "dispersion_phase.npy"));
  fail_unless (found.width_after < 1.05 * width, "%g depths, expected %g",
      found.width_after, width);
  GST_INFO ("%g samples, %g depths of %g", off, found.width_after, width);
}
