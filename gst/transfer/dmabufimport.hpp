/* A camera's or decoder's dma_buf as device memory, without a copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl.h>
#include <gst/video/video.h>

/* Whether `buffer` is one dma_buf, whatever its caps say. A picture whose planes have a
 * descriptor each is not one buffer for a device. */
bool is_dma_buf (GstBuffer *buffer);

/* (transfer full) (nullable): a buffer of device memory that is the memory of `input`, in
 * the layout of its GstVideoMeta, of `format` unless that is UNKNOWN. It is read only, and
 * holds `input` until the device has done with it. The dma_buf is imported when it comes for
 * the first time. One that comes again while a frame of it is in use is shared, also if it is
 * in another GstMemory. */
GstBuffer *import_dma_buf (
    GstOpenCLContext *context, GstBuffer *input, GstVideoFormat format, GError **error);
