/* Base class of elements that combine several video streams on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclaggregator
 * @title: GstOpenCLAggregator
 *
 * Base class of elements with several inputs. A subclass enqueues the kernels that
 * compute an output frame from one frame of each pad. The base class does the rest.
 */
#include <gst/opencl/gstopenclaggregator.h>

#include "elementcore.hpp"

#include <gst/common/filteredcaps.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>

#include <list>
#include <vector>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_aggregator_debug);
#define GST_CAT_DEFAULT gst_opencl_aggregator_debug

using opencl::Counting;
using opencl::ElementCore;
using opencl::Format;
using opencl::Streaming;

/* --- a pad --- */

namespace {
/* A buffer that a flush takes from a pad */
struct Flushed {
  GstBuffer *buffer; /* owned */
  bool is_over;      /* the pad has dropped it */
};
} // namespace

typedef struct {
  std::list<Flushed> *flushed; /* with the aggregator's object lock */
  guint n_invalid;             /* frames in a row */
  GstBuffer *invalid;          /* (nullable): the last one */
} GstOpenCLAggregatorPadPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (
    GstOpenCLAggregatorPad, gst_opencl_aggregator_pad, GST_TYPE_VIDEO_AGGREGATOR_PAD)

static GstOpenCLAggregatorPadPrivate *
private_of_pad (gpointer pad)
{
  return static_cast<GstOpenCLAggregatorPadPrivate *> (
      gst_opencl_aggregator_pad_get_instance_private (GST_OPENCL_AGGREGATOR_PAD (pad)));
}

static std::list<Flushed> &
flushed_of (gpointer pad)
{
  return *private_of_pad (pad)->flushed;
}

/* Only keeps the buffer. The parent class would map the frame for the CPU. As in GStreamer's
 * compositor, an output has no layer in place of an invalid frame, which may be repeated. */
static gboolean
gst_opencl_aggregator_pad_prepare_frame (GstVideoAggregatorPad *pad,
    GstVideoAggregator *aggregator, GstBuffer *buffer, GstVideoFrame *prepared)
{
  GstOpenCLAggregatorPadPrivate *priv = private_of_pad (pad);
  const bool is_valid = buffer != priv->invalid
                        && gst_opencl_check_frame (GST_ELEMENT (aggregator), buffer,
                               &pad->info, 0, &priv->n_invalid)
                               == GST_FLOW_OK;

  gst_buffer_replace (&priv->invalid, is_valid ? nullptr : buffer);
  if (is_valid)
    prepared->buffer = gst_buffer_ref (buffer);
  return TRUE;
}

/* Called after the frame. Releases the buffers of flushes that are over. */
static void
gst_opencl_aggregator_pad_clean_frame (
    GstVideoAggregatorPad *pad, GstVideoAggregator *aggregator, GstVideoFrame *prepared)
{
  std::vector<GstBuffer *> unused;

  gst_clear_buffer (&prepared->buffer);
  GST_OBJECT_LOCK (aggregator);
  flushed_of (pad).remove_if ([&] (const Flushed &flushed) {
    if (flushed.is_over)
      unused.push_back (flushed.buffer);
    return flushed.is_over;
  });
  GST_OBJECT_UNLOCK (aggregator);
  for (GstBuffer *buffer : unused)
    gst_buffer_unref (buffer);
}

/* Runs in the upstream thread, while a frame may be in progress. Keeps a reference to the
 * pad's buffer: after the parent class has peeked at it and before prepare_frame(), it
 * has no other owner. */
static GstFlowReturn
gst_opencl_aggregator_pad_flush (GstAggregatorPad *pad, GstAggregator *aggregator)
{
  Flushed *entry = nullptr;

  GST_OBJECT_LOCK (aggregator);
  if (GstBuffer *shown =
          gst_video_aggregator_pad_get_current_buffer (GST_VIDEO_AGGREGATOR_PAD (pad))) {
    flushed_of (pad).push_back ({gst_buffer_ref (shown), false});
    entry = &flushed_of (pad).back ();
  }
  GST_OBJECT_UNLOCK (aggregator);
  const GstFlowReturn flow =
      GST_AGGREGATOR_PAD_CLASS (gst_opencl_aggregator_pad_parent_class)
          ->flush (pad, aggregator);
  GST_OBJECT_LOCK (aggregator);
  if (entry)
    entry->is_over = true;
  GST_OBJECT_UNLOCK (aggregator);
  return flow;
}

