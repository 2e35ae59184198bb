/* Colour conversion between raw video formats
 *
 * The matrix is computed in double precision from the colorimetry of both formats. The
 * kernel rounds its result to the nearest level. videoconvert, which computes in eight
 * bits, deviates from that by up to 6 levels. Like videoconvert by default, this does not
 * convert transfer functions and primaries.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "colorconversion.hpp"

#include "videoformats.hpp"

#include <algorithm>
#include <cmath>

namespace opencl {
namespace {
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

/* Returns the matrix that scales samples to 0 … 1, and chroma to -½ … ½. */
ColorMatrix
normalising (const GstVideoInfo &info)
{
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
  ColorMatrix matrix = {};

  GstVideoColorRange range = info.colorimetry.range;
  /* h264parse tells no range if H.264 names its matrix only. GStreamer's function
   * takes that for the full one. */
  if (range == GST_VIDEO_COLOR_RANGE_UNKNOWN && GST_VIDEO_INFO_IS_YUV (&info))
    range = GST_VIDEO_COLOR_RANGE_16_235;
  gst_video_color_range_offsets (range, info.finfo, offset, scale);
  if (GST_VIDEO_INFO_COMP_DEPTH (&info, 0) < sample_bits (info)) { /* RGB16, in 8 bits */
    const bool is_limited = range == GST_VIDEO_COLOR_RANGE_16_235;
    std::fill_n (offset, 3, is_limited ? 16 : 0);
    std::fill_n (scale, 3, is_limited ? 219 : 255);
  }
  if (GST_VIDEO_INFO_IS_GRAY (&info)) {
    /* The kernel reads gray as luma with neutral chroma, which is half of the levels. */
    int levels = 1 << sample_bits (info);
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

/* Gets the weights of red and blue in luma. Returns false for RGB, and if the caps name
 * no matrix. */
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

bool
is_gray_and_color (const GstVideoInfo &input, const GstVideoInfo &output)
{
  return GST_VIDEO_INFO_IS_GRAY (&input) != GST_VIDEO_INFO_IS_GRAY (&output);
}

bool
is_of_one_depth (const GstVideoInfo &input, const GstVideoInfo &output)
{
  return sample_bits (input) == sample_bits (output);
}

/* Converts a row to the fixed point of convert.cl. A sum of products must fit into 32
 * bits, or into 64 bits if a format has more than 8 bits a component. */
FixedPointRow
in_fixed_point (
    const double (&row)[4], const GstVideoInfo &input, const GstVideoInfo &output)
{
  const bool wide = sample_bits (input) > 8 || sample_bits (output) > 8;
  FixedPointRow fixed;
  for (int i = 0; i < 4; i++)
    fixed.values[i] = std::llrint (std::ldexp (row[i], wide ? 40 : 20));
  return fixed;
}
} // namespace

/* Between gray and YUV with the same matrix, luma is copied whatever the ranges, as in
 * videoconvert. Colour formats of different depth are converted, because levels depend on
 * the range. */
bool
is_copy (const GstVideoInfo &input, const GstVideoInfo &output)
{
  if (!is_of_one_depth (input, output) && !GST_VIDEO_INFO_IS_GRAY (&input)
      && !GST_VIDEO_INFO_IS_GRAY (&output))
    return false;
  const GstVideoColorimetry &from = input.colorimetry;
  const GstVideoColorimetry &to = output.colorimetry;
  return from.matrix == to.matrix
         && (from.range == to.range || is_gray_and_color (input, output));
}

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

/* Returns true if samples only move by the difference in bits, as they do between limited
 * ranges of the same matrix. */
static bool
is_shift (const ColorConversion &conversion, const GstVideoInfo &input,
    const GstVideoInfo &output)
{
  const int bits = int (sample_bits (output)) - int (sample_bits (input));
  for (int row = 0; row < 3; row++) {
    double scale[4] = {};
    scale[row] = std::ldexp (1.0, bits);
    const FixedPointRow wanted = in_fixed_point (scale, input, output);
    if (!std::equal (std::begin (wanted.values), std::end (wanted.values),
            conversion.rows[row].values))
      return false;
  }
  return bits != 0;
}

ColorConversion
choose_color_conversion (const GstVideoInfo &input, const GstVideoInfo &output)
{
  const bool copies = is_copy (input, output);
  const ColorMatrix matrix = copies ? identity : color_matrix_between (input, output);
  ColorConversion conversion = {copies ? "COLORS_COPY" : "COLORS_MATRIX", {}};
  for (int row = 0; row < 3; row++)
    conversion.rows[row] = in_fixed_point (matrix.m[row], input, output);
  if (!copies && is_shift (conversion, input, output))
    conversion.arithmetic = "COLORS_SHIFT";
  return conversion;
}

ColorConversion
choose_map_conversion (const GstVideoInfo &input)
{
  const ColorMatrix matrix = normalising (input);
  const double row[4] = {255 * matrix.m[0][0], 0, 0, 255 * matrix.m[0][3]};
  return {"COLORS_MAP", {in_fixed_point (row, input, input)}};
}

namespace {
/* RGB, YUV and gray are families. Gray and YUV with the same matrix are one family. */
bool
are_of_one_family (const GstVideoInfo &a, const GstVideoInfo &b)
{
  if (GST_VIDEO_INFO_IS_RGB (&a) || GST_VIDEO_INFO_IS_RGB (&b))
    return GST_VIDEO_INFO_IS_RGB (&a) && GST_VIDEO_INFO_IS_RGB (&b);
  return GST_VIDEO_INFO_IS_GRAY (&a) == GST_VIDEO_INFO_IS_GRAY (&b)
         || a.colorimetry.matrix == b.colorimetry.matrix;
}

bool
is_of_one_subsampling (const GstVideoInfo &a, const GstVideoInfo &b)
{
  return GST_VIDEO_INFO_IS_YUV (&a) && GST_VIDEO_INFO_IS_YUV (&b)
         && a.finfo->w_sub[1] == b.finfo->w_sub[1]
         && a.finfo->h_sub[1] == b.finfo->h_sub[1];
}
} // namespace

gchar *
converted_colorimetry (const GstVideoInfo &in, const GstVideoInfo &out)
{
  GstVideoColorimetry colorimetry = in.colorimetry;
  if (!are_of_one_family (in, out)) {
    colorimetry.range = out.colorimetry.range;
    colorimetry.matrix = out.colorimetry.matrix;
  }
  return gst_video_colorimetry_to_string (&colorimetry);
}

static void
keep_colorimetry (GstStructure *output, const GstVideoInfo &in, const GstVideoInfo &out)
{
  gchar *name = converted_colorimetry (in, out);
  if (name)
    gst_structure_set (output, "colorimetry", G_TYPE_STRING, name, nullptr);
  g_free (name);
}

void
keep_colours (GstCaps *output_caps, GstCaps *input_caps)
{
  GstStructure *output = gst_caps_get_structure (output_caps, 0);
  const GstStructure *input = gst_caps_get_structure (input_caps, 0);
  GstVideoInfo in, out;

  if (!gst_video_info_from_caps (&in, input_caps)
      || !gst_video_info_from_caps (&out, output_caps))
    return;
  if (!gst_structure_has_field (output, "colorimetry")
      && gst_structure_has_field (input, "colorimetry"))
    keep_colorimetry (output, in, out);
  const GValue *site = gst_structure_get_value (input, "chroma-site");
  if (site && !gst_structure_has_field (output, "chroma-site")
      && is_of_one_subsampling (in, out))
    gst_structure_set_value (output, "chroma-site", site);
}
} // namespace opencl
