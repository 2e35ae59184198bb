/* Base class of elements that combine several video streams on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>
#include <gst/video/gstvideoaggregator.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_AGGREGATOR_PAD (gst_opencl_aggregator_pad_get_type ())
GST_OPENCL_API
G_DECLARE_DERIVABLE_TYPE (GstOpenCLAggregatorPad, gst_opencl_aggregator_pad, GST,
    OPENCL_AGGREGATOR_PAD, GstVideoAggregatorPad)

/**
 * GstOpenCLAggregatorPadClass:
 *
 * A sink pad of a #GstOpenCLAggregator. It keeps what it has prepared until the frame is
 * enqueued, also when a flush takes it from the queue meanwhile.
 *
 * Since: 0.2
 */
struct _GstOpenCLAggregatorPadClass {
  GstVideoAggregatorPadClass parent_class;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

#define GST_TYPE_OPENCL_AGGREGATOR (gst_opencl_aggregator_get_type ())
GST_OPENCL_API
G_DECLARE_DERIVABLE_TYPE (GstOpenCLAggregator, gst_opencl_aggregator, GST,
    OPENCL_AGGREGATOR, GstVideoAggregator)

/**
 * GstOpenCLAggregatorInput:
 * @pad: whose frame it is; of raw video, #GstVideoAggregatorPad.info has its layout
 * @frame: mapped for reading
 *
 * An input of a frame that is aggregated.
 *
 * Since: 0.2
 */
typedef struct {
  GstOpenCLAggregatorPad *pad;
  GstOpenCLFrame frame;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
} GstOpenCLAggregatorInput;

/**
 * GstOpenCLAggregatorClass:
 * @open: the context is there: build kernels that no caps change. Optional
 * @close: everything enqueued has finished: release what @open and @set_format made.
 *   Optional
 * @set_format: new caps of the output: compute tables and make work memory. Everything
 *   enqueued for the old caps has finished. Optional
 * @uses_pad: whether the frame that is to be made needs what @pad has; what it does not
 *   need is not mapped. Optional: all are needed
 * @combine: enqueue what makes @output of @inputs, by rising z-order, on @queue, and wait
 *   for nothing
 *
 * Timing, pads and negotiation are #GstVideoAggregator's. A subclass writes pad
 * templates, of #GstOpenCLAggregatorPad or a subclass for the inputs, what of
 * #GstVideoAggregatorClass and #GstAggregatorClass says which caps it makes, and these.
 * The base class has the `device` and `async-depth` properties, finds the context,
 * proposes and decides pools, bounds the run-ahead, drains at EOS, flush, caps change and
 * stop, takes input that is in system memory or in another context by a copy, and turns a
 * @error of any of these into one element error. Properties that are controlled are
 * synchronised before each frame. All run in the streaming thread or in a state change,
 * never two at a time.
 *
 * Since: 0.2
 */
struct _GstOpenCLAggregatorClass {
  GstVideoAggregatorClass parent_class;

  gboolean (*open) (GstOpenCLAggregator *aggregator, GError **error);
  void (*close) (GstOpenCLAggregator *aggregator);
  gboolean (*set_format) (GstOpenCLAggregator *aggregator, GstCaps *caps, GError **error);
  gboolean (*uses_pad) (GstOpenCLAggregator *aggregator, GstOpenCLAggregatorPad *pad);
  gboolean (*combine) (GstOpenCLAggregator *aggregator,
      const GstOpenCLAggregatorInput *inputs, guint n_inputs,
      const GstOpenCLFrame *output, cl_command_queue queue, GError **error);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * gst_opencl_aggregator_get_context:
 * @aggregator: an aggregator
 *
 * Returns: (transfer none) (nullable): the element's context; %NULL before it starts
 *
 * Since: 0.2
 */
GST_OPENCL_API GstOpenCLContext *gst_opencl_aggregator_get_context (
    GstOpenCLAggregator *aggregator);

G_END_DECLS
