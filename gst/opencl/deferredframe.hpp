/* gstreamer-opencl: which frame deferred work makes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "bufferlayout.hpp"
#include "gstopencldeferred.h"

namespace opencl {
/* That `deferred` makes all of `made`, a frame of `caps`; `info` (nullable) is of raw
 * video. False where the buffer is not as its caps say. */
bool describe_deferred (GstOpenCLDeferred *deferred, GstCaps *caps,
    const GstVideoInfo *info, GstBuffer *made);

/* Whether `buffer`, a frame of `caps`, is all of what it makes, and nothing else. */
bool is_frame_of (GstOpenCLDeferred *deferred, GstCaps *caps, const GstVideoInfo *info,
    GstBuffer *buffer);

/* In an ALLOCATION query: such work is taken up. */
GType deferral_api_type (const GstOpenCLDeferral *deferral);
} // namespace opencl
