/* gst-opencl-check: test cases of engines, with expected results
 *
 * Expectations are computed in double precision from the elements' documented
 * definitions, without code of the elements.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "checkcases.hpp"

#include <gst/common/text.hpp>
#include <gst/opencl/libraries.h>

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
  Values expected; /* values of bytes or of float32 */
  double tolerance = 1;
  bool floats = false;
};

template <typename T>
Bytes
bytes_of (const std::vector<T> &values)
{
  Bytes bytes (values.size () * sizeof (T));
  memcpy (bytes.data (), values.data (), bytes.size ());
  return bytes;
}

/* --- fused depth: octwindowinterp with octfft --- */

const double shortest_wave = 1187, longest_wave = 1433, black = 20, white = 90;
const guint lines = 40; /* more than the lanes of any vector, and not a multiple of 16 */

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

/* Converts an index on a grid of even wavenumbers to a position on the grid of samples,
 * which are even in wavelength. */
double
sample_of_wavenumber (guint m, guint samples)
{
  const double first = 1 / shortest_wave, last = 1 / longest_wave;
  const double wavenumber = first + (last - first) * m / (samples - 1);
  return (1 / wavenumber - shortest_wave) / (longest_wave - shortest_wave)
         * (samples - 1);
}

/* Returns the fractional sample index of wavenumber m. Interpolates the index linearly in
 * wavenumber between the nearest two samples, as octwindowinterp does. */
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

/* Resamples and applies a Hann window, normalised so that a peak is the fringe's
 * amplitude. */
Values
windowed (const Values &spectra, guint samples)
{
  Values result (spectra.size ()), window (samples);
  double sum = 0;
  for (guint m = 0; m < samples; m++)
    sum += window[m] = 0.5 - 0.5 * std::cos (2 * G_PI * m / (samples - 1));
  for (guint m = 0; m < samples; m++) {
    const double place = fractional_index (m, samples);
    const guint low = std::min (guint (place), samples - 2);
    for (guint line = 0; line < lines; line++) {
      const double *x = &spectra[line * samples + low];
      result[line * samples + m] =
          (x[0] + (place - low) * (x[1] - x[0])) * window[m] * 2 / sum;
    }
  }
  return result;
}

/* Returns the image, with a column for each A-line. Computes the bins of every n-th depth
 * by their definition. */
Values
image_of (const Values &spectra, guint samples)
{
  const guint depths = samples / 2, every = samples / 256 + 1;
  std::vector<std::complex<double>> turns (samples);
  Values image (depths * lines, nothing);
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
      image[depth * lines + line] =
          std::clamp ((level - black) / (white - black) * 255, 0.0, 255.0);
    }
  }
  return image;
}

std::vector<Case>
depth_cases ()
{
  std::vector<Case> cases;
  for (guint samples : {2048, 512}) {
    const std::vector<guint16> spectra = make_spectra (samples);
    Case result;
    result.label = text_of ("%u samples", samples);
    result.elements =
        text_of ("openclupload ! octwindowinterp wavelength-min=%g wavelength-max=%g "
                 "background=frame ! octfft db-min=%g db-max=%g ! "
                 "video/x-raw(ANY),format=GRAY8 ! opencldownload",
            shortest_wave, longest_wave, black, white);
    result.caps = text_of (
        "video/x-raw,format=GRAY16_LE,width=%u,height=%u,framerate=25/1", samples, lines);
    result.input = bytes_of (spectra);
    result.expected =
        image_of (windowed (without_mean (spectra, samples), samples), samples);
    result.tolerance = 1;
    cases.push_back (std::move (result));
  }
  return cases;
}

/* --- FFT libraries: octfft of synthetic spectra --- */

