/* Tests of the whole OCT chain, from files of raw spectra to files of depths and images,
 * against the same chain in double precision. "oct_chain data" runs tests of measured
 * spectra in the folder GST_OPENCL_TEST_DATA.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <clocale>
#include <numeric>

#include "tests/check/fft-libraries.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/octreference.hpp"
#include "tests/check/harness.hpp"

using namespace check;
using reference::Chain;
using reference::Display;
using reference::Values;

namespace {
const Display display = {false, 0, 70};

enum class Background { NONE, FRAME, ROLLING, FILE };
enum class Wavelengths { NONE, RISING, FALLING };

struct Case {
  const char *label;
  gsize samples, lines, frames;
  Wavelengths wavelengths;
  Background background;
  double a2, a3;
};

/* Lengths that both FFT libraries support, with numbers of A-lines that need padding in
 * images */
const Case cases[] = {
    {"even in wavenumber", 512, 16, 3, Wavelengths::NONE, Background::NONE, 0, 0},
    {"resampled", 2048, 24, 2, Wavelengths::RISING, Background::NONE, 0, 0},
    {"dispersed", 2048, 21, 2, Wavelengths::RISING, Background::FRAME, 8e-5, 2.7e-9},
    {"odd", 1001, 7, 4, Wavelengths::FALLING, Background::ROLLING, 0, 0},
    {"odd and dispersed", 1000, 13, 2, Wavelengths::FALLING, Background::NONE, -3e-4, 0},
};

/* --- raw spectra --- */

/* Uneven in wavenumber, as a spectrometer is. */
Values
wavelengths_of (const Case &of)
{
  Values lambda (of.samples);
  for (gsize j = 0; j < of.samples; j++) {
    double u = double (j) / (of.samples - 1);
    lambda[j] = 1187 + 246 * (u + 0.05 * u * (1 - u));
  }
  if (of.wavelengths == Wavelengths::FALLING)
    std::reverse (lambda.begin (), lambda.end ());
  return lambda;
}

/* 16-bit fringes of three mirrors on the spectrum of a lamp, with noise. The depths of
 * the mirrors drift from A-line to A-line. [frame][line][sample] */
std::vector<guint16>
raw_spectra (const Case &of)
{
  std::mt19937 random (of.samples + of.lines);
  std::normal_distribution<double> noise (0, 25);
  std::vector<guint16> raw;
  for (gsize line = 0; line < of.frames * of.lines; line++) {
    for (gsize j = 0; j < of.samples; j++) {
      double u = double (j) / of.samples;
      double lamp = 3000 * std::exp (-8 * (u - 0.5) * (u - 0.5));
      double x = lamp + noise (random);
      for (double depth : {0.02, 0.11, 0.31})
        x += 0.2 * lamp * std::cos (2 * G_PI * u * of.samples * (depth + 1e-3 * line));
      raw.push_back (guint16 (std::lround (std::clamp (x, 0.0, 65535.0))));
    }
  }
  return raw;
}

/* --- the chain in double precision --- */

/* Returns the background of the given kind. The values of a background file are
 * synthetic. */
Values
background_of (Background kind, const std::vector<Values> &frames, gsize n, gsize samples)
{
  const gsize rolling_frames = 16; /* the default */
  Values file (samples);
  for (gsize j = 0; j < samples; j++)
    file[j] = 500 + 400 * std::sin (0.005 * j);
  if (kind == Background::FILE)
    return file;
  if (kind == Background::ROLLING)
    return reference::rolling_mean (frames, n, rolling_frames, samples);
  return kind == Background::FRAME ? reference::mean_of (frames[n], samples) : Values ();
}

/* Decibels: [frame][line][bin] */
Values
decibels_of (
    Chain chain, Background kind, const std::vector<Values> &frames, gsize samples)
{
  Values decibels;
  for (gsize n = 0; n < frames.size (); n++) {
    chain.background = background_of (kind, frames, n, samples);
    for (auto line = frames[n].begin (); line != frames[n].end (); line += samples) {
      Values x (line, line + samples);
      for (auto bin : reference::depths_of (reference::spectrum_of (chain, x)))
        decibels.push_back (reference::decibels (std::abs (bin)));
    }
  }
  return decibels;
}

