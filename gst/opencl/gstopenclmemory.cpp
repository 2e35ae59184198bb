/* gstreamer-opencl: GstMemory in a cl_mem, and pinned host memory beside it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclmemory
 * @title: GstOpenCLMemory
 *
 * Device memory is one linear cl_mem. %GST_MAP_OPENCL maps it without waiting; an
 * ordinary map is a blocking CPU view: the cl_mem itself where the device works in the
 * host's memory, else pinned staging memory, which is made at the first such map and
 * uploaded again at the next use on the device. Every memory knows the
 * events of its last write and of the reads since, so that commands on different queues
 * wait for each other on the device and never on the host.
 */
#include "gstopenclmemory.h"

#include "accessevents.hpp"
#include "gstopenclcontext-private.hpp"
#include "gstopencldeferred.h"
#include "gstopenclerror.h"
#include "gstopenclstatistics.h"
#include "hostmapping.hpp"
#include "pinnedblock.hpp"

#include <memory>
#include <mutex>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_memory_debug);
#define GST_CAT_DEFAULT gst_opencl_memory_debug

using opencl::AccessEvents;
using opencl::HostMapping;
using opencl::PinnedBlock;
using opencl::TrackedEvent;
using opencl::WaitList;
using opencl::Waits;

namespace {
/* What a memory and all that share it have in common. */
class Storage {
public:
  explicit Storage (GstOpenCLContext *context)
      : context (GST_OPENCL_CONTEXT (gst_object_ref (context)))
  {
  }
  virtual ~Storage () { gst_object_unref (context); }
  Storage (const Storage &) = delete;
  Storage &operator= (const Storage &) = delete;

  /* Makes the contents ready for commands on `queue`, as far as that takes commands; the
   * next one has to wait for `waits`, too. */
  virtual bool prepare (
      cl_command_queue queue, GstMapFlags access, WaitList &waits, GError **error) = 0;
  bool begin (cl_command_queue queue, GstMapFlags access, GError **error)
  {
    WaitList waits (queue);
    return prepare (queue, access, waits, error) && waits.enqueue (error);
  }
  virtual void end (cl_command_queue queue, GstMapFlags access, cl_event event) = 0;
  virtual void discard () = 0;
  /* The bytes for the CPU, once no transfer is in the way of `access`. */
  virtual guint8 *map_on_host (GstMapFlags access, GError **error) = 0;
  virtual void unmap_on_host (GstMapFlags access) {}
  /* Enqueues what a map for reading will wait for; `event` stays empty where that is
   * nothing. */
  virtual bool map_ahead (TrackedEvent &event, GError **error) { return true; }

  GstOpenCLContext *const context;

protected:
  std::mutex lock; /* of everything below and in subclasses; never held while waiting */
};

class HostStorage : public Storage {
public:
  HostStorage (GstOpenCLContext *context, std::unique_ptr<PinnedBlock> block)
      : Storage (context), block (std::move (block))
  {
  }

  /* A transfer keeps the device's buffer alive but not this end of it. */
  ~HostStorage () override
  {
    Waits waits;
    bool blocked;
    events.append_waits (GST_MAP_READWRITE, waits);
    opencl::wait_on_host (waits, blocked, nullptr);
    block.reset ();
  }

  bool prepare (cl_command_queue queue, GstMapFlags access, WaitList &waits,
      GError **error) override
  {
    std::lock_guard<std::mutex> guard (lock);
    return events.collect_waits (queue, access, waits, error);
  }

  void end (cl_command_queue queue, GstMapFlags access, cl_event event) override
  {
    std::lock_guard<std::mutex> guard (lock);
    events.record (queue, access, event);
  }

  void discard () override
  {
    std::lock_guard<std::mutex> guard (lock);
    events.forget_failures ();
  }

