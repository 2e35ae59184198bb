/* Memory types of the library and their allocators
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "storage.hpp"

#include <gst/opencl/gstopenclallocator.h>

struct _GstOpenCLAllocator {
  GstAllocator parent;
  GstOpenCLContext *context; /* (nullable): NULL in the registered allocators */
  gboolean host;             /* pinned host memory instead of device memory */
};

G_BEGIN_DECLS

/**
 * gst_opencl_memory_invalidate:
 * @memory: device or pinned host memory
 *
 * Declares the contents undefined, so that nothing is transferred to keep them. Pools do
 * this when a buffer returns.
 */
GST_OPENCL_API void gst_opencl_memory_invalidate (GstMemory *memory);

/**
 * gst_opencl_memory_defer:
 * @memory: device memory
 * @deferred: work that fills @memory
 *
 * Discards the contents of @memory. @deferred fills it when it is first accessed.
 */
GST_OPENCL_API void gst_opencl_memory_defer (
    GstMemory *memory, GstOpenCLDeferred *deferred);

/**
 * gst_opencl_memory_ref_deferred:
 * @memory: device memory
 *
 * Returns: (transfer full) (nullable): the work that will fill @memory, %NULL if none is
 *   pending
 */
GST_OPENCL_API GstOpenCLDeferred *gst_opencl_memory_ref_deferred (GstMemory *memory);

G_END_DECLS

namespace opencl {
/* Memory of either allocator. Sub-memories share the storage. */
struct StoredMemory {
  GstMemory parent;
  std::shared_ptr<Storage> storage;
};

inline Storage &
storage_of (GstMemory *memory)
{
  return *reinterpret_cast<StoredMemory *> (memory)->storage;
}

/* Returns whether other memory, such as a sub-memory, has the same storage. */
inline bool
is_storage_shared (GstMemory *memory)
{
  return reinterpret_cast<StoredMemory *> (memory)->storage.use_count () > 1;
}

inline DeviceStorage &
device_storage (GstMemory *memory)
{
  return static_cast<DeviceStorage &> (storage_of (memory));
}

inline HostStorage &
host_storage (GstMemory *memory)
{
  return static_cast<HostStorage &> (storage_of (memory));
}

/* Returns whether commands of `context` can access the memory directly. */
bool is_in_context (GstMemory *memory, GstOpenCLContext *context);

/* Initial contents of new memory */
enum class Contents { undefined, zeros };

/* (transfer full) (nullable): new device memory, or pinned host memory if `host` */
GstMemory *allocate_memory (GstOpenCLContext *context, gboolean host, gsize size,
    Contents contents, GError **error);

/* (transfer full) (nullable): device memory that wraps `handle`, which has contents
 * already */
GstMemory *wrap_memory (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify);

/* Source or destination of a copy: device memory, or bytes on the host */
struct CopyEnd {
  cl_mem device; /* or nullptr */
  guint8 *host;
  gsize offset;

  CopyEnd (cl_mem device, guint8 *host, gsize offset)
      : device (device), host (host), offset (offset)
  {
  }
  explicit CopyEnd (GstMemory *memory); /* device or pinned host memory */
};

/* Enqueues a copy of `size` bytes after `waits` (nullable). One end or both are on the
 * device. */
cl_int enqueue_bytes (cl_command_queue queue, const CopyEnd &to, gsize to_offset,
    const CopyEnd &from, gsize from_offset, gsize size, const WaitList *waits,
    cl_event *event);
/* Counts a copy as an upload, a download or a launch. */
void count_copy (const CopyEnd &to, const CopyEnd &from, gsize bytes);

/* (transfer full): the first `size` bytes of a storage as device memory */
GstMemory *new_device_memory (std::shared_ptr<Storage> storage, gsize size);

/* Returns data of a context, of which it owns one with this name. The first call makes
 * it. */
template <typename Data>
Data &
attached_to (GstOpenCLContext *context, const char *name)
{
  GST_OBJECT_LOCK (context);
  auto *data = static_cast<Data *> (g_object_get_data (G_OBJECT (context), name));
  if (!data) {
    data = new Data;
    g_object_set_data_full (G_OBJECT (context), name, data,
        [] (gpointer gone) { delete static_cast<Data *> (gone); });
  }
  GST_OBJECT_UNLOCK (context);
  return *data;
}
} // namespace opencl
