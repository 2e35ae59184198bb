/* Device memory (a GstMemory in a cl_mem) and pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GST_OPENCL_MEMORY_NAME:
 *
 * Type name of the allocator of device memory. If the device uses the host's memory,
 * buffers with system memory caps may have such memory, too.
 *
 * Since: 0.2
 */
#define GST_OPENCL_MEMORY_NAME "OpenCLMemory"

/**
 * GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY:
 *
 * Caps feature of device memory.
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
 * Maps device memory to its cl_mem, without waiting. #GstMapInfo.data is the cl_mem, in
 * which the memory's bytes begin at gst_opencl_memory_get_offset(). Commands on the
 * application's compute queue (gst_opencl_context_get_queue()) between map and unmap see
 * all earlier writes. All later users of the memory see what these commands write. For
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
 * @error: set if the device is out of memory
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
 * @size: its size in bytes, or less
 * @user_data: for @notify
 * @notify: (nullable) (scope async): called when the memory is freed and nothing on the
 *   device uses @handle for it any more, perhaps in a thread of the context
 *
 * The application must order its own commands on @handle with gst_opencl_memory_begin()
 * and gst_opencl_memory_end(), or finish them before.
 *
 * Returns: (transfer full) (nullable): device memory around the application's buffer, or
 *   %NULL if the driver does not retain it
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
 * @error: set if the host is out of memory
 *
 * Allocates pinned host memory, which transfers to or from the device without an
 * intermediate copy. A map waits for transfers that still write the memory. A map for
 * writing also waits for transfers that still read it.
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
 * Returns: offset of its bytes in the cl_mem (not 0 after resizing or sharing)
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
 * @error: set if a command could not be enqueued, or to %GST_OPENCL_ERROR_UNSUPPORTED if
 *   @queue belongs to another cl_context
 *
 * Makes commands enqueued on @queue from now on wait, on the device, for those they
 * depend on. A reader waits for the last write, a writer also for the reads since then.
 * Contents that a CPU map wrote are uploaded first, asynchronously.
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
 * @event: (type gpointer) (transfer none): the event of the last command on @queue that
 *   used @memory
 *
 * Later users of @memory wait for @event. Flush @queue afterwards.
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
 * @event: (out) (optional) (type gpointer) (transfer full): the event of the copy, to be
 *   released with clReleaseEvent()
 * @error: set if the copy could not be enqueued, to %GST_OPENCL_ERROR_UNSUPPORTED if a
 *   memory is of another kind or context, or to %GST_STREAM_ERROR_FORMAT if it is too
 *   short
 *
 * Enqueues a copy on the queue for its direction and flushes the queue. Does not wait.
 *
 * Returns: whether it was enqueued
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_memory_copy_async (GstMemory *destination,
    gsize destination_offset, GstMemory *source, gsize source_offset, gsize size,
    cl_event *event, GError **error);

G_END_DECLS
