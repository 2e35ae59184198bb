/* Deferred work that fills a memory when it is first accessed
 *
 * An element may defer its work to the next element, which runs both in one launch. Any
 * other access to the memory runs the work first, and sees no difference.
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_DEFERRED (gst_opencl_deferred_get_type ())
GST_OPENCL_API
G_DECLARE_DERIVABLE_TYPE (
    GstOpenCLDeferred, gst_opencl_deferred, GST, OPENCL_DEFERRED, GObject)

/**
 * GstOpenCLDeferredClass:
 * @fill: enqueues on @queue the commands that write the contents to @data from byte
 *   @offset on, without waiting; called at most once, from any thread
 *
 * Work that an element has deferred. It holds its resources, including the source frame,
 * until it is done or the memory is discarded. If @fill fails, every reader of the memory
 * fails with its error.
 */
struct _GstOpenCLDeferredClass {
  GObjectClass parent_class;

  gboolean (*fill) (GstOpenCLDeferred *deferred, cl_mem data, gsize offset,
      cl_command_queue queue, GError **error);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * gst_opencl_deferred_set_source:
 * @deferred: work without a source
 * @source: a frame that is mapped for reading on the compute queue
 *
 * Sets the frame that @fill reads. @deferred holds a reference to its buffer.
 */
GST_OPENCL_API void gst_opencl_deferred_set_source (
    GstOpenCLDeferred *deferred, const GstOpenCLFrame *source);

/**
 * gst_opencl_deferred_get_source:
 *
 * A caller that runs the work itself unmaps a copy of the frame, with the event of the
 * command that read it, because the work may run more than once.
 *
 * Returns: (transfer none) (nullable): the source, %NULL if none is set
 */
GST_OPENCL_API const GstOpenCLFrame *gst_opencl_deferred_get_source (
    GstOpenCLDeferred *deferred);

G_END_DECLS
