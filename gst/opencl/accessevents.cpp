/* gstreamer-opencl: who still writes and reads a memory, as OpenCL events
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "accessevents.hpp"

#include "gstopenclerror.h"

#include <array>
#include <utility>

namespace opencl {
/* In a stream each event is waited for once, soon, and is seldom over: waiting for it
 * then costs less than asking. One that is met again may be long over, and may have
 * failed. */
bool
AccessEvents::Pending::is_in_the_way_of (cl_command_queue other)
{
  if (queue == other || event.is_known_to_be_over ())
    return false;
  return !std::exchange (was_waited_for, true) || event.status () > CL_COMPLETE;
}

namespace {
/* Events for one barrier, without allocating. */
class WaitList {
public:
  explicit WaitList (cl_command_queue queue) : queue (queue) {}

  bool add (const TrackedEvent &event, GError **error)
  {
    if (size == events.size () && !enqueue (error))
      return false;
    events[size++] = event ();
    return true;
  }

  bool enqueue (GError **error)
  {
    if (size == 0)
      return true;
    cl_uint n = std::exchange (size, 0);
    return gst_opencl_check (
        clEnqueueBarrierWithWaitList (queue, n, events.data (), nullptr),
        "clEnqueueBarrierWithWaitList", error);
  }

private:
  cl_command_queue queue;
  std::array<cl_event, 8> events;
  cl_uint size = 0;
};
} // namespace

bool
AccessEvents::enqueue_waits (cl_command_queue queue, GstMapFlags access, GError **error)
{
  WaitList waits (queue);
  auto add = [&] (Pending &pending) {
    return !pending.is_in_the_way_of (queue) || waits.add (pending.event, error);
  };

  if (!add (write))
    return false;
  if (access & GST_MAP_WRITE) {
    for (Pending &read : reads) {
      if (!add (read))
        return false;
    }
  }
  return waits.enqueue (error);
}

void
AccessEvents::append_waits (GstMapFlags access, Waits &waits)
{
  cl_int written = write.event.status ();
  if (written > CL_COMPLETE || (written < CL_COMPLETE && write.matters))
    waits.push_back (write.event);
  if (!(access & GST_MAP_WRITE))
    return;
  for (Pending &read : reads) {
    if (read.event.status () > CL_COMPLETE)
      waits.push_back (read.event);
  }
}

void
AccessEvents::record (cl_command_queue queue, GstMapFlags access, cl_event event)
{
  Pending pending;
  pending.queue = queue;
  pending.event = TrackedEvent (event);
  if (access & GST_MAP_WRITE) {
    /* It waited for the reads, so whoever waits for it waits for them too. */
    reads.clear ();
    write = std::move (pending);
    return;
  }
  for (Pending &read : reads) {
    if (read.queue == queue) {
      read = std::move (pending);
      return;
    }
  }
  reads.push_back (std::move (pending));
}

bool
wait_on_host (const Waits &waits, bool &blocked, GError **error)
{
  bool succeeded = true;

  blocked = false;
  for (const TrackedEvent &event : waits) {
    cl_int status = event.status ();
    if (status > CL_COMPLETE) {
      blocked = true;
      status = event.wait ();
    }
    if (!gst_opencl_check (status, "a transfer", succeeded ? error : nullptr))
      succeeded = false;
  }
  return succeeded;
}
} // namespace opencl
