/* Colour conversion between raw video formats, and transfer functions
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <string>

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

/* Converts a level to light, both 0 to 1. Light is level / slope below `toe`, else
 * ((level + lift) / (1 + lift)) ^ power. transferfunction.clh has the same structure as a
 * kernel argument. */
struct TransferFunction {
  gfloat lift = 0, power = 1, slope = 1, toe = 0;
};

/* Returns false for transfer functions of another form (PQ, HLG, logarithmic). */
inline bool
transfer_function_of (const GstVideoInfo *info, TransferFunction &curve)
{
  static const struct {
    GstVideoTransferFunction transfer;
    TransferFunction curve;
  } known[] = {
      {GST_VIDEO_TRANSFER_GAMMA10, {}},
      {GST_VIDEO_TRANSFER_GAMMA18, {0, 1.8f}},
      {GST_VIDEO_TRANSFER_GAMMA20, {0, 2}},
      {GST_VIDEO_TRANSFER_GAMMA22, {0, 2.2f}},
      {GST_VIDEO_TRANSFER_GAMMA28, {0, 2.8f}},
      {GST_VIDEO_TRANSFER_ADOBERGB, {0, 2.19921875f}},
      {GST_VIDEO_TRANSFER_SMPTE240M, {0.1115f, 1 / 0.45f, 4, 0.0913f}},
      {GST_VIDEO_TRANSFER_SRGB, {0.055f, 2.4f, 12.92f, 0.04045f}},
      /* Computer graphics are sRGB. */
      {GST_VIDEO_TRANSFER_UNKNOWN, {0.055f, 2.4f, 12.92f, 0.04045f}},
      {GST_VIDEO_TRANSFER_BT709, {0.099f, 1 / 0.45f, 4.5f, 0.081f}},
      {GST_VIDEO_TRANSFER_BT601, {0.099f, 1 / 0.45f, 4.5f, 0.081f}},
      {GST_VIDEO_TRANSFER_BT2020_10, {0.099f, 1 / 0.45f, 4.5f, 0.081f}},
      {GST_VIDEO_TRANSFER_BT2020_12, {0.099f, 1 / 0.45f, 4.5f, 0.081f}},
  };
  for (const auto &entry : known) {
    if (entry.transfer != info->colorimetry.transfer)
      continue;
    curve = entry.curve;
    return true;
  }
  return false;
}

/* Returns the build options of a kernel for one transfer function. */
inline std::string
transfer_function_options (const TransferFunction &curve)
{
  const struct {
    const char *name;
    gfloat value;
  } numbers[] = {{" -DLIGHT_LIFT=", curve.lift}, {" -DLIGHT_POWER=", curve.power},
      {" -DLIGHT_SLOPE=", curve.slope}, {" -DLIGHT_TOE=", curve.toe}};
  std::string options = " -DLINEAR=1";
  for (const auto &number : numbers) {
    gchar text[G_ASCII_DTOSTR_BUF_SIZE];
    options += number.name;
    options += g_ascii_formatd (text, sizeof text, "%.9e", gdouble (number.value));
    options += "f";
  }
  return options;
}
} // namespace opencl
