/* Memory types of the library and their allocators
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "hoststorage.hpp"

#include <gst/opencl/gstopenclallocator.h>

struct _GstOpenCLAllocator {
  GstAllocator parent;
  GstOpenCLContext *context; /* (nullable): gst_allocator_find()'s has none */
  gboolean host;             /* pinned host memory instead of device memory */
};

namespace opencl {
/* Every memory of either allocator; one that is shared has the same storage. */
struct StoredMemory {
  GstMemory parent;
  std::shared_ptr<Storage> storage;
};

inline Storage &
storage_of (GstMemory *memory)
{
  return *reinterpret_cast<StoredMemory *> (memory)->storage;
}

/* Whether other memory, such as a part of it, has the same storage. */
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

/* (transfer full) (nullable): of either allocator */
GstMemory *allocate_memory (GstOpenCLContext *context, gboolean host, gsize size,
    Contents contents, GError **error);

/* (transfer full): device memory around `handle`, whose contents are there already */
GstMemory *wrap_memory (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify);

/* (transfer full) (nullable): the same of a buffer that is shared with others */
GstMemory *acquire_memory (GstOpenCLContext *context, cl_mem handle, gsize size,
    const ExternalCalls &calls, gpointer user_data, GDestroyNotify notify,
    GError **error);
} // namespace opencl
