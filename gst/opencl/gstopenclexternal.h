/* Imports memory of other APIs and devices as device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

G_BEGIN_DECLS

/**
 * GstOpenCLHandleTypes:
 * @GST_OPENCL_HANDLE_OPAQUE_FD: a file descriptor that CUDA or Vulkan has exported from
 *   memory of the same device (cl_khr_external_memory_opaque_fd)
 * @GST_OPENCL_HANDLE_DMA_BUF: a file descriptor of a Linux dma_buf
 *   (cl_khr_external_memory_dma_buf)
 *
 * Kinds of handles by which memory is imported.
 *
 * Since: 0.3
 */
typedef enum {
  GST_OPENCL_HANDLE_OPAQUE_FD = 1 << 0,
  GST_OPENCL_HANDLE_DMA_BUF = 1 << 1,
} GstOpenCLHandleTypes;

#define GST_TYPE_OPENCL_HANDLE_TYPES (gst_opencl_handle_types_get_type ())
/**
 * gst_opencl_handle_types_get_type:
 *
 * Returns: the #GType of #GstOpenCLHandleTypes
 *
 * Since: 0.3
 */
GST_OPENCL_API GType gst_opencl_handle_types_get_type (void);

/**
 * gst_opencl_context_get_import_types:
 * @context: a context
 *
 * Returns: what the device says that it can import; 0 where that is nothing
 *
 * Since: 0.3
 */
GST_OPENCL_API GstOpenCLHandleTypes gst_opencl_context_get_import_types (
    GstOpenCLContext *context);

/**
 * gst_opencl_context_import_fd:
 * @context: a context
 * @type: what @fd is: one of gst_opencl_context_get_import_types()
 * @fd: stays the caller's, who may close it when this returns
 * @size: bytes of the memory from its beginning
 * @error: set to %GST_OPENCL_ERROR_UNSUPPORTED where the device imports no such memory, to
 *   %GST_STREAM_ERROR_FORMAT where a dma_buf has fewer bytes, to %GST_RESOURCE_ERROR_READ
 *   where @fd is none, or to what the device says
 *
 * Nothing is copied: what the other side writes is what the device reads. Commands may use
 * it while it is acquired, as memory of gst_opencl_memory_new_acquired() is.
 *
 * Returns: (type gpointer) (transfer full) (nullable): a cl_mem of that memory, to be given
 *   to clReleaseMemObject()
 *
 * Since: 0.3
 */
GST_OPENCL_API cl_mem gst_opencl_context_import_fd (GstOpenCLContext *context,
    GstOpenCLHandleTypes type, gint fd, gsize size,
    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_memory_new_acquired:
 * @context: a context
 * @handle: (type gpointer): of gst_opencl_context_import_fd(); retained
 * @size: its bytes
 * @user_data: for @notify
 * @notify: (nullable) (scope async): called when the memory is freed and the device has
 *   done with it, for the last memory of @handle after the release; perhaps in a thread of
 *   the context. Not called where this fails
 * @error: set when it could not be acquired
 *
 * Acquires @handle on the device from those who share it, until the returned memory is
 * freed. They have finished with it before, and leave it alone until @notify. For memory
 * that comes again and again, such as a camera's: imported once, acquired for each frame.
 *
 * Where @handle is acquired already by memory of @context, both share the contents, and
 * @handle is released when the last of them is freed. Each @notify is called for its own
 * memory.
 *
 * Returns: (transfer full) (nullable): device memory around @handle
 *
 * Since: 0.3
 */
GST_OPENCL_API GstMemory *gst_opencl_memory_new_acquired (GstOpenCLContext *context,
    cl_mem handle, gsize size, gpointer user_data, GDestroyNotify notify,
    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_memory_new_from_fd:
 * @context: a context
 * @type: what @fd is: one of gst_opencl_context_get_import_types()
 * @fd: stays the caller's, who may close it when this returns
 * @size: bytes of the memory from its beginning
 * @user_data: for @notify
 * @notify: (nullable) (scope async): as for gst_opencl_memory_new_acquired()
 * @error: as of gst_opencl_context_import_fd() and gst_opencl_memory_new_acquired()
 *
 * Both in one, for memory that is handed over once.
 *
 * Returns: (transfer full) (nullable): device memory that is the other side's, too
 *
 * Since: 0.3
 */
GST_OPENCL_API GstMemory *gst_opencl_memory_new_from_fd (GstOpenCLContext *context,
    GstOpenCLHandleTypes type, gint fd, gsize size, gpointer user_data,
    GDestroyNotify notify, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_END_DECLS
