/* npyparse: parses .npy files into frames of raw spectra or into arrays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-npyparse
 * @title: npyparse
 *
 * Parses .npy files into frames of raw spectra. An array of shape (samples,) is one
 * A-line, (lines, samples) is one frame, and (frames, lines, samples) is a number of
 * frames. The stream is one such file, as from `filesrc`, or several in a row, as from
 * `multifilesrc`. Integers of 8 to 32 bits and float32 keep their type. Both byte orders
 * are supported.
 *
 * If downstream accepts `other/tensors`, as `openclkernel` does, an array of any shape
 * and of any numbers of fixed size is output as one buffer. Complex numbers get an
 * innermost dimension of 2. With `split`, each index of the outermost dimension is one
 * buffer. If downstream also accepts spectra, as `npysink` does, or any caps, the output
 * is spectra if they can hold the shape and values exactly, else an array.
 *
 * Spectra have no float64 format. If downstream accepts nothing else, as
 * `octwindowinterp` or a caps filter of `application/x-oct`, float64 is converted to
 * float32. An INFO message is posted if a value is rounded.
 *
 * If the source supports random access, as `filesrc` does, one frame is read at a time,
 * and seeks and reverse playback are supported. Behind a `queue`, only forward seeks are
 * supported. A stream of several files has no known duration and is not played backwards.
 *
 * ## Example launch line
 * |[
 * python3 -c "import numpy; numpy.save ('/tmp/a.npy', numpy.random.rand (50, 64, 1024))"
 * gst-launch-1.0 filesrc location=/tmp/a.npy ! npyparse ! openclupload ! \
 *     octwindowinterp ! octfft db-min=-60 db-max=0 ! opencldownload ! videoconvert ! \
 *     autovideosink
 * ]| Shows two seconds of noise as 50 B-scans.
 * |[
 * gst-launch-1.0 filesrc location=/tmp/a.npy ! npyparse split=true ! openclupload ! \
 *     openclkernel expression="sqrt (x)" ! npysink location=/tmp/b.npy
 * ]| Writes the square roots of the same array.
 */
#include <cmath>
#include <cstring>
#include <utility>

#include <gst/common/frameparser.hpp>
#include <gst/common/settings.hpp>

#include "elements.h"
#include "framearray.hpp"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("application/x-npy"));

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            "application/x-oct, domain = (string) wavelength, format = (string) { U16LE, "
            "F32LE, U8, S8, S16LE, S32LE, U32LE }, samples = (int) [ 1, max ], lines = "
            "(int) [ 1, max ], framerate = (fraction) [ 0, max ]; " TENSORS_CAPS ("")));

namespace {
using npy::FrameArray;

struct NpyParseSettings {
  opencl::Fraction framerate = {25, 1};
  bool split = false;
};

const opencl::PropertyTable<NpyParseSettings> properties = {
    {"framerate", "Frame rate",
        "Frame rate for timestamps (0/1 = no timestamps; a framerate in the input caps "
        "takes precedence)",
        &NpyParseSettings::framerate, {{0, 1}, {G_MAXINT, 1}}, opencl::ready},
    {"split", "Split",
        "Output each index of the outermost dimension as a separate buffer "
        "(other/tensors)",
        &NpyParseSettings::split, opencl::ready},
};
} // namespace

struct GstNpyParse {
  GstFrameParser parent;
  opencl::Settings<NpyParseSettings> *settings;
  bool rounding_reported;
};

struct GstNpyParseClass {
  GstFrameParserClass parent_class;
};

G_DEFINE_TYPE (GstNpyParse, npy_parse, gst_frame_parser_get_type ("GstNpyFrameParser"))
GST_ELEMENT_REGISTER_DEFINE (
    npyparse, "npyparse", GST_RANK_PRIMARY, npy_parse_get_type ());

static GstNpyParse *
npy_parse_cast (gpointer instance)
{
  return reinterpret_cast<GstNpyParse *> (instance);
}

/* Frames */

/* `bytes` may be unaligned. */
static double
read_double (const guint8 *bytes, bool big_endian)
{
  guint64 bits;
  double value;

  std::memcpy (&bits, bytes, sizeof bits);
  bits = big_endian ? GUINT64_FROM_BE (bits) : GUINT64_FROM_LE (bits);
  std::memcpy (&value, &bits, sizeof value);
  return value;
}

/* Returns whether no value was rounded. */
static bool
convert_doubles (const guint8 *doubles, gsize count, bool big_endian, guint8 *floats)
{
  bool is_exact = true;

  for (gsize i = 0; i < count; i++) {
    const double value = read_double (doubles + i * sizeof (double), big_endian);
    const float rounded = float (value);
    is_exact = is_exact && (rounded == value || std::isnan (value));
    GST_WRITE_FLOAT_LE (floats + i * sizeof (float), rounded);
  }
  return is_exact;
}

