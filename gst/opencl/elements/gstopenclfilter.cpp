/* Base class of filters that process buffers on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclfilter
 * @title: GstOpenCLFilter
 *
 * Base class of filters. A subclass enqueues the kernels that process a frame. The base
 * class does everything else: it handles the context, pools, the order between queues,
 * the limit of frames in flight, draining, and errors.
 */
#include "elementcore.hpp"
#include <gst/common/buffers.hpp>
#include <gst/common/elementbin.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/frame.hpp>
#include <gst/opencl/core/memory.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/core/pool.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/gstopenclmemory.h>

#include <utility>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_filter_debug);
#define GST_CAT_DEFAULT gst_opencl_filter_debug

using opencl::Counting;
using opencl::ElementCore;
using opencl::Format;
using opencl::StopScope;
using opencl::Streaming;

typedef struct {
  ElementCore *core;
  guint n_invalid; /* frames in a row */
  Format input;
  Format output;
  /* (nullable): the caps that the subclass is set up for */
  GstCaps *input_caps;
  GstCaps *output_caps;
  gboolean defers; /* downstream can merge deferred work */

  /* An input that has outputs left to send */
  GstBuffer *submitted; /* (nullable) */
  GstBuffer *imported;  /* (nullable): the same in this context's memory */
  guint outputs;
  guint index; /* of the next output */

  guint group;         /* input frames that an output needs; 0: unknown */
  guint64 n_in, n_out; /* frames since the start or the last flush */
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

static void
clear_submitted (gpointer filter)
{
  gst_clear_buffer (&private_of (filter)->submitted);
  gst_clear_buffer (&private_of (filter)->imported);
}

static void
set_current_caps (gpointer filter, GstCaps *input, GstCaps *output)
{
  gst_caps_replace (&private_of (filter)->input_caps, input);
  gst_caps_replace (&private_of (filter)->output_caps, output);
}

static ElementCore &
core_of (gpointer filter)
{
  return *private_of (filter)->core;
}

/* --- the context --- */

static gboolean
is_flushing (GstPad *pad)
{
  GST_OBJECT_LOCK (pad);
  const gboolean flushing = GST_PAD_IS_FLUSHING (pad);
  GST_OBJECT_UNLOCK (pad);
  return flushing;
}

/* GstBaseTransform holds the decided allocation while it answers an ALLOCATION query. If
 * the pad stops meanwhile, it would store that allocation after its own stop, and leak
 * it. A pad that stops is flushing before it waits for the lock that is held here. */
static gboolean
gst_opencl_filter_query (
    GstBaseTransform *transform, GstPadDirection direction, GstQuery *query)
{
  if (GST_QUERY_TYPE (query) == GST_QUERY_ALLOCATION
      && is_flushing (GST_BASE_TRANSFORM_SINK_PAD (transform)))
    return FALSE;
  if (GST_QUERY_TYPE (query) == GST_QUERY_CAPS && direction == GST_PAD_SINK)
    opencl::warn_of_missing_element (
        GST_ELEMENT (transform), GST_BASE_TRANSFORM_SINK_PAD (transform));
  return core_of (transform).answer_context_query (query)
         || GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
                ->query (transform, direction, query);
}

/* --- life cycle --- */

static void
close_filter (GstOpenCLFilter *self)
{
  clear_submitted (self);
  private_of (self)->n_in = private_of (self)->n_out = private_of (self)->n_invalid = 0;
  set_current_caps (self, nullptr, nullptr);
  core_of (self).close (GST_OPENCL_FILTER_GET_CLASS (self), self);
}

static gboolean
gst_opencl_filter_start (GstBaseTransform *transform)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);

  if (core_of (self).open (GST_OPENCL_FILTER_GET_CLASS (self), self))
    return TRUE;
  Counting counting (core_of (self));
  close_filter (self);
  return FALSE;
}

