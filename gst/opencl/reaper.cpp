/* gstreamer-opencl: a thread that lets go of host memory once a transfer has read it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "reaper.hpp"

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
Reaper::release_after (cl::Event event, GDestroyNotify notify, gpointer user_data)
{
  {
    std::lock_guard<std::mutex> guard (state->lock);
    state->entries.push_back ({std::move (event), notify, user_data});
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
    entry.event.wait (); /* a failure is reported by the element that enqueued it */
    entry.event = cl::Event ();
    entry.notify (entry.user_data);
    guard.lock ();
  }
}
} // namespace opencl