Values
expected_of (const Case &of, const std::vector<guint16> &raw)
{
  const gsize size = of.lines * of.samples;
  Chain chain;
  std::vector<Values> frames;
  if (of.wavelengths != Wavelengths::NONE)
    chain.map = reference::map_of (wavelengths_of (of));
  if (of.a2 != 0 || of.a3 != 0)
    chain.phase = reference::phase_of (of.samples, of.a2, of.a3);
  for (gsize n = 0; n < of.frames; n++)
    frames.emplace_back (raw.begin () + n * size, raw.begin () + (n + 1) * size);
  return decibels_of (chain, of.background, frames, of.samples);
}

/* --- files --- */

gsize
round_up_4 (gsize bytes)
{
  return (bytes + 3) / 4 * 4;
}

std::string
bytes_of (const guint16 *values, gsize n)
{
  return std::string (reinterpret_cast<const char *> (values), n * 2);
}

/* Raw spectra as images in a file: rows are padded to 4 bytes. */
std::string
as_pictures (const Case &of, const std::vector<guint16> &raw)
{
  std::string bytes;
  for (gsize line = 0; line < of.frames * of.lines; line++) {
    std::string row = bytes_of (&raw[line * of.samples], of.samples);
    row.resize (round_up_4 (row.size ()), '\xee');
    bytes += row;
  }
  return bytes;
}

std::string
as_npy (const Case &of, const std::vector<guint16> &raw)
{
  std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': ("
                       + std::to_string (of.frames) + ", " + std::to_string (of.lines)
                       + ", " + std::to_string (of.samples) + "), }";
  header.resize ((10 + header.size () + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string start ("\x93NUMPY\x01\x00", 8);
  start += char (header.size () & 0xff);
  start += char (header.size () >> 8);
  return start + header + bytes_of (raw.data (), raw.size ());
}

/* --- pipelines --- */

std::string
from_pictures (const Case &of, Folder &folder, const std::vector<guint16> &raw)
{
  return "filesrc location=" + folder.write ("spectra.raw", as_pictures (of, raw))
         + " ! rawvideoparse format=gray16-le width=" + std::to_string (of.samples)
         + " height=" + std::to_string (of.lines);
}

std::string
from_npy (const Case &of, Folder &folder, const std::vector<guint16> &raw)
{
  return "filesrc location=" + folder.write ("spectra.npy", as_npy (of, raw))
         + " ! npyparse";
}

/* A file without a header, whose reader pushes one frame per buffer */
std::string
from_blocks (const Case &of, Folder &folder, const std::vector<guint16> &raw)
{
  return "filesrc location="
         + folder.write ("spectra.bin", bytes_of (raw.data (), raw.size ()))
         + " blocksize=" + std::to_string (of.lines * of.samples * 2)
         + " ! application/x-oct,domain=wavelength,format=U16LE,samples="
         + std::to_string (of.samples) + ",lines=" + std::to_string (of.lines)
         + ",framerate=25/1";
}

using Source = std::string (*) (
    const Case &of, Folder &folder, const std::vector<guint16> &raw);

const Source sources[] = {from_pictures, from_npy, from_blocks};

std::string
text_of (const Values &values)
{
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];
  std::string text;
  for (double value : values)
    text += std::string (g_ascii_dtostr (number, sizeof number, value)) + "\n";
  return text;
}

std::string
window_element (const Case &of, Folder &folder)
{
  const char *const backgrounds[] = {"none", "frame", "rolling", "file"};
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];
  std::string line = "octwindowinterp";

  line += std::string (" background=") + backgrounds[int (of.background)];
  if (of.a2 != 0)
    line +=
        std::string (" dispersion-a2=") + g_ascii_dtostr (number, sizeof number, of.a2);
  if (of.a3 != 0)
    line +=
        std::string (" dispersion-a3=") + g_ascii_dtostr (number, sizeof number, of.a3);
  if (of.background == Background::FILE)
    line += " background-file="
            + folder.write ("background.txt",
                text_of (background_of (of.background, {}, 0, of.samples)));
  if (of.wavelengths == Wavelengths::NONE)
    return line;
  return line + " wavelengths="
         + folder.write ("wavelengths.txt", text_of (wavelengths_of (of)));
}

std::string
depth_element (const char *library)
{
  return std::string ("octfft fft-library=") + library + " db-min=0 db-max=70";
}

