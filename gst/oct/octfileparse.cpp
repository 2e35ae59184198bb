/* octfileparse: parses Thorlabs .oct recordings into frames of raw spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octfileparse
 *
 * Parses `.oct` recordings of Thorlabs instruments (ThorImage OCT) into frames of raw
 * spectra. Each frame is a B-scan. The recording must contain raw spectra. Those that
 * contain only processed images are refused.
 *
 * A #GstOctCalibration event precedes the frames. It has the resample map of the
 * recording's chirp, the background and the depth scale, which `octwindowinterp` uses
 * unless its properties set them. No options are needed to show a recording.
 *
 * The apodization A-lines, which the instrument records without the sample, are removed
 * from each frame. Their mean is the background of the frame, including the dark level of
 * the camera, in a meta (#GstOctCalibration). A recording without apodization A-lines has a
 * reference spectrum instead (`ApodizationSpectrum.data`) or only the dark level
 * (`OffsetErrors.data`).
 *
 * The caps contain `line-step` and `b-scan-step` in µm if the header has ranges. Lengths
 * of an unknown unit are left out, with a WARNING message. The depth scale is that of the
 * instrument's software, which divides it by the refractive index in the header. `octfft`
 * multiplies it by that index again if its `refractive-index` is set to 1, for depths in
 * air.
 *
 * Each buffer has a #GstOctScanMeta with the B-scan and, if B-scans were averaged, the
 * repeat. All A-lines of a recording with averaging are output.
 *
 * The source must support random access, as `filesrc` does. One frame is read at a time.
 * Seeks and reverse playback are supported. If a recording has two cameras, `camera`
 * chooses one; a warning says that there is another one. One-dimensional recordings have
 * float32 spectra. If the instrument averages adjacent A-lines for its display, the caps
 * have their number as `averaged-lines`; all A-lines are output.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=recording.oct ! octfileparse ! openclupload !
 * octwindowinterp ! octfft ! opencldownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#include <gst/common/frameparser.hpp>
#include <gst/common/settings.hpp>

#include "elements.h"
#include "octcalibration.h"
#include "octscanmeta.h"
#include "recordings/octrecording.hpp"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("application/x-thorlabs-oct"));

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC,
    GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("application/x-oct, domain = (string) wavelength, "
                     "format = (string) { U16LE, U8, S8, S16LE, S32LE, U32LE, F32LE }, "
                     "samples = (int) [ 16, 65536 ], lines = (int) [ 1, max ], "
                     "framerate = (fraction) [ 0, max ]"));

namespace {
struct FileParseSettings {
  guint camera = 0;
  opencl::Fraction framerate = {25, 1};
};

const opencl::PropertyTable<FileParseSettings> properties = {
    {"camera", "Camera", "Camera whose spectra are output (recordings of two cameras)",
        &FileParseSettings::camera, {0, 1}, opencl::ready},
    {"framerate", "Frame rate", "Frame rate for timestamps (0/1 = no timestamps)",
        &FileParseSettings::framerate, {{0, 1}, {G_MAXINT, 1}}, opencl::ready},
};

/* All frames of a recording */
class RecordingRun : public opencl::FrameRun {
public:
  explicit RecordingRun (guint camera) : recording (camera) {}

  bool open (const std::shared_ptr<opencl::ByteSource> &source, GError **error)
  {
    if (!recording.open (source, error))
      return false;
    frames = recording.frames ();
    frame_bytes = output_bytes = recording.frame_bytes ();
    bytes = source->size ();
    is_only = true;
    return true;
  }

  GstCaps *make_caps () const override
  {
    const oct::RawLayout layout = {
        &recording.format (), recording.samples (), recording.lines (), 0};
    GstCaps *caps = layout.make_caps ();
    for (const auto &[field, step] : {std::pair ("line-step", recording.line_step ()),
             std::pair ("b-scan-step", recording.b_scan_step ())}) {
      if (step > 0)
        gst_caps_set_simple (caps, field, G_TYPE_DOUBLE, step, nullptr);
    }
    if (recording.averaged_lines () > 1)
      gst_caps_set_simple (caps, "averaged-lines", G_TYPE_INT,
          gint (recording.averaged_lines ()), nullptr);
    return caps;
  }

  bool read (opencl::ByteSource &, guint64 frame, guint8 *to, gsize &done,
      GError **error) override
  {
    done = frame_bytes;
    return recording.read (frame, to, error);
  }

  void describe (GstBuffer *buffer, guint64 frame) const override
  {
    const guint repeats = recording.repeats ();
    const std::vector<double> &background = recording.background ();
    if (!background.empty ())
      gst_buffer_set_oct_background (buffer, background.data (), background.size ());
    if (repeats == 0)
      return;
    const GstOctScan scan = {frame, 0, guint (frame / repeats), guint (frame % repeats),
        guint (frames / repeats), repeats, FALSE};
    gst_buffer_set_oct_scan (buffer, &scan);
  }

  oct::OctRecording recording;
};
} // namespace

struct GstOctFileParse {
  GstFrameParser parent;
  opencl::Settings<FileParseSettings> *settings;
};

struct GstOctFileParseClass {
  GstFrameParserClass parent_class;
};

G_DEFINE_TYPE (
    GstOctFileParse, oct_file_parse, gst_frame_parser_get_type ("GstOctFrameParser"))
GST_ELEMENT_REGISTER_DEFINE (
    octfileparse, "octfileparse", GST_RANK_PRIMARY, oct_file_parse_get_type ())

/* The calibration precedes the caps, so that octwindowinterp negotiates once. */
static opencl::SharedRun
oct_file_parse_parse_header (GstFrameParser *self, guint64, const guint8 *, gsize,
    const std::shared_ptr<opencl::ByteSource> &source)
{
  const auto run = std::make_shared<RecordingRun> (
      reinterpret_cast<GstOctFileParse *> (self)->settings->committed ().camera);
  const oct::OctRecording &recording = run->recording;
  GError *error = nullptr;

  if (!source) {
    gst_frame_parser_fail (self, g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SEEK,
                                     "the source cannot be read at random positions, as "
                                     "a recording in this format "
                                     "needs: use filesrc, with no queue before %s",
                                     GST_OBJECT_NAME (self)));
    return nullptr;
  }
  if (!run->open (source, &error)) {
    gst_frame_parser_fail (self, error);
    return nullptr;
  }
  if (!recording.warning ().empty ())
    GST_ELEMENT_WARNING (
        self, STREAM, FORMAT, ("%s", recording.warning ().c_str ()), (nullptr));
  if (!(recording.calibration () == oct::StreamCalibration ()))
    gst_pad_push_event (
        self->srcpad, oct::stream_calibration_event (recording.calibration ()));
  return run;
}

static void
oct_file_parse_init (GstOctFileParse *self)
{
  self->settings = new opencl::Settings<FileParseSettings> (self, properties);
}

static void
oct_file_parse_class_init (GstOctFileParseClass *klass)
{
  opencl::install_settings<&GstOctFileParse::settings> (klass, properties);
  klass->parent_class.parse_header = oct_file_parse_parse_header;
  opencl::describe_element (klass, "OCT recording parser", "Codec/Parser",
      "Parses Thorlabs .oct recordings into frames of raw spectra", {},
      {&sink_template, &src_template});
}
