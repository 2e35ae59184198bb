/* Tracer openclstats: logs transfers, kernel launches and waits of each element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:tracer-openclstats
 * @title: openclstats
 *
 * Logs the counters of every element that used OpenCL when the program ends. Elements
 * without OpenCL code appear if they map device memory for the CPU. Work in threads of
 * the application appears as "(application)".
 *
 * |[
 * GST_TRACERS=openclstats GST_DEBUG=GST_TRACER:7 gst-launch-1.0 videotestsrc \
 *   num-buffers=10 ! video/x-raw,format=GRAY8 ! openclupload ! opencldownload ! fakesink
 * ]|
 */
#include "openclstatstracer.h"

#include <gst/gsttracerrecord.h>
#include <gst/opencl/opencl-private.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

namespace {
/* Elements are added from any thread. */
struct StatisticsList {
  std::mutex lock;
  std::vector<GstOpenCLStatistics *> statistics; /* owned */
};

/* Statistics for which this thread counted before each push in progress */
thread_local std::vector<GstOpenCLStatistics *> interrupted;
} // namespace

struct _GstOpenCLStatsTracer {
  GstTracer parent;
  GstTracerRecord *record;
  StatisticsList *known;
};

G_DEFINE_FINAL_TYPE (GstOpenCLStatsTracer, gst_opencl_stats_tracer, GST_TYPE_TRACER)

static void
remember (GstOpenCLStatsTracer *self, GstElement *element)
{
  GstOpenCLStatistics *statistics = gst_opencl_statistics_of (element);
  std::lock_guard<std::mutex> guard (self->known->lock);
  auto &known = self->known->statistics;

  if (std::find (known.begin (), known.end (), statistics) == known.end ())
    known.push_back (gst_opencl_statistics_ref (statistics));
}

static void
on_element_new (GObject *tracer, GstClockTime time, GstElement *element)
{
  remember (GST_OPENCL_STATS_TRACER (tracer), element);
}

/* The hook element-new does not report elements of GstVideoAggregator 1.22. */
static void
on_add_pad (GObject *tracer, GstClockTime time, GstElement *element, GstPad *pad)
{
  remember (GST_OPENCL_STATS_TRACER (tracer), element);
}

/* Returns the element of the peer of `pad`. GStreamer 1.26 calls the hook of events while
 * this thread holds the lock of the pad, older versions do not. While the pad is locked,
 * its peer stays linked. If another thread holds the lock, the peer is read without it.
 * (transfer full) (nullable) */
static GstElement *
get_peer_element (GstPad *pad)
{
  const bool locked_here = g_mutex_trylock (GST_OBJECT_GET_LOCK (pad));
  GstPad *peer = GST_PAD_PEER (pad);
  GstObject *parent = peer ? GST_OBJECT_PARENT (peer) : nullptr;
  GstElement *element =
      GST_IS_ELEMENT (parent) ? GST_ELEMENT (gst_object_ref (parent)) : nullptr;

  if (locked_here)
    GST_OBJECT_UNLOCK (pad);
  return element;
}

/* From here on, the thread counts for the element of the peer of `pad`. */
static void
enter_peer (GstPad *pad)
{
  GstElement *element = get_peer_element (pad);

  interrupted.push_back (gst_opencl_statistics_enter (
      element ? gst_opencl_statistics_of (element) : nullptr));
  gst_clear_object (&element);
}

/* Returns the statistics for which the thread counted before. (nullable) */
static GstOpenCLStatistics *
pop_interrupted ()
{
  if (interrupted.empty ())
    return nullptr; /* the push began before the tracer did */
  GstOpenCLStatistics *previous = interrupted.back ();
  interrupted.pop_back ();
  return previous;
}

/* The streaming thread of a source or a queue works for that element, although nothing
 * was pushed into it. */
static GstOpenCLStatistics *
statistics_of_pusher (GstPad *pad)
{
  GstElement *element = gst_pad_get_parent_element (pad);
  GstOpenCLStatistics *statistics =
      element ? gst_opencl_statistics_of (element) : nullptr;
  gst_clear_object (&element);
  return statistics;
}

static void
on_push (GObject *tracer, GstClockTime time, GstPad *pad, gpointer data)
{
  enter_peer (pad);
}

static void
on_pushed_buffers (GObject *tracer, GstClockTime time, GstPad *pad, gint result)
{
  GstOpenCLStatistics *previous = pop_interrupted ();
  gst_opencl_statistics_leave (previous ? previous : statistics_of_pusher (pad));
}

