/* Memory types of the library and their allocators
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "hoststorage.hpp"

#include <gst/opencl/gstopenclallocator.h>

struct _GstOpenCLAllocator {
  GstAllocator parent;
  GstOpenCLContext *context; /* (nullable): NULL in the registered allocators */
  gboolean host;             /* pinned host memory instead of device memory */
};

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

/* Initial contents of new memory */
enum class Contents { undefined, zeros };

/* (transfer full) (nullable): new device memory, or pinned host memory if `host` */
GstMemory *allocate_memory (GstOpenCLContext *context, gboolean host, gsize size,
    Contents contents, GError **error);

/* (transfer full) (nullable): device memory that wraps `handle`, which has contents
 * already */
GstMemory *wrap_memory (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify);

/* (transfer full) (nullable): device memory that wraps and acquires `handle`, a buffer
 * shared with another API */
GstMemory *acquire_memory (GstOpenCLContext *context, cl_mem handle, gsize size,
    const ExternalCalls &calls, gpointer user_data, GDestroyNotify notify,
    GError **error);
} // namespace opencl
