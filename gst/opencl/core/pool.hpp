/* Private functions of buffer pools
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "storage.hpp"

#include <gst/opencl/gstopenclbufferpool.h>

#include <memory>

namespace opencl {
/* Queries and pool configurations have 32 bits for a size. G_MAXUINT in them means the
 * larger size that the pool was created for. GstBufferPool does not reuse such buffers,
 * because their size differs from the configuration. */
inline guint
size_in_config (gsize size)
{
  return guint (MIN (size, gsize (G_MAXUINT)));
}

/* Returns whether buffers of `pool`, an OpenCL pool, are configured with `size` bytes or
 * more. */
bool pool_holds (GstBufferPool *pool, gsize size);

/* Sets the owner of `pool` and of the memories that it allocates from now on. The pool
 * must not be in use. */
void pool_reports_to (GstBufferPool *pool, std::shared_ptr<FrameOwner> owner);

/* Returns whether `pool` (nullable) itself reports why it has no buffer. */
bool pool_has_reported (GstBufferPool *pool);
} // namespace opencl

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