std::vector<Case>
library_cases (const char *library, std::initializer_list<guint> lengths)
{
  std::vector<Case> cases;
  for (guint samples : lengths) {
    const std::vector<guint16> words = make_spectra (samples);
    const Values differences = without_mean (words, samples);
    std::vector<float> spectra;
    for (double difference : differences)
      spectra.push_back (float (difference / samples));
    Case result;
    result.label = text_of ("%u samples", samples);
    result.elements =
        text_of ("openclupload ! octfft fused=never fft-library=%s db-min=%g db-max=%g ! "
                 "video/x-raw(ANY),format=GRAY8 ! opencldownload",
            library, black, white);
    result.caps = text_of ("application/x-oct,domain=wavenumber,format=F32LE,samples=%u,"
                           "lines=%u,framerate=25/1",
        samples, lines);
    result.input = bytes_of (spectra);
    result.expected = image_of (Values (spectra.begin (), spectra.end ()), samples);
    cases.push_back (std::move (result));
  }
  return cases;
}

std::vector<Case>
vkfft_cases ()
{
  return library_cases ("vkfft", {2048, 60});
}

std::vector<Case>
vkfft_prime_cases ()
{
  return library_cases ("vkfft", {127, 26003});
}

#ifdef HAVE_CLFFT
std::vector<Case>
clfft_cases ()
{
  return library_cases ("clfft", {2048, 60});
}
#endif

/* --- display range: octdisplay db-auto=true --- */

/* Levels of evenly spread brightness: 1 in 20 is below black, 1 in 1000 above white. */
std::vector<Case>
range_cases ()
{
  const guint depths = 256;
  const double full = 60, darkest = full / 20, brightest = full * 999 / 1000;
  std::vector<float> levels (depths * lines);
  Values image (levels.size ());
  for (guint line = 0; line < lines; line++) {
    for (guint depth = 0; depth < depths; depth++) {
      const guint n = line * depths + depth;
      const double level = (n * 7919ul % levels.size () + 0.5) / levels.size () * full;
      levels[n] = float (level);
      image[depth * lines + line] =
          std::clamp ((level - darkest) / (brightest - darkest) * 255, 0.0, 255.0);
    }
  }
  Case result;
  result.label = "db-auto";
  result.elements =
      "openclupload ! octdisplay db-auto=true ! video/x-raw(ANY),format=GRAY8 ! "
      "opencldownload";
  result.caps = text_of ("application/x-oct,domain=depth,format=F32LE,quantity=decibels,"
                         "samples=%u,lines=%u,framerate=25/1",
      depths, lines);
  result.input = bytes_of (levels);
  result.expected = image;
  result.tolerance = 2; /* black and white are found in steps of 1/6 dB */
  return {result};
}

/* --- rendering: octrender --- */

/* Length of a cube in which each ray meets the centres of a row of voxels */
const guint side = 17;
const double opacity = 0.25;

/* Returns the brightness of one ray: its maximum voxel, or all voxels composited front to
 * back */
double
ray_brightness (
    const std::vector<guint8> &volume, guint line, guint depth, bool composites)
{
  double greatest = 0, light = 0, transparency = 1;
  for (guint scan = 0; scan < side; scan++) {
    const double value = volume[(scan * side + line) * side + depth] / 255.0;
    greatest = std::max (greatest, value);
    light += transparency * opacity * value * value;
    transparency *= 1 - opacity * value;
  }
  return 255 * (composites ? light : greatest);
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
    Case result;
    result.label = mode;
    result.elements =
        text_of ("openclupload ! octrender mode=%s opacity=%g zoom=%.17g ! "
                 "video/x-raw(ANY),format=GRAY8,width=%u,height=%u ! opencldownload",
            mode, opacity, std::sqrt (3.0), side, side);
    result.caps = text_of ("other/tensors,format=static,num_tensors=1,types=uint8,"
                           "dimensions=(string)%u:%u:%u,framerate=25/1",
        side, side, side);
    result.input = volume;
    result.expected.assign (side * 20, nothing); /* a row has padding */
    for (guint depth = 0; depth < side; depth++) {
      for (guint line = 0; line < side; line++)
        result.expected[depth * 20 + line] =
            ray_brightness (volume, line, depth, g_str_equal (mode, "alpha"));
    }
    cases.push_back (result);
  }
  return cases;
}

