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
 * bytes. `filter` reports failed allocations and failed maps. */
GST_OPENCL_API GstBufferPool *gst_opencl_filter_new_pool (
    GstOpenCLFilter *filter, gboolean host, gsize size);

/* (transfer full) (nullable): `buffer`, an additional input, in memory of the filter's
 * context: itself, or a copy with the same layout. Streaming thread only. */
GST_OPENCL_API GstBuffer *gst_opencl_filter_import (
    GstOpenCLFilter *filter, GstBuffer *buffer, GError **error);

/* Waits for the frames in flight, before @filter sends its remaining frames at EOS.
 * Returns FALSE if it must send nothing, because a device error of any element in the
 * pipeline has ended the stream. */
GST_OPENCL_API gboolean gst_opencl_filter_drain (GstOpenCLFilter *filter);

/* Pushes a remaining frame at EOS. Takes ownership of @buffer. */
GST_OPENCL_API GstFlowReturn gst_opencl_filter_push (
    GstOpenCLFilter *filter, GstBuffer *buffer);

/* Sets how many input frames an output needs. If frames have arrived until EOS and none was
 * output, a WARNING names this number. */
GST_OPENCL_API void gst_opencl_filter_set_group (GstOpenCLFilter *filter, guint frames);

/* Checks whether @buffer is a frame of @info (nullable), or has @size bytes. If not, it has
 * to be dropped: posts a WARNING and returns GST_FLOW_CUSTOM_SUCCESS, or posts an error and
 * returns GST_FLOW_ERROR for the tenth such frame of its stream in a row. */
GST_OPENCL_API GstFlowReturn gst_opencl_check_frame (GstElement *element,
    GstBuffer *buffer, const GstVideoInfo *info, gsize size, guint *n_in_a_row);

/* Name of the event that goes downstream in place of such a frame of the main stream. The
 * next frame has the flag DISCONT. */
#define GST_OPENCL_LOST_FRAME "GstOpenCLLostFrame"

/* (transfer none): the queue that the base class and process() enqueue on: the compute
 * queue of the streaming thread. The element must be open. */
GST_OPENCL_API cl_command_queue gst_opencl_filter_get_queue (GstOpenCLFilter *filter);

/* Returns whether the pipeline is live, from a latency query to upstream. Streaming
 * thread only. */
GST_OPENCL_API gboolean gst_opencl_filter_is_live (GstOpenCLFilter *filter);

G_END_DECLS