  guint8 *map_on_host (GstMapFlags access, GError **error) override
  {
    Waits writes, reads;
    {
      std::lock_guard<std::mutex> guard (lock);
      events.append_waits (GST_MAP_READ, writes);
      if (access & GST_MAP_WRITE)
        events.append_waits (GST_MAP_WRITE, reads);
    }
    bool waited_for_data, waited_for_room;
    if (!opencl::wait_on_host (writes, waited_for_data, error))
      return nullptr;
    opencl::wait_on_host (reads, waited_for_room, nullptr); /* however they end */
    if (waited_for_data)
      gst_opencl_count_host_wait ();
    /* The source is a whole pool ahead of the transfers: that bounds its run-ahead. */
    if (waited_for_room)
      gst_opencl_count_throttled ();
    return block->data ();
  }

  guint8 *data () const { return block->data (); }

private:
  std::unique_ptr<PinnedBlock> block;
  AccessEvents events;
};

/* A cl_mem; subclasses say how the CPU sees it. */
class DeviceStorage : public Storage {
public:
  DeviceStorage (GstOpenCLContext *context, cl::Buffer buffer, gsize size)
      : Storage (context), size (size), buffer (std::move (buffer))
  {
  }

  ~DeviceStorage () override
  {
    g_clear_object (&deferred);
    buffer = cl::Buffer ();
    if (notify)
      give_back ();
  }

  /* The buffer has contents from elsewhere. */
  virtual void set_contents_on_device () = 0;

  cl_mem handle () const { return buffer (); }

  void defer (GstOpenCLDeferred *work, gsize offset)
  {
    discard ();
    replace_deferred (GST_OPENCL_DEFERRED (g_object_ref (work)), offset);
  }

  GstOpenCLDeferred *ref_deferred ()
  {
    std::lock_guard<std::recursive_mutex> guard (deferred_lock);
    return deferred ? GST_OPENCL_DEFERRED (g_object_ref (deferred)) : nullptr;
  }

  void set_notify (GDestroyNotify function, gpointer data)
  {
    notify = function;
    user_data = data;
  }

  const gsize size;

protected:
  void replace_deferred (GstOpenCLDeferred *work, gsize offset)
  {
    GstOpenCLDeferred *before;
    {
      std::lock_guard<std::recursive_mutex> guard (deferred_lock);
      before = deferred;
      deferred = work;
      deferred_offset = offset;
    }
    g_clear_object (&before); /* may free buffers, and so run anything */
  }

  /* Whoever comes second waits here until the first has enqueued it. */
  bool fill_deferred (GError **error)
  {
    std::lock_guard<std::recursive_mutex> guard (deferred_lock);
    if (!deferred)
      return true;
    GstOpenCLDeferred *work = deferred;
    deferred = nullptr; /* from here on this thread may use the memory */
    bool filled = enqueue_fill (work, error);
    g_object_unref (work);
    return filled;
  }

  cl::Buffer buffer;
  AccessEvents events; /* of buffer */

private:
  bool enqueue_fill (GstOpenCLDeferred *work, GError **error)
  {
    cl_command_queue queue =
        gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
    cl_event event;
    if (!begin (queue, GST_MAP_WRITE, error))
      return false;
    bool enqueued = GST_OPENCL_DEFERRED_GET_CLASS (work)->fill (
        work, buffer (), deferred_offset, queue, error);
    if (!gst_opencl_check (clEnqueueMarkerWithWaitList (queue, 0, nullptr, &event),
            "clEnqueueMarkerWithWaitList", enqueued ? error : nullptr))
      return false;
    clFlush (queue);
    end (queue, GST_MAP_WRITE, event);
    if (const GstOpenCLFrame *source = gst_opencl_deferred_get_source (work)) {
      GstOpenCLFrame read = *source;
      gst_opencl_frame_unmap (&read, event);
    }
    clReleaseEvent (event);
    return enqueued;
  }