static gboolean
gst_opencl_filter_stop (GstBaseTransform *transform)
{
  Counting counting (core_of (transform));
  core_of (transform).drain ();
  close_filter (GST_OPENCL_FILTER (transform));
  return TRUE;
}

/* --- caps --- */

static bool
get_format (GstOpenCLFilter *self, GstCaps *caps, Format *format)
{
  return format->set (GST_OPENCL_FILTER_GET_CLASS (self), self, caps);
}

static gboolean gst_opencl_filter_process (GstOpenCLFilter *self, GstBuffer *input,
    GstBuffer *output, cl_event *event, GError **error);

/* On failure the old formats remain, because the pads keep their caps. */
static gboolean
find_formats (GstOpenCLFilter *self, GstCaps *input, GstCaps *output)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  Format input_format, output_format;

  if (!get_format (self, input, &input_format)
      || !get_format (self, output, &output_format))
    return FALSE;
  priv->input = input_format;
  priv->output = output_format;
  return TRUE;
}

/* Decoders ask for groups of tensors in the field "tensors" (GStreamer 1.28). Structures
 * intersect without a common field, so that `others` also have groups that are only asked
 * for. The stream has those of its input. */
static GstCaps *
gst_opencl_filter_fixate_caps (GstBaseTransform *transform, GstPadDirection direction,
    GstCaps *caps, GstCaps *others)
{
  GstCaps *fixed = GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
                       ->fixate_caps (transform, direction, caps, others);
  const GValue *tensors =
      gst_structure_get_value (gst_caps_get_structure (caps, 0), "tensors");
  if (direction == GST_PAD_SINK && tensors && !gst_caps_is_empty (fixed)) {
    fixed = gst_caps_make_writable (fixed);
    gst_caps_set_value (fixed, "tensors", tensors);
  }
  return fixed;
}

static gboolean
gst_opencl_filter_set_caps (GstBaseTransform *transform, GstCaps *input, GstCaps *output)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GstOpenCLFilterClass *klass = GST_OPENCL_FILTER_GET_CLASS (self);
  ElementCore &core = core_of (self);
  GError *error = nullptr;
  const Streaming streaming (core);
  const opencl::Busy preparing;

  if (!core.drain_for_caps ())
    return FALSE;
  if (!find_formats (self, input, output)) {
    GST_INFO_OBJECT (
        self, "cannot convert %" GST_PTR_FORMAT " to %" GST_PTR_FORMAT, input, output);
    return FALSE;
  }
  if (klass->set_formats && !klass->set_formats (self, input, output, &error)) {
    core.report (error);
    set_current_caps (self, nullptr, nullptr);
    return StopScope::has_refused (); /* upstream would post an error */
  }
  set_current_caps (self, input, output);
  core.reset_failures ();
  return TRUE;
}

/* After refused caps, the pads still have the previous ones. The parent class does not
 * set these again when they come again, so this function does. */
static gboolean
ensure_caps_set (GstBaseTransform *transform)
{
  if (private_of (transform)->input_caps)
    return TRUE;
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (transform));
  GstCaps *output = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SRC_PAD (transform));
  const gboolean has = input && output
                       && gst_opencl_filter_set_caps (transform, input, output)
                       && private_of (transform)->input_caps;
  gst_clear_caps (&input);
  gst_clear_caps (&output);
  return has;
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

/* The API type of a meta that announces the deferral in ALLOCATION queries. It is found
 * by name, so that filters need not share a function. */
static GType
deferral_api_type (const GstOpenCLDeferral *deferral)
{
  static std::mutex lock;
  static const gchar *no_tags[] = {nullptr};
  gchar *name = g_strconcat (g_type_name (deferral->get_type ()), "API", nullptr);

  std::lock_guard<std::mutex> guard (lock);
  GType type = g_type_from_name (name);
  if (!type)
    type = gst_meta_api_type_register (name, no_tags);
  g_free (name);
  return type;
}

static const GstOpenCLDeferral *
deferral_of (GstOpenCLFilter *self)
{
  return static_cast<const GstOpenCLDeferral *> (
      GST_OPENCL_FILTER_GET_CLASS (self)->deferral);
}