static void
gst_opencl_aggregator_pad_finalize (GObject *object)
{
  for (const Flushed &flushed : flushed_of (object))
    gst_buffer_unref (flushed.buffer);
  delete &flushed_of (object);
  gst_clear_buffer (&private_of_pad (object)->invalid);
  G_OBJECT_CLASS (gst_opencl_aggregator_pad_parent_class)->finalize (object);
}

static void
gst_opencl_aggregator_pad_class_init (GstOpenCLAggregatorPadClass *klass)
{
  GstVideoAggregatorPadClass *pad_class = GST_VIDEO_AGGREGATOR_PAD_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_opencl_aggregator_pad_finalize;
  GST_AGGREGATOR_PAD_CLASS (klass)->flush = gst_opencl_aggregator_pad_flush;
  pad_class->prepare_frame = gst_opencl_aggregator_pad_prepare_frame;
  pad_class->clean_frame = gst_opencl_aggregator_pad_clean_frame;
  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_AGGREGATOR_PAD, GstPluginAPIFlags (0));
}

static void
gst_opencl_aggregator_pad_init (GstOpenCLAggregatorPad *self)
{
  private_of_pad (self)->flushed = new std::list<Flushed>;
}

/* --- the element --- */

typedef struct {
  ElementCore *core;
  Format output;
} GstOpenCLAggregatorPrivate;

static void gst_opencl_aggregator_child_proxy_init (gpointer iface, gpointer data);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (
    GstOpenCLAggregator, gst_opencl_aggregator, GST_TYPE_VIDEO_AGGREGATOR,
    G_ADD_PRIVATE (GstOpenCLAggregator);
    G_IMPLEMENT_INTERFACE (GST_TYPE_CHILD_PROXY, gst_opencl_aggregator_child_proxy_init);
    GST_DEBUG_CATEGORY_INIT (gst_opencl_aggregator_debug, "openclaggregator", 0,
        "Base class of aggregators on OpenCL devices"))

static GstOpenCLAggregatorPrivate *
private_of (gpointer aggregator)
{
  return static_cast<GstOpenCLAggregatorPrivate *> (
      gst_opencl_aggregator_get_instance_private (GST_OPENCL_AGGREGATOR (aggregator)));
}

static ElementCore &
core_of (gpointer aggregator)
{
  return *private_of (aggregator)->core;
}

static GstAggregatorClass *
parent_of_all ()
{
  return GST_AGGREGATOR_CLASS (gst_opencl_aggregator_parent_class);
}

/* --- life cycle --- */

static void
close_aggregator (GstAggregator *aggregator)
{
  core_of (aggregator)
      .close (GST_OPENCL_AGGREGATOR_GET_CLASS (aggregator),
          GST_OPENCL_AGGREGATOR (aggregator));
}

static gboolean
gst_opencl_aggregator_start (GstAggregator *aggregator)
{
  GstOpenCLAggregator *self = GST_OPENCL_AGGREGATOR (aggregator);
  const bool opened = core_of (self).open (GST_OPENCL_AGGREGATOR_GET_CLASS (self), self);
  Counting counting (core_of (self));
  if (opened)
    return parent_of_all ()->start (aggregator);
  close_aggregator (aggregator);
  return FALSE;
}

static gboolean
gst_opencl_aggregator_stop (GstAggregator *aggregator)
{
  Counting counting (core_of (aggregator));
  const gboolean stopped = parent_of_all ()->stop (aggregator);

  core_of (aggregator).drain ();
  close_aggregator (aggregator);
  return stopped;
}

static GstFlowReturn
gst_opencl_aggregator_flush (GstAggregator *aggregator)
{
  Counting counting (core_of (aggregator));

  core_of (aggregator).drain ();
  core_of (aggregator).reset_failures ();
  return parent_of_all ()->flush (aggregator);
}

/* The streaming thread now waits for the clock. */
static GstStateChangeReturn
gst_opencl_aggregator_change_state (GstElement *element, GstStateChange change)
{
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS (gst_opencl_aggregator_parent_class)
          ->change_state (element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_PLAYING)
    core_of (element).inputs ().wake ();
  return result;
}

