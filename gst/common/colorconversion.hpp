/* Colour conversion between raw video formats
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

namespace opencl {
/* out[i] = m[i][0] in[0] + m[i][1] in[1] + m[i][2] in[2] + m[i][3] */
struct ColorMatrix {
  double m[3][4];
};

/* From sample values of `input` to those of `output` (0 … 255, or … 65535). */
ColorMatrix color_matrix_between (const GstVideoInfo &input, const GstVideoInfo &output);

/* From R'G'B' in 0 … 1 to sample values of `output`. */
ColorMatrix color_matrix_from_rgb (const GstVideoInfo &output);

/* Whether samples of the one are those of the other */
bool is_copy (const GstVideoInfo &input, const GstVideoInfo &output);

/* One row of a matrix, as a kernel takes it in an argument of type long4 */
struct alignas (32) FixedPointRow {
  gint64 values[4];
};

struct ColorConversion {
  const char *arithmetic; /* COLORS of convert.cl */
  /* Rows of the matrix in fixed point; those of a copy change nothing. */
  FixedPointRow rows[3];
};

ColorConversion choose_color_conversion (
    const GstVideoInfo &input, const GstVideoInfo &output);

/* For a colour map: the row that takes gray samples to 0 … 255. */
ColorConversion choose_map_conversion (const GstVideoInfo &input);

/* The colorimetry of `in` with the range and matrix that `out`, which it is converted to,
 * needs. (transfer full) (nullable) */
gchar *converted_colorimetry (const GstVideoInfo &in, const GstVideoInfo &out);

/* Puts the input's colours into the caps of what it is converted to, where these are open */
void keep_colours (GstCaps *output, GstCaps *input);
} // namespace opencl
