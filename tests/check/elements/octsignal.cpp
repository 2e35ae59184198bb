/* Tests of octsignal: its numbers agree with zero-padded transforms in double precision
 * and with definitions from the literature
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/common/npyfile.hpp>

#include "../harness.hpp"
#include "../octreference.hpp"
#include "depthframes.hpp"
#include "tablefile.hpp"

using namespace check;
using depths::bytes_of;
using depths::numbers_in;
using reference::Line;
using reference::Values;

namespace {
/* --- messages --- */

/* Fields of a message */
class Signal {
public:
  explicit Signal (const GstStructure *structure)
      : structure (gst_structure_copy (structure))
  {
  }
  Signal (const Signal &other) : Signal (other.structure) {}
  ~Signal () { gst_structure_free (structure); }

  bool has (const char *field) const
  {
    return gst_structure_has_field (structure, field);
  }
  std::string text () const
  {
    gchar *made = gst_structure_to_string (structure);
    std::string found = made;
    g_free (made);
    return found;
  }
  /* A number of any type. Fails the test if it is absent. */
  double at (const char *field) const
  {
    const GValue *value = gst_structure_get_value (structure, field);
    GValue number = G_VALUE_INIT;
    g_value_init (&number, G_TYPE_DOUBLE);
    fail_unless (
        value && g_value_transform (value, &number), "%s: %s", field, text ().c_str ());
    return g_value_get_double (&number);
  }
  Values values (const char *field) const
  {
    Values found;
    const GValue *array = gst_structure_get_value (structure, field);
    for (guint n = 0; array && n < gst_value_array_get_size (array); n++)
      found.push_back (g_value_get_double (gst_value_array_get_value (array, n)));
    return found;
  }
  bool peak () const
  {
    gboolean found = FALSE;
    fail_unless (
        gst_structure_get_boolean (structure, "peak", &found), "%s", text ().c_str ());
    return found;
  }

private:
  GstStructure *const structure;
};

std::vector<Signal>
signals_on (GstBus *bus)
{
  std::vector<Signal> found;
  while (GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT)) {
    const GstStructure *structure = gst_message_get_structure (message);
    if (gst_structure_has_name (structure, "octsignal"))
      found.emplace_back (structure);
    gst_message_unref (message);
  }
  return found;
}

/* Takes the frames that remain, and returns the measurements, which are at least `least`. */
std::vector<Signal>
rest_of_signals (Pipeline &pipeline, gsize least)
{
  std::vector<Signal> found;
  while (pipeline.pull ())
    continue;
  fail_unless (soon ([&] {
    for (const Signal &signal : signals_on (pipeline.bus))
      found.push_back (signal);
    return found.size () >= least;
  }));
  return found;
}

/* Measurements of all frames so far, which EOS completes */
std::vector<Signal>
all_signals (Harness &harness)
{
  harness.send (gst_event_new_eos ());
  return signals_on (harness.bus);
}

/* --- frames --- */

std::string
spectrum_caps (const std::string &format, gsize samples, gsize lines,
    const std::string &domain = "wavelength")
{
  return text ("application/x-oct(memory:OpenCLMemory),domain=%s,format=%s,samples=%zu,"
               "lines=%zu,framerate=25/1",
      domain.c_str (), format.c_str (), samples, lines);
}

std::string
depth_caps (
    const std::string &format, gsize depths, gsize lines, const std::string &more = "")
{
  return text ("application/x-oct(memory:OpenCLMemory),domain=depth,format=%s,"
               "samples=%zu,lines=%zu,framerate=25/1%s",
      format.c_str (), depths, lines, more.c_str ());
}

const gsize samples = 512;

/* A-lines of a mirror with camera noise, even in wavenumber and rounded to float */
Values
mirror_lines (double bin, double amplitude, double noise, gsize lines, guint seed = 1)
{
  std::mt19937 random (seed);
  std::normal_distribution<double> normal (0, 1);
  Values frame;
  for (gsize n = 0; n < lines * samples; n++) {
    const double m = double (n % samples);
    frame.push_back (float (amplitude * std::cos (2 * G_PI * bin * m / samples + 0.4)
                            + noise * normal (random)));
  }
  return frame;
}

GstBuffer *
floats (const Values &values, guint frame)
{
  return depths::timed (bytes_of<float> (values), frame);
}

/* --- the same in double precision --- */

/* Magnitude of the transform of a spectrum at a bin with fraction */
double
magnitude_at (const Line &spectrum, double bin)
{
  std::complex<double> sum = 0;
  for (gsize m = 0; m < spectrum.size (); m++)
    sum += spectrum[m]
           * std::polar (1.0, -2 * G_PI * bin * double (m) / double (spectrum.size ()));
  return std::abs (sum);
}

struct Expected {
  double bin, level, width, intensity_width;
};

/* Peak and widths of the root mean square of A-lines, transformed at 1/`fine` bins around
 * `near` */
Expected
peak_of (const std::vector<Line> &spectra, gsize near, double reach = 8, int fine = 64)
{
  Values height;
  for (double bin = double (near) - reach; bin <= double (near) + reach;
       bin += 1.0 / fine) {
    double sum = 0;
    for (const Line &spectrum : spectra)
      sum += std::pow (magnitude_at (spectrum, bin), 2);
    height.push_back (std::sqrt (sum / double (spectra.size ())));
  }
  const auto top = std::max_element (height.begin (), height.end ()) - height.begin ();
  auto width_at = [&] (double part) {
    const double level = height[gsize (top)] * part;
    auto edge = [&] (int direction) {
      auto at = gssize (top);
      while (height[gsize (at)] > level)
        at += direction;
      const double above = height[gsize (at - direction)], below = height[gsize (at)];
      return double (at) - direction * (level - below) / (above - below);
    };
    return (edge (1) - edge (-1)) / fine;
  };
  return {double (near) - reach + double (top) / fine,
      20 * std::log10 (height[gsize (top)]), width_at (0.5), width_at (std::sqrt (0.5))};
}

