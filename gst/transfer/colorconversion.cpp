/* From the colours of one raw video format to those of another
 *
 * The matrix is computed in double precision from the colorimetry of both sides. Where
 * videoconvert works in 8 bits, the kernel follows its integers, so that a pipeline that
 * moves to the device keeps its picture; they stray from the exact result by up to 6
 * levels. As there, transfer functions and primaries are left alone.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "colorconversion.hpp"

#include <cmath>

namespace transfer {
namespace {
const double unit = 256; /* of videoconvert's coefficients */

struct IntegerMatrix {
  int m[3][4];
};

ColorMatrix
multiply (const ColorMatrix &a, const ColorMatrix &b)
{
  ColorMatrix product;
  for (int row = 0; row < 3; row++) {
    for (int column = 0; column < 4; column++) {
      double sum = column == 3 ? a.m[row][3] : 0;
      for (int k = 0; k < 3; k++)
        sum += a.m[row][k] * b.m[k][column];
      product.m[row][column] = sum;
    }
  }
  return product;
}

/* Samples to 0 … 1, and chroma to -½ … ½. */
ColorMatrix
normalising (const GstVideoInfo &info)
{
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
  ColorMatrix matrix = {};

  gst_video_color_range_offsets (info.colorimetry.range, info.finfo, offset, scale);
  if (GST_VIDEO_INFO_IS_GRAY (&info)) {
    /* Gray is luma beside the chroma that the kernel takes for none. */
    int levels = 1 << GST_VIDEO_INFO_COMP_DEPTH (&info, 0);
    offset[1] = offset[2] = levels / 2;
    scale[1] = scale[2] = levels - 1;
  }
  for (int i = 0; i < 3; i++) {
    matrix.m[i][i] = 1.0 / scale[i];
    matrix.m[i][3] = -double (offset[i]) / scale[i];
  }
  return matrix;
}

ColorMatrix
denormalising (const GstVideoInfo &info)
{
  ColorMatrix matrix = normalising (info);
  for (int i = 0; i < 3; i++) {
    matrix.m[i][3] /= -matrix.m[i][i];
    matrix.m[i][i] = 1 / matrix.m[i][i];
  }
  return matrix;
}

const ColorMatrix identity = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};

/* Shares of red and blue in luma; false for RGB, and where the caps know no matrix. */
bool
luma_shares (const GstVideoInfo &info, double &red, double &blue)
{
  return !GST_VIDEO_INFO_IS_RGB (&info)
         && gst_video_color_matrix_get_Kr_Kb (info.colorimetry.matrix, &red, &blue);
}

ColorMatrix
to_rgb (const GstVideoInfo &info)
{
  double red, blue;
  if (!luma_shares (info, red, blue))
    return identity;
  double green = 1 - red - blue;
  return {{{1, 0, 2 * (1 - red), 0},
      {1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green, 0},
      {1, 2 * (1 - blue), 0, 0}}};
}

ColorMatrix
from_rgb (const GstVideoInfo &info)
{
  double red, blue;
  if (!luma_shares (info, red, blue))
    return identity;
  double green = 1 - red - blue;
  double u = 2 * (1 - blue), v = 2 * (1 - red);
  return {{{red, green, blue, 0}, {-red / u, -green / u, (1 - blue) / u, 0},
      {(1 - red) / v, -green / v, -blue / v, 0}}};
}

IntegerMatrix
to_integers (const ColorMatrix &matrix)
{
  IntegerMatrix integers;
  for (int row = 0; row < 3; row++) {
    for (int column = 0; column < 4; column++)
      integers.m[row][column] = int (std::rint (matrix.m[row][column] * unit));
  }
  return integers;
}

/* For videoconvert 256 levels of 16 bits are one of 8 bits. */
ColorMatrix
at_equal_depth (ColorMatrix matrix, int input_depth, int output_depth)
{
  double levels = std::pow (2, output_depth - input_depth);
  for (auto &row : matrix.m) {
    for (int column = 0; column < 3; column++)
      row[column] /= std::fmax (levels, 1);
    for (double &value : row)
      value /= std::fmin (levels, 1);
  }
  return matrix;
}