/* A filter with a process() of its own may use any queue, and must overlap with other
 * threads. */
static guint
get_min_buffers (GstOpenCLFilter *self)
{
  GstOpenCLFilterClass *klass = GST_OPENCL_FILTER_GET_CLASS (self);
  return klass->process == gst_opencl_filter_process || klass->deferral
             ? ElementCore::as_needed
             : guint (GST_OPENCL_MIN_BUFFERS);
}

static gboolean
gst_opencl_filter_propose_allocation (
    GstBaseTransform *transform, GstQuery *decide_query, GstQuery *query)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  ElementCore &core = core_of (self);
  GstCaps *caps;
  Format format;

  if (!GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
           ->propose_allocation (transform, decide_query, query))
    return FALSE;
  /* In passthrough mode, downstream has already answered. */
  if (!decide_query)
    return TRUE;

  gst_query_parse_allocation (query, &caps, nullptr);
  if (!caps || !core.is_open () || !get_format (self, caps, &format))
    return FALSE;
  core.propose_pool (query, caps, format, get_min_buffers (self));
  const GstOpenCLDeferral *deferral = deferral_of (self);
  if (deferral && deferral->can_merge && deferral->can_merge (self))
    gst_query_add_allocation_meta (query, deferral_api_type (deferral), nullptr);
  return TRUE;
}

/* Tells upstream that downstream draws overlays, which caps with their feature then have.
 * The base class tells it of no meta. */
static gboolean
gst_opencl_filter_filter_meta (
    GstBaseTransform *, GstQuery *, GType api, const GstStructure *)
{
  return api == GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE;
}

static gboolean
gst_opencl_filter_decide_allocation (GstBaseTransform *transform, GstQuery *query)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  ElementCore &core = core_of (self);
  GstCaps *caps;
  Format format;

  /* Before the parent class removes metas that it does not know. */
  const GstOpenCLDeferral *deferral = deferral_of (self);
  private_of (self)->defers =
      deferral
      && gst_query_find_allocation_meta (query, deferral_api_type (deferral), nullptr);
  gst_query_parse_allocation (query, &caps, nullptr);
  return core.is_open () && caps && get_format (self, caps, &format)
         && core.decide_pool (
             query, caps, format.size, !format.is_device_memory, get_min_buffers (self))
         && GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
                ->decide_allocation (transform, query);
}

/* --- metas --- */

namespace {
/* Subjects of a meta, from its tags */
struct Subject {
  bool geometry = false; /* positions or orientation */
  bool size = false;
  bool colors = false;
  bool other = false;
};
} // namespace

static Subject
subject_of (const GstMetaInfo *info)
{
  Subject subject;
  const gchar *const *tags = gst_meta_api_type_get_tags (info->api);

  for (; tags && *tags; tags++) {
    if (g_str_equal (*tags, GST_META_TAG_VIDEO_SIZE_STR))
      subject.size = subject.geometry = true;
    else if (g_str_equal (*tags, GST_META_TAG_VIDEO_ORIENTATION_STR))
      subject.geometry = true;
    else if (g_str_equal (*tags, GST_META_TAG_VIDEO_COLORSPACE_STR))
      subject.colors = true;
    else if (!g_str_equal (*tags, GST_META_TAG_VIDEO_STR))
      subject.other = true;
  }
  return subject;
}

static bool
has_same_colors (const GstVideoInfo *a, const GstVideoInfo *b)
{
  return GST_VIDEO_INFO_IS_RGB (a) == GST_VIDEO_INFO_IS_RGB (b)
         && gst_video_colorimetry_is_equal (&a->colorimetry, &b->colorimetry);
}

/* Metas with positions are scaled with the frame. A meta without tags, or of the video in
 * general (captions), stays valid for every output. */
