/* The frame that deferred work fills
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "planelayout.hpp"
#include <gst/opencl/base/gstopencldeferred.h>
#include <gst/opencl/core/threadqueues.hpp>

namespace opencl {
/* Records that `deferred` fills all of `made`, a frame of `caps`. `info` is NULL unless
 * the caps are raw video. Returns false if the buffer does not fit its caps. */
bool describe_deferred (GstOpenCLDeferred *deferred, GstCaps *caps,
    const GstVideoInfo *info, GstBuffer *made);

/* Returns whether `buffer`, a frame of `caps`, is exactly the frame that `deferred`
 * fills. */
bool is_frame_of (GstOpenCLDeferred *deferred, GstCaps *caps, const GstVideoInfo *info,
    GstBuffer *buffer);

/* Sets the queues of the element that deferred the work, which order its access to memory
 * of that element. */
void set_deferred_queues (
    GstOpenCLDeferred *deferred, std::shared_ptr<ElementQueues> queues);
/* (nullable): NULL if they are not set */
std::shared_ptr<ElementQueues> queues_of_deferred (GstOpenCLDeferred *deferred);

} // namespace opencl
