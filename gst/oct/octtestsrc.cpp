/* octtestsrc: generates raw OCT spectra on the device, for pipelines without a camera
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-octtestsrc
 * @title: octtestsrc
 *
 * Generates the spectra that the camera of a Fourier-domain OCT system would deliver,
 * from mirrors at known depths, from a flat surface, from breathing tissue with blood flow,
 * or from a three-dimensional phantom of a retina. The spectra are computed on the device,
 * without uploads. If downstream needs system memory, an asynchronous download fills it.
 *
 * Samples are evenly spaced in wavelength. A mirror at depth bin b gives the fringe
 * a cos (2 pi b m / N + a2 q^2 + a3 q^3). Here m is the position of a sample on the grid
 * of even wavenumbers, and q = m - N/2. octwindowinterp with the same wavelengths and
 * dispersion compensates both.
 *
 * The layers (`pattern=layers`) are also a flow phantom. With `velocity` all blood in its
 * vessel moves along the beam at this velocity, from A-line to A-line, and new blood
 * follows. `sinusoidal` and `bidirectional` simulate a resonant scanner. `octscan` with
 * the same `sinusoidal` and with `reverse=odd` corrects this.
 *
 * ## The retina
 *
 * `pattern=tissue` is a volume of `b-scans` B-scans, each repeated `repeats` times. Frame n
 * is repeat n % R of B-scan (n / R) % N, and has this position in its #GstOctScanMeta,
 * unless there is only one B-scan without repeats. The tissue has a fovea, two plexuses of
 * branching vessels with a mesh of capillaries between them, and fifteen layers that
 * undulate in both directions: nerve fibres, ganglion cells, inner plexiform, inner nuclear,
 * outer plexiform, outer nuclear, external limiting membrane, myoids, ellipsoid zone, outer
 * segments, interdigitation zone, apical processes, pigment epithelium, choroid and sclera.
 * It is 3 mm wide, and by default A-lines and B-scans cover it. Wavelengths are in nm. The
 * caps contain `line-step` and `b-scan-step`.
 *
 * Static tissue does not change from frame to frame unless `motion` is set. The
 * intensity that a depth scatters back is proportional to its attenuation coefficient mu,
 * and to the light that reaches it and comes back, exp (-2 mu z). The speckle has a
 * lateral resolution of 20 µm. The refractive index is 1.38. Blood flows with a parabolic
 * profile. The phase of its light follows the velocity along the beam. Its speckle is
 * replaced while it crosses the resolution.
 *
 * With `cell-rate` cells of the inner layers move, as those of living tissue do: a part of
 * the light of a layer comes from them, and its speckle is replaced at the rate of the
 * layer. This is a phantom for octdynamic. Published rates of the retina do not exist.
 *
 * `pattern=flat` is a strong flat surface at the first of `depths` instead, with the first
 * of `amplitudes`. `curvature` affects it too.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! \
 *     octfft ! opencldownload ! videoconvert ! autovideosink
 * ]| Displays a B-scan of moving tissue.
 * |[
 * gst-launch-1.0 octtestsrc pattern=tissue b-scans=64 num-buffers=64 ! octwindowinterp \
 *     wavelength-min=1187 wavelength-max=1433 ! octfft ! octvolume ! opencldownload ! \
 *     videoconvert ! autovideosink
 * ]| Displays the en face projection of a retina.
 */
#include "elements.h"
#include "octscanmeta.h"
#include "tissue/testpattern.hpp"

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclsrc.h>
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
/* State of the streaming thread, or of a state change while it does not run. */
struct TestSrcWork {
  OctTestSettings settings; /* in force */
  std::unique_ptr<oct::TestPattern> pattern;
  OctTestPattern made = {}; /* the kind of `pattern` */
  bool tables = false;      /* `pattern` has tables for these settings */
  bool discont = false;     /* the next frame does not continue the scan */
  guint64 frame = 0;        /* last one that was enqueued */
};
} // namespace

struct _GstOctTestSrc {
  GstOpenCLSrc parent;

  opencl::Settings<OctTestSettings> *settings;
  TestSrcWork *work;
};

G_DEFINE_TYPE_WITH_CODE (GstOctTestSrc, gst_oct_test_src, GST_TYPE_OPENCL_SRC,
    GST_DEBUG_CATEGORY_INIT (oct_test_src_debug, "octtestsrc", 0, "OCT test spectra"))
