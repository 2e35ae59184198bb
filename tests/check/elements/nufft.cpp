/* Tests of interpolation=nufft: depths of spectra that are uneven in wavenumber, against
 * fringes of even wavenumbers in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthchain.hpp"

#include <glib/gstdio.h>

using check::DepthChain;
using check::TableFile;
using reference::Values;

namespace {
/* Wavelengths of a spectrometer: even except for a bend of some percent */
Values
spectrometer (gsize samples, double bend = 0.067)
{
  Values wavelengths;
  for (gsize j = 0; j < samples; j++) {
    double u = double (j) / double (samples - 1);
    wavelengths.push_back (1187.176 + 245.666 * (u + bend * u * (1 - u)));
  }
  return wavelengths;
}

/* A swept source whose wavenumber step is larger than the mean by a factor of 1 + `chirp`
 * at the first end, and smaller at the other */
Values
chirped (gsize samples, double chirp)
{
  Values wavelengths;
  for (gsize j = 0; j < samples; j++) {
    double u = double (j) / double (samples - 1);
    wavelengths.push_back (
        1 / (1 / 1433.0 + (1 / 1187.0 - 1 / 1433.0) * (u + chirp * u * (1 - u))));
  }
  return wavelengths;
}

/* Wavelengths of a spectrometer without a bend */
Values
evenly_spaced (gsize samples)
{
  return spectrometer (samples, 0);
}

/* Spectrum of a mirror whose peak is at `bin`, at wavenumbers `places` */
Values
fringe (const Values &places, double bin, double amplitude = 100)
{
  Values x;
  for (double place : places)
    x.push_back (amplitude * std::cos (2 * G_PI * bin * place / double (places.size ())));
  return x;
}

/* The same mirror at even wavenumbers */
Values
even_fringe (gsize samples, double bin, double amplitude = 100)
{
  Values even (samples);
  std::iota (even.begin (), even.end (), 0.0);
  return fringe (even, bin, amplitude);
}

Values
noise (gsize count)
{
  std::mt19937 random{guint (count)};
  std::normal_distribution<double> normal (0, 100);
  Values x;
  for (gsize n = 0; n < count; n++)
    x.push_back (double (float (normal (random))));
  return x;
}

/* Relative to the largest bin */
double
worst_difference (const fourier::Line &found, const fourier::Line &expected)
{
  double largest = 0, worst = 0;
  fail_unless_equals_int (found.size (), expected.size ());
  for (gsize b = 0; b < found.size (); b++) {
    largest = std::max (largest, std::abs (expected[b]));
    worst = std::max (worst, std::abs (found[b] - expected[b]));
  }
  return worst / largest;
}

/* In dB: the peak relative to that of `expected`, and the largest difference of bins more
 * than `apart` from the peak, relative to the peak */
struct Quality {
  double level, artefacts;
};

/* A fringe loses a part of the spectrum's end. This changes the side lobes of its peak,
 * which for a Hann window fall to -71 dB 10 bins away, and to -88 dB 20 bins away. */
const gssize side_lobes = 10, images = 20;

Quality
quality_of (
    const fourier::Line &found, const fourier::Line &expected, gssize apart = side_lobes)
{
  auto weaker = [] (const fourier::Complex &a, const fourier::Complex &b) {
    return std::abs (a) < std::abs (b);
  };
  const gssize peak =
      std::max_element (expected.begin (), expected.end (), weaker) - expected.begin ();
  fail_unless_equals_int (found.size (), expected.size ());
  double worst = 1e-9;
  for (gssize b = 0; b < gssize (found.size ()); b++) {
    if (std::abs (b - peak) > apart)
      worst = std::max (worst, std::abs (found[b] - expected[b]));
  }
  const double at_peak = std::abs (found[peak]);
  return {20 * std::log10 (at_peak / std::abs (expected[peak])),
      20 * std::log10 (worst / at_peak)};
}

/* Tolerances relative to the largest bin: of float32 alone, and of the interpolation
 * error up to the middle depth */
const double exact = 5e-6, of_grid = 4e-3;

/* Depth, relative to the last one, and amplitude of three mirrors, none deeper than the
 * middle */
