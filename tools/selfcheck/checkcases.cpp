/* gst-opencl-check: test cases of engines, with expected results
 *
 * tests/faults/selfchecknumbers.py computes the expected results in double precision, from the
 * elements' documented definitions, and stores them in the folder `expected`.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "checkcases.hpp"

#include <gio/gio.h>
#include <gst/common/npyfile.hpp>
#include <gst/common/text.hpp>
#include <gst/opencl/libraries.h>

#include <cmath>
#include <cstring>
#include <random>

namespace opencl {
namespace {
/* Values of the input, made from random numbers. `modulus` limits bytes, words and floats.
 * One pixel in `modulus` has a random colour; the others are green. One mixture in `modulus`
 * is green with a quarter of a random colour, so that no soft key makes it opaque. */
enum class Kind { bytes, words, floats, pixels, mixtures };

struct Case {
  const char *engine, *expected, *elements, *caps; /* `expected`: name of a file */
  Kind kind;
  gsize count; /* values of the input */
  guint modulus;
  double tolerance;
  bool gives_floats = false; /* else bytes */
  guint area = 1;            /* size of squares of one colour */
};

const guint columns = 76, rows = 40; /* of images, and A-lines of spectra */

#define GRAY " ! video/x-raw(ANY),format=GRAY8 ! opencldownload"
#define DEPTH                                                                            \
  "openclupload ! octwindowinterp wavelength-min=1187 wavelength-max=1433 "              \
  "background=frame ! octfft db-min=20 db-max=90" GRAY
#define TRANSFORM(library)                                                               \
  "openclupload ! octfft fused=never fft-library=" library " db-min=20 db-max=90" GRAY
#define RENDER(mode)                                                                     \
  "openclupload ! octrender mode=" mode " opacity=0.25 zoom=1.7320508075688772 ! "       \
  "video/x-raw(ANY),format=GRAY8,width=17,height=17 ! opencldownload"
#define SOFT_KEY(refine)                                                                 \
  "openclupload ! chromakey method=chroma mixing=levels plate=none refine=" refine       \
  " similarity=0 smoothness=0.9 core=false ! opencldownload"
#define CONVOLVE(method)                                                                 \
  "openclupload ! openclconvolve method=" method " scale=0.0069444444444444441 "         \
  "kernel=<<1.0,3.0,5.0,2.0,1.0>,<3.0,9.0,15.0,6.0,3.0>,<5.0,15.0,25.0,10.0,5.0>,"       \
  "<2.0,6.0,10.0,4.0,2.0>,<1.0,3.0,5.0,2.0,1.0>> ! opencldownload"
#define SPECTRA(samples)                                                                 \
  "application/x-oct,domain=wavenumber,format=F32LE,samples=" samples                    \
  ",lines=40,framerate=25/1"
#define TENSORS(type, dimensions)                                                        \
  "other/tensors,format=static,num_tensors=1,types=" type                                \
  ",dimensions=(string)" dimensions ",framerate=25/1"
#define VIDEO(format, width)                                                             \
  "video/x-raw,format=" format ",width=" width ",height=40,framerate=25/1"

const Case cases[] = {
    {"fused-depth", "depth-2048", DEPTH, VIDEO ("GRAY16_LE", "2048"), Kind::words,
        2048 * rows, 65536, 1},
    {"fused-depth", "depth-512", DEPTH, VIDEO ("GRAY16_LE", "512"), Kind::words,
        512 * rows, 65536, 1},
    {"fft-vkfft", "fft-2048", TRANSFORM ("vkfft"), SPECTRA ("2048"), Kind::floats,
        2048 * rows, 65536, 1},
    {"fft-vkfft", "fft-60", TRANSFORM ("vkfft"), SPECTRA ("60"), Kind::floats, 60 * rows,
        65536, 1},
    {"fft-vkfft-primes", "fft-127", TRANSFORM ("vkfft"), SPECTRA ("127"), Kind::floats,
        127 * rows, 65536, 1},
    {"fft-vkfft-primes", "fft-26003", TRANSFORM ("vkfft"), SPECTRA ("26003"),
        Kind::floats, 26003 * rows, 65536, 1},
#ifdef HAVE_CLFFT
    {"fft-clfft", "fft-2048", TRANSFORM ("clfft"), SPECTRA ("2048"), Kind::floats,
        2048 * rows, 65536, 1},
    {"fft-clfft", "fft-60", TRANSFORM ("clfft"), SPECTRA ("60"), Kind::floats, 60 * rows,
        65536, 1},
#endif
    /* Black and white are found in steps of 1/6 dB. */
    {"display-range", "range", "openclupload ! octdisplay db-auto=true" GRAY,
        "application/x-oct,domain=depth,format=F32LE,quantity=decibels,samples=256,"
        "lines=40,framerate=25/1",
        Kind::floats, 256 * rows, 122880, 2},
    {"rendering", "maximum", RENDER ("maximum"), TENSORS ("uint8", "17:17:17"),
        Kind::bytes, 17 * 17 * 17, 200, 1},
    {"rendering", "alpha", RENDER ("alpha"), TENSORS ("uint8", "17:17:17"), Kind::bytes,
        17 * 17 * 17, 200, 1},
    {"key-run", "hard-key",
        "openclupload ! chromakey tolerance=0.1 ! noisereduce iterations=2 ! "
        "flowkey iterations=3 tolerance=0.05 ! opencldownload",
        VIDEO ("RGBA", "76"), Kind::pixels, columns *rows, 16, 0},
    /* The element's chroma has coefficients in 1/128. */
    {"soft-key", "soft-key", SOFT_KEY ("false"), VIDEO ("RGBA", "76"), Kind::mixtures,
        columns *rows, 2, 4},
    {"soft-key", "soft-key-refined", SOFT_KEY ("true"), VIDEO ("RGBA", "76"),
        Kind::mixtures, columns *rows, 2, 4, false, 12},
    {"convolution-winograd", "winograd",
        "openclupload ! openclconvolve method=winograd flip=true "
        "kernel=<<1.0,2.0,3.0>,<4.0,5.0,6.0>,<7.0,8.0,10.0>> ! opencldownload",
        TENSORS ("float32", "76:40"), Kind::floats, columns *rows, 256, 3e-5, true},
    /* Results are rounded to a level. */
    {"convolution-separable", "convolution", CONVOLVE ("separable"),
        VIDEO ("GRAY8", "76"), Kind::bytes, columns *rows, 256, 0.51},
    {"convolution-fft", "convolution", CONVOLVE ("fft"), VIDEO ("GRAY8", "76"),
        Kind::bytes, columns *rows, 256, 0.51},
};

