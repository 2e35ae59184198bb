/* Imports memory of other APIs and devices as device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "context.hpp"
#include "devicechoice.hpp"
#include "memory.hpp"
#include "storage.hpp"

#include <gst/common/platform.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclexternal.h>

#include <cerrno>
#include <fcntl.h>
#include <map>
#include <unistd.h>

namespace opencl {
/* The library targets OpenCL 1.2 and does not link these functions. A loader or a driver
 * may lack them. */
struct ExternalCalls {
  /* As in OpenCL's headers, which declare these only for target version 3.0. */
  using Properties = cl_ulong;
  using CreateBuffer = cl_mem (CL_API_CALL *) (
      cl_context, const Properties *, cl_mem_flags, size_t, void *, cl_int *);

  /* Defined here, because their names differ between versions of the headers */
  static constexpr Properties opaque_fd = 0x2060, dma_buf = 0x2067;
  static constexpr Properties device_list = 0x2051, device_list_end = 0;

  CreateBuffer create_buffer = nullptr;
  EnqueueExternal acquire = nullptr;
  EnqueueExternal release = nullptr;

  /* Looks the functions up in the ICD loader and in the driver of the device. */
  static bool find (GstOpenCLContext *context, ExternalCalls &calls, GError **error);
};

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
    EnqueueExternal release = nullptr;
    TrackedEvent released; /* the next acquire waits for it */
  };

  bool ensure_acquired (Entry &entry, GstOpenCLContext *context, cl_mem handle,
      gsize size, const ExternalCalls &calls, GError **error);
  void end (Use &use);
  void forget_released ();

  std::mutex lock; /* held while a buffer is acquired or released */
  std::map<cl_mem, Entry> entries;
};

/* --- functions of the extension --- */

bool
ExternalCalls::find (GstOpenCLContext *context, ExternalCalls &calls, GError **error)
{
  const cl::Device device (gst_opencl_context_get_device (context), true);
  const auto of_driver = [&device] (const char *name) {
    return reinterpret_cast<EnqueueExternal> (find_platform_function (device, name));
  };

  calls.create_buffer = reinterpret_cast<CreateBuffer> (
      find_loaded_function ("clCreateBufferWithProperties"));
  calls.acquire = of_driver ("clEnqueueAcquireExternalMemObjectsKHR");
  calls.release = of_driver ("clEnqueueReleaseExternalMemObjectsKHR");
  if (calls.create_buffer && calls.acquire && calls.release)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "%s of %s does not have %s",
      calls.create_buffer ? "The driver" : "The OpenCL loader",
      gst_opencl_context_get_device_name (context),
      !calls.create_buffer ? "clCreateBufferWithProperties"
      : !calls.acquire     ? "clEnqueueAcquireExternalMemObjectsKHR"
                           : "clEnqueueReleaseExternalMemObjectsKHR");
  return false;
}

/* --- acquired buffers --- */

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
  if (!storage->acquire (calls.acquire, entry.released, error))
    return false;
  entry.release = calls.release;
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
      entry.released = entry.storage->release (entry.release);
      entry.storage.reset ();
    }
  }
  use.storage->notify_when_unused (use.notify, use.user_data);
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

/* --- public functions --- */

using opencl::AcquiredBuffers;
using opencl::ExternalCalls;

namespace {
struct HandleType {
  GstOpenCLHandleTypes type;
  const char *extension;
  const char *title;
  ExternalCalls::Properties property;
  bool knows_size; /* lseek() gives the size of a descriptor */
};
const HandleType handle_types[] = {
    {GST_OPENCL_HANDLE_OPAQUE_FD, "cl_khr_external_memory_opaque_fd", "an opaque",
        ExternalCalls::opaque_fd, false},
    {GST_OPENCL_HANDLE_DMA_BUF, "cl_khr_external_memory_dma_buf", "a dma_buf",
        ExternalCalls::dma_buf, true},
};

int
duplicate (int fd)
{
#ifdef G_OS_UNIX
  return fcntl (fd, F_DUPFD_CLOEXEC, 0);
#else
  return -1;
#endif
}

/* Duplicate of the caller's file descriptor. A successful import passes it to the
 * driver. */
class Descriptor {
public:
  explicit Descriptor (int of) : fd (duplicate (of)) {}
  ~Descriptor ()
  {
    if (fd >= 0)
      close (fd);
  }
  Descriptor (const Descriptor &) = delete;
  Descriptor &operator= (const Descriptor &) = delete;