/* --- fused keying chain: chromakey, noisereduce and flowkey in one launch --- */

const int columns = 72, rows = 40;
const int key_threshold = 77, flow_threshold = 39; /* sums of tolerance 0.1 and 0.05 */

int
difference_of_colors (const guint8 *a, const guint8 *b)
{
  return std::abs (a[0] - b[0]) + std::abs (a[1] - b[1]) + std::abs (a[2] - b[2]);
}

/* Sets each pixel to the result of `rule`, applied to the previous pixels. */
template <typename Rule>
void
iterate (std::vector<bool> &keyed, guint times, const Rule &rule)
{
  for (guint n = 0; n < times; n++) {
    const std::vector<bool> before = keyed;
    for (int y = 0; y < rows; y++) {
      for (int x = 0; x < columns; x++)
        keyed[y * columns + x] = rule (before, x, y);
    }
  }
}

/* Returns the indices of the four neighbours; -1 outside */
std::vector<int>
neighbours_of (int x, int y)
{
  return {x > 0 ? y * columns + x - 1 : -1, x + 1 < columns ? y * columns + x + 1 : -1,
      y > 0 ? (y - 1) * columns + x : -1, y + 1 < rows ? (y + 1) * columns + x : -1};
}

std::vector<bool>
keyed_pixels (const Bytes &image)
{
  const guint8 key[] = {0, 255, 0};
  std::vector<bool> keyed (columns * rows);
  for (int n = 0; n < columns * rows; n++)
    keyed[n] = difference_of_colors (&image[4 * n], key) < key_threshold;
  iterate (keyed, 2, [] (const std::vector<bool> &before, int x, int y) {
    int count = 0;
    for (int at : neighbours_of (x, y))
      count += at < 0 || before[at];
    return before[y * columns + x] && count >= 3;
  });
  iterate (keyed, 3, [&] (const std::vector<bool> &before, int x, int y) {
    const int here = y * columns + x;
    bool flows = before[here];
    for (int at : neighbours_of (x, y))
      flows = flows
              || (at >= 0 && before[at]
                  && difference_of_colors (&image[4 * here], &image[4 * at])
                         < flow_threshold);
    return flows;
  });
  return keyed;
}

/* A green screen with noise and a shadow, and squares in front of it */
Bytes
make_screen ()
{
  Bytes image;
  std::mt19937 random (1);
  for (int y = 0; y < rows; y++) {
    for (int x = 0; x < columns; x++) {
      const int noise = int (random () % 30), green = 255 - x / 2 - noise;
      const bool square = x / 9 % 3 == 1 && y / 9 % 3 == 1, speck = random () % 16 == 0;
      const guint8 colors[] = {guint8 (square || speck ? 200 : noise / 3),
          guint8 (square || speck ? 90 + noise : green), guint8 (noise), 255};
      image.insert (image.end (), colors, colors + 4);
    }
  }
  return image;
}

std::vector<Case>
run_cases ()
{
  Case result;
  result.label = "hard key";
  result.elements = "openclupload ! chromakey tolerance=0.1 ! noisereduce iterations=2 ! "
                    "flowkey iterations=3 tolerance=0.05 ! opencldownload";
  result.caps = text_of (
      "video/x-raw,format=RGBA,width=%d,height=%d,framerate=25/1", columns, rows);
  result.input = make_screen ();
  result.expected.assign (result.input.begin (), result.input.end ());
  const std::vector<bool> keyed = keyed_pixels (result.input);
  for (gsize n = 0; n < keyed.size (); n++)
    result.expected[4 * n + 3] = keyed[n] ? 0 : 255;
  result.tolerance = 0;
  return {result};
}

/* --- methods of openclconvolve --- */

int
tap_at (int n, int taps)
{
  return 1 + n % 3 + taps / 2 - std::abs (n - taps / 2);
}

