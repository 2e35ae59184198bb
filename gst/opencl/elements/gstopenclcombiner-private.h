/* Base class of elements that combine several streams of any caps on the device
 *
 * GstOpenCLAggregator derives from GstVideoAggregator, which supports video only. This
 * class derives from GstAggregator.
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
 * @open: allocate resources. The context is available. Optional
 * @close: release what @open and @set_formats allocated. All commands have finished.
 *   Optional
 * @get_frame_size: return the minimum size of a buffer with caps other than `video/x-raw`
 * @find_output: (transfer full): return the possible output caps for these input caps,
 *   best first, or %NULL with @error. Called at any time in the streaming thread
 * @set_formats: apply new caps of the inputs or the output. All commands have finished
 * @update: apply changed settings between two frames. Return %TRUE if the output needs
 *   other caps, which @find_output then returns. Optional
 * @combine: enqueue on @queue the kernels that compute @output from @inputs, which are in
 *   the order of the pads. Must not wait
 *
 * The element outputs one frame for each buffer of the first pad. From every other pad it
 * uses the buffer at that time. A pad at EOS keeps its last buffer. Buffers without
 * timestamps are used one by one.
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

/* (transfer none) (nullable): NULL before the element starts */
GST_OPENCL_API GstOpenCLContext *gst_opencl_combiner_get_context (
    GstOpenCLCombiner *combiner);

G_END_DECLS
