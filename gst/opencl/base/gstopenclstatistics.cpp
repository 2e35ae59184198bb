/* Statistics of each element: transfers, launches and waits
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclstatistics.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace {
struct Time {
  guint64 count = 0;
  GstClockTime time = 0;
};

/* By kernel and layer */
using Times = std::map<std::pair<std::string, std::string>, Time>;
} // namespace

struct _GstOpenCLStatistics {
  std::atomic<int> references{1};
  std::mutex lock; /* protects name and times */
  std::string name;
  Times times;
  std::atomic<bool> used{false};
  std::atomic<guint64> uploads{0};
  std::atomic<guint64> upload_bytes{0};
  std::atomic<guint64> downloads{0};
  std::atomic<guint64> download_bytes{0};
  std::atomic<guint64> host_waits{0};
  std::atomic<guint64> throttled{0};
  std::atomic<guint64> launches{0};
};

namespace {
/* Statistics that this thread counts for, or null for those of the application */
thread_local GstOpenCLStatistics *current = nullptr;

GstOpenCLStatistics *
statistics_of_no_element ()
{
  static GstOpenCLStatistics *application = [] {
    auto *stats = new GstOpenCLStatistics;
    stats->name = "(application)";
    return stats;
  }();
  return application;
}

GstOpenCLStatistics *
counted ()
{
  GstOpenCLStatistics *stats = current ? current : statistics_of_no_element ();
  stats->used = true;
  return stats;
}

GQuark
statistics_quark ()
{
  return g_quark_from_static_string ("gst-opencl-statistics");
}

/* Two threads may call this for the same element at once. */
GstOpenCLStatistics *
find_or_attach (GstElement *element)
{
  GObject *object = G_OBJECT (element);
  auto *stats = static_cast<GstOpenCLStatistics *> (
      g_object_get_qdata (object, statistics_quark ()));
  if (stats)
    return stats;

  auto *fresh = new GstOpenCLStatistics;
  GDestroyNotify unref = [] (gpointer data) {
    gst_opencl_statistics_unref (static_cast<GstOpenCLStatistics *> (data));
  };
  if (g_object_replace_qdata (
          object, statistics_quark (), nullptr, fresh, unref, nullptr))
    return fresh;
  delete fresh;
  return static_cast<GstOpenCLStatistics *> (
      g_object_get_qdata (object, statistics_quark ()));
}
} // namespace

GstOpenCLStatistics *
gst_opencl_statistics_of (GstElement *element)
{
  if (!element)
    return statistics_of_no_element ();

  GstOpenCLStatistics *stats = find_or_attach (element);
  gchar *name = gst_object_get_name (GST_OBJECT (element));
  std::lock_guard<std::mutex> guard (stats->lock);
  stats->name = name ? name : "";
  g_free (name);
  return stats;
}

G_DEFINE_BOXED_TYPE (GstOpenCLStatistics, gst_opencl_statistics,
    gst_opencl_statistics_ref, gst_opencl_statistics_unref)

GstOpenCLStatistics *
gst_opencl_statistics_ref (GstOpenCLStatistics *stats)
{
  stats->references++;
  return stats;
}

void
gst_opencl_statistics_unref (GstOpenCLStatistics *stats)
{
  if (--stats->references == 0)
    delete stats;
}

gchar *
gst_opencl_statistics_get_name (GstOpenCLStatistics *stats)
{
  std::lock_guard<std::mutex> guard (stats->lock);
  return g_strdup (stats->name.c_str ());
}

gboolean
gst_opencl_statistics_get_counts (GstOpenCLStatistics *stats, GstOpenCLCounts *counts)
{
  *counts = GstOpenCLCounts ();
  counts->uploads = stats->uploads;
  counts->upload_bytes = stats->upload_bytes;
  counts->downloads = stats->downloads;
  counts->download_bytes = stats->download_bytes;
  counts->host_waits = stats->host_waits;
  counts->throttled = stats->throttled;
  counts->launches = stats->launches;
  return stats->used;
}

GstOpenCLStatistics *
gst_opencl_statistics_enter (GstOpenCLStatistics *stats)
{
  GstOpenCLStatistics *previous = current;
  current = stats;
  return previous;
}

void
gst_opencl_statistics_leave (GstOpenCLStatistics *previous)
{
  current = previous;
}

void
gst_opencl_statistics_mark (GstOpenCLStatistics *stats)
{
  stats->used = true;
}

GstOpenCLStatistics *
gst_opencl_statistics_ref_current (void)
{
  return gst_opencl_statistics_ref (current ? current : statistics_of_no_element ());
}

void
gst_opencl_statistics_add_time (GstOpenCLStatistics *stats, const gchar *kernel,
    const gchar *layer, GstClockTime time)
{
  std::lock_guard<std::mutex> guard (stats->lock);
  Time &sum = stats->times[{kernel, layer}];
  sum.count++;
  sum.time += time;
}

void
gst_opencl_statistics_foreach_time (
    GstOpenCLStatistics *stats, GstOpenCLTimeFunc func, gpointer user_data)
{
  std::unique_lock<std::mutex> guard (stats->lock);
  const Times times = stats->times;
  guard.unlock ();
  for (const auto &[what, sum] : times) {
    const GstOpenCLTime time = {
        what.first.c_str (), what.second.c_str (), sum.count, sum.time};
    func (&time, user_data);
  }
}

void
gst_opencl_count_upload (gsize bytes)
{
  GstOpenCLStatistics *stats = counted ();
  stats->uploads++;
  stats->upload_bytes += bytes;
}

void
gst_opencl_count_download (gsize bytes)
{
  GstOpenCLStatistics *stats = counted ();
  stats->downloads++;
  stats->download_bytes += bytes;
}

void
gst_opencl_count_host_wait (void)
{
  counted ()->host_waits++;
}

void
gst_opencl_count_throttled (void)
{
  counted ()->throttled++;
}

void
gst_opencl_count_launches (guint launches)
{
  counted ()->launches += launches;
}