const char to_decibels[] = "opencldownload ! application/x-oct,domain=depth,format=F32LE";
const char to_picture[] = "opencldownload ! video/x-raw,format=GRAY8";

void
run_to_end (const std::string &line)
{
  Outcome outcome = run (line);
  fail_unless (outcome.eos && outcome.errors.empty (), "%s: %s", line.c_str (),
      outcome.errors.empty () ? "no EOS" : outcome.errors[0].c_str ());
}

/* --- checks --- */

/* Expected output */
struct Expected {
  const char *label;
  gsize depths, lines;
  Values decibels; /* [frame][line][depth] */
  double floor;    /* only higher levels are compared */
  Display display;
};

void
check_decibels (const Expected &of, const std::string &bytes)
{
  expect_equal (bytes.size (), of.decibels.size () * sizeof (float));
  gsize above = 0;
  for (gsize i = 0; i < of.decibels.size (); i++) {
    float is;
    memcpy (&is, bytes.data () + i * sizeof is, sizeof is);
    if (of.decibels[i] <= of.floor)
      continue;
    above++;
    if (!(std::abs (is - of.decibels[i]) <= 0.05))
      ck_abort_msg ("%s: line %zu depth %zu is %f dB, expected %f", of.label,
          i / of.depths, i % of.depths, is, of.decibels[i]);
  }
  /* Otherwise this would check nothing. */
  fail_unless (above > of.decibels.size () / 8, "%s: %zu values above %g dB", of.label,
      above, of.floor);
}

void
check_pictures (const Expected &of, const std::string &bytes)
{
  const gsize stride = round_up_4 (of.lines), size = of.decibels.size ();
  expect_equal (bytes.size (), size / of.lines * stride);
  gsize near = 0, shades = 0;
  for (gsize i = 0; i < size; i++) {
    gsize line = i / of.depths, depth = i % of.depths;
    gsize frame = line / of.lines, column = line % of.lines;
    double amplitude = std::pow (10, of.decibels[i] / 20);
    int should = int (std::lround (of.display.pixel (amplitude, 255)));
    int is = guint8 (bytes[(frame * of.depths + depth) * stride + column]);
    near += std::abs (is - should) <= 1;
    shades += should > 0 && should < 255;
    if (std::abs (is - should) > 2)
      ck_abort_msg ("%s: frame %zu depth %zu A-line %zu is %d, expected %d", of.label,
          frame, depth, column, is, should);
  }
  fail_unless (
      near >= size * 0.999, "%s: %zu of %zu within one level", of.label, near, size);
  fail_unless (shades > size / 4, "%s: the image is empty", of.label);
}

Expected
expect (const Case &of, const std::vector<guint16> &raw)
{
  return {of.label, of.samples / 2, of.lines, expected_of (of, raw), 0, display};
}

/* Levels and images of one spectrum, through a tee and queues */
void
check_chain (const Case &of, const char *library, const std::string &source,
    Folder &folder, const Expected &expected)
{
  std::string numbers = folder.file ("numbers"), pictures = folder.file ("pictures");
  run_to_end (source + " ! openclupload ! " + window_element (of, folder)
              + " ! tee name=t t. ! queue ! " + depth_element (library) + " ! "
              + to_decibels + " ! filesink async=false location=" + numbers
              + " t. ! queue ! " + depth_element (library) + " ! " + to_picture
              + " ! filesink async=false location=" + pictures);
  check_decibels (expected, contents_of (numbers));
  check_pictures (expected, contents_of (pictures));
}

/* Runs a chain with octfft at its defaults, and with the properties `range`. */
void
check_default_path (const std::string &head, const std::string &range, Folder &folder,
    const Expected &expected)
{
  std::string file = folder.file ("depths");
  const std::string tail = " ! filesink async=false location=" + file;
  run_to_end (head + " ! octfft ! " + to_decibels + tail);
  check_decibels (expected, contents_of (file));
  run_to_end (head + " ! octfft " + range + " ! " + to_picture + tail);
  check_pictures (expected, contents_of (file));
}

/* Bytes after the last A-line of a row are padding. */
std::string
without_padding (const Case &of, const std::string &pictures)
{
  std::string pixels;
  for (gsize row = 0; row < pictures.size (); row += round_up_4 (of.lines))
    pixels += pictures.substr (row, of.lines);
  return pixels;
}
} // namespace

