/* Storage shared by a memory and its sub-memories
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "storage.hpp"

#include "deferredframe.hpp"
#include <gst/opencl/base/endofqueue.hpp>
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclcheck.h>

namespace opencl {
Storage::Storage (GstOpenCLContext *context)
    : context (GST_OPENCL_CONTEXT (gst_object_ref (context)))
{
}

Storage::~Storage ()
{
  gst_object_unref (context);
}

bool
Storage::report_to_owner (GError *error)
{
  if (owner)
    return owner->report (error);
  g_error_free (error);
  return false;
}

guint8 *
Storage::zeros (gsize size)
{
  std::lock_guard<std::mutex> guard (lock);
  if (!zero_bytes)
    zero_bytes.reset (static_cast<guint8 *> (g_try_malloc0 (size)));
  return zero_bytes.get ();
}

bool
Storage::begin (cl_command_queue queue, GstMapFlags access, GError **error)
{
  WaitList waits (context, queue);
  return prepare (queue, access, waits, error) && waits.enqueue (error);
}

bool
Storage::is_used_by_other_threads ()
{
  ThreadQueues &own = gst_opencl_context_get_thread_queues (context);
  std::lock_guard<std::mutex> guard (lock);
  return events.are_pending_outside (own);
}

bool
Storage::delays_writer ()
{
  {
    std::lock_guard<std::mutex> guard (lock);
    if (events.was_uploaded ())
      return events.would_delay_upload ();
  }
  return is_used_by_other_threads ();
}

DeviceStorage::DeviceStorage (GstOpenCLContext *context, cl::Buffer buffer, gsize size)
    : Storage (context), size (size), buffer (std::move (buffer))
{
}

DeviceStorage::~DeviceStorage ()
{
  g_clear_object (&deferred);
  g_clear_error (&fill_error);
  buffer = cl::Buffer ();
  give_back (notify, user_data);
}

void
DeviceStorage::set_notify (GDestroyNotify function, gpointer data)
{
  notify = function;
  user_data = data;
}

/* The acquire is recorded as a write, so that all later commands wait for it. */
bool
DeviceStorage::acquire (
    const ExternalCalls &calls, const TrackedEvent &released, GError **error)
{
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  const cl_mem handle = buffer ();
  cl_event event;

  if (released ()) /* it may be on another queue */
    events.record (nullptr, GST_MAP_WRITE, released ());
  if (!events.enqueue_waits (queue, GST_MAP_WRITE, error)
      || !gst_opencl_check (calls.acquire (queue, 1, &handle, 0, nullptr, &event),
          "clEnqueueAcquireExternalMemObjectsKHR", error))
    return false;
  clFlush (queue);
  end (queue, GST_MAP_WRITE, event);
  clReleaseEvent (event);
  release_call = calls.release;
  return true;
}

/* Uses the queue of the last access. The queue of the thread that frees the memory may
 * have other work, which must not wait. A failure means that the device is lost. Elements
 * report that when they enqueue a frame. */
TrackedEvent
DeviceStorage::release ()
{
  std::lock_guard<std::mutex> guard (lock);
  cl_command_queue queue = events.last_queue ();
  if (!queue)
    queue = gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  const cl_mem handle = buffer ();
  cl_event event;

  if (!events.enqueue_waits (queue, GST_MAP_READWRITE, nullptr)
      || !gst_opencl_check (release_call (queue, 1, &handle, 0, nullptr, &event),
          "clEnqueueReleaseExternalMemObjectsKHR", nullptr))
    return events.last_write ();
  clFlush (queue);
  events.record (queue, GST_MAP_WRITE, event);
  clReleaseEvent (event);
  return events.last_write ();
}

/* All pending events hold a reference to `application`. The last one to complete calls
 * `notify`. */
void
DeviceStorage::give_back (GDestroyNotify notify, gpointer user_data)
{
  using Owner = std::shared_ptr<void>;
  Waits pending;

  if (!notify)
    return;
  const Owner application (user_data, notify);
  {
    std::lock_guard<std::mutex> guard (lock);
    events.append_waits (GST_MAP_READWRITE, pending);
  }
  for (const TrackedEvent &event : pending)
    gst_opencl_context_release_after (
        context, event (), [] (gpointer data) { delete static_cast<Owner *> (data); },
        new Owner (application));
}

void
DeviceStorage::defer (GstOpenCLDeferred *work, gsize offset)
{
  invalidate ();
  replace_deferred (GST_OPENCL_DEFERRED (g_object_ref (work)), offset);
}

GstOpenCLDeferred *
DeviceStorage::ref_deferred ()
{
  std::lock_guard<std::recursive_mutex> guard (deferred_lock);
  return deferred ? GST_OPENCL_DEFERRED (g_object_ref (deferred)) : nullptr;
}

void
DeviceStorage::replace_deferred (GstOpenCLDeferred *work, gsize offset)
{
  GstOpenCLDeferred *before;
  {
    std::lock_guard<std::recursive_mutex> guard (deferred_lock);
    before = deferred;
    deferred = work;
    deferred_offset = offset;
    g_clear_error (&fill_error);
  }
  g_clear_object (&before); /* not under the lock, as it may free buffers */
}

bool
DeviceStorage::fill_deferred (GstMapFlags access, GError **error)
{
  std::lock_guard<std::recursive_mutex> guard (deferred_lock);
  if (deferred) {
    GstOpenCLDeferred *work = deferred;
    deferred = nullptr; /* enqueue_fill() calls this function again */
    enqueue_fill (work, &fill_error);
    g_object_unref (work);
  }
  if (fill_error && !(access & GST_MAP_READ))
    g_clear_error (&fill_error); /* the contents are overwritten */
  if (fill_error && error && !*error)
    *error = g_error_copy (fill_error);
  return !fill_error;
}

/* Uses the queue of the element that deferred the work, and prevents a change of that
 * queue meanwhile. If the element has stopped, uses the queue of the calling thread. */
bool
DeviceStorage::enqueue_fill (GstOpenCLDeferred *work, GError **error)
{
  const std::shared_ptr<ElementQueues> queues = queues_of_deferred (work);
  std::unique_lock<std::mutex> held;
  cl_command_queue queue = nullptr;
  if (queues) {
    held = queues->hold ();
    queue = queues->compute_while_held ();
  }
  if (!queue)
    queue = gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  return enqueue_fill_on (queue, work, error);
}

bool
DeviceStorage::enqueue_fill_on (
    cl_command_queue queue, GstOpenCLDeferred *work, GError **error)
{
  cl_event event;
  if (!begin (queue, GST_MAP_WRITE, error))
    return false;
  bool enqueued = GST_OPENCL_DEFERRED_GET_CLASS (work)->fill (
      work, buffer (), deferred_offset, queue, error);
  if (!enqueue_end (queue, &event, enqueued ? error : nullptr))
    return false;
  clFlush (queue);
  end (queue, GST_MAP_WRITE, event);
  if (const GstOpenCLFrame *source = gst_opencl_deferred_get_source (work)) {
    GstOpenCLFrame read = *source;
    read.queue = queue;
    gst_opencl_frame_unmap (&read, event);
  }
  clReleaseEvent (event);
  return enqueued;
}
} // namespace opencl
