/* Device memory (a GstMemory in a cl_mem) and pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:gstopenclmemory
 * @title: GstOpenCLMemory
 *
 * Device memory is one linear cl_mem. %GST_MAP_OPENCL maps it without waiting. A CPU map
 * blocks until the contents are available. It maps the cl_mem itself if the device works
 * in host memory, else pinned staging memory. Staging memory is allocated at the first
 * CPU map. After a CPU write it is uploaded at the next use on the device.
 *
 * Every memory records the events of its last write and of the reads since then, so that
 * commands on different queues wait for each other on the device. Only an upload on a
 * queue that all threads share waits on the host.
 *
 * A CPU map fails if the contents could not be computed or transferred. If the memory is
 * from an element's pool, the element posts an error, and a read-only map succeeds with a
 * size of 0 instead: theoraenc and vp8enc of GStreamer 1.22.0, which do not check maps,
 * would crash.
 */
#include "context.hpp"
#include "devicechoice.hpp"
#include "events.hpp"
#include "memory.hpp"

#include <gst/common/platform.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>

#include <cstring>
#include <mutex>
#include <vector>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_memory_debug);
#define GST_CAT_DEFAULT gst_opencl_memory_debug

using namespace opencl;

/* --- allocators --- */

G_DEFINE_TYPE_WITH_CODE (GstOpenCLAllocator, gst_opencl_allocator, GST_TYPE_ALLOCATOR,
    GST_DEBUG_CATEGORY_INIT (gst_opencl_memory_debug, "openclmemory", 0, "OpenCL memory"))

/* `parent` is set for sub-memory, which shares the storage of its parent. */
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
  return gst_opencl_context_shares_host_memory (context)
             ? make_shared_storage (context, std::move (buffer), size)
             : make_staged_storage (context, std::move (buffer), size);
}

static std::shared_ptr<Storage>
new_device_storage (
    GstOpenCLContext *context, gsize size, Contents contents, GError **error)
{
  const bool shares = gst_opencl_context_shares_host_memory (context);
  std::vector<guint8> zeros (contents == Contents::zeros ? size : 0);
  cl::Buffer buffer = make_buffer (context,
      CL_MEM_READ_WRITE | (shares ? CL_MEM_ALLOC_HOST_PTR : 0)
          | (zeros.empty () ? 0 : CL_MEM_COPY_HOST_PTR),
      size, error, zeros.empty () ? nullptr : zeros.data ());
  if (!buffer ())
    return nullptr;
  auto storage = new_storage_of (context, std::move (buffer), size);
  if (contents == Contents::zeros)
    storage->set_contents_on_device ();
  return storage;
}

static std::shared_ptr<Storage>
new_host_storage (
    GstOpenCLContext *context, gsize size, Contents contents, GError **error)
{
  std::unique_ptr<PinnedBlock> block = PinnedBlock::make (context, size, error);
  if (!block)
    return nullptr;
  if (contents == Contents::zeros)
    memset (block->data (), 0, size);
  return std::make_shared<HostStorage> (context, std::move (block));
}

static GstAllocator *ref_allocator (GstOpenCLContext *context, gboolean host);

GstMemory *
opencl::allocate_memory (GstOpenCLContext *context, gboolean host, gsize size,
    Contents contents, GError **error)
{
  if (!check_process (error))
    return nullptr;
  gsize room = MAX (size, 1); /* OpenCL has no empty buffers */
  std::shared_ptr<Storage> storage =
      host ? new_host_storage (context, room, contents, error)
           : new_device_storage (context, room, contents, error);
  if (!storage)
    return nullptr;
  GstAllocator *allocator = ref_allocator (context, host);
  GstMemory *memory = new_memory (
      allocator, std::move (storage), nullptr, GstMemoryFlags (0), room, 0, size);
  gst_object_unref (allocator);
  return memory;
}

GstMemory *
opencl::new_device_memory (std::shared_ptr<Storage> storage, gsize size)
{
  GstAllocator *allocator = ref_allocator (storage->context, FALSE);
  GstMemory *memory = new_memory (
      allocator, std::move (storage), nullptr, GstMemoryFlags (0), size, 0, size);
  gst_object_unref (allocator);
  return memory;
}

GstMemory *
opencl::wrap_memory (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify)
{
  GError *error = nullptr;
  cl::Buffer buffer = retained<cl::Buffer> (handle, &error);

  if (!buffer ()) {
    GST_ERROR_OBJECT (context, "%s", error->message);
    g_error_free (error);
    return nullptr;
  }
  auto storage = new_storage_of (context, std::move (buffer), size);
  storage->set_contents_on_device ();
  storage->set_notify (notify, user_data);
  return new_device_memory (std::move (storage), size);
}