/* Applications push events, too. Their threads then count for the application again. */
static void
on_pushed_event (GObject *tracer, GstClockTime time, GstPad *pad, gboolean result)
{
  gst_opencl_statistics_leave (pop_interrupted ());
}

struct Hook {
  const gchar *name;
  GCallback function;
};

static const Hook hooks[] = {
    {"element-new", G_CALLBACK (on_element_new)},
    {"element-add-pad", G_CALLBACK (on_add_pad)},
    {"pad-push-pre", G_CALLBACK (on_push)},
    {"pad-push-post", G_CALLBACK (on_pushed_buffers)},
    {"pad-push-list-pre", G_CALLBACK (on_push)},
    {"pad-push-list-post", G_CALLBACK (on_pushed_buffers)},
    {"pad-push-event-pre", G_CALLBACK (on_push)},
    {"pad-push-event-post", G_CALLBACK (on_pushed_event)},
};

static GstStructure *
counter_field (const gchar *description)
{
  return gst_structure_new ("value", "type", G_TYPE_GTYPE, G_TYPE_UINT64, "description",
      G_TYPE_STRING, description, "min", G_TYPE_UINT64, G_GUINT64_CONSTANT (0), "max",
      G_TYPE_UINT64, G_MAXUINT64, nullptr);
}

static GstTracerRecord *
new_record ()
{
  return gst_tracer_record_new ("openclstats.class", "element", GST_TYPE_STRUCTURE,
      gst_structure_new ("scope", "type", G_TYPE_GTYPE, G_TYPE_STRING, "related-to",
          GST_TYPE_TRACER_VALUE_SCOPE, GST_TRACER_VALUE_SCOPE_ELEMENT, nullptr),
      "uploads", GST_TYPE_STRUCTURE, counter_field ("host to device transfers"),
      "upload-bytes", GST_TYPE_STRUCTURE, counter_field ("bytes uploaded"), "downloads",
      GST_TYPE_STRUCTURE, counter_field ("device to host transfers"), "download-bytes",
      GST_TYPE_STRUCTURE, counter_field ("bytes downloaded"), "host-waits",
      GST_TYPE_STRUCTURE, counter_field ("times a thread was blocked to wait for data"),
      "throttled", GST_TYPE_STRUCTURE,
      counter_field ("times a thread was blocked to limit frames in flight"), "launches",
      GST_TYPE_STRUCTURE, counter_field ("kernels enqueued"), nullptr);
}

/* The record does not quote strings. Names with other characters than letters and digits
 * must be quoted, so that the log can be parsed. */
static gchar *
dup_quoted_name (GstOpenCLStatistics *statistics)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, G_TYPE_STRING);
  g_value_take_string (&value, gst_opencl_statistics_get_name (statistics));
  gchar *quoted = gst_value_serialize (&value);
  g_value_unset (&value);
  return quoted;
}

static void
log_counts (GstOpenCLStatsTracer *self, GstOpenCLStatistics *statistics)
{
  GstOpenCLCounts counts;
  if (!gst_opencl_statistics_get_counts (statistics, &counts))
    return;
  gchar *name = dup_quoted_name (statistics);
  gst_tracer_record_log (self->record, name, counts.uploads, counts.upload_bytes,
      counts.downloads, counts.download_bytes, counts.host_waits, counts.throttled,
      counts.launches);
  g_free (name);
}

static void
gst_opencl_stats_tracer_finalize (GObject *object)
{
  GstOpenCLStatsTracer *self = GST_OPENCL_STATS_TRACER (object);

  for (GstOpenCLStatistics *statistics : self->known->statistics) {
    log_counts (self, statistics);
    gst_opencl_statistics_unref (statistics);
  }
  delete self->known;
  gst_object_unref (self->record);
  G_OBJECT_CLASS (gst_opencl_stats_tracer_parent_class)->finalize (object);
}

static void
gst_opencl_stats_tracer_class_init (GstOpenCLStatsTracerClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_opencl_stats_tracer_finalize;
}

static void
gst_opencl_stats_tracer_init (GstOpenCLStatsTracer *self)
{
  self->known = new StatisticsList;
  self->record = new_record ();
  remember (self, nullptr); /* counts outside of elements */
  for (const Hook &hook : hooks)
    gst_tracing_register_hook (GST_TRACER (self), hook.name, hook.function);
}
