/* Tracks pending device reads and writes of a memory as OpenCL events
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/context/trackedevent.hpp>

#include <array>
#include <vector>

namespace opencl {
class ThreadQueues;

using Waits = std::vector<TrackedEvent>;

/* Events that the next command on a queue has to wait for */
class WaitList {
public:
  explicit WaitList (cl_command_queue queue) : queue (queue) {}
  /* On the queue that all threads share, no command may wait: the host does, in add(). */
  WaitList (GstOpenCLContext *context, cl_command_queue queue);

  /* More than there is room for are waited for at once. */
  bool add (const TrackedEvent &event, GError **error);
  /* As a barrier, so that commands need not know of it. */
  bool enqueue (GError **error);

  /* As commands want it; OpenCL forbids a list of none. */
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

/* The last write of a memory and the reads since. A reader waits for the write, a writer
 * for both; commands of the same in-order queue need not wait for each other. The owner
 * locks. */
class AccessEvents {
public:
  /* Makes later commands on `queue` wait on the device for what they depend on. For the
   * device a failed write is merely over: the element that enqueued it reports that. */
  bool enqueue_waits (cl_command_queue queue, GstMapFlags access, GError **error);
  /* The same for the next command alone. */
  bool collect_waits (
      cl_command_queue queue, GstMapFlags access, WaitList &waits, GError **error);

  /* Appends the events that the host has to wait for. They include a failed write, because
   * the host needs the bytes. A failed read did no harm. */
  void append_waits (GstMapFlags access, Waits &waits);

  /* `event` is of the last command on `queue` that accessed the memory; nullptr stands for
   * a queue that no frame uses. */
  void record (cl_command_queue queue, GstMapFlags access, cl_event event);

  bool are_known_to_be_over () const;
  /* Whether a command that is not over is on none of `queues`. Asks the driver. */
  bool are_elsewhere (const ThreadQueues &queues) const;
  /* Whether the memory was uploaded to; whether the next upload would wait in the host. Asks,
   * too. */
  bool were_uploads () const { return upload_queue != nullptr; }
  bool delay_upload () const;
  /* The queue of the last command that is not known to be over, else of the last write. */
  cl_command_queue last_queue () const;

  /* Returns the event of the last write, which may be empty. */
  const TrackedEvent &last_write () const { return write.event; }

  /* The contents no longer matter, nor whether making them failed. */
  void forget_failures () { write.matters = false; }

private:
  struct Pending {
    cl_command_queue queue = nullptr;
    TrackedEvent event;
    bool was_waited_for = false; /* by a queue */
    bool matters = true;         /* whether it failed */

    bool is_in_the_way_of (cl_command_queue other);
    bool is_elsewhere (const ThreadQueues &queues) const;
    bool is_beside (cl_command_queue other) const;
  };
  Pending write;
  std::vector<Pending> reads; /* one a queue */
  /* The queue of an earlier write for which the host waited, or null */
  cl_command_queue upload_queue = nullptr;
};

/* Blocks the host until all are over, also when one has failed: the others may still use
 * the memory. Each was asked just before how far it is; `blocked` says whether there was
 * anything to wait for then. */
bool wait_sync (const Waits &waits, bool &blocked, GError **error);

/* Whether all are over for certain, after wait_sync(): else what they use must stay. */
bool are_over (const Waits &waits);
} // namespace opencl
