/* Functions of a buffer pool that only the library uses
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "frameowner.hpp"

#include <gst/opencl/gstopenclbufferpool.h>

#include <memory>

namespace opencl {
/* Where a query or a configuration has room for 32 bits: a pool that was made for more takes
 * the most that there is for that. Its buffers are not used again, as GstBufferPool takes
 * them for others'. */
inline guint
size_in_config (gsize size)
{
  return guint (MIN (size, gsize (G_MAXUINT)));
}

/* As it is configured, of an OpenCL pool. */
bool pool_holds (GstBufferPool *pool, gsize size);

/* Sets the owner of `pool` and of the memories that it allocates from now on. The pool must
 * not be in use. */
void pool_reports_to (GstBufferPool *pool, std::shared_ptr<FrameOwner> owner);

/* Returns whether the reason why `pool` (nullable) has no buffer was reported. */
bool pool_has_reported (GstBufferPool *pool);
} // namespace opencl