static gboolean
gst_opencl_filter_transform_meta (
    GstBaseTransform *transform, GstBuffer *output, GstMeta *meta, GstBuffer *input)
{
  GstOpenCLFilterPrivate *priv = private_of (transform);
  const GstVideoInfo *from = priv->input.video (), *to = priv->output.video ();
  Subject subject = subject_of (meta->info);

  if (subject.other)
    return FALSE;
  if (!subject.geometry && !subject.colors)
    return TRUE;
  if (!from || !to || (subject.colors && !has_same_colors (from, to)))
    return FALSE;
  if (!subject.size || (from->width == to->width && from->height == to->height))
    return TRUE;
  GstVideoMetaTransform scale = {
      const_cast<GstVideoInfo *> (from), const_cast<GstVideoInfo *> (to)};
  if (meta->info->transform_func)
    meta->info->transform_func (
        output, meta, input, gst_video_meta_transform_scale_get_quark (), &scale);
  return FALSE; /* not copied unchanged */
}

/* --- frames --- */

static gboolean
map_frame (GstOpenCLFilter *self, GstOpenCLFrame *frame, const Format &format,
    GstBuffer *buffer, GstMapFlags access, GError **error)
{
  return gst_opencl_frame_map (frame, format.video (), format.size, buffer,
      core_of (self).queue (), access, error);
}

static gboolean
process_frames (GstOpenCLFilter *self, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  cl_command_queue queue = priv->core->queue ();
  GstOpenCLFrame in, out;

  if (!map_frame (self, &in, priv->input, input, GST_MAP_READ, error)
      || !map_frame (self, &out, priv->output, output, GST_MAP_WRITE, error))
    return FALSE;
  gboolean enqueued =
      GST_OPENCL_FILTER_GET_CLASS (self)->transform (self, &in, &out, queue, error);
  return gst_opencl_frames_unmap (queue, &in, &out, event, enqueued ? error : nullptr)
         && enqueued;
}

/* (transfer full) (nullable): `input` in this context. A submitted input is copied once
 * for all its outputs. */
static GstBuffer *
ref_imported (GstOpenCLFilter *self, GstBuffer *input, GError **error)
{
  GstOpenCLFilterPrivate *priv = private_of (self);

  return priv->imported ? gst_buffer_ref (priv->imported)
                        : priv->core->import (input, error);
}

static gboolean
gst_opencl_filter_process (GstOpenCLFilter *self, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  GstBuffer *own = ref_imported (self, input, error);
  if (!own)
    return FALSE;
  gboolean processed = process_frames (self, own, output, event, error);
  gst_buffer_unref (own);
  return processed;
}

/* --- deferred work --- */

/* The same cl_context is not enough: a queue of the GstOpenCLContext orders deferred
 * work. */
static bool
is_of_own_context (GstOpenCLFilter *self, GstBuffer *buffer)
{
  ElementCore &core = core_of (self);
  return core.owns (buffer)
         && gst_opencl_memory_get_context (gst_buffer_peek_memory (buffer, 0))
                == core.context ();
}

/* Deferred work of another streaming thread is not merged, but runs on that thread's
 * queue. */
static bool
is_of_own_queue (GstOpenCLFilter *self, GstOpenCLDeferred *pending)
{
  const auto queues = opencl::queues_of_deferred (pending);
  return queues && queues->compute () == core_of (self).queue ();
}

/* (transfer full) (nullable): the pending work that fills all of `input`, if this class
 * can merge its type. Elements in between may have changed caps, memory or layout. */
static GstOpenCLDeferred *
ref_pending (GstOpenCLFilter *self, const GstOpenCLDeferral *deferral, GstBuffer *input)
{
  GstOpenCLFilterPrivate *priv = private_of (self);

  if (!deferral || !deferral->merge || !is_of_own_context (self, input))
    return nullptr;
  GstOpenCLDeferred *pending =
      gst_opencl_memory_ref_deferred (gst_buffer_peek_memory (input, 0));
  if (pending
      && (!G_TYPE_CHECK_INSTANCE_TYPE (pending, deferral->get_type ())
          || !is_of_own_queue (self, pending)
          || !opencl::is_frame_of (
              pending, priv->input_caps, priv->input.video (), input)))
    g_clear_object (&pending);
  return pending;
}

