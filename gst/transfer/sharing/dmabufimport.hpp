/* Imports dma_bufs as device memory: those of a camera or decoder, or of a display
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

#include <gst/video/video.h>

/* Returns true if `buffer` is a single dma_buf, whatever its caps. Frames with one
 * descriptor per plane cannot be imported as one buffer. */
bool is_dma_buf (GstBuffer *buffer);

/* Returns a read-only buffer of device memory that shares the memory of `input`. It has
 * the layout of `input`'s GstVideoMeta, with `format` unless that is UNKNOWN. It keeps
 * `input` until the device has finished. Each dma_buf is imported once: frames that use
 * it at the same time share the import, even in different GstMemory. (transfer full)
 * (nullable) */
GstBuffer *import_dma_buf (
    GstOpenCLContext *context, GstBuffer *input, GstVideoFormat format, GError **error);

/* Copies a frame to the dma_buf `output` on the device, in the layout of its GstVideoMeta,
 * and waits until others may read it. `event` is as for gst_opencl_buffer_copy_async(). */
bool copy_to_dma_buf (GstOpenCLContext *context, GstBuffer *output, GstBuffer *frame,
    const GstVideoInfo *info, cl_event *event, GError **error);
