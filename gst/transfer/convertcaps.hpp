/* Caps that a converter can produce, in order of preference
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/videoformats.hpp>
#include <gst/opencl/gstopenclmemory.h>

#define CONVERT_FORMATS                                                                  \
  "RGBA, BGRA, ARGB, ABGR, RGBx, BGRx, xRGB, xBGR, RGB, BGR, AYUV, YUY2, UYVY, I420, "   \
  "YV12, NV12, NV21, GRAY16_LE, GRAY8, Y42B, Y444, NV16, NV61, NV24, YVYU, VYUY, A420, " \
  "VUYA, GBR, GBRA, "                                                                    \
  "P010_10LE, P012_LE, P016_LE, I420_10LE, I420_12LE, I422_10LE, I422_12LE, "            \
  "Y444_10LE, Y444_12LE, Y444_16LE, A420_10LE, A422_10LE, A444_10LE, GBR_10LE, "         \
  "GBR_12LE, GBRA_10LE, v210, Y210, Y212_LE, Y412_LE, AYUV64, " RGB64_FORMATS            \
  ", GRAY16_BE, RGB16, RGB10A2_LE, BGR10A2_LE, Y410, NV12_10LE40, NV12_10LE32"

#define CONVERT_CAPS                                                                     \
  VIDEO_ON_DEVICE ("format=(string){" CONVERT_FORMATS "}, width=(int)[1, 32767], "       \
                   "height=(int)[1, 32767], framerate=(fraction)[0/1, 2147483647/1]")

namespace transfer {
/* Returns the caps for the other pad, given `caps` on the pad of `direction`, the same
 * format and size first. With `coloring`, gray input becomes colour. (transfer full) */
GstCaps *convertible_caps (GstPadDirection direction, GstCaps *caps, bool coloring);

/* Returns the structures of `caps` (transfer full) whose frames have no overlays. (transfer
 * full) */
GstCaps *without_overlays (GstCaps *caps);

/* Fixates `others` (transfer full) to the best caps for `caps`: the format that loses
 * least, the size and pixel-aspect-ratio that keep the display aspect ratio, and the
 * input's colorimetry. (transfer full) */
GstCaps *fixate_converted_caps (
    GstPadDirection direction, GstCaps *caps, GstCaps *others);

/* Returns the reason why `caps` cannot be converted, or NULL. (transfer full)
 * (nullable) */
gchar *unsupported_reason (GstCaps *caps);
} // namespace transfer