  /* Tells the application that its buffer is free, once nothing uses it. The context
   * lets go in the order it is asked to, so the last of the events stands for all. */
  void give_back ()
  {
    Waits pending;
    events.append_waits (GST_MAP_READWRITE, pending);
    if (pending.empty ()) {
      notify (user_data);
      return;
    }
    TrackedEvent last = pending.back ();
    pending.pop_back ();
    for (const TrackedEvent &event : pending)
      gst_opencl_context_release_after (
          context, event (), [] (gpointer) {}, nullptr);
    gst_opencl_context_release_after (context, last (), notify, user_data);
  }

  /* Held while it is enqueued; the thread that does so uses the memory meanwhile. */
  std::recursive_mutex deferred_lock;
  GstOpenCLDeferred *deferred = nullptr; /* (nullable): what will make the contents, */
  gsize deferred_offset = 0;             /* and from which byte on */

  GDestroyNotify notify = nullptr;
  gpointer user_data = nullptr;
};

/* The CPU's view is a copy in pinned memory. */
class StagedStorage : public DeviceStorage {
public:
  using DeviceStorage::DeviceStorage;

  /* The staging memory may still be on its way. */
  ~StagedStorage () override
  {
    Waits waits;
    bool blocked;
    staging_events.append_waits (GST_MAP_READWRITE, waits);
    opencl::wait_on_host (waits, blocked, nullptr);
  }

  bool prepare (cl_command_queue queue, GstMapFlags access, WaitList &waits,
      GError **error) override
  {
    if (!fill_deferred (error))
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

  void discard () override
  {
    replace_deferred (nullptr, 0);
    std::lock_guard<std::mutex> guard (lock);
    on_device = on_host = false;
    staged_from = TrackedEvent ();
    events.forget_failures ();
    staging_events.forget_failures ();
  }

  guint8 *map_on_host (GstMapFlags access, GError **error) override
  {
    Waits writes, reads;
    if (!fill_deferred (error))
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
    if (!opencl::wait_on_host (writes, waited_for_data, error)) {
      std::lock_guard<std::mutex> guard (lock);
      on_host = false;
      return nullptr;
    }
    opencl::wait_on_host (reads, waited_for_room, nullptr); /* however they end */
    if (waited_for_data || waited_for_room)
      gst_opencl_count_host_wait ();
    return staging->data ();
  }

  void unmap_on_host (GstMapFlags access) override
  {
    if (!(access & GST_MAP_WRITE))
      return;
    std::lock_guard<std::mutex> guard (lock);
    on_host = true;
    on_device = false;
    staged_from = TrackedEvent ();
  }

  bool map_ahead (TrackedEvent &event, GError **error) override
  {
    if (!fill_deferred (error))
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

    if (!events.enqueue_waits (queue, device_access, error)
        || !staging_events.enqueue_waits (queue, staging_access, error))
      return false;
    cl_int code = to_device ? clEnqueueWriteBuffer (queue, buffer (), CL_FALSE, 0, size,
                      staging->data (), 0, nullptr, &event)
                            : clEnqueueReadBuffer (queue, buffer (), CL_FALSE, 0, size,
                                staging->data (), 0, nullptr, &event);
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
    if (!transfer (gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_UPLOAD),
            GST_MAP_WRITE, GST_MAP_READ, error))
      return false;
    gst_opencl_count_upload (size);
    on_device = true;
    return true;
  }

  bool download (GError **error)
  {
    TrackedEvent made = events.last_write ();
    made.status (); /* or PoCL would never end what waits for one that had failed */
    if (!transfer (gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_DOWNLOAD),
            GST_MAP_READ, GST_MAP_WRITE, error))
      return false;
    gst_opencl_count_download (size);
    staged_from = made;
    on_host = true;
    return true;
  }

  std::unique_ptr<PinnedBlock> staging; /* made at the first CPU map */
  AccessEvents staging_events;          /* of staging */
  /* What made the bytes that were downloaded to staging. The download itself succeeds
   * also when that failed, and its bytes are stale then. */
  TrackedEvent staged_from;
  /* Where the contents are; nowhere while undefined. */
  bool on_device = false;
  bool on_host = false;
};