static gboolean
process_or_merge (GstOpenCLFilter *self, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  const GstOpenCLDeferral *deferral = deferral_of (self);
  GstOpenCLDeferred *pending = ref_pending (self, deferral, input);
  GstOpenCLMergeResult taken = GST_OPENCL_NOT_MERGED;

  if (pending)
    taken = deferral->merge (self, pending, output, event, error);
  g_clear_object (&pending);
  if (taken != GST_OPENCL_NOT_MERGED)
    return taken == GST_OPENCL_MERGED;
  return GST_OPENCL_FILTER_GET_CLASS (self)->process (self, input, output, event, error);
}

void
gst_opencl_filter_class_set_deferral (
    GstOpenCLFilterClass *klass, const GstOpenCLDeferral *deferral)
{
  klass->deferral = deferral;
}

gboolean
gst_opencl_filter_can_defer (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), FALSE);
  return private_of (filter)->defers && is_of_own_context (filter, input)
         && is_of_own_context (filter, output);
}

void
gst_opencl_filter_defer (
    GstOpenCLFilter *filter, GstOpenCLDeferred *work, GstBuffer *output)
{
  g_return_if_fail (gst_opencl_filter_can_defer (filter, output, output));
  GstOpenCLFilterPrivate *priv = private_of (filter);

  opencl::describe_deferred (work, priv->output_caps, priv->output.video (), output);
  opencl::set_deferred_queues (work, priv->core->queues ());
  gst_opencl_memory_defer (gst_buffer_peek_memory (output, 0), work);
}

static GstFlowReturn
gst_opencl_filter_transform (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer *output)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GError *error = nullptr;
  cl_event event = nullptr;
  const Streaming streaming (core_of (self));

  gboolean processed = core_of (self).admit (&error)
                       && process_or_merge (self, input, output, &event, &error);
  return core_of (self).end (processed, event, error);
}

static void
sync_controlled_values (GstBaseTransform *transform, GstBuffer *buffer)
{
  const GstClockTime time =
      opencl::stream_time_of (transform->segment, GST_BUFFER_PTS (buffer));
  if (GST_CLOCK_TIME_IS_VALID (time))
    gst_object_sync_values (GST_OBJECT (transform), time);
}

/* Checks a frame that is not passed through. An event tells elements that count frames of an
 * invalid one, and the next frame has the flag DISCONT. */
static GstFlowReturn
check_input (GstBaseTransform *transform, GstBuffer **input)
{
  GstOpenCLFilterPrivate *priv = private_of (transform);
  const Format &format = priv->input;
  const bool follows_loss = priv->n_invalid > 0;

  if (gst_base_transform_is_passthrough (transform) || !priv->input_caps
      || format.is_opaque)
    return GST_FLOW_OK;
  const GstFlowReturn flow = gst_opencl_check_frame (
      GST_ELEMENT (transform), *input, format.video (), format.size, &priv->n_invalid);
  if (follows_loss && flow == GST_FLOW_OK) {
    *input = gst_buffer_make_writable (*input);
    GST_BUFFER_FLAG_SET (*input, GST_BUFFER_FLAG_DISCONT);
  }
  if (flow == GST_FLOW_CUSTOM_SUCCESS)
    GST_BASE_TRANSFORM_GET_CLASS (transform)->sink_event (
        transform, gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
                       gst_structure_new_empty (GST_OPENCL_LOST_FRAME)));
  return flow;
}

