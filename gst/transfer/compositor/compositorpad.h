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
 * @width: 0 if the pad has no caps, or if its frame is cropped completely
 * @right: right edge of the place before the sizing policy fits the frame into it
 * @bottom: bottom edge of that place
 * @visible: part of the pad's frame that is visible
 * @origin_x: column of the frame where the area of the caps begins
 * @origin_y: row of the frame where the area of the caps begins
 *
 * Position and size of the pad's frame in the output.
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
  GstVideoRectangle visible = {0, 0, 0, 0};
  gint origin_x = 0, origin_y = 0;
};

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
