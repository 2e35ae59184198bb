/* Statistics of each element: transfers, launches and waits
 *
 * Not installed: for this project's elements and tracer. The base classes count on behalf
 * of other elements.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GstOpenCLStatistics:
 *
 * Counters of one element. A reference keeps them after the element is gone. All
 * functions may be called from any thread.
 */
typedef struct _GstOpenCLStatistics GstOpenCLStatistics;

#define GST_TYPE_OPENCL_STATISTICS (gst_opencl_statistics_get_type ())
/**
 * gst_opencl_statistics_get_type:
 *
 * Returns: the boxed #GType of #GstOpenCLStatistics. A copy is another reference.
 */
GST_OPENCL_API GType gst_opencl_statistics_get_type (void);

/**
 * GstOpenCLCounts:
 * @uploads: transfers from host to device
 * @upload_bytes: bytes transferred from host to device
 * @downloads: transfers from device to host
 * @download_bytes: bytes transferred from device to host
 * @host_waits: times a thread was blocked because it needed data
 * @throttled: times a thread was blocked to limit the frames in flight
 * @launches: kernels enqueued
 *
 * Counters of one element.
 */
typedef struct {
  guint64 uploads;
  guint64 upload_bytes;
  guint64 downloads;
  guint64 download_bytes;
  guint64 host_waits;
  guint64 throttled;
  guint64 launches;
} GstOpenCLCounts;

/**
 * gst_opencl_statistics_of:
 * @element: (nullable): an element, or %NULL for work outside of any element, such as an
 *   application that maps a buffer in its own thread
 *
 * Returns: (transfer none): the statistics of @element, created by the first call. Every
 *   call updates their name to that of the element.
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_of (GstElement *element);

/**
 * gst_opencl_statistics_ref:
 * @stats: statistics
 *
 * Returns: (transfer full): @stats
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_ref (
    GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_unref:
 * @stats: (transfer full): statistics
 *
 * Releases a reference.
 */
GST_OPENCL_API void gst_opencl_statistics_unref (GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_get_name:
 * @stats: statistics
 *
 * Returns: (transfer full): the element's name, or "(application)" for work outside of
 *   any element
 */
GST_OPENCL_API gchar *gst_opencl_statistics_get_name (GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_get_counts:
 * @stats: statistics
 * @counts: (out caller-allocates): the counters now
 *
 * Returns: whether an element that uses OpenCL owns @stats or anything was counted
 */
GST_OPENCL_API gboolean gst_opencl_statistics_get_counts (
    GstOpenCLStatistics *stats, GstOpenCLCounts *counts);

/**
 * gst_opencl_statistics_enter:
 * @stats: (nullable): the statistics that this thread counts for from now on
 *
 * Elements enter their own statistics around their work. The tracer does so for elements
 * that do not use OpenCL.
 *
 * Returns: (transfer none) (nullable): the previous statistics, for
 *   gst_opencl_statistics_leave()
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_enter (
    GstOpenCLStatistics *stats);
GST_OPENCL_API void gst_opencl_statistics_leave (GstOpenCLStatistics *previous);

/**
 * gst_opencl_statistics_mark:
 * @stats: statistics of an element that uses OpenCL, so that the tracer reports it even
 *   when all its counters are 0
 */
GST_OPENCL_API void gst_opencl_statistics_mark (GstOpenCLStatistics *stats);

/**
 * GstOpenCLTime:
 * @kernel: function name of a kernel, or a kind of transfer, such as "(upload)"
 * @layer: layer of a network that launched it, or ""
 * @count: commands measured
 * @time: time that the device worked on all of them
 *
 * Time of one element on the device.
 */
typedef struct {
  const gchar *kernel;
  const gchar *layer;
  guint64 count;
  GstClockTime time;
} GstOpenCLTime;

typedef void (*GstOpenCLTimeFunc) (const GstOpenCLTime *time, gpointer user_data);

/**
 * gst_opencl_statistics_foreach_time:
 * @stats: statistics
 * @func: (scope call): called with each time measured so far, without a lock
 * @user_data: argument of @func
 *
 * Reads the times of an element. There are none unless gst_opencl_profile_enable() was
 * called (profile.hpp).
 */
GST_OPENCL_API void gst_opencl_statistics_foreach_time (
    GstOpenCLStatistics *stats, GstOpenCLTimeFunc func, gpointer user_data);

/* Only for profile.cpp. gst_opencl_statistics_ref_current() returns the statistics that
 * this thread counts for (transfer full). */
GstOpenCLStatistics *gst_opencl_statistics_ref_current (void);
void gst_opencl_statistics_add_time (GstOpenCLStatistics *stats, const gchar *kernel,
    const gchar *layer, GstClockTime time);

/* Count for the element that gst_opencl_statistics_enter() set in this thread. */
GST_OPENCL_API void gst_opencl_count_upload (gsize bytes);
GST_OPENCL_API void gst_opencl_count_download (gsize bytes);
GST_OPENCL_API void gst_opencl_count_host_wait (void);
GST_OPENCL_API void gst_opencl_count_throttled (void);
GST_OPENCL_API void gst_opencl_count_launches (guint launches);

G_END_DECLS
