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
 * gst_opencl_compositor_pad_get_place:
 * @par_n: numerator of the output's pixel-aspect-ratio
 * @par_d: denominator of the output's pixel-aspect-ratio
 *
 * Returns: the place for the current properties. An unset width or height is that of the
 *   visible part, in pixels of the output
 */
GstOpenCLCompositorPlace gst_opencl_compositor_pad_get_place (
    GstOpenCLCompositorPad *pad, gint par_n, gint par_d);
