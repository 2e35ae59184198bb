/* Imports memory of other APIs and devices as device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/gstopenclexternal.h>

#include <gst/opencl/core/devicechoice.hpp>
#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/core/externalcalls.hpp>
#include "gstopenclallocator.hpp"
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclcheck.h>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

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

/* Duplicate of the caller's file descriptor. A successful import passes it to the
 * driver. */
class Descriptor {
public:
  explicit Descriptor (int of) : fd (fcntl (of, F_DUPFD_CLOEXEC, 0)) {}
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

  const cl_device_id device = gst_opencl_context_get_device (context);
  guint types = 0;
  for (const HandleType &row : handle_types) {
    if (opencl::has_extension (device, row.extension))
      types |= row.type;
  }
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
  return opencl::acquire_memory (context, handle, size, calls, user_data, notify, error);
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
