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
    GstMapFlags access, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_frame_unmap:
 * @frame: a mapped frame
 * @event: (type gpointer) (transfer none): of the last command that used it
 *
 * Others that use the buffer wait for @event from now on. Prefer gst_opencl_frames_unmap(),
 * whose event does not wait for kernels of other queues on NVIDIA's driver.
 *
 * Since: 0.2
 */
GST_OPENCL_API void gst_opencl_frame_unmap (GstOpenCLFrame *frame, cl_event event);

G_END_DECLS