TEST_ROWS (test_depths_are_those_of_double_precision, cases)
{
  std::vector<guint16> raw = raw_spectra (row);
  const Expected expected = expect (row, raw);
  for (const char *library : check::fft_libraries ()) {
    for (Source source : sources) {
      Folder folder;
      check_chain (row, library, source (row, folder, raw), folder, expected);
    }
  }
}

/* Default settings: each kind of background, with and without dispersion */
TEST_ROWS (test_the_default_path_is_that_of_double_precision, {0, 1, 2, 3, 4, 5, 6, 7})
{
  Case of = {"default path", 2048, 21, 4, Wavelengths::RISING, Background (row / 2),
      row % 2 ? 8e-5 : 0, 0};
  std::vector<guint16> raw = raw_spectra (of);
  Folder folder;
  check_default_path (from_pictures (of, folder, raw) + " ! openclupload ! "
                          + window_element (of, folder),
      "db-max=70", folder, expect (of, raw));
}

/* Returns the largest difference of two images in levels. */
int
most_between (const std::string &a, const std::string &b)
{
  int most = 0;
  expect_equal (a.size (), b.size ());
  for (gsize i = 0; i < a.size (); i++)
    most = std::max (most, std::abs (guint8 (a[i]) - guint8 (b[i])));
  return most;
}

/* Spectra are stored, and so rounded, if octfft runs in another thread or if another
 * element also reads the spectra. */
TEST (test_queues_and_tees_change_no_more_than_rounding)
{
  const Case &of = cases[2];
  std::vector<guint16> raw = raw_spectra (of);
  Folder folder;
  const std::string source = from_pictures (of, folder, raw);
  const std::string window = window_element (of, folder), fft = depth_element ("auto");
  const struct {
    std::string text;
    int difference;
  } lines[] = {
      {source + " ! openclupload ! " + window + " ! " + fft, 0},
      {source + " ! queue ! openclupload ! queue ! " + window + " ! " + fft + " ! queue",
          0},
      {source + " ! openclupload ! " + window + " ! queue ! " + fft, 1},
      {source
              + " ! openclupload ! tee name=t t. ! queue ! fakesink async=false t. ! "
                "queue ! "
              + window + " ! tee name=u u. ! queue ! fakesink async=false u. ! queue ! "
              + fft,
          1},
      {source + " ! openclupload ! opencldownload ! openclupload async-depth=1 ! "
              + window + " async-depth=1 ! " + fft + " async-depth=1",
          0},
  };
  std::string first;
  for (const auto &line : lines) {
    std::string pictures = folder.file ("pictures");
    run_to_end (
        line.text + " ! " + to_picture + " ! filesink async=false location=" + pictures);
    std::string pixels = without_padding (of, contents_of (pictures));
    if (first.empty ())
      first = pixels;
    const int difference = most_between (pixels, first);
    fail_unless (!first.empty () && difference <= line.difference, "%d levels: %s",
        difference, line.text.c_str ());
  }
}

/* FFT libraries that generate kernels set the locale, so that numbers have a decimal
 * point. */
TEST (test_the_application_s_locale_is_left_alone)
{
  setlocale (LC_ALL, "C.UTF-8");
  const std::string before = setlocale (LC_ALL, nullptr);
  for (const char *library : check::fft_libraries ()) {
    run_to_end (std::string ("octtestsrc num-buffers=2 ! "
                             "video/x-raw(memory:OpenCLMemory),width=64,height=4 ! "
                             "octwindowinterp ! ")
                + depth_element (library) + " ! fakesink");
    expect_equal (setlocale (LC_ALL, nullptr), before.c_str ());
  }
}

/* --- measured spectra --- */

static std::string
data_file (const std::string &name)
{
  return check::data_path ("oct/" + name);
}