/* The device works in the host's memory: the CPU's view is the buffer itself. What the
 * CPU wrote is the device's once the buffer is no longer mapped for writing, and that is
 * when the device wants it: between two maps nothing is to be done. */
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
    if (!fill_deferred (error))
      return false;
    std::lock_guard<std::mutex> guard (lock);
    /* The end of a mapping counts as a write, and so waits as one. */
    if (!is_in_the_way_of (access))
      return events.collect_waits (queue, access, waits, error);
    return events.enqueue_waits (queue, GST_MAP_READWRITE, error)
           && end_mapping (queue, error);
  }

  void end (cl_command_queue queue, GstMapFlags access, cl_event event) override
  {
    std::lock_guard<std::mutex> guard (lock);
    events.record (queue, access, event);
    if (access & GST_MAP_WRITE)
      is_undefined = false;
  }

  void discard () override
  {
    replace_deferred (nullptr, 0);
    std::lock_guard<std::mutex> guard (lock);
    is_undefined = true;
    events.forget_failures ();
  }

  guint8 *map_on_host (GstMapFlags access, GError **error) override
  {
    bool waited_for_data = false, waited_for_room = false;
    if (!fill_deferred (error)
        || !wait_for_device (access, waited_for_data, waited_for_room, error))
      return nullptr;
    guint8 *bytes = map_now (access, waited_for_data, error);
    if (waited_for_data)
      gst_opencl_count_host_wait ();
    /* A source is a whole pool ahead of the device: that bounds its run-ahead. */
    if (waited_for_room)
      gst_opencl_count_throttled ();
    return bytes;
  }

  void unmap_on_host (GstMapFlags access) override
  {
    std::lock_guard<std::mutex> guard (lock);
    users--;
    if (access & GST_MAP_WRITE)
      is_undefined = false;
  }

  bool map_ahead (TrackedEvent &event, GError **error) override
  {
    if (!fill_deferred (error))
      return false;
    cl_command_queue queue =
        gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_DOWNLOAD);
    std::lock_guard<std::mutex> guard (lock);
    events.last_write ().status (); /* or PoCL would never end what waits for a failure */
    if (!mapping.covers (GST_MAP_READ)
        && !(events.enqueue_waits (queue, GST_MAP_READ, error)
             && enqueue_mapping (queue, GST_MAP_READ, error)))
      return false;
    event = TrackedEvent (mapping.ready () ());
    return true;
  }

  void set_contents_on_device () override { is_undefined = false; }

private:
  /* Whoever maps for the CPU against all rules, while the device writes, keeps his map.
   */
  bool is_in_the_way_of (GstMapFlags access) const
  {
    return access & GST_MAP_WRITE ? mapping.exists () && users == 0
                                  : mapping.is_writable ();
  }

  bool end_mapping (cl_command_queue queue, GError **error)
  {
    cl::Event ended;
    /* A decoder reads on in the picture that it has written. */
    const bool enqueued = users > 0
                              ? mapping.enqueue (queue, GST_MAP_READ, true, ended, error)
                              : mapping.enqueue_end (queue, ended, error);
    if (enqueued)
      events.record (queue, GST_MAP_WRITE, ended ());
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
    if (!opencl::wait_on_host (
            writes, is_for_data ? waited_for_data : waited_for_room, error))
      return false;
    bool blocked;
    opencl::wait_on_host (reads, blocked, nullptr); /* however they end */
    waited_for_room |= blocked;
    return true;
  }

  /* The command is soon over and no wait for data, but where it was enqueued ahead. */
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
    const bool mapped = opencl::wait_on_host ({ready}, blocked, error);
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

/* Every memory of either allocator; one that is shared has the same storage. */
struct StoredMemory {
  GstMemory parent;
  std::shared_ptr<Storage> storage;
};

StoredMemory *
stored (GstMemory *memory)
{
  return reinterpret_cast<StoredMemory *> (memory);
}

DeviceStorage &
device_storage (GstMemory *memory)
{
  return static_cast<DeviceStorage &> (*stored (memory)->storage);
}

