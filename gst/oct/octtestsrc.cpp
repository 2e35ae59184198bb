/* octtestsrc: raw OCT spectra made on the device, for pipelines without a camera
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-octtestsrc
 * @title: octtestsrc
 *
 * Makes the spectra that the camera of a Fourier-domain OCT would deliver: of mirrors at
 * known depths, or of a tissue that breathes and in which blood flows. They are computed
 * on the device, nothing is uploaded for a frame; system memory is filled by an
 * asynchronous download where downstream wants that.
 *
 * Samples are even in wavelength, and a mirror at depth bin b gives the fringe
 * a cos (2 pi b m / N + a2 q^2 + a3 q^3) with m the position of a sample on the grid of
 * even wavenumbers and q = m - N/2: octwindowinterp with the same wavelengths and
 * dispersion undoes both.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! \
 *     octfft ! opencldownload ! videoconvert ! autovideosink
 * ]| A B-scan of moving tissue.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "elements.h"
#include "spectra/testspectra.hpp"

#include <gst/opencl/opencl.h>

GST_DEBUG_CATEGORY_STATIC (oct_test_src_debug);
#define GST_CAT_DEFAULT oct_test_src_debug

#define SPECTRA_CAPS(features)                                                           \
  "video/x-raw" features ", format=(string)GRAY16_LE, width=(int)[64, 16384], "          \
  "height=(int)[1, 65536], framerate=(fraction)[0/1, 2147483647/1]"

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (SPECTRA_CAPS (
            "(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")") "; " SPECTRA_CAPS ("")));

enum {
  PROP_0,
  PROP_PATTERN,
  PROP_DEPTHS,
  PROP_AMPLITUDES,
  PROP_WAVELENGTH_MIN,
  PROP_WAVELENGTH_MAX,
  PROP_DISPERSION_A2,
  PROP_DISPERSION_A3,
  PROP_LEVEL,
  PROP_NOISE,
  PROP_SEED,
  PROP_IS_LIVE,
};

#define DEFAULT_PATTERN OCT_TEST_PATTERN_LAYERS
#define DEFAULT_WAVELENGTH_MIN 1187.0
#define DEFAULT_WAVELENGTH_MAX 1433.0
#define DEFAULT_LEVEL 20000.0
#define DEFAULT_NOISE 20.0
#define DEFAULT_SEED 1
#define DEFAULT_SAMPLES 2048
#define DEFAULT_LINES 512

G_DECLARE_FINAL_TYPE (GstOctTestSrc, gst_oct_test_src, GST, OCT_TEST_SRC, GstOpenCLSrc)

namespace {
/* Everything that is not a GObject's. */
struct State {
  /* Under the object lock. */
  OctTestSettings settings = {DEFAULT_PATTERN, {50, 100, 200}, {1000, 500, 250},
      DEFAULT_WAVELENGTH_MIN, DEFAULT_WAVELENGTH_MAX, 0, 0, DEFAULT_LEVEL, DEFAULT_NOISE,
      DEFAULT_SEED};
  bool tables_changed = true;

  OctTestSpectra spectra; /* of the streaming thread, or of a state change without one */
};
} // namespace

struct _GstOctTestSrc {
  GstOpenCLSrc parent;

  State *state;
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

/* Numbers of any type; GST_TYPE_ARRAY keeps each as it was written. */
static gboolean
numbers_from_array (const GValue *array, std::vector<double> &numbers)
{
  std::vector<double> read;
  for (guint i = 0; i < gst_value_array_get_size (array); i++) {
    GValue number = G_VALUE_INIT;
    g_value_init (&number, G_TYPE_DOUBLE);
    if (!g_value_transform (gst_value_array_get_value (array, i), &number))
      return FALSE;
    read.push_back (g_value_get_double (&number));
  }
  numbers = read;
  return TRUE;
}

static void
array_from_numbers (const std::vector<double> &numbers, GValue *array)
{
  for (double number : numbers) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, G_TYPE_DOUBLE);
    g_value_set_double (&value, number);
    gst_value_array_append_and_take_value (array, &value);
  }
}

struct NumberProperty {
  guint id;
  double OctTestSettings::*number;
};

static const NumberProperty number_properties[] = {
    {PROP_WAVELENGTH_MIN, &OctTestSettings::wavelength_min},
    {PROP_WAVELENGTH_MAX, &OctTestSettings::wavelength_max},
    {PROP_DISPERSION_A2, &OctTestSettings::dispersion_a2},
    {PROP_DISPERSION_A3, &OctTestSettings::dispersion_a3},
    {PROP_LEVEL, &OctTestSettings::level},
    {PROP_NOISE, &OctTestSettings::noise},
};

