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
 * A sink pad of a #GstOpenCLAggregator. It keeps its prepared frame until the output is
 * enqueued, even if a flush removes the frame from the pad's queue.
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
 * @pad: the pad of the frame; #GstVideoAggregatorPad.info has the layout of raw video
 * @frame: the frame, mapped for reading
 *
 * An input frame of #GstOpenCLAggregatorClass.combine().
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
 * @open: builds kernels that do not depend on caps. The context is available. Optional
 * @close: releases what @open and @set_format made. All enqueued commands have finished.
 *   Optional
 * @set_format: computes tables and allocates work memory for new output caps. All
 *   commands enqueued for the old caps have finished. Optional
 * @uses_pad: returns whether the next output frame needs the input of @pad. An input that
 *   is not needed is not mapped. Optional: all inputs are needed
 * @combine: enqueues commands on @queue that compute @output from @inputs, which are in
 *   ascending z-order. It must not wait
 *
 * #GstVideoAggregator handles timing, pads and negotiation. A subclass adds pad
 * templates, whose inputs have the type #GstOpenCLAggregatorPad or a subclass of it. It
 * implements these functions, and those of #GstVideoAggregatorClass and
 * #GstAggregatorClass that choose its caps. The base class has the `device` and
 * `async-depth` properties, finds the context, proposes and decides pools, limits the
 * frames in flight, and drains at EOS, flush, caps change and stop. It copies input that
 * is in system memory or in another context. It posts an @error of any of these functions
 * as one element error. Controlled properties are synchronised before each frame. All
 * functions run in the streaming thread or in a state change, never two at a time.
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
