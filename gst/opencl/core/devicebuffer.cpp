/* Device info, and device buffers that hold no frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "devicebuffer.hpp"

#include "deviceinfo.hpp"
#include "gstopenclcontext-private.hpp"
#include "profile.hpp"

namespace opencl {
bool
read_device_info (GstOpenCLContext *context, cl_device_info name, gsize size, void *value)
{
  cl_int code = clGetDeviceInfo (
      gst_opencl_context_get_device (context), name, size, value, nullptr);
  return gst_opencl_check (code, "clGetDeviceInfo", nullptr);
}

/* NULL if the driver does not tell it */
static cl_platform_id
platform_of (const cl::Device &device)
{
  cl_platform_id platform = nullptr;
  const cl_int code = clGetDeviceInfo (
      device (), CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  return gst_opencl_check (code, "clGetDeviceInfo", nullptr) ? platform : nullptr;
}

std::string
platform_text (const cl::Device &device, cl_platform_info name)
{
  const cl::Platform platform (platform_of (device), true);
  std::string text;
  if (platform ())
    platform.getInfo (name, &text);
  return text.c_str ();
}

void *
find_platform_function (const cl::Device &device, const char *name)
{
  const cl_platform_id platform = platform_of (device);
  return platform ? clGetExtensionFunctionAddressForPlatform (platform, name) : nullptr;
}

std::string
identity_of (const cl::Device &device)
{
  std::string identity;
  for (const std::string &text : {platform_text (device, CL_PLATFORM_NAME),
           platform_text (device, CL_PLATFORM_VERSION), device.getInfo<CL_DEVICE_NAME> (),
           device.getInfo<CL_DEVICE_VERSION> (), device.getInfo<CL_DRIVER_VERSION> ()})
    identity += text + '\n';
  return identity;
}

bool
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

cl::Buffer
make_buffer (GstOpenCLContext *context, cl_mem_flags flags, gsize size, GError **error,
    const void *values)
{
  cl::Buffer buffer;
  cl_int code = CL_INVALID_BUFFER_SIZE;

  if (size <= device_info<cl_ulong> (context, CL_DEVICE_GLOBAL_MEM_SIZE))
    buffer = cl::Buffer (clCreateBuffer (gst_opencl_context_get_handle (context), flags,
        size, const_cast<void *> (values), &code));
  check_bytes (code, "clCreateBuffer", context, size, error);
  return buffer;
}

cl::Buffer
make_filled_buffer (GstOpenCLContext *context, const void *values, gsize size,
    GError **error, cl_mem_flags access)
{
  cl::Buffer buffer =
      make_buffer (context, access | CL_MEM_COPY_HOST_PTR, size, error, values);
  if (buffer ())
    gst_opencl_count_upload (size);
  return buffer;
}

cl::Buffer
share_table (GstOpenCLContext *context, const void *values, gsize size, GError **error)
{
  auto make = [&] { return make_table (context, values, size, error); };
  return cl::Buffer (gst_opencl_context_get_table (context, values, size, make, error));
}

cl::Buffer
share_filled_table (GstOpenCLContext *context, gsize size,
    const std::function<void (void *)> &fill, GError **error)
{
  if (!is_cpu (context)) { /* may be slow to read what is mapped */
    std::vector<guint8> values (size);
    fill (values.data ());
    return share_table (context, values, error);
  }
  cl_command_queue queue = gst_opencl_context_get_pinning_queue (context);
  cl::Buffer buffer = make_buffer (context, CL_MEM_READ_ONLY, size, error), shared;
  cl_int code = CL_SUCCESS;
  void *values = buffer () ? clEnqueueMapBuffer (queue, buffer (), CL_TRUE,
                     CL_MAP_WRITE_INVALIDATE_REGION, 0, size, 0, nullptr, nullptr, &code)
                           : nullptr;
  if (!buffer () || !check_bytes (code, "clEnqueueMapBuffer", context, size, error))
    return shared;
  auto unmap = [&] {
    code = clEnqueueUnmapMemObject (
        queue, buffer (), std::exchange (values, nullptr), 0, nullptr, nullptr);
    if (!gst_opencl_check (code, "clEnqueueUnmapMemObject", error)
        || !gst_opencl_check (clFinish (queue), "clFinish", error))
      return cl::Buffer ();
    gst_opencl_count_upload (size);
    return std::move (buffer);
  };
  fill (values);
  shared =
      cl::Buffer (gst_opencl_context_get_table (context, values, size, unmap, error));
  if (values) /* another table has them */
    gst_opencl_check (
        clEnqueueUnmapMemObject (queue, buffer (), values, 0, nullptr, nullptr),
        "clEnqueueUnmapMemObject", nullptr);
  return shared;
}

std::unique_ptr<PinnedBlock>
PinnedBlock::make (GstOpenCLContext *context, gsize size, GError **error)
{
  std::unique_ptr<PinnedBlock> block (new PinnedBlock);
  cl_int code;

  block->queue = gst_opencl_context_get_pinning_queue (context);
  block->buffer =
      make_buffer (context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, error);
  if (!block->buffer ())
    return nullptr;
  block->bytes =
      static_cast<guint8 *> (clEnqueueMapBuffer (block->queue, block->buffer (), CL_TRUE,
          CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &code));
  if (!check_bytes (code, "clEnqueueMapBuffer", context, size, error))
    return nullptr;
  return block;
}

PinnedBlock::~PinnedBlock ()
{
  if (!bytes)
    return;
  clEnqueueUnmapMemObject (queue, buffer (), bytes, 0, nullptr, nullptr);
  clFlush (queue);
}
} // namespace opencl
