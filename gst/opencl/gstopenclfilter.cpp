/* gstreamer-opencl: base class of elements that make one buffer of another on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclfilter
 * @title: GstOpenCLFilter
 *
 * The base class does what every element on the device needs: the context, the pools, the
 * order between queues, the bounded run-ahead, draining, and errors. A subclass enqueues.
 */
#include "gstopenclfilter.h"

#include "gstopenclbuffer.h"
#include "gstopenclbufferpool.h"
#include "gstopenclerror.h"
#include "gstopenclinflight.h"
#include "gstopenclstatistics.h"
#include "opencl-hpp.hpp"

#include <algorithm>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_filter_debug);
#define GST_CAT_DEFAULT gst_opencl_filter_debug

enum {
  PROP_0,
  PROP_DEVICE,
  PROP_ASYNC_DEPTH,
};

#define DEFAULT_ASYNC_DEPTH 4

/* What the caps of one side say of its buffers. */
struct Format {
  gboolean is_video;
  GstVideoInfo info;
  gsize size;
};

typedef struct {
  GstOpenCLContext *context; /* (nullable), object lock */
  gchar *device;             /* (nullable), object lock */
  guint async_depth;         /* object lock */

  GstOpenCLInFlight *in_flight;
  GstOpenCLStatistics *statistics; /* owned by the element */
  gboolean opened;                 /* object lock */
  gboolean failed;                 /* and has said so */
  Format input;
  Format output;
  GstBufferPool *import_pool; /* (nullable): for input of another memory or context */
  gsize import_size;
} GstOpenCLFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (
    GstOpenCLFilter, gst_opencl_filter, GST_TYPE_BASE_TRANSFORM,
    G_ADD_PRIVATE (GstOpenCLFilter);
    GST_DEBUG_CATEGORY_INIT (gst_opencl_filter_debug, "openclfilter", 0,
        "Base class of filters on OpenCL devices"))

static GstOpenCLFilterPrivate *
private_of (gpointer filter)
{
  return static_cast<GstOpenCLFilterPrivate *> (
      gst_opencl_filter_get_instance_private (GST_OPENCL_FILTER (filter)));
}

namespace {
/* Counts for the filter while in scope. */
class Counting {
public:
  explicit Counting (gpointer filter)
      : previous (gst_opencl_statistics_enter (private_of (filter)->statistics))
  {
  }
  ~Counting () { gst_opencl_statistics_leave (previous); }

private:
  GstOpenCLStatistics *previous;
};
} // namespace

/* --- properties --- */

static void
gst_opencl_filter_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  GstOpenCLFilterPrivate *priv = private_of (object);

  GST_OBJECT_LOCK (object);
  switch (id) {
  case PROP_DEVICE:
    g_free (priv->device);
    priv->device = g_value_dup_string (value);
    break;
  case PROP_ASYNC_DEPTH:
    priv->async_depth = g_value_get_uint (value);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (object);
}

static void
gst_opencl_filter_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  GstOpenCLFilterPrivate *priv = private_of (object);

  GST_OBJECT_LOCK (object);
  switch (id) {
  case PROP_DEVICE:
    g_value_set_string (value, priv->device);
    break;
  case PROP_ASYNC_DEPTH:
    g_value_set_uint (value, priv->async_depth);
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    break;
  }
  GST_OBJECT_UNLOCK (object);
}

static gchar *
dup_device (gpointer filter)
{
  GST_OBJECT_LOCK (filter);
  gchar *device = g_strdup (private_of (filter)->device);
  GST_OBJECT_UNLOCK (filter);
  return device;
}

static guint
get_async_depth (gpointer filter)
{
  GST_OBJECT_LOCK (filter);
  guint depth = private_of (filter)->async_depth;
  GST_OBJECT_UNLOCK (filter);
  return depth;
}

