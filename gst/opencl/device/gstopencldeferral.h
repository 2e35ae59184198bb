/* Lets filters defer work to a downstream filter, which runs both in one launch
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/core/gstopencldeferred.h>

G_BEGIN_DECLS

/**
 * GstOpenCLMergeResult:
 * @GST_OPENCL_NOT_MERGED: upstream's work is enqueued on its own, then the element's work
 * @GST_OPENCL_MERGED: both works are enqueued in one launch, or deferred to downstream
 * @GST_OPENCL_MERGE_FAILED: an error is set
 */
typedef enum {
  GST_OPENCL_NOT_MERGED,
  GST_OPENCL_MERGED,
  GST_OPENCL_MERGE_FAILED,
} GstOpenCLMergeResult;

/**
 * GstOpenCLDeferral:
 * @get_type: the type of work that filters of this class defer, a #GstOpenCLDeferred
 * @can_merge: (nullable): whether @filter can merge such work now. The answer to
 *   upstream's ALLOCATION query says so. If it can, submit() gets %NULL instead of a
 *   deferred frame
 * @merge: (nullable): does @pending together with the filter's own work, into @output, as
 *   #GstOpenCLFilterClass.process() would. It is called only with work that fills all of
 *   the input buffer, in the filter's caps and context
 *
 * Functions by which a class of filters defers and merges work. See
 * gst_opencl_filter_class_set_deferral().
 */
typedef struct {
  GType (*get_type) (void);
  gboolean (*can_merge) (GstOpenCLFilter *filter);
  GstOpenCLMergeResult (*merge) (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
      GstBuffer *output, cl_event *event, GError **error);
} GstOpenCLDeferral;

GST_OPENCL_API void gst_opencl_filter_class_set_deferral (
    GstOpenCLFilterClass *klass, const GstOpenCLDeferral *deferral);

/**
 * gst_opencl_filter_can_defer:
 * @input: the buffer that the work would read
 * @output: the buffer that it would fill
 *
 * Returns: whether downstream can merge such work, and both buffers are one memory of the
 *   filter's context
 */
GST_OPENCL_API gboolean gst_opencl_filter_can_defer (
    GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output);

/**
 * gst_opencl_filter_defer:
 * @work: fills all of @output with a frame of the filter's output caps
 * @output: a buffer for which gst_opencl_filter_can_defer() returned %TRUE
 *
 * Defers @work to downstream. @work records the caps, offset, size and layout of @output,
 * so that downstream's base class can tell whether the buffer still is this frame.
 */
GST_OPENCL_API void gst_opencl_filter_defer (
    GstOpenCLFilter *filter, GstOpenCLDeferred *work, GstBuffer *output);

G_END_DECLS
