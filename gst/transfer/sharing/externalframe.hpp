/* Frames in memory that other APIs share with the device: dma_bufs, OpenGL's buffers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

#include <gst/video/video.h>

/* Bytes of an imported buffer */
struct ExternalBytes {
  cl_mem handle;
  gsize whole; /* size of the imported buffer */
  gsize offset;
  gsize size;
};

/* Acquires the bytes from their other users until the returned buffer is freed. It has the
 * layout of the GstVideoMeta of `like`, with `format` unless that is UNKNOWN. `notify` is
 * called as for gst_opencl_memory_new_acquired(). (transfer full) (nullable) */
GstBuffer *acquire_external (GstOpenCLContext *context, const ExternalBytes &bytes,
    GstBuffer *like, GstVideoFormat format, gpointer user_data, GDestroyNotify notify,
    GError **error);

/* Copies a frame to the bytes on the device, and waits until their other users may read
 * them. `event` is as for gst_opencl_buffer_copy_async(). */
bool copy_to_external (GstOpenCLContext *context, const ExternalBytes &bytes,
    GstBuffer *like, GstBuffer *frame, const GstVideoInfo *info, cl_event *event,
    GError **error);
