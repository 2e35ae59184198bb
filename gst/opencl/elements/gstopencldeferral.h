/* Lets filters defer work to a downstream filter, which runs both in one launch
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/memory/gstopencldeferred.h>

G_BEGIN_DECLS

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
 * Functions of a class of filters for pending work, see
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
