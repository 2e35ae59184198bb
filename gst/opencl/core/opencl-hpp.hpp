/* OpenCL's C++ bindings, for RAII inside the library
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>

#include "gstopenclcheck.h"

namespace opencl {
/* Result of a wait that exceeded GST_OPENCL_TIMEOUT (no OpenCL error code) */
constexpr cl_int timed_out = -99999;

/* Returns a wrapper with its own reference to an object of another owner, or an empty
 * wrapper if the driver refuses it. A copied wrapper would not report that, and would
 * release a reference that it does not hold. Therefore move wrappers, or share them by
 * std::shared_ptr. */
template <typename Wrapper>
Wrapper
retained (typename Wrapper::cl_type object, GError **error)
{
  using Handler = cl::detail::ReferenceHandler<typename Wrapper::cl_type>;
  return gst_opencl_check (Handler::retain (object), "clRetain", error) ? Wrapper (object)
                                                                        : Wrapper ();
}

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