HostStorage &
host_storage (GstMemory *memory)
{
  return static_cast<HostStorage &> (*stored (memory)->storage);
}
} // namespace

/* --- the allocators --- */

#define GST_TYPE_OPENCL_ALLOCATOR (gst_opencl_allocator_get_type ())
G_DECLARE_FINAL_TYPE (
    GstOpenCLAllocator, gst_opencl_allocator, GST, OPENCL_ALLOCATOR, GstAllocator)

struct _GstOpenCLAllocator {
  GstAllocator parent;
  GstOpenCLContext *context;
  gboolean host;
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLAllocator, gst_opencl_allocator, GST_TYPE_ALLOCATOR,
    GST_DEBUG_CATEGORY_INIT (gst_opencl_memory_debug, "openclmemory", 0, "OpenCL memory"))

/* `parent` is set for memory that shares another's storage. */
static GstMemory *
new_memory (GstAllocator *allocator, std::shared_ptr<Storage> storage, GstMemory *parent,
    GstMemoryFlags flags, gsize maxsize, gsize offset, gsize size)
{
  auto *memory = new StoredMemory;
  memory->storage = std::move (storage);
  gst_memory_init (&memory->parent, flags, allocator, parent, maxsize, 0, offset, size);
  return &memory->parent;
}

static std::shared_ptr<DeviceStorage>
new_storage_of (GstOpenCLContext *context, cl::Buffer buffer, gsize size)
{
  if (gst_opencl_context_shares_host_memory (context))
    return std::make_shared<SharedStorage> (context, std::move (buffer), size);
  return std::make_shared<StagedStorage> (context, std::move (buffer), size);
}

static std::shared_ptr<Storage>
new_device_storage (GstOpenCLContext *context, gsize size, GError **error)
{
  const bool shares = gst_opencl_context_shares_host_memory (context);
  cl::Buffer buffer = opencl::make_buffer (
      context, CL_MEM_READ_WRITE | (shares ? CL_MEM_ALLOC_HOST_PTR : 0), size, error);
  return buffer () ? new_storage_of (context, std::move (buffer), size) : nullptr;
}

static std::shared_ptr<Storage>
new_host_storage (GstOpenCLContext *context, gsize size, GError **error)
{
  std::unique_ptr<PinnedBlock> block = PinnedBlock::make (context, size, error);
  if (!block)
    return nullptr;
  return std::make_shared<HostStorage> (context, std::move (block));
}

static GstMemory *
allocate (GstOpenCLContext *context, gboolean host, gsize size, GError **error)
{
  gsize room = MAX (size, 1); /* OpenCL has no empty buffers */
  std::shared_ptr<Storage> storage = host ? new_host_storage (context, room, error)
                                          : new_device_storage (context, room, error);
  if (!storage)
    return nullptr;
  GstAllocator *allocator = gst_opencl_context_get_allocator (context, host);
  GstMemory *memory = new_memory (
      allocator, std::move (storage), nullptr, GstMemoryFlags (0), room, 0, size);
  gst_object_unref (allocator);
  return memory;
}

static GstMemory *
gst_opencl_allocator_alloc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstOpenCLAllocator *self = GST_OPENCL_ALLOCATOR (allocator);
  GError *error = nullptr;
  GstMemory *memory = allocate (
      self->context, self->host, size + params->prefix + params->padding, &error);
  if (!memory) {
    GST_ERROR_OBJECT (self, "%s", error->message);
    g_clear_error (&error);
    return nullptr;
  }
  gst_memory_resize (memory, params->prefix, size);
  return memory;
}

static void
gst_opencl_allocator_free (GstAllocator *allocator, GstMemory *memory)
{
  delete stored (memory);
}

/* Commands of the compute queue between map and unmap are ordered with all others. */
static cl_command_queue
mapped_queue (Storage &storage)
{
  return gst_opencl_context_get_queue (storage.context, GST_OPENCL_QUEUE_COMPUTE);
}

