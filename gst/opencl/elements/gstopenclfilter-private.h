/* Private functions of the filter base class
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

/* Waits for the frames in flight, before @filter sends what it still has at EOS. FALSE where
 * a device error has ended the stream, here or in another element of the pipeline: then it
 * sends nothing. */
GST_OPENCL_API gboolean gst_opencl_filter_drain (GstOpenCLFilter *filter);

/* (transfer none): the queue that the base class and process() enqueue on: the compute
 * queue of the streaming thread. The element is open. */
GST_OPENCL_API cl_command_queue gst_opencl_filter_get_queue (GstOpenCLFilter *filter);

/* Whether the pipeline is live, as upstream answers a latency query. Of the streaming thread. */
GST_OPENCL_API gboolean gst_opencl_filter_is_live (GstOpenCLFilter *filter);

G_END_DECLS
