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

#include <gst/base/gstpushsrc.h>
#include <gst/opencl/opencl.h>

#include <string>

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
  PROP_DEVICE,
  PROP_ASYNC_DEPTH,
};

#define DEFAULT_PATTERN OCT_TEST_PATTERN_LAYERS
#define DEFAULT_WAVELENGTH_MIN 1187.0
#define DEFAULT_WAVELENGTH_MAX 1433.0
#define DEFAULT_LEVEL 20000.0
#define DEFAULT_NOISE 20.0
#define DEFAULT_SEED 1
#define DEFAULT_ASYNC_DEPTH 4
#define DEFAULT_SAMPLES 2048
#define DEFAULT_LINES 512

G_DECLARE_FINAL_TYPE (GstOctTestSrc, gst_oct_test_src, GST, OCT_TEST_SRC, GstPushSrc)

namespace {
/* Everything that is not a GObject's. */
struct State {
  /* Under the object lock. */
  OctTestSettings settings = {DEFAULT_PATTERN, {50, 100, 200}, {1000, 500, 250},
      DEFAULT_WAVELENGTH_MIN, DEFAULT_WAVELENGTH_MAX, 0, 0, DEFAULT_LEVEL, DEFAULT_NOISE,
      DEFAULT_SEED};
  std::string device = GST_OPENCL_DEVICE_DEFAULT;
  guint async_depth = DEFAULT_ASYNC_DEPTH;
  bool tables_changed = true;

  /* Of the streaming thread, or of a state change while there is none. */
  OctTestSpectra spectra;
  GstVideoInfo info;
  GstBufferPool *device_pool = nullptr; /* what is downloaded from */
  GstOpenCLInFlight *in_flight = nullptr;
  bool downloads = false;

  /* Frames and running time since the last caps, and those before. */
  guint64 frames = 0;
  guint64 frames_before = 0;
  GstClockTime time = 0;
  GstClockTime time_before = 0;
};

/* Counts what the library does in this thread for the element. */
class CountFor {
public:
  explicit CountFor (gpointer element)
      : previous (
          gst_opencl_statistics_enter (gst_opencl_statistics_of (GST_ELEMENT (element))))
  {
  }
  ~CountFor () { gst_opencl_statistics_leave (previous); }

private:
  GstOpenCLStatistics *previous;
};
} // namespace

struct _GstOctTestSrc {
  GstPushSrc parent;

  State *state;
  GstOpenCLContext *context;
};

G_DEFINE_TYPE_WITH_CODE (GstOctTestSrc, gst_oct_test_src, GST_TYPE_PUSH_SRC,
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
  case PROP_DEVICE:
    self->state->device = g_value_get_string (value) ? g_value_get_string (value)
                                                     : GST_OPENCL_DEVICE_DEFAULT;
    break;
  case PROP_ASYNC_DEPTH:
    self->state->async_depth = g_value_get_uint (value);
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
  case PROP_DEVICE:
    g_value_set_string (value, self->state->device.c_str ());
    break;
  case PROP_ASYNC_DEPTH:
    g_value_set_uint (value, self->state->async_depth);
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

static std::string
copy_device (GstOctTestSrc *self)
{
  GST_OBJECT_LOCK (self);
  std::string device = self->state->device;
  GST_OBJECT_UNLOCK (self);
  return device;
}

/* Reports what failed; FALSE, so that it can be returned. */
static gboolean
post_error (GstOctTestSrc *self, GError *error)
{
  gst_opencl_post_error (GST_ELEMENT (self), error);
  return FALSE;
}

static gboolean
open_device (GstOctTestSrc *self)
{
  CountFor count (self);
  GError *error = nullptr;

  if (!oct_test_settings_validate (copy_settings (self), &error)
      || !gst_opencl_ensure_context (
          GST_ELEMENT (self), copy_device (self).c_str (), &self->context, &error)
      || !self->state->spectra.open (self->context, &error))
    return post_error (self, error);

  self->state->in_flight = gst_opencl_in_flight_new ();
  self->state->frames = self->state->frames_before = 0;
  self->state->time = self->state->time_before = 0;
  gst_video_info_init (&self->state->info);
  return TRUE;
}

/* A frame that failed on the device is an error, once. */
static gboolean
drain (GstOctTestSrc *self)
{
  GError *error = nullptr;
  if (!self->state->in_flight
      || gst_opencl_in_flight_drain (self->state->in_flight, &error))
    return TRUE;
  return post_error (self, error);
}

static void
release_device_pool (GstOctTestSrc *self)
{
  if (self->state->device_pool)
    gst_buffer_pool_set_active (self->state->device_pool, FALSE);
  gst_clear_object (&self->state->device_pool);
}

static void
close_device (GstOctTestSrc *self)
{
  CountFor count (self);

  drain (self);
  g_clear_pointer (&self->state->in_flight, gst_opencl_in_flight_free);
  release_device_pool (self);
  self->state->spectra = OctTestSpectra ();
  gst_clear_object (&self->context);
}

/* Not in start(): where that fails, the base class posts a second error, that names
 * nothing. */
static GstStateChangeReturn
gst_oct_test_src_change_state (GstElement *element, GstStateChange transition)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !open_device (self)) {
    close_device (self);
    return GST_STATE_CHANGE_FAILURE;
  }

  const GstStateChangeReturn result = GST_ELEMENT_CLASS (gst_oct_test_src_parent_class)
                                          ->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY
      || (transition == GST_STATE_CHANGE_READY_TO_PAUSED
          && result == GST_STATE_CHANGE_FAILURE))
    close_device (self);
  return result;
}