const std::pair<double, double> mirrors[] = {{0.06, 100}, {0.21, 40}, {0.47, 70}};

Values
mirrors_at (const Values &places)
{
  Values sum (places.size ());
  for (const auto &[depth, amplitude] : mirrors) {
    const Values x = fringe (places, depth * double (places.size ()) / 2, amplitude);
    for (gsize j = 0; j < sum.size (); j++)
      sum[j] += x[j];
  }
  return sum;
}

/* Depths from `samples` even wavenumbers, padded with zeros to `points` */
fourier::Line
depths_of_mirrors (gsize samples, const reference::Chain &chain = {}, gsize points = 0)
{
  Values even (samples);
  std::iota (even.begin (), even.end (), 0.0);
  fourier::Line spectrum = reference::spectrum_of (chain, mirrors_at (even));
  spectrum.resize (points ? points : samples);
  return reference::depths_of (spectrum);
}

/* octfft with its fused kernel, and with separate launches by an FFT library */
const char *const ways[] = {"", "fused=never fft-library=vkfft"};
} // namespace

/* Spectra are real, so each fringe has a mirror term. Uneven samples alias it to visible
 * depths. Depths are relative to the last one. */
TEST (test_nufft_suppresses_the_mirror_term)
{
  const gsize samples = 2048;
  const struct {
    const char *name;
    Values wavelengths;
    double depth;
    gssize apart;
    double artefacts, level;
  } cases[] = {
      {"evenly spaced", evenly_spaced (samples), 0.2, side_lobes, -88, 0.04},
      {"evenly spaced", evenly_spaced (samples), 0.6, side_lobes, -85, 0.05},
      {"evenly spaced", evenly_spaced (samples), 0.68, side_lobes, -85, 0.1},
      {"evenly spaced", evenly_spaced (samples), 0.2, images, -95, 0.04},
      {"evenly spaced", evenly_spaced (samples), 0.6, images, -95, 0.05},
      {"evenly spaced", evenly_spaced (samples), 0.68, images, -88, 0.1},
      {"evenly spaced", evenly_spaced (samples), 0.7, images, -88, 0.2},
      {"evenly spaced", evenly_spaced (samples), 0.72, images, -88, 0.3},
      {"evenly spaced", evenly_spaced (samples), 0.74, images, -88, 0.4},
      {"evenly spaced", evenly_spaced (samples), 0.76, images, -88, 0.6},
      {"evenly spaced", evenly_spaced (samples), 0.77, images, -88, 0.7},
      {"evenly spaced", evenly_spaced (samples), 0.78, images, -88, 0.8},
      {"evenly spaced", evenly_spaced (samples), 0.8, images, -50, 1},
      {"evenly spaced", evenly_spaced (samples), 0.82, images, -50, 1.1},
      {"evenly spaced", evenly_spaced (samples), 0.83, images, -50, 1.2},
      {"bent spectrometer", spectrometer (samples, 0.03), 0.6, side_lobes, -80, 0.05},
      {"bent spectrometer", spectrometer (samples, 0.03), 0.68, images, -95, 0.1},
      {"chirp of 0.15", chirped (samples, 0.15), 0.68, side_lobes, -85, 0.1},
      {"chirp of 0.15", chirped (samples, 0.15), 0.83, images, -50, 0.8},
      {"chirp of 0.25", chirped (samples, 0.25), 0.68, images, -95, 0.1},
  };
  for (const auto &of : cases) {
    TableFile file (of.wavelengths);
    const double bin = std::round (of.depth * samples / 2);
    const Values x = fringe (reference::grid_positions (of.wavelengths), bin);
    const fourier::Line expected =
        reference::depths_of (reference::spectrum_of ({}, even_fringe (samples, bin)));
    for (const char *way : ways) {
      DepthChain nufft ("interpolation=nufft wavelengths=" + file.path, way, samples, 1);
      const Quality quality = quality_of (nufft.pass (x), expected, of.apart);
      if (way[0] == '\0')
        g_print ("%s, depth %g, %d bins apart: %.3f dB, artefacts %.1f dB\n", of.name,
            of.depth, int (of.apart), quality.level, quality.artefacts);
      fail_unless (
          quality.artefacts < of.artefacts && std::abs (quality.level) < of.level,
          "%s, %s, depth %g: %.3f dB, artefacts %.1f dB", of.name, way, of.depth,
          quality.level, quality.artefacts);
    }
  }
}