/* The setting that is this property, or nullptr where it is no number. */
static double *
find_number (OctTestSettings &settings, guint id)
{
  for (const NumberProperty &property : number_properties) {
    if (property.id == id)
      return &(settings.*property.number);
  }
  return nullptr;
}

static void
gst_oct_test_src_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (object);
  OctTestSettings &settings = self->state->settings;
  gboolean understood = TRUE;

  if (id == PROP_IS_LIVE) {
    gst_base_src_set_live (GST_BASE_SRC (self), g_value_get_boolean (value));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_PATTERN:
    settings.pattern = static_cast<OctTestPattern> (g_value_get_enum (value));
    break;
  case PROP_DEPTHS:
    understood = numbers_from_array (value, settings.depths);
    break;
  case PROP_AMPLITUDES:
    understood = numbers_from_array (value, settings.amplitudes);
    break;
  case PROP_SEED:
    settings.seed = g_value_get_uint (value);
    break;
  default:
    if (double *number = find_number (settings, id))
      *number = g_value_get_double (value);
    else
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  /* Level, noise and seed are arguments of the kernels and need no new tables. */
  if (id >= PROP_PATTERN && id <= PROP_DISPERSION_A3)
    self->state->tables_changed = true;
  GST_OBJECT_UNLOCK (self);

  if (!understood)
    g_warning ("%s: expected an array of numbers", pspec->name);
}

static void
gst_oct_test_src_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (object);
  OctTestSettings &settings = self->state->settings;

  if (id == PROP_IS_LIVE) {
    g_value_set_boolean (value, gst_base_src_is_live (GST_BASE_SRC (self)));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
  case PROP_PATTERN:
    g_value_set_enum (value, settings.pattern);
    break;
  case PROP_DEPTHS:
    array_from_numbers (settings.depths, value);
    break;
  case PROP_AMPLITUDES:
    array_from_numbers (settings.amplitudes, value);
    break;
  case PROP_SEED:
    g_value_set_uint (value, settings.seed);
    break;
  default:
    if (const double *number = find_number (settings, id))
      g_value_set_double (value, *number);
    else
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (self);
}

static OctTestSettings
copy_settings (GstOctTestSrc *self)
{
  GST_OBJECT_LOCK (self);
  OctTestSettings settings = self->state->settings;
  GST_OBJECT_UNLOCK (self);
  return settings;
}

static gboolean
gst_oct_test_src_open (GstOpenCLSrc *src, GError **error)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  return oct_test_settings_validate (copy_settings (self), error)
         && self->state->spectra.open (gst_opencl_src_get_context (src), error);
}

