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
 *
 * With the parameter `profile=true`, it also measures how long the device works on each
 * kernel, upload, download, copy, fill and map. When the program ends, it prints a table
 * of these times to stderr, and logs a record `opencl-profile` for each row.
 *
 * |[
 * GST_TRACERS="openclstats(profile=true)" gst-launch-1.0 videotestsrc num-buffers=10 ! \
 *   openclupload ! chromakey ! opencldownload ! fakesink
 * ]|
 *
 * While the pipeline runs, each element posts its times as element messages named
 * `opencl-profile`: once a second, at EOS, and on the way to READY. A message is posted
 * for each kernel that ran since the last one. Its fields are totals:
 *
 * * #gchararray `kernel`: function name of the kernel, or "(upload)", "(download)",
 *   "(copy)", "(fill)", "(map)" or "(unmap)"
 * * #gchararray `layer`: layer of a neural network, or ""
 * * #guint64 `count`: commands measured
 * * #guint64 `time-ns`: time of the device for all of them
 * * #gchararray `group`: work-group size of the last one, such as "256x1x1", or ""
 * * #guint64 `local-memory`: local memory of a work-group in bytes
 * * #guint64 `bytes`, #guint64 `flop`: bytes of inputs and outputs, and floating-point
 *   operations, or 0
 *
 * With `memory-rate` in GB/s and `arithmetic-rate` in GFLOP/s, the table has the share of
 * the device's rates that each kernel reaches.
 */
#include "elements.h"

#include "profilereport.hpp"

#include <gst/gsttracer.h>
#include <gst/gsttracerrecord.h>
#include <gst/opencl/core/profile.hpp>

#include <algorithm>
#include <mutex>
#include <string>
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

#define GST_TYPE_OPENCL_STATS_TRACER (gst_opencl_stats_tracer_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOpenCLStatsTracer, gst_opencl_stats_tracer, GST, OPENCL_STATS_TRACER, GstTracer)

struct _GstOpenCLStatsTracer {
  GstTracer parent;
  GstTracerRecord *record;
  StatisticsList *known;
  /* NULL without the parameter profile=true */
  GstTracerRecord *profile_record;
  transfer::ProfileMessages *profile_messages;
  transfer::DeviceRates rates;
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

/* Every element that works in a streaming thread pushes, or is pushed into. */
static void
post_times (GstOpenCLStatsTracer *self, GstPad *pad, GstClockTime now)
{
  for (GstElement *element : {get_peer_element (pad), gst_pad_get_parent_element (pad)}) {
    if (element)
      self->profile_messages->post_if_due (element, now);
    gst_clear_object (&element);
  }
}

static void
on_pushed_buffers (GObject *tracer, GstClockTime time, GstPad *pad, gint result)
{
  GstOpenCLStatsTracer *self = GST_OPENCL_STATS_TRACER (tracer);
  GstOpenCLStatistics *previous = pop_interrupted ();
  gst_opencl_statistics_leave (previous ? previous : statistics_of_pusher (pad));
  if (self->profile_messages)
    post_times (self, pad, time);
}

/* Applications push events, too. Their threads then count for the application again. */
static void
on_pushed_event (GObject *tracer, GstClockTime time, GstPad *pad, gboolean result)
{
  gst_opencl_statistics_leave (pop_interrupted ());
}

/* A sink posts EOS after the elements upstream have finished their frames. */
static void
on_message (GObject *tracer, GstClockTime time, GstElement *element, GstMessage *message)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS)
    GST_OPENCL_STATS_TRACER (tracer)->profile_messages->finish_pipeline_of (
        GST_OBJECT (element));
}

static void
on_changed_state (GObject *tracer, GstClockTime time, GstElement *element,
    GstStateChange change, GstStateChangeReturn result)
{
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY)
    GST_OPENCL_STATS_TRACER (tracer)->profile_messages->finish (element);
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

