/* Imports the dma_buf of a camera or decoder as device memory, without a copy
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