/* (transfer full) (nullable) */
static GstOpenCLContext *
ref_context (gpointer filter)
{
  GstOpenCLFilterPrivate *priv = private_of (filter);
  GST_OBJECT_LOCK (filter);
  GstOpenCLContext *context =
      priv->context ? GST_OPENCL_CONTEXT (gst_object_ref (priv->context)) : nullptr;
  GST_OBJECT_UNLOCK (filter);
  return context;
}

/* --- the context --- */

/* The last one given before a run is the one of that run. */
static void
gst_opencl_filter_set_context (GstElement *element, GstContext *context)
{
  GstOpenCLFilterPrivate *priv = private_of (element);
  GstOpenCLContext *given = nullptr;
  gchar *device = dup_device (element);

  if (gst_opencl_handle_set_context (element, context, device, &given)) {
    GST_OBJECT_LOCK (element);
    if (!priv->opened)
      std::swap (priv->context, given);
    GST_OBJECT_UNLOCK (element);
    gst_clear_object (&given);
  }
  g_free (device);

  GST_ELEMENT_CLASS (gst_opencl_filter_parent_class)->set_context (element, context);
}

static gboolean
gst_opencl_filter_query (
    GstBaseTransform *transform, GstPadDirection direction, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT) {
    GstOpenCLContext *context = ref_context (transform);
    gboolean answered =
        gst_opencl_handle_context_query (GST_ELEMENT (transform), query, context);
    gst_clear_object (&context);
    if (answered)
      return TRUE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
      ->query (transform, direction, query);
}

/* --- life cycle --- */

/* One element error for one failure: frames in flight fail together, and caps that were
 * refused come again before EOS. @error is taken. */
static void
report (gpointer filter, GError *error)
{
  GstOpenCLFilterPrivate *priv = private_of (filter);

  g_return_if_fail (error != nullptr); /* a subclass failed without a reason */
  if (priv->failed) {
    GST_DEBUG_OBJECT (filter, "failed again: %s", error->message);
    g_error_free (error);
    return;
  }
  priv->failed = TRUE;
  gst_opencl_post_error (GST_ELEMENT (filter), error);
}

/* Waits until the device has finished everything. Its failures become an element error.
 */
static gboolean
drain (GstOpenCLFilter *self)
{
  GError *error = nullptr;

  if (gst_opencl_in_flight_drain (private_of (self)->in_flight, &error))
    return TRUE;
  report (self, error);
  return FALSE;
}

static void
close_filter (GstOpenCLFilter *self)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  GstOpenCLFilterClass *klass = GST_OPENCL_FILTER_GET_CLASS (self);

  /* In both cases, so that @close also undoes an @open that failed half way. */
  if (priv->opened && klass->close)
    klass->close (self);
  if (priv->import_pool) {
    gst_buffer_pool_set_active (priv->import_pool, FALSE);
    gst_clear_object (&priv->import_pool);
  }
  GST_OBJECT_LOCK (self);
  GstOpenCLContext *context = priv->context;
  priv->context = nullptr;
  priv->opened = FALSE;
  GST_OBJECT_UNLOCK (self);
  gst_clear_object (&context);
}

static gboolean
gst_opencl_filter_start (GstBaseTransform *transform)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GstOpenCLFilterPrivate *priv = private_of (self);
  GstOpenCLFilterClass *klass = GST_OPENCL_FILTER_GET_CLASS (self);
  GError *error = nullptr;
  gchar *device = dup_device (self);

  priv->failed = FALSE;
  priv->statistics = gst_opencl_statistics_of (GST_ELEMENT (self));
  Counting counting (self);
  gboolean started =
      gst_opencl_ensure_context (GST_ELEMENT (self), device, &priv->context, &error);
  g_free (device);
  if (started) {
    GST_OBJECT_LOCK (self);
    priv->opened = TRUE;
    GST_OBJECT_UNLOCK (self);
    started = !klass->open || klass->open (self, &error);
  }
  if (!started) {
    close_filter (self);
    report (self, error);
  }
  return started;
}

