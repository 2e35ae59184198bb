/* Base class of filters that process buffers on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/opencl/gstopenclframe.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_FILTER (gst_opencl_filter_get_type ())
GST_OPENCL_API
G_DECLARE_DERIVABLE_TYPE (
    GstOpenCLFilter, gst_opencl_filter, GST, OPENCL_FILTER, GstBaseTransform)

/**
 * GstOpenCLFilterClass:
 * @open: builds kernels that do not depend on caps. The context is available. Optional
 * @close: releases what @open and @set_formats made. All enqueued commands have finished.
 *   Optional
 * @set_formats: computes tables, makes plans and allocates work memory for new caps. All
 *   commands enqueued for the old caps have finished. Optional
 * @get_frame_size: gets the minimum size in bytes of a buffer of caps other than
 *   `video/x-raw`. Optional if all caps are raw video
 * @transform: enqueues commands on @queue that compute @output from @input. It must not
 *   wait
 * @submit: for elements that do not produce one output for each input. It enqueues
 *   commands on @queue that process @input, and sets @outputs, which is 1 before, to the
 *   number of outputs that are complete now, 0 or more. @transform is called for each of
 *   them with the same @input, and gst_opencl_filter_get_output_index() gives its index.
 *   The duration of @input is divided evenly between them, unless
 *   #GstBaseTransformClass.copy_metadata() sets other times. Optional. Since: 0.2
 * @begin_frame: applies changed settings. Called before caps are negotiated for a frame,
 *   when controlled properties have the values of its time. Optional. Since: 0.3
 *
 * Caps with the feature %GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY get device memory, others
 * pinned host memory. A subclass adds pad templates, and implements
 * #GstBaseTransformClass.transform_caps() and these functions. The base class has the
 * `device` and `async-depth` properties, finds the context, synchronises controlled
 * properties, proposes and decides pools, orders the queues, limits the frames in flight,
 * and drains at EOS, flush, caps change and stop. It copies input that is in system
 * memory or in another context, and keeps the metas that are still valid. It posts an
 * @error of any of these functions as one element error. Between @open and @close,
 * gst_opencl_filter_get_context() is constant. All functions run in the streaming thread
 * or in a state change, never two at a time.
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
  /* For this project's elements: transform() of whole buffers. It may enqueue on any
   * queue. It sets `event` (transfer full) to that of the last command, or to NULL if
   * none is pending. */
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
 * Returns: (transfer none) (nullable): the layout of the caps, or %NULL if they are not
 *   raw video
 *
 * Since: 0.2
 */
GST_OPENCL_API const GstVideoInfo *gst_opencl_filter_get_video_info (
    GstOpenCLFilter *filter, GstPadDirection direction);

/**
 * gst_opencl_filter_get_output_index:
 * @filter: a filter
 *
 * Returns: in #GstOpenCLFilterClass.transform(), the index of the current output among
 *   those of the same input, from 0
 *
 * Since: 0.2
 */
GST_OPENCL_API guint gst_opencl_filter_get_output_index (GstOpenCLFilter *filter);

G_END_DECLS
