/* Private functions of buffer pools
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclbufferpool.h>

G_BEGIN_DECLS

/**
 * GST_OPENCL_MIN_BUFFERS:
 *
 * Minimum number of buffers with which upload, compute and download overlap: one buffer
 * is written, one is processed and one is read. A buffer returns to its pool while the
 * device still reads it, and the next writer waits for that. A pool allocates buffers on
 * demand. It reuses none before it has allocated the `min_buffers` of its configuration.
 */
#define GST_OPENCL_MIN_BUFFERS 3

/**
 * gst_opencl_buffer_pool_new_configured:
 * @context: a context
 * @host: pinned host memory instead of device memory
 * @caps: (nullable): caps of the buffers
 * @size: size of a buffer in bytes, raised to the size of a frame of @caps
 *
 * A configuration has 32 bits for a size. If @size is larger, %G_MAXUINT in the
 * configuration means @size.
 *
 * Returns: (transfer full) (nullable): a configured, inactive pool with at least
 *   %GST_OPENCL_MIN_BUFFERS buffers, which adds #GstVideoMeta if @caps are raw video;
 *   %NULL if @caps are invalid
 */
GST_OPENCL_API GstBufferPool *gst_opencl_buffer_pool_new_configured (
    GstOpenCLContext *context, gboolean host, GstCaps *caps, gsize size);

G_END_DECLS