static void
gst_oct_test_src_set_context (GstElement *element, GstContext *context)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (element);
  gst_opencl_handle_set_context (
      element, context, copy_device (self).c_str (), &self->context);
  GST_ELEMENT_CLASS (gst_oct_test_src_parent_class)->set_context (element, context);
}

/* Device memory where downstream takes it, whatever it names first. */
static GstCaps *
gst_oct_test_src_fixate (GstBaseSrc *base, GstCaps *caps)
{
  guint chosen = 0;
  for (guint i = gst_caps_get_size (caps); i-- > 0;) {
    if (gst_caps_features_contains (
            gst_caps_get_features (caps, i), GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY))
      chosen = i;
  }
  GstCaps *fixed = gst_caps_copy_nth (caps, chosen);
  gst_caps_unref (caps);

  GstStructure *structure = gst_caps_get_structure (fixed, 0);
  gst_structure_fixate_field_nearest_int (structure, "width", DEFAULT_SAMPLES);
  gst_structure_fixate_field_nearest_int (structure, "height", DEFAULT_LINES);
  gst_structure_fixate_field_nearest_fraction (structure, "framerate", 30, 1);
  if (gst_structure_has_field (structure, "pixel-aspect-ratio"))
    gst_structure_fixate_field_nearest_fraction (structure, "pixel-aspect-ratio", 1, 1);
  return GST_BASE_SRC_CLASS (gst_oct_test_src_parent_class)->fixate (base, fixed);
}

static gboolean
gst_oct_test_src_set_caps (GstBaseSrc *base, GstCaps *caps)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (base);
  State *state = self->state;
  CountFor count (self);

  if (!drain (self) || !gst_video_info_from_caps (&state->info, caps))
    return FALSE;
  /* A device that works in the host's memory has its frames there. */
  state->downloads = !gst_opencl_context_shares_host_memory (self->context)
                     && !gst_caps_features_contains (gst_caps_get_features (caps, 0),
                         GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);

  GST_OBJECT_LOCK (self);
  state->tables_changed = true;
  GST_OBJECT_UNLOCK (self);

  /* The frames so far were counted at another rate. */
  state->time_before += state->time;
  state->frames_before += state->frames;
  state->time = 0;
  state->frames = 0;
  return TRUE;
}

static GstCaps *
device_caps (GstCaps *caps)
{
  GstCaps *copy = gst_caps_copy (caps);
  gst_caps_set_features_simple (
      copy, gst_caps_features_new_single (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY));
  return copy;
}