static GstFlowReturn
gst_opencl_filter_submit_input_buffer (
    GstBaseTransform *transform, gboolean discont, GstBuffer *input)
{
  GstOpenCLFilterClass *klass = GST_OPENCL_FILTER_GET_CLASS (transform);

  const GstFlowReturn flow = check_input (transform, &input);
  if (flow != GST_FLOW_OK) {
    gst_buffer_unref (input);
    return flow;
  }
  ElementCore::mark_if_shared (input);
  sync_controlled_values (transform, input);
  if (klass->begin_frame)
    klass->begin_frame (GST_OPENCL_FILTER (transform), input);
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
      ->submit_input_buffer (transform, discont, input);
}

/* Activates the pool here, because the parent class would post an error without a
 * cause. */
static GstFlowReturn
gst_opencl_filter_prepare_output_buffer (
    GstBaseTransform *transform, GstBuffer *input, GstBuffer **output)
{
  ElementCore &core = core_of (transform);
  Counting counting (core);
  GstFlowReturn flow = GST_FLOW_ERROR;

  GstBufferPool *pool = gst_base_transform_get_buffer_pool (transform);
  if (!pool || gst_buffer_pool_set_active (pool, TRUE))
    flow = GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
               ->prepare_output_buffer (transform, input, output);
  if (flow == GST_FLOW_ERROR)
    core.report_no_buffer (pool, private_of (transform)->output.size);
  gst_clear_object (&pool);
  return flow;
}

/* --- none, one or several outputs --- */

/* If the input's deferred work will be merged, the input must not be read, as that would
 * run the work. */
static bool
will_be_merged (GstOpenCLFilter *self, GstBuffer *input)
{
  const GstOpenCLDeferral *deferral = deferral_of (self);
  GstOpenCLDeferred *pending = ref_pending (self, deferral, input);
  const bool taken = pending && deferral->can_merge && deferral->can_merge (self);

  g_clear_object (&pending);
  return taken;
}

static gboolean
submit_frame (GstOpenCLFilter *self, GstBuffer *input, cl_event *event, GError **error)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  cl_command_queue queue = priv->core->queue ();
  GstOpenCLFrame frame;

  priv->imported = priv->core->import (input, error);
  if (!priv->imported)
    return FALSE;
  if (will_be_merged (self, priv->imported))
    return GST_OPENCL_FILTER_GET_CLASS (self)->submit (
        self, nullptr, queue, &priv->outputs, error);
  gboolean mapped =
      map_frame (self, &frame, priv->input, priv->imported, GST_MAP_READ, error);
  gboolean enqueued = mapped
                      && GST_OPENCL_FILTER_GET_CLASS (self)->submit (
                          self, &frame, queue, &priv->outputs, error);
  if (mapped)
    enqueued = gst_opencl_frames_unmap (
                   queue, &frame, nullptr, event, enqueued ? error : nullptr)
               && enqueued;
  return enqueued;
}

/* `input` is (transfer full). */
static GstFlowReturn
submit (GstOpenCLFilter *self, GstBuffer *input)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  GError *error = nullptr;
  cl_event event = nullptr;
  const Streaming streaming (*priv->core);

  clear_submitted (self);
  priv->n_in++;
  priv->submitted = input;
  priv->outputs = 1;
  priv->index = 0;
  gboolean submitted =
      priv->core->admit (&error) && submit_frame (self, input, &event, &error);
  if (!submitted)
    priv->outputs = 0;
  return priv->core->end (submitted, event, error);
}

/* Divides the duration of the input between its outputs. */
static void
divide_time (GstOpenCLFilterPrivate *priv, GstBuffer *output)
{
  const GstClockTime start = GST_BUFFER_PTS (output);
  const GstClockTime duration = GST_BUFFER_DURATION (output);

  if (priv->index > 0)
    GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_DISCONT);
  if (priv->outputs < 2 || !GST_CLOCK_TIME_IS_VALID (duration))
    return;
  auto part = [&] (guint index) {
    return gst_util_uint64_scale_int (duration, index, priv->outputs);
  };
  if (GST_CLOCK_TIME_IS_VALID (start))
    GST_BUFFER_PTS (output) = start + part (priv->index);
  GST_BUFFER_DURATION (output) = part (priv->index + 1) - part (priv->index);
}

