/* How levels of a picture stand for light, in four numbers
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <CL/cl.h>

#include <string>

namespace opencl {
/* Below `toe` light is a level divided by `slope`, else ((level + lift) / (1 + lift)) to
 * the `power`, both 0 to 1: as light.clh has it, and one argument of a kernel. */
struct LightCurve {
  cl_float lift = 0, power = 1, slope = 1, toe = 0;
};

/* False for transfer functions of another form (PQ, HLG, logarithms) */
inline bool
light_curve_of (const GstVideoInfo *info, LightCurve &curve)
{
  switch (info->colorimetry.transfer) {
  case GST_VIDEO_TRANSFER_GAMMA10:
    curve = {};
    return true;
  case GST_VIDEO_TRANSFER_GAMMA18:
    curve = {0, 1.8f};
    return true;
  case GST_VIDEO_TRANSFER_GAMMA20:
    curve = {0, 2};
    return true;
  case GST_VIDEO_TRANSFER_GAMMA22:
    curve = {0, 2.2f};
    return true;
  case GST_VIDEO_TRANSFER_GAMMA28:
    curve = {0, 2.8f};
    return true;
  case GST_VIDEO_TRANSFER_ADOBERGB:
    curve = {0, 2.19921875f};
    return true;
  case GST_VIDEO_TRANSFER_SMPTE240M:
    curve = {0.1115f, 1 / 0.45f, 4, 0.0913f};
    return true;
  case GST_VIDEO_TRANSFER_SRGB:
  case GST_VIDEO_TRANSFER_UNKNOWN: /* a picture of a computer's */
    curve = {0.055f, 2.4f, 12.92f, 0.04045f};
    return true;
  case GST_VIDEO_TRANSFER_BT709:
  case GST_VIDEO_TRANSFER_BT601:
  case GST_VIDEO_TRANSFER_BT2020_10:
  case GST_VIDEO_TRANSFER_BT2020_12:
    curve = {0.099f, 1 / 0.45f, 4.5f, 0.081f};
    return true;
  default:
    return false;
  }
}

/* Of a kernel that is built for one curve */
inline std::string
light_options (const LightCurve &curve)
{
  const struct {
    const char *name;
    cl_float value;
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
