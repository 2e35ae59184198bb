/* gstreamer-opencl: what this project's own filters ask their base class for
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclfilter.h>

G_BEGIN_DECLS

/* (transfer full) (nullable): a pool of device or pinned memory for buffers of `size`
 * bytes, whose failures, and those to map its memory, `filter` reports. */
GST_OPENCL_API GstBufferPool *gst_opencl_filter_new_pool (
    GstOpenCLFilter *filter, gboolean host, gsize size);

/* (transfer full) (nullable): what is beside the input, in memory of the filter's context:
 * `buffer` itself, or a copy with its layout. Of the streaming thread. */
GST_OPENCL_API GstBuffer *gst_opencl_filter_import (
    GstOpenCLFilter *filter, GstBuffer *buffer, GError **error);

/* (transfer none): where process() enqueues its work, as the base class does */
static inline cl_command_queue
gst_opencl_filter_get_queue (GstOpenCLFilter *filter)
{
  return gst_opencl_context_get_queue (
      gst_opencl_filter_get_context (filter), GST_OPENCL_QUEUE_COMPUTE);
}

G_END_DECLS