static const Hook profile_hooks[] = {
    {"element-post-message-pre", G_CALLBACK (on_message)},
    {"element-change-state-post", G_CALLBACK (on_changed_state)},
};

static GstStructure *
counter_field (const gchar *description)
{
  return gst_structure_new ("value", "type", G_TYPE_GTYPE, G_TYPE_UINT64, "description",
      G_TYPE_STRING, description, "min", G_TYPE_UINT64, G_GUINT64_CONSTANT (0), "max",
      G_TYPE_UINT64, G_MAXUINT64, nullptr);
}

static GstStructure *
element_field ()
{
  return gst_structure_new ("scope", "type", G_TYPE_GTYPE, G_TYPE_STRING, "related-to",
      GST_TYPE_TRACER_VALUE_SCOPE, GST_TRACER_VALUE_SCOPE_ELEMENT, nullptr);
}

static GstStructure *
text_field (const gchar *description)
{
  return gst_structure_new ("value", "type", G_TYPE_GTYPE, G_TYPE_STRING, "description",
      G_TYPE_STRING, description, nullptr);
}

static GstTracerRecord *
new_profile_record ()
{
  return gst_tracer_record_new ("opencl-profile.class", "element", GST_TYPE_STRUCTURE,
      element_field (), "kernel", GST_TYPE_STRUCTURE,
      text_field ("function name of a kernel, or kind of transfer"), "layer",
      GST_TYPE_STRUCTURE, text_field ("layer of a neural network"), "count",
      GST_TYPE_STRUCTURE, counter_field ("commands measured"), "time-ns",
      GST_TYPE_STRUCTURE, counter_field ("time of the device for all of them"), "group",
      GST_TYPE_STRUCTURE, text_field ("work-group size of the last one"), "local-memory",
      GST_TYPE_STRUCTURE, counter_field ("local memory of a work-group in bytes"),
      "bytes", GST_TYPE_STRUCTURE, counter_field ("bytes of inputs and outputs"), "flop",
      GST_TYPE_STRUCTURE, counter_field ("floating-point operations"), nullptr);
}

static GstTracerRecord *
new_record ()
{
  return gst_tracer_record_new ("openclstats.class", "element", GST_TYPE_STRUCTURE,
      element_field (), "uploads", GST_TYPE_STRUCTURE,
      counter_field ("host to device transfers"), "upload-bytes", GST_TYPE_STRUCTURE,
      counter_field ("bytes uploaded"), "downloads", GST_TYPE_STRUCTURE,
      counter_field ("device to host transfers"), "download-bytes", GST_TYPE_STRUCTURE,
      counter_field ("bytes downloaded"), "host-waits", GST_TYPE_STRUCTURE,
      counter_field ("times a thread was blocked to wait for data"), "throttled",
      GST_TYPE_STRUCTURE,
      counter_field ("times a thread was blocked to limit frames in flight"), "launches",
      GST_TYPE_STRUCTURE, counter_field ("kernels enqueued"), nullptr);
}

/* The record does not quote strings. Names with other characters than letters and digits
 * must be quoted, so that the log can be parsed. */
static std::string
quoted (const gchar *name)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, G_TYPE_STRING);
  g_value_set_string (&value, name);
  gchar *serialized = gst_value_serialize (&value);
  const std::string text = serialized;
  g_free (serialized);
  g_value_unset (&value);
  return text;
}

static void
log_counts (GstOpenCLStatsTracer *self, GstOpenCLStatistics *statistics)
{
  GstOpenCLCounts counts;
  if (!gst_opencl_statistics_get_counts (statistics, &counts))
    return;
  gchar *name = gst_opencl_statistics_get_name (statistics);
  gst_tracer_record_log (self->record, quoted (name).c_str (), counts.uploads,
      counts.upload_bytes, counts.downloads, counts.download_bytes, counts.host_waits,
      counts.throttled, counts.launches);
  g_free (name);
}

