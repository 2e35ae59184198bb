/* Shares the storage of acquired external buffers (cl_khr_external_memory)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "acquiredbuffers.hpp"

namespace opencl {
/* One call of acquire(). Lives until its last memory is freed. */
struct AcquiredBuffers::Use {
  AcquiredBuffers &buffers;
  std::shared_ptr<DeviceStorage> storage; /* holds the context, which owns `buffers` */
  GDestroyNotify notify;
  gpointer user_data;

  ~Use () { buffers.end (*this); }
};

std::shared_ptr<Storage>
AcquiredBuffers::acquire (GstOpenCLContext *context, cl_mem handle, gsize size,
    const ExternalCalls &calls, gpointer user_data, GDestroyNotify notify, GError **error)
{
  std::lock_guard<std::mutex> guard (lock);
  forget_released ();
  Entry &entry = entries[handle];
  if (!ensure_acquired (entry, context, handle, size, calls, error))
    return nullptr;
  entry.users++;
  auto *use = new Use{*this, entry.storage, notify, user_data};
  return std::shared_ptr<Storage> (std::shared_ptr<Use> (use), entry.storage.get ());
}

/* Uses staging memory on every device, because not every driver can map an external
 * buffer. */
bool
AcquiredBuffers::ensure_acquired (Entry &entry, GstOpenCLContext *context, cl_mem handle,
    gsize size, const ExternalCalls &calls, GError **error)
{
  if (entry.storage && entry.storage->size < size) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "The buffer was acquired with %" G_GSIZE_FORMAT
        " bytes, expected at least %" G_GSIZE_FORMAT,
        entry.storage->size, size);
    return false;
  }
  if (entry.storage)
    return true;
  cl::Buffer buffer = retained<cl::Buffer> (handle, error);
  if (!buffer ())
    return false;
  auto storage = make_staged_storage (context, std::move (buffer), size);
  if (!storage->acquire (calls, entry.released, error))
    return false;
  storage->set_contents_on_device ();
  entry.storage = std::move (storage);
  return true;
}

void
AcquiredBuffers::end (Use &use)
{
  {
    std::lock_guard<std::mutex> guard (lock);
    Entry &entry = entries.at (use.storage->handle ());
    if (--entry.users == 0) {
      entry.released = entry.storage->release ();
      entry.storage.reset ();
    }
  }
  use.storage->give_back (use.notify, use.user_data);
}

/* Forgets buffers whose release is complete, because their handles may be reused. */
void
AcquiredBuffers::forget_released ()
{
  for (auto entry = entries.begin (); entry != entries.end ();) {
    const bool is_over =
        !entry->second.storage && entry->second.released.status () <= CL_COMPLETE;
    entry = is_over ? entries.erase (entry) : std::next (entry);
  }
}
} // namespace opencl
