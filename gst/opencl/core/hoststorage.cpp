/* Storage of pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "hoststorage.hpp"

#include <gst/opencl/base/gstopenclstatistics.h>

namespace opencl {
HostStorage::HostStorage (GstOpenCLContext *context, std::unique_ptr<PinnedBlock> block)
    : Storage (context), block (std::move (block))
{
}

/* Waits for pending transfers: OpenCL keeps their device buffer alive, but not this
 * memory. */
HostStorage::~HostStorage ()
{
  Waits waits;
  bool blocked;
  events.append_waits (GST_MAP_READWRITE, waits);
  wait_sync (waits, blocked, nullptr);
  if (!are_complete (waits))
    (void)block.release (); /* lost: the device may still use it */
}

bool
HostStorage::prepare (
    cl_command_queue queue, GstMapFlags access, WaitList &waits, GError **error)
{
  std::lock_guard<std::mutex> guard (lock);
  return events.collect_waits (queue, access, waits, error);
}

void
HostStorage::end (cl_command_queue queue, GstMapFlags access, cl_event event)
{
  std::lock_guard<std::mutex> guard (lock);
  events.record (queue, access, event);
}

void
HostStorage::invalidate ()
{
  std::lock_guard<std::mutex> guard (lock);
  events.forget_failures ();
}

guint8 *
HostStorage::map_sync (GstMapFlags access, GError **error)
{
  Waits writes, reads;
  {
    std::lock_guard<std::mutex> guard (lock);
    events.append_waits (GST_MAP_READ, writes);
    if (access & GST_MAP_WRITE)
      events.append_waits (GST_MAP_WRITE, reads);
  }
  bool waited_for_data, waited_for_room;
  if (!wait_sync (writes, waited_for_data, error))
    return nullptr;
  wait_sync (reads, waited_for_room, nullptr); /* failed reads do no harm */
  if (waited_for_data)
    gst_opencl_count_host_wait ();
  /* A writer that waits for reads is a whole pool ahead of the transfers. This wait
   * bounds its run-ahead. */
  if (waited_for_room)
    gst_opencl_count_throttled ();
  return block->data ();
}
} // namespace opencl
