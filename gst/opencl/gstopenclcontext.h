/* Context: a device, its cl_context and its command queues, shared between elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_CONTEXT (gst_opencl_context_get_type ())
GST_OPENCL_API
G_DECLARE_FINAL_TYPE (
    GstOpenCLContext, gst_opencl_context, GST, OPENCL_CONTEXT, GstObject)

/**
 * GST_OPENCL_CONTEXT_TYPE:
 *
 * Type of the #GstContext, and name of its field that holds the #GstOpenCLContext.
 *
 * Since: 0.2
 */
#define GST_OPENCL_CONTEXT_TYPE "gst.opencl.context"

/**
 * GST_OPENCL_DEVICE_DEFAULT:
 *
 * Default of the elements' `device` property: the environment's `GST_OPENCL_DEVICE`, or
 * where that is unset the best GPU, else the best CPU (gst_opencl_context_new()).
 *
 * Since: 0.2
 */
#define GST_OPENCL_DEVICE_DEFAULT "auto"

/**
 * GstOpenCLQueue:
 * @GST_OPENCL_QUEUE_COMPUTE: kernels
 * @GST_OPENCL_QUEUE_UPLOAD: host to device
 * @GST_OPENCL_QUEUE_DOWNLOAD: device to host
 *
 * In-order command queues. Every streaming thread has one of each kind for its elements, up
 * to a maximum number of threads; the application has one of each kind for itself.
 *
 * Since: 0.2
 */
typedef enum {
  GST_OPENCL_QUEUE_COMPUTE,
  GST_OPENCL_QUEUE_UPLOAD,
  GST_OPENCL_QUEUE_DOWNLOAD,
} GstOpenCLQueue;

#define GST_TYPE_OPENCL_QUEUE (gst_opencl_queue_get_type ())
/**
 * gst_opencl_queue_get_type:
 *
 * Returns: the #GType of #GstOpenCLQueue
 *
 * Since: 0.2
 */
GST_OPENCL_API GType gst_opencl_queue_get_type (void);

/**
 * gst_opencl_context_new:
 * @device: (nullable): `auto`, `gpu`, `cpu`, `accelerator`, `PLATFORM:DEVICE` by index (as
 *   `clinfo -l` lists them), or part of the device's name; %NULL is `auto`
 * @error: set to %GST_OPENCL_ERROR_NO_DEVICE with the devices that are there, or with what
 *   the one that was named lacks; or when a call fails
 *
 * A GPU with memory of its own is preferred to one that works in the host's memory, that
 * to a CPU and that to an accelerator; among those, the one with more memory, then the
 * first in the order of the platforms. Only devices that are available and know OpenCL 1.2
 * or later are chosen. `auto` chooses only devices that have a compiler; others, such as
 * FPGA boards, run programs that were compiled elsewhere.
 *
 * Returns the existing context of the same device while a reference to it is held.
 *
 * Returns: (transfer full) (nullable): a context
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_context_new (
    const gchar *device, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_context_new_wrapped:
 * @handle: (type gpointer): an application's context; retained
 * @device: (type gpointer): one of its devices
 * @queue: (type gpointer) (nullable): an in-order queue of both, retained, that all elements
 *   and threads run kernels on; %NULL to create a queue for each streaming thread
 * @error: set when @queue is out of order or not of @handle and @device, or a call fails
 *
 * The device's context from then on for elements that pick that device, unless it has
 * one already.
 *
 * Returns: (transfer full) (nullable): a context around the application's handles
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_context_new_wrapped (cl_context handle,
    cl_device_id device, cl_command_queue queue,
    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_context_get_handle:
 * @context: a context
 *
 * Returns: (type gpointer) (transfer none): its cl_context
 *
 * Since: 0.2
 */
GST_OPENCL_API cl_context gst_opencl_context_get_handle (GstOpenCLContext *context);

/**
 * gst_opencl_context_get_device:
 * @context: a context
 *
 * Returns: (type gpointer) (transfer none): its cl_device_id
 *
 * Since: 0.2
 */
GST_OPENCL_API cl_device_id gst_opencl_context_get_device (GstOpenCLContext *context);

/**
 * gst_opencl_context_get_queue:
 * @context: a context
 * @queue: which one
 *
 * For commands of the application: elements use queues of their own, which this function
 * does not return, unless the application supplied the compute queue. Commands between
 * gst_opencl_memory_begin() and gst_opencl_memory_end(), or between a map with
 * %GST_MAP_OPENCL and its unmap (compute queue), see all earlier writes to that memory.
 *
 * Returns: (type gpointer) (transfer none): the application's queue
 *
 * Since: 0.2
 */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_queue (
    GstOpenCLContext *context, GstOpenCLQueue queue);

/**
 * gst_opencl_context_get_device_name:
 * @context: a context
 *
 * Returns: (transfer none): CL_DEVICE_NAME; valid as long as @context
 *
 * Since: 0.2
 */
GST_OPENCL_API const gchar *gst_opencl_context_get_device_name (
    GstOpenCLContext *context);

/**
 * gst_opencl_context_to_gst_context:
 * @context: a context
 *
 * Returns: (transfer full): @context in a persistent #GstContext for
 *   gst_element_set_context()
 *
 * Since: 0.2
 */
GST_OPENCL_API GstContext *gst_opencl_context_to_gst_context (
    GstOpenCLContext *context) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_ensure_context:
 * @element: the element that needs a context
 * @device: (nullable): what its `device` property says
 * @context: (inout) (transfer full) (nullable): its context; nothing happens when it is
 *   set. Read and written under @element's object lock
 * @error: set when none could be made
 *
 * Takes the first of these contexts that fits @device and whose device still works:
 * the one that @element itself was given (gst_element_set_context(), the last one counts,
 * in every run), downstream's, upstream's, the one that the application gives when it is
 * asked; else makes one and tells the application. So two linked elements that were given
 * different ones keep them, and all others settle on one. No lock is held while a peer is
 * asked.
 *
 * Returns: whether @context is set
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_ensure_context (GstElement *element,
    const gchar *device, GstOpenCLContext **context,
    GError **error) G_GNUC_WARN_UNUSED_RESULT;

/**
 * gst_opencl_handle_set_context:
 * @element: the element that was given a context
 * @gst_context: (nullable): what it was given, of any type
 * @device: (nullable): what its `device` property says
 * @context: (inout) (transfer full) (nullable): its context. Read and written under
 *   @element's object lock
 *
 * For #GstElementClass.set_context(): takes the context into @context when @context is
 * %NULL, and the device matches and is not lost.
 *
 * Returns: whether @context is set from @gst_context
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_handle_set_context (GstElement *element,
    GstContext *gst_context, const gchar *device, GstOpenCLContext **context);

/**
 * gst_opencl_handle_context_query:
 * @element: the element that is asked
 * @query: a query of any type
 * @context: (nullable): the element's context
 *
 * Returns: whether @query was answered with @context
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_handle_context_query (
    GstElement *element, GstQuery *query, GstOpenCLContext *context);

G_END_DECLS