std::vector<Line>
spectra_of (
    const Values &frame, const reference::Chain &chain, gsize of_samples = samples)
{
  std::vector<Line> spectra;
  for (gsize line = 0; line < frame.size () / of_samples; line++)
    spectra.push_back (reference::spectrum_of (
        chain, Values (frame.begin () + gssize (line * of_samples),
                   frame.begin () + gssize ((line + 1) * of_samples))));
  return spectra;
}

/* Root mean square of the amplitudes of the depths from `from` on, but not within `guard`
 * bins of the peak, in dB */
double
noise_of (const std::vector<Line> &spectra, double peak, double guard, gsize from = 8)
{
  double sum = 0, count = 0;
  for (const Line &spectrum : spectra) {
    const Line bins = reference::depths_of (spectrum);
    for (gsize bin = from; bin < bins.size (); bin++) {
      if (std::abs (double (bin) - peak) <= guard)
        continue;
      sum += std::norm (bins[bin]);
      count++;
    }
  }
  return 10 * std::log10 (sum / count);
}

/* Within 2 %, of a ratio if both are levels in dB */
void
assert_close (double found, double expected, const char *what, double part = 0.02)
{
  fail_unless (std::abs (found / expected - 1) < part, "%s: %g, expected %g", what, found,
      expected);
}

void
assert_level (double found, double expected, const char *what)
{
  const double two_percent = 20 * std::log10 (1.02);
  fail_unless (std::abs (found - expected) < two_percent, "%s: %g dB, expected %g dB",
      what, found, expected);
}

const char *const complex_depths =
    " ! application/x-oct(memory:OpenCLMemory),domain=depth,format=CF32LE";

std::string
chain_line (
    const std::string &spectra, const std::string &depths, const std::string &signal)
{
  return "octwindowinterp " + spectra + " ! octfft" + depths + " ! octsignal interval=0 "
         + signal;
}
} // namespace

/* --- peak, width, noise --- */

namespace {
struct Peaked {
  const char *label, *window;
  double bin;
  const char *line; /* property */
};
} // namespace

TEST_ROWS (test_octsignal_peak_agrees_with_zero_padded_transform,
    std::vector<Peaked>{
        {"hann", "hann", 100, "-1"},
        {"hann, between bins", "hann", 100.5, "-1"},
        {"hann, one A-line", "hann", 100.3, "2"},
        {"hamming", "hamming", 77.7, "-1"},
        {"blackman", "blackman", 120.45, "0"},
        {"gaussian", "gaussian", 60.2, "-1"},
        {"tukey", "tukey", 130.9, "5"},
        {"flattop", "flattop", 140.6, "-1"},
        {"rectangular", "rectangular", 99.75, "-1"},
    })
{
  const gsize lines = 24;
  const Values frame = mirror_lines (row.bin, 1000, 5, lines);
  Harness harness (chain_line (text ("window=%s", row.window), complex_depths,
                       text ("line=%s", row.line)),
      spectrum_caps ("F32LE", samples, lines));
  harness.pass (floats (frame, 0));
  const std::vector<Signal> found = all_signals (harness);
  fail_unless_equals_int (found.size (), 1);

  std::vector<Line> spectra = spectra_of (frame, {row.window});
  if (atoi (row.line) >= 0)
    spectra = {spectra[gsize (atoi (row.line))]};
  const Expected expected = peak_of (spectra, gsize (std::lround (row.bin)));
  fail_unless (found[0].peak ());
  /* The top of a flattop window is flat. */
  const double off = g_str_equal (row.window, "flattop") ? 0.5 : 0.02;
  fail_unless (std::abs (found[0].at ("peak-bin") - expected.bin) < off, "bin %g, not %g",
      found[0].at ("peak-bin"), expected.bin);
  assert_level (found[0].at ("level"), expected.level, "level");
  assert_close (found[0].at ("width"), expected.width, "width");
  assert_close (found[0].at ("intensity-width"), expected.intensity_width, "-3 dB width");
  g_print ("%s: FWHM %.4f, numpy's way %.4f (%+.2f %%)\n", row.label,
      found[0].at ("width"), expected.width,
      100 * (found[0].at ("width") / expected.width - 1));
}

/* The noise of the frame's own depths, away from the peak: with one A-line there are
 * fewer of them, so that a median differs more from the mean. */
TEST_ROWS (test_octsignal_snr_agrees_with_definition, {-1, 7})
{
  const gsize lines = 96;
  double differences = 0, ratio = 0;
  const guint times = row < 0 ? 1 : 40;
  for (guint n = 0; n < times; n++) {
    const Values frame = mirror_lines (100.25, 800, 40, lines, n + 1);
    Harness harness (chain_line ("window=hann", complex_depths, text ("line=%d", row)),
        spectrum_caps ("F32LE", samples, lines));
    harness.pass (floats (frame, 0));
    const Signal found = all_signals (harness).at (0);
    std::vector<Line> spectra = spectra_of (frame, {"hann"});
    if (row >= 0)
      spectra = {spectra[gsize (row)]};
    const double snr = peak_of (spectra, 100).level - noise_of (spectra, 100, 20);
    fail_unless (
        std::abs (found.at ("snr") - found.at ("level") + found.at ("noise-floor"))
        < 1e-9);
    differences += (found.at ("snr") - snr) / times;
    ratio = found.at ("snr") / snr;
  }
  g_print ("line %d: SNR %.4f of the definition, %+.3f dB\n", row, ratio, differences);
  assert_level (differences, 0, "SNR, mean over frames");
}