/* Makes a separable kernel, a column times a row. Sets `sum` to the sum of its taps. */
std::string
make_taps (int taps, double &sum)
{
  std::string numbers;
  sum = 0;
  for (int y = 0; y < taps; y++) {
    numbers += y ? ",<" : "<";
    for (int x = 0; x < taps; x++) {
      const int tap = tap_at (y, taps) * tap_at (x, taps);
      numbers += text_of (x ? ",%d.0" : "%d.0", tap);
      sum += tap;
    }
    numbers += ">";
  }
  return "<" + numbers + ">";
}

/* Mirrors the taps, as in mathematics. Does not compare pixels near the edge. */
Values
convolved (const Bytes &image, int taps)
{
  const int half = taps / 2;
  Values result (image.size (), nothing);
  for (int y = half; y < rows - half; y++) {
    for (int x = half; x < columns - half; x++) {
      double value = 0;
      for (int j = 0; j < taps; j++) {
        for (int i = 0; i < taps; i++)
          value += tap_at (j, taps) * tap_at (i, taps)
                   * image[(y + half - j) * columns + x + half - i];
      }
      result[y * columns + x] = value;
    }
  }
  return result;
}

Bytes
make_noise ()
{
  std::mt19937 random (2);
  Bytes image (columns * rows);
  for (guint8 &value : image)
    value = guint8 (random () % 256);
  return image;
}

/* An image convolved with the taps, divided by their sum */
std::vector<Case>
image_cases (const char *method)
{
  const int taps = 7;
  double sum;
  Case result;
  result.label = method;
  const std::string numbers = make_taps (taps, sum);
  result.elements =
      text_of ("openclupload ! openclconvolve method=%s kernel=%s scale=%.17g ! "
               "opencldownload",
          method, numbers.c_str (), 1 / sum);
  result.caps = text_of (
      "video/x-raw,format=GRAY8,width=%d,height=%d,framerate=25/1", columns, rows);
  result.input = make_noise ();
  result.expected = convolved (result.input, taps);
  for (double &value : result.expected)
    value /= sum;
  result.tolerance = 0.51; /* rounded to a level */
  return {result};
}

std::vector<Case>
separable_cases ()
{
  return image_cases ("separable");
}

std::vector<Case>
fft_cases ()
{
  return image_cases ("fft");
}

std::vector<Case>
winograd_cases ()
{
  double sum;
  const Bytes image = make_noise ();
  const std::string numbers = make_taps (3, sum);
  Case result;
  result.label = "winograd";
  result.elements =
      text_of ("openclupload ! openclconvolve method=winograd flip=true kernel=%s ! "
               "opencldownload",
          numbers.c_str ());
  result.caps = text_of ("other/tensors,format=static,num_tensors=1,types=float32,"
                         "dimensions=(string)%d:%d,framerate=25/1",
      columns, rows);
  result.input = bytes_of (std::vector<float> (image.begin (), image.end ()));
  result.expected = convolved (image, 3);
  result.tolerance = 1e-5 * sum * 255;
  result.floats = true;
  return {result};
}

/* --- soft key: chromakey method=chroma --- */

/* Returns alpha from the pixel's chroma relative to the key's: u along it, v across
 * it. */
double
alpha_of (const guint8 *pixel, double similarity, double smoothness)
{
  const double cb[] = {-0.168736, -0.331264, 0.5}, cr[] = {0.5, -0.418688, -0.081312};
  const double key_cb = 255 * cb[1], key_cr = 255 * cr[1];
  double pixel_cb = 0, pixel_cr = 0;
  for (guint n = 0; n < 3; n++) {
    pixel_cb += cb[n] * pixel[n];
    pixel_cr += cr[n] * pixel[n];
  }
  const double square = key_cb * key_cb + key_cr * key_cr;
  const double u = (pixel_cb * key_cb + pixel_cr * key_cr) / square;
  const double v = (pixel_cb * key_cr - pixel_cr * key_cb) / square;
  const double distance = std::hypot (std::max (1 - u, 0.0), v);
  return 255 * std::clamp ((distance - similarity) / smoothness, 0.0, 1.0);
}

