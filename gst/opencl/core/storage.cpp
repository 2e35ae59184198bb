/* Storage shared by a memory and its sub-memories
 *
 * The bytes of a frame are computed by a kernel, by deferred work, by an upload or by the
 * CPU, and are read on any queue or thread. This file decides when they move. CHECK_INVARIANT
 * (n, condition) checks invariant n below in a debug build.
 *
 * States of the contents. StagedStorage has two copies: one in the cl_mem (`on_device`) and
 * one in staging memory (`on_host`). SharedStorage has only the cl_mem (`is_undefined`).
 *
 *   state      deferred  fill_error  on_device  on_host  is_undefined
 *   UNDEFINED  null      null        0          0        1
 *   DEFERRED   work      null        0          0        1
 *   FILLING    null      null        0          0        1
 *   DEVICE     null      null        1          0        0
 *   HOST       null      null        0          1        -
 *   BOTH       null      null        1          1        -
 *   FAILED     null      error       any        0        any
 *
 *   from       event                                        to
 *   (new)      allocation                                   UNDEFINED
 *   (new)      zeroed or wrapped: set_contents_on_device()  DEVICE
 *   any        invalidate(): the buffer returns to a pool   UNDEFINED
 *   any        defer()                                      DEFERRED
 *   DEFERRED   prepare(), map_sync() or prepare_map()       FILLING
 *   DEFERRED   the next filter merges the work              DEFERRED
 *   FILLING    the commands are enqueued                    DEVICE
 *   FILLING    they could not be enqueued                   FAILED
 *   FAILED     an access that reads                         FAILED, the access fails
 *   FAILED     an access that only writes                   that of the write
 *   any other  end() of a device write                      DEVICE
 *   any other  unmap() of a CPU write                       HOST (shared: DEVICE)
 *   HOST       prepare(): upload                            BOTH
 *   DEVICE     map_sync() or prepare_map(): download        BOTH (shared: DEVICE)
 *   BOTH       the download failed on the device            DEVICE
 *
 * A merge reads the work but does not take it (ref_deferred()), so that another reader of the
 * same buffer still gets its contents.
 *
 * A state tells what is enqueued, not what is complete: `events` has the commands on the
 * cl_mem, `staging_events` those on staging memory. Device commands wait for them on their
 * queue, the CPU in map_sync().
 *
 * States of the CPU mapping of SharedStorage:
 *
 *   from       event                                        to
 *   UNMAPPED   map_sync() or prepare_map()                  READABLE or WRITABLE
 *   READABLE   map_sync() for writing                       WRITABLE
 *   READABLE   prepare() for writing, no user               UNMAPPED
 *   WRITABLE   prepare(), no user                           UNMAPPED
 *   WRITABLE   prepare() for reading, users                 READABLE
 *   any        a map command failed                         UNMAPPED
 *
 * Invariants:
 *
 *  1. Deferred work and the error of earlier work exclude each other: replace_deferred() clears
 *     the error, and fill_deferred() takes the work before an error can be set.
 *  2. Work is filled in at most once, under `deferred_lock`. Every access calls
 *     fill_deferred() first, so no command and no map sees the contents of DEFERRED or FILLING.
 *  3. `deferred_lock` is taken before `lock`, never after it: work accesses the memory that it
 *     fills. ElementQueues::hold() comes between them (enqueue_fill()).
 *  4. A device access starts only when the cl_mem is as new as staging memory, or the contents
 *     are undefined (StagedStorage::prepare()).
 *  5. The same holds for staging memory and a CPU access (StagedStorage::ensure_on_host()).
 *  6. Contents in staging memory imply that it exists. In HOST they come from the CPU, so no
 *     device write can have spoiled them: `staged_from` is empty (StagedStorage::prepare() and
 *     unmap()).
 *  7. A device access does not start while the CPU may write through the mapping, unless a
 *     caller has broken the rules and writes on both sides (SharedStorage::prepare()).
 *  8. `users` is the number of CPU maps. While there are any, the mapping stays, unless a map
 *     command failed (SharedStorage::unmap(), HostMapping::unmap()).
 *  9. A thread that only compiles (CompileOnly) accesses no memory (Storage::begin()): a
 *     preparation thread knows settings and caps, but has no frame.
 * 10. Host memory is not freed while a command may use it: the destructors wait, and leak the
 *     block if the wait was given up. A cl_mem needs no wait, as OpenCL retains it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "storage.hpp"

#include "context.hpp"
#include "frame.hpp"
#include "hooks.hpp"
#include "invariant.hpp"
#include "queues.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>

namespace opencl {
/* --- device memory --- */

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
  CHECK_INVARIANT (9, !compiles_only ());
  WaitList waits (context, queue);
  return prepare (queue, access, waits, error) && waits.enqueue_barrier (error);
}