GST_ELEMENT_REGISTER_DEFINE (
    octtestsrc, "octtestsrc", GST_RANK_NONE, gst_oct_test_src_get_type ())

static const opencl::EnumTypeOf<OctTestPattern> pattern_type ("GstOctTestSrcPattern",
    {{OCT_TEST_PATTERN_MIRRORS, "Mirrors at `depths`", "mirrors"},
        {OCT_TEST_PATTERN_LAYERS, "Layers of moving tissue", "layers"},
        {OCT_TEST_PATTERN_TISSUE, "Three-dimensional retina with vessels (Since: 0.3)",
            "tissue"},
        {OCT_TEST_PATTERN_FLAT, "Flat surface at the first of `depths` (Since: 0.3)",
            "flat"}});

const auto tables = &OctTestSettings::tables_revision;

const opencl::PropertyTable<OctTestSettings> properties = {
    {"pattern", "Pattern", "Simulated sample", &OctTestSettings::pattern, pattern_type,
        opencl::playing, tables},
    {"depths", "Depths",
        "Depth of each mirror in depth bins, 0 to half of the samples per A-line "
        "(pattern=mirrors, flat), \"<50, 100.5>\"; initially <50, 100, 200>",
        &OctTestSettings::depths, opencl::ready, tables},
    {"amplitudes", "Amplitudes",
        "Amplitude of the fringe of each mirror in raw units (pattern=mirrors, flat), "
        "\"<1000, 500>\"; initially <1000, 500, 250>",
        &OctTestSettings::amplitudes, opencl::ready, tables},
    {"wavelength-min", "Wavelength of the first sample",
        "Wavelength of the first sample, in any unit; the samples between are evenly "
        "spaced",
        &OctTestSettings::wavelength_min, {0, G_MAXDOUBLE}, opencl::ready, tables},
    {"wavelength-max", "Wavelength of the last sample",
        "Wavelength of the last sample, in the unit of wavelength-min",
        &OctTestSettings::wavelength_max, {0, G_MAXDOUBLE}, opencl::ready, tables},
    {"dispersion-a2", "Dispersion a2",
        "Quadratic dispersion of the sample in rad: the phase a2 q^2, q = m - N/2 on the "
        "grid of even wavenumbers",
        &OctTestSettings::dispersion_a2, {-G_MAXDOUBLE, G_MAXDOUBLE}, opencl::playing,
        tables},
    {"dispersion-a3", "Dispersion a3",
        "Cubic dispersion of the sample in rad: the phase a3 q^3",
        &OctTestSettings::dispersion_a3, {-G_MAXDOUBLE, G_MAXDOUBLE}, opencl::playing,
        tables},
    {"level", "Level",
        "Raw value without a fringe, at the centre of the spectrum; the signal of the "
        "tissue (pattern=layers) is proportional to it",
        &OctTestSettings::level, {0, 65535}, opencl::controllable},
    {"noise", "Noise", "Standard deviation of the camera's noise in raw units",
        &OctTestSettings::noise, {0, 65535}, opencl::controllable},
    {"seed", "Seed", "Seed of the random noise and tissue", &OctTestSettings::seed,
        {0, G_MAXUINT}, opencl::playing, tables},
    {"velocity", "Velocity",
        "Velocity of the blood along the beam in mm/s, positive towards greater depth, "
        "with wavelengths in nm (0 = phase rotation of unspecified velocity; "
        "pattern=layers)",
        &OctTestSettings::velocity, {-10000, 10000}, opencl::playing},
    {"line-rate", "Line rate",
        "A-line rate in Hz, which determines how far the blood moves between A-lines (0 "
        "= frame rate times the A-lines of a frame)",
        &OctTestSettings::line_rate, {0, 1e9}, opencl::playing},
    {"sinusoidal", "Sinusoidal",
        "Fraction of a half sine period that the scanner covers in a frame (0 = constant "
        "speed; not for pattern=mirrors)",
        &OctTestSettings::sinusoidal, {0, 1}, opencl::playing, tables},
    {"bidirectional", "Bidirectional",
        "Whether every second frame is scanned in the opposite direction "
        "(not for pattern=mirrors)",
        &OctTestSettings::bidirectional, opencl::playing},
    {"b-scans", "B-scans",
        "Number of B-scans in a volume, without repeats (pattern=tissue, flat)",
        &OctTestSettings::b_scans, {1, OCT_TEST_MOST_B_SCANS}, opencl::ready, tables},
    {"repeats", "Repeats",
        "Number of times each B-scan is acquired before the next one (pattern=tissue, "
        "flat)",
        &OctTestSettings::repeats, {1, 4096}, opencl::playing},
    {"flow-velocity", "Flow velocity",
        "Velocity of the blood at the centre of the widest vessel in mm/s "
        "(pattern=tissue)",
        &OctTestSettings::flow_velocity, {0, 10000}, opencl::playing, tables},
    {"cell-rate", "Cell rate",
        "Rate in Hz at which the speckle of the most active cells is replaced (0 = cells "
        "do not move; pattern=tissue)",
        &OctTestSettings::cell_rate, {0, 1e6}, opencl::playing, tables},
    {"motion", "Motion",
        "Motion of the eye along each axis in micrometres rms (pattern=tissue)",
        &OctTestSettings::motion, {0, 1000}, opencl::playing, tables},
    {"curvature", "Curvature",
        "Displacement of A-lines in depth bins, as coefficients of x, y, x^2, x y, y^2, "
        "x^3 … with x and y from -1 to 1 over A-lines and B-scans, \"<5, -3, 8>\" "
        "(pattern=tissue, flat)",
        &OctTestSettings::curvature, opencl::ready, tables},
    {"line-step", "Line step",
        "Distance between A-lines in micrometres (0 = A-lines cover 3 mm; "
        "pattern=tissue, flat)",
        &OctTestSettings::line_step, {0, 10000}, opencl::ready, tables},
    {"b-scan-step", "B-scan step",
        "Distance between B-scans in micrometres (0 = B-scans cover 3 mm; "
        "pattern=tissue, flat)",
        &OctTestSettings::b_scan_step, {0, 10000}, opencl::ready, tables},
    {"is-live", "Is live", "Whether to act as a live source", &OctTestSettings::live,
        opencl::ready},
};

