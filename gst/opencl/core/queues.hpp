/* Command queues for streaming threads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "staging.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace opencl {
/* In-order queues for compute, upload and download, and the staging ring for uploads.
 * Threads may share the queue for uploads. Each queue is created at its first use. It
 * lives as long as the context, so that no event list has a stale handle that another
 * queue reuses. May be used from any thread. */
class ThreadQueues {
public:
  /* `substitute` (nullable) replaces a queue that cannot be created. */
  ThreadQueues (cl_context context, cl_device_id device, cl_command_queue substitute);
  ThreadQueues (const ThreadQueues &) = delete;
  ThreadQueues &operator= (const ThreadQueues &) = delete;

  /* Adopts `queue`, or creates one if it is empty. Returns false with `error` set on
   * failure. */
  bool set (GstOpenCLQueue which, cl::CommandQueue queue, GError **error);

  /* Returns null only if the queue could not be created and there is no substitute. */
  cl_command_queue get (GstOpenCLQueue which);
  bool has_created (GstOpenCLQueue which) const { return handles[which] != nullptr; }
  bool contains (cl_command_queue queue) const;
  void append_created (std::vector<cl_command_queue> &queues) const;

  /* The ring is destroyed before the queues, and waits for its transfers. */
  void set_staging_ring (std::unique_ptr<StagingRing> ring);
  StagingRing *staging_ring () const { return ring.get (); } /* (nullable) */

  /* Number of threads and elements that use these queues. */
  const std::shared_ptr<std::atomic<guint>> users =
      std::make_shared<std::atomic<guint>> (0);

private:
  static constexpr gsize n_queues = GST_OPENCL_QUEUE_DOWNLOAD + 1;

  const cl_context context; /* not retained: the context owns this */
  const cl_device_id device;
  const cl_command_queue substitute;
  std::mutex creating;
  std::array<cl::CommandQueue, n_queues> queues;
  std::array<std::atomic<cl_command_queue>, n_queues> handles{};
  std::unique_ptr<StagingRing> ring;
};

/* Gives every thread its own queues, so that its commands do not wait for those of
 * another. At most `maximum` threads have their own. Further threads use the queues with
 * the fewest users. Queues of a thread that has ended are reused. */
class ThreadQueuePool {
public:
  static constexpr gsize maximum = 16;

  using Make = std::unique_ptr<ThreadQueues> (*) (GstOpenCLContext *context);
  ThreadQueuePool (GstOpenCLContext *context, Make make);
  ~ThreadQueuePool ();
  ThreadQueuePool (const ThreadQueuePool &) = delete;
  ThreadQueuePool &operator= (const ThreadQueuePool &) = delete;

  ThreadQueues &of_this_thread ();
  gsize size ();
  void append_created (std::vector<cl_command_queue> &queues);

private:
  std::shared_ptr<ThreadQueues> assign ();

  GstOpenCLContext *const context;
  const Make make;
  const guint64 id; /* unlike an address, never reused */
  std::mutex lock;
  std::vector<std::shared_ptr<ThreadQueues>> all;
};

/* The queues of the thread that an element works in. If that thread changes, as after a
 * seek, the element's commands stay in order. */
class ElementQueues {
public:
  ~ElementQueues () { leave (); }

  /* Call it in the element's streaming thread, before commands are enqueued. */
  void enter (GstOpenCLContext *context);
  /* Call it before the context is released. */
  void leave ();

  /* Returns the compute queue, or null before enter(). May be called in any thread. */
  cl_command_queue compute ();

  /* Holds the queue while commands are enqueued from another thread. */
  std::unique_lock<std::mutex> hold () { return std::unique_lock<std::mutex> (lock); }
  cl_command_queue compute_while_held () const;

private:
  std::mutex lock;
  ThreadQueues *current = nullptr; /* owned by the context */
};
} // namespace opencl
