/* Tracer openclstats: logs transfers, kernel launches and waits of each element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>
#include <gst/gsttracer.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_STATS_TRACER (gst_opencl_stats_tracer_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOpenCLStatsTracer, gst_opencl_stats_tracer, GST, OPENCL_STATS_TRACER, GstTracer)

G_END_DECLS