static GstMemory *
gst_opencl_allocator_alloc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  GstOpenCLAllocator *self = GST_OPENCL_ALLOCATOR (allocator);
  GError *error = nullptr;
  GstOpenCLContext *context =
      self->context ? GST_OPENCL_CONTEXT (gst_object_ref (self->context))
                    : gst_opencl_context_new (GST_OPENCL_DEVICE_DEFAULT, &error);
  GstMemory *memory =
      context ? allocate_memory (context, self->host,
          size + params->prefix + params->padding, Contents::undefined, &error)
              : nullptr;
  gst_clear_object (&context);
  if (!memory) {
    GST_ERROR_OBJECT (self, "%s", error->message);
    g_clear_error (&error);
    return nullptr;
  }
  gst_memory_resize (memory, params->prefix, size);
  return memory;
}

/* A forked child keeps the storage, as it cannot use the device. */
static void
gst_opencl_allocator_free (GstAllocator *allocator, GstMemory *memory)
{
  if (!is_forked_child ())
    delete reinterpret_cast<StoredMemory *> (memory);
}

/* Queue for commands between a GST_MAP_OPENCL map and its unmap, which orders them with
 * all others. */
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

/* Reports a failed map to the element that allocated the frame, which posts an error. A
 * map for reading then succeeds with a size of 0, because some elements do not check
 * maps: theoraenc and vp8enc of GStreamer 1.22.0 would crash. An element that also
 * ignores the size reads zeros, never old contents. @error is (transfer full). */
static gpointer
fail_to_map (GstMemory *memory, GstMapInfo *info, GError *error)
{
  Storage &storage = storage_of (memory);
  guint8 *zeros = nullptr;

  GST_ERROR_OBJECT (memory->allocator, "cannot map: %s", error->message);
  if (storage.report_to_owner (error) && !(info->flags & GST_MAP_WRITE))
    zeros = storage.zeros (memory->maxsize);
  if (!zeros)
    return nullptr;
  info->size = info->maxsize = 0;
  info->user_data[0] = zeros; /* makes unmap do nothing */
  return zeros;
}

static gpointer
gst_opencl_allocator_map (GstMemory *memory, GstMapInfo *info, gsize maxsize)
{
  GError *error = nullptr;
  gpointer data;

  info->user_data[0] = nullptr;
  if (!check_process (&error))
    data = nullptr;
  else if (!(info->flags & GST_MAP_OPENCL))
    data = storage_of (memory).map_sync (info->flags, &error);
  else if (gst_is_opencl_memory (memory))
    data = map_to_device (memory, info->flags, &error);
  else
    data = nullptr; /* host memory has no cl_mem that a kernel can use */

  return error ? fail_to_map (memory, info, error) : data;
}

/* Waits for the commands that use the memory, because no event can be recorded for
 * them. */
static void
fail_to_unmap (GstMemory *memory, cl_command_queue queue, cl_int code)
{
  GError *error = nullptr;

  finish_with_timeout (queue);
  gst_opencl_check (code, "clEnqueueBarrierWithWaitList", &error);
  GST_ERROR_OBJECT (memory->allocator, "cannot unmap: %s", error->message);
  storage_of (memory).report_to_owner (error);
}

