/* Tests of the whole OCT chain, from files of raw spectra to files of depths and
 * pictures, held against the same chain in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <glib/gstdio.h>

#include "tests/check/fft-libraries.hpp"
#include "tests/check/fourier.hpp"
#include "tests/check/pipeline-run.hpp"

/* Last: its macro fail() breaks the headers of C++. */
#include <gst/check/gstcheck.h>

using namespace testing;
using fourier::Complex;
using fourier::Line;
using Values = std::vector<double>;

namespace {
constexpr double db_min = 0, db_max = 70;

enum class Background { NONE, FRAME, ROLLING };
enum class Wavelengths { NONE, RISING, FALLING };

struct Case {
  const char *name;
  gsize samples, lines, frames;
  Wavelengths wavelengths;
  Background background;
  double a2, a3;
};

/* Lengths that both libraries take, with lines that no row of a picture ends with. */
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

/* Fringes of three mirrors, whose depths drift from line to line, on a lamp's spectrum,
 * with noise: 16 bits as a camera gives them. [frame][line][sample] */
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

Values
resample_map (const Values &lambda)
{
  const gsize n = lambda.size ();
  Values k (n), map (n);
  for (gsize j = 0; j < n; j++)
    k[j] = 2 * G_PI / lambda[j];
  const bool rising = k[n - 1] > k[0];
  gsize j = 0;
  for (gsize m = 0; m < n; m++) {
    double even = k[0] + (k[n - 1] - k[0]) * m / (n - 1);
    while (j + 2 < n && (rising ? k[j + 1] < even : k[j + 1] > even))
      j++;
    map[m] = j + (even - k[j]) / (k[j + 1] - k[j]);
  }
  return map;
}

Values
mean_of_frame (const Case &of, const std::vector<guint16> &raw, gsize frame)
{
  Values mean (of.samples);
  for (gsize i = 0; i < of.lines * of.samples; i++)
    mean[i % of.samples] += double (raw[frame * of.lines * of.samples + i]) / of.lines;
  return mean;
}

/* What is subtracted from the lines of `frame`. */
Values
background_of (const Case &of, const std::vector<guint16> &raw, gsize frame)
{
  Values background (of.samples);
  if (of.background == Background::NONE)
    return background;
  if (of.background == Background::FRAME || frame == 0)
    return mean_of_frame (of, raw, frame);
  for (gsize past = 0; past < frame; past++) {
    Values mean = mean_of_frame (of, raw, past);
    for (gsize j = 0; j < of.samples; j++)
      background[j] += mean[j] / frame;
  }
  return background;
}

Line
windowed (const Case &of, const Values &x, const Values &map)
{
  const gsize n = of.samples;
  Values window (n);
  double sum = 0;
  for (gsize m = 0; m < n; m++)
    sum += window[m] = 0.5 - 0.5 * std::cos (2 * G_PI * m / (n - 1));
  Line y (n);
  for (gsize m = 0; m < n; m++) {
    gsize i = std::min (gsize (std::max (std::floor (map[m]), 0.0)), n - 2);
    double q = double (m) - n / 2.0;
    double value = x[i] + (map[m] - i) * (x[i + 1] - x[i]);
    y[m] = value * window[m] * 2 / sum
           * std::polar (1.0, -(of.a2 * q * q + of.a3 * q * q * q));
  }
  return y;
}

/* Decibels: [frame][line][bin] */
Values
reference (const Case &of, const std::vector<guint16> &raw)
{
  Values map (of.samples), decibels;
  for (gsize m = 0; m < of.samples; m++)
    map[m] = m;
  if (of.wavelengths != Wavelengths::NONE)
    map = resample_map (wavelengths_of (of));

  for (gsize line = 0; line < of.frames * of.lines; line++) {
    Values x = background_of (of, raw, line / of.lines);
    for (gsize j = 0; j < of.samples; j++)
      x[j] = raw[line * of.samples + j] - x[j];
    Line bins = fourier::transform (windowed (of, x, map));
    for (gsize b = 0; b < of.samples / 2; b++)
      decibels.push_back (20 * std::log10 (std::max (std::abs (bins[b]), 1e-6)));
  }
  return decibels;
}

/* --- files --- */

gsize
round_up_4 (gsize bytes)
{
  return (bytes + 3) / 4 * 4;
}

/* A folder that goes with everything in it. */
class Folder {
public:
  Folder () : path (g_dir_make_tmp ("oct-chain-XXXXXX", nullptr))
  {
    fail_unless (path != nullptr);
  }
  ~Folder ()
  {
    for (const std::string &file : files)
      g_unlink (file.c_str ());
    g_rmdir (path);
    g_free (path);
  }

