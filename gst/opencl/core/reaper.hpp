/* Thread that releases host memory after a transfer has read it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "trackedevent.hpp"

#include <glib.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace opencl {
/* Replaces event callbacks: OpenCL forbids blocking calls in them, and `notify` may free
 * OpenCL objects. */
class Reaper {
public:
  Reaper ();
  ~Reaper (); /* waits for all entries, unless it runs in the reaper's thread */

  void release_after (cl_event event, GDestroyNotify notify, gpointer user_data);

private:
  struct Entry {
    TrackedEvent event;
    GDestroyNotify notify;
    gpointer user_data;
  };
  /* Shared with the thread, which may outlive the reaper when it drops the last context.
   */
  struct State {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<Entry> entries;
    bool stopping = false;
  };
  static void run (std::shared_ptr<State> state);

  std::shared_ptr<State> state;
  std::thread thread;
};
} // namespace opencl
