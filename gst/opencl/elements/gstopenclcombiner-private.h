/* Base class of elements that combine several streams of any caps on the device
 *
 * GstOpenCLAggregator is a GstVideoAggregator, which knows of nothing but video. This one
 * stands on GstAggregator alone.
 *
 * Not installed: for this project's elements.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/base/gstaggregator.h>
#include <gst/opencl/gstopenclframe.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_COMBINER_PAD (gst_opencl_combiner_pad_get_type ())
GST_OPENCL_API
G_DECLARE_FINAL_TYPE (GstOpenCLCombinerPad, gst_opencl_combiner_pad, GST,
    OPENCL_COMBINER_PAD, GstAggregatorPad)

#define GST_TYPE_OPENCL_COMBINER (gst_opencl_combiner_get_type ())
GST_OPENCL_API
G_DECLARE_DERIVABLE_TYPE (
    GstOpenCLCombiner, gst_opencl_combiner, GST, OPENCL_COMBINER, GstAggregator)

/**
 * GstOpenCLCombinerClass:
 * @open: the context is there. Optional
 * @close: everything enqueued has finished: release what @open and @set_formats made.
 *   Optional
 * @get_frame_size: the least size of a buffer of caps other than `video/x-raw`
 * @find_output: (transfer full): caps of what is made of inputs of these caps, the best
 *   first; may be called at any time in the streaming thread. %NULL with @error where
 *   there are none
 * @set_formats: inputs or output have new caps. Everything enqueued has finished
 * @update: between two frames: take up settings. What it returns says whether the output
 *   is to have other caps, those that @find_output names now. Optional
 * @combine: enqueue what makes @output of @inputs, in the order of the pads, on @queue,
 *   and wait for nothing
 *
 * The first pad says when a frame is made: for each of its buffers one. Of each other pad
 * it is the buffer that is shown at that moment; the last one of a pad that has ended
 * stays. Buffers without times are taken one by one.
 */
struct _GstOpenCLCombinerClass {
  GstAggregatorClass parent_class;

  gboolean (*open) (GstOpenCLCombiner *combiner, GError **error);
  void (*close) (GstOpenCLCombiner *combiner);
  gboolean (*get_frame_size) (GstOpenCLCombiner *combiner, GstCaps *caps, gsize *size);
  GstCaps *(*find_output) (GstOpenCLCombiner *combiner, GstPad **pads, GstCaps **inputs,
      guint n_inputs, GError **error);
  gboolean (*set_formats) (GstOpenCLCombiner *combiner, GstPad **pads, GstCaps **inputs,
      guint n_inputs, GstCaps *output, GError **error);
  gboolean (*update) (GstOpenCLCombiner *combiner, GstPad **pads, GstCaps **inputs,
      guint n_inputs, GstCaps *output);
  gboolean (*combine) (GstOpenCLCombiner *combiner, const GstOpenCLFrame *inputs,
      guint n_inputs, const GstOpenCLFrame *output, cl_command_queue queue,
      GError **error);
};

/* (transfer none) (nullable): before it starts */
GST_OPENCL_API GstOpenCLContext *gst_opencl_combiner_get_context (
    GstOpenCLCombiner *combiner);

G_END_DECLS
