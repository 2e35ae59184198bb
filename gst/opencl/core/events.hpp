/* Events of commands, and waits for them
 *
 * The environment variable GST_OPENCL_TIMEOUT sets the timeout of all waits in seconds
 * (unset = none). It is read once. After a timeout, the context is lost
 * (gst_opencl_context_give_up()).
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/opencl-prelude.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <glib.h>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace opencl {
/* Blocks until `event` has completed or failed. Its queue must have been flushed. Returns
 * the code of the wait, or timed_out after a timeout. */
cl_int wait_with_timeout (cl_event event);

/* clFinish() with the same timeout */
cl_int finish_with_timeout (cl_command_queue queue);

/* Several objects keep the event of a frame: its memories, the limit of frames in flight,
 * and readers of its data. A query of the status takes as long as enqueueing a command.
 * Therefore the copies share the status: the first that sees the end records it for
 * all. */
class TrackedEvent {
public:
  TrackedEvent () = default;
  /* Retains `event`, or waits for it if the driver refuses. Shares the status with the
   * last object of this thread, if that has the same event. */
  explicit TrackedEvent (cl_event event);

  cl_event operator() () const { return state ? state->event () : nullptr; }

  /* Returns CL_COMPLETE, CL_RUNNING, … or a negative error. Queries the driver only while
   * the command is not over. Returns the last known status if the query fails. */
  cl_int status () const;
  /* Returns the last known status, of any copy. */
  cl_int last_status () const { return state ? state->seen.load () : CL_COMPLETE; }
  /* Blocks until the command is over. Returns CL_COMPLETE or its negative error. Returns
   * timed_out after a timeout, or the driver's error if the status cannot be queried. If
   * is_known_complete() is then false, memory that the command uses must be kept. */
  cl_int wait () const;
  /* Does not query the driver. Returns true for an object without an event. */
  bool is_known_complete () const { return last_status () <= CL_COMPLETE; }

private:
  struct State {
    cl::Event event;
    std::atomic<cl_int> seen{CL_QUEUED};
  };
  cl_int query (cl_int *answer) const;

  std::shared_ptr<State> state;
};

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

using Waits = std::vector<TrackedEvent>;

/* Events that the next command on a queue has to wait for */
class WaitList {
public:
  explicit WaitList (cl_command_queue queue) : queue (queue) {}
  /* If all threads share `queue`, add() waits on the host: a wait on the queue would
   * block the uploads of the other threads. */
  WaitList (GstOpenCLContext *context, cl_command_queue queue);

  /* If the list is full, first enqueues a barrier for its events. */
  bool add (const TrackedEvent &event, GError **error);
  /* Enqueues a barrier that waits for all events, and clears the list. */
  bool enqueue_barrier (GError **error);

  /* Event list of an OpenCL command. data() is NULL if the list is empty, as OpenCL
   * requires. */
  cl_uint size () const { return n; }
  bool waits_on_host () const { return on_host; }
  const cl_event *data () const { return n > 0 ? handles.data () : nullptr; }

private:
  cl_command_queue queue;
  bool on_host = false;
  std::array<TrackedEvent, 8> events; /* hold the handles */
  std::array<cl_event, 8> handles;
  cl_uint n = 0;
};

/* Last write of a memory and the reads since then. A reader waits for the write, a writer
 * for both. Commands on the same in-order queue need not wait for each other. The owner
 * holds a lock during all calls. */
class AccessEvents {
public:
  /* Makes later commands on `queue` wait on the device for the accesses that conflict
   * with `access`. A failed write counts as complete, because the element that enqueued
   * it reports the failure. */
  bool enqueue_waits (cl_command_queue queue, GstMapFlags access, GError **error);
  /* Adds these events to `waits`, so that only the next command waits. */
  bool collect_waits (
      cl_command_queue queue, GstMapFlags access, WaitList &waits, GError **error);

  /* Appends the events that the host has to wait for. They include a failed write,
   * because the host needs the bytes. A failed read did no harm. */
  void append_waits (GstMapFlags access, Waits &waits);

  /* Records `event` of the last command on `queue` that accesses the memory. `queue` is
   * nullptr for a queue that no frame uses. */
  void record (cl_command_queue queue, GstMapFlags access, cl_event event);

  bool are_known_complete () const;
  /* Returns whether a pending command is on a queue that is not `own`. Queries the driver. */
  using IsOwn = std::function<bool (cl_command_queue queue)>;
  bool are_pending_outside (const IsOwn &own) const;
  /* Returns whether the memory was uploaded to on a queue that all threads share. */
  bool was_uploaded () const { return upload_queue != nullptr; }
  /* Returns whether the host would wait before the next upload. Queries the driver. */
  bool would_delay_upload () const;
  /* Returns the queue of a pending read, else of the last write. */
  cl_command_queue last_queue () const;

  /* Returns the event of the last write, which may be empty. */
  const TrackedEvent &last_write () const { return write.event; }

  /* Discards the contents, so that a failure of the last write no longer matters. */
  void forget_failures () { write.matters = false; }

private:
  struct Pending {
    cl_command_queue queue = nullptr;
    TrackedEvent event;
    bool was_waited_for = false; /* by a queue */
    bool matters = true;         /* a failure makes the contents invalid */

    bool needs_wait_on (cl_command_queue other);
    bool is_pending_outside (const IsOwn &own) const;
    bool is_pending_on_other_queue (cl_command_queue other) const;
  };
  Pending write;
  std::vector<Pending> reads; /* one per queue */
  /* The queue of an earlier write for which the host waited, or null */
  cl_command_queue upload_queue = nullptr;
};

/* Blocks the host until all events are complete, even if one failed, because the others
 * may still use the memory. The caller has just updated their status. Sets `blocked` if
 * any of them was still pending. */
bool wait_sync (const Waits &waits, bool &blocked, GError **error);

/* To be called after wait_sync(). False means that a wait was given up: the device may
 * still use the memory, which must not be freed. */
bool are_complete (const Waits &waits);
} // namespace opencl
