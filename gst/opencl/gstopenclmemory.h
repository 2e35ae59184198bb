/* Device memory (a GstMemory in a cl_mem) and pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

G_BEGIN_DECLS

/**
 * GST_OPENCL_MEMORY_NAME:
 *
 * Type name of the allocator of device memory. Where the device works in the host's
 * memory, such memory is also found in buffers whose caps are of system memory.
 *
 * Since: 0.2
 */
#define GST_OPENCL_MEMORY_NAME "OpenCLMemory"

/**
 * GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY:
 *
 * Feature of the caps of device memory.
 *
 * Since: 0.2
 */
#define GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "memory:OpenCLMemory"

/**
 * GST_OPENCL_HOST_MEMORY_NAME:
 *
 * Type name of the allocator of pinned host memory; its buffers are system memory.
 *
 * Since: 0.2
 */
#define GST_OPENCL_HOST_MEMORY_NAME "OpenCLHostMemory"

/**
 * GST_MAP_OPENCL:
 *
 * Maps device memory to its cl_mem, without waiting: #GstMapInfo.data is the cl_mem, in
 * which the memory's bytes begin at gst_opencl_memory_get_offset(). Commands of the
 * application's compute queue (gst_opencl_context_get_queue()) between map and unmap see
 * what was written before, and all users of the memory afterwards see what they write. For
 * other queues see gst_opencl_memory_begin().
 *
 * Since: 0.2
 */
#define GST_MAP_OPENCL ((GstMapFlags)(GST_MAP_FLAG_LAST << 1))

/**
 * gst_is_opencl_memory:
 * @memory: (nullable): any memory
 *
 * Returns: whether it is device memory of this library
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_is_opencl_memory (GstMemory *memory);

/**
 * gst_is_opencl_host_memory:
 * @memory: (nullable): any memory
 *
 * Returns: whether it is pinned host memory of this library
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_is_opencl_host_memory (GstMemory *memory);

/**
 * gst_opencl_memory_new:
 * @context: a context
 * @size: bytes
 * @error: set when the device has no room
 *
 * Returns: (transfer full) (nullable): device memory with undefined contents
 *
 * Since: 0.2
 */
GST_OPENCL_API GstMemory *gst_opencl_memory_new (
    GstOpenCLContext *context, gsize size, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_memory_new_wrapped:
 * @context: a context
 * @handle: (type gpointer): a buffer of @context; retained
 * @size: its bytes, or fewer
 * @user_data: for @notify
 * @notify: (nullable) (scope async): called when the memory is freed and nothing on the device uses
 *   @handle for it any more; then perhaps in a thread of the context
 *
 * The application orders its own commands on @handle with gst_opencl_memory_begin() and
 * gst_opencl_memory_end(), or has finished them before.
 *
 * Returns: (transfer full) (nullable): device memory around an application's buffer, %NULL
 *   where the driver does not retain it
 *
 * Since: 0.2
 */
GST_OPENCL_API GstMemory *gst_opencl_memory_new_wrapped (GstOpenCLContext *context,
    cl_mem handle, gsize size, gpointer user_data,
    GDestroyNotify notify) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_host_memory_new:
 * @context: a context
 * @size: bytes
 * @error: set when the host has no room
 *
 * Pinned host memory: a transfer to or from the device needs no copy. Its map waits for
 * a transfer that still writes it, and for writing also for one that still reads it.
 *
 * Returns: (transfer full) (nullable): host memory with undefined contents
 *
 * Since: 0.2
 */
GST_OPENCL_API GstMemory *gst_opencl_host_memory_new (
    GstOpenCLContext *context, gsize size, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_memory_get_context:
 * @memory: device or pinned host memory
 *
 * Returns: (transfer none): its context
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_memory_get_context (GstMemory *memory);

/**
 * gst_opencl_memory_get_handle:
 * @memory: device memory
 *
 * Returns: (type gpointer) (transfer none): its buffer, without any synchronisation
 *
 * Since: 0.2
 */
GST_OPENCL_API cl_mem gst_opencl_memory_get_handle (GstMemory *memory);

/**
 * gst_opencl_memory_get_offset:
 * @memory: device memory
 *
 * Returns: where its bytes begin in the cl_mem (not 0 after resizing or sharing)
 *
 * Since: 0.2
 */
GST_OPENCL_API gsize gst_opencl_memory_get_offset (GstMemory *memory);

/**
 * gst_opencl_host_memory_get_data:
 * @memory: pinned host memory
 *
 * Returns: (transfer none): its bytes, without any synchronisation, for transfers between
 *   gst_opencl_memory_begin() and gst_opencl_memory_end()
 *
 * Since: 0.2
 */
GST_OPENCL_API guint8 *gst_opencl_host_memory_get_data (GstMemory *memory);

/**
 * gst_opencl_memory_begin:
 * @memory: device or pinned host memory
 * @queue: (type gpointer): an in-order queue of its cl_context
 * @access: %GST_MAP_READ, %GST_MAP_WRITE or both
 * @error: set when a command could not be enqueued, to %GST_OPENCL_ERROR_UNSUPPORTED when
 *   @queue is of another cl_context
 *
 * Makes commands enqueued on @queue from now on wait, on the device, for those they
 * depend on: a reader for the last write, a writer for that and the reads since. Contents
 * that a CPU map wrote are uploaded first, asynchronously.
 *
 * Returns: whether the commands may be enqueued
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_memory_begin (GstMemory *memory,
    cl_command_queue queue, GstMapFlags access, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_memory_end:
 * @memory: device or pinned host memory
 * @queue: (type gpointer): as given to gst_opencl_memory_begin()
 * @access: as given to gst_opencl_memory_begin()
 * @event: (type gpointer) (transfer none): of the last command on @queue that used
 *   @memory
 *
 * Others that use @memory wait for @event from now on. Flush @queue afterwards.
 *
 * Since: 0.2
 */
GST_OPENCL_API void gst_opencl_memory_end (
    GstMemory *memory, cl_command_queue queue, GstMapFlags access, cl_event event);

/**
 * gst_opencl_memory_copy_async:
 * @destination: device or pinned host memory
 * @destination_offset: in bytes, from the memory's start
 * @source: device or pinned host memory of the same cl_context; not both host memory
 * @source_offset: in bytes, from the memory's start
 * @size: bytes
 * @event: (out) (optional) (type gpointer) (transfer full): of the copy, to be given to
 *   clReleaseEvent()
 * @error: set when the copy could not be enqueued, to %GST_OPENCL_ERROR_UNSUPPORTED when
 *   a memory is of another kind or context, or to %GST_STREAM_ERROR_FORMAT when it is too
 *   short
 *
 * Enqueues a copy on the queue of its direction and flushes it; waits for nothing.
 *
 * Returns: whether it was enqueued
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_memory_copy_async (GstMemory *destination,
    gsize destination_offset, GstMemory *source, gsize source_offset, gsize size,
    cl_event *event, GError **error);

G_END_DECLS