static gboolean
gst_opencl_filter_stop (GstBaseTransform *transform)
{
  Counting counting (transform);
  drain (GST_OPENCL_FILTER (transform));
  close_filter (GST_OPENCL_FILTER (transform));
  return TRUE;
}

/* --- caps --- */

static gboolean
get_format (GstOpenCLFilter *self, GstCaps *caps, Format *format)
{
  GstOpenCLFilterClass *klass = GST_OPENCL_FILTER_GET_CLASS (self);

  *format = Format ();
  if (gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw")) {
    format->is_video = gst_video_info_from_caps (&format->info, caps);
    format->size = GST_VIDEO_INFO_SIZE (&format->info);
    return format->is_video;
  }
  return klass->get_frame_size && klass->get_frame_size (self, caps, &format->size);
}

static gboolean
gst_opencl_filter_set_caps (GstBaseTransform *transform, GstCaps *input, GstCaps *output)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GstOpenCLFilterPrivate *priv = private_of (self);
  GstOpenCLFilterClass *klass = GST_OPENCL_FILTER_GET_CLASS (self);
  GError *error = nullptr;
  Counting counting (self);

  if (!drain (self))
    return FALSE;
  if (!get_format (self, input, &priv->input)
      || !get_format (self, output, &priv->output)) {
    GST_INFO_OBJECT (
        self, "cannot take %" GST_PTR_FORMAT " to %" GST_PTR_FORMAT, input, output);
    return FALSE;
  }
  if (klass->set_formats && !klass->set_formats (self, input, output, &error)) {
    report (self, error);
    return FALSE;
  }
  priv->failed = FALSE;
  return TRUE;
}

static gboolean
gst_opencl_filter_get_unit_size (GstBaseTransform *transform, GstCaps *caps, gsize *size)
{
  Format format;
  if (!get_format (GST_OPENCL_FILTER (transform), caps, &format))
    return FALSE;
  *size = format.size;
  return TRUE;
}

/* --- allocation --- */

static gboolean
is_device_memory (GstCaps *caps)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, 0);
  return features
         && gst_caps_features_contains (features, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
}

/* Whoever fills buffers of these caps fills best pinned memory: unless the device works
 * in the host's memory, and then device memory. */
static gboolean
are_filled_in_pinned_memory (GstOpenCLContext *context, GstCaps *caps)
{
  return !is_device_memory (caps) && !gst_opencl_context_shares_host_memory (context);
}

static gboolean
gst_opencl_filter_propose_allocation (
    GstBaseTransform *transform, GstQuery *decide_query, GstQuery *query)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GstOpenCLContext *context;
  GstCaps *caps;
  Format format;

  if (!GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
           ->propose_allocation (transform, decide_query, query))
    return FALSE;
  /* In passthrough downstream has answered already. */
  if (!decide_query)
    return TRUE;

  gst_query_parse_allocation (query, &caps, nullptr);
  if (!caps || !get_format (self, caps, &format) || !(context = ref_context (self)))
    return FALSE;
  if (format.size > 0) {
    GstBufferPool *pool = gst_opencl_buffer_pool_new_configured (
        context, are_filled_in_pinned_memory (context, caps), caps, format.size);
    /* The source fills one buffer while those in flight are still read. */
    guint buffers = MAX (get_async_depth (self) + 1, GST_OPENCL_BUFFERS_IN_TURN);
    gst_query_add_allocation_pool (query, pool, format.size, buffers, 0);
    gst_clear_object (&pool);
  }
  gst_object_unref (context);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  return TRUE;
}

/* Whether buffers of `pool` are what this filter would allocate itself. */
static gboolean
is_usable_pool (GstOpenCLContext *context, GstBufferPool *pool, gboolean host)
{
  if (!pool || !GST_IS_OPENCL_BUFFER_POOL (pool))
    return FALSE;
  GstOpenCLBufferPool *opencl_pool = GST_OPENCL_BUFFER_POOL (pool);
  return gst_opencl_buffer_pool_is_host (opencl_pool) == host
         && gst_opencl_buffer_pool_get_context (opencl_pool) == context;
}