/* The parent class calls this until there is no output. It processes the queued buffer
 * each time, so a submitted input is queued again for each of its outputs. */
static GstFlowReturn
gst_opencl_filter_generate_output (GstBaseTransform *transform, GstBuffer **output)
{
  GstOpenCLFilter *self = GST_OPENCL_FILTER (transform);
  GstOpenCLFilterPrivate *priv = private_of (self);
  GstBaseTransformClass *parent =
      GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class);
  GstFlowReturn flow = GST_FLOW_OK;

  if (!ensure_caps_set (transform)) {
    gst_clear_buffer (&transform->queued_buf);
    return is_flushing (GST_BASE_TRANSFORM_SINK_PAD (transform))
                   || is_flushing (GST_BASE_TRANSFORM_SRC_PAD (transform))
               ? GST_FLOW_FLUSHING
               : GST_FLOW_NOT_NEGOTIATED;
  }
  const bool has_work = transform->queued_buf || priv->submitted;
  if (has_work && priv->core->has_failed ()) {
    gst_clear_buffer (&transform->queued_buf);
    clear_submitted (self);
    *output = nullptr;
    return GST_FLOW_ERROR;
  }
  if (!GST_OPENCL_FILTER_GET_CLASS (self)->submit
      || gst_base_transform_is_passthrough (transform))
    return parent->generate_output (transform, output);

  *output = nullptr;
  if (GstBuffer *queued = std::exchange (transform->queued_buf, nullptr))
    flow = submit (self, queued);
  if (flow != GST_FLOW_OK || priv->index >= priv->outputs) {
    clear_submitted (self);
    return flow;
  }
  const bool last = priv->index + 1 == priv->outputs;
  transform->queued_buf =
      last ? std::exchange (priv->submitted, nullptr) : gst_buffer_ref (priv->submitted);
  flow = parent->generate_output (transform, output);
  if (*output) {
    divide_time (priv, *output);
    priv->n_out++;
  }
  priv->index++;
  if (last)
    clear_submitted (self);
  return flow;
}

/* Frames that are too few for a group would otherwise be lost in silence. */
static void
warn_without_output (GstOpenCLFilter *self)
{
  GstOpenCLFilterPrivate *priv = private_of (self);
  const guint64 frames = std::exchange (priv->n_in, 0);

  if (frames == 0 || std::exchange (priv->n_out, 0) > 0 || priv->core->has_failed ())
    return;
  GST_ELEMENT_WARNING (self, STREAM, FAILED,
      ("%s: %" G_GUINT64_FORMAT " frames arrived and none was output; an output needs %u "
       "complete frames",
          GST_OBJECT_NAME (self), frames, MAX (priv->group, 1)),
      (nullptr));
}

static gboolean
gst_opencl_filter_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstEventType type = GST_EVENT_TYPE (event);
  GstOpenCLFilterPrivate *priv = private_of (transform);
  ElementCore &core = *priv->core;

  if (type == GST_EVENT_EOS || type == GST_EVENT_FLUSH_STOP) {
    Counting counting (core);
    core.drain ();
  }
  if (type == GST_EVENT_EOS)
    warn_without_output (GST_OPENCL_FILTER (transform));
  if (type == GST_EVENT_FLUSH_STOP) {
    clear_submitted (transform);
    priv->n_in = priv->n_out = priv->n_invalid = 0;
    core.reset_failures ();
  }
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_filter_parent_class)
      ->sink_event (transform, event);
}

/* --- the class --- */

