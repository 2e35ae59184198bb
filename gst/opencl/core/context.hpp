/* Private functions of contexts for the library
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/gstopenclcontext.h>

namespace opencl {
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
 *   variable `GST_OPENCL_DEBUG=share-memory=…` (1 or 0) overrides this for every device. It is
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
 * the host's memory. The environment variable GST_OPENCL_DEBUG=stage-uploads=… (1 or 0) overrides
 * this for every device. It is read when a context is created. */
opencl::StagingRing *gst_opencl_context_get_staging_ring (GstOpenCLContext *context);

/* Returns the threads that copy for all staging rings. */
opencl::CopyThreads &gst_opencl_context_get_copy_threads (GstOpenCLContext *context);

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
