/* Base class of filters that process buffers on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/opencl/gstopenclkernel.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_FILTER (gst_opencl_filter_get_type ())
GST_OPENCL_API
G_DECLARE_DERIVABLE_TYPE (
    GstOpenCLFilter, gst_opencl_filter, GST, OPENCL_FILTER, GstBaseTransform)

/**
 * GstOpenCLFilterClass:
 * @open: the context is there: build kernels that no caps change. Optional
 * @close: everything enqueued has finished: release what @open and @set_formats made.
 *   Optional
 * @set_formats: new caps: compute tables, make plans and work memory. Everything enqueued
 *   for the old caps has finished. Optional
 * @get_frame_size: the least size in bytes of a buffer of caps other than `video/x-raw`.
 *   Optional where all caps are raw video
 * @transform: enqueue what makes @output of @input on @queue, and wait for nothing
 * @submit: for elements that do not give one output for each input: enqueue on @queue what
 *   takes @input into account, and set @outputs, which is 1 before, to the number of outputs
 *   that are complete now, 0 or more. For each of them @transform is called with the same
 *   @input, and gst_opencl_filter_get_output_index() gives its index. The duration of @input
 *   is divided evenly between them, unless #GstBaseTransformClass.copy_metadata() sets other
 *   times. Optional. Since: 0.2
 * @begin_frame: apply changed settings. Called before caps are negotiated for a frame, when
 *   controlled properties have the values of its time. Optional. Since: 0.3
 *
 * Caps of the feature %GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY get device memory, others
 * pinned host memory. A subclass writes pad templates,
 * #GstBaseTransformClass.transform_caps() and these. The base class has the `device` and
 * `async-depth` properties, finds the context, follows the controllers of properties,
 * proposes and decides pools, orders the queues, bounds the run-ahead, drains at EOS, flush,
 * caps change and stop, takes input that is in system memory or in another context by a
 * copy, keeps the metas that still hold, and turns a @error of any of these into one element
 * error. Between them,
 * gst_opencl_filter_get_context() is constant. All run in the streaming thread or in a
 * state change, never two at a time.
 *
 * Since: 0.2
 */
struct _GstOpenCLFilterClass {
  GstBaseTransformClass parent_class;

  gboolean (*open) (GstOpenCLFilter *filter, GError **error);
  void (*close) (GstOpenCLFilter *filter);
  gboolean (*set_formats) (
      GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error);
  gboolean (*get_frame_size) (GstOpenCLFilter *filter, GstCaps *caps, gsize *size);
  gboolean (*transform) (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
      const GstOpenCLFrame *output, cl_command_queue queue, GError **error);
  gboolean (*submit) (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
      cl_command_queue queue, guint *outputs, GError **error);
  void (*begin_frame) (GstOpenCLFilter *filter, GstBuffer *input);

  /*< private >*/
  /* For this project's elements: transform() of whole buffers. It may enqueue on any queue,
   * and gives the last command's event (transfer full), NULL where nothing is under way. */
  gboolean (*process) (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output,
      cl_event *event, GError **error);
  gconstpointer deferral; /* work that filters of this project defer */
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * gst_opencl_filter_get_context:
 * @filter: a filter
 *
 * Returns: (transfer none) (nullable): the filter's context; %NULL before it starts
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_filter_get_context (GstOpenCLFilter *filter);

/**
 * gst_opencl_filter_get_video_info:
 * @filter: a filter
 * @direction: %GST_PAD_SINK for the input, %GST_PAD_SRC for the output
 *
 * Returns: (transfer none) (nullable): the caps' layout, %NULL where they are not raw
 *   video
 *
 * Since: 0.2
 */
GST_OPENCL_API const GstVideoInfo *gst_opencl_filter_get_video_info (
    GstOpenCLFilter *filter, GstPadDirection direction);

/**
 * gst_opencl_filter_get_output_index:
 * @filter: a filter
 *
 * Returns: in #GstOpenCLFilterClass.transform(), how many outputs of the same input came
 *   before this one
 *
 * Since: 0.2
 */
GST_OPENCL_API guint gst_opencl_filter_get_output_index (GstOpenCLFilter *filter);

G_END_DECLS