static gboolean
make_device_pool (GstOctTestSrc *self, GstCaps *caps)
{
  GstCaps *on_device = device_caps (caps);
  release_device_pool (self);
  self->state->device_pool = gst_opencl_buffer_pool_new_configured (
      self->context, FALSE, on_device, GST_VIDEO_INFO_SIZE (&self->state->info));
  gst_caps_unref (on_device);
  return self->state->device_pool
         && gst_buffer_pool_set_active (self->state->device_pool, TRUE);
}

/* Downstream's pool serves where it is one of this context, which only device memory
 * needs: a download goes to pinned host memory of one's own. */
static GstBufferPool *
pool_of_downstream (GstOctTestSrc *self, GstQuery *query, GstCaps *caps)
{
  GstBufferPool *pool = nullptr;
  guint size, least, most;
  if (self->state->downloads || gst_query_get_n_allocation_pools (query) == 0)
    return nullptr;

  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &least, &most);
  if (pool && GST_IS_OPENCL_BUFFER_POOL (pool)
      && !gst_opencl_buffer_pool_is_host (GST_OPENCL_BUFFER_POOL (pool))
      && gst_opencl_buffer_pool_get_context (GST_OPENCL_BUFFER_POOL (pool))
             == self->context) {
    GstStructure *config = gst_buffer_pool_get_config (pool);
    size = MAX (size, GST_VIDEO_INFO_SIZE (&self->state->info));
    gst_buffer_pool_config_set_params (config, caps, size, least, most);
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (gst_buffer_pool_set_config (pool, config))
      return pool;
  }
  gst_clear_object (&pool);
  return nullptr;
}

static gboolean
gst_oct_test_src_decide_allocation (GstBaseSrc *base, GstQuery *query)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (base);
  const bool host = self->state->downloads;
  const guint size = GST_VIDEO_INFO_SIZE (&self->state->info);
  CountFor count (self);
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, nullptr);
  GstBufferPool *pool = pool_of_downstream (self, query, caps);
  if (!pool)
    pool = gst_opencl_buffer_pool_new_configured (self->context, host, caps, size);
  if (!pool || (host && !make_device_pool (self, caps))) {
    gst_clear_object (&pool);
    return FALSE;
  }

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_set_nth_allocation_pool (query, 0, pool, size, 0, 0);
  else
    gst_query_add_allocation_pool (query, pool, size, 0, 0);
  gst_object_unref (pool);
  return TRUE;
}

/* Enqueues the spectra into a buffer of device memory; @event is when they are there. */
static gboolean
enqueue_spectra (GstOctTestSrc *self, const OctTestMoment &moment, GstBuffer *buffer,
    cl::Event &event, GError **error)
{
  State *state = self->state;
  GstOpenCLFrame frame;
  cl_command_queue queue =
      gst_opencl_context_get_queue (self->context, GST_OPENCL_QUEUE_COMPUTE);

  if (!gst_opencl_frame_map (
          &frame, &state->info, 0, buffer, queue, GST_MAP_WRITE, error))
    return FALSE;
  const OctTestSettings settings = copy_settings (self);
  gboolean ok =
      state->spectra.enqueue (settings, moment, frame, error)
      && gst_opencl_check (clEnqueueMarkerWithWaitList (queue, 0, nullptr, &event ()),
          "clEnqueueMarkerWithWaitList", error)
      && gst_opencl_check (clFlush (queue), "clFlush", error);
  gst_opencl_frame_unmap (&frame, event ());
  return ok;
}

/* The same into a buffer of pinned host memory, by way of the device. */
static gboolean
enqueue_download (GstOctTestSrc *self, const OctTestMoment &moment, GstBuffer *buffer,
    cl::Event &event, GError **error)
{
  GstBuffer *on_device = nullptr;
  if (gst_buffer_pool_acquire_buffer (self->state->device_pool, &on_device, nullptr)
      != GST_FLOW_OK) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "no device memory for a frame of %" G_GSIZE_FORMAT " bytes",
        GST_VIDEO_INFO_SIZE (&self->state->info));
    return FALSE;
  }
  cl::Event made;
  gboolean ok = enqueue_spectra (self, moment, on_device, made, error)
                && gst_opencl_memory_copy_async (gst_buffer_peek_memory (buffer, 0), 0,
                    gst_buffer_peek_memory (on_device, 0), 0,
                    GST_VIDEO_INFO_SIZE (&self->state->info), &event (), error);
  gst_buffer_unref (on_device);
  return ok;
}

