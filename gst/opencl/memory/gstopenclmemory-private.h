/* Private functions of memory, frames and buffers
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclframe.h>

G_BEGIN_DECLS

/**
 * gst_opencl_memory_prepare_map:
 * @memory: device or pinned host memory
 * @event: (out) (type gpointer) (transfer full) (nullable): of what was enqueued, to be
 *   given to clReleaseEvent(); %NULL where nothing is to be done
 * @error: set when a command could not be enqueued
 *
 * Enqueues, behind what writes @memory, what an ordinary map for reading would enqueue,
 * so that the map only waits for it. Waits for nothing.
 *
 * Returns: whether it is enqueued
 */
GST_OPENCL_API gboolean gst_opencl_memory_prepare_map (
    GstMemory *memory, cl_event *event, GError **error);

/**
 * gst_opencl_memory_invalidate:
 * @memory: device or pinned host memory
 *
 * Declares the contents undefined, so that nothing is transferred to keep them. Pools do
 * so when a buffer comes back.
 */
GST_OPENCL_API void gst_opencl_memory_invalidate (GstMemory *memory);

/**
 * gst_opencl_frames_unmap:
 * @queue: (type gpointer): the in-order queue that both were mapped for
 * @input: (nullable): a mapped frame
 * @output: (nullable): a mapped frame
 * @event: (out) (type gpointer) (transfer full): of all commands before, to be given to
 *   clReleaseEvent()
 * @error: (nullable): set when the event could not be enqueued
 *
 * Unmaps both frames with one event for all that was enqueued between them. To be called
 * also when enqueueing failed half way, since what was enqueued uses the memory.
 *
 * Returns: whether they are unmapped
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
 * Where device and host work in the same memory, a frame of device memory needs no copy
 * to be a frame of host memory, nor the other way round, unless its planes have to stand
 * elsewhere.
 *
 * Returns: whether @buffer is one device memory of @context, usable on the host and on
 * the device as it is
 */
GST_OPENCL_API gboolean gst_opencl_buffer_is_host_visible (GstOpenCLContext *context,
    GstBuffer *buffer, const GstVideoInfo *info, gboolean any_layout);

G_END_DECLS
