/* An OpenCL event with its last known status
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "trackedevent.hpp"

#include "timeout.hpp"

#include <glib.h>

namespace opencl {
/* For who waits with a limit of time, which the wait itself does not do. */
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
  /* Weak, so that a thread keeps no event; while it lives, no other has its handle. */
  static thread_local std::weak_ptr<State> latest;

  if (!event)
    return;
  state = latest.lock ();
  if (state && state->event () == event)
    return;
  state = std::make_shared<State> ();
  state->event = cl::Event (event);
  if (clRetainEvent (event)
      != CL_SUCCESS) { /* cannot be kept, so it has to be over now */
    flush_queue_of (event);
    wait ();
    state->event () = nullptr; /* is not released */
  }
  latest = state;
}

/* Returns the code of the question. */
cl_int
TrackedEvent::ask (cl_int *answer) const
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
  if (is_known_to_be_over ())
    return last_status ();
  cl_int now;
  ask (&now);
  return now;
}

/* NVIDIA's driver calls a wait a success also when the command failed, so how it ended is
 * asked after it. Where waiting itself fails, asking again and again is as good; where
 * asking fails too, some tries tell a moment's trouble from a driver that is done for. */
cl_int
TrackedEvent::wait () const
{
  constexpr gulong pause = 1000; /* µs */
  constexpr int tries = 10;

  for (int failures = 0; !is_known_to_be_over ();) {
    cl_int waited = wait_with_timeout (state->event ());
    if (waited == no_answer)
      return no_answer;
    cl_int now;
    cl_int asked = ask (&now);
    if (now <= CL_COMPLETE)
      break;
    if (asked != CL_SUCCESS && ++failures == tries) {
      if (waited == CL_SUCCESS)
        state->seen = asked; /* over, with unknown result */
      return asked;
    }
    g_usleep (pause);
  }
  return last_status ();
}
} // namespace opencl
