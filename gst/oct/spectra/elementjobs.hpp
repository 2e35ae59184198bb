/* Work of an element in other threads, in order
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace oct {
class ElementJobs {
public:
  using Job = std::function<void (GstElement *)>;

  /* `job` keeps what it needs alive, even after the element has stopped. */
  void run (GstElement *element, Job job)
  {
    const std::lock_guard<std::mutex> lock (shared->mutex);
    shared->unfinished.push_back (std::move (job));
    gst_element_call_async (element, run_next, new std::shared_ptr<Shared> (shared),
        [] (gpointer data) { delete static_cast<std::shared_ptr<Shared> *> (data); });
  }

  void wait ()
  {
    std::unique_lock<std::mutex> lock (shared->mutex);
    shared->finished.wait (lock, [this] { return shared->unfinished.empty (); });
  }

private:
  struct Shared {
    std::mutex in_order, mutex; /* `mutex` guards `unfinished` */
    std::condition_variable finished;
    std::deque<Job> unfinished;
  };

  static void run_next (GstElement *element, gpointer data)
  {
    Shared &all = **static_cast<std::shared_ptr<Shared> *> (data);
    const std::lock_guard<std::mutex> in_order (all.in_order);
    std::unique_lock<std::mutex> lock (all.mutex);
    const Job job = std::move (all.unfinished.front ());
    lock.unlock ();
    job (element);
    lock.lock ();
    all.unfinished.pop_front ();
    all.finished.notify_all ();
  }

  std::shared_ptr<Shared> shared = std::make_shared<Shared> ();
};
} // namespace oct
