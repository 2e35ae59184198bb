/* Sink pad of openclcompositor: position and blending of its stream
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
 * @width: 0 while the pad has no caps, and where all of its picture is cropped
 * @right: where the place ends that the picture has, also beside it
 * @bottom: the same downwards
 * @shown: what of the pad's frame goes there
 * @origin_x: column of the frame where the picture of the caps begins
 * @origin_y: its line
 *
 * Where the pad's picture goes in the output.
 */
struct GstOpenCLCompositorPlace {
  gint x = 0, y = 0;
  gint width = -1, height = -1;
  gint crop_left = 0, crop_right = 0, crop_top = 0, crop_bottom = 0;
  gdouble alpha = 1;
  GstOpenCLCompositorOperator blend_operator = GST_OPENCL_COMPOSITOR_OVER;
  GstOpenCLCompositorSizing sizing = GST_OPENCL_COMPOSITOR_SIZING_NONE;
  gdouble light_wrap = 0;
  guint light_wrap_radius = 10;

  gint right = 0, bottom = 0;
  GstVideoRectangle shown = {0, 0, 0, 0};
  gint origin_x = 0, origin_y = 0;
};

/**
 * gst_opencl_compositor_pad_see:
 * @frame: what the pad's next place is for
 *
 * Takes up the frame's GstVideoCropMeta.
 */
void gst_opencl_compositor_pad_see (GstOpenCLCompositorPad *pad, GstBuffer *frame);

/**
 * gst_opencl_compositor_pad_get_place:
 * @par_n: pixel-aspect-ratio of the output
 * @par_d: its denominator
 *
 * Returns: the place as the properties say now; without a width or height of its own the
 *   picture has that of what it shows, in pixels of the output's shape
 */
GstOpenCLCompositorPlace gst_opencl_compositor_pad_get_place (
    GstOpenCLCompositorPad *pad, gint par_n, gint par_d);
