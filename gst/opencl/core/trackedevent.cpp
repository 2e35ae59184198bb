/* OpenCL event with its last known status
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "trackedevent.hpp"

#include "timeout.hpp"

#include <glib.h>

namespace opencl {
/* A wait with a timeout polls the event, which does not flush the queue. */
static void
flush_queue_of (cl_event event)
{
  cl_command_queue queue = nullptr;
  if (clGetEventInfo (event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr)
          == CL_SUCCESS
      && queue)
    clFlush (queue);
}

TrackedEvent::TrackedEvent (cl_event event)
{
  /* Weak, so that a thread does not keep the event. A living event's handle is unique. */
  static thread_local std::weak_ptr<State> latest;

  if (!event)
    return;
  state = latest.lock ();
  if (state && state->event () == event)
    return;
  state = std::make_shared<State> ();
  state->event = cl::Event (event);
  if (clRetainEvent (event) != CL_SUCCESS) { /* cannot be kept, so it must be over now */
    flush_queue_of (event);
    wait ();
    state->event () = nullptr; /* is not released */
  }
  latest = state;
}

/* Queries the driver and returns the code of the query. On failure, `answer` is the last
 * known status. */
cl_int
TrackedEvent::query (cl_int *answer) const
{
  cl_int now;
  cl_int code = state->event.getInfo (CL_EVENT_COMMAND_EXECUTION_STATUS, &now);
  if (code == CL_SUCCESS)
    state->seen = now;
  *answer = state->seen;
  return code;
}

cl_int
TrackedEvent::status () const
{
  if (is_known_complete ())
    return last_status ();
  cl_int now;
  query (&now);
  return now;
}

/* NVIDIA's driver returns success when it has waited for a command that failed. Therefore
 * this queries the status after the wait. If waiting fails, this polls the status
 * instead. If queries fail too, several tries tell a temporary failure from a broken
 * driver. */
cl_int
TrackedEvent::wait () const
{
  constexpr gulong pause = 1000; /* µs */
  constexpr int tries = 10;

  for (int failures = 0; !is_known_complete ();) {
    cl_int waited = wait_with_timeout (state->event ());
    if (waited == timed_out)
      return timed_out;
    cl_int now;
    cl_int query_code = query (&now);
    if (now <= CL_COMPLETE)
      break;
    if (query_code != CL_SUCCESS && ++failures == tries) {
      if (waited == CL_SUCCESS)
        state->seen = query_code; /* over, with unknown result */
      return query_code;
    }
    g_usleep (pause);
  }
  return last_status ();
}
} // namespace opencl
