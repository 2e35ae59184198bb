/* Command queues for streaming threads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/base/opencl-hpp.hpp>
#include "stagingring.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace opencl {
/* In-order queues for compute, upload and download, and the staging ring for uploads.
 * Threads may share the queue for uploads. Each queue is created at its first use and lives as
 * long as the context, so that a handle that an event list remembers never names another
 * queue. Used from any thread. */
class ThreadQueues {
public:
  /* `substitute` (nullable) serves for a queue that cannot be created. */
  ThreadQueues (cl_context context, cl_device_id device, cl_command_queue substitute);
  ThreadQueues (const ThreadQueues &) = delete;
  ThreadQueues &operator= (const ThreadQueues &) = delete;

  /* Adopts `queue`, or creates one: false with `error` set where that fails. */
  bool set (GstOpenCLQueue which, cl::CommandQueue queue, GError **error);

  /* Never null once the substitute or the queue exists. */
  cl_command_queue get (GstOpenCLQueue which);
  bool has_created (GstOpenCLQueue which) const { return handles[which] != nullptr; }
  bool contains (cl_command_queue queue) const;

  /* Waits for its transfers; before the queues end. */
  void set_staging_ring (std::unique_ptr<StagingRing> ring);
  StagingRing *staging_ring () const { return ring.get (); } /* (nullable) */

  /* Number of threads and elements that use these queues. */
  std::atomic<guint> users{0};

private:
  static constexpr gsize n_queues = GST_OPENCL_QUEUE_DOWNLOAD + 1;

  const cl_context context; /* not retained: the owner is the context's */
  const cl_device_id device;
  const cl_command_queue substitute;
  std::mutex creating;
  std::array<cl::CommandQueue, n_queues> queues;
  std::array<std::atomic<cl_command_queue>, n_queues> handles{};
  std::unique_ptr<StagingRing> ring;
};

/* Gives every thread queues of its own, so that no thread's commands wait behind those of
 * another. At most `maximum` threads have their own; further threads share with the thread
 * that shares least. Queues of a thread that has ended are used again. */
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

private:
  std::shared_ptr<ThreadQueues> assign ();

  GstOpenCLContext *const context;
  const Make make;
  const guint64 id; /* contexts come and go, and an address may come again */
  std::mutex lock;
  std::vector<std::shared_ptr<ThreadQueues>> all;
};

/* The queues that an element enqueues on: those of the thread that it works in. An element
 * that changes its thread (a seek starts another one) keeps the order of its commands. */
class ElementQueues {
public:
  ~ElementQueues () { leave (); }

  /* In the element's streaming thread, before it enqueues anything. */
  void enter (GstOpenCLContext *context);
  /* The context is about to go. */
  void leave ();

  /* The compute queue; null before enter(). In any thread. */
  cl_command_queue compute ();

  /* Holds the queue while commands are enqueued from another thread. */
  std::unique_lock<std::mutex> hold () { return std::unique_lock<std::mutex> (lock); }
  cl_command_queue compute_while_held () const;

private:
  std::mutex lock;
  ThreadQueues *current = nullptr; /* the context holds them */
};
} // namespace opencl