static gpointer
map_to_device (GstMemory *memory, GstMapFlags access, GError **error)
{
  DeviceStorage &storage = device_storage (memory);
  if (!storage.begin (mapped_queue (storage), access, error))
    return nullptr;
  /* gst_memory_map() adds the offset; GstMapInfo.data is to be the cl_mem itself. */
  return reinterpret_cast<guint8 *> (storage.handle ()) - memory->offset;
}

static gpointer
gst_opencl_allocator_map (GstMemory *memory, GstMapInfo *info, gsize maxsize)
{
  GError *error = nullptr;
  gpointer data;

  if (!(info->flags & GST_MAP_OPENCL))
    data = stored (memory)->storage->map_on_host (info->flags, &error);
  else if (gst_is_opencl_memory (memory))
    data = map_to_device (memory, info->flags, &error);
  else
    data = nullptr; /* host memory has no cl_mem of use to a kernel */

  if (error) {
    GST_ERROR_OBJECT (memory->allocator, "cannot map: %s", error->message);
    g_clear_error (&error);
  }
  return data;
}

static void
gst_opencl_allocator_unmap (GstMemory *memory, GstMapInfo *info)
{
  Storage &storage = *stored (memory)->storage;
  if (!(info->flags & GST_MAP_OPENCL)) {
    storage.unmap_on_host (info->flags);
    return;
  }
  cl_command_queue queue = mapped_queue (storage);
  cl_event event;
  cl_int code = clEnqueueMarkerWithWaitList (queue, 0, nullptr, &event);
  if (code != CL_SUCCESS) {
    GST_ERROR_OBJECT (memory->allocator, "clEnqueueMarkerWithWaitList failed: %s",
        gst_opencl_error_name (code));
    return;
  }
  clFlush (queue);
  storage.end (queue, info->flags, event);
  clReleaseEvent (event);
}

