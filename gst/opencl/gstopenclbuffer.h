/* Copies of whole buffers between host and device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * gst_opencl_buffer_copy_async:
 * @context: the context of @destination
 * @destination: a buffer of one device memory or one pinned host memory of @context's
 *   cl_context
 * @source: any buffer: device memory, pinned host memory, memory of another context, or
 *   whatever a CPU can map. Kept as long as the copy reads it
 * @info: (nullable): the caps' layout for raw video: planes are copied line by line where
 *   strides differ. %NULL copies the bytes as they are
 * @event: (out) (type gpointer) (transfer full) (nullable): of the last command, to be
 *   given to clReleaseEvent(); %NULL where nothing was left to do asynchronously
 * @error: set when a copy could not be enqueued, when @destination is of other memory, or
 *   with both sizes when @source is shorter than @info needs or longer than @destination
 *
 * Waits for nothing, unless both ends are on the host or in different contexts, or large
 * frames of ordinary memory come faster than a discrete GPU takes them (throttled).
 * Timestamps and metas are left to the caller.
 *
 * Returns: whether the copy is done or under way
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
 * @offset: (out) (optional): where its bytes begin in @handle
 *
 * Returns what a map with %GST_MAP_OPENCL gives, for languages that know only GStreamer's own
 * map flags. Does not synchronise: enqueue commands on @handle between
 * gst_opencl_memory_begin() and gst_opencl_memory_end() of the buffer's one memory.
 *
 * Returns: whether @buffer is one device memory; of any other nothing is set
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_buffer_get_handle (
    GstBuffer *buffer, cl_mem *handle, gsize *offset);

G_END_DECLS