/* Makes the simulated sample of a pattern, and its kernels. */
static bool
use_pattern (GstOctTestSrc *self, OctTestPattern wanted, GError **error)
{
  TestSrcWork &work = *self->work;
  if (work.pattern && work.made == wanted)
    return true;
  work.pattern = oct::TestPattern::make (wanted);
  work.made = wanted;
  return work.pattern->open (gst_opencl_src_get_context (GST_OPENCL_SRC (self)), error);
}

static gboolean
gst_oct_test_src_open (GstOpenCLSrc *src, GError **error)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  const OctTestSettings settings = self->settings->committed ();
  self->work = new TestSrcWork;
  gst_base_src_set_live (GST_BASE_SRC (self), settings.live);
  return oct_test_settings_validate (settings, error)
         && use_pattern (self, settings.pattern, error);
}

static void
announce_steps (const OctTestSettings &settings, GstStructure *structure)
{
  gint samples, lines;
  if (!settings.is_volume () || !gst_structure_get_int (structure, "width", &samples)
      || !gst_structure_get_int (structure, "height", &lines))
    return;
  const oct::TissueScan scan = oct::tissue_scan_of (settings, samples, lines);
  gst_structure_set (structure, "line-step", G_TYPE_DOUBLE, scan.line_step, "b-scan-step",
      G_TYPE_DOUBLE, scan.b_scan_step, nullptr);
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
    announce_steps (GST_OCT_TEST_SRC (base)->settings->current (), structure);
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
  const guint samples = GST_VIDEO_INFO_WIDTH (gst_opencl_src_get_video_info (src));
  const guint lines = GST_VIDEO_INFO_HEIGHT (gst_opencl_src_get_video_info (src));
  bool starts = !self->settings->is_started ();
  GError *reason = nullptr;
  auto accept = [&] (const OctTestSettings &wanted, GError **why) {
    return oct_test_settings_validate_for (wanted, samples, lines, why);
  };

  bool valid = self->settings->adopt (accept, &reason);
  if (!valid && starts) {
    g_propagate_error (error, reason);
    return FALSE;
  }
  work.settings = self->settings->current ();
  if (!valid) {
    self->settings->warn (reason);
    work.settings = oct_test_settings_within (work.settings, samples);
    if (!accept (work.settings, error))
      return FALSE;
  }
  work.tables = false;
  work.discont = true;
  return TRUE;
}