/* Lanczos with eight samples reaches only -37 dB there. */
TEST (test_lanczos16_suppresses_the_mirror_term)
{
  const gsize samples = 2048;
  const double bin = std::round (0.78 * samples / 2);
  const Values wavelengths = evenly_spaced (samples);
  TableFile file (wavelengths);
  const Values x = fringe (reference::grid_positions (wavelengths), bin);
  const fourier::Line expected =
      reference::depths_of (reference::spectrum_of ({}, even_fringe (samples, bin)));
  for (const char *way : ways) {
    DepthChain chain (
        "interpolation=lanczos16 wavelengths=" + file.path, way, samples, 1);
    const Quality quality = quality_of (chain.pass (x), expected);
    fail_unless (quality.artefacts < -50 && std::abs (quality.level) < 0.1,
        "%s: %.3f dB, artefacts %.1f dB", way, quality.level, quality.artefacts);
  }
}

TEST (test_nufft_shows_mirrors_of_all_lengths)
{
  for (gsize samples : {64, 999, 1000, 2048}) {
    for (bool falling : {false, true}) {
      Values wavelengths = spectrometer (samples);
      if (falling)
        std::reverse (wavelengths.begin (), wavelengths.end ());
      TableFile file (wavelengths);
      const Values second = mirrors_at (reference::grid_positions (wavelengths));
      Values x = noise (samples);
      x.insert (x.end (), second.begin (), second.end ());
      for (const char *way : ways) {
        DepthChain chain (
            "interpolation=nufft wavelengths=" + file.path, way, samples, 2);
        fourier::Line found = chain.pass (x);
        found.erase (found.begin (), found.begin () + gssize (samples / 2));
        double worst = worst_difference (found, depths_of_mirrors (samples));
        fail_unless (worst < of_grid, "%d samples, %s: %g", int (samples), way, worst);
      }
    }
  }
}

/* The background applies to samples, the phase to even wavenumbers. */
TEST (test_nufft_with_dispersion_and_background_shows_mirrors)
{
  const gsize samples = 1024;
  const Values wavelengths = spectrometer (samples);
  const Values places = reference::grid_positions (wavelengths);
  TableFile file (wavelengths), background (Values (samples, 12.5));
  reference::Chain expected;
  expected.window = "blackman";
  expected.phase = reference::phase_of (samples, 4e-5, -3e-8);
  Values x = mirrors_at (places);
  for (double &value : x)
    value += 12.5;
  for (const char *way : ways) {
    DepthChain chain ("interpolation=nufft window=blackman dispersion-a2=4e-5 "
                      "dispersion-a3=-3e-8 background=file background-file="
                          + background.path + " wavelengths=" + file.path,
        way, samples, 1);
    double worst =
        worst_difference (chain.pass (x), depths_of_mirrors (samples, expected));
    fail_unless (worst < of_grid, "%s: %g", way, worst);
  }
}

/* A map of samples is equivalent to wavelengths, as far as linear interpolation between
 * its entries is exact. */
TEST (test_nufft_of_a_map_is_that_of_its_wavelengths)
{
  const gsize samples = 2048;
  const Values wavelengths = spectrometer (samples);
  TableFile file (wavelengths), map_file (reference::map_of (wavelengths));
  Values x = mirrors_at (reference::grid_positions (wavelengths));
  DepthChain by_map ("interpolation=nufft resample-map=" + map_file.path, "", samples, 1);
  DepthChain exact ("interpolation=nufft wavelengths=" + file.path, "", samples, 1);
  double worst = worst_difference (by_map.pass (x), exact.pass (x));
  fail_unless (worst < 1e-3, "%g", worst);
}

