/* gstreamer-opencl: an event, and what is known of how far it is
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "trackedevent.hpp"

namespace opencl {
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
  state->event = cl::Event (event, true);
  latest = state;
}

cl_int
TrackedEvent::status () const
{
  if (is_known_to_be_over ())
    return last_status ();
  cl_int now = CL_COMPLETE; /* nobody waits for an event that cannot be asked */
  state->event.getInfo (CL_EVENT_COMMAND_EXECUTION_STATUS, &now);
  state->seen = now;
  return now;
}

cl_int
TrackedEvent::wait () const
{
  if (is_known_to_be_over ())
    return status ();
  state->event.wait (); /* NVIDIA's driver calls it a success also when it failed */
  return status ();
}
} // namespace opencl