/* Little-endian float32 or float64 from .npy files, or 16-bit numbers without a header */
static Values
read_values (const std::string &path)
{
  const std::string bytes = contents_of (path);
  const bool npy = bytes.compare (1, 5, "NUMPY") == 0;
  gsize begin = npy ? 10 + guint8 (bytes[8]) + 256 * guint8 (bytes[9]) : 0;
  const bool doubles = npy && bytes.find ("<f8") < begin;
  Values values;
  const gsize size = doubles ? 8 : npy ? 4 : 2;
  for (gsize n = begin; n + size <= bytes.size (); n += size) {
    auto *at = reinterpret_cast<const guint8 *> (bytes.data () + n);
    values.push_back (doubles ? GST_READ_DOUBLE_LE (at)
                      : npy   ? double (GST_READ_FLOAT_LE (at))
                              : double (GST_READ_UINT16_LE (at)));
  }
  return values;
}

TEST_ROWS (test_measured_tape_is_that_of_double_precision, {false, true})
{
  const std::string raw = data_file ("tape/tape_lambda_domain_999x2048_u16le.raw");
  const std::string wavelengths = data_file ("tape/lambda_cobra_s_nm.npy");
  const bool dispersion = row;
  Chain chain;
  chain.map = reference::map_of (read_values (wavelengths));
  if (dispersion)
    chain.phase = reference::phase_of (2048, 7.994e-5, 2.67e-9);
  Expected expected = {"tape", 1024, 999,
      decibels_of (chain, Background::FRAME, {read_values (raw)}, 2048), 0,
      {false, -10, 42}};
  Folder folder;
  check_default_path (
      "filesrc location=" + raw
          + " ! rawvideoparse format=gray16-le width=2048 height=999 ! "
            "openclupload ! octwindowinterp background=frame wavelengths="
          + wavelengths
          + (dispersion ? " dispersion-a2=7.994e-5 dispersion-a3=2.67e-9" : ""),
      "db-min=-10 db-max=42", folder, expected);
}

/* Float samples far below 1 */
TEST_ROWS (test_measured_scatterer_is_that_of_double_precision, {"frame", "rolling"})
{
  const std::string background = row;
  const std::string map = data_file ("scatterer/klinear_frac_index.npy");
  const std::string phase = data_file ("scatterer/dispersion_phase.npy");
  std::vector<Values> frames;
  for (int n = 50; n < 54; n++)
    frames.push_back (
        read_values (data_file ("scatterer/bscan/0" + std::to_string (n) + ".npy")));
  Chain chain;
  chain.map = read_values (map);
  chain.phase = read_values (phase);
  Values decibels = decibels_of (chain,
      background == "frame" ? Background::FRAME : Background::ROLLING, frames, 1024);
  const double floor = *std::max_element (decibels.begin (), decibels.end ()) - 50;
  Expected expected = {"scatterer", 512, 100, decibels, floor, {false, -80, -20}};
  Folder folder;
  check_default_path ("multifilesrc location=" + data_file ("scatterer/bscan/%03d.npy")
                          + " start-index=50 stop-index=53 caps=application/x-npy ! "
                            "npyparse ! openclupload ! octwindowinterp background="
                          + background + " resample-map=" + map
                          + " dispersion-phase=" + phase,
      "db-min=-80 db-max=-20", folder, expected);
}

/* --- elements that combine depths --- */

using Frames = std::vector<reference::Line>; /* [frame][line * bin] */

/* An expected number and its tolerance; a negative tolerance excludes it */
struct Known {
  double value, tolerance;
};

struct Stage {
  std::string label;
  gsize outputs;
  std::function<std::vector<Known> (const Frames &frames, gsize bins)> expected;
};

static double
largest (const Frames &frames)
{
  double most = 0;
  for (const auto &frame : frames) {
    for (const auto &bin : frame)
      most = std::max (most, std::abs (bin));
  }
  return most;
}

/* Calls `known` with the amplitudes of all frames at each position. */
static std::vector<Known>
of_amplitudes (
    const Frames &frames, const std::function<Known (const Values &, double)> &known)
{
  const double most = largest (frames);
  std::vector<Known> result;
  for (gsize at = 0; at < frames[0].size (); at++) {
    Values amplitudes;
    for (const auto &frame : frames)
      amplitudes.push_back (std::abs (frame[at]));
    result.push_back (known (amplitudes, most));
  }
  return result;
}

/* 50 dB below the brightest value the chain's rounding error is 3e-5. */
static bool
is_seen (const Values &amplitudes, double most)
{
  return *std::min_element (amplitudes.begin (), amplitudes.end ()) > most * 0.00316;
}