/* An aggregator of a live pipeline has a clock before it has a base time, and would
 * make each frame that the clock's time since its start has room for. So it waits for
 * frames until it plays. */
static GstClockTime
gst_opencl_aggregator_get_next_time (GstAggregator *aggregator)
{
  return GST_STATE_TARGET (aggregator) == GST_STATE_PLAYING
             ? parent_of_all ()->get_next_time (aggregator)
             : GST_CLOCK_TIME_NONE;
}

/* --- pads as children, so that gst-launch can set their properties --- */

static GObject *
gst_opencl_aggregator_get_child_by_index (GstChildProxy *proxy, guint index)
{
  const opencl::ObjectLock lock (proxy);
  gpointer pad = g_list_nth_data (GST_ELEMENT (proxy)->sinkpads, index);
  return static_cast<GObject *> (pad ? gst_object_ref (pad) : nullptr);
}

static guint
gst_opencl_aggregator_get_children_count (GstChildProxy *proxy)
{
  const opencl::ObjectLock lock (proxy);
  return GST_ELEMENT (proxy)->numsinkpads;
}

static void
gst_opencl_aggregator_child_proxy_init (gpointer iface, gpointer data)
{
  auto *proxy = static_cast<GstChildProxyInterface *> (iface);
  proxy->get_child_by_index = gst_opencl_aggregator_get_child_by_index;
  proxy->get_children_count = gst_opencl_aggregator_get_children_count;
}

static GstPad *
gst_opencl_aggregator_request_new_pad (
    GstElement *element, GstPadTemplate *templ, const gchar *name, const GstCaps *caps)
{
  GstPad *pad = GST_ELEMENT_CLASS (gst_opencl_aggregator_parent_class)
                    ->request_new_pad (element, templ, name, caps);
  if (pad)
    gst_child_proxy_child_added (
        GST_CHILD_PROXY (element), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  return pad;
}

static void
gst_opencl_aggregator_release_pad (GstElement *element, GstPad *pad)
{
  gst_child_proxy_child_removed (
      GST_CHILD_PROXY (element), G_OBJECT (pad), GST_OBJECT_NAME (pad));
  GST_ELEMENT_CLASS (gst_opencl_aggregator_parent_class)->release_pad (element, pad);
}

/* --- queries --- */

/* GstVideoAggregator does not support caps features. So all caps of the pad template are
 * accepted, with any size and frame rate. */
static void
answer_caps_query (GstPad *pad, GstQuery *query)
{
  GstCaps *filter, *caps = gst_pad_get_pad_template_caps (pad);

  gst_query_parse_caps (query, &filter);
  caps = opencl::filtered_caps (caps, filter);
  gst_query_set_caps_result (query, caps);
  gst_caps_unref (caps);
}

static void
answer_accept_caps_query (GstPad *pad, GstQuery *query)
{
  GstCaps *asked, *caps = gst_pad_get_pad_template_caps (pad);

  gst_query_parse_accept_caps (query, &asked);
  gst_query_set_accept_caps_result (query, gst_caps_is_subset (asked, caps));
  gst_caps_unref (caps);
}

static gboolean
gst_opencl_aggregator_src_query (GstAggregator *aggregator, GstQuery *query)
{
  return core_of (aggregator).answer_context_query (query)
         || parent_of_all ()->src_query (aggregator, query);
}

static gboolean
gst_opencl_aggregator_sink_query (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstQuery *query)
{
  switch (GST_QUERY_TYPE (query)) {
  case GST_QUERY_CAPS:
    answer_caps_query (GST_PAD (pad), query);
    return TRUE;
  case GST_QUERY_ACCEPT_CAPS:
    answer_accept_caps_query (GST_PAD (pad), query);
    return TRUE;
  default:
    return core_of (aggregator).answer_context_query (query)
           || parent_of_all ()->sink_query (aggregator, pad, query);
  }
}

/* GstVideoAggregator aborts at a segment that is not in time. Since GStreamer 1.28 it refuses
 * the segment before it queues it, without a message. */
static GstFlowReturn
gst_opencl_aggregator_sink_event_pre_queue (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstEvent *event)
{
  const GstSegment *segment = nullptr;

  if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
    gst_event_parse_segment (event, &segment);
  if (!segment || segment->format == GST_FORMAT_TIME)
    return parent_of_all ()->sink_event_pre_queue (aggregator, pad, event);
  core_of (aggregator)
      .report_lost_frame (g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
          "pad %s has a segment in %s, expected one in time, as of appsrc with "
          "format=time or after a parser",
          GST_OBJECT_NAME (pad), gst_format_get_name (segment->format)));
  gst_event_unref (event);
  return GST_FLOW_ERROR;
}

