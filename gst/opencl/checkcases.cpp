/* gst-opencl-check: engines, and what each must compute
 *
 * Expectations are computed in double precision from the elements' documented definitions,
 * without code of the elements.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "checkcases.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <random>

namespace opencl {
namespace {
using Values = std::vector<double>;

const double nothing = NAN; /* a value that is not compared */

struct Case {
  std::string label, elements, caps;
  Bytes input;
  Values expected; /* of bytes */
  double tolerance = 1;
};

template <typename T>
Bytes
bytes_of (const std::vector<T> &values)
{
  Bytes bytes (values.size () * sizeof (T));
  memcpy (bytes.data (), values.data (), bytes.size ());
  return bytes;
}

std::string
text (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  gchar *made = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  const std::string copy = made;
  g_free (made);
  return copy;
}

/* --- depth in one launch: octwindowinterp with octfft --- */

const double shortest_wave = 1187, longest_wave = 1433, black = 20, white = 90;
const guint lines = 40; /* more than the lanes of any vector, and no multiple of 16 */

/* Fringes of two depths in each A-line, with noise, on a bright background. */
std::vector<guint16>
make_spectra (guint samples)
{
  std::mt19937 random (samples);
  std::vector<guint16> spectra;
  for (guint line = 0; line < lines; line++) {
    const double first = 0.01 + 0.011 * line, second = 0.48 - 0.007 * line;
    for (guint j = 0; j < samples; j++) {
      const double fringes = std::cos (2 * G_PI * first * j) + std::sin (6 * second * j);
      const double noise = double (random () % 4096);
      spectra.push_back (guint16 (30000 + 6000 * fringes + noise + 2000 * (j % 5)));
    }
  }
  return spectra;
}

Values
without_mean (const std::vector<guint16> &spectra, guint samples)
{
  Values differences (spectra.begin (), spectra.end ());
  for (guint j = 0; j < samples; j++) {
    double sum = 0;
    for (guint line = 0; line < lines; line++)
      sum += spectra[line * samples + j];
    for (guint line = 0; line < lines; line++)
      differences[line * samples + j] -= sum / lines;
  }
  return differences;
}

/* Where the even wavenumber m lies among samples of even wavelengths. */
double
sample_of_wavenumber (guint m, guint samples)
{
  const double first = 1 / shortest_wave, last = 1 / longest_wave;
  const double wavenumber = first + (last - first) * m / (samples - 1);
  return (1 / wavenumber - shortest_wave) / (longest_wave - shortest_wave)
         * (samples - 1);
}

/* Between samples, wavelengths are not even in wavenumber: the nearest two as octwindowinterp
 * defines it, which interpolates the index in wavenumber. */
double
fractional_index (guint m, guint samples)
{
  const auto wavenumber_at = [samples] (double j) {
    return 1 / (shortest_wave + (longest_wave - shortest_wave) * j / (samples - 1));
  };
  const double even =
      wavenumber_at (0)
      + (wavenumber_at (samples - 1) - wavenumber_at (0)) * m / (samples - 1);
  const double low =
      std::clamp (std::floor (sample_of_wavenumber (m, samples)), 0.0, samples - 2.0);
  return low
         + (even - wavenumber_at (low)) / (wavenumber_at (low + 1) - wavenumber_at (low));
}

/* Resampled, and times a Hann window that gives a fringe its amplitude. */
Values
windowed (const Values &spectra, guint samples)
{
  Values made (spectra.size ()), window (samples);
  double sum = 0;
  for (guint m = 0; m < samples; m++)
    sum += window[m] = 0.5 - 0.5 * std::cos (2 * G_PI * m / (samples - 1));
  for (guint m = 0; m < samples; m++) {
    const double place = fractional_index (m, samples);
    const guint low = std::min (guint (place), samples - 2);
    for (guint line = 0; line < lines; line++) {
      const double *x = &spectra[line * samples + low];
      made[line * samples + m] =
          (x[0] + (place - low) * (x[1] - x[0])) * window[m] * 2 / sum;
    }
  }
  return made;
}

/* The picture, a column an A-line: bins of every so many-th depth by their definition. */
Values
picture_of (const Values &spectra, guint samples)
{
  const guint depths = samples / 2, every = samples / 256 + 1;
  std::vector<std::complex<double>> turns (samples);
  Values picture (depths * lines, nothing);
  for (guint n = 0; n < samples; n++)
    turns[n] = std::polar (1.0, -2 * G_PI * n / samples);
  for (guint depth = 0; depth < depths; depth += every) {
    for (guint line = 0; line < lines; line++) {
      const double *x = &spectra[line * samples];
      double real = 0, imaginary = 0;
      for (guint m = 0; m < samples; m++) {
        const std::complex<double> &turn = turns[m * depth % samples];
        real += x[m] * turn.real ();
        imaginary += x[m] * turn.imag ();
      }
      const double level =
          10 * std::log10 (std::max (real * real + imaginary * imaginary, 1e-12));
      picture[depth * lines + line] =
          std::clamp ((level - black) / (white - black) * 255, 0.0, 255.0);
    }
  }
  return picture;
}

std::vector<Case>
depth_cases ()
{
  std::vector<Case> cases;
  for (guint samples : {2048, 512}) {
    const std::vector<guint16> spectra = make_spectra (samples);
    Case made;
    made.label = text ("%u samples", samples);
    made.elements =
        text ("openclupload ! octwindowinterp wavelength-min=%g wavelength-max=%g "
              "background=frame ! octfft db-min=%g db-max=%g ! "
              "video/x-raw(ANY),format=GRAY8 ! opencldownload",
            shortest_wave, longest_wave, black, white);
    made.caps = text (
        "video/x-raw,format=GRAY16_LE,width=%u,height=%u,framerate=25/1", samples, lines);
    made.input = bytes_of (spectra);
    made.expected =
        picture_of (windowed (without_mean (spectra, samples), samples), samples);
    made.tolerance = 1;
    cases.push_back (std::move (made));
  }
  return cases;
}