/* Whether each corner of the colour cube stays within 8 bits. */
bool
never_leaves_range (const IntegerMatrix &matrix)
{
  for (int corner = 0; corner < 8; corner++) {
    for (const auto &row : matrix.m) {
      int sum = row[3];
      for (int k = 0; k < 3; k++)
        sum += corner >> k & 1 ? 255 * row[k] : 0;
      if (sum < 0 || sum >= 256 * int (unit))
        return false;
    }
  }
  return true;
}

/* From YUV to RGB videoconvert always takes the centred products. */
bool
is_yuv_to_rgb (
    const GstVideoInfo &input, const GstVideoInfo &output, const IntegerMatrix &matrix)
{
  return !GST_VIDEO_INFO_IS_RGB (&input) && GST_VIDEO_INFO_IS_RGB (&output)
         && matrix.m[0][0] == matrix.m[1][0] && matrix.m[1][0] == matrix.m[2][0]
         && matrix.m[0][1] == 0 && matrix.m[2][2] == 0;
}

bool
is_gray_and_color (const GstVideoInfo &input, const GstVideoInfo &output)
{
  return GST_VIDEO_INFO_IS_GRAY (&input) != GST_VIDEO_INFO_IS_GRAY (&output);
}

/* Between gray and YUV of one matrix, luma stays as it is whatever the ranges: that is
 * what gray means to videoconvert. */
bool
is_copy (const GstVideoInfo &input, const GstVideoInfo &output)
{
  const GstVideoColorimetry &from = input.colorimetry;
  const GstVideoColorimetry &to = output.colorimetry;
  return from.matrix == to.matrix
         && (from.range == to.range || is_gray_and_color (input, output));
}

ColorConversion
in_floats (const ColorMatrix &matrix)
{
  ColorConversion conversion = {"COLORS_EXACT", {}};
  for (int row = 0; row < 3; row++) {
    for (int column = 0; column < 4; column++)
      conversion.rows[row].floats.s[column] = cl_float (matrix.m[row][column]);
  }
  return conversion;
}

ColorConversion
in_integers (const char *arithmetic, const IntegerMatrix &matrix)
{
  ColorConversion conversion = {arithmetic, {}};
  for (int row = 0; row < 3; row++) {
    for (int column = 0; column < 4; column++)
      conversion.rows[row].integers.s[column] = matrix.m[row][column];
  }
  return conversion;
}
} // namespace

ColorMatrix
color_matrix_from_rgb (const GstVideoInfo &output)
{
  return multiply (denormalising (output), from_rgb (output));
}

ColorMatrix
color_matrix_between (const GstVideoInfo &input, const GstVideoInfo &output)
{
  return multiply (
      color_matrix_from_rgb (output), multiply (to_rgb (input), normalising (input)));
}

ColorConversion
choose_color_conversion (
    const GstVideoInfo &input, const GstVideoInfo &output, bool exact)
{
  if (is_copy (input, output))
    return {"COLORS_COPY", {}};

  ColorMatrix matrix = color_matrix_between (input, output);
  /* videoconvert knows no change of range alone, so there is nothing to follow. */
  if (exact || input.colorimetry.matrix == output.colorimetry.matrix)
    return in_floats (matrix);

  int input_depth = GST_VIDEO_INFO_COMP_DEPTH (&input, 0);
  int output_depth = GST_VIDEO_INFO_COMP_DEPTH (&output, 0);
  IntegerMatrix integers =
      to_integers (at_equal_depth (matrix, input_depth, output_depth));
  bool sums =
      input_depth > 8 || output_depth > 8
      || (never_leaves_range (integers) && !is_yuv_to_rgb (input, output, integers));
  return in_integers (sums ? "COLORS_SUM" : "COLORS_CENTRED", integers);
}

ColorConversion
choose_map_conversion (const GstVideoInfo &input)
{
  ColorMatrix matrix = normalising (input);
  ColorConversion conversion = {"COLORS_MAP", {}};
  conversion.rows[0].floats.s[0] = cl_float (255 * matrix.m[0][0]);
  conversion.rows[0].floats.s[3] = cl_float (255 * matrix.m[0][3]);
  return conversion;
}
} // namespace transfer