/* Waits for all frames in flight before EOS. */
static GstFlowReturn
gst_opencl_aggregator_aggregate (GstAggregator *aggregator, gboolean timeout)
{
  if (core_of (aggregator).has_failed ()) /* else a failed input would be left out */
    return GST_FLOW_ERROR;
  GstFlowReturn flow = parent_of_all ()->aggregate (aggregator, timeout);

  if (flow == GST_FLOW_EOS) {
    Counting counting (core_of (aggregator));
    core_of (aggregator).drain ();
  }
  return flow;
}

/* --- caps and output --- */

static bool
has_fixed_size (const GstCaps *caps)
{
  gint width, height;
  const GstStructure *first =
      gst_caps_is_empty (caps) ? nullptr : gst_caps_get_structure (caps, 0);
  return first && gst_structure_get_int (first, "width", &width)
         && gst_structure_get_int (first, "height", &height);
}

/* Returns true if there are inputs, and none has caps. */
static bool
waits_for_inputs (GstElement *element)
{
  const opencl::ObjectLock lock (element);
  bool waits = element->sinkpads != nullptr;
  for (GList *item = element->sinkpads; item; item = item->next) {
    const GstVideoInfo &info = GST_VIDEO_AGGREGATOR_PAD (item->data)->info;
    waits = waits && (!info.finfo || info.finfo->format == GST_VIDEO_FORMAT_UNKNOWN);
  }
  return waits;
}

/* A live pipeline has a deadline before its inputs have caps. A size that was made up for
 * it might stay, as windows of some sinks keep that of their first frame. */
static GstFlowReturn
gst_opencl_aggregator_update_src_caps (
    GstAggregator *aggregator, GstCaps *caps, GstCaps **result)
{
  if (!has_fixed_size (caps) && waits_for_inputs (GST_ELEMENT (aggregator)))
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  return parent_of_all ()->update_src_caps (aggregator, caps, result);
}

static gboolean
gst_opencl_aggregator_negotiated_src_caps (GstAggregator *aggregator, GstCaps *caps)
{
  GstOpenCLAggregator *self = GST_OPENCL_AGGREGATOR (aggregator);
  GstOpenCLAggregatorClass *klass = GST_OPENCL_AGGREGATOR_GET_CLASS (self);
  GstOpenCLAggregatorPrivate *priv = private_of (self);
  GError *error = nullptr;
  const Streaming streaming (*priv->core);

  if (!priv->core->drain_for_caps ())
    return FALSE;
  priv->output = Format (caps);
  if (!parent_of_all ()->negotiated_src_caps (aggregator, caps))
    return FALSE;
  if (klass->set_format && !klass->set_format (self, caps, &error)) {
    priv->core->report (error);
    return FALSE;
  }
  priv->core->reset_failures ();
  return TRUE;
}

static gboolean
gst_opencl_aggregator_negotiate (GstAggregator *aggregator)
{
  return core_of (aggregator)
      .report_unless_negotiated (
          parent_of_all ()->negotiate (aggregator), GST_AGGREGATOR_SRC_PAD (aggregator));
}

static gboolean
gst_opencl_aggregator_propose_allocation (GstAggregator *aggregator,
    GstAggregatorPad *pad, GstQuery *decide_query, GstQuery *query)
{
  ElementCore &core = core_of (aggregator);
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, nullptr);
  if (!caps || !core.is_open ())
    return FALSE;
  core.propose_pool (query, caps, Format (caps), ElementCore::as_needed);
  return TRUE;
}