static GstMemory *
gst_opencl_allocator_share (GstMemory *memory, gssize offset, gssize size)
{
  GstMemory *parent = memory->parent ? memory->parent : memory;
  gsize bytes = size == -1 ? memory->size - offset : gsize (size);

  return new_memory (memory->allocator, stored (memory)->storage, parent,
      GstMemoryFlags (
          GST_MINI_OBJECT_FLAGS (parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY),
      memory->maxsize, memory->offset + offset, bytes);
}

static GstMemory *
gst_opencl_allocator_copy (GstMemory *memory, gssize offset, gssize size)
{
  GError *error = nullptr;
  gsize bytes = size == -1 ? memory->size - offset : gsize (size);
  GstMemory *copy =
      gst_opencl_memory_new (stored (memory)->storage->context, bytes, &error);

  if (copy && bytes > 0
      && !gst_opencl_memory_copy_async (copy, 0, memory, offset, bytes, nullptr, &error))
    g_clear_pointer (&copy, gst_memory_unref);
  if (error) {
    GST_ERROR_OBJECT (memory->allocator, "cannot copy: %s", error->message);
    g_clear_error (&error);
  }
  return copy;
}

static void
gst_opencl_allocator_finalize (GObject *object)
{
  gst_object_unref (GST_OPENCL_ALLOCATOR (object)->context);
  G_OBJECT_CLASS (gst_opencl_allocator_parent_class)->finalize (object);
}

static void
gst_opencl_allocator_class_init (GstOpenCLAllocatorClass *klass)
{
  GstAllocatorClass *allocator_class = GST_ALLOCATOR_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_opencl_allocator_finalize;
  allocator_class->alloc = gst_opencl_allocator_alloc;
  allocator_class->free = gst_opencl_allocator_free;
}

static void
gst_opencl_allocator_init (GstOpenCLAllocator *self)
{
  GstAllocator *allocator = GST_ALLOCATOR (self);

  allocator->mem_map_full = gst_opencl_allocator_map;
  allocator->mem_unmap_full = gst_opencl_allocator_unmap;
  allocator->mem_share = gst_opencl_allocator_share;
  GST_OBJECT_FLAG_SET (self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

GstAllocator *
gst_opencl_allocator_new (GstOpenCLContext *context, gboolean host)
{
  auto *self = static_cast<GstOpenCLAllocator *> (
      g_object_new (GST_TYPE_OPENCL_ALLOCATOR, nullptr));
  GstAllocator *allocator = GST_ALLOCATOR (self);

  gst_object_ref_sink (self);
  self->context = GST_OPENCL_CONTEXT (gst_object_ref (context));
  self->host = host;
  allocator->mem_type = host ? GST_OPENCL_HOST_MEMORY_NAME : GST_OPENCL_MEMORY_NAME;
  /* A copy of host memory is ordinary memory: GStreamer's own way does that. */
  if (!host)
    allocator->mem_copy = gst_opencl_allocator_copy;
  return allocator;
}

/* --- the public functions --- */

static gboolean
is_of (GstMemory *memory, gboolean host)
{
  return memory && GST_IS_OPENCL_ALLOCATOR (memory->allocator)
         && GST_OPENCL_ALLOCATOR (memory->allocator)->host == host;
}

gboolean
gst_is_opencl_memory (GstMemory *memory)
{
  return is_of (memory, FALSE);
}

gboolean
gst_is_opencl_host_memory (GstMemory *memory)
{
  return is_of (memory, TRUE);
}

GstMemory *
gst_opencl_memory_new (GstOpenCLContext *context, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return allocate (context, FALSE, size, error);
}

GstMemory *
gst_opencl_host_memory_new (GstOpenCLContext *context, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return allocate (context, TRUE, size, error);
}

GstMemory *
gst_opencl_memory_new_wrapped (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (handle != nullptr, nullptr);

  auto storage = new_storage_of (context, cl::Buffer (handle, true), size);
  storage->set_contents_on_device ();
  storage->set_notify (notify, user_data);
  GstAllocator *allocator = gst_opencl_context_get_allocator (context, FALSE);
  GstMemory *memory = new_memory (
      allocator, std::move (storage), nullptr, GstMemoryFlags (0), size, 0, size);
  gst_object_unref (allocator);
  return memory;
}

GstOpenCLContext *
gst_opencl_memory_get_context (GstMemory *memory)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), nullptr);
  return stored (memory)->storage->context;
}

cl_mem
gst_opencl_memory_get_handle (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_memory (memory), nullptr);
  return device_storage (memory).handle ();
}

gsize
gst_opencl_memory_get_offset (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_memory (memory), 0);
  return memory->offset;
}

guint8 *
gst_opencl_host_memory_get_data (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_host_memory (memory), nullptr);
  return host_storage (memory).data () + memory->offset;
}

gboolean
gst_opencl_memory_begin (
    GstMemory *memory, cl_command_queue queue, GstMapFlags access, GError **error)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), FALSE);
  return stored (memory)->storage->begin (queue, access, error);
}

void
gst_opencl_memory_end (
    GstMemory *memory, cl_command_queue queue, GstMapFlags access, cl_event event)
{
  g_return_if_fail (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory));
  stored (memory)->storage->end (queue, access, event);
}

void
gst_opencl_memory_discard (GstMemory *memory)
{
  g_return_if_fail (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory));
  stored (memory)->storage->discard ();
}

gboolean
gst_opencl_memory_map_ahead (GstMemory *memory, cl_event *event, GError **error)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), FALSE);
  g_return_val_if_fail (event != nullptr, FALSE);

  TrackedEvent enqueued;
  if (!stored (memory)->storage->map_ahead (enqueued, error))
    return FALSE;
  *event = enqueued ();
  if (*event)
    clRetainEvent (*event);
  return TRUE;
}

void
gst_opencl_memory_defer (GstMemory *memory, GstOpenCLDeferred *deferred)
{
  g_return_if_fail (gst_is_opencl_memory (memory));
  g_return_if_fail (GST_IS_OPENCL_DEFERRED (deferred));
  device_storage (memory).defer (deferred, memory->offset);
}

