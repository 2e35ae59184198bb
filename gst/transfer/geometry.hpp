/* Where the input's pixels go in the output: turned, mirrored, scaled, with borders
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>
#include <gst/video/video.h>

#include <vector>

namespace transfer {
/* Whether the input's columns and rows are swapped, and which of them are then
 * reversed */
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

/* Where the picture stands in the output, the rest of which are borders */
struct Shown {
  gint left, top, width, height;

  bool covers (const GstVideoInfo &output) const
  {
    return width == output.width && height == output.height;
  }
};

/* With borders the picture keeps its shape. */
Shown shown_of (const GstVideoInfo &input, const GstVideoInfo &output,
    const Orientation &orientation, bool borders);

/* A point of the output, in pixels of the input */
void to_input (const GstVideoInfo &input, const Shown &shown,
    const Orientation &orientation, gdouble *x, gdouble *y);

/* Returns the place of @region of the input in the output. Rounds down, as GStreamer does when it
 * scales regions of interest, but no side to nothing. */
GstVideoRectangle to_output (const GstVideoInfo &input, const Shown &shown,
    const Orientation &orientation, GstVideoRectangle region);

/* With columns and lines in each other's place. (transfer full) */
GstCaps *transposed_caps (GstCaps *caps);

/* Lanczos' window of three lobes, as wide as a pixel of the larger side needs: for each
 * of `out_size` places the first of the samples and a weight for each of `taps`. `fields`:
 * number of interleaved fields. */
std::vector<cl_float> lanczos_table (gint in_size, gint out_size, gint fields);
gint lanczos_taps (gint in_size, gint out_size);
} // namespace transfer