static void
gst_opencl_allocator_unmap (GstMemory *memory, GstMapInfo *info)
{
  Storage &storage = storage_of (memory);
  if (info->user_data[0] || is_forked_child ())
    return;
  if (!(info->flags & GST_MAP_OPENCL)) {
    storage.unmap (info->flags);
    return;
  }
  cl_command_queue queue = mapped_queue (storage);
  cl_event event;
  cl_int code = opencl::enqueue_end (queue, &event);
  if (code != CL_SUCCESS) {
    fail_to_unmap (memory, queue, code);
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

  return new_memory (memory->allocator,
      reinterpret_cast<StoredMemory *> (memory)->storage, parent,
      GstMemoryFlags (
          GST_MINI_OBJECT_FLAGS (parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY),
      memory->maxsize, memory->offset + offset, bytes);
}

static GstMemory *
gst_opencl_allocator_copy (GstMemory *memory, gssize offset, gssize size)
{
  GError *error = nullptr;
  gsize bytes = size == -1 ? memory->size - offset : gsize (size);
  GstMemory *copy = gst_opencl_memory_new (storage_of (memory).context, bytes, &error);

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
  gst_clear_object (&GST_OPENCL_ALLOCATOR (object)->context);
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

/* `context` is (nullable). */
static GstAllocator *
make_allocator (GstOpenCLContext *context, gboolean host)
{
  auto *self = static_cast<GstOpenCLAllocator *> (
      g_object_new (GST_TYPE_OPENCL_ALLOCATOR, nullptr));
  GstAllocator *allocator = GST_ALLOCATOR (self);

  gst_object_ref_sink (self);
  if (context)
    self->context = GST_OPENCL_CONTEXT (gst_object_ref (context));
  self->host = host;
  allocator->mem_type = host ? GST_OPENCL_HOST_MEMORY_NAME : GST_OPENCL_MEMORY_NAME;
  /* GStreamer's default implementation copies host memory to system memory. */
  if (!host)
    allocator->mem_copy = gst_opencl_allocator_copy;
  return allocator;
}

/* Registers an allocator for gst_allocator_find(). It holds no context, so that it keeps
 * no device in use. */
static void
register_allocator (gboolean host)
{
  GstAllocator *allocator = make_allocator (nullptr, host);
  GST_OBJECT_FLAG_SET (allocator, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  gst_allocator_register (allocator->mem_type, allocator);
}

namespace {
/* The allocators of a context. They hold a reference to it, and it only weak ones. */
struct Allocators {
  Allocators ()
  {
    for (GWeakRef &allocator : known)
      g_weak_ref_init (&allocator, nullptr);
  }
  ~Allocators ()
  {
    for (GWeakRef &allocator : known)
      g_weak_ref_clear (&allocator);
  }

  GWeakRef known[2]; /* of device memory and of pinned host memory */
};
} // namespace

/* (transfer full) */
static GstAllocator *
ref_allocator (GstOpenCLContext *context, gboolean host)
{
  static std::once_flag registered;
  GWeakRef *known = &attached_to<Allocators> (context, "allocators").known[host ? 1 : 0];
  auto *allocator = static_cast<GstAllocator *> (g_weak_ref_get (known));

  std::call_once (registered, [] {
    register_allocator (FALSE);
    register_allocator (TRUE);
  });
  if (!allocator) {
    allocator = make_allocator (context, host);
    g_weak_ref_set (known, allocator);
  }
  return allocator;
}

/* --- public functions --- */

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

bool
opencl::is_in_context (GstMemory *memory, GstOpenCLContext *context)
{
  return (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory))
         && gst_opencl_context_get_handle (storage_of (memory).context)
                == gst_opencl_context_get_handle (context);
}

GstMemory *
gst_opencl_memory_new (GstOpenCLContext *context, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return opencl::allocate_memory (
      context, FALSE, size, opencl::Contents::undefined, error);
}

GstMemory *
gst_opencl_host_memory_new (GstOpenCLContext *context, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return opencl::allocate_memory (
      context, TRUE, size, opencl::Contents::undefined, error);
}

GstMemory *
gst_opencl_memory_new_wrapped (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (
      gst_opencl_context_check_buffer (context, handle, size, "buffer", nullptr),
      nullptr);

  return opencl::wrap_memory (context, handle, size, user_data, notify);
}

GstOpenCLContext *
gst_opencl_memory_get_context (GstMemory *memory)
{
  g_return_val_if_fail (
      gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory), nullptr);
  return storage_of (memory).context;
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
  opencl::Storage &storage = storage_of (memory);
  return check_process (error)
         && gst_opencl_context_check_queue (storage.context, queue, error)
         && storage.begin (queue, access, error);
}

void
gst_opencl_memory_end (
    GstMemory *memory, cl_command_queue queue, GstMapFlags access, cl_event event)
{
  g_return_if_fail (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory));
  opencl::Storage &storage = storage_of (memory);
  g_return_if_fail (gst_opencl_context_check_queue (storage.context, queue, nullptr));
  storage.end (queue, access, event);
}

void
gst_opencl_memory_invalidate (GstMemory *memory)
{
  g_return_if_fail (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory));
  storage_of (memory).invalidate ();
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

opencl::CopyEnd::CopyEnd (GstMemory *memory)
    : device (nullptr), host (nullptr), offset (memory->offset)
{
  if (gst_is_opencl_memory (memory))
    device = device_storage (memory).handle ();
  else
    host = host_storage (memory).data ();
}

cl_int
opencl::enqueue_bytes (cl_command_queue queue, const CopyEnd &to, gsize to_offset,
    const CopyEnd &from, gsize from_offset, gsize size, const WaitList *waits,
    cl_event *event)
{
  const cl_uint n = waits ? waits->size () : 0;
  const cl_event *events = waits ? waits->data () : nullptr;
  to_offset += to.offset;
  from_offset += from.offset;
  if (!from.device)
    return clEnqueueWriteBuffer (queue, to.device, CL_FALSE, to_offset, size,
        from.host + from_offset, n, events, Profiled (queue, command::upload, event));
  if (!to.device)
    return clEnqueueReadBuffer (queue, from.device, CL_FALSE, from_offset, size,
        to.host + to_offset, n, events, Profiled (queue, command::download, event));
  return clEnqueueCopyBuffer (queue, from.device, to.device, from_offset, to_offset, size,
      n, events, Profiled (queue, command::copy, event));
}

void
opencl::count_copy (const CopyEnd &to, const CopyEnd &from, gsize bytes)
{
  if (!from.device)
    gst_opencl_count_upload (bytes);
  else if (!to.device)
    gst_opencl_count_download (bytes);
  else
    gst_opencl_count_launches (1);
}

namespace {
/* Direction of a copy */
struct Direction {
  bool to_host;
  bool from_host;
  GstOpenCLQueue queue;
  const char *call;
};

const Direction directions[] = {
    {false, false, GST_OPENCL_QUEUE_COMPUTE, "clEnqueueCopyBuffer"},
    {false, true, GST_OPENCL_QUEUE_UPLOAD, "clEnqueueWriteBuffer"},
    {true, false, GST_OPENCL_QUEUE_DOWNLOAD, "clEnqueueReadBuffer"},
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

cl_context
handle_of (GstMemory *memory)
{
  return gst_opencl_context_get_handle (gst_opencl_memory_get_context (memory));
}

bool
is_ours (GstMemory *memory)
{
  return gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory);
}

const char *
type_of (GstMemory *memory)
{
  return memory && memory->allocator ? memory->allocator->mem_type : "no memory";
}

/* Returns the direction of a copy that can be enqueued, or nullptr with an error. */
const Direction *
check_direction (GstMemory *destination, GstMemory *source, GError **error)
{
  const char *fault = nullptr;
  const Direction *direction = nullptr;
  if (!is_ours (source) || !is_ours (destination))
    fault = "expected memory of an OpenCL device or pinned host memory";
  else if (handle_of (source) != handle_of (destination))
    fault = "expected memory of one context";
  else if (!(direction = find_direction (destination, source)))
    fault = "expected memory of an OpenCL device on one side";
  if (fault)
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "Cannot copy from %s to %s asynchronously: %s", type_of (source),
        type_of (destination), fault);
  return direction;
}

bool
check_range (GstMemory *memory, gsize offset, gsize size, GError **error)
{
  if (offset <= memory->size && size <= memory->size - offset)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "Cannot copy %" G_GSIZE_FORMAT " bytes at offset %" G_GSIZE_FORMAT
      ": the memory has %" G_GSIZE_FORMAT " bytes",
      size, offset, memory->size);
  return false;
}
} // namespace