static gboolean
update_tables (GstOctTestSrc *self, GError **error)
{
  State *state = self->state;
  GST_OBJECT_LOCK (self);
  const bool changed = state->tables_changed;
  state->tables_changed = false;
  GST_OBJECT_UNLOCK (self);
  return !changed
         || state->spectra.configure (copy_settings (self),
             GST_VIDEO_INFO_WIDTH (&state->info), GST_VIDEO_INFO_HEIGHT (&state->info),
             error);
}

static gboolean
enqueue_frame (GstOctTestSrc *self, GstBuffer *buffer, GError **error)
{
  State *state = self->state;
  const OctTestMoment moment = {state->frames_before + state->frames,
      static_cast<double> (state->time_before + state->time) / GST_SECOND};
  GST_OBJECT_LOCK (self);
  const guint depth = state->async_depth;
  GST_OBJECT_UNLOCK (self);

  cl::Event event;
  if (!update_tables (self, error)
      || !gst_opencl_in_flight_admit (state->in_flight, depth, error)
      || !(state->downloads ? enqueue_download (self, moment, buffer, event, error)
                            : enqueue_spectra (self, moment, buffer, event, error)))
    return FALSE;
  gst_opencl_in_flight_add (state->in_flight, event ());
  return TRUE;
}

/* From the count of frames, so that no rounding adds up. */
static void
stamp (State *state, GstBuffer *buffer)
{
  const gint numerator = GST_VIDEO_INFO_FPS_N (&state->info);
  const gint denominator = GST_VIDEO_INFO_FPS_D (&state->info);
  const GstClockTime begins = state->time;

  GST_BUFFER_PTS (buffer) = state->time_before + begins;
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_OFFSET (buffer) = state->frames_before + state->frames;
  state->frames++;
  GST_BUFFER_OFFSET_END (buffer) = state->frames_before + state->frames;
  GST_BUFFER_DURATION (buffer) = GST_CLOCK_TIME_NONE;
  if (numerator > 0) {
    state->time =
        gst_util_uint64_scale (state->frames, denominator * GST_SECOND, numerator);
    GST_BUFFER_DURATION (buffer) = state->time - begins;
  }
}

static GstFlowReturn
gst_oct_test_src_fill (GstPushSrc *base, GstBuffer *buffer)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (base);
  State *state = self->state;
  CountFor count (self);
  GError *error = nullptr;

  const bool still = GST_VIDEO_INFO_FPS_N (&state->info) == 0;
  if (still && state->frames > 0)
    return GST_FLOW_EOS;

  if (state->time_before + state->time != GST_CLOCK_TIME_NONE)
    gst_object_sync_values (GST_OBJECT (self), state->time_before + state->time);
  if (!enqueue_frame (self, buffer, &error)) {
    post_error (self, error);
    /* GST_FLOW_ERROR would make the base class post another error, that names nothing. */
    return GST_FLOW_EOS;
  }
  stamp (state, buffer);
  return GST_FLOW_OK;
}

/* Live: a frame comes when its time begins. */
static void
gst_oct_test_src_get_times (
    GstBaseSrc *base, GstBuffer *buffer, GstClockTime *start, GstClockTime *end)
{
  *start = *end = GST_CLOCK_TIME_NONE;
  if (!gst_base_src_is_live (base) || !GST_BUFFER_PTS_IS_VALID (buffer))
    return;
  *start = GST_BUFFER_PTS (buffer);
  if (GST_BUFFER_DURATION_IS_VALID (buffer))
    *end = *start + GST_BUFFER_DURATION (buffer);
}

static gboolean
gst_oct_test_src_is_seekable (GstBaseSrc *base)
{
  return !gst_base_src_is_live (base);
}