/* From levels and amplitudes, with the limits that the documentation names */
namespace {
struct Magnitudes {
  const char *label, *window, *octfft;
  double part;
};
} // namespace

TEST_ROWS (test_octsignal_width_of_magnitudes,
    std::vector<Magnitudes>{
        {"hann, dB", "hann", "scale=log", 0.01},
        {"hann, amplitudes", "hann", "scale=linear", 0.01},
        {"hamming", "hamming", "scale=log", 0.012},
        {"blackman", "blackman", "scale=linear", 0.01},
        {"flattop", "flattop", "scale=log", 0.01},
        {"gaussian", "gaussian", "scale=log", 0.04},
    })
{
  for (double fraction : {0.0, 0.15, 0.3, 0.5, 0.8}) {
    const Values frame = mirror_lines (100 + fraction, 1000, 0, 3);
    Harness harness (
        chain_line (text ("window=%s", row.window),
            text (
                " %s ! application/x-oct(memory:OpenCLMemory),format=F32LE", row.octfft),
            ""),
        spectrum_caps ("F32LE", samples, 3));
    harness.pass (floats (frame, 0));
    const Signal found = all_signals (harness).at (0);
    const Expected expected = peak_of (spectra_of (frame, {row.window}), 100);
    assert_close (found.at ("width"), expected.width, row.label, row.part);
    assert_level (found.at ("level"), expected.level, row.label);
  }
}

/* A wide peak, of dispersion that is not compensated */
TEST (test_octsignal_width_with_dispersion)
{
  const Values phase = reference::phase_of (samples, 1e-3, 0);
  Values frame;
  for (gsize m = 0; m < samples; m++)
    frame.push_back (
        float (1000 * std::cos (2 * G_PI * 100.2 * double (m) / samples + phase[m])));
  Harness harness (
      chain_line ("", complex_depths, ""), spectrum_caps ("F32LE", samples, 1));
  harness.pass (floats (frame, 0));
  const Signal found = all_signals (harness).at (0);
  const Expected expected = peak_of (
      spectra_of (frame, {"hann"}), gsize (std::lround (found.at ("peak-bin"))), 90);
  fail_unless (expected.width > 20, "%g bins", expected.width);
  assert_close (found.at ("width"), expected.width, "width");
}

namespace {
struct Sample {
  const char *label, *source, *line;
  bool is_peak;
};
} // namespace

TEST_ROWS (test_octsignal_only_single_peaks_have_a_width,
    std::vector<Sample>{
        {"tissue", "pattern=tissue", "-1", false},
        {"speckle", "pattern=tissue", "7", false},
        {"mirrors far apart", "pattern=mirrors depths=<100,300> amplitudes=<1000,900>",
            "-1", true},
        {"mirrors side by side", "pattern=mirrors depths=<100,112> amplitudes=<1000,900>",
            "-1", false},
        {"weak mirror", "pattern=mirrors depths=<300> amplitudes=<40> noise=100", "3",
            true},
    })
{
  Pipeline pipeline (text (
      "octtestsrc %s num-buffers=1 ! video/x-raw(ANY),width=1024,height=32 ! "
      "octwindowinterp wavelength-min=1187 wavelength-max=1433 wavelength-unit=nm ! "
      "octfft depth-start=8 ! application/x-oct(ANY),format=CF32LE ! "
      "octsignal interval=0 line=%s ! opencldownload ! appsink name=out sync=false",
      row.source, row.line));
  pipeline.start ();
  const std::vector<Signal> found = rest_of_signals (pipeline, 1);
  fail_unless (found[0].peak ());
  fail_unless_equals_int (found[0].has ("width"), row.is_peak);
  fail_unless_equals_int (found[0].has ("intensity-width"), row.is_peak);
}

TEST (test_octsignal_measures_octtestsrc_mirrors)
{
  Pipeline pipeline (
      "octtestsrc pattern=mirrors depths=<150.3> amplitudes=<2000> noise=30 "
      "num-buffers=2 ! "
      "video/x-raw(ANY),width=512,height=32 ! tee name=t "
      "t. ! queue ! identity ! octwindowinterp wavelength-min=1187 wavelength-max=1433 "
      "wavelength-unit=nm interpolation=lanczos16 ! octfft refractive-index=1.4 ! tee "
      "name=u "
      "u. ! queue ! application/x-oct(ANY),format=CF32LE ! octsignal interval=0 ! "
      "opencldownload ! fakesink sync=false "
      "u. ! queue ! fakesink sync=false async=false "
      "t. ! queue ! opencldownload ! video/x-raw ! appsink name=out sync=false");
  pipeline.start ();
  Owned<GstSample> sample = pipeline.pull ();
  const Values frame = numbers_in<guint16> (read_buffer (gst_sample_get_buffer (sample)));
  const std::vector<Signal> found = rest_of_signals (pipeline, 2);
  fail_unless_equals_int (found.size (), 2);

  Values wavelengths;
  for (gsize j = 0; j < samples; j++)
    wavelengths.push_back (1187 + 246.0 * double (j) / (samples - 1));
  reference::Chain chain;
  chain.map = reference::map_of (wavelengths);
  chain.interpolation = "lanczos16";
  const std::vector<Line> spectra = spectra_of (frame, chain);
  const Expected expected = peak_of (spectra, 150);
  const double step = (2 * G_PI / 1.187 - 2 * G_PI / 1.433) / (samples - 1);
  const double micrometres = G_PI / (samples * step * 1.4);
  assert_close (found[0].at ("width"), expected.width, "width");
  assert_close (found[0].at ("width-um"), expected.width * micrometres, "width in µm");
  assert_close (
      found[0].at ("peak-depth"), expected.bin * micrometres, "depth in µm", 1e-3);
  assert_level (found[0].at ("level"), expected.level, "level");
  assert_level (found[0].at ("noise-floor"), noise_of (spectra, 150, 20), "noise");
}

