/* gstreamer-opencl: host memory that a device transfers from and to without a copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pinnedblock.hpp"

#include "gstopenclcontext-private.hpp"
#include "gstopenclerror.h"

namespace opencl {
static bool
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
make_buffer (GstOpenCLContext *context, cl_mem_flags flags, gsize size, GError **error)
{
  cl::Device device (gst_opencl_context_get_device (context), true);
  cl::Buffer buffer;
  cl_int code = CL_INVALID_BUFFER_SIZE;

  /* NVIDIA's driver makes a buffer of any size, and fails when a kernel wants it. */
  if (size <= device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE> ())
    buffer = cl::Buffer (clCreateBuffer (
        gst_opencl_context_get_handle (context), flags, size, nullptr, &code));
  return check_bytes (code, "clCreateBuffer", context, size, error) ? buffer
                                                                    : cl::Buffer ();
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
