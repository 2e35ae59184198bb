/* Deferred work that fills a memory when it is first accessed
 *
 * An element may defer its work to the next element, which runs both in one launch. Any other
 * access to the memory runs the work first, and sees no difference.
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
 * @fill: enqueue on @queue what writes the contents to @data from byte @offset on, and
 *   wait for nothing; called at most once, from any thread
 *
 * Work that an element has not done yet. It keeps what it needs until it is done or the
 * memory is discarded; its source frame is kept for it. Where @fill fails, every reader
 * of the memory fails with its error.
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
 * @deferred: work that was not given a source yet
 * @source: a frame that is mapped for reading on the compute queue
 *
 * Keeps the buffer of @source, which @fill will read, as long as @deferred.
 */
GST_OPENCL_API void gst_opencl_deferred_set_source (
    GstOpenCLDeferred *deferred, const GstOpenCLFrame *source);

/**
 * gst_opencl_deferred_get_source:
 *
 * A function that runs the work itself unmaps a copy of the frame, with the event of the
 * command that read it, because the work may run more than once.
 *
 * Returns: (transfer none) (nullable): the source, if it was given one
 */
GST_OPENCL_API const GstOpenCLFrame *gst_opencl_deferred_get_source (
    GstOpenCLDeferred *deferred);

/**
 * gst_opencl_memory_defer:
 * @memory: device memory
 * @deferred: what will make its contents
 *
 * Replaces the contents of @memory by those that @deferred will make.
 */
GST_OPENCL_API void gst_opencl_memory_defer (
    GstMemory *memory, GstOpenCLDeferred *deferred);

/**
 * gst_opencl_memory_ref_deferred:
 * @memory: device memory
 *
 * Returns: (transfer full) (nullable): what will make its contents, %NULL when they are
 *   made
 */
GST_OPENCL_API GstOpenCLDeferred *gst_opencl_memory_ref_deferred (GstMemory *memory);

G_END_DECLS