static gboolean
gst_oct_test_src_do_seek (GstBaseSrc *base, GstSegment *segment)
{
  State *state = GST_OCT_TEST_SRC (base)->state;
  const gint numerator = GST_VIDEO_INFO_FPS_N (&state->info);
  const gint denominator = GST_VIDEO_INFO_FPS_D (&state->info);
  if (segment->rate < 0)
    return FALSE;

  segment->time = segment->start;
  state->frames_before = 0;
  state->time_before = 0;
  state->frames = 0;
  state->time = 0;
  if (numerator > 0) {
    state->frames =
        gst_util_uint64_scale (segment->position, numerator, denominator * GST_SECOND);
    state->time =
        gst_util_uint64_scale (state->frames, denominator * GST_SECOND, numerator);
  }
  return TRUE;
}

static gboolean
answer_latency (GstOctTestSrc *self, GstQuery *query)
{
  const GstVideoInfo *info = &self->state->info;
  if (GST_VIDEO_INFO_FPS_N (info) <= 0)
    return FALSE;
  const GstClockTime frame = gst_util_uint64_scale (
      GST_SECOND, GST_VIDEO_INFO_FPS_D (info), GST_VIDEO_INFO_FPS_N (info));
  gst_query_set_latency (
      query, gst_base_src_is_live (GST_BASE_SRC (self)), frame, GST_CLOCK_TIME_NONE);
  return TRUE;
}

static gboolean
gst_oct_test_src_query (GstBaseSrc *base, GstQuery *query)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (base);
  if (GST_QUERY_TYPE (query) == GST_QUERY_LATENCY && answer_latency (self, query))
    return TRUE;
  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT
      && gst_opencl_handle_context_query (GST_ELEMENT (self), query, self->context))
    return TRUE;
  return GST_BASE_SRC_CLASS (gst_oct_test_src_parent_class)->query (base, query);
}

/* Before EOS goes on, what failed on the device is known. */
static GstPadProbeReturn
drain_at_eos (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (user_data);
  CountFor count (self);
  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_EOS)
    drain (self);
  return GST_PAD_PROBE_OK;
}

static void
gst_oct_test_src_finalize (GObject *object)
{
  GstOctTestSrc *self = GST_OCT_TEST_SRC (object);
  gst_clear_object (&self->context);
  delete self->state;
  G_OBJECT_CLASS (gst_oct_test_src_parent_class)->finalize (object);
}

static void
gst_oct_test_src_init (GstOctTestSrc *self)
{
  GstBaseSrc *base = GST_BASE_SRC (self);
  self->state = new State;
  gst_video_info_init (&self->state->info);
  gst_base_src_set_format (base, GST_FORMAT_TIME);
  gst_base_src_set_live (base, FALSE);
  gst_pad_add_probe (GST_BASE_SRC_PAD (base), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      drain_at_eos, self, nullptr);
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
  g_object_class_install_property (klass, PROP_DEVICE,
      g_param_spec_string ("device", "Device",
          "Device to run on: auto (the neighbours' device, else GST_OPENCL_DEVICE, else "
          "the best GPU, else the CPU), gpu, cpu, PLATFORM:DEVICE by index, or part of "
          "the device's name",
          GST_OPENCL_DEVICE_DEFAULT, ready));
  g_object_class_install_property (klass, PROP_ASYNC_DEPTH,
      g_param_spec_uint ("async-depth", "Async depth",
          "How many frames may be enqueued on the device and not finished yet", 1, 64,
          DEFAULT_ASYNC_DEPTH, playing));
}

static void
gst_oct_test_src_class_init (GstOctTestSrcClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS (klass);
  GstElementClass *element = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *base = GST_BASE_SRC_CLASS (klass);

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
  element->change_state = gst_oct_test_src_change_state;
  element->set_context = gst_oct_test_src_set_context;

  base->fixate = gst_oct_test_src_fixate;
  base->set_caps = gst_oct_test_src_set_caps;
  base->decide_allocation = gst_oct_test_src_decide_allocation;
  base->get_times = gst_oct_test_src_get_times;
  base->is_seekable = gst_oct_test_src_is_seekable;
  base->do_seek = gst_oct_test_src_do_seek;
  base->query = gst_oct_test_src_query;
  GST_PUSH_SRC_CLASS (klass)->fill = gst_oct_test_src_fill;
  gst_type_mark_as_plugin_api (GST_TYPE_OCT_TEST_SRC_PATTERN, (GstPluginAPIFlags)0);
}