static std::vector<Known>
speckle_variance (const Frames &frames, gsize)
{
  return of_amplitudes (frames, [] (const Values &a, double most) {
    const double mean = std::accumulate (a.begin (), a.end (), 0.0) / double (a.size ());
    double sum = 0;
    for (double value : a)
      sum += (value - mean) * (value - mean);
    return Known{sum / double (a.size ()), 1e-5 * most * most};
  });
}

static std::vector<Known>
decorrelation (const Frames &frames, gsize)
{
  return of_amplitudes (frames, [] (const Values &a, double most) {
    double sum = 0;
    for (gsize n = 0; n + 1 < a.size (); n++)
      sum += a[n] * a[n + 1] / ((a[n] * a[n] + a[n + 1] * a[n + 1]) / 2);
    return Known{1 - sum / double (a.size () - 1), is_seen (a, most) ? 1e-4 : -1};
  });
}

static std::vector<Known>
mean_decibels (const Frames &frames, gsize)
{
  return of_amplitudes (frames, [] (const Values &a, double most) {
    double sum = 0;
    for (double value : a)
      sum += 20 * std::log10 (value) / double (a.size ());
    return Known{sum, is_seen (a, most) ? 1e-3 : -1};
  });
}

static std::vector<Known>
mean_complex (const Frames &frames, gsize)
{
  const double most = largest (frames);
  std::vector<Known> result;
  for (gsize at = 0; at < frames[0].size (); at++) {
    std::complex<double> sum = 0;
    for (const auto &frame : frames)
      sum += frame[at] / double (frames.size ());
    result.push_back ({sum.real (), 1e-5 * most});
    result.push_back ({sum.imag (), 1e-5 * most});
  }
  return result;
}

static std::vector<Known>
complex_variance (const Frames &frames, gsize bins)
{
  const double most = largest (frames);
  std::vector<Known> result (frames[0].size (), {0, 1e-5 * most * most});
  for (gsize n = 0; n + 1 < frames.size (); n++) {
    for (gsize first = 0; first < result.size (); first += bins) {
      std::complex<double> bulk = 0;
      for (gsize at = first; at < first + bins; at++)
        bulk += frames[n + 1][at] * std::conj (frames[n][at]);
      const auto back = std::polar (1.0, -std::arg (bulk));
      for (gsize at = first; at < first + bins; at++)
        result[at].value += std::norm (frames[n + 1][at] * back - frames[n][at])
                            / double (frames.size () - 1);
    }
  }
  return result;
}

/* Phase differences between neighbouring A-lines of the last frame, averaged over 3 × 3;
 * at most 40 dB below the brightest. The rounding error of a depth is 1e-6 of the brightest, so
 * that of a phase grows as the depth gets darker. */
static std::vector<Known>
phases (const Frames &frames, gsize bins)
{
  const auto &frame = frames.back ();
  const double most = largest (frames);
  const gint lines = gint (frame.size () / bins), last = lines - 2;
  std::vector<Known> result;
  for (gint line = 0; line < lines; line++) {
    for (gint bin = 0; bin < gint (bins); bin++) {
      const gint middle = std::min (line, last);
      std::complex<double> sum = 0;
      double count = 0;
      for (gint pair = std::max (middle - 1, 0); pair <= std::min (middle + 1, last);
           pair++) {
        for (gint at = std::max (bin - 1, 0); at <= std::min (bin + 1, gint (bins) - 1);
             at++, count++)
          sum += frame[(pair + 1) * bins + at] * std::conj (frame[pair * bins + at]);
      }
      const double bright = std::sqrt (std::abs (sum) / count) / most;
      result.push_back ({std::arg (sum), bright > 0.01 ? 2e-6 / bright : -1});
    }
  }
  return result;
}

/* Last frame after fixed-pattern subtraction. For the real and imaginary part of each
 * depth, the pattern is the mean of the segment of `lines` A-lines with the lowest
 * variance. Positions where two segments have similar variances are not compared. */
