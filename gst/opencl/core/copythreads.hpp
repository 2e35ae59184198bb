/* Thread pool for large host copies
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
/* One core copies about a third of what the link to a discrete GPU transfers. The threads
 * hold no reference to a context, so none of them can drop its last one.
 *
 * A frame takes 40 µs, and waking a thread by a lock takes as long. The threads therefore
 * poll without a lock while frames follow each other closely. (GThreadPool in place of
 * this class costs 13 % of the rate of pageable OCT frames on an H200.) */
class CopyThreads {
public:
  /* `helpers`: number of threads beside the calling one. Fewer are used if the system
   * cannot create as many. */
  explicit CopyThreads (guint helpers);
  ~CopyThreads ();
  CopyThreads (const CopyThreads &) = delete;
  CopyThreads &operator= (const CopyThreads &) = delete;

  /* Copies `size` bytes and returns when all are copied. Several threads may call it at
   * the same time. */
  void copy (guint8 *to, const guint8 *from, gsize size);

private:
  /* A copy that helpers may join while it is open. */
  struct Job {
    guint8 *to;
    const guint8 *from;
    std::atomic<gsize> size{0};
    std::atomic<gsize> claimed{0}; /* bytes copied or being copied */
    std::atomic<bool> open{false};
    std::atomic<guint> helpers{0}; /* threads that use the job */
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
  std::mutex lock; /* used only for sleeping */
  std::condition_variable work_added;
  std::vector<GThread *> threads;
};
} // namespace opencl
