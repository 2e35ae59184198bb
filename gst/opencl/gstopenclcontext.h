/* Context: a device, its cl_context and its command queues, shared between elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_CONTEXT (gst_opencl_context_get_type ())
#define GST_OPENCL_CONTEXT(object)                                                       \
  (G_TYPE_CHECK_INSTANCE_CAST ((object), GST_TYPE_OPENCL_CONTEXT, GstOpenCLContext))
#define GST_IS_OPENCL_CONTEXT(object)                                                    \
  (G_TYPE_CHECK_INSTANCE_TYPE ((object), GST_TYPE_OPENCL_CONTEXT))

/* G_DECLARE_FINAL_TYPE() would repeat the typedef of opencl-prelude.h, which C99 forbids. */
typedef struct {
  GstObjectClass parent_class;
} GstOpenCLContextClass;

/**
 * gst_opencl_context_get_type:
 *
 * Returns: the #GType of #GstOpenCLContext
 *
 * Since: 0.2
 */
GST_OPENCL_API GType gst_opencl_context_get_type (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GstOpenCLContext, gst_object_unref)

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
 * Default of the elements' `device` property. It selects the device in the environment
 * variable `GST_OPENCL_DEVICE`. If that is unset, it selects the best GPU, else the best
 * CPU (gst_opencl_context_new()).
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
 * In-order command queues. Up to a maximum number of threads, every streaming thread has
 * its own compute and download queue for its elements. All threads share one upload
 * queue. The application has its own queue of each kind.
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
 * @device: (nullable): `auto`, `gpu`, `cpu`, `accelerator`, `PLATFORM:DEVICE` by index
 *   (as `opencl-devices` lists them), or part of the device's name; %NULL is `auto`
 * @error: set to %GST_OPENCL_ERROR_NO_DEVICE, with the available devices or with what the
 *   named device lacks. Also set if a call fails
 *
 * The order of preference is: a GPU with its own memory, a GPU that uses the host's
 * memory, a CPU, an accelerator. Among those, a device with more memory is preferred,
 * then the first in the order of the platforms. Only available devices with OpenCL 1.2 or
 * later are chosen. `auto` chooses only devices with a compiler. Others, such as FPGA
 * boards, run programs that were compiled elsewhere.
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
 * @queue: (type gpointer) (nullable): an in-order queue of both, retained, on which all
 *   elements and threads run kernels; %NULL to create a queue for each streaming thread
 * @error: set if @queue is out-of-order or does not belong to @handle and @device, or if
 *   a call fails
 *
 * Elements that select this device use the context from then on, unless the device
 * already has one.
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
 * @queue: the kind of queue
 *
 * Gets a queue for the application's own commands. Elements use other queues, unless the
 * application supplied the compute queue. Commands between gst_opencl_memory_begin() and
 * gst_opencl_memory_end(), or between a map with %GST_MAP_OPENCL and its unmap (compute
 * queue), see all earlier writes to that memory.
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
 * @device: (nullable): the value of its `device` property
 * @context: (inout) (transfer full) (nullable): its context; if it is set, nothing
 *   happens. Read and written under @element's object lock
 * @error: set if no context could be created
 *
 * Takes the first of these contexts that matches @device and whose device is not lost:
 * the last one set on @element (gst_element_set_context(), in any run), one from
 * downstream, one from upstream, and one from the application, which is asked. Otherwise
 * creates a context and tells the application. Thus two linked elements keep different
 * contexts that were set on them, and all other elements share one. No lock is held while
 * a peer is queried.
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
 * @gst_context: (nullable): the context that it was given, of any type
 * @device: (nullable): the value of its `device` property
 * @context: (inout) (transfer full) (nullable): its context. Read and written under
 *   @element's object lock
 *
 * For #GstElementClass.set_context(): sets @context if it is %NULL, and if the device of
 * @gst_context matches and is not lost.
 *
 * Returns: whether @context is set from @gst_context
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_handle_set_context (GstElement *element,
    GstContext *gst_context, const gchar *device, GstOpenCLContext **context);

/**
 * gst_opencl_handle_context_query:
 * @element: the element that is queried
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
