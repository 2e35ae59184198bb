/* octtestsrc: generates raw OCT spectra on the device, for pipelines without a camera
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-octtestsrc
 * @title: octtestsrc
 *
 * Generates the spectra that the camera of a Fourier-domain OCT system would deliver,
 * from mirrors at known depths or from breathing tissue with blood flow. The spectra are
 * computed on the device, without uploads. If downstream needs system memory, an
 * asynchronous download fills it.
 *
 * Samples are evenly spaced in wavelength. A mirror at depth bin b gives the fringe
 * a cos (2 pi b m / N + a2 q^2 + a3 q^3). Here m is the position of a sample on the grid
 * of even wavenumbers, and q = m - N/2. octwindowinterp with the same wavelengths and
 * dispersion compensates both.
 *
 * The tissue (`pattern=layers`) is also a flow phantom. With `velocity` all blood in its
 * vessel moves along the beam at this velocity, from A-line to A-line, and new blood
 * follows. `sinusoidal` and `bidirectional` simulate a resonant scanner. `octscan` with
 * the same `sinusoidal` and with `reverse=odd` corrects this.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! \
 *     octfft ! opencldownload ! videoconvert ! autovideosink
 * ]| Displays a B-scan of moving tissue.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "elements.h"
#include "spectra/testspectra.hpp"

#include <gst/opencl/opencl-private.hpp>
#include <gst/common/settings.hpp>

GST_DEBUG_CATEGORY_STATIC (oct_test_src_debug);
#define GST_CAT_DEFAULT oct_test_src_debug

#define SPECTRA_CAPS(features)                                                           \
  "video/x-raw" features ", format=(string)GRAY16_LE, width=(int)[64, 16384], "          \
  "height=(int)[1, 65536], framerate=(fraction)[0/1, 2147483647/1]"

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (SPECTRA_CAPS (
            "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")") "; " SPECTRA_CAPS ("")));

#define DEFAULT_SAMPLES 2048
#define DEFAULT_LINES 512

G_DECLARE_FINAL_TYPE (GstOctTestSrc, gst_oct_test_src, GST, OCT_TEST_SRC, GstOpenCLSrc)

namespace {
struct TestSrcSettings {
  OctTestSettings spectra;
  bool live = false;
  guint tables_revision = 0; /* counts changes that need new tables */
};

/* State of the streaming thread, or of a state change while it does not run. */
struct TestSrcWork {
  OctTestSpectra spectra;
  TestSrcSettings settings; /* in force */
  bool tables = false;      /* `spectra` has tables for these settings */
};
} // namespace

struct _GstOctTestSrc {
  GstOpenCLSrc parent;

  opencl::Settings<TestSrcSettings> *settings;
  TestSrcWork *work;
};

G_DEFINE_TYPE_WITH_CODE (GstOctTestSrc, gst_oct_test_src, GST_TYPE_OPENCL_SRC,
    GST_DEBUG_CATEGORY_INIT (oct_test_src_debug, "octtestsrc", 0, "OCT test spectra"))
GST_ELEMENT_REGISTER_DEFINE (
    octtestsrc, "octtestsrc", GST_RANK_NONE, gst_oct_test_src_get_type ())

