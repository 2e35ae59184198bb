/* octrawparse: parses raw samples into frames of spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octrawparse
 *
 * Parses a stream that contains only samples into frames of spectra: `lines` A-lines of
 * `samples` samples each. Each A-line begins at a byte. The first `header-bytes` bytes are
 * skipped. Blocks of the input may have any size.
 *
 * If each frame begins with A-lines that were recorded without the sample, such as those of
 * an apodization, `background-lines` is their number. They are removed, and `octwindowinterp`
 * subtracts their mean from the frame.
 *
 * A stream that ends within a frame is an error. Its whole frames are output before.
 *
 * If the source supports random access, as `filesrc` does, one frame is read at a time,
 * and seeks and reverse playback are supported. Behind a `queue`, only forward
 * seeks are supported.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=50 ! video/x-raw,width=1024,height=256 !
 * filesink location=/tmp/spectra.raw
 * gst-launch-1.0 filesrc location=/tmp/spectra.raw ! octrawparse samples=1024 lines=256 !
 * openclupload ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * opencldownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#include <gst/common/frameparser.hpp>
#include <gst/common/settings.hpp>
#include <gst/common/text.hpp>

#include "calibration/streamcalibration.hpp"
#include "elements.h"
#include "octcalibration.h"
#include "recordings/rawrecording.hpp"

#include <cstring>

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("application/octet-stream"));

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS,
    GST_STATIC_CAPS (
        "application/x-oct, domain = (string) wavelength, "
        "format = (string) { U16LE, F32LE, U8, S8, U16BE, S16LE, S16BE, S32LE, U32LE, "
        "MONO10P, MONO12P, MONO12PACKED }, samples = (int) [ 1, max ], "
        "lines = (int) [ 1, max ], framerate = (fraction) [ 0, max ]"));

namespace {
/* Index into oct::raw_formats */
enum class Format : gint {};

struct RawParseSettings {
  guint samples = 0;
  guint lines = 0;
  guint background_lines = 0;
  Format format = Format (0);
  guint64 header_bytes = 0;
  opencl::Fraction framerate = {25, 1};
};

const guint64 most_header_bytes = guint64 (1) << 40;
const guint64 most_frame_bytes = guint64 (1) << 31;
} // namespace

static GType
format_get_type (void)
{
  static const std::vector<GEnumValue> values = [] {
    std::vector<GEnumValue> made;
    for (gsize n = 0; n < oct::raw_format_count; n++)
      made.push_back ({gint (n), oct::raw_formats[n].name, oct::raw_formats[n].name});
    made.push_back ({0, nullptr, nullptr});
    return made;
  }();
  static const GType type = g_enum_register_static ("GstOctRawFormat", values.data ());
  return type;
}

const opencl::PropertyTable<RawParseSettings> properties = {
    {"samples", "Samples", "Number of samples of an A-line (required)",
        &RawParseSettings::samples, {0, G_MAXINT}, opencl::ready},
    {"lines", "Lines",
        "Number of A-lines of a frame, without those of background-lines (required)",
        &RawParseSettings::lines, {0, G_MAXINT}, opencl::ready},
    {"background-lines", "Background lines",
        "Number of A-lines before those of each frame whose mean is the background",
        &RawParseSettings::background_lines, {0, 65536}, opencl::ready},
    {"format", "Format", "Format of a sample", &RawParseSettings::format, format_get_type,
        opencl::ready},
    {"header-bytes", "Header bytes",
        "Number of bytes before the first frame, which are skipped",
        &RawParseSettings::header_bytes, {0, most_header_bytes}, opencl::ready},
    {"framerate", "Frame rate", "Frame rate for timestamps (0/1 = no timestamps)",
        &RawParseSettings::framerate, {{0, 1}, {G_MAXINT, 1}}, opencl::ready},
};

struct GstOctRawParse {
  GstFrameParser parent;
  opencl::Settings<RawParseSettings> *settings;
};

struct GstOctRawParseClass {
  GstFrameParserClass parent_class;
};

G_DEFINE_TYPE (
    GstOctRawParse, oct_raw_parse, gst_frame_parser_get_type ("GstOctFrameParser"))
GST_ELEMENT_REGISTER_DEFINE (
    octrawparse, "octrawparse", GST_RANK_NONE, oct_raw_parse_get_type ())

namespace {
/* The whole stream */
class RawRun : public opencl::FrameRun {
public:
  /* `source` (nullable) tells the number of frames. */
  RawRun (const oct::RawLayout &raw, const opencl::ByteSource *source) : raw (raw)
  {
    header_bytes = raw.header_bytes;
    frame_bytes = raw.frame_bytes ();
    is_only = true;
    layout = opencl::text_of (" (%u A-lines of %u samples, %s)",
        raw.background_lines + raw.lines, raw.samples, raw.format->name);
    output_bytes = raw.output_bytes ();
    const guint64 size = source ? source->size () : 0;
    frames = size > header_bytes ? raw.frame_at (size) : 0;
    bytes = header_bytes + frames * frame_bytes;
    if (!source)
      frames = bytes = endless;
  }

  GstCaps *make_caps () const override { return raw.make_caps (); }

  void convert (const guint8 *from, guint8 *to) override
  {
    if (raw.background_lines == 0)
      return;
    oct::MeanSpectrum mean (raw.samples);
    for (guint line = 0; line < raw.background_lines; line++)
      mean.add (*raw.format, from + line * raw.format->line_bytes (raw.samples));
    background = mean.get ();
    memcpy (to, from + raw.background_bytes (), output_bytes);
  }

  void describe (GstBuffer *buffer, guint64) const override
  {
    if (!background.empty ())
      gst_buffer_set_oct_background (buffer, background.data (), background.size ());
  }

private:
  const oct::RawLayout raw;
  std::vector<double> background; /* of the last frame */
};
} // namespace

static opencl::SharedRun
oct_raw_parse_parse_header (GstFrameParser *self, guint64, const guint8 *, gsize,
    const std::shared_ptr<opencl::ByteSource> &source)
{
  const RawParseSettings settings =
      reinterpret_cast<GstOctRawParse *> (self)->settings->committed ();
  const oct::RawLayout layout = {&oct::raw_formats[gsize (settings.format)],
      settings.samples, settings.lines, settings.header_bytes, settings.background_lines};

  if (layout.output_bytes () == 0 || layout.frame_bytes () > most_frame_bytes) {
    gst_frame_parser_fail (self,
        g_error_new (GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
            "samples %u, lines %u: expected both above 0, and at most %" G_GUINT64_FORMAT
            " bytes for a frame",
            settings.samples, settings.lines, most_frame_bytes));
    return nullptr;
  }
  if (layout.background_lines > 0) {
    oct::StreamCalibration
        each_frame; /* octwindowinterp subtracts what the frames bring */
    each_frame.background.resize (layout.samples);
    gst_pad_push_event (self->srcpad, oct::stream_calibration_event (each_frame));
  }
  return std::make_shared<RawRun> (layout, source.get ());
}

static void
oct_raw_parse_init (GstOctRawParse *self)
{
  self->settings = new opencl::Settings<RawParseSettings> (self, properties);
}

static void
oct_raw_parse_class_init (GstOctRawParseClass *klass)
{
  opencl::install_settings<&GstOctRawParse::settings> (klass, properties);
  klass->parent_class.parse_header = oct_raw_parse_parse_header;
  opencl::describe_element (klass, "Raw OCT spectra parser", "Codec/Parser",
      "Parses raw samples into frames of OCT spectra", {},
      {&sink_template, &src_template});
}
