/* Private functions of elements for frames: start a CPU map early, unmap frames after a launch
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>

G_BEGIN_DECLS

/**
 * gst_opencl_memory_prepare_map:
 * @memory: device or pinned host memory
 * @event: (out) (type gpointer) (transfer full) (nullable): event of the transfer, to be
 *   released with clReleaseEvent(); %NULL if no transfer is needed
 * @error: set when a command could not be enqueued
 *
 * Enqueues the transfer that a CPU map for reading needs, after pending writes of
 * @memory. A later map only waits for it. This function does not wait.
 *
 * Returns: %TRUE on success
 */
GST_OPENCL_API gboolean gst_opencl_memory_prepare_map (
    GstMemory *memory, cl_event *event, GError **error);

/**
 * gst_opencl_context_wait:
 * @context: a context
 * @error: (nullable): set when a command failed, or after the timeout
 *
 * Waits for all commands in the calling thread's compute queue, such as the release of
 * memory that another API reads next.
 *
 * Returns: %TRUE on success
 */
GST_OPENCL_API gboolean gst_opencl_context_wait (
    GstOpenCLContext *context, GError **error);

/**
 * gst_opencl_frames_unmap:
 * @queue: (type gpointer): the in-order queue that both were mapped for
 * @input: (nullable): a mapped frame
 * @output: (nullable): a mapped frame
 * @event: (out) (type gpointer) (transfer full): completes with all commands before; to
 *   be released with clReleaseEvent()
 * @error: (nullable): set when the event could not be enqueued
 *
 * Unmaps both frames with one event for all commands since they were mapped. Must also be
 * called if a command could not be enqueued, because those before it use the memory.
 *
 * Returns: %TRUE if the frames are unmapped
 */
GST_OPENCL_API gboolean gst_opencl_frames_unmap (cl_command_queue queue,
    GstOpenCLFrame *input, GstOpenCLFrame *output, cl_event *event, GError **error);

/**
 * gst_opencl_buffer_is_host_visible:
 * @context: a context
 * @buffer: any buffer
 * @info: (nullable): the caps' layout for raw video
 * @any_layout: whether its next user understands #GstVideoMeta
 *
 * If device and host share memory, a frame needs no copy to get from one to the other,
 * unless the next user needs another plane layout.
 *
 * Returns: whether @buffer is one device memory of @context that host and device can use
 * without a copy
 */
GST_OPENCL_API gboolean gst_opencl_buffer_is_host_visible (GstOpenCLContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, gboolean any_layout);

G_END_DECLS
