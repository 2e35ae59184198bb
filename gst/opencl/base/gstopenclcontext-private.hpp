/* Private functions of contexts
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

#include <memory>

namespace opencl {
class AcquiredBuffers;
class CopyThreads;
class StagingRing;
class ThreadQueues;
} // namespace opencl

G_BEGIN_DECLS
/**
 * gst_opencl_context_shares_host_memory:
 * @context: a context
 *
 * Returns: whether the device uses the host's memory (CPU, integrated GPU) and maps a
 *   buffer to the same address each time, so that nothing is copied. The environment
 *   variable `GST_OPENCL_SHARE_MEMORY` (1 or 0) overrides this for every device. It is
 *   read when a context is created
 */
GST_OPENCL_API gboolean gst_opencl_context_shares_host_memory (GstOpenCLContext *context);

/**
 * gst_opencl_context_matches:
 * @context: a context
 * @device: (nullable): as in gst_opencl_context_new()
 *
 * Returns: whether an element with the property `device=@device` can use @context; `auto`
 *   matches any context
 */
GST_OPENCL_API gboolean gst_opencl_context_matches (
    GstOpenCLContext *context, const gchar *device);

/**
 * gst_opencl_context_get_program:
 * @context: a context
 * @source: OpenCL C
 * @options: (nullable): compiler options
 * @error: set to %GST_OPENCL_ERROR_BUILD; the lines after the first are the build log
 *
 * A program is built once for each pair of source and options. The context keeps the 64
 * programs that were used last; others live as long as their kernels.
 *
 * Returns: (type gpointer) (transfer full) (nullable): a cl_program, to be released with
 *   clReleaseProgram()
 */
GST_OPENCL_API cl_program gst_opencl_context_get_program (
    GstOpenCLContext *context, const gchar *source, const gchar *options, GError **error);

/**
 * gst_opencl_context_release_after:
 * @context: a context
 * @event: (type gpointer) (transfer none): the event of a command, on a queue that was
 *   flushed
 * @notify: (scope async): called once @event has completed or failed, in a thread of the
 *   context
 * @user_data: argument of @notify
 *
 * Keeps host memory, such as a mapped #GstBuffer, until a transfer has read it. Does not
 * wait.
 */
GST_OPENCL_API void gst_opencl_context_release_after (
    GstOpenCLContext *context, cl_event event, GDestroyNotify notify, gpointer user_data);

/* For tests: number of programs built so far, and number of programs in the cache. */
GST_OPENCL_API guint gst_opencl_context_get_n_builds (GstOpenCLContext *context);
GST_OPENCL_API guint gst_opencl_context_get_n_programs (GstOpenCLContext *context);

/* Returns the calling thread's queue, on which elements enqueue. If the application
 * supplied a compute queue, that is the compute queue of every thread. (transfer none) */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_thread_queue (
    GstOpenCLContext *context, GstOpenCLQueue queue);

/* Returns the queue that maps pinned memory. No frame uses it, so that mapping never
 * waits for frames. */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_pinning_queue (
    GstOpenCLContext *context);

/* Returns a read-only buffer with these values. Calls with the same values share it.
 * (transfer full) (nullable) */
GST_OPENCL_API cl_mem gst_opencl_context_get_table (
    GstOpenCLContext *context, const void *values, gsize size, GError **error);

/* programsource.hpp for plugins: OpenCL C of a resource, a file or a text, with the
 * library's files included. (transfer full) */
GST_OPENCL_API gchar *gst_opencl_source_of_resource (const gchar *path, GError **error);
GST_OPENCL_API gchar *gst_opencl_source_of_file (const gchar *path, GError **error);
GST_OPENCL_API gchar *gst_opencl_source_of_text (const gchar *text);
G_END_DECLS

/* Returns all queues of the calling thread. They are valid as long as the context. */
opencl::ThreadQueues &gst_opencl_context_get_thread_queues (GstOpenCLContext *context);

/* Returns true if all threads upload on `queue`. No command on it may wait for an event,
 * which would delay the uploads of other threads. */
bool gst_opencl_context_is_shared_queue (
    GstOpenCLContext *context, cl_command_queue queue);

/* Return false with an error if `queue` or `buffer` belongs to another cl_context,
 * because its commands could not be ordered with those of `context`. Queues of the
 * calling thread and of the application are known without asking the driver. `what` names
 * the buffer in the error. The buffer must have `size` bytes or more. */
bool gst_opencl_context_check_queue (
    GstOpenCLContext *context, cl_command_queue queue, GError **error);
bool gst_opencl_context_check_buffer (GstOpenCLContext *context, cl_mem buffer,
    gsize size, const char *what, GError **error);

/* Returns the calling thread's staging ring for uploads from pageable memory, or nullptr
 * if such uploads are not staged. By default they are staged if the device does not share
 * the host's memory. The environment variable GST_OPENCL_STAGE_UPLOADS (1 or 0) overrides
 * this for every device. It is read when a context is created. */
opencl::StagingRing *gst_opencl_context_get_staging_ring (GstOpenCLContext *context);

/* Returns the threads that copy for all staging rings. */
opencl::CopyThreads &gst_opencl_context_get_copy_threads (GstOpenCLContext *context);

/* Returns the external buffers that the context has acquired. The first call creates the
 * object with `make`, because its type belongs to a higher layer. */
opencl::AcquiredBuffers &gst_opencl_context_get_acquired_buffers (
    GstOpenCLContext *context, std::shared_ptr<opencl::AcquiredBuffers> (*make) ());

/* Call after an OpenCL call has failed. Checks whether the device still works. If it does
 * not, the context is lost, and an element that needs the device gets a new context. Does
 * not wait for commands of frames. */
void gst_opencl_context_check_device (GstOpenCLContext *context);
bool gst_opencl_context_is_lost (GstOpenCLContext *context);

/* Marks the context of `handle` (nullable) as lost, because its device does not answer.
 * No thread waits for its commands any more. */
void gst_opencl_context_give_up (cl_context handle);
bool gst_opencl_context_was_given_up (cl_context handle);

/* Like gst_opencl_ensure_context(), but does not query linked elements. */
gboolean gst_opencl_ensure_context_alone (
    GstElement *element, const gchar *device, GstOpenCLContext **context, GError **error);

/* Returns the allocator of device memory or of pinned host memory. It holds a reference
 * to the context, which has only a weak reference to it. (transfer full) */
GstAllocator *gst_opencl_context_get_allocator (GstOpenCLContext *context, gboolean host);

/* Defined in gstopenclallocator.cpp. (transfer full) */
GstAllocator *gst_opencl_allocator_new (GstOpenCLContext *context, gboolean host);