/* Zero padding makes the depth step smaller, with even samples and with nufft. */
TEST (test_padded_samples_give_depths_between_the_depths)
{
  const gsize samples = 1000, padded = 2048;
  const Values wavelengths = spectrometer (samples);
  TableFile file (wavelengths);
  const Values x = noise (samples);
  reference::Chain chain;
  chain.phase = reference::phase_of (samples, 2e-5, 0);
  const fourier::Line uneven = depths_of_mirrors (samples, chain, padded);
  chain.map = reference::map_of (wavelengths);
  fourier::Line even = reference::spectrum_of (chain, x);
  even.resize (padded);

  const std::string settings = "padded-samples=2048 dispersion-a2=2e-5 wavelengths=";
  for (const char *way : ways) {
    DepthChain linear (settings + file.path, way, samples, 1);
    double worst = worst_difference (linear.pass (x), reference::depths_of (even));
    fail_unless (worst < exact, "linear, %s: %g", way, worst);
    DepthChain nufft ("interpolation=nufft " + settings + file.path, way, samples, 1);
    worst = worst_difference (
        nufft.pass (mirrors_at (reference::grid_positions (wavelengths))), uneven);
    fail_unless (worst < of_grid, "nufft, %s: %g", way, worst);
  }
}

/* Files may have a value for each camera sample, or for each sample that is used. */
TEST (test_only_the_samples_that_are_wanted_are_used)
{
  const gsize all = 1500, first = 101, samples = 1024;
  const Values wavelengths = spectrometer (all);
  const Values used (
      wavelengths.begin () + first, wavelengths.begin () + first + samples);
  TableFile whole_file (wavelengths), used_file (used);
  const Values second = mirrors_at (reference::grid_positions (used));
  Values x = noise (2 * all);
  std::copy (second.begin (), second.end (), x.begin () + gssize (all + first));
  reference::Chain chain;
  chain.map = reference::map_of (used);
  Values rounded; /* as pushed, in float32 */
  for (double value : second)
    rounded.push_back (double (float (value)));
  const fourier::Line even =
      reference::depths_of (reference::spectrum_of (chain, rounded));
  const fourier::Line uneven = depths_of_mirrors (samples);
  for (const TableFile *file : {&whole_file, &used_file}) {
    for (bool grid : {false, true}) {
      DepthChain cropped ("first-sample=101 samples=1024 wavelengths=" + file->path
                              + (grid ? " interpolation=nufft" : ""),
          "", all, 2);
      fourier::Line found = cropped.pass (x);
      found.erase (found.begin (), found.begin () + samples / 2);
      double worst = worst_difference (found, grid ? uneven : even);
      fail_unless (worst < (grid ? of_grid : exact), "%g", worst);
    }
  }
}

TEST (test_nufft_window_position)
{
  const gsize samples = 512;
  const Values x = noise (samples);
  double sum = 0;
  fourier::Line spectrum (samples);
  for (gsize m = 0; m < samples; m++) {
    double u = (double (m) / (samples - 1) - 0.4) / 0.5 + 0.5;
    double weight = u < 0 || u > 1 ? 0 : 0.5 - 0.5 * std::cos (2 * G_PI * u);
    sum += weight;
    spectrum[m] = x[m] * weight;
  }
  for (auto &value : spectrum)
    value *= 2 / sum;
  DepthChain chain ("window-centre=0.4 window-width=0.5", "", samples, 1);
  double worst = worst_difference (chain.pass (x), reference::depths_of (spectrum));
  fail_unless (worst < exact, "%g", worst);
}

/* The depth of a bin does not depend on the interpolation, only on the number of points
 * and the spectral range. */
TEST (test_a_depth_has_the_same_step_by_nufft)
{
  const Values wavelengths = spectrometer (1000);
  TableFile file (wavelengths);
  const struct {
    const char *settings;
    double points, first, last; /* `first` and `last` sample of the range */
  } cases[] = {{"", 1000, 0, 999}, {"padded-samples=2048", 2048, 0, 999},
      {"first-sample=100 samples=512", 512, 100, 611}};
  for (const auto &of : cases) {
    for (const char *interpolation : {" interpolation=linear", " interpolation=nufft"}) {
      DepthChain chain (std::string ("wavelength-unit=nm wavelengths=") + file.path + " "
                            + of.settings + interpolation,
          "", 1000, 1);
      chain.pass (noise (1000));
      double step = 0;
      gst_structure_get_double (
          gst_caps_get_structure (chain.harness.caps (), 0), "depth-step", &step);
      const double k =
          2 * G_PI * 1e3
          * (1 / wavelengths[gsize (of.first)] - 1 / wavelengths[gsize (of.last)])
          / (of.last - of.first); /* rad/um */
      fail_unless (std::abs (step - G_PI / (of.points * k)) < 1e-9 * step, "%s%s: %g, %g",
          of.settings, interpolation, step, G_PI / (of.points * k));
    }
  }
}

