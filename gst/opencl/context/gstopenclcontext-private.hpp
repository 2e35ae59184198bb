/* Functions of a context that only the library uses
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
 * Returns: whether the device works in the host's own memory (CPU, integrated GPU) and
 *   maps a buffer to one place each time, so that nothing is copied between them. `GST_OPENCL_SHARE_MEMORY=1` (`0`) in the
 *   environment says so of every (no) device; it is read when a context is made
 */
GST_OPENCL_API gboolean gst_opencl_context_shares_host_memory (GstOpenCLContext *context);

/**
 * gst_opencl_context_matches:
 * @context: a context
 * @device: (nullable): as in gst_opencl_context_new()
 *
 * Returns: whether an element that wants @device can use @context; `auto` takes any
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
 * Returns: (type gpointer) (transfer full) (nullable): a cl_program, to be given to
 *   clReleaseProgram()
 */
GST_OPENCL_API cl_program gst_opencl_context_get_program (
    GstOpenCLContext *context, const gchar *source, const gchar *options, GError **error);

/**
 * gst_opencl_context_release_after:
 * @context: a context
 * @event: (type gpointer) (transfer none): a command's event, on a queue that was flushed
 * @notify: (scope async): called once @event has completed or failed, in a thread of the
 *   context
 * @user_data: what it is called with
 *
 * Keeps host memory that a transfer still reads (a mapped #GstBuffer) until it is done,
 * without anybody waiting for it.
 */
GST_OPENCL_API void gst_opencl_context_release_after (
    GstOpenCLContext *context, cl_event event, GDestroyNotify notify, gpointer user_data);

/* For tests: the number of programs built so far, and of those that are kept. */
GST_OPENCL_API guint gst_opencl_context_get_n_builds (GstOpenCLContext *context);
GST_OPENCL_API guint gst_opencl_context_get_n_programs (GstOpenCLContext *context);

/* (transfer none): the calling thread's queue, which elements enqueue on. An application's
 * queue takes the place of every compute queue of its context. */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_thread_queue (
    GstOpenCLContext *context, GstOpenCLQueue queue);

/* Pinned memory is mapped on a queue of its own, so that mapping never waits for frames. */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_pinning_queue (
    GstOpenCLContext *context);

/* programsource.hpp for plugins: (transfer full) OpenCL C of a resource, a file or a text,
 * with the library's files included. */
GST_OPENCL_API gchar *gst_opencl_source_of_resource (const gchar *path, GError **error);
GST_OPENCL_API gchar *gst_opencl_source_of_file (const gchar *path, GError **error);
GST_OPENCL_API gchar *gst_opencl_source_of_text (const gchar *text);
G_END_DECLS

/* All of the calling thread's queues; valid as long as the context. */
opencl::ThreadQueues &gst_opencl_context_get_thread_queues (GstOpenCLContext *context);

/* Whether all threads' uploads go through `queue`, so that none of them may wait there. */
bool gst_opencl_context_is_shared_queue (
    GstOpenCLContext *context, cl_command_queue queue);

/* FALSE with an error where `queue`, or `buffer`, is of another cl_context: its commands
 * could not be ordered with those of `context`. The driver is not asked about queues of the
 * calling thread or the application.
 * `what` names the buffer, which has `size` bytes or more. */
bool gst_opencl_context_check_queue (
    GstOpenCLContext *context, cl_command_queue queue, GError **error);
bool gst_opencl_context_check_buffer (GstOpenCLContext *context, cl_mem buffer,
    gsize size, const char *what, GError **error);

/* The calling thread's staging ring for uploads from ordinary memory, or nullptr where the
 * device reads that memory itself. GST_OPENCL_STAGE_UPLOADS=1 (0) in the environment says
 * so for every (no) device; it is read when a context is made. */
opencl::StagingRing *gst_opencl_context_get_staging_ring (GstOpenCLContext *context);

/* Threads that copy for every staging ring. */
opencl::CopyThreads &gst_opencl_context_get_copy_threads (GstOpenCLContext *context);

/* The external buffers that the context has acquired. The first call makes the object by
 * `make`, since its type belongs to the layer above. */
opencl::AcquiredBuffers &gst_opencl_context_get_acquired_buffers (
    GstOpenCLContext *context, std::shared_ptr<opencl::AcquiredBuffers> (*make) ());

/* After an OpenCL call has failed: finds out whether that was the end of the device. From
 * then on the context is lost: an element that asks for the device gets a new context. The
 * check does not wait for work of frames. */
void gst_opencl_context_check_device (GstOpenCLContext *context);
bool gst_opencl_context_is_lost (GstOpenCLContext *context);

/* The device of the context around `handle` (nullable) does not answer: the context is
 * lost, and no thread waits for its commands any more. */
void gst_opencl_context_give_up (cl_context handle);
bool gst_opencl_context_was_given_up (cl_context handle);

/* gst_opencl_ensure_context() without asking the neighbours. */
gboolean gst_opencl_ensure_context_alone (
    GstElement *element, const gchar *device, GstOpenCLContext **context, GError **error);

/* (transfer full): the allocator of device memory, or of pinned host memory. It holds the
 * context; the context knows it as long as someone else does. */
GstAllocator *gst_opencl_context_get_allocator (GstOpenCLContext *context, gboolean host);

/* (transfer full), in gstopenclallocator.cpp */
GstAllocator *gst_opencl_allocator_new (GstOpenCLContext *context, gboolean host);