gboolean
gst_opencl_memory_copy_async (GstMemory *destination, gsize destination_offset,
    GstMemory *source, gsize source_offset, gsize size, cl_event *event, GError **error)
{
  const Direction *direction = check_direction (destination, source, error);
  if (!direction || !check_range (destination, destination_offset, size, error)
      || !check_range (source, source_offset, size, error))
    return FALSE;

  GstOpenCLContext *context = storage_of (destination).context;
  cl_command_queue queue =
      gst_opencl_context_get_thread_queue (context, direction->queue);
  WaitList waits (context, queue);
  if (!storage_of (source).prepare (queue, GST_MAP_READ, waits, error)
      || !storage_of (destination).prepare (queue, GST_MAP_WRITE, waits, error))
    return FALSE;
  const CopyEnd to (destination), from (source);
  cl_event done;
  cl_int code = enqueue_bytes (
      queue, to, destination_offset, from, source_offset, size, &waits, &done);
  if (!gst_opencl_check (code, direction->call, error))
    return FALSE;
  clFlush (queue);
  count_copy (to, from, size);
  gst_opencl_memory_end (source, queue, GST_MAP_READ, done);
  gst_opencl_memory_end (destination, queue, GST_MAP_WRITE, done);
  if (event)
    *event = done;
  else
    clReleaseEvent (done);
  return TRUE;
}