/* A window that is resized asks for plots of another size. The roll-off curve stays. */
TEST (test_octsignal_output_size_changes_while_playing)
{
  Pipeline pipeline (
      "octtestsrc pattern=mirrors depths=<150.3> amplitudes=<2000> num-buffers=40 ! "
      "video/x-raw(ANY),width=512,height=32 ! octwindowinterp name=interp "
      "wavelength-min=1187 wavelength-max=1433 ! octfft ! "
      "application/x-oct(ANY),format=CF32LE ! octsignal interval=0 roll-off=true ! "
      "capsfilter name=size caps=video/x-raw(memory:OpenCLMemory),width=300,height=200 ! "
      "opencldownload ! appsink name=out sync=false max-buffers=1");
  Owned<GstCaps> caps (
      gst_caps_from_string ("video/x-raw(memory:OpenCLMemory),width=400,height=250"));
  pipeline.start ();
  fail_unless (pipeline.pull ());
  /* Without its calibration the mirror is at another depth. */
  g_object_set (pipeline["interp"], "interpolation", 0, nullptr);
  for (int n = 0; n < 10; n++)
    fail_unless (pipeline.pull ());
  g_object_set (pipeline["size"], "caps", (GstCaps *)caps, nullptr);
  int width = 0;
  while (Owned<GstSample> sample = pipeline.pull ())
    gst_structure_get_int (
        gst_caps_get_structure (gst_sample_get_caps (sample), 0), "width", &width);
  fail_unless_equals_int (width, 400);
  std::vector<Signal> found;
  fail_unless (soon ([&] {
    for (const Signal &signal : signals_on (pipeline.bus))
      found.push_back (signal);
    return found.size () >= 40;
  }));
  fail_unless (found.front ().values ("roll-off-bins").size () == 1
                   && found.back ().values ("roll-off-bins").size () > 1,
      "%s", found.back ().text ().c_str ());
}

/* --- the width in theory --- */

TEST_ROWS (test_octsignal_width_in_theory,
    {"hann", "hamming", "blackman", "gaussian", "tukey", "flattop", "rectangular"})
{
  Values source;
  for (gsize j = 0; j < samples; j++)
    source.push_back (std::exp (-std::pow ((double (j) - 240) / 90, 2)));
  const TableFile file (source);
  const Values window = reference::scaled_window (row, samples);
  Line alone, product;
  for (gsize m = 0; m < samples; m++) {
    alone.emplace_back (window[m]);
    product.emplace_back (window[m] * source[m]);
  }
  Harness harness (chain_line (std::string ("background=file background-file=")
                                   + file.path + " padded-samples=1024 window=" + row,
                       complex_depths, ""),
      spectrum_caps ("F32LE", samples, 2));
  harness.pass (floats (mirror_lines (100, 1000, 1, 2), 0));
  const Signal found = all_signals (harness).at (0);
  /* Bins are half as far apart after padding. */
  const double of_window = 2 * peak_of ({alone}, 0).width;
  const double of_product = 2 * peak_of ({product}, 0).width;
  assert_close (found.at ("window-width"), of_window, "window", 1e-3);
  assert_close (found.at ("spectrum-width"), of_product, "spectrum", 1e-3);
  fail_unless (of_product > 1.05 * of_window, "%g, %g", of_product, of_window);
}

TEST (test_octsignal_theory_is_absent_without_octwindowinterp)
{
  Harness harness ("octsignal", depth_caps ("CF32LE", 64, 2));
  harness.pass (depths::complex_frame (depths::speckle (1, 128), 0));
  const Signal found = all_signals (harness).at (0);
  fail_if (found.has ("window-width") || found.has ("spectrum-width"), "%s",
      found.text ().c_str ());
}

/* --- roll-off --- */

namespace {
/* Response of a pixel to a fringe at `share` of the last depth: the mean over the pixel's
 * width and a Gaussian spot of standard deviation `spot` pixels, as a sum over points */
double
pixel_response (double share, double spot)
{
  double sum = 0, weights = 0;
  const int points = 41;
  for (int n = 0; n < points; n++) {
    const double in_pixel = (n + 0.5) / points - 0.5;
    for (int k = -40; k <= 40; k++) {
      const double in_spot = k * spot / 10, weight = std::exp (-0.5 * k * k / 100.0);
      sum += weight * std::cos (G_PI * share * (in_pixel + in_spot));
      weights += weight;
    }
  }
  return sum / weights;
}

/* The same by its formula: sinc of the pixel times Gaussian of the spot (Hu, Pan and
 * Rollins, 2007) */
double
roll_off_level (double share, double spot)
{
  const double x = G_PI * share / 2;
  return 20 * std::log10 (std::sin (x) / x)
         - 10 / std::log (10) * std::pow (G_PI * share * spot, 2);
}

struct Fit {
  double slope, level;
};

Fit
line_through (const Values &x, const Values &y)
{
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const double n = double (x.size ());
  for (gsize i = 0; i < x.size (); i++) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  return {slope, (sy - slope * sx) / n};
}
} // namespace

