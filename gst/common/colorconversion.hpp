/* Colour conversion between raw video formats
 *
 * Not installed: public headers contain no C++ types.
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

/* Returns the matrix from sample values of `input` to those of `output`. Values are 0 …
 * 255, or 0 … 65535 for more than 8 bits. */
ColorMatrix color_matrix_between (const GstVideoInfo &input, const GstVideoInfo &output);

/* Returns the matrix from R'G'B' in 0 … 1 to sample values of `output`. */
ColorMatrix color_matrix_from_rgb (const GstVideoInfo &output);

/* Returns true if sample values of `input` are valid in `output` without conversion */
bool is_copy (const GstVideoInfo &input, const GstVideoInfo &output);

/* One row of a matrix, as a kernel argument of type long4 */
struct alignas (32) FixedPointRow {
  gint64 values[4];
};

struct ColorConversion {
  const char *arithmetic; /* value of COLORS in convert.cl */
  /* Rows of the matrix in fixed point (the identity for COLORS_COPY) */
  FixedPointRow rows[3];
};

ColorConversion choose_color_conversion (
    const GstVideoInfo &input, const GstVideoInfo &output);

/* Returns the conversion for a colour map. Its first row scales gray samples to 8
 * bits. */
ColorConversion choose_map_conversion (const GstVideoInfo &input);

/* Returns the colorimetry of frames that are converted from `in` to `out`. It is that of
 * `in`, with range and matrix of `out` if the colour family changes. (transfer full)
 * (nullable) */
gchar *converted_colorimetry (const GstVideoInfo &in, const GstVideoInfo &out);

/* Copies colorimetry and chroma-site of the input to output caps that do not have them,
 * as far as the conversion keeps them */
void keep_colours (GstCaps *output, GstCaps *input);
} // namespace opencl
