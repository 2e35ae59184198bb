/* Geometry of a conversion: rotation, mirroring, scaling and borders
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>
#include <gst/video/video.h>

#include <vector>

namespace transfer {
/* Orientation: columns and rows of the input may be swapped, and each may be reversed. */
struct Orientation {
  bool transposed, mirrored_x, mirrored_y;

  bool turns () const { return transposed || mirrored_x || mirrored_y; }
  bool operator== (const Orientation &other) const
  {
    return transposed == other.transposed && mirrored_x == other.mirrored_x
           && mirrored_y == other.mirrored_y;
  }
};

Orientation orientation_of (GstVideoOrientationMethod method);

/* Rectangle of the output that shows the input. The rest is border. */
struct TargetRectangle {
  gint left, top, width, height;

  bool covers (const GstVideoInfo &output) const
  {
    return width == output.width && height == output.height;
  }
};

/* With `borders`, the input keeps its aspect ratio. */
TargetRectangle target_of (const GstVideoInfo &input, const GstVideoInfo &output,
    const Orientation &orientation, bool borders);

/* Converts a point of the output to pixels of the input. */
void to_input (const GstVideoInfo &input, const TargetRectangle &target,
    const Orientation &orientation, gdouble *x, gdouble *y);

/* Returns the rectangle of the output that shows @region of the input. Rounds down, as
 * GStreamer does when it scales regions of interest, but keeps sides of at least one
 * pixel. */
GstVideoRectangle to_output (const GstVideoInfo &input, const TargetRectangle &target,
    const Orientation &orientation, GstVideoRectangle region);

/* Returns caps with width and height swapped. (transfer full) */
GstCaps *transposed_caps (GstCaps *caps);

/* Returns Lanczos weights with three lobes, widened when the size decreases. Each of
 * `out_size` positions has the index of its first input sample and lanczos_taps ()
 * weights. `fields`: number of interleaved fields. */
std::vector<cl_float> lanczos_table (gint in_size, gint out_size, gint fields);
gint lanczos_taps (gint in_size, gint out_size);
} // namespace transfer
