/* Counts transfers, launches and waits for the current element
 *
 * Not installed: for this project's elements and tracer. An element elsewhere has a base
 * class that counts for it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclstatistics.h>

G_BEGIN_DECLS

/**
 * gst_opencl_statistics_enter:
 * @stats: (nullable): whom to count for in this thread from now on
 *
 * Elements enter their own statistics around their work; the tracer does so for elements
 * that know nothing of OpenCL.
 *
 * Returns: (transfer none) (nullable): to be given to gst_opencl_statistics_leave()
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

/* Count for the element that gst_opencl_statistics_enter() set in this thread. */
GST_OPENCL_API void gst_opencl_count_upload (gsize bytes);
GST_OPENCL_API void gst_opencl_count_download (gsize bytes);
GST_OPENCL_API void gst_opencl_count_host_wait (void);
GST_OPENCL_API void gst_opencl_count_throttled (void);
GST_OPENCL_API void gst_opencl_count_launches (guint launches);

G_END_DECLS
