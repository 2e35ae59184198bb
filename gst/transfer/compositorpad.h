/* A sink pad of openclcompositor: where its picture goes, and how it is blended
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclaggregator.h>

G_BEGIN_DECLS

#define GST_TYPE_OPENCL_COMPOSITOR_PAD (gst_opencl_compositor_pad_get_type ())
G_DECLARE_FINAL_TYPE (GstOpenCLCompositorPad, gst_opencl_compositor_pad, GST,
    OPENCL_COMPOSITOR_PAD, GstOpenCLAggregatorPad)

G_END_DECLS

/* In the order of the kernel's operators. */
typedef enum {
  GST_OPENCL_COMPOSITOR_SOURCE,
  GST_OPENCL_COMPOSITOR_OVER,
  GST_OPENCL_COMPOSITOR_ADD,
} GstOpenCLCompositorOperator;

typedef enum {
  GST_OPENCL_COMPOSITOR_SIZING_NONE,
  GST_OPENCL_COMPOSITOR_SIZING_KEEP_ASPECT_RATIO,
} GstOpenCLCompositorSizing;

/**
 * GstOpenCLCompositorPlace:
 * @width: 0 while the pad has no caps
 *
 * Where the pad's picture goes in the output.
 */
struct GstOpenCLCompositorPlace {
  gint x = 0, y = 0;
  gint width = -1, height = -1;
  gdouble alpha = 1;
  GstOpenCLCompositorOperator blend_operator = GST_OPENCL_COMPOSITOR_OVER;
  GstOpenCLCompositorSizing sizing = GST_OPENCL_COMPOSITOR_SIZING_NONE;
};

/**
 * gst_opencl_compositor_pad_get_place:
 * @par_n: pixel-aspect-ratio of the output
 * @par_d: its denominator
 *
 * Returns: the place as the properties say now; without a width or height of its own the
 *   picture has that of its caps, in pixels of the output's shape
 */
GstOpenCLCompositorPlace gst_opencl_compositor_pad_get_place (
    GstOpenCLCompositorPad *pad, gint par_n, gint par_d);
