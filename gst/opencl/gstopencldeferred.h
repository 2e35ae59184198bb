/* gstreamer-opencl: work that is still pending in a memory
 *
 * An element may leave its work to the one after it, which does both together. Everybody
 * else who uses the memory has the contents made at that moment, and sees no difference.
 *
 * Not installed, until somebody outside asks for it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclfilter.h>

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
 * Whoever does the work himself unmaps a copy of the frame, with the event of the command
 * that read it: the work may be done more than once.
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

/**
 * GstOpenCLTakenUp:
 * @GST_OPENCL_LEFT: nothing: the contents are made, and the element does its own work
 * @GST_OPENCL_TAKEN_UP: both works are enqueued or left to downstream
 * @GST_OPENCL_TAKE_UP_FAILED: an error is set
 */
typedef enum {
  GST_OPENCL_LEFT,
  GST_OPENCL_TAKEN_UP,
  GST_OPENCL_TAKE_UP_FAILED,
} GstOpenCLTakenUp;

/**
 * GstOpenCLDeferral:
 * @get_type: the #GstOpenCLDeferred that filters of a class leave to each other
 * @takes_up: (nullable): whether upstream may leave such work to @filter now; it is told
 * so in the answer to its ALLOCATION query. The filter's submit() is given no frame, but
 * %NULL, where it does and such work has come
 * @take_up: (nullable): do @pending together with the filter's own work, into @output, as
 *   #GstOpenCLFilterClass.process() would. Called only with work for the filter's very
 *   caps, that makes all of the input buffer, from memory of the filter's context
 *
 * What a class of filters does with pending work, see
 * gst_opencl_filter_class_set_deferral().
 */
typedef struct {
  GType (*get_type) (void);
  gboolean (*takes_up) (GstOpenCLFilter *filter);
  GstOpenCLTakenUp (*take_up) (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
      GstBuffer *output, cl_event *event, GError **error);
} GstOpenCLDeferral;

GST_OPENCL_API void gst_opencl_filter_class_set_deferral (
    GstOpenCLFilterClass *klass, const GstOpenCLDeferral *deferral);

/**
 * gst_opencl_filter_can_defer:
 * @input: the buffer that the work would read
 * @output: the buffer that it would make
 *
 * Returns: whether downstream takes such work up, and both are of one memory of the
 *   filter's context
 */
GST_OPENCL_API gboolean gst_opencl_filter_can_defer (
    GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output);

/**
 * gst_opencl_filter_defer:
 * @work: makes a frame of the filter's output caps in all of @output
 * @output: as gst_opencl_filter_can_defer() found it
 *
 * Leaves @work to downstream, with the caps, the offset, the size and the layout of
 * @output, by which the base class knows there whether it is still the frame that is
 * expected.
 */
GST_OPENCL_API void gst_opencl_filter_defer (
    GstOpenCLFilter *filter, GstOpenCLDeferred *work, GstBuffer *output);

G_END_DECLS