/* A pool of this filter's own in place of all that downstream proposes. */
static gboolean
replace_pools (GstQuery *query, GstOpenCLContext *context, GstCaps *caps, gsize size)
{
  GstBufferPool *pool = gst_opencl_buffer_pool_new_configured (
      context, !is_device_memory (caps), caps, size);
  if (!pool)
    return FALSE;
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_set_nth_allocation_pool (
        query, 0, pool, size, GST_OPENCL_BUFFERS_IN_TURN, 0);
  else
    gst_query_add_allocation_pool (query, pool, size, GST_OPENCL_BUFFERS_IN_TURN, 0);
  gst_object_unref (pool);
  return TRUE;
}

static gboolean
gst_opencl_filter_decide_allocation (GstBaseTransform *transform, GstQuery *query)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GstOpenCLContext *context = private_of (self)->context;
  GstBufferPool *proposed = nullptr;
  GstCaps *caps;
  Format format;

  gst_query_parse_allocation (query, &caps, nullptr);
  if (!context || !caps || !get_format (self, caps, &format))
    return FALSE;
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &proposed, nullptr, nullptr, nullptr);
  gboolean usable = is_usable_pool (context, proposed, !is_device_memory (caps));
  gst_clear_object (&proposed);
  if (!usable && format.size > 0 && !replace_pools (query, context, caps, format.size))
    return FALSE;

  return GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
      ->decide_allocation (transform, query);
}

/* --- frames --- */

static gboolean
is_own_memory (GstOpenCLFilter *self, GstBuffer *buffer)
{
  if (gst_buffer_n_memory (buffer) != 1)
    return FALSE;
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  return gst_is_opencl_memory (memory)
         && gst_opencl_context_get_handle (gst_opencl_memory_get_context (memory))
                == gst_opencl_context_get_handle (private_of (self)->context);
}

static gboolean
ensure_import_pool (GstOpenCLFilter *self, gsize size, GError **error)
{
  GstOpenCLFilterPrivate *priv = private_of (self);

  if (priv->import_pool && priv->import_size >= size)
    return TRUE;
  if (priv->import_pool)
    gst_buffer_pool_set_active (priv->import_pool, FALSE);
  gst_clear_object (&priv->import_pool);
  /* Without caps: the layout of each buffer comes with its GstVideoMeta. */
  priv->import_pool =
      gst_opencl_buffer_pool_new_configured (priv->context, FALSE, nullptr, size);
  priv->import_size = size;
  if (priv->import_pool && gst_buffer_pool_set_active (priv->import_pool, TRUE))
    return TRUE;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
      "No device memory for frames of %" G_GSIZE_FORMAT " bytes", size);
  return FALSE;
}

/* A copy of `input` in memory of this filter's context: (transfer full) (nullable). */
static GstBuffer *
import_buffer (GstOpenCLFilter *self, GstBuffer *input, GError **error)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  gsize size = gst_buffer_get_size (input);
  GstBuffer *imported = nullptr;
  cl_event event = nullptr;

  GST_DEBUG_OBJECT (self, "copying %" GST_PTR_FORMAT, input);
  if (!ensure_import_pool (self, size, error))
    return nullptr;
  if (gst_buffer_pool_acquire_buffer (priv->import_pool, &imported, nullptr)
      != GST_FLOW_OK) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "No device memory for a frame of %" G_GSIZE_FORMAT " bytes", size);
    return nullptr;
  }
  gst_buffer_set_size (imported, size);
  gst_buffer_copy_into (imported, input, GST_BUFFER_COPY_FLAGS, 0, -1);
  if (!gst_opencl_buffer_copy_async (
          priv->context, imported, input, nullptr, &event, error)) {
    gst_buffer_unref (imported);
    return nullptr;
  }
  if (event)
    clReleaseEvent (event);
  GstVideoMeta *meta = gst_buffer_get_video_meta (input);
  if (meta)
    gst_buffer_add_video_meta_full (imported, meta->flags, meta->format, meta->width,
        meta->height, meta->n_planes, meta->offset, meta->stride);
  return imported;
}