GstOpenCLDeferred *
gst_opencl_memory_ref_deferred (GstMemory *memory)
{
  g_return_val_if_fail (gst_is_opencl_memory (memory), nullptr);
  return device_storage (memory).ref_deferred ();
}

/* --- copies --- */

namespace {
/* One row for each direction of a copy. */
struct Direction {
  bool to_host;
  bool from_host;
  GstOpenCLQueue queue;
  const char *call;
  cl_int (*enqueue) (cl_command_queue queue, GstMemory *destination, gsize to,
      GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event);
  void (*count) (gsize size);
};

cl_int
enqueue_on_device (cl_command_queue queue, GstMemory *destination, gsize to,
    GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event)
{
  return clEnqueueCopyBuffer (queue, device_storage (source).handle (),
      device_storage (destination).handle (), from, to, size, waits.size (),
      waits.data (), event);
}

cl_int
enqueue_upload (cl_command_queue queue, GstMemory *destination, gsize to,
    GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event)
{
  return clEnqueueWriteBuffer (queue, device_storage (destination).handle (), CL_FALSE,
      to, size, host_storage (source).data () + from, waits.size (), waits.data (),
      event);
}

cl_int
enqueue_download (cl_command_queue queue, GstMemory *destination, gsize to,
    GstMemory *source, gsize from, gsize size, const WaitList &waits, cl_event *event)
{
  return clEnqueueReadBuffer (queue, device_storage (source).handle (), CL_FALSE, from,
      size, host_storage (destination).data () + to, waits.size (), waits.data (), event);
}

void
count_copy (gsize size)
{
  gst_opencl_count_launches (1);
}

const Direction directions[] = {
    {false, false, GST_OPENCL_QUEUE_COMPUTE, "clEnqueueCopyBuffer", enqueue_on_device,
        count_copy},
    {false, true, GST_OPENCL_QUEUE_UPLOAD, "clEnqueueWriteBuffer", enqueue_upload,
        gst_opencl_count_upload},
    {true, false, GST_OPENCL_QUEUE_DOWNLOAD, "clEnqueueReadBuffer", enqueue_download,
        gst_opencl_count_download},
};

const Direction *
find_direction (GstMemory *destination, GstMemory *source)
{
  for (const Direction &direction : directions) {
    if (direction.to_host == bool (gst_is_opencl_host_memory (destination))
        && direction.from_host == bool (gst_is_opencl_host_memory (source)))
      return &direction;
  }
  return nullptr;
}
} // namespace

gboolean
gst_opencl_memory_copy_async (GstMemory *destination, gsize destination_offset,
    GstMemory *source, gsize source_offset, gsize size, cl_event *event, GError **error)
{
  const Direction *direction = find_direction (destination, source);
  g_return_val_if_fail (direction != nullptr, FALSE);
  g_return_val_if_fail (destination_offset + size <= destination->size, FALSE);
  g_return_val_if_fail (source_offset + size <= source->size, FALSE);

  GstOpenCLContext *context = stored (destination)->storage->context;
  cl_command_queue queue = gst_opencl_context_get_queue (context, direction->queue);
  WaitList waits (queue);
  if (!stored (source)->storage->prepare (queue, GST_MAP_READ, waits, error)
      || !stored (destination)->storage->prepare (queue, GST_MAP_WRITE, waits, error))
    return FALSE;
  cl_event done;
  cl_int code =
      direction->enqueue (queue, destination, destination->offset + destination_offset,
          source, source->offset + source_offset, size, waits, &done);
  if (!gst_opencl_check (code, direction->call, error))
    return FALSE;
  clFlush (queue);
  direction->count (size);
  gst_opencl_memory_end (source, queue, GST_MAP_READ, done);
  gst_opencl_memory_end (destination, queue, GST_MAP_WRITE, done);
  if (event)
    *event = done;
  else
    clReleaseEvent (done);
  return TRUE;
}