/* As oct-calibrate writes it */
TEST (test_a_settings_file_sets_what_is_in_it)
{
  const gsize samples = 512;
  const Values wavelengths = spectrometer (samples);
  const Values x = mirrors_at (reference::grid_positions (wavelengths));
  TableFile file (wavelengths), settings ({}), wrong ({});
  const std::string text =
      "# found\ninterpolation=nufft\n\nwavelengths=" + file.path + "\n";
  g_file_set_contents (settings.path.c_str (), text.c_str (), -1, nullptr);
  g_file_set_contents (wrong.path.c_str (), "name=x\n", -1, nullptr);
  const fourier::Line expected = depths_of_mirrors (samples);
  DepthChain chain ("settings=" + settings.path, "", samples, 1);
  fail_unless (worst_difference (chain.pass (x), expected) < of_grid);
  fail_unless (chain.harness.messages ().is_clean ());
  for (const std::string &path : {std::string ("/no/such"), wrong.path}) {
    check::set_together (chain.find ("octwindowinterp"), "settings=" + path);
    fail_unless (worst_difference (chain.pass (x), expected) < of_grid);
    check::Outcome messages = chain.harness.messages ();
    fail_unless_equals_int (messages.warnings.size (), 1);
    fail_unless (
        messages.warnings[0].find ("settings file " + path) != std::string::npos);
  }
}

/* An invalid line is one error that names the file, the line, the value and what is
 * expected. Valid lines of the file are not set either. */
TEST (test_a_settings_file_with_an_invalid_value_is_one_error)
{
  const struct {
    const char *line, *expected;
  } rows[] = {
      {"wavelength-max=1433 nm", "a number of 0 or more"},
      {"wavelength-max=", "a number of 0 or more"},
      {"wavelength-max=-1433", "a number of 0 or more"},
      {"dispersion-a2=8,5e-5", "a number"},
      {"dispersion-a2=nan", "a number"},
      {"window=hamm", "one of rectangular, hann, hamming, blackman, gaussian, tukey"},
      {"window=", "one of rectangular, hann"},
      {"window-width=3", "a number from 0.01 to 2"},
      {"samples=12x", "a whole number from 0 to 65536"},
      {"samples=70000", "a whole number from 0 to 65536"},
      {"samples=-1", "a whole number from 0 to 65536"},
      {"samples=1.5", "a whole number from 0 to 65536"},
      {"chirp=chirp.npy",
          "a resample-map, to which oct-calibrate --settings FILE converts"},
      {"wavelengths=\xff.npy", "text in UTF-8"},
      {"wavelength-maximum=1433", "a property of octwindowinterp as NAME=VALUE"},
      {"settings=other.txt", "a property of octwindowinterp as NAME=VALUE"},
      {"hann", "a property of octwindowinterp as NAME=VALUE"},
  };
  check::Folder folder;
  for (const auto &row : rows) {
    const std::string settings = folder.write (
        "settings.txt", std::string ("# found\nwindow-centre=0.4\n") + row.line + "\n");
    check::Pipeline pipeline (
        "octtestsrc num-buffers=1 ! "
        "video/x-raw(memory:OpenCLMemory),width=256,height=4 ! octwindowinterp name=e "
        "settings="
        + settings + " ! octfft ! fakesink");
    check::Owned<gchar> shown = g_utf8_make_valid (row.line, -1);
    const check::Outcome outcome = pipeline.play ();
    outcome.expect_one_error ({"settings file " + settings + ", line 3: \""
                               + std::string (shown) + "\", expected " + row.expected});
    /* the place that reported the error, not that of a helper that posted it */
    fail_unless (outcome.details[0].find ("gstopenclfilter.cpp(") != std::string::npos,
        "%s", outcome.details[0].c_str ());
    double centre = 0;
    g_object_get (pipeline["e"], "window-centre", &centre, nullptr);
    fail_unless (centre == 0.5, "%s: window-centre is %g", row.line, centre);
  }
}

