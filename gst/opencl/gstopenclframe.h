/* Mapped frame for kernels: one cl_mem with its planes and strides
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GstOpenCLFrame:
 * @info: the layout of the caps, with the offsets and strides of @buffer. If the caps are
 *   not raw video, its format is %GST_VIDEO_FORMAT_UNKNOWN, and width and height are 0
 * @buffer: the buffer, which the caller keeps until the frame is unmapped
 * @memory: (transfer none): its one memory
 * @data: (type gpointer): the cl_mem
 * @size: bytes of the buffer
 * @n_planes: number of planes; 1 if the caps are not raw video
 * @offset: start of each plane in @data, in bytes
 * @stride: stride of each plane in bytes; 0 if the caps are not raw video
 * @access: the access that it is mapped for
 * @queue: (type gpointer): the queue that uses it
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
 * @info: (nullable): the layout of raw video caps; a #GstVideoMeta on @buffer overrides
 *   offsets and strides
 * @size: the minimum size in bytes if @info is %NULL
 * @buffer: a buffer of one device memory
 * @queue: (type gpointer): the in-order queue that will use it
 * @access: %GST_MAP_READ, %GST_MAP_WRITE or both
 * @error: set if the buffer is shorter than its layout, with both sizes
 *
 * Calls gst_opencl_memory_begin(). Commands on @queue may use @frame until it is
 * unmapped.
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
 * @event: (type gpointer) (transfer none): the event of the last command that used it
 *
 * Later users of the buffer wait for @event. Prefer the event of a barrier: on NVIDIA's
 * driver, the event of a kernel also waits for kernels of other queues.
 *
 * Since: 0.2
 */
GST_OPENCL_API void gst_opencl_frame_unmap (GstOpenCLFrame *frame, cl_event event);

G_END_DECLS