static void
npy_parse_report_rounding (GstNpyParse *self)
{
  if (!std::exchange (self->rounding_reported, true))
    GST_ELEMENT_INFO (self, STREAM, FORMAT,
        ("float64 values are rounded to float32: downstream accepts spectra, "
         "but not " TENSORS_NAME),
        (nullptr));
}

namespace {
/* Frames of one file */
class NpyRun : public opencl::FrameRun {
public:
  NpyRun (GstNpyParse *self, const FrameArray &array) : self (self), array (array)
  {
    frames = array.frames;
    header_bytes = array.header_bytes;
    frame_bytes = array.frame_bytes;
    output_bytes = array.output_bytes ();
    bytes = array.bytes ();
  }

  GstCaps *make_caps () const override { return array.make_caps (); }

  void convert (const guint8 *from, guint8 *to) override
  {
    const gsize size = opencl::info_of (array.type).size;
    if (!array.is_narrowed () && array.big_endian)
      opencl::npy_swap_bytes (to, frame_bytes, size);
    else if (array.is_narrowed ()
             && !convert_doubles (from, frame_bytes / size, array.big_endian, to))
      npy_parse_report_rounding (self);
  }

private:
  GstNpyParse *const self;
  const FrameArray array;
};
} // namespace

/* Headers */

/* Returns whether downstream accepts `caps` (transfer full). */
static bool
npy_parse_is_accepted (GstNpyParse *self, GstCaps *caps)
{
  GstCaps *both = gst_pad_peer_query_caps (self->parent.srcpad, caps);
  const bool accepted = gst_caps_can_intersect (caps, both);
  gst_caps_unref (caps);
  gst_caps_unref (both);
  return accepted;
}

namespace {
/* Array of a file, parsed as spectra or as tensors */
struct ParsedArray {
  FrameArray array = {};
  GError *error = nullptr; /* (nullable): why it cannot be parsed */

  ParsedArray (const guint8 *data, gsize size, npy::View view)
  {
    npy::frame_array_parse (data, size, view, array, &error);
  }
  ~ParsedArray () { g_clear_error (&error); }
  ParsedArray (const ParsedArray &) = delete;
};
} // namespace

/* Chooses the first that downstream accepts of: spectra without loss, tensors, spectra
 * with rounding. If it accepts none, it refuses the caps later. */
static bool
npy_parse_read_header (
    GstNpyParse *self, const guint8 *data, gsize size, FrameArray &array, GError **error)
{
  const bool split = self->settings->committed ().split;
  ParsedArray spectra (data, size, {false, split}), tensors (data, size, {true, split});
  const bool narrows = !spectra.error && spectra.array.is_narrowed ();
  const bool accepts_spectra =
      npy_parse_is_accepted (self, gst_caps_new_empty_simple ("application/x-oct"));
  const bool accepts_tensors =
      npy_parse_is_accepted (self, gst_caps_new_empty_simple (TENSORS_NAME));
  ParsedArray &fallback = accepts_tensors && !accepts_spectra ? tensors : spectra;
  ParsedArray *const by_preference[] = {
      narrows ? &tensors : &spectra, narrows ? &spectra : &tensors};

  for (ParsedArray *parsed : by_preference) {
    if (parsed->error || !npy_parse_is_accepted (self, parsed->array.make_caps ()))
      continue;
    array = parsed->array;
    return true;
  }
  array = fallback.array;
  if (!fallback.error)
    return true;
  g_propagate_error (error, std::exchange (fallback.error, nullptr));
  return false;
}

static opencl::SharedRun
npy_parse_parse_header (GstFrameParser *parser, guint64 position, const guint8 *bytes,
    gsize size, const std::shared_ptr<opencl::ByteSource> &)
{
  GstNpyParse *self = npy_parse_cast (parser);
  FrameArray array;
  GError *error = nullptr;

  if (position == 0)
    self->rounding_reported = false;
  if (npy_parse_read_header (self, bytes, size, array, &error))
    return std::make_shared<NpyRun> (self, array);
  g_prefix_error (&error, "at byte %" G_GUINT64_FORMAT ": ", position);
  gst_frame_parser_fail (parser, error);
  return nullptr;
}

static void
npy_parse_init (GstNpyParse *self)
{
  self->settings = new opencl::Settings<NpyParseSettings> (self, properties);
}

static void
npy_parse_class_init (GstNpyParseClass *klass)
{
  GstFrameParserClass &parser_class = klass->parent_class;

  opencl::install_settings<&GstNpyParse::settings> (klass, properties);
  parser_class.get_header_size = opencl::npy_header_size;
  parser_class.magic = {
      reinterpret_cast<const char *> (opencl::npy_magic), sizeof opencl::npy_magic};
  parser_class.parse_header = npy_parse_parse_header;

  opencl::describe_element (klass, "NumPy array parser", "Codec/Parser",
      "Parses NumPy .npy files into frames of raw spectra or arrays", {},
      {&sink_template, &src_template});
}