static void
update_settings (GstOctTestSrc *self, const GstVideoInfo *info)
{
  TestSrcWork &work = *self->work;
  auto accept = [&] (const OctTestSettings &wanted, GError **error) {
    if (!oct_test_settings_validate_for (
            wanted, GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), error))
      return false;
    /* Level and noise are arguments of the kernels and need no new tables. */
    work.tables &= wanted.tables_revision == work.settings.tables_revision;
    work.discont |= !work.tables || wanted.repeats != work.settings.repeats;
    /* The steps in the caps may be others. */
    if (!work.tables && (wanted.is_volume () || work.settings.is_volume ()))
      gst_pad_mark_reconfigure (GST_BASE_SRC_PAD (self));
    work.settings = wanted;
    return true;
  };
  self->settings->update (accept);
}

/* Returns the duration of a frame in s; 0 for a still frame. */
static double
frame_seconds (const GstVideoInfo *info)
{
  return GST_VIDEO_INFO_FPS_N (info) > 0
             ? double (GST_VIDEO_INFO_FPS_D (info)) / GST_VIDEO_INFO_FPS_N (info)
             : 0;
}

static gboolean
gst_oct_test_src_fill_frame (GstOpenCLSrc *src, guint64 number, GstClockTime time,
    const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  TestSrcWork &work = *self->work;
  const OctTestSettings &settings = work.settings;
  const GstVideoInfo *info = gst_opencl_src_get_video_info (src);
  const guint samples = GST_VIDEO_INFO_WIDTH (info), lines = GST_VIDEO_INFO_HEIGHT (info);

  update_settings (self, info);
  /* The motion of a volume must not depend on how timestamps are rounded. */
  const double seconds = settings.is_volume ()
                             ? static_cast<double> (number) * frame_seconds (info)
                             : static_cast<double> (time) / GST_SECOND;
  const double line_seconds =
      settings.line_rate > 0 ? 1 / settings.line_rate : frame_seconds (info) / lines;
  if (!work.tables
      && (!use_pattern (self, settings.pattern, error)
          || !work.pattern->configure (settings, samples, lines, error)))
    return FALSE;
  work.tables = true;
  work.frame = number;
  return work.pattern->enqueue (settings, {number, seconds, line_seconds}, *frame, error);
}

/* A single B-scan is no volume: elements downstream may group its frames as they want. */
static void
describe_scan (const OctTestSettings &settings, guint64 frame, GstBuffer *buffer)
{
  if (settings.b_scans == 1 && settings.repeats == 1)
    return;
  const guint64 b_scan = frame / settings.repeats;
  GstOctScan scan = {};
  scan.frame = frame;
  scan.repeat = guint (frame % settings.repeats);
  scan.repeats = settings.repeats;
  scan.b_scan = guint (b_scan % settings.b_scans);
  scan.b_scans = settings.b_scans;
  scan.volume = b_scan / settings.b_scans;
  scan.reversed = settings.bidirectional && frame % 2;
  gst_buffer_set_oct_scan (buffer, &scan);
}

static GstFlowReturn
gst_oct_test_src_fill (GstPushSrc *push, GstBuffer *buffer)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (push);
  const GstFlowReturn flow =
      GST_PUSH_SRC_CLASS (gst_oct_test_src_parent_class)->fill (push, buffer);

  if (flow != GST_FLOW_OK || !self->work->settings.is_volume ())
    return flow;
  describe_scan (self->work->settings, self->work->frame, buffer);
  if (self->work->discont && self->work->frame > 0)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  self->work->discont = false;
  return flow;
}

static void
gst_oct_test_src_close (GstOpenCLSrc *src)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  delete self->work;
  self->work = nullptr;
  self->settings->stop ();
}

static void
gst_oct_test_src_init (GstOctTestSrc *self)
{
  self->settings = new opencl::Settings<OctTestSettings> (self, properties);
}

static void
gst_oct_test_src_class_init (GstOctTestSrcClass *klass)
{
  GstOpenCLSrcClass *src = GST_OPENCL_SRC_CLASS (klass);

  opencl::install_settings<&GstOctTestSrc::settings, &GstOctTestSrc::work> (
      klass, properties);

  opencl::describe_element (klass, "OCT test source", "Source/OCT",
      "Generates raw OCT spectra of mirrors or tissue on an OpenCL device", {},
      {&src_template});

  GST_BASE_SRC_CLASS (klass)->fixate = gst_oct_test_src_fixate;
  GST_PUSH_SRC_CLASS (klass)->fill = gst_oct_test_src_fill;
  src->open = gst_oct_test_src_open;
  src->close = gst_oct_test_src_close;
  src->set_format = gst_oct_test_src_set_format;
  src->fill_frame = gst_oct_test_src_fill_frame;
}
