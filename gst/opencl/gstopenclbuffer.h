/* Copies of whole buffers between host and device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * gst_opencl_buffer_copy_async:
 * @context: the context of @destination
 * @destination: a buffer with one memory, device memory or pinned host memory of
 *   @context's cl_context
 * @source: any buffer: of device memory, pinned host memory, memory of another context,
 *   or memory that a CPU can map. The copy keeps a reference while it reads it
 * @info: (nullable): the layout of raw video caps: planes are copied row by row if
 *   strides differ. %NULL copies the bytes unchanged
 * @event: (out) (type gpointer) (transfer full) (nullable): the event of the last
 *   command, to be released with clReleaseEvent(); %NULL if the copy is already finished
 * @error: set if a copy could not be enqueued, or if @destination has other memory. Set
 *   with both sizes if @source is shorter than @info needs or longer than @destination
 *
 * Does not wait, except in two cases: both buffers are on the host or in different
 * contexts, or large frames of pageable memory arrive faster than a discrete GPU uploads
 * them (throttled). Does not copy timestamps and metas.
 *
 * Returns: whether the copy is finished or enqueued
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_buffer_copy_async (GstOpenCLContext *context,
    GstBuffer *destination, GstBuffer *source, const GstVideoInfo *info, cl_event *event,
    GError **error);

/**
 * gst_opencl_buffer_get_handle:
 * @buffer: any buffer
 * @handle: (out) (type gpointer) (transfer none): its cl_mem, valid as long as its memory
 * @offset: (out) (optional): offset of its bytes in @handle
 *
 * Gets the cl_mem that a map with %GST_MAP_OPENCL gives, for languages that know only
 * GStreamer's own map flags. Does not synchronise: enqueue commands on @handle between
 * gst_opencl_memory_begin() and gst_opencl_memory_end() of the buffer's one memory.
 *
 * Returns: whether @buffer has exactly one memory, which is device memory. Otherwise
 *   nothing is set
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_buffer_get_handle (
    GstBuffer *buffer, cl_mem *handle, gsize *offset);

G_END_DECLS
