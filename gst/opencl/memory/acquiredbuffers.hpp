/* External buffers that are acquired, each of them once
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "storage.hpp"

#include <map>

namespace opencl {
/* A buffer must not be acquired again before it is released. All memories that are made
 * around it in the meantime share its storage, and the last of them releases it. A
 * context has one of these. */
class AcquiredBuffers {
public:
  /* @notify is called when all memories with the returned pointer are gone and the device
   * has finished what uses the buffer, for the last user after the release. (nullable) */
  std::shared_ptr<Storage> acquire (GstOpenCLContext *context, cl_mem handle, gsize size,
      const ExternalCalls &calls, gpointer user_data, GDestroyNotify notify,
      GError **error);

private:
  struct Use;
  struct Entry {
    std::shared_ptr<DeviceStorage> storage; /* nullptr once it is released */
    guint users = 0;
    TrackedEvent released; /* which the next acquire has to wait for */
  };

  bool ensure_acquired (Entry &entry, GstOpenCLContext *context, cl_mem handle,
      gsize size, const ExternalCalls &calls, GError **error);
  void end (Use &use);
  void forget_released ();

  std::mutex lock; /* held while a buffer is acquired or released */
  std::map<cl_mem, Entry> entries;
};
} // namespace opencl