#define GST_TYPE_OCT_TEST_SRC_PATTERN (gst_oct_test_src_pattern_get_type ())
static GType
gst_oct_test_src_pattern_get_type ()
{
  static const GEnumValue patterns[] = {
      {OCT_TEST_PATTERN_MIRRORS, "Mirrors at `depths`", "mirrors"},
      {OCT_TEST_PATTERN_LAYERS, "Layers of moving tissue", "layers"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOctTestSrcPattern", patterns);
  return type;
}

const opencl::PropertyTable<TestSrcSettings> properties = {
    {"pattern", "Pattern", "Simulated sample",
        [] (TestSrcSettings &s) -> OctTestPattern & { return s.spectra.pattern; },
        gst_oct_test_src_pattern_get_type, opencl::playing,
        &TestSrcSettings::tables_revision},
    {"depths", "Depths",
        "Depth of each mirror in depth bins, 0 to half of the samples per A-line "
        "(pattern=mirrors), \"<50, 100.5>\"; initially <50, 100, 200>",
        [] (TestSrcSettings &s) -> std::vector<double> & { return s.spectra.depths; },
        opencl::ready, &TestSrcSettings::tables_revision},
    {"amplitudes", "Amplitudes",
        "Amplitude of the fringe of each mirror in raw units (pattern=mirrors), "
        "\"<1000, 500>\"; initially <1000, 500, 250>",
        [] (TestSrcSettings &s) -> std::vector<double> & { return s.spectra.amplitudes; },
        opencl::ready, &TestSrcSettings::tables_revision},
    {"wavelength-min", "Wavelength of the first sample",
        "Wavelength of the first sample, in any unit; the samples between are evenly "
        "spaced",
        [] (TestSrcSettings &s) -> double & { return s.spectra.wavelength_min; },
        {0, G_MAXDOUBLE}, opencl::ready, &TestSrcSettings::tables_revision},
    {"wavelength-max", "Wavelength of the last sample",
        "Wavelength of the last sample, in the unit of wavelength-min",
        [] (TestSrcSettings &s) -> double & { return s.spectra.wavelength_max; },
        {0, G_MAXDOUBLE}, opencl::ready, &TestSrcSettings::tables_revision},
    {"dispersion-a2", "Dispersion a2",
        "Quadratic dispersion of the sample in rad: the phase a2 q^2, q = m - N/2 on the "
        "grid of even wavenumbers",
        [] (TestSrcSettings &s) -> double & { return s.spectra.dispersion_a2; },
        {-G_MAXDOUBLE, G_MAXDOUBLE}, opencl::playing, &TestSrcSettings::tables_revision},
    {"dispersion-a3", "Dispersion a3",
        "Cubic dispersion of the sample in rad: the phase a3 q^3",
        [] (TestSrcSettings &s) -> double & { return s.spectra.dispersion_a3; },
        {-G_MAXDOUBLE, G_MAXDOUBLE}, opencl::playing, &TestSrcSettings::tables_revision},
    {"level", "Level",
        "Raw value without a fringe, at the centre of the spectrum; the signal of the "
        "tissue (pattern=layers) is proportional to it",
        [] (TestSrcSettings &s) -> double & { return s.spectra.level; }, {0, 65535},
        opencl::controllable},
    {"noise", "Noise", "Standard deviation of the camera's noise in raw units",
        [] (TestSrcSettings &s) -> double & { return s.spectra.noise; }, {0, 65535},
        opencl::controllable},
    {"seed", "Seed", "Seed of the random noise and tissue",
        [] (TestSrcSettings &s) -> guint & { return s.spectra.seed; }, {0, G_MAXUINT},
        opencl::playing},
    {"velocity", "Velocity",
        "Velocity of the blood along the beam in mm/s, positive towards greater depth, "
        "with wavelengths in nm (0 = phase rotation of unspecified velocity; "
        "pattern=layers)",
        [] (TestSrcSettings &s) -> double & { return s.spectra.velocity; },
        {-10000, 10000}, opencl::playing},
    {"line-rate", "Line rate",
        "A-line rate in Hz, which determines how far the blood moves between A-lines (0 "
        "= frame rate times the A-lines of a frame)",
        [] (TestSrcSettings &s) -> double & { return s.spectra.line_rate; }, {0, 1e9},
        opencl::playing},
    {"sinusoidal", "Sinusoidal",
        "Fraction of a half sine period that the scanner covers in a frame (0 = constant "
        "speed; pattern=layers)",
        [] (TestSrcSettings &s) -> double & { return s.spectra.sinusoidal; }, {0, 1},
        opencl::playing, &TestSrcSettings::tables_revision},
    {"bidirectional", "Bidirectional",
        "Whether every second frame is scanned in the opposite direction "
        "(pattern=layers)",
        [] (TestSrcSettings &s) -> bool & { return s.spectra.bidirectional; },
        opencl::playing},
    {"is-live", "Is live", "Whether to act as a live source", &TestSrcSettings::live,
        opencl::ready},
};

static gboolean
gst_oct_test_src_open (GstOpenCLSrc *src, GError **error)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  TestSrcSettings settings = self->settings->committed ();
  self->work = new TestSrcWork;
  gst_base_src_set_live (GST_BASE_SRC (self), settings.live);
  return oct_test_settings_validate (settings.spectra, error)
         && self->work->spectra.open (gst_opencl_src_get_context (src), error);
}

static void
gst_oct_test_src_close (GstOpenCLSrc *src)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  delete self->work;
  self->work = nullptr;
  self->settings->stop ();
}

