/* Buffer pool of device memory or pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_BUFFER_POOL (gst_opencl_buffer_pool_get_type ())
GST_OPENCL_API
G_DECLARE_FINAL_TYPE (
    GstOpenCLBufferPool, gst_opencl_buffer_pool, GST, OPENCL_BUFFER_POOL, GstBufferPool)

/**
 * gst_opencl_buffer_pool_new:
 * @context: a context
 *
 * Creates a pool of device memory, with one memory a buffer. For `video/x-raw` caps it
 * supports %GST_BUFFER_POOL_OPTION_VIDEO_META and
 * %GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT. A buffer returns to the pool at once. The next
 * commands that write it wait, on the device, for commands that still read it.
 *
 * Returns: (transfer full): a pool that is not configured yet
 *
 * Since: 0.2
 */
GST_OPENCL_API GstBufferPool *gst_opencl_buffer_pool_new (
    GstOpenCLContext *context) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_host_buffer_pool_new:
 * @context: a context
 *
 * Returns: (transfer full): a pool as gst_opencl_buffer_pool_new() creates, but of pinned
 *   host memory
 *
 * Since: 0.2
 */
GST_OPENCL_API GstBufferPool *gst_opencl_host_buffer_pool_new (
    GstOpenCLContext *context) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_buffer_pool_get_context:
 * @pool: a pool
 *
 * Returns: (transfer none): the context of its memory
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_buffer_pool_get_context (
    GstOpenCLBufferPool *pool);

/**
 * gst_opencl_buffer_pool_is_host:
 * @pool: a pool
 *
 * Returns: whether its memory is pinned host memory
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_buffer_pool_is_host (GstOpenCLBufferPool *pool);

G_END_DECLS