bool
Storage::wait_for_device (GstMapFlags access, bool is_for_data, bool &waited_for_data,
    bool &waited_for_room, GError **error)
{
  Waits writes, reads;
  {
    std::lock_guard<std::mutex> guard (lock);
    events.append_waits (GST_MAP_READ, writes);
    if (access & GST_MAP_WRITE)
      events.append_waits (GST_MAP_WRITE, reads);
  }
  if (!wait_sync (writes, is_for_data ? waited_for_data : waited_for_room, error))
    return false;
  bool blocked;
  wait_sync (reads, blocked, nullptr); /* failed reads do no harm */
  waited_for_room |= blocked;
  return true;
}

/* A writer that waits for the device is a whole pool ahead of it. This wait bounds its
 * run-ahead. */
static void
count_waits (bool waited_for_data, bool waited_for_room)
{
  if (waited_for_data)
    gst_opencl_count_host_wait ();
  if (waited_for_room)
    gst_opencl_count_throttled ();
}

bool
Storage::is_used_by_other_threads ()
{
  const ThreadQueues &own = gst_opencl_context_get_thread_queues (context);
  std::lock_guard<std::mutex> guard (lock);
  return events.are_pending_outside (
      [&own] (cl_command_queue queue) { return own.contains (queue); });
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
  notify_when_unused (notify, user_data);
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
    EnqueueExternal acquire, const TrackedEvent &released, GError **error)
{
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  const cl_mem handle = buffer ();
  cl_event event;

  if (released ()) /* it may be on another queue */
    events.record (nullptr, GST_MAP_WRITE, released ());
  if (!events.enqueue_waits (queue, GST_MAP_WRITE, error)
      || !gst_opencl_check (acquire (queue, 1, &handle, 0, nullptr, &event),
          "clEnqueueAcquireExternalMemObjectsKHR", error))
    return false;
  clFlush (queue);
  end (queue, GST_MAP_WRITE, event);
  clReleaseEvent (event);
  return true;
}

/* Uses the queue of the last access. The queue of the thread that frees the memory may
 * have other work, which must not wait. A failure means that the device is lost. Elements
 * report that when they enqueue a frame. */