/* --- profile --- */

/* Returns a field that is any number, or 0. */
static double
number_of (const GstStructure *structure, const char *field)
{
  const GValue *given = gst_structure_get_value (structure, field);
  GValue number = G_VALUE_INIT;
  g_value_init (&number, G_TYPE_DOUBLE);
  return given && g_value_transform (given, &number) ? g_value_get_double (&number) : 0;
}

/* Parameters are the fields of a structure, as those of GStreamer's own tracers. */
static bool
wants_profile (GstOpenCLStatsTracer *self)
{
  gchar *parameters = nullptr;
  gboolean wanted = FALSE;

  g_object_get (self, "params", &parameters, nullptr);
  if (parameters) {
    const std::string text = std::string ("openclstats,") + parameters;
    GstStructure *structure = gst_structure_from_string (text.c_str (), nullptr);
    if (structure) {
      self->rates.memory = number_of (structure, "memory-rate");
      self->rates.arithmetic = number_of (structure, "arithmetic-rate");
    }
    if (!structure || !gst_structure_get_boolean (structure, "profile", &wanted))
      GST_WARNING_OBJECT (self,
          "ignoring the parameters \"%s\": expected profile=true or profile=false",
          parameters);
    g_clear_pointer (&structure, gst_structure_free);
  }
  g_free (parameters);
  return wanted;
}

static void
start_profile (GstOpenCLStatsTracer *self)
{
  self->profile_record = new_profile_record ();
  self->profile_messages = new transfer::ProfileMessages;
  for (const Hook &hook : profile_hooks)
    gst_tracing_register_hook (GST_TRACER (self), hook.name, hook.function);
  gst_opencl_profile_enable ();
}

static void
report_profile (GstOpenCLStatsTracer *self)
{
  gst_opencl_profile_finish (nullptr);
  const auto rows = transfer::rows_of (self->known->statistics);
  for (const transfer::TimeRow &row : rows)
    gst_tracer_record_log (self->profile_record, quoted (row.element.c_str ()).c_str (),
        quoted (row.kernel.c_str ()).c_str (), quoted (row.layer.c_str ()).c_str (),
        row.count, row.time, quoted (row.group.c_str ()).c_str (), row.local_memory,
        guint64 (row.bytes), guint64 (row.flop));
  g_printerr ("%s", transfer::table_of (rows, self->rates).c_str ());
  if (const guint64 missed = gst_opencl_profile_get_n_missed ())
    g_printerr ("openclstats: %" G_GUINT64_FORMAT " commands were not measured, because "
                "they failed, did not end, or were too many at once\n",
        missed);
}

static void
end_profile (GstOpenCLStatsTracer *self)
{
  report_profile (self);
  delete self->profile_messages;
  gst_object_unref (self->profile_record);
}

static void
gst_opencl_stats_tracer_finalize (GObject *object)
{
  GstOpenCLStatsTracer *self = GST_OPENCL_STATS_TRACER (object);

  if (self->profile_messages)
    end_profile (self);
  for (GstOpenCLStatistics *statistics : self->known->statistics) {
    log_counts (self, statistics);
    gst_opencl_statistics_unref (statistics);
  }
  delete self->known;
  gst_object_unref (self->record);
  G_OBJECT_CLASS (gst_opencl_stats_tracer_parent_class)->finalize (object);
}

static void
gst_opencl_stats_tracer_constructed (GObject *object)
{
  GstOpenCLStatsTracer *self = GST_OPENCL_STATS_TRACER (object);

  G_OBJECT_CLASS (gst_opencl_stats_tracer_parent_class)->constructed (object);
  if (wants_profile (self))
    start_profile (self);
}

static void
gst_opencl_stats_tracer_class_init (GstOpenCLStatsTracerClass *klass)
{
  G_OBJECT_CLASS (klass)->constructed = gst_opencl_stats_tracer_constructed;
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
