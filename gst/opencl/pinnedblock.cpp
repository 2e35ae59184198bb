/* gstreamer-opencl: host memory that a device transfers from and to without a copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pinnedblock.hpp"

#include "gstopenclcontext-private.hpp"
#include "gstopenclerror.h"

namespace opencl {
bool
check_allocation (cl_int code, GstOpenCLContext *context, gsize size, GError **error)
{
  if (code == CL_SUCCESS)
    return true;
  gchar *call = g_strdup_printf ("clCreateBuffer of %" G_GSIZE_FORMAT " bytes on %s",
      size, gst_opencl_context_get_device_name (context));
  gst_opencl_check (code, call, error);
  g_free (call);
  return false;
}

std::unique_ptr<PinnedBlock>
PinnedBlock::make (GstOpenCLContext *context, gsize size, GError **error)
{
  std::unique_ptr<PinnedBlock> block (new PinnedBlock);
  cl_int code;

  block->queue = gst_opencl_context_get_pinning_queue (context);
  block->buffer = cl::Buffer (clCreateBuffer (gst_opencl_context_get_handle (context),
      CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, &code));
  if (!check_allocation (code, context, size, error))
    return nullptr;
  block->bytes =
      static_cast<guint8 *> (clEnqueueMapBuffer (block->queue, block->buffer (), CL_TRUE,
          CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &code));
  if (!gst_opencl_check (code, "clEnqueueMapBuffer", error))
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
