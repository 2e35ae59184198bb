/* Statistics of each element: transfers, launches and waits
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GstOpenCLStatistics:
 *
 * Counters of one element. They live as long as the element or as a reference to them,
 * so that they can be read after it is gone. All functions may be called from any thread.
 *
 * Since: 0.2
 */
typedef struct _GstOpenCLStatistics GstOpenCLStatistics;

#define GST_TYPE_OPENCL_STATISTICS (gst_opencl_statistics_get_type ())
/**
 * gst_opencl_statistics_get_type:
 *
 * Returns: the boxed #GType of #GstOpenCLStatistics, of which a copy is another reference
 *
 * Since: 0.2
 */
GST_OPENCL_API GType gst_opencl_statistics_get_type (void);

/**
 * GstOpenCLCounts:
 * @uploads: host to device transfers
 * @upload_bytes: their bytes
 * @downloads: device to host transfers
 * @download_bytes: their bytes
 * @host_waits: times a thread was blocked because it needed data
 * @throttled: times a thread was blocked to bound how far the host runs ahead
 * @launches: kernels enqueued
 *
 * Counters of one element.
 *
 * Since: 0.2
 */
typedef struct {
  guint64 uploads;
  guint64 upload_bytes;
  guint64 downloads;
  guint64 download_bytes;
  guint64 host_waits;
  guint64 throttled;
  guint64 launches;

  /*< private >*/
  guint64 _gst_reserved[GST_PADDING_LARGE];
} GstOpenCLCounts;

/**
 * gst_opencl_statistics_of:
 * @element: (nullable): an element, or %NULL for what runs outside of any element (an
 *   application that maps a buffer in its own thread)
 *
 * Returns: (transfer none): the statistics of @element, made at the first call. Calling
 *   it again takes up a changed name of the element.
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_of (GstElement *element);

/**
 * gst_opencl_statistics_ref:
 * @stats: statistics
 *
 * Returns: (transfer full): @stats
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLStatistics *gst_opencl_statistics_ref (
    GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_unref:
 * @stats: (transfer full): statistics
 *
 * Gives a reference back.
 *
 * Since: 0.2
 */
GST_OPENCL_API void gst_opencl_statistics_unref (GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_get_name:
 * @stats: statistics
 *
 * Returns: (transfer full): the element's name, "(application)" for those of no element
 *
 * Since: 0.2
 */
GST_OPENCL_API gchar *gst_opencl_statistics_get_name (GstOpenCLStatistics *stats);

/**
 * gst_opencl_statistics_get_counts:
 * @stats: statistics
 * @counts: (out caller-allocates): the counters now
 *
 * Returns: whether an element that uses OpenCL owns @stats or anything was counted
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_statistics_get_counts (
    GstOpenCLStatistics *stats, GstOpenCLCounts *counts);

G_END_DECLS