static GstCaps *
gst_oct_test_src_fixate (GstBaseSrc *base, GstCaps *caps)
{
  caps = gst_caps_make_writable (caps);
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);
    gst_structure_fixate_field_nearest_int (structure, "width", DEFAULT_SAMPLES);
    gst_structure_fixate_field_nearest_int (structure, "height", DEFAULT_LINES);
    gst_structure_fixate_field_nearest_fraction (structure, "framerate", 30, 1);
    if (gst_structure_has_field (structure, "pixel-aspect-ratio"))
      gst_structure_fixate_field_nearest_fraction (structure, "pixel-aspect-ratio", 1, 1);
  }
  return GST_BASE_SRC_CLASS (gst_oct_test_src_parent_class)->fixate (base, caps);
}

/* Adopts the new settings. Mirrors that are too deep for new caps while playing cause a
 * warning and are left out. */
static gboolean
gst_oct_test_src_set_format (GstOpenCLSrc *src, GstCaps *caps, GError **error)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  TestSrcWork &work = *self->work;
  guint samples = GST_VIDEO_INFO_WIDTH (gst_opencl_src_get_video_info (src));
  bool starts = !self->settings->is_started ();
  GError *reason = nullptr;
  auto accept = [&] (const TestSrcSettings &wanted, GError **why) {
    return oct_test_settings_validate_for (wanted.spectra, samples, why);
  };

  bool valid = self->settings->adopt (accept, &reason);
  if (!valid && starts) {
    g_propagate_error (error, reason);
    return FALSE;
  }
  work.settings = self->settings->current ();
  if (!valid) {
    self->settings->warn (reason);
    work.settings.spectra = oct_test_settings_within (work.settings.spectra, samples);
  }
  work.tables = false;
  return TRUE;
}

static void
update_settings (GstOctTestSrc *self, const GstVideoInfo *info)
{
  TestSrcWork &work = *self->work;
  auto accept = [&] (const TestSrcSettings &wanted, GError **error) {
    if (!oct_test_settings_validate_for (
            wanted.spectra, GST_VIDEO_INFO_WIDTH (info), error))
      return false;
    /* Level, noise and seed are arguments of the kernels and need no new tables. */
    work.tables &= wanted.tables_revision == work.settings.tables_revision;
    work.settings = wanted;
    return true;
  };
  self->settings->update (accept);
}

static double
line_seconds (const OctTestSettings &settings, const GstVideoInfo *info)
{
  if (settings.line_rate > 0)
    return 1 / settings.line_rate;
  return GST_VIDEO_INFO_FPS_N (info) > 0
             ? double (GST_VIDEO_INFO_FPS_D (info)) / GST_VIDEO_INFO_FPS_N (info)
                   / GST_VIDEO_INFO_HEIGHT (info)
             : 0;
}

static gboolean
gst_oct_test_src_fill_frame (GstOpenCLSrc *src, guint64 number, GstClockTime time,
    const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  TestSrcWork &work = *self->work;
  const OctTestSettings &settings = work.settings.spectra;
  const GstVideoInfo *info = gst_opencl_src_get_video_info (src);

  update_settings (self, info);
  const OctTestMoment moment = {
      number, static_cast<double> (time) / GST_SECOND, line_seconds (settings, info)};
  if (!work.tables
      && !work.spectra.configure (
          settings, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), error))
    return FALSE;
  work.tables = true;
  return work.spectra.enqueue (settings, moment, *frame, error);
}

static void
gst_oct_test_src_init (GstOctTestSrc *self)
{
  self->settings = new opencl::Settings<TestSrcSettings> (self, properties);
}

static void
gst_oct_test_src_class_init (GstOctTestSrcClass *klass)
{
  GstElementClass *element = GST_ELEMENT_CLASS (klass);
  GstOpenCLSrcClass *src = GST_OPENCL_SRC_CLASS (klass);

  opencl::install_settings<&GstOctTestSrc::settings, &GstOctTestSrc::work> (
      klass, properties);

  gst_element_class_add_static_pad_template (element, &src_template);
  gst_element_class_set_static_metadata (element, "OCT test source", "Source/Video",
      "Generates raw OCT spectra of mirrors or of moving tissue on an OpenCL device",
      "The gst-opencl developers");

  GST_BASE_SRC_CLASS (klass)->fixate = gst_oct_test_src_fixate;
  src->open = gst_oct_test_src_open;
  src->close = gst_oct_test_src_close;
  src->set_format = gst_oct_test_src_set_format;
  src->fill_frame = gst_oct_test_src_fill_frame;
  gst_type_mark_as_plugin_api (GST_TYPE_OCT_TEST_SRC_PATTERN, (GstPluginAPIFlags)0);
}