/* Size of areas of one colour. Edges do not affect their inner pixels. */
const int area = 12;

Bytes
make_areas ()
{
  Bytes image;
  for (int n = 0; n < columns * rows; n++) {
    const int which = n % columns / area + columns / area * (n / columns / area);
    const guint8 colors[] = {
        guint8 (which * 11), guint8 (255 - which * 5), guint8 (which * 37 % 128), 255};
    image.insert (image.end (), colors, colors + 4);
  }
  return image;
}

bool
is_inside (int n)
{
  const int reach = 4; /* radius that `refine` reads */
  const int x = n % columns % area, y = n / columns % area;
  return std::min (x, y) >= reach && std::max (x, y) < area - reach;
}

std::vector<Case>
soft_cases ()
{
  const double similarity = 0.1, smoothness = 0.8;
  std::vector<Case> cases;
  for (const char *refine : {"false", "true"}) {
    const bool refines = g_str_equal (refine, "true");
    Case result;
    result.label = text_of ("refine=%s", refine);
    result.elements = text_of (
        "openclupload ! chromakey method=chroma plate=none refine=%s similarity=%g "
        "smoothness=%g ! opencldownload",
        refine, similarity, smoothness);
    result.caps = text_of (
        "video/x-raw,format=RGBA,width=%d,height=%d,framerate=25/1", columns, rows);
    result.input = refines ? make_areas () : make_screen ();
    result.expected.assign (result.input.begin (), result.input.end ());
    for (int n = 0; n < columns * rows; n++)
      result.expected[4 * n + 3] =
          refines && !is_inside (n)
              ? nothing
              : alpha_of (&result.input[4 * n], similarity, smoothness);
    result.tolerance = 4; /* the element's chroma has coefficients in 1/128 */
    cases.push_back (std::move (result));
  }
  return cases;
}

/* --- table of engines --- */

struct Engine {
  const char *name;
  std::vector<Case> (*cases) ();
};

const Engine engines[] = {
    {"fused-depth", depth_cases},
    {"fft-vkfft", vkfft_cases},
    {"fft-vkfft-primes", vkfft_prime_cases},
#ifdef HAVE_CLFFT
    {"fft-clfft", clfft_cases},
#endif
    {"display-range", range_cases},
    {"rendering", rendering_cases},
    {"key-run", run_cases},
    {"soft-key", soft_cases},
    {"convolution-winograd", winograd_cases},
    {"convolution-separable", separable_cases},
    {"convolution-fft", fft_cases},
};

double
value_at (const Case &checked, const Bytes &output, gsize n)
{
  float value;
  if (!checked.floats)
    return output[n];
  memcpy (&value, &output[n * sizeof value], sizeof value);
  return value;
}

/* Describes the differences. Returns an empty string if there are none. */
std::string
difference_of (const Case &checked, const Bytes &output)
{
  const gsize size = checked.expected.size () * (checked.floats ? sizeof (float) : 1);
  if (output.size () != size)
    return text_of ("%zu bytes instead of %zu", output.size (), size);
  gsize compared = 0, different = 0;
  double largest = 0;
  for (gsize n = 0; n < checked.expected.size (); n++) {
    if (std::isnan (checked.expected[n]))
      continue;
    const double difference =
        std::abs (value_at (checked, output, n) - checked.expected[n]);
    compared++;
    different += !(difference <= checked.tolerance);
    largest = std::max (largest, difference);
  }
  if (different == 0)
    return "";
  return text_of ("%zu of %zu values differ, by up to %.3g (allowed: %.3g)", different,
      compared, largest, checked.tolerance);
}

Verdict
check_case (const Case &checked)
{
  Bytes output;
  std::string error;
  switch (process_buffer (checked.elements, checked.caps, checked.input, output, error)) {
  case Processed::missing:
    return {Verdict::unchecked, error};
  case Processed::unbuilt:
    return {Verdict::unusable, checked.label + ": " + error};
  case Processed::failed:
    return {Verdict::failed, checked.label + ": " + error};
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