static std::vector<Known>
without_pattern (const Frames &frames, gsize bins)
{
  const auto &frame = frames.back ();
  const gsize lines = frame.size () / bins, segments = std::max<gsize> (lines / 32, 1);
  const double most = largest (frames);
  std::vector<Known> result (2 * frame.size ());
  auto value = [&] (gsize line, gsize column) {
    const auto &pair = frame[line * bins + column / 2];
    return column % 2 ? pair.imag () : pair.real ();
  };
  for (gsize column = 0; column < 2 * bins; column++) {
    std::vector<std::pair<double, double>> found; /* variance and mean */
    for (gsize segment = 0; segment < segments; segment++) {
      const gsize begin = lines * segment / segments;
      const gsize end = lines * (segment + 1) / segments;
      double mean = 0, variance = 0;
      for (gsize line = begin; line < end; line++)
        mean += value (line, column) / double (end - begin);
      for (gsize line = begin; line < end; line++)
        variance += std::pow (value (line, column) - mean, 2) / double (end - begin);
      found.emplace_back (variance, mean);
    }
    std::sort (found.begin (), found.end ());
    const bool clear =
        segments < 2
        || found[1].first - found[0].first > 1e-3 * found[1].first + 1e-10 * most * most;
    for (gsize line = 0; line < lines; line++)
      result[line * 2 * bins + column] = {
          value (line, column) - found[0].second, clear ? 1e-5 * most : -1};
  }
  return result;
}

TEST_ROWS (test_measured_stages_are_those_of_double_precision,
    std::vector<Stage>{{"octangio method=speckle-variance", 1, speckle_variance},
        {"octangio method=decorrelation", 1, decorrelation},
        {"octangio method=complex-variance", 1, complex_variance},
        {"octdoppler quantity=phase", 4, phases}, {"octbackground", 4, without_pattern},
        {"octaverage mean=complex", 1, mean_complex},
        {"octaverage mean=log", 1, mean_decibels}})
{
  const std::string map = data_file ("scatterer/klinear_frac_index.npy");
  const std::string phase = data_file ("scatterer/dispersion_phase.npy");
  const gsize samples = 1024, bins = samples / 2;
  Chain chain;
  chain.map = read_values (map);
  chain.phase = read_values (phase);
  std::vector<Values> raw;
  for (int n = 50; n < 54; n++)
    raw.push_back (
        read_values (data_file ("scatterer/bscan/0" + std::to_string (n) + ".npy")));
  Frames frames;
  for (gsize n = 0; n < raw.size (); n++) {
    chain.background = background_of (Background::FRAME, raw, n, samples);
    frames.emplace_back ();
    for (auto line = raw[n].begin (); line != raw[n].end (); line += samples) {
      const auto depths = reference::depths_of (
          reference::spectrum_of (chain, Values (line, line + samples)));
      frames.back ().insert (frames.back ().end (), depths.begin (), depths.end ());
    }
  }

  Pipeline pipeline ("multifilesrc location=" + data_file ("scatterer/bscan/%03d.npy")
                     + " start-index=50 stop-index=53 caps=application/x-npy ! npyparse "
                       "! openclupload ! "
                       "octwindowinterp background=frame resample-map="
                     + map + " dispersion-phase=" + phase
                     + " ! octfft ! capsfilter "
                       "caps=\"application/x-oct(memory:OpenCLMemory),format=CF32LE\" ! "
                     + row.label + " ! opencldownload ! appsink name=out sync=false");
  pipeline.start ();
  Bytes got;
  for (gsize n = 0; n < row.outputs; n++)
    got = read_buffer (gst_sample_get_buffer (pipeline.pull ()));
  const std::vector<Known> expected = row.expected (frames, bins);
  expect_equal (got.size (), expected.size () * 4, row.label);
  gsize known = 0;
  for (gsize at = 0; at < expected.size (); at++) {
    if (expected[at].tolerance < 0)
      continue;
    known++;
    float value;
    memcpy (&value, &got[4 * at], sizeof value);
    double away = value - expected[at].value;
    if (row.label.find ("phase") != std::string::npos)
      away = std::remainder (away, 2 * G_PI);
    fail_unless (std::abs (away) <= expected[at].tolerance,
        "%s: value %zu is %g, expected %g within %g", row.label.c_str (), at, value,
        expected[at].value, expected[at].tolerance);
  }
  fail_unless (known > expected.size () / 100, "%s: only %zu values say anything",
      row.label.c_str (), known);
}

static const bool data_is_required = check::require_data ("test_measured_");
static const bool has_longer_timeout = check::set_test_timeout (300);