TEST (test_octsignal_roll_off_of_a_simulated_spectrometer)
{
  const double spot = 0.45, micrometres = 4.2;
  Harness harness ("octsignal interval=0 roll-off=true",
      depth_caps (
          "CF32LE", samples / 2, 4, text (",depth-step=(double)%g", micrometres)));
  Values bins, levels;
  guint number = 0;
  for (double bin = 10; bin < 250; bin += 7.3) {
    const double share = bin / (samples / 2);
    const Values frame =
        mirror_lines (bin, 1000 * pixel_response (share, spot), 3, 4, ++number);
    depths::Pairs pairs;
    for (const Line &spectrum : spectra_of (frame, {"hann"})) {
      const Line line = reference::depths_of (spectrum);
      pairs.insert (pairs.end (), line.begin (), line.end ());
    }
    harness.pass (depths::complex_frame (pairs, number));
    bins.push_back (bin);
    levels.push_back (60 + roll_off_level (share, spot));
  }
  const Signal found = all_signals (harness).back ();
  const Values found_bins = found.values ("roll-off-bins");
  const Values found_levels = found.values ("roll-off-levels");
  fail_unless_equals_int (found_bins.size (), bins.size ());
  for (gsize n = 0; n < bins.size (); n++) {
    fail_unless (std::abs (found_bins[n] - bins[n]) < 0.05, "bin %g, not %g",
        found_bins[n], bins[n]);
    assert_level (found_levels[n], levels[n], "level of the curve");
  }
  const double slope = line_through (bins, levels).slope;
  assert_close (found.at ("roll-off-slope"), slope, "dB per bin");
  assert_close (found.at ("roll-off-slope-mm"), 1000 * slope / micrometres, "dB per mm");
  double six = bins[0];
  while (
      60 + roll_off_level (six / (samples / 2), spot) > levels[0] - 20 * std::log10 (2))
    six += 0.01;
  assert_close (found.at ("roll-off-6db-bin"), six, "6 dB bin");
  assert_close (found.at ("roll-off-6db-depth"), six * micrometres, "6 dB depth");
  g_print ("roll-off: %.4f dB/bin, expected %.4f; 6 dB at %.2f, expected %.2f\n",
      found.at ("roll-off-slope"), slope, found.at ("roll-off-6db-bin"), six);
}

TEST (test_octsignal_roll_off_starts_again_when_it_is_set)
{
  Harness harness (
      chain_line ("", complex_depths, ""), spectrum_caps ("F32LE", samples, 1));
  GstElement *signal = harness.find ("octsignal");
  const struct {
    const char *settings;
    double bin;
    gsize points; /* of the curve; 0: it is absent */
  } steps[] = {{"", 30, 0}, {"roll-off=true", 40, 1}, {"", 60, 2}, {"line=0", 80, 3},
      {"roll-off=false", 100, 3}, {"roll-off=true", 120, 1}, {"", 120, 1}};
  guint number = 0;
  for (const auto &step : steps) {
    if (*step.settings)
      set_together (signal, step.settings);
    harness.pass (floats (mirror_lines (step.bin, 1000, 1, 1), number++));
  }
  const std::vector<Signal> found = all_signals (harness);
  fail_unless_equals_int (found.size (), G_N_ELEMENTS (steps));
  for (gsize n = 0; n < found.size (); n++)
    fail_unless (found[n].values ("roll-off-bins").size () == steps[n].points, "%zu: %s",
        n, found[n].text ().c_str ());
}

/* --- no peak --- */

TEST_ROWS (test_octsignal_noise_has_no_peak, {"line=-1", "line=3"})
{
  Harness harness (
      chain_line ("", complex_depths, row), spectrum_caps ("F32LE", samples, 8));
  const guint frames = 200;
  for (guint n = 0; n < frames; n++)
    harness.pass (floats (mirror_lines (100, 0, 20, 8, n + 1), n));
  const std::vector<Signal> found = all_signals (harness);
  fail_unless_equals_int (found.size (), frames);
  for (const Signal &signal : found) {
    fail_if (signal.peak (), "%s", signal.text ().c_str ());
    for (const char *field : {"peak-bin", "level", "width", "snr"})
      fail_if (signal.has (field), "%s", field);
    fail_unless (std::abs (signal.at ("noise-floor") - 10) < 12);
  }
}

TEST_ROWS (test_octsignal_empty_depths_have_no_peak, {"CF32LE", "F32LE"})
{
  Harness harness ("octsignal interval=0",
      depth_caps (
          row, 64, 2, g_str_equal (row, "F32LE") ? ",quantity=(string)amplitude" : ""));
  const gsize values = g_str_equal (row, "F32LE") ? 128 : 256;
  harness.pass (floats (Values (values, 0), 0));
  harness.pass (floats (Values (values, std::nan ("")), 1));
  for (const Signal &signal : all_signals (harness))
    fail_if (signal.peak (), "%s", signal.text ().c_str ());
}

TEST (test_octsignal_finds_no_peak_below_dc_depths)
{
  Harness harness (chain_line ("", complex_depths, "dc-depths=20"),
      spectrum_caps ("F32LE", samples, 1));
  harness.pass (floats (mirror_lines (12, 1000, 1, 1), 0));
  fail_if (all_signals (harness).at (0).peak ());
}

TEST (test_octsignal_counts_bins_from_zero_delay)
{
  Harness harness (
      chain_line (
          "", std::string (" depth-start=60 depth-count=100") + complex_depths, ""),
      spectrum_caps ("F32LE", samples, 1));
  harness.pass (floats (mirror_lines (100.25, 1000, 1, 1), 0));
  const double bin = all_signals (harness).at (0).at ("peak-bin");
  fail_unless (std::abs (bin - 100.25) < 0.01, "%g", bin);
}

/* --- spectra --- */

namespace {
/* Integer samples, of which some are saturated */
struct Saturated {
  const char *label, *format, *settings;
  double full_scale;
  Values values; /* one A-line of 16 */
  double saturated, minimum, maximum;
};
} // namespace

