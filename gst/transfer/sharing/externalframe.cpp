/* Frames in memory that other APIs share with the device: dma_bufs, OpenGL's buffers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "externalframe.hpp"

#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclexternal.h>
#include <gst/video/gstvideometa.h>

GstBuffer *
acquire_external (GstOpenCLContext *context, const ExternalBytes &bytes, GstBuffer *like,
    GstVideoFormat format, gpointer user_data, GDestroyNotify notify, GError **error)
{
  GstMemory *memory = gst_opencl_memory_new_acquired (
      context, bytes.handle, bytes.whole, user_data, notify, error);
  if (!memory)
    return nullptr;
  gst_memory_resize (memory, bytes.offset, bytes.size);

  GstBuffer *frame = gst_buffer_new ();
  gst_buffer_append_memory (frame, memory);
  if (GstVideoMeta *meta = gst_buffer_get_video_meta (like))
    gst_buffer_add_video_meta_full (frame, meta->flags,
        format == GST_VIDEO_FORMAT_UNKNOWN ? meta->format : format, meta->width,
        meta->height, meta->n_planes, meta->offset, meta->stride);
  return frame;
}

bool
copy_to_external (GstOpenCLContext *context, const ExternalBytes &bytes, GstBuffer *like,
    GstBuffer *frame, const GstVideoInfo *info, cl_event *event, GError **error)
{
  GstBuffer *target = acquire_external (
      context, bytes, like, GST_VIDEO_FORMAT_UNKNOWN, nullptr, nullptr, error);
  if (!target)
    return false;
  const bool copied =
      gst_opencl_buffer_copy_async (context, target, frame, info, event, error);
  gst_buffer_unref (target); /* enqueues the release */
  return gst_opencl_context_wait (context, copied ? error : nullptr) && copied;
}
