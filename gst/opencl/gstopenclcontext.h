/* gstreamer-opencl: a device, its cl_context and its queues, shared between elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_CONTEXT (gst_opencl_context_get_type ())
GST_OPENCL_API G_DECLARE_FINAL_TYPE (GstOpenCLContext, gst_opencl_context, GST,
    OPENCL_CONTEXT, GstObject)

/**
 * GST_OPENCL_CONTEXT_TYPE:
 *
 * Type of the #GstContext, and name of its field that holds the #GstOpenCLContext.
 */
#define GST_OPENCL_CONTEXT_TYPE "gst.opencl.context"

/**
 * GST_OPENCL_DEVICE_DEFAULT:
 *
 * Default of the elements' `device` property: the environment's `GST_OPENCL_DEVICE`, or
 * where that is unset the best GPU, else the best CPU.
 */
#define GST_OPENCL_DEVICE_DEFAULT "auto"

/**
 * GstOpenCLQueue:
 * @GST_OPENCL_QUEUE_COMPUTE: kernels
 * @GST_OPENCL_QUEUE_UPLOAD: host to device
 * @GST_OPENCL_QUEUE_DOWNLOAD: device to host
 *
 * The in-order queues of a context.
 */
typedef enum
{
  GST_OPENCL_QUEUE_COMPUTE,
  GST_OPENCL_QUEUE_UPLOAD,
  GST_OPENCL_QUEUE_DOWNLOAD,
} GstOpenCLQueue;

/**
 * gst_opencl_context_new:
 * @device: (nullable): `auto`, `gpu`, `cpu`, `PLATFORM:DEVICE` by index (as `clinfo -l`
 *   lists them), or part of the device's name; %NULL is `auto`
 * @error: set to %GST_OPENCL_ERROR_NO_DEVICE with the devices that are there
 *
 * Whoever asks for the same device gets the same context, as long as someone holds it.
 *
 * Returns: (transfer full) (nullable): a context
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_context_new (const gchar *device,
    GError **error);

/**
 * gst_opencl_context_new_wrapped:
 * @handle: an application's context; retained
 * @device: one of its devices
 * @queue: (nullable): an in-order queue of both to run kernels on, retained; %NULL to
 *   have one made
 * @error: set when @queue is out of order or not of @handle and @device, or a call fails
 *
 * The device's context from then on for elements that pick that device, unless it has
 * one already.
 *
 * Returns: (transfer full) (nullable): a context around the application's handles
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_context_new_wrapped (cl_context handle,
    cl_device_id device, cl_command_queue queue, GError **error);

GST_OPENCL_API cl_context gst_opencl_context_get_handle (GstOpenCLContext *context);
GST_OPENCL_API cl_device_id gst_opencl_context_get_device (GstOpenCLContext *context);

/**
 * gst_opencl_context_get_queue:
 *
 * Returns: (transfer none): one of the context's queues
 */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_queue (GstOpenCLContext *context,
    GstOpenCLQueue queue);

/**
 * gst_opencl_context_get_device_name:
 *
 * Returns: (transfer none): CL_DEVICE_NAME
 */
GST_OPENCL_API const gchar *gst_opencl_context_get_device_name (
    GstOpenCLContext *context);

/**
 * gst_opencl_context_shares_host_memory:
 *
 * Returns: whether the device works in the host's own memory (CPU, integrated GPU), so
 *   that nothing is copied between them. `GST_OPENCL_SHARE_MEMORY=1` (`0`) in the
 *   environment says so of every (no) device; it is read when a context is made
 */
GST_OPENCL_API gboolean gst_opencl_context_shares_host_memory (GstOpenCLContext *context);

/**
 * gst_opencl_context_matches:
 * @device: (nullable): as in gst_opencl_context_new()
 *
 * Returns: whether an element that wants @device can use @context; `auto` takes any
 */
GST_OPENCL_API gboolean gst_opencl_context_matches (GstOpenCLContext *context,
    const gchar *device);

/**
 * gst_opencl_context_get_program:
 * @source: OpenCL C
 * @options: (nullable): compiler options
 * @error: set to %GST_OPENCL_ERROR_BUILD; the lines after the first are the build log
 *
 * A program is built once for each pair of source and options and kept with the context.
 *
 * Returns: (transfer full) (nullable): to be given to clReleaseProgram()
 */
GST_OPENCL_API cl_program gst_opencl_context_get_program (GstOpenCLContext *context,
    const gchar *source, const gchar *options, GError **error);

/**
 * gst_opencl_context_create_kernel:
 * @resource: path of a #GResource that holds OpenCL C
 * @kernel: a kernel in it
 * @options: (nullable): compiler options
 * @error: set when the resource, the build or the kernel fails
 *
 * Returns: (transfer full) (nullable): a kernel of the caller's own, to be given to
 *   clReleaseKernel(); its program is shared as in gst_opencl_context_get_program()
 */
GST_OPENCL_API cl_kernel gst_opencl_context_create_kernel (GstOpenCLContext *context,
    const gchar *resource, const gchar *kernel, const gchar *options, GError **error);

/**
 * gst_opencl_context_get_n_builds:
 *
 * Returns: how many programs were built in this context so far
 */
GST_OPENCL_API guint gst_opencl_context_get_n_builds (GstOpenCLContext *context);

/**
 * gst_opencl_context_release_after:
 * @event: (transfer none): a command's event, on a queue that was flushed
 * @notify: called once @event has completed or failed, in a thread of the context
 * @user_data: what it is called with
 *
 * Keeps host memory that a transfer still reads (a mapped #GstBuffer) until it is done,
 * without anybody waiting for it.
 */
GST_OPENCL_API void gst_opencl_context_release_after (GstOpenCLContext *context,
    cl_event event, GDestroyNotify notify, gpointer user_data);

/**
 * gst_opencl_context_to_gst_context:
 *
 * Returns: (transfer full): @context in a persistent #GstContext for
 *   gst_element_set_context()
 */
GST_OPENCL_API GstContext *gst_opencl_context_to_gst_context (GstOpenCLContext *context);

/**
 * gst_opencl_ensure_context:
 * @element: the element that needs a context
 * @device: (nullable): what its `device` property says
 * @context: (inout) (transfer full): its context; nothing happens when it is set
 * @error: set when none could be made
 *
 * Of several contexts that @device and a device that still works allow, takes the first of:
 * the one that @element itself was given (gst_element_set_context(), the last one counts,
 * in every run), downstream's, upstream's, the one that the application gives when it is
 * asked; else makes one and tells the application. So two linked elements that were given
 * different ones keep them, and all others settle on one. No lock is held while a peer is
 * asked.
 *
 * Returns: whether @context is set
 */
GST_OPENCL_API gboolean gst_opencl_ensure_context (GstElement *element,
    const gchar *device, GstOpenCLContext **context, GError **error);

/**
 * gst_opencl_handle_set_context:
 *
 * For #GstElementClass.set_context(): takes the context into @context when @context is
 * %NULL, and the device matches and is not lost.
 *
 * Returns: whether @context is set from @gst_context
 */
GST_OPENCL_API gboolean gst_opencl_handle_set_context (GstElement *element,
    GstContext *gst_context, const gchar *device, GstOpenCLContext **context);

/**
 * gst_opencl_handle_context_query:
 * @context: (nullable): the element's context
 *
 * Returns: whether @query was answered with @context
 */
GST_OPENCL_API gboolean gst_opencl_handle_context_query (GstElement *element,
    GstQuery *query, GstOpenCLContext *context);

G_END_DECLS
