/* Shares the storage of acquired external buffers (cl_khr_external_memory)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "storage.hpp"

#include <map>

namespace opencl {
/* A buffer must not be acquired again before it is released. Until then all memories that
 * wrap it share one storage, and the last of them releases it. Each context has one
 * object of this class. */
class AcquiredBuffers {
public:
  /* @notify (nullable) is called once all memories with the returned pointer are freed
   * and the device has finished with the buffer. For the last user, this includes the
   * release. */
  std::shared_ptr<Storage> acquire (GstOpenCLContext *context, cl_mem handle, gsize size,
      const ExternalCalls &calls, gpointer user_data, GDestroyNotify notify,
      GError **error);

private:
  struct Use;
  struct Entry {
    std::shared_ptr<DeviceStorage> storage; /* nullptr once it is released */
    guint users = 0;
    TrackedEvent released; /* the next acquire waits for it */
  };

  bool ensure_acquired (Entry &entry, GstOpenCLContext *context, cl_mem handle,
      gsize size, const ExternalCalls &calls, GError **error);
  void end (Use &use);
  void forget_released ();

  std::mutex lock; /* held while a buffer is acquired or released */
  std::map<cl_mem, Entry> entries;
};
} // namespace opencl
