/* Base class of sources that generate frames on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclsrc
 * @title: GstOpenCLSrc
 *
 * Base class of sources. A subclass enqueues the kernels that generate a frame. The base
 * class does everything else.
 */
#include "elementcore.hpp"
#include <gst/common/buffers.hpp>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/core/pool.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclsrc.h>

#include <gst/gst.h>

namespace opencl {
/* Timestamps are computed from frame numbers, so that rounding errors do not add up. */
class Timeline {
public:
  /* Sets the frame rate from the next frame on. 0/1 means a still image. */
  void set_rate (gint numerator, gint denominator);
  /* Seeks to the frame at `position`, or, backwards, to the last one that starts before
   * it. */
  void seek (GstClockTime position, bool backwards);

  bool is_over () const { return over || (numerator == 0 && frame > 0); }
  /* Number and timestamp of the next frame */
  guint64 number () const { return frames_before + frame; }
  GstClockTime time () const { return time_before + time_of (frame); }
  /* Duration of a frame, or GST_CLOCK_TIME_NONE without a frame rate */
  GstClockTime duration_of_a_frame () const;
  /* Duration of `frames` frames, or GST_CLOCK_TIME_NONE without a frame rate */
  GstClockTime duration_of (guint64 frames) const;
  /* Sets timestamp and offsets of the next frame on `buffer`, and advances by one
   * frame. */
  void stamp (GstBuffer *buffer);

private:
  GstClockTime time_of (guint64 frame) const;

  gint numerator = 0;
  gint denominator = 1;
  guint64 frame = 0; /* since the rate changed */
  guint64 frames_before = 0;
  GstClockTime time_before = 0;
  bool backwards = false;
  bool over = false; /* backwards: the first frame was output */
};

GstClockTime
Timeline::time_of (guint64 frame) const
{
  return numerator > 0
             ? gst_util_uint64_scale (frame, denominator * GST_SECOND, numerator)
             : 0;
}

GstClockTime
Timeline::duration_of_a_frame () const
{
  return numerator > 0 ? time_of (1) : GST_CLOCK_TIME_NONE;
}

GstClockTime
Timeline::duration_of (guint64 frames) const
{
  if (numerator == 0)
    return GST_CLOCK_TIME_NONE;
  return time_before + time_of (frames > frames_before ? frames - frames_before : 0);
}

void
Timeline::set_rate (gint new_numerator, gint new_denominator)
{
  const GstClockTime end = time_before + time_of (frame + (backwards ? 1 : 0));

  if (!backwards) {
    frames_before += frame;
    time_before = end;
    frame = 0;
  }
  numerator = new_numerator;
  denominator = new_denominator;
  if (backwards)
    seek (end, true);
}

void
Timeline::seek (GstClockTime position, bool to_go_backwards)
{
  backwards = to_go_backwards;
  over = false;
  frames_before = frame = 0;
  time_before = 0;
  if (numerator == 0)
    return;
  frame = gst_util_uint64_scale (position, numerator, denominator * GST_SECOND);
  /* time_of() rounds down. */
  if (time_of (frame + 1) <= position)
    frame++;
  if (!backwards || time_of (frame) < position)
    return;
  over = frame == 0;
  frame -= over ? 0 : 1;
}

void
Timeline::stamp (GstBuffer *buffer)
{
  GST_BUFFER_PTS (buffer) = time ();
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) =
      numerator > 0 ? time_of (frame + 1) - time_of (frame) : GST_CLOCK_TIME_NONE;
  GST_BUFFER_OFFSET (buffer) = number ();
  GST_BUFFER_OFFSET_END (buffer) = number () + 1;
  if (!backwards)
    frame++;
  else if (frame > 0)
    frame--;
  else
    over = true;
}
} // namespace opencl

GST_DEBUG_CATEGORY_STATIC (gst_opencl_src_debug);
#define GST_CAT_DEFAULT gst_opencl_src_debug

using opencl::Counting;
using opencl::ElementCore;
using opencl::Format;
using opencl::Streaming;
using opencl::Timeline;