  int get () const { return fd; }
  void give_away () { fd = -1; }

private:
  int fd;
};

const HandleType *
check_type (GstOpenCLContext *context, GstOpenCLHandleTypes type, GError **error)
{
  const GstOpenCLHandleTypes known = gst_opencl_context_get_import_types (context);
  const char *title = "this type of";

  for (const HandleType &row : handle_types) {
    if (row.type == type && (known & type))
      return &row;
    if (row.type == type)
      title = row.title;
  }
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "%s cannot import memory from %s file descriptor",
      gst_opencl_context_get_device_name (context), title);
  return nullptr;
}

bool
check_descriptor (const Descriptor &own, int fd, GError **error)
{
  if (own.get () >= 0)
    return true;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
      "Cannot import memory from file descriptor %d: %s", fd, g_strerror (errno));
  return false;
}

bool
check_size (const HandleType &type, const Descriptor &fd, gsize size, GError **error)
{
  const off_t has = type.knows_size ? lseek (fd.get (), 0, SEEK_END) : -1;

  if (has < 0 || gsize (has) >= size)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "A dma_buf has %" G_GINT64_FORMAT " bytes, expected at least %" G_GSIZE_FORMAT,
      gint64 (has), size);
  return false;
}
} // namespace

GType
gst_opencl_handle_types_get_type (void)
{
  static const GFlagsValue values[] = {
      {GST_OPENCL_HANDLE_OPAQUE_FD, "Opaque file descriptor (CUDA, Vulkan)", "opaque-fd"},
      {GST_OPENCL_HANDLE_DMA_BUF, "dma_buf file descriptor", "dma-buf"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_flags_register_static ("GstOpenCLHandleTypes", values);
  return type;
}

GstOpenCLHandleTypes
gst_opencl_context_get_import_types (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), GstOpenCLHandleTypes (0));

  [[maybe_unused]] const cl_device_id device = gst_opencl_context_get_device (context);
  guint types = 0;
#ifdef G_OS_UNIX /* elsewhere memory has no file descriptor */
  for (const HandleType &row : handle_types) {
    if (opencl::has_extension (device, row.extension))
      types |= row.type;
  }
#endif
  return GstOpenCLHandleTypes (types);
}

cl_mem
gst_opencl_context_import_fd (GstOpenCLContext *context, GstOpenCLHandleTypes type,
    gint fd, gsize size, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);

  const HandleType *row = check_type (context, type, error);
  ExternalCalls calls;
  if (!row || !ExternalCalls::find (context, calls, error))
    return nullptr;
  Descriptor own (fd);
  if (!check_descriptor (own, fd, error) || !check_size (*row, own, size, error))
    return nullptr;

  const cl_device_id device = gst_opencl_context_get_device (context);
  const ExternalCalls::Properties properties[] = {row->property,
      ExternalCalls::Properties (own.get ()), ExternalCalls::device_list,
      reinterpret_cast<ExternalCalls::Properties> (device),
      ExternalCalls::device_list_end, 0};
  cl_int code = CL_SUCCESS;
  cl_mem handle = calls.create_buffer (gst_opencl_context_get_handle (context),
      properties, CL_MEM_READ_WRITE, size, nullptr, &code);
  if (!opencl::check_bytes (code, "clCreateBufferWithProperties", context, size, error))
    return nullptr;
  own.give_away ();
  return handle; /* cppcheck-suppress returnDanglingLifetime ; not derived from `code` */
}

GstMemory *
gst_opencl_memory_new_acquired (GstOpenCLContext *context, cl_mem handle, gsize size,
    gpointer user_data, GDestroyNotify notify, GError **error)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  g_return_val_if_fail (handle != nullptr, nullptr);

  ExternalCalls calls;
  if (!gst_opencl_context_check_buffer (context, handle, size, "buffer", error)
      || !ExternalCalls::find (context, calls, error))
    return nullptr;
  auto &acquired = opencl::attached_to<AcquiredBuffers> (context, "acquired-buffers");
  std::shared_ptr<opencl::Storage> storage =
      acquired.acquire (context, handle, size, calls, user_data, notify, error);
  return storage ? opencl::new_device_memory (std::move (storage), size) : nullptr;
}

GstMemory *
gst_opencl_memory_new_from_fd (GstOpenCLContext *context, GstOpenCLHandleTypes type,
    gint fd, gsize size, gpointer user_data, GDestroyNotify notify, GError **error)
{
  const cl::Buffer imported (
      gst_opencl_context_import_fd (context, type, fd, size, error));
  if (!imported ())
    return nullptr;
  return gst_opencl_memory_new_acquired (
      context, imported (), size, user_data, notify, error);
}
