/* A mapped frame for kernels: one cl_mem with its planes and strides
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclmemory.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GstOpenCLFrame:
 * @info: the caps' layout with the offsets and strides that @buffer has; of format
 *   %GST_VIDEO_FORMAT_UNKNOWN, width and height 0, where the caps are not raw video
 * @buffer: the buffer; its owner keeps it until the frame is unmapped
 * @memory: (transfer none): its one memory
 * @data: (type gpointer): the cl_mem
 * @size: bytes of the buffer
 * @n_planes: 1 where the caps are not raw video
 * @offset: where each plane begins, in bytes from the start of @data
 * @stride: bytes from one line of a plane to the next; 0 where the caps are not raw video
 * @access: as mapped
 * @queue: (type gpointer): on which it is used
 *
 * A mapped buffer.
 *
 * Since: 0.2
 */
typedef struct {
  GstVideoInfo info;
  GstBuffer *buffer;
  GstMemory *memory;
  cl_mem data;
  gsize size;
  guint n_planes;
  gsize offset[GST_VIDEO_MAX_PLANES];
  gint stride[GST_VIDEO_MAX_PLANES];
  GstMapFlags access;
  cl_command_queue queue;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING_LARGE];
} GstOpenCLFrame;

/**
 * gst_opencl_frame_map:
 * @frame: (out caller-allocates): the frame
 * @info: (nullable): the caps' layout for raw video; a #GstVideoMeta on @buffer overrides
 *   offsets and strides
 * @size: the least size in bytes where @info is %NULL
 * @buffer: a buffer of one device memory
 * @queue: (type gpointer): the in-order queue that will use it
 * @access: %GST_MAP_READ, %GST_MAP_WRITE or both
 * @error: set with both values when the buffer is shorter than its layout
 *
 * Calls gst_opencl_memory_begin(); commands on @queue may use @frame until it is unmapped.
 *
 * Returns: whether it is mapped
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_frame_map (GstOpenCLFrame *frame,
    const GstVideoInfo *info, gsize size, GstBuffer *buffer, cl_command_queue queue,
    GstMapFlags access, GError **error);

/**
 * gst_opencl_frame_unmap:
 * @frame: a mapped frame
 * @event: (type gpointer) (transfer none): of the last command that used it
 *
 * Others that use the buffer wait for @event from now on. Prefer gst_opencl_frames_finish(),
 * whose event does not wait for kernels of other queues on NVIDIA's driver.
 *
 * Since: 0.2
 */
GST_OPENCL_API void gst_opencl_frame_unmap (GstOpenCLFrame *frame, cl_event event);

/**
 * gst_opencl_frames_finish:
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
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_frames_finish (cl_command_queue queue,
    GstOpenCLFrame *input, GstOpenCLFrame *output, cl_event *event, GError **error);

G_END_DECLS