typedef struct {
  ElementCore *core;
  Format format;
  Timeline *timeline; /* streaming thread; the object lock protects its rate, which
                         queries use */
  GstBufferPool *device_pool; /* (nullable): for frames that are downloaded */
  gboolean refused;           /* the subclass refused the caps, and reported why */
} GstOpenCLSrcPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (
    GstOpenCLSrc, gst_opencl_src, GST_TYPE_PUSH_SRC, G_ADD_PRIVATE (GstOpenCLSrc);
    GST_DEBUG_CATEGORY_INIT (
        gst_opencl_src_debug, "openclsrc", 0, "Base class of sources on OpenCL devices"))

static GstOpenCLSrcPrivate *
private_of (gpointer src)
{
  return static_cast<GstOpenCLSrcPrivate *> (
      gst_opencl_src_get_instance_private (GST_OPENCL_SRC (src)));
}

static ElementCore &
core_of (gpointer src)
{
  return *private_of (src)->core;
}

/* --- life cycle --- */

static void
close_src (GstOpenCLSrc *self)
{
  ElementCore &core = core_of (self);
  Counting counting (core);

  core.drain ();
  opencl::release_pool (&private_of (self)->device_pool);
  core.close (GST_OPENCL_SRC_GET_CLASS (self), self);
}

static gboolean
open_src (GstOpenCLSrc *self)
{
  GstOpenCLSrcPrivate *priv = private_of (self);

  if (!priv->core->open (GST_OPENCL_SRC_GET_CLASS (self), self)) {
    close_src (self);
    return FALSE;
  }
  priv->format = Format ();
  const opencl::ObjectLock lock (self);
  *priv->timeline = Timeline ();
  return TRUE;
}

/* Opens here, not in start(): if start() fails, the parent class posts a second error,
 * without a cause. */
static GstStateChangeReturn
gst_opencl_src_change_state (GstElement *element, GstStateChange transition)
{
  GstOpenCLSrc *self = GST_OPENCL_SRC (element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && !open_src (self))
    return GST_STATE_CHANGE_FAILURE;

  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS (gst_opencl_src_parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY
      || (transition == GST_STATE_CHANGE_READY_TO_PAUSED
          && result == GST_STATE_CHANGE_FAILURE))
    close_src (self);
  return result;
}

/* --- caps --- */

/* Prefers device memory if downstream accepts it, in any order of its caps. */
static GstCaps *
gst_opencl_src_fixate (GstBaseSrc *base, GstCaps *caps)
{
  guint chosen = 0;

  for (guint i = gst_caps_get_size (caps); i-- > 0;) {
    if (gst_caps_features_contains (
            gst_caps_get_features (caps, i), GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY))
      chosen = i;
  }
  GstCaps *fixed = gst_caps_copy_nth (caps, chosen);
  gst_caps_unref (caps);
  return GST_BASE_SRC_CLASS (gst_opencl_src_parent_class)->fixate (base, fixed);
}

static void
set_rate (GstOpenCLSrc *self, GstCaps *caps)
{
  gint numerator = 0, denominator = 1;

  gst_structure_get_fraction (
      gst_caps_get_structure (caps, 0), "framerate", &numerator, &denominator);
  const opencl::ObjectLock lock (self);
  private_of (self)->timeline->set_rate (numerator, denominator);
}

/* Returns num-buffers: 0 or more, or -1 for an endless stream. */
static gint64
count_of_frames (GstOpenCLSrc *self)
{
  const opencl::ObjectLock lock (self);
  return GST_BASE_SRC (self)->num_buffers;
}

static GstClockTime
duration_of (GstOpenCLSrc *self)
{
  const opencl::ObjectLock lock (self);
  const gint frames = GST_BASE_SRC (self)->num_buffers;
  return frames < 0 ? GST_CLOCK_TIME_NONE
                    : private_of (self)->timeline->duration_of (frames);
}