static void
gst_oct_test_src_close (GstOpenCLSrc *src)
{
  GST_OCT_TEST_SRC (src)->state->spectra = OctTestSpectra ();
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

static gboolean
gst_oct_test_src_set_format (GstOpenCLSrc *src, GstCaps *caps, GError **error)
{
  GST_OBJECT_LOCK (src);
  GST_OCT_TEST_SRC (src)->state->tables_changed = true;
  GST_OBJECT_UNLOCK (src);
  return TRUE;
}

static gboolean
update_tables (GstOctTestSrc *self, GError **error)
{
  State *state = self->state;
  const GstVideoInfo *info = gst_opencl_src_get_video_info (GST_OPENCL_SRC (self));

  GST_OBJECT_LOCK (self);
  const bool changed = state->tables_changed;
  state->tables_changed = false;
  GST_OBJECT_UNLOCK (self);
  return !changed
         || state->spectra.configure (copy_settings (self), GST_VIDEO_INFO_WIDTH (info),
             GST_VIDEO_INFO_HEIGHT (info), error);
}

static gboolean
gst_oct_test_src_fill_frame (GstOpenCLSrc *src, guint64 number, GstClockTime time,
    const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (src);
  const OctTestMoment moment = {number, static_cast<double> (time) / GST_SECOND};

  return update_tables (self, error)
         && self->state->spectra.enqueue (copy_settings (self), moment, *frame, error);
}

static void
gst_oct_test_src_finalize (GObject *object)
{
  delete GST_OCT_TEST_SRC (object)->state;
  G_OBJECT_CLASS (gst_oct_test_src_parent_class)->finalize (object);
}

static void
gst_oct_test_src_init (GstOctTestSrc *self)
{
  self->state = new State;
}

static const auto playing = static_cast<GParamFlags> (
    G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING);
static const auto controllable =
    static_cast<GParamFlags> (playing | GST_PARAM_CONTROLLABLE);
static const auto ready = static_cast<GParamFlags> (
    G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);

static void
install_picture_properties (GObjectClass *klass)
{
  g_object_class_install_property (klass, PROP_PATTERN,
      g_param_spec_enum ("pattern", "Pattern", "What the spectra are of",
          GST_TYPE_OCT_TEST_SRC_PATTERN, DEFAULT_PATTERN, playing));
  g_object_class_install_property (klass, PROP_DEPTHS,
      gst_param_spec_array ("depths", "Depths",
          "Depth of each mirror in depth bins, 0 to half of the samples per A-line "
          "(pattern=mirrors), \"<50, 100.5>\"; initially <50, 100, 200>",
          nullptr, ready));
  g_object_class_install_property (klass, PROP_AMPLITUDES,
      gst_param_spec_array ("amplitudes", "Amplitudes",
          "Amplitude of the fringe of each mirror in raw units (pattern=mirrors), "
          "\"<1000, 500>\"; initially <1000, 500, 250>",
          nullptr, ready));
  g_object_class_install_property (klass, PROP_LEVEL,
      g_param_spec_double ("level", "Level",
          "Raw value without a fringe, at the middle of the spectrum; the tissue "
          "(pattern=layers) reflects in proportion to it",
          0, 65535, DEFAULT_LEVEL, controllable));
  g_object_class_install_property (klass, PROP_NOISE,
      g_param_spec_double ("noise", "Noise",
          "Standard deviation of the camera's noise in raw units", 0, 65535,
          DEFAULT_NOISE, controllable));
  g_object_class_install_property (klass, PROP_SEED,
      g_param_spec_uint ("seed", "Seed", "Which noise and which tissue", 0, G_MAXUINT,
          DEFAULT_SEED, playing));
}

static void
install_spectrometer_properties (GObjectClass *klass)
{
  g_object_class_install_property (klass, PROP_WAVELENGTH_MIN,
      g_param_spec_double ("wavelength-min", "Wavelength of the first sample",
          "Wavelength of the first sample, in any unit; the samples between are evenly "
          "spaced",
          0, G_MAXDOUBLE, DEFAULT_WAVELENGTH_MIN, ready));
  g_object_class_install_property (klass, PROP_WAVELENGTH_MAX,
      g_param_spec_double ("wavelength-max", "Wavelength of the last sample",
          "Wavelength of the last sample, in the unit of wavelength-min", 0, G_MAXDOUBLE,
          DEFAULT_WAVELENGTH_MAX, ready));
  g_object_class_install_property (klass, PROP_DISPERSION_A2,
      g_param_spec_double ("dispersion-a2", "Dispersion a2",
          "Quadratic dispersion of the sample in rad: the phase a2 q^2, q = m - N/2 on "
          "the "
          "grid of even wavenumbers",
          -G_MAXDOUBLE, G_MAXDOUBLE, 0, playing));
  g_object_class_install_property (klass, PROP_DISPERSION_A3,
      g_param_spec_double ("dispersion-a3", "Dispersion a3",
          "Cubic dispersion of the sample in rad: the phase a3 q^3", -G_MAXDOUBLE,
          G_MAXDOUBLE, 0, playing));
}

static void
install_source_properties (GObjectClass *klass)
{
  g_object_class_install_property (klass, PROP_IS_LIVE,
      g_param_spec_boolean (
          "is-live", "Is live", "Whether to deliver as a camera would", FALSE, ready));
}

static void
gst_oct_test_src_class_init (GstOctTestSrcClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS (klass);
  GstElementClass *element = GST_ELEMENT_CLASS (klass);
  GstOpenCLSrcClass *src = GST_OPENCL_SRC_CLASS (klass);

  object->set_property = gst_oct_test_src_set_property;
  object->get_property = gst_oct_test_src_get_property;
  object->finalize = gst_oct_test_src_finalize;
  install_picture_properties (object);
  install_spectrometer_properties (object);
  install_source_properties (object);

  gst_element_class_add_static_pad_template (element, &src_template);
  gst_element_class_set_static_metadata (element, "OCT test source", "Source/Video",
      "Makes raw OCT spectra of mirrors or of moving tissue on an OpenCL device",
      "GStreamer OpenCL developers");

  GST_BASE_SRC_CLASS (klass)->fixate = gst_oct_test_src_fixate;
  src->open = gst_oct_test_src_open;
  src->close = gst_oct_test_src_close;
  src->set_format = gst_oct_test_src_set_format;
  src->fill_frame = gst_oct_test_src_fill_frame;
  gst_type_mark_as_plugin_api (GST_TYPE_OCT_TEST_SRC_PATTERN, (GstPluginAPIFlags)0);
}
