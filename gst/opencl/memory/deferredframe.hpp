/* gstreamer-opencl: which frame deferred work makes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "planelayout.hpp"
#include "gstopencldeferred.h"
#include <gst/opencl/context/threadqueues.hpp>

namespace opencl {
/* That `deferred` makes all of `made`, a frame of `caps`; `info` (nullable) is of raw
 * video. False where the buffer is not as its caps say. */
bool describe_deferred (GstOpenCLDeferred *deferred, GstCaps *caps,
    const GstVideoInfo *info, GstBuffer *made);

/* Whether `buffer`, a frame of `caps`, is all of what it makes, and nothing else. */
bool is_frame_of (GstOpenCLDeferred *deferred, GstCaps *caps, const GstVideoInfo *info,
    GstBuffer *buffer);

/* Sets the queues of the element that deferred the work, which order its access to memory of
 * that element. */
void set_deferred_queues (
    GstOpenCLDeferred *deferred, std::shared_ptr<ElementQueues> queues);
/* (nullable): unset */
std::shared_ptr<ElementQueues> queues_of_deferred (GstOpenCLDeferred *deferred);

} // namespace opencl