static gboolean
gst_opencl_src_set_caps (GstBaseSrc *base, GstCaps *caps)
{
  GstOpenCLSrc *self = GST_OPENCL_SRC (base);
  GstOpenCLSrcClass *klass = GST_OPENCL_SRC_GET_CLASS (self);
  GstOpenCLSrcPrivate *priv = private_of (self);
  GError *error = nullptr;
  const Streaming streaming (*priv->core);
  const opencl::Busy preparing;

  if (!priv->core->drain_for_caps () || !priv->format.set (klass, self, caps))
    return FALSE;
  set_rate (self, caps);
  const GstClockTime duration = duration_of (self);
  GST_OBJECT_LOCK (self);
  base->segment.duration = duration;
  GST_OBJECT_UNLOCK (self);
  /* FALSE would make the parent class post another error, without a cause. */
  priv->refused = klass->set_format && !klass->set_format (self, caps, &error);
  if (priv->refused)
    priv->core->report (error);
  return TRUE;
}

/* --- allocation --- */

/* A device that works in host memory needs no download. */
static bool
downloads (GstOpenCLSrcPrivate *priv)
{
  return !priv->format.is_device_memory
         && !gst_opencl_context_shares_host_memory (priv->core->context ());
}

static bool
make_device_pool (GstOpenCLSrcPrivate *priv, GstCaps *caps)
{
  GstCaps *on_device = gst_caps_copy (caps);

  gst_caps_set_features_simple (
      on_device, gst_caps_features_new_single (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY));
  opencl::release_pool (&priv->device_pool);
  priv->device_pool =
      priv->core->make_pool (false, on_device, priv->format.size, GST_OPENCL_MIN_BUFFERS);
  gst_caps_unref (on_device);
  return priv->device_pool && gst_buffer_pool_set_active (priv->device_pool, TRUE);
}

/* A download needs a pool of pinned memory and a pool of device memory. */
static gboolean
gst_opencl_src_decide_allocation (GstBaseSrc *base, GstQuery *query)
{
  GstOpenCLSrcPrivate *priv = private_of (base);
  Counting counting (*priv->core);
  const bool host = downloads (priv);
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, nullptr);
  return priv->core->decide_pool (query, caps, priv->format.size, host,
             host ? GST_OPENCL_MIN_BUFFERS : ElementCore::as_needed)
         && (!host || !caps || make_device_pool (priv, caps)); /* none after an error */
}

/* Returns EOS after an error, because the parent class would post another one, without a
 * cause. It goes on without a pool after its error that no caps are possible. */
static GstFlowReturn
gst_opencl_src_alloc (GstPushSrc *push, GstBuffer **buffer)
{
  GstBufferPool *pool = gst_base_src_get_buffer_pool (GST_BASE_SRC (push));
  Counting counting (core_of (push));
  if (!pool)
    return GST_FLOW_EOS;
  GstFlowReturn flow = gst_buffer_pool_acquire_buffer (pool, buffer, nullptr);

  if (flow == GST_FLOW_ERROR)
    core_of (push).report_no_buffer (pool, private_of (push)->format.size);
  gst_object_unref (pool);
  return flow == GST_FLOW_ERROR ? GST_FLOW_EOS : flow;
}

/* --- frames --- */

/* Enqueues a frame into a buffer of device memory. `event` completes with it. */
static bool
enqueue_frame (GstOpenCLSrc *self, GstBuffer *buffer, cl_event *event, GError **error)
{
  GstOpenCLSrcPrivate *priv = private_of (self);
  cl_command_queue queue = priv->core->queue ();
  GstOpenCLFrame frame;

  if (!gst_opencl_frame_map (&frame, priv->format.video (), priv->format.size, buffer,
          queue, GST_MAP_WRITE, error))
    return false;
  const bool enqueued = GST_OPENCL_SRC_GET_CLASS (self)->fill_frame (
      self, priv->timeline->number (), priv->timeline->time (), &frame, queue, error);
  return gst_opencl_frames_unmap (
             queue, nullptr, &frame, event, enqueued ? error : nullptr)
         && enqueued;
}