static gboolean
process_frames (GstOpenCLFilter *self, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  cl_command_queue queue =
      gst_opencl_context_get_queue (priv->context, GST_OPENCL_QUEUE_COMPUTE);
  GstOpenCLFrame in, out;

  if (!gst_opencl_frame_map (&in, priv->input.is_video ? &priv->input.info : nullptr,
          priv->input.size, input, queue, GST_MAP_READ, error)
      || !gst_opencl_frame_map (&out,
          priv->output.is_video ? &priv->output.info : nullptr, priv->output.size, output,
          queue, GST_MAP_WRITE, error))
    return FALSE;
  gboolean enqueued =
      GST_OPENCL_FILTER_GET_CLASS (self)->transform (self, &in, &out, queue, error);
  return gst_opencl_frames_finish (queue, &in, &out, event, enqueued ? error : nullptr)
         && enqueued;
}

static gboolean
gst_opencl_filter_process (GstOpenCLFilter *self, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  if (is_own_memory (self, input))
    return process_frames (self, input, output, event, error);

  GstBuffer *imported = import_buffer (self, input, error);
  if (!imported)
    return FALSE;
  gboolean processed = process_frames (self, imported, output, event, error);
  gst_buffer_unref (imported);
  return processed;
}

static GstFlowReturn
gst_opencl_filter_transform (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer *output)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GstOpenCLFilterPrivate *priv = private_of (self);
  GError *error = nullptr;
  cl_event event = nullptr;
  Counting counting (self);

  gboolean processed =
      gst_opencl_in_flight_admit (priv->in_flight, get_async_depth (self), &error)
      && GST_OPENCL_FILTER_GET_CLASS (self)->process (
          self, input, output, &event, &error);
  if (event) {
    gst_opencl_in_flight_add (priv->in_flight, event);
    clReleaseEvent (event);
  }
  if (processed) {
    priv->failed = FALSE;
    return GST_FLOW_OK;
  }
  report (self, error);
  return GST_FLOW_ERROR;
}

/* Here, because the parent class would post an error of its own, without a reason. */
static gboolean
activate_pool (GstBaseTransform *transform)
{
  GstBufferPool *pool = gst_base_transform_get_buffer_pool (transform);
  gboolean active = !pool || gst_buffer_pool_set_active (pool, TRUE);
  gst_clear_object (&pool);
  return active;
}

/* A pool's allocation that fails says so only in the log; the user gets an error. */
static GstFlowReturn
gst_opencl_filter_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer **output)
{
  Counting counting (transform);
  GstFlowReturn flow = GST_FLOW_ERROR;

  if (activate_pool (transform))
    flow = GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
               ->prepare_output_buffer (transform, input, output);
  if (flow == GST_FLOW_ERROR)
    report (transform,
        g_error_new (GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
            "No memory for a frame of %" G_GSIZE_FORMAT " bytes on %s",
            private_of (transform)->output.size,
            gst_opencl_context_get_device_name (private_of (transform)->context)));
  return flow;
}

static gboolean
gst_opencl_filter_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstEventType type = GST_EVENT_TYPE (event);

  if (type == GST_EVENT_EOS || type == GST_EVENT_FLUSH_STOP) {
    Counting counting (transform);
    drain (GST_OPENCL_FILTER (transform));
  }
  if (type == GST_EVENT_FLUSH_STOP)
    private_of (transform)->failed = FALSE;
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
      ->sink_event (transform, event);
}

/* --- the class --- */

