/* Events of commands, and waits for them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "events.hpp"

#include "context.hpp"
#include "hooks.hpp"

#include <gst/common/timelimit.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>

#include <algorithm>
#include <glib.h>
#include <utility>

namespace opencl {
/* --- waits with a timeout --- */

namespace {
/* Returns the timeout in µs (0 = none). */
gint64
timeout ()
{
  static const gint64 microseconds = [] {
    const gchar *value = g_getenv ("GST_OPENCL_TIMEOUT");
    gchar *end = nullptr;
    if (!value || !*value)
      return gint64 (0);
    const gdouble seconds = g_ascii_strtod (value, &end);
    if (end != value && *end == '\0' && seconds >= 0 && seconds < 1e9)
      return gint64 (seconds * G_TIME_SPAN_SECOND);
    GST_WARNING (
        "GST_OPENCL_TIMEOUT=%s: expected a number of seconds; waiting without a limit",
        value);
    return gint64 (0);
  }();
  return microseconds;
}

cl_context
context_of (cl_event event)
{
  cl_context context = nullptr;
  clGetEventInfo (event, CL_EVENT_CONTEXT, sizeof context, &context, nullptr);
  return context;
}

/* OpenCL has no wait with a timeout, so this polls the event. A device that was given up
 * once is not waited for again. */
cl_int
poll_until_complete (cl_event event, gint64 limit)
{
  constexpr gulong shortest = 20, longest = 500; /* µs */
  const cl_context context = context_of (event);
  TimeLimit end (gst_opencl_context_was_given_up (context) ? 0 : limit);

  for (gulong pause = shortest;; pause = std::min (2 * pause, longest)) {
    cl_int state = CL_COMPLETE;
    cl_int code = clGetEventInfo (
        event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (code != CL_SUCCESS || state <= CL_COMPLETE)
      return code;
    if (end.is_over ())
      break;
    g_usleep (pause);
  }
  gst_opencl_context_give_up (context);
  return timed_out;
}
} // namespace

cl_int
wait_with_timeout (cl_event event)
{
  const gint64 limit = timeout ();
  const Busy waiting;
  return limit > 0 ? poll_until_complete (event, limit) : clWaitForEvents (1, &event);
}

cl_int
finish_with_timeout (cl_command_queue queue)
{
  const Busy waiting;
  if (timeout () == 0)
    return clFinish (queue);
  cl_event last = nullptr;
  cl_int code = enqueue_end (queue, &last);
  if (code != CL_SUCCESS)
    return code;
  clFlush (queue);
  code = wait_with_timeout (last);
  clReleaseEvent (last);
  return code;
}

/* --- status of an event --- */

/* A wait with a timeout polls the event, which does not flush the queue. */
static void
flush_queue_of (cl_event event)
{
  cl_command_queue queue = nullptr;
  if (clGetEventInfo (event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr)
          == CL_SUCCESS
      && queue)
    clFlush (queue);
}

TrackedEvent::TrackedEvent (cl_event event)
{
  /* Weak, so that a thread does not keep the event. A living event's handle is unique. */
  static thread_local std::weak_ptr<State> latest;

  if (!event)
    return;
  state = latest.lock ();
  if (state && state->event () == event)
    return;
  state = std::make_shared<State> ();
  state->event = cl::Event (event);
  if (clRetainEvent (event) != CL_SUCCESS) { /* cannot be kept, so it must be over now */
    flush_queue_of (event);
    wait ();
    state->event () = nullptr; /* is not released */
  }
  latest = state;
}

/* Queries the driver and returns the code of the query. On failure, `answer` is the last
 * known status. */
cl_int
TrackedEvent::query (cl_int *answer) const
{
  cl_int now;
  cl_int code = state->event.getInfo (CL_EVENT_COMMAND_EXECUTION_STATUS, &now);
  if (code == CL_SUCCESS)
    state->seen = now;
  *answer = state->seen;
  return code;
}

cl_int
TrackedEvent::status () const
{
  if (is_known_complete ())
    return last_status ();
  cl_int now;
  query (&now);
  return now;
}

/* NVIDIA's driver returns success when it has waited for a command that failed. Therefore
 * this queries the status after the wait. If waiting fails, this polls the status
 * instead. If queries fail too, several tries tell a temporary failure from a broken
 * driver. */
cl_int
TrackedEvent::wait () const
{
  constexpr gulong pause = 1000; /* µs */
  constexpr int tries = 10;

  for (int failures = 0; !is_known_complete ();) {
    cl_int waited = wait_with_timeout (state->event ());
    if (waited == timed_out)
      return timed_out;
    cl_int now;
    cl_int query_code = query (&now);
    if (now <= CL_COMPLETE)
      break;
    if (query_code != CL_SUCCESS && ++failures == tries) {
      if (waited == CL_SUCCESS)
        state->seen = query_code; /* over, with unknown result */
      return query_code;
    }
    g_usleep (pause);
  }
  return last_status ();
}

/* --- memory that a transfer reads --- */

Reaper::Reaper () : state (std::make_shared<State> ()), thread (run, state)
{
}

Reaper::~Reaper ()
{
  {
    std::lock_guard<std::mutex> guard (state->lock);
    state->stopping = true;
  }
  state->changed.notify_one ();
  if (std::this_thread::get_id () == thread.get_id ())
    thread.detach ();
  else
    thread.join ();
}

void
Reaper::release_after (cl_event event, GDestroyNotify notify, gpointer user_data)
{
  {
    std::lock_guard<std::mutex> guard (state->lock);
    state->entries.push_back ({TrackedEvent (event), notify, user_data});
  }
  state->changed.notify_one ();
}

void
Reaper::run (std::shared_ptr<State> state)
{
  std::unique_lock<std::mutex> guard (state->lock);
  for (;;) {
    state->changed.wait (
        guard, [&state] { return state->stopping || !state->entries.empty (); });
    if (state->entries.empty ())
      return;
    Entry entry = std::move (state->entries.front ());
    state->entries.pop_front ();
    guard.unlock ();
    cl_int status =
        entry.event.wait (); /* the thread that enqueued it reports a failure */
    if (entry.event.is_known_complete ())
      entry.notify (entry.user_data);
    else
      GST_ERROR ("memory is not freed, because the device may still use it: %s (%d)",
          gst_opencl_error_name (status), status);
    guard.lock ();
  }
}

/* --- accesses of a memory --- */

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
  if (n == events.size () && !enqueue_barrier (error))
    return false;
  events[n] = event;
  handles[n++] = event ();
  return true;
}

bool
WaitList::enqueue_barrier (GError **error)
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
  return collect_waits (queue, access, waits, error) && waits.enqueue_barrier (error);
}

bool
AccessEvents::Pending::is_pending_outside (const IsOwn &own) const
{
  return queue && !own (queue) && event.status () > CL_COMPLETE;
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
AccessEvents::are_pending_outside (const IsOwn &own) const
{
  return write.is_pending_outside (own)
         || std::any_of (reads.begin (), reads.end (),
             [&own] (const Pending &read) { return read.is_pending_outside (own); });
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