TrackedEvent
DeviceStorage::release (EnqueueExternal release)
{
  std::lock_guard<std::mutex> guard (lock);
  cl_command_queue queue = events.last_queue ();
  if (!queue)
    queue = gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  const cl_mem handle = buffer ();
  cl_event event;

  if (!events.enqueue_waits (queue, GST_MAP_READWRITE, nullptr)
      || !gst_opencl_check (release (queue, 1, &handle, 0, nullptr, &event),
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
DeviceStorage::notify_when_unused (GDestroyNotify notify, gpointer user_data)
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
    CHECK_INVARIANT (1, !fill_error);
    CHECK_INVARIANT (2, !has_contents ());
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

/* --- pinned host memory --- */

HostStorage::HostStorage (GstOpenCLContext *context, std::unique_ptr<PinnedBlock> block)
    : Storage (context), block (std::move (block))
{
}

/* Waits for pending transfers of a block: OpenCL keeps their device buffer alive, but not
 * the block. */
static void
free_after_transfers (std::unique_ptr<PinnedBlock> &block, AccessEvents &events)
{
  Waits waits;
  bool blocked;
  events.append_waits (GST_MAP_READWRITE, waits);
  wait_sync (waits, blocked, nullptr);
  if (!are_complete (waits))
    (void)block.release (); /* lost: the device may still use it */
}

HostStorage::~HostStorage ()
{
  free_after_transfers (block, events);
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
  bool waited_for_data = false, waited_for_room = false;
  if (!wait_for_device (access, true, waited_for_data, waited_for_room, error))
    return nullptr;
  count_waits (waited_for_data, waited_for_room);
  return block->data ();
}

/* --- device memory with a staging copy for the CPU --- */

namespace {
/* A CPU map gives a copy in pinned memory. */
class StagedStorage : public DeviceStorage {
public:
  using DeviceStorage::DeviceStorage;

  ~StagedStorage () override { free_after_transfers (staging, staging_events); }

  bool prepare (cl_command_queue queue, GstMapFlags access, WaitList &waits,
      GError **error) override
  {
    if (!fill_deferred (access, error))
      return false;
    std::lock_guard<std::mutex> guard (lock);
    if (!on_device && on_host && !upload (error))
      return false;
    CHECK_INVARIANT (4, on_device || !on_host);
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
    CHECK_INVARIANT (6, staging);
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
  bool has_contents () override
  {
    std::lock_guard<std::mutex> guard (lock);
    return on_device || on_host;
  }

  bool ensure_on_host (GError **error)
  {
    if (!staging && !(staging = PinnedBlock::make (context, size, error)))
      return false;
    if (on_device && !on_host && !download (error))
      return false;
    CHECK_INVARIANT (5, on_host || !on_device);
    return true;
  }

  bool transfer (cl_command_queue queue, GstMapFlags device_access,
      GstMapFlags staging_access, GError **error)
  {
    cl_event event = nullptr;
    const bool to_device = device_access == GST_MAP_WRITE;
    WaitList waits (context, queue);

    if (!events.collect_waits (queue, device_access, waits, error)
        || !staging_events.collect_waits (queue, staging_access, waits, error)
        || !waits.enqueue_barrier (error))
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
    CHECK_INVARIANT (6, staging && !staged_from ());
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

/* --- device memory that shares its bytes with the CPU --- */

/* One mapping of a whole buffer. It lasts until the device needs the buffer, so that
 * successive CPU maps take one command or none. The owner locks, waits for commands that
 * use the buffer, and flushes the queues. */
class HostMapping {
public:
  explicit HostMapping (const cl::Buffer &buffer, gsize size)
      : buffer (buffer), size (size)
  {
  }

  /* Returns true if the existing or pending mapping serves a CPU map for `access`. */
  bool covers (GstMapFlags access) const;
  bool exists () const { return bytes != nullptr; }
  bool is_writable () const { return bytes && writable; }

  /* Maps the buffer for `access` and ends the existing mapping, whose last event is then
   * `ended`. If `keeps_contents` is false, a map for writing only may discard the
   * contents. */
  bool enqueue (cl_command_queue queue, GstMapFlags access, bool keeps_contents,
      cl::Event &ended, GError **error);
  /* Ends the mapping for later commands on `queue`. `event` is that of the unmap. */
  bool enqueue_end (cl_command_queue queue, cl::Event &event, GError **error);
  /* Ends the mapping if no command follows, on the queue that mapped the buffer. Flushes
   * it. */
  bool end_alone (cl::Event &event, GError **error);
  /* Call it if the map failed, so that nothing needs to be unmapped. */
  void forget ();

  guint8 *data () const { return bytes; }
  /* Event after which the bytes may be accessed */
  const cl::Event &ready () const { return mapped; }

private:
  bool unmap (cl_command_queue queue, cl_event *event, GError **error);

  const cl::Buffer &buffer; /* owned by the caller */
  const gsize size;
  guint8 *bytes = nullptr; /* nullptr while it is not mapped */
  bool writable = false;
  cl_command_queue mapped_on = nullptr;
  cl::Event mapped;
};

static cl_map_flags
flags_of (GstMapFlags access, bool keeps_contents)
{
  if (!(access & GST_MAP_WRITE))
    return CL_MAP_READ;
  if (!(access & GST_MAP_READ) && !keeps_contents)
    return CL_MAP_WRITE_INVALIDATE_REGION;
  return CL_MAP_READ | CL_MAP_WRITE;
}

bool
HostMapping::covers (GstMapFlags access) const
{
  return bytes && (writable || !(access & GST_MAP_WRITE));
}

bool
HostMapping::enqueue (cl_command_queue queue, GstMapFlags access, bool keeps_contents,
    cl::Event &ended, GError **error)
{
  cl_int code;
  cl_event event = nullptr;
  void *place =
      clEnqueueMapBuffer (queue, buffer (), CL_FALSE, flags_of (access, keeps_contents),
          0, size, 0, nullptr, Profiled (queue, command::map, &event), &code);
  if (!gst_opencl_check (code, "clEnqueueMapBuffer", error))
    return false;
  cl::Event ready (event);
  /* Unmap the old mapping after the new one is made, so that the bytes stay valid for
   * readers. */
  bool replaced = !bytes || enqueue_end (queue, ended, error);
  bytes = static_cast<guint8 *> (place);
  writable = access & GST_MAP_WRITE;
  mapped_on = queue;
  mapped = std::move (ready);
  return replaced;
}

bool
HostMapping::unmap (cl_command_queue queue, cl_event *event, GError **error)
{
  CHECK_INVARIANT (8, bytes);
  const bool waits = queue != mapped_on;
  const cl_int code = clEnqueueUnmapMemObject (
      queue, buffer (), bytes, waits ? 1 : 0, waits ? &mapped () : nullptr, event);
  if (!gst_opencl_check (code, "clEnqueueUnmapMemObject", error))
    return false;
  forget ();
  return true;
}

bool
HostMapping::enqueue_end (cl_command_queue queue, cl::Event &event, GError **error)
{
  cl_event ended = nullptr;
  if (!unmap (queue, Profiled (queue, command::unmap, &ended), error))
    return false;
  event = cl::Event (ended);
  return true;
}

/* Not profiled: no element waits for it, and it may come after the pipeline has ended. */
bool
HostMapping::end_alone (cl::Event &event, GError **error)
{
  const cl_command_queue queue = mapped_on;
  cl_event ended = nullptr;
  const bool enqueued = unmap (queue, &ended, error);
  clFlush (queue);
  event = cl::Event (ended);
  return enqueued;
}

void
HostMapping::forget ()
{
  bytes = nullptr;
  mapped = cl::Event ();
}

namespace {
/* The device works in host memory, so a CPU map gives the bytes of the buffer itself. The
 * device sees CPU writes once the buffer is unmapped. That is done only when the device
 * needs the buffer, so that consecutive CPU maps share one mapping. */
class SharedStorage : public DeviceStorage {
public:
  SharedStorage (GstOpenCLContext *context, cl::Buffer buffer, gsize size)
      : DeviceStorage (context, std::move (buffer), size),
        own_queue (gst_opencl_context_get_pinning_queue (context)),
        mapping (this->buffer, size)
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
    if (is_in_the_way_of (access) && !end_mapping (queue, error))
      return false;
    CHECK_INVARIANT (7, !mapping.is_writable () || (access & GST_MAP_WRITE && users > 0));
    return events.collect_waits (queue, access, waits, error);
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
        || !wait_for_device (
            access, has_contents (), waited_for_data, waited_for_room, error))
      return nullptr;
    guint8 *bytes = map_now (access, waited_for_data, error);
    count_waits (waited_for_data, waited_for_room);
    return bytes;
  }

  void unmap (GstMapFlags access) override
  {
    std::lock_guard<std::mutex> guard (lock);
    CHECK_INVARIANT (8, users > 0);
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
  bool has_contents () override
  {
    std::lock_guard<std::mutex> guard (lock);
    return !is_undefined;
  }

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
      queue = own_queue;
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

  /* A map command ends soon, so its wait does not count as a wait for data, unless
   * prepare_map() has enqueued it behind other commands. */
  guint8 *map_now (GstMapFlags access, bool &waited_for_data, GError **error)
  {
    std::unique_lock<std::mutex> guard (lock);
    const bool is_ahead = mapping.covers (access);
    if (!is_ahead && !enqueue_mapping (own_queue, access, error))
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

  const cl_command_queue own_queue; /* has no frames; the context's */
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