static void
gst_opencl_filter_finalize (GObject *object)
{
  GstOpenCLFilterPrivate *priv = private_of (object);

  gst_opencl_in_flight_free (priv->in_flight);
  gst_clear_object (&priv->context);
  g_free (priv->device);
  G_OBJECT_CLASS (gst_opencl_filter_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  g_object_class_install_property (object_class, PROP_DEVICE,
      g_param_spec_string ("device", "Device",
          "Device to run on: auto (the neighbours' device, else GST_OPENCL_DEVICE, else "
          "the best GPU, else the CPU), gpu, cpu, PLATFORM:DEVICE by index, or part of "
          "the device's name",
          GST_OPENCL_DEVICE_DEFAULT,
          GParamFlags (G_PARAM_READWRITE | G_PARAM_CONSTRUCT | G_PARAM_STATIC_STRINGS
                       | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property (object_class, PROP_ASYNC_DEPTH,
      g_param_spec_uint ("async-depth", "Async depth",
          "How many frames may be enqueued on the device and not finished yet", 1, 64,
          DEFAULT_ASYNC_DEPTH,
          GParamFlags (G_PARAM_READWRITE | G_PARAM_CONSTRUCT | G_PARAM_STATIC_STRINGS
                       | GST_PARAM_MUTABLE_PLAYING)));
}

static void
gst_opencl_filter_class_init (GstOpenCLFilterClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  object_class->set_property = gst_opencl_filter_set_property;
  object_class->get_property = gst_opencl_filter_get_property;
  object_class->finalize = gst_opencl_filter_finalize;
  install_properties (object_class);

  element_class->set_context = gst_opencl_filter_set_context;
  transform_class->query = gst_opencl_filter_query;
  transform_class->start = gst_opencl_filter_start;
  transform_class->stop = gst_opencl_filter_stop;
  transform_class->set_caps = gst_opencl_filter_set_caps;
  transform_class->get_unit_size = gst_opencl_filter_get_unit_size;
  transform_class->propose_allocation = gst_opencl_filter_propose_allocation;
  transform_class->decide_allocation = gst_opencl_filter_decide_allocation;
  transform_class->prepare_output_buffer = gst_opencl_filter_prepare_output_buffer;
  transform_class->transform = gst_opencl_filter_transform;
  transform_class->sink_event = gst_opencl_filter_sink_event;
  klass->process = gst_opencl_filter_process;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_FILTER, GstPluginAPIFlags (0));
}

static void
gst_opencl_filter_init (GstOpenCLFilter *self)
{
  private_of (self)->in_flight = gst_opencl_in_flight_new ();
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), TRUE);
}

GstOpenCLContext *
gst_opencl_filter_get_context (GstOpenCLFilter *filter)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), nullptr);
  return private_of (filter)->context;
}

const GstVideoInfo *
gst_opencl_filter_get_video_info (GstOpenCLFilter *filter, GstPadDirection direction)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), nullptr);
  GstOpenCLFilterPrivate *priv = private_of (filter);
  const Format *format = direction == GST_PAD_SINK ? &priv->input : &priv->output;
  return format->is_video ? &format->info : nullptr;
}

gboolean
gst_opencl_launch (cl_command_queue queue, cl_kernel kernel, guint dimensions,
    const gsize *global, const gsize *local, GError **error)
{
  gsize rounded[3];

  g_return_val_if_fail (dimensions >= 1 && dimensions <= 3, FALSE);
  for (guint d = 0; d < dimensions; d++) {
    gsize group = local ? local[d] : 1;
    rounded[d] = (global[d] + group - 1) / group * group;
  }
  cl_int code = clEnqueueNDRangeKernel (
      queue, kernel, dimensions, nullptr, rounded, local, 0, nullptr, nullptr);
  if (!gst_opencl_check (code, "clEnqueueNDRangeKernel", error))
    return FALSE;
  gst_opencl_count_launches (1);
  return TRUE;
}