/* --- range of a picture: octdisplay db-auto=true --- */

/* Levels of evenly spread brightness: 1 in 20 is below black, 1 in 1000 above white. */
std::vector<Case>
range_cases ()
{
  const guint depths = 256;
  const double full = 60, darkest = full / 20, brightest = full * 999 / 1000;
  std::vector<float> levels (depths * lines);
  Values picture (levels.size ());
  for (guint line = 0; line < lines; line++) {
    for (guint depth = 0; depth < depths; depth++) {
      const guint n = line * depths + depth;
      const double level = (n * 7919ul % levels.size () + 0.5) / levels.size () * full;
      levels[n] = float (level);
      picture[depth * lines + line] =
          std::clamp ((level - darkest) / (brightest - darkest) * 255, 0.0, 255.0);
    }
  }
  Case made;
  made.label = "db-auto";
  made.elements =
      "openclupload ! octdisplay db-auto=true ! video/x-raw(ANY),format=GRAY8 ! "
      "opencldownload";
  made.caps = text ("application/x-oct,domain=depth,format=F32LE,quantity=decibels,"
                    "samples=%u,lines=%u,framerate=25/1",
      depths, lines);
  made.input = bytes_of (levels);
  made.expected = picture;
  made.tolerance = 2; /* black and white are found in steps of 1/6 dB */
  return {made};
}

/* --- rendering: octrender --- */

/* A cube of which each ray meets the middles of a row of voxels. */
const guint side = 17;
const double opacity = 0.25;

/* What one ray meets: the greatest value, or all, of which those in front hide those behind. */
double
seen (const std::vector<guint8> &volume, guint line, guint depth, bool adds)
{
  double greatest = 0, light = 0, passes = 1;
  for (guint scan = 0; scan < side; scan++) {
    const double value = volume[(scan * side + line) * side + depth] / 255.0;
    greatest = std::max (greatest, value);
    light += passes * opacity * value * value;
    passes *= 1 - opacity * value;
  }
  return 255 * (adds ? light : greatest);
}

std::vector<Case>
rendering_cases ()
{
  std::vector<guint8> volume (side * side * side);
  std::mt19937 random (side);
  for (guint8 &value : volume)
    value = guint8 (random () % 200);
  std::vector<Case> cases;
  for (const char *mode : {"maximum", "alpha"}) {
    Case made;
    made.label = mode;
    made.elements =
        text ("openclupload ! octrender mode=%s opacity=%g zoom=%.17g ! "
              "video/x-raw(ANY),format=GRAY8,width=%u,height=%u ! opencldownload",
            mode, opacity, std::sqrt (3.0), side, side);
    made.caps = text ("other/tensors,format=static,num_tensors=1,types=uint8,"
                      "dimensions=(string)%u:%u:%u,framerate=25/1",
        side, side, side);
    made.input = volume;
    made.expected.assign (side * 20, nothing); /* a row has padding */
    for (guint depth = 0; depth < side; depth++) {
      for (guint line = 0; line < side; line++)
        made.expected[depth * 20 + line] =
            seen (volume, line, depth, g_str_equal (mode, "alpha"));
    }
    cases.push_back (made);
  }
  return cases;
}

/* --- the table --- */

struct Engine {
  const char *name;
  std::vector<Case> (*cases) ();
};

const Engine engines[] = {
    {"fused-depth", depth_cases},
    {"display-range", range_cases},
    {"rendering", rendering_cases},
};

/* Empty if there is none. */
std::string
difference_of (const Case &checked, const Bytes &output)
{
  if (output.size () != checked.expected.size ())
    return text ("%zu bytes instead of %zu", output.size (), checked.expected.size ());
  gsize compared = 0, different = 0;
  double largest = 0;
  for (gsize n = 0; n < output.size (); n++) {
    if (std::isnan (checked.expected[n]))
      continue;
    const double difference = std::abs (output[n] - checked.expected[n]);
    compared++;
    different += difference > checked.tolerance;
    largest = std::max (largest, difference);
  }
  if (different == 0)
    return "";
  return text ("%zu of %zu values differ, by up to %.3g of 255 where %.3g is allowed",
      different, compared, largest, checked.tolerance);
}

Verdict
check_case (const Case &checked)
{
  Bytes output;
  std::string error;
  switch (process_buffer (checked.elements, checked.caps, checked.input, output, error)) {
  case Processed::missing:
    return {Verdict::unchecked, error};
  case Processed::failed:
    return {Verdict::wrong, checked.label + ": " + error};
  default:
    break;
  }
  const std::string difference = difference_of (checked, output);
  if (difference.empty ())
    return {Verdict::right, ""};
  return {Verdict::wrong, checked.label + ": " + difference};
}
} // namespace

std::vector<std::string>
names_of_engines ()
{
  std::vector<std::string> names;
  for (const Engine &engine : engines)
    names.push_back (engine.name);
  return names;
}

Verdict
check_engine (const std::string &name)
{
  for (const Engine &engine : engines) {
    if (name != engine.name)
      continue;
    Verdict verdict;
    for (const Case &checked : engine.cases ()) {
      verdict = check_case (checked);
      if (verdict.result != Verdict::right)
        break;
    }
    return verdict;
  }
  return {Verdict::unchecked, "there is no engine " + name};
}
} // namespace opencl
