/* Sink pad of openclcompositor: position and blending of its stream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/composition/compositorplace.h>
#include <gst/opencl/gstopenclaggregator.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_COMPOSITOR_PAD (gst_opencl_compositor_pad_get_type ())
G_DECLARE_FINAL_TYPE (GstOpenCLCompositorPad, gst_opencl_compositor_pad, GST,
    OPENCL_COMPOSITOR_PAD, GstOpenCLAggregatorPad)

G_END_DECLS

/**
 * gst_opencl_compositor_pad_read_crop:
 * @frame: the next frame of the pad
 *
 * Reads the GstVideoCropMeta of @frame for gst_opencl_compositor_pad_get_place().
 */
void gst_opencl_compositor_pad_read_crop (GstOpenCLCompositorPad *pad, GstBuffer *frame);

/**
 * GstOpenCLCompositorPixels:
 * @par_n: numerator of the output's pixel-aspect-ratio
 * @par_d: denominator of the output's pixel-aspect-ratio
 * @zero_is_unscaled: whether a width or height of 0 is that of the input, else it hides it
 *
 * How the sizes of pads become sizes in the output.
 */
struct GstOpenCLCompositorPixels {
  gint par_n, par_d;
  gboolean zero_is_unscaled;
};

/**
 * gst_opencl_compositor_pad_get_place:
 *
 * Returns: the place for the current properties. An unset width or height is that of the
 *   visible part, in pixels of the output
 */
GstOpenCLCompositorPlace gst_opencl_compositor_pad_get_place (
    GstOpenCLCompositorPad *pad, const GstOpenCLCompositorPixels &output);