template <typename T>
void
append (Bytes &bytes, const T &value)
{
  const auto *first = reinterpret_cast<const guint8 *> (&value);
  bytes.insert (bytes.end (), first, first + sizeof value);
}

void
append_value (Bytes &bytes, const Case &checked, guint32 number)
{
  const guint32 limited = number % checked.modulus;
  const guint8 noise = guint8 (number / 16 % 48);
  guint8 pixel[] = {guint8 (noise / 3), guint8 (255 - noise), guint8 (noise / 2), 255};
  switch (checked.kind) {
  case Kind::bytes:
    return append (bytes, guint8 (limited));
  case Kind::words:
    return append (bytes, guint16 (limited));
  case Kind::floats:
    return append (bytes, float (int (limited) - int (checked.modulus / 2)) / 2048);
  case Kind::pixels:
  case Kind::mixtures:
    for (guint n = 0; n < 3 && limited == 0; n++) {
      const guint color = number >> 8 * (n + 1) & 255;
      pixel[n] =
          guint8 (checked.kind == Kind::pixels ? color : (color + 3 * pixel[n]) / 4);
    }
    return append (bytes, pixel);
  }
}

Bytes
make_input (const Case &checked)
{
  std::mt19937 random (1);
  std::vector<guint32> numbers (checked.count);
  Bytes bytes;
  for (guint32 &number : numbers)
    number = guint32 (random ());
  for (gsize n = 0; n < numbers.size (); n++) {
    const gsize row = n / columns / checked.area, column = n % columns / checked.area;
    append_value (bytes, checked, numbers[row * columns + column]);
  }
  return bytes;
}

/* Returns the expected values. NaN is not compared. */
std::vector<float>
expected_of (const Case &checked)
{
  const std::string path = std::string ("/selfcheck/") + checked.expected + ".npy";
  GBytes *file =
      g_resources_lookup_data (path.c_str (), G_RESOURCE_LOOKUP_FLAGS_NONE, nullptr);
  gsize size = 0;
  const auto *data = static_cast<const guint8 *> (g_bytes_get_data (file, &size));
  NpyHeader header;
  std::vector<float> values;
  if (npy_parse_header (data, size, header, nullptr)) {
    values.resize (header.data_size () / sizeof (float));
    memcpy (values.data (), data + header.data_offset, header.data_size ());
  }
  g_bytes_unref (file);
  return values;
}

float
value_at (const Case &checked, const Bytes &output, gsize n)
{
  float value;
  if (!checked.gives_floats)
    return output[n];
  memcpy (&value, &output[n * sizeof value], sizeof value);
  return value;
}

/* Describes the differences. Returns an empty string if there are none. Only every n-th
 * value of a large output is compared. */
std::string
difference_of (const Case &checked, const Bytes &output)
{
  const std::vector<float> expected = expected_of (checked);
  const gsize size = output.size () / (checked.gives_floats ? sizeof (float) : 1);
  const gsize step = (size / 1024) | 1;
  if ((size + step - 1) / step != expected.size ())
    return text_of ("%zu values, of which 1 in %zu is compared with %zu", size, step,
        expected.size ());
  gsize compared = 0, different = 0;
  double largest = 0;
  for (gsize n = 0; n < expected.size (); n++) {
    if (std::isnan (expected[n]))
      continue;
    const double difference =
        std::abs (double (value_at (checked, output, n * step)) - expected[n]);
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
  switch (process_buffer (
      checked.elements, checked.caps, make_input (checked), output, error)) {
  case Processed::missing:
    return {Verdict::unchecked, error};
  case Processed::unbuilt:
    return {Verdict::unusable, checked.expected + (": " + error)};
  case Processed::failed:
    return {Verdict::failed, checked.expected + (": " + error)};
  default:
    break;
  }
  const std::string difference = difference_of (checked, output);
  if (difference.empty ())
    return {Verdict::right, ""};
  return {Verdict::wrong, checked.expected + (": " + difference)};
}
} // namespace

std::vector<std::string>
names_of_engines ()
{
  std::vector<std::string> names;
  for (const Case &known : cases) {
    if (names.empty () || names.back () != known.engine)
      names.push_back (known.engine);
  }
  return names;
}

Verdict
check_engine (const std::string &name)
{
  Verdict verdict = {Verdict::unchecked, "there is no engine " + name};
  for (const Case &checked : cases) {
    if (name != checked.engine)
      continue;
    verdict = check_case (checked);
    if (verdict.result != Verdict::right)
      break;
  }
  return verdict;
}
} // namespace opencl