static gboolean
gst_opencl_aggregator_decide_allocation (GstAggregator *aggregator, GstQuery *query)
{
  ElementCore &core = core_of (aggregator);
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, nullptr);
  if (!caps || !core.is_open ())
    return FALSE;
  const Format format (caps);
  return core.decide_pool (
      query, caps, format.size, !format.is_device_memory, ElementCore::as_needed);
}

/* Acquires a buffer from the negotiated pool. Reports a failure. */
static GstFlowReturn
gst_opencl_aggregator_create_output_buffer (
    GstVideoAggregator *aggregator, GstBuffer **buffer)
{
  Counting counting (core_of (aggregator));
  GstBufferPool *pool = gst_aggregator_get_buffer_pool (GST_AGGREGATOR (aggregator));

  if (!pool)
    return GST_FLOW_NOT_NEGOTIATED;
  const GstFlowReturn flow = gst_buffer_pool_set_active (pool, TRUE)
                                 ? gst_buffer_pool_acquire_buffer (pool, buffer, nullptr)
                                 : GST_FLOW_ERROR;
  if (flow == GST_FLOW_ERROR)
    core_of (aggregator).report_no_buffer (pool, private_of (aggregator)->output.size);
  gst_object_unref (pool);
  return flow;
}

/* --- a frame --- */

namespace {
/* Inputs of one frame: pads and buffers, with a reference to each, and mapped frames */
class Inputs {
public:
  ~Inputs ()
  {
    for (GstBuffer *buffer : buffers)
      gst_buffer_unref (buffer);
    for (const GstOpenCLAggregatorInput &input : inputs)
      gst_object_unref (input.pad);
  }

  void collect (GstOpenCLAggregator *self)
  {
    GstOpenCLAggregatorClass *klass = GST_OPENCL_AGGREGATOR_GET_CLASS (self);

    add_prepared (self);
    for (gsize i = inputs.size (); klass->uses_pad && i-- > 0;) {
      if (klass->uses_pad (self, inputs[i].pad))
        continue;
      gst_object_unref (inputs[i].pad);
      gst_buffer_unref (buffers[i]);
      inputs.erase (inputs.begin () + gssize (i));
      buffers.erase (buffers.begin () + gssize (i));
    }
  }

  /* Replaces each buffer that is not in the element's context by a copy. */
  bool map (ElementCore &core, GError **error)
  {
    for (gsize i = 0; i < inputs.size (); i++) {
      GstOpenCLFrame frame;
      ElementCore::mark_shared (buffers[i]); /* the pad holds a reference too */
      GstBuffer *own = core.import (buffers[i], error);
      if (!own)
        return false;
      gst_buffer_unref (buffers[i]);
      buffers[i] = own;
      if (!gst_opencl_frame_map (&frame, &GST_VIDEO_AGGREGATOR_PAD (inputs[i].pad)->info,
              0, own, core.queue (), GST_MAP_READ, error))
        return false;
      inputs[i].frame = frame;
    }
    return true;
  }

  void unmap (cl_event event)
  {
    for (GstOpenCLAggregatorInput &input : inputs) {
      if (input.frame.memory)
        gst_opencl_frame_unmap (&input.frame, event);
    }
  }

  const GstOpenCLAggregatorInput *data () const { return inputs.data (); }
  guint size () const { return guint (inputs.size ()); }

private:
  void add_prepared (GstOpenCLAggregator *self)
  {
    const opencl::ObjectLock lock (self);
    for (GList *item = GST_ELEMENT (self)->sinkpads; item; item = item->next) {
      GstVideoFrame *prepared = gst_video_aggregator_pad_get_prepared_frame (
          GST_VIDEO_AGGREGATOR_PAD (item->data));
      if (!prepared)
        continue;
      GstOpenCLAggregatorInput input = {};
      input.pad = GST_OPENCL_AGGREGATOR_PAD (gst_object_ref (item->data));
      inputs.push_back (input);
      buffers.push_back (gst_buffer_ref (prepared->buffer));
    }
  }

  std::vector<GstOpenCLAggregatorInput> inputs;
  std::vector<GstBuffer *> buffers; /* one per input */
};
} // namespace

