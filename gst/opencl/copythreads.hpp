/* gstreamer-opencl: threads that share the copy of a large block of host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <atomic>
#include <condition_variable>
#include <glib.h>
#include <mutex>
#include <vector>

namespace opencl {
/* One core moves a third of what the link to a discrete GPU takes. The threads know
 * nothing but bytes, so that none of them can drop the last reference to a context. */
class CopyThreads {
public:
  /* The thread that wants a copy takes part in it; fewer threads than `helpers` when the
   * system has no more. */
  explicit CopyThreads (guint helpers);
  ~CopyThreads ();
  CopyThreads (const CopyThreads &) = delete;
  CopyThreads &operator= (const CopyThreads &) = delete;

  /* Returns when all is copied. From any thread, from several at once too. */
  void copy (guint8 *to, const guint8 *from, gsize size);

private:
  struct Job {
    guint8 *to;
    const guint8 *from;
    gsize size;
    std::atomic<gsize> claimed{0}; /* bytes that somebody has copied or is copying */
    std::atomic<guint> helpers{0}; /* that copy parts of it */
  };
  using Guard = std::unique_lock<std::mutex>;

  static gpointer run (gpointer self);
  static void copy_parts (Job &job);
  void offer (Job &job);
  void withdraw (Job &job);
  Job *find_job ();
  void work ();
  void wait_for_work (Guard &guard);

  std::mutex lock; /* of what is below */
  std::condition_variable work_came;
  std::condition_variable helper_left;
  std::vector<Job *> jobs; /* oldest first */
  guint sleeping = 0;
  bool stopping = false;
  std::atomic<bool> awake{false}; /* something is to do: to look without the lock */
  std::vector<GThread *> threads;
};
} // namespace opencl
