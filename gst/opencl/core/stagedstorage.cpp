/* Device memory with a staging copy in pinned memory for the CPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "storage.hpp"

#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/gstopenclstatistics.h>
#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/base/pinnedblock.hpp>

namespace opencl {
namespace {
/* A CPU map gives a copy in pinned memory. */
class StagedStorage : public DeviceStorage {
public:
  using DeviceStorage::DeviceStorage;

  /* Waits for pending transfers of the staging memory. */
  ~StagedStorage () override
  {
    Waits waits;
    bool blocked;
    staging_events.append_waits (GST_MAP_READWRITE, waits);
    wait_sync (waits, blocked, nullptr);
    if (!are_complete (waits))
      (void)staging.release (); /* lost: the device may still use it */
  }

  bool prepare (cl_command_queue queue, GstMapFlags access, WaitList &waits,
      GError **error) override
  {
    if (!fill_deferred (access, error))
      return false;
    std::lock_guard<std::mutex> guard (lock);
    if (!on_device && on_host && !upload (error))
      return false;
    return events.collect_waits (queue, access, waits, error);
  }

  void end (cl_command_queue queue, GstMapFlags access, cl_event event) override
  {
    std::lock_guard<std::mutex> guard (lock);
    events.record (queue, access, event);
    if (access & GST_MAP_WRITE) {
      on_device = true;
      on_host = false;
    }
  }

  void invalidate () override
  {
    replace_deferred (nullptr, 0);
    std::lock_guard<std::mutex> guard (lock);
    on_device = on_host = false;
    staged_from = TrackedEvent ();
    events.forget_failures ();
    staging_events.forget_failures ();
  }

  guint8 *map_sync (GstMapFlags access, GError **error) override
  {
    Waits writes, reads;
    if (!fill_deferred (access, error))
      return nullptr;
    {
      std::lock_guard<std::mutex> guard (lock);
      if (!ensure_on_host (error))
        return nullptr;
      staging_events.append_waits (GST_MAP_READ, writes);
      staged_from.status ();
      writes.push_back (staged_from);
      if (access & GST_MAP_WRITE)
        staging_events.append_waits (GST_MAP_WRITE, reads);
    }
    bool waited_for_data, waited_for_room;
    if (!wait_sync (writes, waited_for_data, error)) {
      std::lock_guard<std::mutex> guard (lock);
      on_host = false;
      return nullptr;
    }
    wait_sync (reads, waited_for_room, nullptr); /* failed reads do no harm */
    if (waited_for_data || waited_for_room)
      gst_opencl_count_host_wait ();
    return staging->data ();
  }

  void unmap (GstMapFlags access) override
  {
    if (!(access & GST_MAP_WRITE))
      return;
    std::lock_guard<std::mutex> guard (lock);
    on_host = true;
    on_device = false;
    staged_from = TrackedEvent ();
  }

  bool prepare_map (TrackedEvent &event, GError **error) override
  {
    if (!fill_deferred (GST_MAP_READ, error))
      return false;
    std::lock_guard<std::mutex> guard (lock);
    event = TrackedEvent ();
    if (!ensure_on_host (error))
      return false;
    event = staging_events.last_write ();
    return true;
  }

  void set_contents_on_device () override { on_device = true; }

private:
  bool ensure_on_host (GError **error)
  {
    if (!staging && !(staging = PinnedBlock::make (context, size, error)))
      return false;
    return !on_device || on_host || download (error);
  }

  bool transfer (cl_command_queue queue, GstMapFlags device_access,
      GstMapFlags staging_access, GError **error)
  {
    cl_event event = nullptr;
    const bool to_device = device_access == GST_MAP_WRITE;
    WaitList waits (context, queue);

    if (!events.collect_waits (queue, device_access, waits, error)
        || !staging_events.collect_waits (queue, staging_access, waits, error)
        || !waits.enqueue (error))
      return false;
    cl_int code =
        to_device
            ? clEnqueueWriteBuffer (queue, buffer (), CL_FALSE, 0, size, staging->data (),
                0, nullptr, Profiled (queue, command::upload, &event))
            : clEnqueueReadBuffer (queue, buffer (), CL_FALSE, 0, size, staging->data (),
                0, nullptr, Profiled (queue, command::download, &event));
    if (!gst_opencl_check (
            code, to_device ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", error))
      return false;
    clFlush (queue);
    events.record (queue, device_access, event);
    staging_events.record (queue, staging_access, event);
    clReleaseEvent (event);
    return true;
  }

  bool upload (GError **error)
  {
    if (!transfer (gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_UPLOAD),
            GST_MAP_WRITE, GST_MAP_READ, error))
      return false;
    gst_opencl_count_upload (size);
    on_device = true;
    return true;
  }

  bool download (GError **error)
  {
    TrackedEvent made = events.last_write ();
    made.status (); /* notices a failure: PoCL never ends a wait for it */
    if (!transfer (
            gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_DOWNLOAD),
            GST_MAP_READ, GST_MAP_WRITE, error))
      return false;
    gst_opencl_count_download (size);
    staged_from = made;
    on_host = true;
    return true;
  }

  std::unique_ptr<PinnedBlock> staging; /* made at the first CPU map */
  AccessEvents staging_events;          /* accesses of `staging` */
  /* Event of the write whose bytes were downloaded to staging memory. If that write
   * failed, the download succeeds but its bytes are stale. */
  TrackedEvent staged_from;
  /* Validity of the two copies. Both are false if the contents are undefined. */
  bool on_device = false;
  bool on_host = false;
};
} // namespace

std::shared_ptr<DeviceStorage>
make_staged_storage (GstOpenCLContext *context, cl::Buffer buffer, gsize size)
{
  return std::make_shared<StagedStorage> (context, std::move (buffer), size);
}
} // namespace opencl
