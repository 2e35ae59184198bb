/* gstreamer-opencl: what the library's own files know of a pool
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "frameowner.hpp"

#include <gst/opencl/gstopenclbufferpool.h>

#include <memory>

namespace opencl {
/* Of `pool` and the memories that it makes from now on. Not for a pool that is in use. */
void pool_reports_to (GstBufferPool *pool, std::shared_ptr<FrameOwner> owner);

/* Whether somebody has been told why `pool` (nullable) has no buffer. */
bool pool_has_reported (GstBufferPool *pool);
} // namespace opencl
