/* Tracks pending device reads and writes of a memory as OpenCL events
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "accessevents.hpp"

#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/gstopenclstatistics.h>
#include <gst/opencl/core/threadqueues.hpp>

#include <algorithm>
#include <utility>

namespace opencl {
/* Returns false for an event that need not be waited for. Queries its status only the
 * second time: in a stream each event is waited for once, when it is seldom complete, and
 * a wait costs less than a query. An event that is seen again may have completed long
 * ago, or failed. */
bool
AccessEvents::Pending::needs_wait_on (cl_command_queue other)
{
  if (queue == other || event.is_known_complete ())
    return false;
  return !std::exchange (was_waited_for, true) || event.status () > CL_COMPLETE;
}

WaitList::WaitList (GstOpenCLContext *context, cl_command_queue queue)
    : queue (queue), on_host (gst_opencl_context_is_shared_queue (context, queue))
{
}

/* A failed event counts as complete, because the element that enqueued its command
 * reports the failure. */
static bool
wait_on_host (const TrackedEvent &event, GError **error)
{
  cl_int status = event.status ();
  if (status > CL_COMPLETE) {
    gst_opencl_count_throttled ();
    status = event.wait ();
  }
  return event.is_known_complete ()
         || gst_opencl_check (status, "waiting before an upload", error);
}

bool
WaitList::add (const TrackedEvent &event, GError **error)
{
  if (on_host)
    return wait_on_host (event, error);
  if (n == events.size () && !enqueue (error))
    return false;
  events[n] = event;
  handles[n++] = event ();
  return true;
}

bool
WaitList::enqueue (GError **error)
{
  if (n == 0)
    return true;
  return gst_opencl_check (clEnqueueBarrierWithWaitList (
                               queue, std::exchange (n, 0), handles.data (), nullptr),
      "clEnqueueBarrierWithWaitList", error);
}

bool
AccessEvents::collect_waits (
    cl_command_queue queue, GstMapFlags access, WaitList &waits, GError **error)
{
  auto add = [&] (Pending &pending) {
    return !pending.needs_wait_on (queue) || waits.add (pending.event, error);
  };

  if (!add (write))
    return false;
  if (!(access & GST_MAP_WRITE))
    return true;
  if (waits.waits_on_host ())
    upload_queue = queue;
  return std::all_of (reads.begin (), reads.end (), add);
}

bool
AccessEvents::enqueue_waits (cl_command_queue queue, GstMapFlags access, GError **error)
{
  WaitList waits (queue);
  return collect_waits (queue, access, waits, error) && waits.enqueue (error);
}

bool
AccessEvents::Pending::is_pending_outside (const ThreadQueues &queues) const
{
  return queue && !queues.contains (queue) && event.status () > CL_COMPLETE;
}

bool
AccessEvents::Pending::is_pending_on_other_queue (cl_command_queue other) const
{
  return queue && queue != other && event.status () > CL_COMPLETE;
}

bool
AccessEvents::would_delay_upload () const
{
  return write.is_pending_on_other_queue (upload_queue)
         || std::any_of (reads.begin (), reads.end (), [this] (const Pending &read) {
              return read.is_pending_on_other_queue (upload_queue);
            });
}

bool
AccessEvents::are_known_complete () const
{
  return write.event.is_known_complete ()
         && std::all_of (reads.begin (), reads.end (),
             [] (const Pending &read) { return read.event.is_known_complete (); });
}

bool
AccessEvents::are_pending_outside (const ThreadQueues &queues) const
{
  return write.is_pending_outside (queues)
         || std::any_of (reads.begin (), reads.end (), [&queues] (const Pending &read) {
              return read.is_pending_outside (queues);
            });
}

cl_command_queue
AccessEvents::last_queue () const
{
  for (auto read = reads.rbegin (); read != reads.rend (); ++read) {
    if (read->queue && !read->event.is_known_complete ())
      return read->queue;
  }
  return write.queue;
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
    /* The write waited for the reads, so a wait for the write covers them. */
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
wait_sync (const Waits &waits, bool &blocked, GError **error)
{
  bool succeeded = true;

  blocked = false;
  for (const TrackedEvent &event : waits) {
    cl_int status = event.last_status ();
    if (status > CL_COMPLETE) {
      blocked = true;
      status = event.wait ();
    }
    if (!gst_opencl_check (status, "a transfer", succeeded ? error : nullptr))
      succeeded = false;
  }
  return succeeded;
}

bool
are_complete (const Waits &waits)
{
  return std::all_of (waits.begin (), waits.end (),
      [] (const TrackedEvent &event) { return event.is_known_complete (); });
}
} // namespace opencl
