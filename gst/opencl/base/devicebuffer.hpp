/* Device buffers that hold no frame: tables and intermediate results
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/base/gstopenclstatistics.h>
#include <gst/opencl/base/opencl-hpp.hpp>

namespace opencl {
/* Like gst_opencl_check(), for a call that allocates or maps `size` bytes */
inline bool
check_bytes (
    cl_int code, const char *call, GstOpenCLContext *context, gsize size, GError **error)
{
  if (code == CL_SUCCESS)
    return true;
  gchar *text = g_strdup_printf ("%s of %" G_GSIZE_FORMAT " bytes on %s", call, size,
      gst_opencl_context_get_device_name (context));
  gst_opencl_check (code, text, error);
  g_free (text);
  return false;
}

/* Returns an empty buffer with an error if it could not be allocated. NVIDIA's driver
 * creates a buffer of any size, and fails when a kernel uses it. Therefore this compares
 * the size with that of the device's memory first. */
inline cl::Buffer
make_buffer (GstOpenCLContext *context, cl_mem_flags flags, gsize size, GError **error,
    const void *values = nullptr)
{
  cl::Buffer buffer;
  cl_int code = CL_INVALID_BUFFER_SIZE;

  if (size <= device_info<cl_ulong> (context, CL_DEVICE_GLOBAL_MEM_SIZE))
    buffer = cl::Buffer (clCreateBuffer (gst_opencl_context_get_handle (context), flags,
        size, const_cast<void *> (values), &code));
  check_bytes (code, "clCreateBuffer", context, size, error);
  return buffer;
}

inline cl::Buffer
make_buffer (GstOpenCLContext *context, gsize size, GError **error)
{
  return make_buffer (context, CL_MEM_READ_WRITE, size, error);
}

inline bool
make_buffer (GstOpenCLContext *context, gsize size, cl::Buffer &buffer, GError **error)
{
  buffer = make_buffer (context, size, error);
  return buffer () != nullptr;
}

/* Creates a buffer with these values and counts them as an upload. */
inline cl::Buffer
make_filled_buffer (GstOpenCLContext *context, const void *values, gsize size,
    GError **error, cl_mem_flags access = CL_MEM_READ_WRITE)
{
  cl::Buffer buffer =
      make_buffer (context, access | CL_MEM_COPY_HOST_PTR, size, error, values);
  if (buffer ())
    gst_opencl_count_upload (size);
  return buffer;
}

/* Creates a read-only buffer with these values. */
inline cl::Buffer
make_table (GstOpenCLContext *context, const void *values, gsize size, GError **error)
{
  return make_filled_buffer (context, values, size, error, CL_MEM_READ_ONLY);
}

/* Creates a read-only buffer, or shares one that has the same values already, such as the
 * weights of a network that two elements run. Nothing may write into it. */
inline cl::Buffer
share_table (GstOpenCLContext *context, const void *values, gsize size, GError **error)
{
  return cl::Buffer (gst_opencl_context_get_table (context, values, size, error));
}
} // namespace opencl
