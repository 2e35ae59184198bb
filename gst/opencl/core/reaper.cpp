/* Thread that releases host memory after a transfer has read it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "reaper.hpp"

#include <gst/opencl/base/gstopenclcheck.h>

namespace opencl {
Reaper::Reaper () : state (std::make_shared<State> ()), thread (run, state)
{
}

Reaper::~Reaper ()
{
  {
    std::lock_guard<std::mutex> guard (state->lock);
    state->stopping = true;
  }
  state->changed.notify_one ();
  if (std::this_thread::get_id () == thread.get_id ())
    thread.detach ();
  else
    thread.join ();
}

void
Reaper::release_after (cl_event event, GDestroyNotify notify, gpointer user_data)
{
  {
    std::lock_guard<std::mutex> guard (state->lock);
    state->entries.push_back ({TrackedEvent (event), notify, user_data});
  }
  state->changed.notify_one ();
}

void
Reaper::run (std::shared_ptr<State> state)
{
  std::unique_lock<std::mutex> guard (state->lock);
  for (;;) {
    state->changed.wait (
        guard, [&state] { return state->stopping || !state->entries.empty (); });
    if (state->entries.empty ())
      return;
    Entry entry = std::move (state->entries.front ());
    state->entries.pop_front ();
    guard.unlock ();
    cl_int status =
        entry.event.wait (); /* the thread that enqueued it reports a failure */
    if (entry.event.is_known_complete ())
      entry.notify (entry.user_data);
    else
      GST_ERROR ("memory is not freed, because the device may still use it: %s (%d)",
          gst_opencl_error_name (status), status);
    guard.lock ();
  }
}
} // namespace opencl
