/* Private C++ functions of buffer pools
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "frameowner.hpp"

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