/* Enqueues a frame and its download into a buffer of pinned host memory. */
static bool
enqueue_download (GstOpenCLSrc *self, GstBuffer *buffer, cl_event *event, GError **error)
{
  GstOpenCLSrcPrivate *priv = private_of (self);
  GstBuffer *on_device = nullptr;
  cl::Event made;

  if (gst_buffer_pool_acquire_buffer (priv->device_pool, &on_device, nullptr)
      != GST_FLOW_OK) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "No device memory for a frame of %" G_GSIZE_FORMAT " bytes", priv->format.size);
    return false;
  }
  const bool enqueued =
      enqueue_frame (self, on_device, &made (), error)
      && gst_opencl_memory_copy_async (gst_buffer_peek_memory (buffer, 0), 0,
          gst_buffer_peek_memory (on_device, 0), 0, priv->format.size, event, error);
  gst_buffer_unref (on_device);
  return enqueued;
}

static GstFlowReturn
gst_opencl_src_fill (GstPushSrc *push, GstBuffer *buffer)
{
  GstOpenCLSrc *self = GST_OPENCL_SRC (push);
  GstOpenCLSrcPrivate *priv = private_of (self);
  GError *error = nullptr;
  cl_event event = nullptr;
  const Streaming streaming (*priv->core);

  if (priv->refused || priv->timeline->is_over ())
    return GST_FLOW_EOS;
  gst_object_sync_values (GST_OBJECT (self), priv->timeline->time ());
  const bool enqueued =
      priv->core->admit (&error)
      && (downloads (priv) ? enqueue_download (self, buffer, &event, &error)
                           : enqueue_frame (self, buffer, &event, &error));
  if (!priv->core->finish (enqueued, event, error))
    return GST_FLOW_EOS; /* GST_FLOW_ERROR would make the parent class post another error */
  priv->timeline->stamp (buffer);
  return GST_FLOW_OK;
}

/* A live source outputs a frame at its timestamp. */
static void
gst_opencl_src_get_times (
    GstBaseSrc *base, GstBuffer *buffer, GstClockTime *start, GstClockTime *end)
{
  *start = *end = GST_CLOCK_TIME_NONE;
  if (!gst_base_src_is_live (base) || !GST_BUFFER_PTS_IS_VALID (buffer))
    return;
  *start = GST_BUFFER_PTS (buffer);
  if (GST_BUFFER_DURATION_IS_VALID (buffer))
    *end = *start + GST_BUFFER_DURATION (buffer);
}

/* --- seeks --- */

static gboolean
gst_opencl_src_is_seekable (GstBaseSrc *base)
{
  return !gst_base_src_is_live (base);
}

/* Recomputes num_buffers_left after a seek: GstBaseSrc would still count the skipped
 * frames. */
static void
update_frames_left (GstOpenCLSrc *self, bool backwards)
{
  const gint64 frames = count_of_frames (self);
  const Timeline &timeline = *private_of (self)->timeline;
  const gint64 next = timeline.number ();

  if (frames < 0)
    return;
  gint64 left = backwards ? (timeline.is_over () ? 0 : next + 1) : frames - next;
  GST_BASE_SRC (self)->num_buffers_left = gint (CLAMP (left, 0, frames));
}

static gboolean
gst_opencl_src_do_seek (GstBaseSrc *base, GstSegment *segment)
{
  GstOpenCLSrc *self = GST_OPENCL_SRC (base);
  GstOpenCLSrcPrivate *priv = private_of (self);
  const bool backwards = segment->rate < 0;
  const GstClockTime duration = duration_of (self);
  Counting counting (*priv->core);

  priv->core->drain ();
  priv->core->reset_failures ();
  segment->time = segment->start;
  if (backwards && GST_CLOCK_TIME_IS_VALID (duration))
    segment->position = MIN (segment->position, duration);
  if (!GST_CLOCK_TIME_IS_VALID (segment->position))
    return FALSE; /* reverse playback from an unknown end */
  GST_OBJECT_LOCK (self);
  priv->timeline->seek (segment->position, backwards);
  GST_OBJECT_UNLOCK (self);
  update_frames_left (self, backwards);
  return TRUE;
}

