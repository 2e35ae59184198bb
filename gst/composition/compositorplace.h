/* Position and blending of a layer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

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