/* As a file system leaves a file that was written as the power failed */
TEST (test_a_settings_file_with_zero_bytes_is_refused)
{
  check::Folder folder;
  const std::string settings =
      folder.write ("settings.txt", std::string ("window=hann\n\0\0\0", 15));
  check::Pipeline pipeline (
      "octtestsrc num-buffers=1 ! video/x-raw(memory:OpenCLMemory),width=256,height=4 ! "
      "octwindowinterp settings="
      + settings + " ! octfft ! fakesink");
  pipeline.play ().expect_one_error ({settings + ", line 2", "expected text"});
}

TEST (test_a_settings_file_names_files_beside_it)
{
  const gsize samples = 512;
  const Values wavelengths = spectrometer (samples);
  const Values x = mirrors_at (reference::grid_positions (wavelengths));
  TableFile file (wavelengths);
  const std::string settings = file.path + ".txt";
  gchar *name = g_path_get_basename (file.path.c_str ());
  const std::string text =
      "interpolation=nufft\nwavelengths=" + std::string (name) + "\n";
  fail_if (g_file_test (name, G_FILE_TEST_EXISTS)); /* in the current folder */
  g_free (name);
  g_file_set_contents (settings.c_str (), text.c_str (), -1, nullptr);
  DepthChain chain ("settings=" + settings, "", samples, 1);
  fail_unless (worst_difference (chain.pass (x), depths_of_mirrors (samples)) < of_grid);
  fail_unless (chain.harness.messages ().is_clean ());
  g_remove (settings.c_str ());
}

TEST (test_samples_that_are_not_there_leave_the_last_ones_in_force)
{
  const gsize samples = 300;
  const Values x = noise (samples);
  DepthChain chain ("", "", samples, 1);
  const fourier::Line before = chain.pass (x);
  for (const char *set :
      {"first-sample=290", "first-sample=0 samples=301", "samples=200 padded-samples=199",
          "samples=0 padded-samples=0 window-width=0.01",
          "window=flattop window-width=0.02 window-centre=0.5",
          "window=hann window-width=0.3 window-centre=1 samples=20"}) {
    check::set_together (chain.find ("octwindowinterp"), set);
    fail_unless (worst_difference (chain.pass (x), before) < 1e-9);
    fail_unless_equals_int (chain.harness.messages ().warnings.size (), 1);
  }
}

/* From 16 samples to 65536, the range from small cameras to fast digitizers */
TEST (test_spectra_of_16_to_65536_samples_have_depths)
{
  for (gsize samples : {16, 17, 40, 32768, 65536}) {
    const Values wavelengths = spectrometer (samples);
    TableFile file (wavelengths);
    const Values x = noise (samples);
    reference::Chain chain;
    chain.map = reference::map_of (wavelengths);
    DepthChain linear ("wavelengths=" + file.path, "", samples, 1);
    double worst = worst_difference (
        linear.pass (x), reference::depths_of (reference::spectrum_of (chain, x)));
    fail_unless (worst < 1e-5, "%d: %g", int (samples), worst);
    if (samples > 1000)
      continue;
    DepthChain nufft ("interpolation=nufft wavelengths=" + file.path, "", samples, 1);
    worst = worst_difference (
        nufft.pass (mirrors_at (reference::grid_positions (wavelengths))),
        depths_of_mirrors (samples));
    fail_unless (worst < 0.1, "nufft, %d: %g", int (samples), worst);
  }
}

/* A grid of 65536 points is the largest supported one. */
TEST (test_nufft_says_which_spectra_are_too_long)
{
  DepthChain nufft (
      "interpolation=nufft wavelength-min=800 wavelength-max=900", "", 65536, 1);
  fail_unless (
      nufft.harness.push (check::buffer_of (check::Bytes (4 * 65536))) != GST_FLOW_OK);
  nufft.harness.messages ().expect_one_error (
      {"65536 wavenumbers, expected at most 32768"});
}
