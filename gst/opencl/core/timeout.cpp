/* Waits for a device, with an optional timeout
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "timeout.hpp"

#include <gst/opencl/core/busy.hpp>
#include <gst/opencl/base/endofqueue.hpp>
#include <gst/opencl/base/gstopenclcontext-private.hpp>

#include <algorithm>

namespace opencl {
namespace {
/* Returns the timeout in µs (0 = none). */
gint64
timeout ()
{
  static const gint64 microseconds = [] {
    const gchar *value = g_getenv ("GST_OPENCL_TIMEOUT");
    const gdouble seconds = value ? g_ascii_strtod (value, nullptr) : 0;
    return seconds > 0 && seconds < 1e9 ? gint64 (seconds * G_TIME_SPAN_SECOND) : 0;
  }();
  return microseconds;
}

cl_context
context_of (cl_event event)
{
  cl_context context = nullptr;
  clGetEventInfo (event, CL_EVENT_CONTEXT, sizeof context, &context, nullptr);
  return context;
}

/* OpenCL has no wait with a timeout, so this polls the event. A device that was given up
 * once is not waited for again. */
cl_int
poll_until_complete (cl_event event, gint64 limit)
{
  constexpr gulong shortest = 20, longest = 500; /* µs */
  const cl_context context = context_of (event);
  const gint64 end =
      g_get_monotonic_time () + (gst_opencl_context_was_given_up (context) ? 0 : limit);

  for (gulong pause = shortest;; pause = std::min (2 * pause, longest)) {
    cl_int state = CL_COMPLETE;
    cl_int code = clGetEventInfo (
        event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (code != CL_SUCCESS || state <= CL_COMPLETE)
      return code;
    if (g_get_monotonic_time () >= end)
      break;
    g_usleep (pause);
  }
  gst_opencl_context_give_up (context);
  return timed_out;
}
} // namespace

cl_int
wait_with_timeout (cl_event event)
{
  const gint64 limit = timeout ();
  const Busy waiting;
  return limit > 0 ? poll_until_complete (event, limit) : clWaitForEvents (1, &event);
}

cl_int
finish_with_timeout (cl_command_queue queue)
{
  const Busy waiting;
  if (timeout () == 0)
    return clFinish (queue);
  cl_event last = nullptr;
  cl_int code = enqueue_end (queue, &last);
  if (code != CL_SUCCESS)
    return code;
  clFlush (queue);
  code = wait_with_timeout (last);
  clReleaseEvent (last);
  return code;
}
} // namespace opencl
