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
 * GST_OPENCL_BUFFERS_IN_TURN:
 *
 * The least buffers of a pool for work on different queues to overlap: a buffer returns at
 * once, and the next writer waits for those who still read it, so one is read, one is
 * worked on and one is written. A pool makes buffers when they are wanted, and so many
 * before it uses one again: the `min_buffers` of its configuration.
 */
#define GST_OPENCL_BUFFERS_IN_TURN 3

/**
 * gst_opencl_buffer_pool_new_configured:
 * @context: a context
 * @host: pinned host memory instead of device memory
 * @caps: (nullable): of the buffers
 * @size: in bytes; raised to what @caps need
 *
 * Returns: (transfer full) (nullable): a configured pool that is not active yet, of
 *   %GST_OPENCL_BUFFERS_IN_TURN buffers or more, with #GstVideoMeta where @caps are raw
 *   video; %NULL where @caps are invalid. A configuration has room for 32 bits of a size:
 *   its most stands there for a @size that is more.
 */
GST_OPENCL_API GstBufferPool *gst_opencl_buffer_pool_new_configured (
    GstOpenCLContext *context, gboolean host, GstCaps *caps, gsize size);

G_END_DECLS