TEST_ROWS (test_octsignal_counts_saturated_samples,
    std::vector<Saturated>{
        {"8 bits", "U8", "", 255, {0, 255, 254, 255, 1}, 2, 0, 255},
        {"16 bits", "U16LE", "", 65535, {65535, 65534, 7}, 1, 0, 65535},
        {"12 bits of 16", "U16LE", "full-scale=4095", 4095, {4095, 4094, 5000}, 2, 0,
            5000},
        {"upper bits", "U16LE", "bit-shift=4", 4095, {65535, 65520, 65519}, 2, 0, 4095},
        {"signed", "S16LE", "", 32767, {32767, -32768, -32767, 5}, 2, -32768, 32767},
        {"none", "U16LE", "", 65535, {65534, 5}, 0, 0, 65534},
    })
{
  const gsize lines = 30;
  Values line = row.values, frame;
  line.resize (16, 0);
  for (gsize n = 0; n < lines; n++)
    frame.insert (frame.end (), line.begin (), line.end ());
  const Bytes bytes = g_str_equal (row.format, "U8")      ? bytes_of<guint8> (frame)
                      : g_str_equal (row.format, "S16LE") ? bytes_of<gint16> (frame)
                                                          : bytes_of<guint16> (frame);
  Harness harness (
      std::string ("octsignal ") + row.settings, spectrum_caps (row.format, 16, lines));
  harness.pass (depths::timed (bytes, 0));
  const Signal found = all_signals (harness).at (0);
  fail_unless (found.at ("saturated") == row.saturated * lines
                   && found.at ("full-scale") == row.full_scale
                   && found.at ("minimum") == row.minimum
                   && found.at ("maximum") == row.maximum,
      "%s", found.text ().c_str ());
  assert_close (found.at ("saturated-share") + 1, row.saturated / 16 + 1, "share", 1e-6);
}

TEST_ROWS (test_octsignal_spectrum_of_a_line_and_of_the_mean, {-1, 0, 20})
{
  const gsize of_samples = 100, lines = 21;
  std::mt19937 random (4);
  Values frame;
  for (gsize n = 0; n < of_samples * lines; n++)
    frame.push_back (random () % 65536);
  Harness harness (text ("octsignal interval=0 message-values=true line=%d", row),
      "video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,width=100,height=21,"
      "framerate=25/1");
  harness.pass (depths::timed (bytes_of<guint16> (frame), 0));
  const Signal found = all_signals (harness).at (0);
  const Values mean = reference::mean_of (frame, of_samples);
  const Values spectrum = found.values ("spectrum"),
               background = found.values ("background");
  fail_unless_equals_int (spectrum.size (), of_samples);
  for (gsize j = 0; j < of_samples; j++) {
    const double expected = row < 0 ? mean[j] : frame[gsize (row) * of_samples + j];
    fail_unless (std::abs (spectrum[j] - expected) < 0.02, "%zu: %g, not %g", j,
        spectrum[j], expected);
    fail_unless (std::abs (background[j] - mean[j]) < 0.02);
  }
}

TEST (test_octsignal_background_is_a_rolling_mean)
{
  Harness harness ("octsignal interval=0 message-values=true background-frames=3",
      spectrum_caps ("F32LE", 16, 1));
  double expected = 0;
  for (guint n = 0; n < 6; n++) {
    const double value = 100 + 10 * (n * n % 7);
    expected += (value - expected) / std::min (n + 1, 3u);
    harness.pass (floats (Values (16, value), n));
  }
  const Values found = all_signals (harness).back ().values ("background");
  assert_close (found.at (7), expected, "background", 1e-5);
}

TEST (test_octsignal_leaves_out_samples_that_are_not_finite)
{
  const gsize lines = 5;
  Values frame (16 * lines, 2);
  frame[3] = std::nan ("");
  frame[16 + 3] = INFINITY;
  Harness harness ("octsignal message-values=true", spectrum_caps ("F32LE", 16, lines));
  harness.pass (floats (frame, 0));
  const Signal found = all_signals (harness).at (0);
  fail_unless (found.at ("nonfinite") == 2 && found.at ("maximum") == 2
                   && found.at ("saturated") == 0 && found.values ("spectrum")[3] == 2,
      "%s", found.text ().c_str ());
}

/* NaN in one A-line leaves the mean of the others. */
TEST (test_octsignal_depths_of_a_line_with_nan)
{
  Values frame = mirror_lines (100.25, 1000, 1, 4);
  const Expected expected = peak_of (
      spectra_of (Values (frame.begin () + samples, frame.end ()), {"hann"}), 100);
  frame[17] = std::nan ("");
  Harness harness (
      chain_line ("", complex_depths, ""), spectrum_caps ("F32LE", samples, 4));
  harness.pass (floats (frame, 0));
  const Signal found = all_signals (harness).at (0);
  assert_level (found.at ("level"), expected.level, "level");
  assert_close (found.at ("width"), expected.width, "width");
}

TEST_ROWS (test_octsignal_takes_even_wavenumbers, {"F32LE", "CF32LE"})
{
  const bool complex = row[0] == 'C';
  Harness harness (
      "octsignal message-values=true", spectrum_caps (row, 16, 2, "wavenumber"));
  Values frame;
  for (gsize n = 0; n < 32; n++) {
    frame.push_back (3);
    if (complex)
      frame.push_back (-4);
  }
  harness.pass (floats (frame, 0));
  const Signal found = all_signals (harness).at (0);
  fail_unless (std::abs (found.at ("mean") - (complex ? 5 : 3)) < 1e-5, "%s",
      found.text ().c_str ());
}

/* --- settings, caps and the stream --- */

