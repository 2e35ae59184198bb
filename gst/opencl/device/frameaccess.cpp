/* Access of elements to frames: CPU maps ahead of time, and the end of a launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "frameaccess.h"

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/core/events.hpp>
#include <gst/opencl/core/frame.hpp>
#include <gst/opencl/core/memory.hpp>
#include <gst/opencl/gstopenclmemory.h>

gboolean
gst_opencl_memory_prepare_map (GstMemory *memory, cl_event *event, GError **error)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), FALSE);
  g_return_val_if_fail (event != nullptr, FALSE);

  opencl::TrackedEvent enqueued;
  if (!opencl::storage_of (memory).prepare_map (enqueued, error))
    return FALSE;
  *event = enqueued ();
  if (!*event || clRetainEvent (*event) == CL_SUCCESS)
    return TRUE;
  *event = nullptr; /* no reference for the caller, so wait here */
  return gst_opencl_check (enqueued.wait (), "clEnqueueMapBuffer", error);
}

gboolean
gst_opencl_context_wait (GstOpenCLContext *context, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), FALSE);

  gst_opencl_count_host_wait ();
  return gst_opencl_check (
      opencl::finish_with_timeout (
          gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE)),
      "clFinish", error);
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

/* Returns whether the layout is that of the caps, so that GstVideoMeta is not needed. */
static bool
has_default_layout (GstBuffer *buffer, const GstVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  for (guint p = 0; meta && p < meta->n_planes; p++) {
    if (meta->offset[p] != GST_VIDEO_INFO_PLANE_OFFSET (info, p)
        || meta->stride[p] != GST_VIDEO_INFO_PLANE_STRIDE (info, p))
      return false;
  }
  return gst_buffer_get_size (buffer) == GST_VIDEO_INFO_SIZE (info);
}

gboolean
gst_opencl_buffer_is_host_visible (GstOpenCLContext *context, GstBuffer *buffer,
    const GstVideoInfo *info, gboolean any_layout)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), FALSE);

  if (!gst_opencl_context_shares_host_memory (context)
      || gst_buffer_n_memory (buffer) != 1)
    return FALSE;
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  if (!gst_is_opencl_memory (memory) || !opencl::is_in_context (memory, context))
    return FALSE;
  opencl::PlaneLayouts layout;
  return !info
         || (opencl::layout_of (buffer, info, layout, nullptr)
             && (any_layout || has_default_layout (buffer, info)));
}
