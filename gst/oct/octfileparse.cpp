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
 * from each frame. The mean of those of the first frame is the background, including the
 * dark level of the camera. A recording without apodization A-lines has a reference
 * spectrum instead (`ApodizationSpectrum.data`) or only the dark level
 * (`OffsetErrors.data`).
 *
 * The caps contain `line-step` and `b-scan-step` in µm if the header has ranges. The
 * depth scale is that of the instrument's software, which divides it by the refractive
 * index in the header. `octfft` multiplies it by that index again if its
 * `refractive-index` is set to 1, for depths in air.
 *
 * Each buffer has a #GstOctScanMeta with the B-scan and, if B-scans were averaged, the
 * repeat. All A-lines of a recording with averaging are output.
 *
 * The source must support random access, as `filesrc` does. One frame is read at a time.
 * Seeks and reverse playback are supported. If a recording has two cameras, spectra of
 * the first one are output.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=recording.oct ! octfileparse ! openclupload !
 * octwindowinterp ! octfft ! opencldownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/common/settings.hpp>

#include "elements.h"
#include "recordings/octrecording.hpp"
#include "recordings/recordingparse.hpp"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("application/x-thorlabs-oct"));

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS ("application/x-oct, domain = (string) wavelength, "
                         "format = (string) { U16LE, U8, S8, S16LE, S32LE, U32LE }, "
                         "samples = (int) [ 16, 65536 ], lines = (int) [ 1, max ], "
                         "framerate = (fraction) [ 0, max ]"));

namespace {
struct FileParseSettings {
  opencl::Fraction framerate = {25, 1};
};

const opencl::PropertyTable<FileParseSettings> properties = {
    {"framerate", "Frame rate", "Frame rate for timestamps (0/1 = no timestamps)",
        &FileParseSettings::framerate, {{0, 1}, {G_MAXINT, 1}}, opencl::ready},
};
} // namespace

struct GstOctFileParse {
  GstOctRecordingParse parent;
  opencl::Settings<FileParseSettings> *settings;
};

struct GstOctFileParseClass {
  GstOctRecordingParseClass parent_class;
};

G_DEFINE_TYPE (GstOctFileParse, oct_file_parse, gst_oct_recording_parse_get_type ())
GST_ELEMENT_REGISTER_DEFINE (
    octfileparse, "octfileparse", GST_RANK_PRIMARY, oct_file_parse_get_type ())

static std::unique_ptr<oct::Recording>
oct_file_parse_make_recording (GstOctRecordingParse *, GError **)
{
  return std::make_unique<oct::OctRecording> ();
}

static opencl::Framerate
oct_file_parse_get_framerate (GstOctRecordingParse *parse)
{
  const auto *self = reinterpret_cast<GstOctFileParse *> (parse);
  const opencl::Fraction wanted = self->settings->committed ().framerate;
  return {wanted.numerator, wanted.denominator};
}

static void
oct_file_parse_init (GstOctFileParse *self)
{
  self->settings = new opencl::Settings<FileParseSettings> (self, properties);
}

static void
oct_file_parse_class_init (GstOctFileParseClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  opencl::install_settings<&GstOctFileParse::settings> (klass, properties);
  klass->parent_class.make_recording = oct_file_parse_make_recording;
  klass->parent_class.get_framerate = oct_file_parse_get_framerate;
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT recording parser",
      "Codec/Parser", "Parses Thorlabs .oct recordings into frames of raw spectra",
      "The gst-opencl developers");
}