/* --- queries --- */

static gboolean
answer_latency (GstOpenCLSrc *self, GstQuery *query)
{
  GST_OBJECT_LOCK (self);
  const GstClockTime frame = private_of (self)->timeline->duration_of_a_frame ();
  GST_OBJECT_UNLOCK (self);

  if (!GST_CLOCK_TIME_IS_VALID (frame))
    return FALSE;
  gst_query_set_latency (
      query, gst_base_src_is_live (GST_BASE_SRC (self)), frame, GST_CLOCK_TIME_NONE);
  return TRUE;
}

static gboolean
answer_duration (GstOpenCLSrc *self, GstQuery *query)
{
  const gint64 frames = count_of_frames (self);
  const GstClockTime duration = duration_of (self);
  GstFormat format;

  gst_query_parse_duration (query, &format, nullptr);
  if (format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID (duration))
    gst_query_set_duration (query, format, duration);
  else if (format == GST_FORMAT_DEFAULT && frames >= 0)
    gst_query_set_duration (query, format, frames);
  else
    return FALSE;
  return TRUE;
}

static gboolean
gst_opencl_src_query (GstBaseSrc *base, GstQuery *query)
{
  GstOpenCLSrc *self = GST_OPENCL_SRC (base);

  if (GST_QUERY_TYPE (query) == GST_QUERY_LATENCY && answer_latency (self, query))
    return TRUE;
  if (GST_QUERY_TYPE (query) == GST_QUERY_DURATION && answer_duration (self, query))
    return TRUE;
  return core_of (self).answer_context_query (query)
         || GST_BASE_SRC_CLASS (gst_opencl_src_parent_class)->query (base, query);
}

/* Drains before EOS is sent, so that device errors are reported first. */
static GstPadProbeReturn
drain_at_eos (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  ElementCore &core = core_of (user_data);
  Counting counting (core);

  if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_EOS)
    core.drain ();
  return GST_PAD_PROBE_OK;
}

/* --- the class --- */

static void
gst_opencl_src_finalize (GObject *object)
{
  delete private_of (object)->timeline;
  G_OBJECT_CLASS (gst_opencl_src_parent_class)->finalize (object);
}

static void
gst_opencl_src_class_init (GstOpenCLSrcClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS (klass);
  GstPushSrcClass *push_class = GST_PUSH_SRC_CLASS (klass);

  object_class->finalize = gst_opencl_src_finalize;
  ElementCore::install (object_class);

  GST_ELEMENT_CLASS (klass)->change_state = gst_opencl_src_change_state;
  base_class->fixate = gst_opencl_src_fixate;
  base_class->set_caps = gst_opencl_src_set_caps;
  base_class->decide_allocation = gst_opencl_src_decide_allocation;
  base_class->get_times = gst_opencl_src_get_times;
  base_class->is_seekable = gst_opencl_src_is_seekable;
  base_class->do_seek = gst_opencl_src_do_seek;
  base_class->query = gst_opencl_src_query;
  push_class->alloc = gst_opencl_src_alloc;
  push_class->fill = gst_opencl_src_fill;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_SRC, GstPluginAPIFlags (0));
}

static void
gst_opencl_src_init (GstOpenCLSrc *self)
{
  GstBaseSrc *base = GST_BASE_SRC (self);

  private_of (self)->core = ElementCore::attach (self);
  private_of (self)->timeline = new Timeline;
  gst_base_src_set_format (base, GST_FORMAT_TIME);
  gst_pad_add_probe (GST_BASE_SRC_PAD (base), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      drain_at_eos, self, nullptr);
}

GstOpenCLContext *
gst_opencl_src_get_context (GstOpenCLSrc *src)
{
  g_return_val_if_fail (GST_IS_OPENCL_SRC (src), nullptr);
  return core_of (src).context ();
}

const GstVideoInfo *
gst_opencl_src_get_video_info (GstOpenCLSrc *src)
{
  g_return_val_if_fail (GST_IS_OPENCL_SRC (src), nullptr);
  return private_of (src)->format.video ();
}