static void
gst_opencl_filter_class_init (GstOpenCLFilterClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  ElementCore::install (G_OBJECT_CLASS (klass));
  transform_class->query = gst_opencl_filter_query;
  transform_class->start = gst_opencl_filter_start;
  transform_class->stop = gst_opencl_filter_stop;
  transform_class->fixate_caps = gst_opencl_filter_fixate_caps;
  transform_class->set_caps = gst_opencl_filter_set_caps;
  transform_class->get_unit_size = gst_opencl_filter_get_unit_size;
  transform_class->propose_allocation = gst_opencl_filter_propose_allocation;
  transform_class->decide_allocation = gst_opencl_filter_decide_allocation;
  transform_class->filter_meta = gst_opencl_filter_filter_meta;
  transform_class->transform_meta = gst_opencl_filter_transform_meta;
  transform_class->submit_input_buffer = gst_opencl_filter_submit_input_buffer;
  transform_class->prepare_output_buffer = gst_opencl_filter_prepare_output_buffer;
  transform_class->generate_output = gst_opencl_filter_generate_output;
  transform_class->transform = gst_opencl_filter_transform;
  transform_class->sink_event = gst_opencl_filter_sink_event;
  klass->process = gst_opencl_filter_process;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_FILTER, GstPluginAPIFlags (0));
}

static void
gst_opencl_filter_init (GstOpenCLFilter *self)
{
  private_of (self)->core = ElementCore::attach (self);
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), TRUE);
}

GstOpenCLContext *
gst_opencl_filter_get_context (GstOpenCLFilter *filter)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), nullptr);
  return core_of (filter).context ();
}

GstBufferPool *
gst_opencl_filter_new_pool (GstOpenCLFilter *filter, gboolean host, gsize size)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), nullptr);
  return core_of (filter).make_pool (host, nullptr, size, GST_OPENCL_MIN_BUFFERS);
}

GstBuffer *
gst_opencl_filter_import (GstOpenCLFilter *filter, GstBuffer *buffer, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), nullptr);
  ElementCore::mark_if_shared (buffer);
  return core_of (filter).import (buffer, error);
}

gboolean
gst_opencl_filter_drain (GstOpenCLFilter *filter)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), FALSE);
  Counting counting (core_of (filter));
  return core_of (filter).drain () && !core_of (filter).has_failed ();
}

GstFlowReturn
gst_opencl_filter_push (GstOpenCLFilter *filter, GstBuffer *buffer)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), GST_FLOW_ERROR);
  private_of (filter)->n_out++;
  return gst_pad_push (GST_BASE_TRANSFORM_SRC_PAD (filter), buffer);
}

void
gst_opencl_filter_set_group (GstOpenCLFilter *filter, guint frames)
{
  g_return_if_fail (GST_IS_OPENCL_FILTER (filter));
  private_of (filter)->group = frames;
}

cl_command_queue
gst_opencl_filter_get_queue (GstOpenCLFilter *filter)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), nullptr);
  return core_of (filter).queue ();
}

static bool
is_in_pipeline (gpointer element)
{
  GstObject *outermost = opencl::ref_outermost (element);
  const bool is = GST_IS_PIPELINE (outermost);
  gst_object_unref (outermost);
  return is;
}

/* Outside of a pipeline returns FALSE: GstHarness answers that it is live, but it has no
 * pipeline and does not send frames at their time. */
gboolean
gst_opencl_filter_is_live (GstOpenCLFilter *filter)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), FALSE);
  GstQuery *query = gst_query_new_latency ();
  gboolean live = FALSE;

  if (is_in_pipeline (filter)
      && gst_pad_peer_query (GST_BASE_TRANSFORM_SINK_PAD (filter), query))
    gst_query_parse_latency (query, &live, nullptr, nullptr);
  gst_query_unref (query);
  return live;
}

guint
gst_opencl_filter_get_output_index (GstOpenCLFilter *filter)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), 0);
  return private_of (filter)->index;
}

const GstVideoInfo *
gst_opencl_filter_get_video_info (GstOpenCLFilter *filter, GstPadDirection direction)
{
  g_return_val_if_fail (GST_IS_OPENCL_FILTER (filter), nullptr);
  GstOpenCLFilterPrivate *priv = private_of (filter);
  return (direction == GST_PAD_SINK ? priv->input : priv->output).video ();
}
