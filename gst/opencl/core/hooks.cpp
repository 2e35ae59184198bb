/* Hooks of drivers/: builds of programs, launches, and trust in engines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "hooks.hpp"

#include <gst/opencl/core/profile.hpp>

#include <utility>

namespace opencl {
DriverHooks &
driver_hooks ()
{
  static DriverHooks hooks; /* exists when the files of drivers/ are initialised */
  return hooks;
}

static thread_local const std::atomic<bool> *compile_only = nullptr;

const std::atomic<bool> *
set_compile_only (const std::atomic<bool> *cancelled)
{
  return std::exchange (compile_only, cancelled);
}

bool
compiles_only ()
{
  return compile_only != nullptr;
}

cl_int
enqueue_or_compile (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const gsize *offset, const gsize *global, const gsize *local, cl_uint n_events,
    const cl_event *events, cl_event *event)
{
  const Busy launching;
  if (compiles_only () && driver_hooks ().before_launch)
    driver_hooks ().before_launch (kernel, dimensions, local, *compile_only);
  /* VkFFT fills the tables of a plan by launches on its own queue: these must run. */
  if (compiles_only () && !queue)
    return CL_SUCCESS;
  return clEnqueueNDRangeKernel (queue, kernel, dimensions, offset, global, local,
      n_events, events, Profiled (queue, kernel, event, dimensions, local));
}
} // namespace opencl
