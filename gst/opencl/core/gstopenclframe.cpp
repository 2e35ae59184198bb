/* A mapped frame for kernels: one cl_mem with its planes and strides
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/gstopenclframe.h>

#include "planelayout.hpp"
#include <gst/opencl/base/endofqueue.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/gstopenclmemory-private.h>

static gboolean
find_planes (GstOpenCLFrame *frame, const GstVideoInfo *info, gsize size, GError **error)
{
  opencl::PlaneLayouts layout;
  gsize start = gst_opencl_memory_get_offset (frame->memory);

  if (!info) {
    frame->n_planes = 1;
    frame->offset[0] = start;
    return opencl::is_long_enough (frame->buffer, size, error);
  }
  if (!opencl::layout_of (frame->buffer, info, layout, error))
    return FALSE;
  frame->info = *info;
  frame->n_planes = layout.n_planes;
  for (guint p = 0; p < layout.n_planes; p++) {
    const opencl::PlaneLayout &plane = layout.planes[p];
    frame->offset[p] = start + plane.offset;
    frame->stride[p] = gint (plane.stride);
    frame->info.offset[p] = plane.offset;
    frame->info.stride[p] = gint (plane.stride);
  }
  return TRUE;
}

gboolean
gst_opencl_frame_map (GstOpenCLFrame *frame, const GstVideoInfo *info, gsize size,
    GstBuffer *buffer, cl_command_queue queue, GstMapFlags access, GError **error)
{
  g_return_val_if_fail (frame != nullptr, FALSE);
  g_return_val_if_fail (GST_IS_BUFFER (buffer), FALSE);

  *frame = GstOpenCLFrame ();
  gst_video_info_init (&frame->info);
  GstMemory *memory =
      gst_buffer_n_memory (buffer) == 1 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  if (!gst_is_opencl_memory (memory)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A frame has %u memories of type %s, expected one of "
        "type " GST_OPENCL_MEMORY_NAME,
        gst_buffer_n_memory (buffer), memory ? memory->allocator->mem_type : "various");
    return FALSE;
  }
  frame->buffer = buffer;
  frame->memory = memory;
  frame->data = gst_opencl_memory_get_handle (memory);
  frame->size = gst_buffer_get_size (buffer);
  frame->access = access;
  frame->queue = queue;
  return find_planes (frame, info, size, error)
         && gst_opencl_memory_begin (memory, queue, access, error);
}

void
gst_opencl_frame_unmap (GstOpenCLFrame *frame, cl_event event)
{
  g_return_if_fail (frame != nullptr && frame->memory != nullptr);
  gst_opencl_memory_end (frame->memory, frame->queue, frame->access, event);
  frame->memory = nullptr;
}

gboolean
gst_opencl_frames_unmap (cl_command_queue queue, GstOpenCLFrame *input,
    GstOpenCLFrame *output, cl_event *event, GError **error)
{
  if (!opencl::enqueue_end (queue, event, error))
    return FALSE;
  clFlush (queue);
  if (input)
    gst_opencl_frame_unmap (input, *event);
  if (output)
    gst_opencl_frame_unmap (output, *event);
  return TRUE;
}