TEST (test_octsignal_line_beyond_the_frame)
{
  {
    Harness harness ("octsignal line=4", spectrum_caps ("F32LE", 16, 4));
    fail_unless_equals_int (
        harness.push (floats (Values (64, 1), 0)), GST_FLOW_NOT_NEGOTIATED);
    harness.messages ().expect_one_error ({"line is 4", "at most 3"});
  }
  Harness harness ("octsignal interval=0 line=3", spectrum_caps ("F32LE", 16, 4));
  harness.pass (floats (Values (64, 1), 0));
  set_together (harness.find ("octsignal"), "line=4");
  harness.pass (floats (Values (64, 1), 1));
  std::vector<Signal> found = signals_on (harness.bus);
  harness.set_caps (spectrum_caps ("F32LE", 16, 3));
  harness.pass (floats (Values (48, 1), 2));
  set_together (harness.find ("octsignal"), "line=2");
  harness.pass (floats (Values (48, 1), 3));
  harness.send (gst_event_new_eos ());
  std::vector<int> lines;
  guint warnings = 0;
  while (GstMessage *message = gst_bus_pop (harness.bus)) {
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT)
      found.emplace_back (gst_message_get_structure (message));
    warnings += GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING;
    gst_message_unref (message);
  }
  for (const Signal &signal : found)
    lines.push_back (int (signal.at ("line")));
  fail_unless (lines == std::vector<int> ({3, 3, -1, 2}));
  fail_unless (warnings >= 1 && warnings <= 2, "%u warnings", warnings);
}

TEST (test_octsignal_caps_change)
{
  Harness harness ("octsignal interval=0", spectrum_caps ("F32LE", 16, 4));
  harness.pass (floats (Values (64, 1), 0));
  harness.set_caps (depth_caps ("CF32LE", 64, 2));
  harness.pass (depths::complex_frame (depths::speckle (1, 128), 1));
  harness.set_caps ("video/x-raw(memory:OpenCLMemory),format=GRAY8,width=32,height=2,"
                    "framerate=25/1");
  harness.pass (depths::timed (Bytes (64, 7), 2));
  std::vector<std::string> domains;
  for (const Signal &signal : all_signals (harness))
    domains.push_back (signal.has ("peak") ? "depth" : text ("%g", signal.at ("mean")));
  fail_unless (domains == std::vector<std::string> ({"1", "depth", "7"}));
}

/* 20 frames of 20 ms */
TEST_ROWS (test_octsignal_interval, {0, 40, 50, 100, 1000})
{
  Harness harness (
      text ("octsignal interval=%d000000", row), spectrum_caps ("F32LE", 16, 1));
  const guint frames = 20, time = 20; /* ms */
  guint pictures = 0;
  for (guint n = 0; n < frames; n++) {
    harness.push (floats (Values (16, 1), n));
    pictures += depths::waiting (harness) > 0;
    if (depths::waiting (harness) > 0)
      harness.pull ();
  }
  const std::vector<Signal> found = all_signals (harness);
  /* The first frame that is not earlier than each multiple of the interval */
  std::vector<guint> expected;
  for (guint n = 0, due = 0; n < frames; n++) {
    if (n * time < due)
      continue;
    expected.push_back (n);
    due += row;
  }
  fail_unless_equals_int (found.size (), expected.size ());
  fail_unless_equals_int (pictures, expected.size ());
  for (gsize n = 0; n < found.size (); n++)
    fail_unless (found[n].at ("timestamp") == double (expected[n] * depths::each), "%s",
        found[n].text ().c_str ());
}

TEST (test_octsignal_interval_without_timestamps)
{
  Harness harness ("octsignal interval=100000000", spectrum_caps ("F32LE", 16, 1));
  const gint64 start = g_get_monotonic_time ();
  guint pushed = 0;
  while (g_get_monotonic_time () < start + 450 * G_TIME_SPAN_MILLISECOND) {
    harness.push (buffer_of (bytes_of<float> (Values (16, 1))));
    pushed++;
    g_usleep (2000);
  }
  const gsize found = all_signals (harness).size ();
  fail_unless (found >= 2 && found <= 6 && pushed > found, "%zu of %u", found, pushed);
}

TEST (test_octsignal_post_messages)
{
  Harness harness (
      "octsignal interval=0 post-messages=false", spectrum_caps ("F32LE", 16, 1));
  harness.pass (floats (Values (16, 1), 0));
  set_together (harness.find ("octsignal"), "post-messages=true");
  harness.pass (floats (Values (16, 2), 1));
  const std::vector<Signal> found = all_signals (harness);
  fail_unless (found.size () == 1 && found[0].at ("mean") == 2);
}

TEST (test_octsignal_flush_and_restart)
{
  Harness harness (
      "octsignal interval=0 message-values=true", spectrum_caps ("F32LE", 16, 1));
  for (guint n = 0; n < 3; n++)
    harness.pass (floats (Values (16, 10), n));
  harness.flush ();
  harness.start_segment ();
  signals_on (harness.bus);
  harness.pass (floats (Values (16, 30), 0));
  std::vector<Signal> found = all_signals (harness);
  fail_unless (
      found.size () == 1 && std::abs (found[0].values ("background")[0] - 30) < 1e-5,
      "%zu", found.size ());
  harness.restart (spectrum_caps ("F32LE", 16, 1));
  harness.pass (floats (Values (16, 50), 0));
  found = all_signals (harness);
  fail_unless (
      found.size () == 1 && std::abs (found[0].values ("background")[0] - 50) < 1e-5);
}

/* A camera would choose the size of the plot. */
TEST (test_octsignal_size_of_the_plot_is_not_that_of_the_input)
{
  Owned<GstElement> pipeline = gst_parse_launch (
      "octsignal name=signal ! "
      "video/x-raw(memory:OpenCLMemory),width=640,height=560 ! fakesink",
      nullptr);
  Owned<GstElement> signal =
      gst_bin_get_by_name (GST_BIN ((GstElement *)pipeline), "signal");
  Owned<GstPad> pad = gst_element_get_static_pad (signal, "sink");
  Owned<GstCaps> caps = gst_pad_query_caps (pad, nullptr);
  gint width;
  fail_if (gst_structure_get_int (gst_caps_get_structure (caps, 0), "width", &width));
}

