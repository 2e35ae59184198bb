/* gstreamer-opencl: who still writes and reads a memory, as OpenCL events
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "accessevents.hpp"

#include "gstopenclerror.h"

#include <array>
#include <utility>

namespace opencl {
cl_int
status_of (const cl::Event &event)
{
  cl_int status = CL_COMPLETE;
  event.getInfo (CL_EVENT_COMMAND_EXECUTION_STATUS, &status);
  return status;
}

/* Asked once only of an event that is over: each question is a call. */
bool
AccessEvents::Pending::is_over ()
{
  if (!event ())
    return true;
  if (status > CL_COMPLETE)
    status = status_of (event);
  return status <= CL_COMPLETE;
}

namespace {
/* Events for one barrier, without allocating. */
class WaitList {
public:
  explicit WaitList (cl_command_queue queue) : queue (queue) {}

  bool add (const cl::Event &event, GError **error)
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
    return pending.queue == queue || pending.is_over ()
           || waits.add (pending.event, error);
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
AccessEvents::append_waits (GstMapFlags access, std::vector<cl::Event> &waits)
{
  if (!write.is_over () || (write.status < CL_COMPLETE && write.matters))
    waits.push_back (write.event);
  if (!(access & GST_MAP_WRITE))
    return;
  for (Pending &read : reads) {
    if (!read.is_over ())
      waits.push_back (read.event);
  }
}

void
AccessEvents::record (cl_command_queue queue, GstMapFlags access, cl_event event)
{
  Pending pending;
  pending.queue = queue;
  pending.event = cl::Event (event, true);
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
wait_on_host (const std::vector<cl::Event> &waits, bool &blocked, GError **error)
{
  bool succeeded = true;

  blocked = false;
  for (const cl::Event &event : waits) {
    cl_int status = status_of (event);
    if (status > CL_COMPLETE) {
      blocked = true;
      event.wait (); /* the status says how it ended */
      status = status_of (event);
    }
    if (!gst_opencl_check (status, "a transfer", succeeded ? error : nullptr))
      succeeded = false;
  }
  return succeeded;
}
} // namespace opencl
