/* Work that a stop or a flush of its element does not wait for, such as a build
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "stoppable.hpp"

#include "hooks.hpp"

#include <gst/common/platform.hpp>
#include <gst/common/settings.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace opencl {
namespace {
thread_local StopScope *current = nullptr;

/* The threads of run_in_background() */
class Background {
public:
  /* Never destroyed, as its threads may end after static objects. */
  static Background &get ()
  {
    static Background *const background = new Background;
    return *background;
  }

  bool begin ()
  {
    std::lock_guard<std::mutex> guard (lock);
    threads += exiting ? 0 : 1;
    return !exiting;
  }

  void end ()
  {
    std::lock_guard<std::mutex> guard (lock);
    threads--;
    changed.notify_all ();
  }

private:
  /* Runs before drivers and their compilers are destroyed, because these were loaded before.
   * Windows ends all threads first. */
  Background ()
  {
#ifndef G_OS_WIN32
    std::atexit ([] { get ().wait (); });
#endif
  }

  void wait ()
  {
    if (is_forked_child ()) /* has none of the threads */
      return;
    std::unique_lock<std::mutex> guard (lock);
    exiting = true;
    changed.wait (guard, [this] { return threads == 0; });
  }

  std::mutex lock;
  std::condition_variable changed;
  guint threads = 0;
  bool exiting = false;
};

bool
is_flushing (GstPad *pad)
{
  const ObjectLock lock (pad);
  return GST_PAD_IS_FLUSHING (pad);
}

/* A pad that stops flushes before it waits for the streaming thread. Of several inputs, one may
 * stop alone. */
bool
is_stopping (GstElement *element)
{
  const ObjectLock lock (element);
  bool stopping =
      element->numsinkpads == 1 && is_flushing (GST_PAD (element->sinkpads->data));
  for (GList *item = element->srcpads; item && !stopping; item = item->next)
    stopping = is_flushing (GST_PAD (item->data));
  return stopping;
}

/* Work that a thread waits for */
struct Awaited {
  std::mutex lock;
  std::condition_variable ended;
  bool is_over = false;

  void end ()
  {
    std::lock_guard<std::mutex> guard (lock);
    is_over = true;
    ended.notify_all ();
  }

  bool wait ()
  {
    constexpr auto step = std::chrono::milliseconds (5);
    std::unique_lock<std::mutex> guard (lock);
    while (!ended.wait_for (guard, step, [this] { return is_over; })) {
      if (StopScope::must_stop ())
        return false;
    }
    return true;
  }
};
} // namespace

StopScope::StopScope (GstElement *element) : element (element), outer (current)
{
  current = this;
}

StopScope::~StopScope ()
{
  current = outer;
}

bool
StopScope::must_stop ()
{
  return is_preparation_cancelled ()
         || (current && (current->left || is_stopping (current->element)));
}

void
StopScope::leave ()
{
  if (current)
    current->left = true;
}

bool
StopScope::has_left ()
{
  return current && current->left;
}

bool
run_in_background (std::function<void ()> work)
{
  Background &background = Background::get ();
  if (!background.begin ())
    return false;
  try {
    std::thread ([&background, work = std::move (work)] () mutable {
      work ();
      work = nullptr; /* frees what it owns before the process may end */
      background.end ();
    }).detach ();
    return true;
  } catch (const std::system_error &) {
    background.end ();
    return false;
  }
}

bool
run_unless_stopped (std::function<void ()> work)
{
  const bool can_stop = current || compiles_only ();
  const auto awaited = std::make_shared<Awaited> ();

  if (can_stop && StopScope::must_stop ()) {
    StopScope::leave ();
    return false;
  }
  const bool began = can_stop && run_in_background ([awaited, work] () mutable {
    work ();
    work = nullptr; /* so that the waiting thread is the last to free what it owns */
    awaited->end ();
  });
  if (!began)
    work ();
  if (!began || awaited->wait ())
    return true;
  StopScope::leave ();
  return false;
}
} // namespace opencl