TEST (test_octsignal_leaves_out_gaps)
{
  Harness harness ("octsignal interval=0", spectrum_caps ("F32LE", 16, 1));
  harness.pass (floats (Values (16, 1), 0));
  harness.push (depths::timed (bytes_of<float> (Values (16, 9)), 1, GST_BUFFER_FLAG_GAP));
  harness.pass (floats (Values (16, 2), 2));
  const std::vector<Signal> found = all_signals (harness);
  fail_unless (found.size () == 2 && found[1].at ("mean") == 2);
}

/* --- the plot --- */

namespace {
struct Plot {
  const char *label, *caps;
  gsize width, height, bytes;
};
} // namespace

/* Two levels become two horizontal lines, and the step is between the columns of both. */
TEST_ROWS (test_octsignal_plot,
    std::vector<Plot>{
        {"default", "video/x-raw(ANY)", 640, 360, 4},
        {"grey", "video/x-raw(ANY),format=GRAY8,width=400,height=300", 400, 300, 1},
        {"small", "video/x-raw(ANY),format=RGBA,width=200,height=140", 200, 140, 4},
    })
{
  Harness harness (std::string ("octsignal ! ") + row.caps + " ! opencldownload",
      spectrum_caps ("F32LE", 256, 1));
  Values line (256, 100);
  std::fill (line.begin () + 128, line.end (), 50);
  const Bytes pixels = read_buffer (harness.pass (floats (line, 0)));
  fail_unless_equals_int (pixels.size (), row.width * row.height * row.bytes);
  /* The curve has the only strong green. */
  auto is_curve = [&] (gsize x, gsize y) {
    const guint8 *at = &pixels[(y * row.width + x) * row.bytes];
    return row.bytes == 1 ? at[0] > 170 && at[0] < 195 : at[1] > 200 && at[0] < 120;
  };
  auto row_of = [&] (double share) {
    const gsize x = gsize (share * double (row.width));
    Values rows;
    for (gsize y = row.height / 4; y < row.height; y++) {
      if (is_curve (x, y))
        rows.push_back (double (y));
    }
    fail_unless (!rows.empty () && rows.back () - rows.front () < 4, "%zu rows at %g",
        rows.size (), share);
    return rows[rows.size () / 2];
  };
  const double left = row_of (0.4), right = row_of (0.8);
  fail_unless (left == row_of (0.3) && right == row_of (0.85));
  fail_unless (right - left > double (row.height) * 0.15, "%g, %g", left, right);
}

TEST_ROWS (test_octsignal_plot_of_any_size, {1, 2, 7, 31, 65, 100, 333, 2000})
{
  for (guint text_size : {0, 1, 1024}) {
    Harness harness (
        text ("octsignal interval=0 text-size=%u ! video/x-raw(ANY),width=%d,height=%d "
              "! opencldownload",
            text_size, row, row),
        spectrum_caps ("F32LE", 16, 1));
    /* The text of a frame is drawn at the next one. */
    for (guint n = 0; n < 5; n++) {
      const Owned<GstBuffer> plot = harness.pass (floats (Values (16, 10), n));
      fail_unless_equals_int (gst_buffer_get_size (plot), gsize (row) * gsize (row) * 4);
    }
    fail_unless (harness.messages ().is_clean ());
  }
}

TEST_ROWS (test_octsignal_frames_of_any_size, {1, 2, 3, 17, 64, 1000})
{
  for (guint lines : {1u, 2u, 33u}) {
    Harness harness ("octsignal", depth_caps ("CF32LE", gsize (row), lines));
    harness.pass (depths::complex_frame (depths::speckle (1, gsize (row) * lines), 0));
    fail_unless (harness.messages ().is_clean ());
  }
}

/* --- measured spectra, of the folder that GST_OPENCL_TEST_DATA names --- */

static std::string
data_folder ()
{
  return data_path ("oct/scatterer/");
}

static const bool data_is_required = require_data ("test_measured_");

static Values
load (const std::string &name)
{
  Values values;
  std::vector<gsize> shape;
  GError *error = nullptr;
  fail_unless (
      opencl::npy_load_doubles ((data_folder () + name).c_str (), values, shape, &error),
      "%s", error ? error->message : "");
  return values;
}

TEST_ROWS (test_measured_octsignal_width, {"", "dispersion-phase"})
{
  Values frame = load ("mirror1.npy");
  const Values sample = load ("dark_sample1.npy"), arm = load ("dark_ref.npy"),
               dark = load ("dark_not.npy");
  for (gsize j = 0; j < frame.size (); j++)
    frame[j] = float (frame[j] - sample[j] - arm[j] + dark[j]);
  reference::Chain chain;
  chain.map = load ("klinear_frac_index.npy");
  std::string settings = "resample-map=" + data_folder () + "klinear_frac_index.npy";
  if (*row) {
    chain.phase = load ("dispersion_phase.npy");
    settings += " dispersion-phase=" + data_folder () + "dispersion_phase.npy";
  }
  Harness harness (chain_line (settings, complex_depths, ""),
      spectrum_caps ("F32LE", frame.size (), 1));
  harness.pass (floats (frame, 0));
  const Signal found = all_signals (harness).at (0);
  const std::vector<Line> spectra = spectra_of (frame, chain, frame.size ());
  const Expected expected =
      peak_of (spectra, gsize (std::lround (found.at ("peak-bin"))));
  g_print ("mirror1 %s: FWHM %.4f bins, expected %.4f\n", row, found.at ("width"),
      expected.width);
  assert_close (found.at ("width"), expected.width, "width");
  assert_level (found.at ("level"), expected.level, "level");
}
