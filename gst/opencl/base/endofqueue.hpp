/* Event for the end of all commands enqueued so far
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/opencl-hpp.hpp>

namespace opencl {
/* Enqueues a barrier, whose event completes after all commands enqueued on `queue` so
 * far. On NVIDIA's driver, the event of a kernel or a marker completes only after kernels
 * that other queues began before, and takes longer to enqueue. event: (out) (transfer
 * full) */
inline cl_int
enqueue_end (cl_command_queue queue, cl_event *event)
{
  return clEnqueueBarrierWithWaitList (queue, 0, nullptr, event);
}

inline bool
enqueue_end (cl_command_queue queue, cl_event *event, GError **error)
{
  return gst_opencl_check (
      enqueue_end (queue, event), "clEnqueueBarrierWithWaitList", error);
}
} // namespace opencl