/* All frames are unmapped with one event. */
static bool
combine_inputs (
    GstOpenCLAggregator *self, GstBuffer *buffer, cl_event *event, GError **error)
{
  GstOpenCLAggregatorPrivate *priv = private_of (self);
  cl_command_queue queue = priv->core->queue ();
  GstOpenCLFrame output;
  Inputs inputs;

  inputs.collect (self);
  if (!gst_opencl_frame_map (&output, priv->output.video (), priv->output.size, buffer,
          queue, GST_MAP_WRITE, error))
    return false;
  const bool combined = inputs.map (*priv->core, error)
                        && GST_OPENCL_AGGREGATOR_GET_CLASS (self)->combine (
                            self, inputs.data (), inputs.size (), &output, queue, error);
  const bool ended = gst_opencl_frames_unmap (
      queue, nullptr, &output, event, combined ? error : nullptr);
  if (*event)
    inputs.unmap (*event);
  return combined && ended;
}

/* Updates controlled properties of the element. The parent class does that for pads. */
static void
sync_properties (GstOpenCLAggregator *self, GstBuffer *output)
{
  GstAggregatorPad *pad = GST_AGGREGATOR_PAD (GST_AGGREGATOR (self)->srcpad);

  GST_OBJECT_LOCK (pad);
  GstClockTime time = gst_segment_to_stream_time (
      &pad->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (output));
  GST_OBJECT_UNLOCK (pad);
  if (GST_CLOCK_TIME_IS_VALID (time))
    gst_object_sync_values (GST_OBJECT (self), time);
}

static GstFlowReturn
gst_opencl_aggregator_aggregate_frames (GstVideoAggregator *aggregator, GstBuffer *output)
{
  GstOpenCLAggregator *self = GST_OPENCL_AGGREGATOR (aggregator);
  ElementCore &core = core_of (self);
  const Streaming streaming (core);
  GError *error = nullptr;
  cl_event event = nullptr;

  sync_properties (self, output);
  const bool enqueued =
      core.admit (&error) && combine_inputs (self, output, &event, &error);
  return core.end (enqueued, event, error);
}

/* --- the class --- */

static void
gst_opencl_aggregator_class_init (GstOpenCLAggregatorClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstAggregatorClass *aggregator_class = GST_AGGREGATOR_CLASS (klass);
  GstVideoAggregatorClass *video_class = GST_VIDEO_AGGREGATOR_CLASS (klass);

  ElementCore::install (G_OBJECT_CLASS (klass));
  element_class->change_state = gst_opencl_aggregator_change_state;
  element_class->request_new_pad = gst_opencl_aggregator_request_new_pad;
  element_class->release_pad = gst_opencl_aggregator_release_pad;
  aggregator_class->start = gst_opencl_aggregator_start;
  aggregator_class->stop = gst_opencl_aggregator_stop;
  aggregator_class->flush = gst_opencl_aggregator_flush;
  aggregator_class->get_next_time = gst_opencl_aggregator_get_next_time;
  aggregator_class->src_query = gst_opencl_aggregator_src_query;
  aggregator_class->negotiate = gst_opencl_aggregator_negotiate;
  aggregator_class->propose_allocation = gst_opencl_aggregator_propose_allocation;
  aggregator_class->decide_allocation = gst_opencl_aggregator_decide_allocation;
  aggregator_class->aggregate = gst_opencl_aggregator_aggregate;
  aggregator_class->sink_event_pre_queue = gst_opencl_aggregator_sink_event_pre_queue;
  aggregator_class->sink_query = gst_opencl_aggregator_sink_query;
  aggregator_class->update_src_caps = gst_opencl_aggregator_update_src_caps;
  aggregator_class->negotiated_src_caps = gst_opencl_aggregator_negotiated_src_caps;
  video_class->create_output_buffer = gst_opencl_aggregator_create_output_buffer;
  video_class->aggregate_frames = gst_opencl_aggregator_aggregate_frames;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_AGGREGATOR, GstPluginAPIFlags (0));
}

static void
gst_opencl_aggregator_init (GstOpenCLAggregator *self)
{
  private_of (self)->core = ElementCore::attach (self);
}

GstOpenCLContext *
gst_opencl_aggregator_get_context (GstOpenCLAggregator *aggregator)
{
  g_return_val_if_fail (GST_IS_OPENCL_AGGREGATOR (aggregator), nullptr);
  return core_of (aggregator).context ();
}