  std::string file (const char *name)
  {
    files.push_back (std::string (path) + "/" + name);
    return files.back ();
  }

  std::string write (const char *name, const std::string &bytes)
  {
    std::string where = file (name);
    fail_unless (
        g_file_set_contents (where.c_str (), bytes.data (), bytes.size (), nullptr));
    return where;
  }

private:
  gchar *path;
  std::vector<std::string> files;
};

std::string
read (const std::string &path)
{
  gchar *bytes = nullptr;
  gsize size = 0;
  fail_unless (
      g_file_get_contents (path.c_str (), &bytes, &size, nullptr), "%s", path.c_str ());
  std::string text (bytes, size);
  g_free (bytes);
  return text;
}

std::string
bytes_of (const guint16 *values, gsize n)
{
  return std::string (reinterpret_cast<const char *> (values), n * 2);
}

/* As pictures stand in a file: lines padded to 4 bytes. */
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

/* A file without a header, whose reader gives a frame at a time. */
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
window_element (const Case &of, Folder &folder)
{
  const char *const backgrounds[] = {"none", "frame", "rolling"};
  gchar number[G_ASCII_DTOSTR_BUF_SIZE];
  std::string line = "octwindowinterp";

  line += std::string (" background=") + backgrounds[int (of.background)];
  if (of.a2 != 0)
    line +=
        std::string (" dispersion-a2=") + g_ascii_dtostr (number, sizeof number, of.a2);
  if (of.a3 != 0)
    line +=
        std::string (" dispersion-a3=") + g_ascii_dtostr (number, sizeof number, of.a3);
  if (of.wavelengths == Wavelengths::NONE)
    return line;
  std::string text;
  for (double wavelength : wavelengths_of (of))
    text += std::string (g_ascii_dtostr (number, sizeof number, wavelength)) + "\n";
  return line + " wavelengths=" + folder.write ("wavelengths.txt", text);
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

void
check_decibels (const Case &of, const Values &expected, const std::string &bytes)
{
  fail_unless_equals_uint64 (bytes.size (), expected.size () * sizeof (float));
  gsize above = 0;
  for (gsize i = 0; i < expected.size (); i++) {
    float is;
    memcpy (&is, bytes.data () + i * sizeof is, sizeof is);
    if (expected[i] <= 0)
      continue;
    above++;
    if (!(std::abs (is - expected[i]) <= 0.05))
      fail ("%s: line %zu bin %zu is %f dB, expected %f", of.name, i / (of.samples / 2),
          i % (of.samples / 2), is, expected[i]);
  }
  /* Else this would check nothing. */
  fail_unless (above > expected.size () / 4, "%s: %zu values above 0 dB", of.name, above);
}

void
check_pictures (const Case &of, const Values &expected, const std::string &bytes)
{
  const gsize depths = of.samples / 2, stride = round_up_4 (of.lines);
  fail_unless_equals_uint64 (bytes.size (), of.frames * depths * stride);
  gsize near = 0, shades = 0;
  for (gsize i = 0; i < expected.size (); i++) {
    gsize line = i / depths, bin = i % depths;
    gsize frame = line / of.lines, column = line % of.lines;
    double level =
        255 * std::clamp ((expected[i] - db_min) / (db_max - db_min), 0.0, 1.0);
    int should = int (std::lround (level));
    int is = guint8 (bytes[(frame * depths + bin) * stride + column]);
    near += std::abs (is - should) <= 1;
    shades += should > 0 && should < 255;
    if (std::abs (is - should) > 2)
      fail ("%s: frame %zu depth %zu A-line %zu is %d, expected %d", of.name, frame, bin,
          column, is, should);
  }
  fail_unless (near >= expected.size () * 0.999, "%s: %zu of %zu within one level",
      of.name, near, expected.size ());
  fail_unless (shades > expected.size () / 4, "%s: the picture shows nothing", of.name);
}

/* Numbers and pictures of one spectrum, through a tee and queues. */
void
check_chain (const Case &of, const char *library, const std::string &source,
    Folder &folder, const Values &expected)
{
  std::string numbers = folder.file ("numbers"), pictures = folder.file ("pictures");
  run_to_end (source + " ! openclupload ! " + window_element (of, folder)
              + " ! tee name=t t. ! queue ! " + depth_element (library) + " ! "
              + to_decibels + " ! filesink async=false location=" + numbers
              + " t. ! queue ! " + depth_element (library) + " ! " + to_picture
              + " ! filesink async=false location=" + pictures);
  check_decibels (of, expected, read (numbers));
  check_pictures (of, expected, read (pictures));
}

/* What lies behind the last A-line of a row is nobody's. */
std::string
without_padding (const Case &of, const std::string &pictures)
{
  std::string pixels;
  for (gsize row = 0; row < pictures.size (); row += round_up_4 (of.lines))
    pixels += pictures.substr (row, of.lines);
  return pixels;
}
} // namespace

GST_START_TEST (test_depths_are_those_of_double_precision)
{
  const Case &of = cases[__i__];
  std::vector<guint16> raw = raw_spectra (of);
  Values expected = reference (of, raw);
  for (const char *library : check::fft_libraries ()) {
    for (Source source : sources) {
      Folder folder;
      check_chain (of, library, source (of, folder, raw), folder, expected);
    }
  }
}
GST_END_TEST;

/* Whatever stands between the elements. */
GST_START_TEST (test_queues_and_tees_change_no_bit)
{
  const Case &of = cases[2];
  std::vector<guint16> raw = raw_spectra (of);
  Folder folder;
  const std::string source = from_pictures (of, folder, raw);
  const std::string window = window_element (of, folder), fft = depth_element ("auto");
  const std::string lines[] = {
      source + " ! openclupload ! " + window + " ! " + fft,
      source + " ! queue ! openclupload ! queue ! " + window + " ! queue ! " + fft
          + " ! queue",
      source
          + " ! openclupload ! tee name=t t. ! queue ! fakesink async=false t. ! queue ! "
          + window + " ! tee name=u u. ! queue ! fakesink async=false u. ! queue ! "
          + fft,
      source + " ! openclupload ! opencldownload ! openclupload async-depth=1 ! " + window
          + " async-depth=1 ! " + fft + " async-depth=1",
  };
  std::string first;
  for (const std::string &line : lines) {
    std::string pictures = folder.file ("pictures");
    run_to_end (
        line + " ! " + to_picture + " ! filesink async=false location=" + pictures);
    std::string pixels = without_padding (of, read (pictures));
    if (first.empty ())
      first = pixels;
    fail_unless (!first.empty () && pixels == first, "%s", line.c_str ());
  }
}
GST_END_TEST;

/* Libraries that write kernels set it, so that numbers have a point. */
GST_START_TEST (test_the_application_s_locale_is_left_alone)
{
  setlocale (LC_ALL, "C.UTF-8");
  const std::string before = setlocale (LC_ALL, nullptr);
  for (const char *library : check::fft_libraries ()) {
    run_to_end (std::string ("octtestsrc num-buffers=2 ! "
                             "video/x-raw(memory:OpenCLMemory),width=64,height=4 ! "
                             "octwindowinterp ! ")
                + depth_element (library) + " ! fakesink");
    fail_unless_equals_string (setlocale (LC_ALL, nullptr), before.c_str ());
  }
}
GST_END_TEST;

static Suite *
oct_chain_suite ()
{
  Suite *suite = suite_create ("oct_chain");
  TCase *tcase = tcase_create ("general");

  suite_add_tcase (suite, tcase);
  tcase_add_loop_test (
      tcase, test_depths_are_those_of_double_precision, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, test_queues_and_tees_change_no_bit);
  tcase_add_test (tcase, test_the_application_s_locale_is_left_alone);
  return suite;
}

GST_CHECK_MAIN (oct_chain);
