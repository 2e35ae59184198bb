/* Imports memory of other APIs and devices as device memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GstOpenCLHandleTypes:
 * @GST_OPENCL_HANDLE_OPAQUE_FD: a file descriptor that CUDA or Vulkan has exported from
 *   memory of the same device (cl_khr_external_memory_opaque_fd)
 * @GST_OPENCL_HANDLE_DMA_BUF: a file descriptor of a Linux dma_buf
 *   (cl_khr_external_memory_dma_buf)
 *
 * Kinds of handles from which memory is imported.
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
 * Returns: the kinds that the device can import, or 0
 *
 * Since: 0.3
 */
GST_OPENCL_API GstOpenCLHandleTypes gst_opencl_context_get_import_types (
    GstOpenCLContext *context);

/**
 * gst_opencl_context_import_fd:
 * @context: a context
 * @type: the kind of @fd, one of gst_opencl_context_get_import_types()
 * @fd: the file descriptor; the caller keeps it and may close it afterwards
 * @size: bytes of the memory, from its beginning
 * @error: set to %GST_OPENCL_ERROR_UNSUPPORTED if the device cannot import such memory,
 *   to %GST_STREAM_ERROR_FORMAT if a dma_buf has fewer bytes, to %GST_RESOURCE_ERROR_READ
 *   if @fd is invalid, or to the error of an OpenCL call
 *
 * Nothing is copied: the device reads what the other side writes. Commands may use the
 * memory while it is acquired, as that of gst_opencl_memory_new_acquired() is.
 *
 * Returns: (type gpointer) (transfer full) (nullable): a cl_mem of that memory, to be
 *   released with clReleaseMemObject()
 *
 * Since: 0.3
 */
GST_OPENCL_API cl_mem gst_opencl_context_import_fd (GstOpenCLContext *context,
    GstOpenCLHandleTypes type, gint fd, gsize size,
    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_memory_new_acquired:
 * @context: a context
 * @handle: (type gpointer): a cl_mem from gst_opencl_context_import_fd(); retained
 * @size: its size in bytes
 * @user_data: for @notify
 * @notify: (nullable) (scope async): called when the memory is freed and the device no
 *   longer uses it, perhaps in a thread of the context. For the last memory of @handle it
 *   is called after the release. Not called if this function fails
 * @error: set if @handle could not be acquired
 *
 * Acquires @handle on the device from its other users, until the returned memory is
 * freed. The other users must have finished with it before, and must not use it until
 * @notify. Memory that is reused, such as a camera's, is imported once and acquired for
 * each frame.
 *
 * If other memory of @context has already acquired @handle, both share the contents, and
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
 * @type: the kind of @fd, one of gst_opencl_context_get_import_types()
 * @fd: the file descriptor; the caller keeps it and may close it afterwards
 * @size: bytes of the memory, from its beginning
 * @user_data: for @notify
 * @notify: (nullable) (scope async): as for gst_opencl_memory_new_acquired()
 * @error: set as by gst_opencl_context_import_fd() and gst_opencl_memory_new_acquired()
 *
 * Imports and acquires memory that is used only once.
 *
 * Returns: (transfer full) (nullable): device memory that is shared with the other side
 *
 * Since: 0.3
 */
GST_OPENCL_API GstMemory *gst_opencl_memory_new_from_fd (GstOpenCLContext *context,
    GstOpenCLHandleTypes type, gint fd, gsize size, gpointer user_data,
    GDestroyNotify notify, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_END_DECLS
