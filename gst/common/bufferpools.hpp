/* Buffer pools of downstream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* Returns the active pool (transfer full, nullable) that downstream of a source pad offers
 * for buffers of `bytes` bytes. */
GstBufferPool *find_downstream_pool (GstPad *pad, GstCaps *caps, gsize bytes);

/* Deactivates a pool (nullable) and drops it. */
void release_pool (GstBufferPool **pool);

/* Takes a buffer of `bytes` bytes from a pool (nullable), or allocates one without it. */
GstFlowReturn acquire_buffer (GstBufferPool *pool, gsize bytes, GstBuffer **buffer);
} // namespace opencl
