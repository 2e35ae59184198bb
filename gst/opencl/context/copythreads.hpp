/* gstreamer-opencl: threads that share the copy of a large block of host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <glib.h>
#include <mutex>
#include <vector>

namespace opencl {
/* One core moves a third of what the link to a discrete GPU takes. The threads know
 * nothing but bytes, so that none of them can drop the last reference to a context.
 *
 * A frame takes 40 µs, so that nobody takes a lock while frames come one after the other:
 * to be woken from one takes as long as a frame. */
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
  /* A copy that helpers may join while it is open. */
  struct Job {
    guint8 *to;
    const guint8 *from;
    std::atomic<gsize> size{0};
    std::atomic<gsize> claimed{0}; /* bytes that somebody has copied or is copying */
    std::atomic<bool> open{false};
    std::atomic<guint> helpers{0}; /* that look at it or copy parts of it */
    std::atomic<bool> taken{false};

    bool has_parts () const { return open && claimed < size; }
    void copy_parts ();
  };

  static gpointer run (gpointer self);
  Job *take_job ();
  void share (Job &job);
  bool has_work () const;
  bool help ();
  void work ();
  void sleep ();

  std::array<Job, 4> jobs;
  std::atomic<bool> stopping{false};
  std::atomic<guint> sleeping{0};
  std::mutex lock; /* for sleeping only */
  std::condition_variable work_came;
  std::vector<GThread *> threads;
};
} // namespace opencl
