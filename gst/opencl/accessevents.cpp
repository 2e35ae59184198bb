/* gstreamer-opencl: who still writes and reads a memory, as OpenCL events
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "accessevents.hpp"

#include "gstopenclerror.h"

#include <algorithm>

namespace opencl {
cl_int
status_of (const cl::Event &event)
{
  cl_int status = CL_COMPLETE;
  event.getInfo (CL_EVENT_COMMAND_EXECUTION_STATUS, &status);
  return status;
}

static bool
has_failed (const cl::Event &event)
{
  return event () && status_of (event) < CL_COMPLETE;
}

void
AccessEvents::append_waits (
    cl_command_queue queue, GstMapFlags access, std::vector<cl::Event> &waits)
{
  /* For the device a failed write is merely over: the element that enqueued it reports
   * that. The host asks because it wants the bytes. */
  auto is_missed = [queue] (
                       const cl::Event &event) { return !queue && has_failed (event); };
  auto is_over = [] (const cl::Event &event) { return status_of (event) <= CL_COMPLETE; };
  auto append = [&] (const Pending &pending) {
    if (!queue || pending.queue != queue)
      waits.push_back (pending.event);
  };

  if (write.event () && (!is_over (write.event) || is_missed (write.event)))
    append (write);
  if (!(access & GST_MAP_WRITE))
    return;
  reads.erase (std::remove_if (reads.begin (), reads.end (),
                   [&] (const Pending &read) { return is_over (read.event); }),
      reads.end ());
  for (const Pending &read : reads)
    append (read);
}

void
AccessEvents::forget_failures ()
{
  if (has_failed (write.event))
    write = Pending ();
}

void
AccessEvents::record (cl_command_queue queue, GstMapFlags access, cl_event event)
{
  Pending pending{queue, cl::Event (event, true)};
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
enqueue_waits (
    cl_command_queue queue, const std::vector<cl::Event> &waits, GError **error)
{
  if (waits.empty ())
    return true;
  std::vector<cl_event> handles;
  for (const cl::Event &event : waits)
    handles.push_back (event ());
  return gst_opencl_check (
      clEnqueueBarrierWithWaitList (queue, handles.size (), handles.data (), nullptr),
      "clEnqueueBarrierWithWaitList", error);
}

bool
wait_on_host (const std::vector<cl::Event> &waits, bool &blocked, GError **error)
{
  bool succeeded = true;

  blocked = false;
  for (const cl::Event &event : waits) {
    if (status_of (event) > CL_COMPLETE) {
      blocked = true;
      event.wait (); /* the status says how it ended */
    }
    if (!gst_opencl_check (status_of (event), "a transfer", succeeded ? error : nullptr))
      succeeded = false;
  }
  return succeeded;
}
} // namespace opencl
