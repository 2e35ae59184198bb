/* Device memory that shares its bytes with the CPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "storage.hpp"

#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/gstopenclstatistics.h>
#include <gst/opencl/core/hostmapping.hpp>

namespace opencl {
namespace {
/* The device works in host memory, so a CPU map gives the bytes of the buffer itself. The
 * device sees CPU writes once the buffer is unmapped. That is done only when the device
 * needs the buffer, so that consecutive CPU maps share one mapping. */
class SharedStorage : public DeviceStorage {
public:
  SharedStorage (GstOpenCLContext *context, cl::Buffer buffer, gsize size)
      : DeviceStorage (context, std::move (buffer), size), mapping (this->buffer, size)
  {
  }

  ~SharedStorage () override
  {
    cl::Event ended;
    if (mapping.exists () && mapping.end_alone (ended, nullptr))
      events.record (nullptr, GST_MAP_READ, ended ());
  }

  bool prepare (cl_command_queue queue, GstMapFlags access, WaitList &waits,
      GError **error) override
  {
    if (!fill_deferred (access, error))
      return false;
    std::lock_guard<std::mutex> guard (lock);
    return (!is_in_the_way_of (access) || end_mapping (queue, error))
           && events.collect_waits (queue, access, waits, error);
  }

  void end (cl_command_queue queue, GstMapFlags access, cl_event event) override
  {
    std::lock_guard<std::mutex> guard (lock);
    events.record (queue, access, event);
    if (access & GST_MAP_WRITE)
      is_undefined = false;
  }

  void invalidate () override
  {
    replace_deferred (nullptr, 0);
    is_shared = false;
    std::lock_guard<std::mutex> guard (lock);
    is_undefined = true;
    events.forget_failures ();
  }

  guint8 *map_sync (GstMapFlags access, GError **error) override
  {
    bool waited_for_data = false, waited_for_room = false;
    if (!fill_deferred (access, error)
        || !wait_for_device (access, waited_for_data, waited_for_room, error))
      return nullptr;
    guint8 *bytes = map_now (access, waited_for_data, error);
    if (waited_for_data)
      gst_opencl_count_host_wait ();
    /* A writer that waits for the device is a whole pool ahead of it. This wait bounds
     * its run-ahead. */
    if (waited_for_room)
      gst_opencl_count_throttled ();
    return bytes;
  }

  void unmap (GstMapFlags access) override
  {
    std::lock_guard<std::mutex> guard (lock);
    users--;
    if (access & GST_MAP_WRITE)
      is_undefined = false;
  }

  bool prepare_map (TrackedEvent &event, GError **error) override
  {
    if (!fill_deferred (GST_MAP_READ, error))
      return false;
    cl_command_queue queue =
        gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_DOWNLOAD);
    std::lock_guard<std::mutex> guard (lock);
    events.last_write ().status (); /* notices a failure: PoCL never ends a wait for it */
    if (!mapping.covers (GST_MAP_READ)
        && !(events.enqueue_waits (queue, GST_MAP_READ, error)
             && enqueue_mapping (queue, GST_MAP_READ, error)))
      return false;
    event = TrackedEvent (mapping.ready () ());
    return true;
  }

  void set_contents_on_device () override { is_undefined = false; }

private:
  /* Returns whether the mapping must end before `access`. If a caller maps for the CPU
   * while the device writes, which is an error, its map stays valid. */
  bool is_in_the_way_of (GstMapFlags access) const
  {
    return access & GST_MAP_WRITE ? mapping.exists () && users == 0
                                  : mapping.is_writable ();
  }

  /* Unmapping counts as a write, and waits like one. If other threads use the memory too
   * and nothing is pending, it is enqueued on a queue without frames. On `queue` it would
   * come after slow kernels, and the other threads would wait for them. */
  bool end_mapping (cl_command_queue queue, GError **error)
  {
    const bool is_apart = is_shared && events.are_known_complete ();
    if (is_apart)
      queue = gst_opencl_context_get_pinning_queue (context);
    else if (!events.enqueue_waits (queue, GST_MAP_READWRITE, error))
      return false;
    cl::Event ended;
    /* A CPU map stays valid for reading: a decoder may still read a frame that it has
     * written. */
    const bool enqueued = users > 0
                              ? mapping.enqueue (queue, GST_MAP_READ, true, ended, error)
                              : mapping.enqueue_end (queue, ended, error);
    if (is_apart)
      clFlush (queue);
    if (enqueued)
      events.record (is_apart ? nullptr : queue, GST_MAP_WRITE, ended ());
    return enqueued;
  }

  bool enqueue_mapping (cl_command_queue queue, GstMapFlags access, GError **error)
  {
    cl::Event ended;
    const bool enqueued = mapping.enqueue (queue, access, !is_undefined, ended, error);
    clFlush (queue);
    return enqueued;
  }

  bool wait_for_device (
      GstMapFlags access, bool &waited_for_data, bool &waited_for_room, GError **error)
  {
    Waits writes, reads;
    bool is_for_data;
    {
      std::lock_guard<std::mutex> guard (lock);
      events.append_waits (GST_MAP_READ, writes);
      if (access & GST_MAP_WRITE)
        events.append_waits (GST_MAP_WRITE, reads);
      is_for_data = !is_undefined;
    }
    if (!wait_sync (writes, is_for_data ? waited_for_data : waited_for_room, error))
      return false;
    bool blocked;
    wait_sync (reads, blocked, nullptr); /* failed reads do no harm */
    waited_for_room |= blocked;
    return true;
  }

  /* A map command ends soon, so its wait does not count as a wait for data, unless
   * prepare_map() has enqueued it behind other commands. */
  guint8 *map_now (GstMapFlags access, bool &waited_for_data, GError **error)
  {
    std::unique_lock<std::mutex> guard (lock);
    const bool is_ahead = mapping.covers (access);
    if (!is_ahead
        && !enqueue_mapping (
            gst_opencl_context_get_pinning_queue (context), access, error))
      return nullptr;
    users++;
    guint8 *bytes = mapping.data ();
    TrackedEvent ready (mapping.ready () ());
    guard.unlock ();

    bool blocked;
    ready.status ();
    const bool mapped = wait_sync ({ready}, blocked, error);
    waited_for_data |= blocked && is_ahead;
    if (mapped)
      return bytes;
    guard.lock ();
    users--;
    mapping.forget ();
    return nullptr;
  }

  HostMapping mapping;
  guint users = 0; /* CPU maps that have not ended */
  bool is_undefined = true;
};
} // namespace

std::shared_ptr<DeviceStorage>
make_shared_storage (GstOpenCLContext *context, cl::Buffer buffer, gsize size)
{
  return std::make_shared<SharedStorage> (context, std::move (buffer), size);
}
} // namespace opencl
