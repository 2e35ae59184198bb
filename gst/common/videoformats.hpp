/* Raw video formats: components, interlacing, pixel aspect ratios and DRM codes
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <string>
#include <utility>
#include <vector>

/* RGB with alpha and 16 bits of each component */
#define RGB64_FORMATS "ARGB64, RGBA64_LE, BGRA64_LE, ARGB64_LE, ABGR64_LE"
/* Feature of caps whose overlays, such as subtitles, are drawn downstream */
#define OVERLAY_FEATURE "meta:GstVideoOverlayComposition"
/* Video in device memory, also with such overlays, which pass through */
#define VIDEO_ON_DEVICE(fields)                                                          \
  "video/x-raw(memory:OpenCLMemory), " fields                                            \
  "; video/x-raw(memory:OpenCLMemory, " OVERLAY_FEATURE "), " fields

namespace opencl {
/* --- components --- */

/* Returns the byte offset of a component from the start of a pixel in its plane */
guint sample_offset (const GstVideoInfo &info, guint component);

/* Returns the number of padding bits below a sample, such as 6 in P010_10LE */
guint sample_shift (const GstVideoInfo &info);

/* Returns the bits of the samples that kernels compute with: those of the first component,
 * or 8 for RGB16 */
guint sample_bits (const GstVideoInfo &info);

/* Bits of a component in a row: its first bit, the bits from sample to sample, and its
 * number of bits. Bits are counted from the lowest of each byte. */
struct BitField {
  guint first, step, bits;
};

/* Formats whose samples are not whole bytes, except v210 */
struct BitFormat {
  GstVideoFormat format;
  BitField fields[4]; /* without bits: the component is absent */
  guint columns;      /* that a group of whole bytes has, in each plane */
  bool threes; /* three samples of 10 bits for each 32; first and step count samples */
};

/* (nullable) */
const BitFormat *bit_format_of (const GstVideoInfo &info);

/* Returns true if samples have two bytes and the high byte comes first */
bool is_big_endian (const GstVideoInfo &info);

/* --- interlacing --- */

/* Returns true if the rows of `buffer` belong alternately to two fields. In mixed mode
 * each buffer has its own flag. */
inline bool
has_two_fields (const GstVideoInfo &info, GstBuffer *buffer)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);

  if (GST_VIDEO_INFO_INTERLACE_MODE (&info) != GST_VIDEO_INTERLACE_MODE_MIXED)
    return GST_VIDEO_INFO_IS_INTERLACED (&info);
  return GST_BUFFER_FLAG_IS_SET (buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED)
         || (meta && meta->flags & GST_VIDEO_FRAME_FLAG_INTERLACED);
}

/* --- aspect ratios --- */

/* Returns 1/1 for 0/1, which a broken header may have. */
inline std::pair<gint, gint>
valid_pixel_ratio (gint n, gint d)
{
  return n > 0 && d > 0 ? std::pair (n, d) : std::pair (1, 1);
}

/* Like gst_video_calculate_display_ratio(), for any pixel aspect ratios */
inline bool
calculate_display_ratio (guint *n, guint *d, gint width, gint height,
    std::pair<gint, gint> pixel, std::pair<gint, gint> displayed)
{
  pixel = valid_pixel_ratio (pixel.first, pixel.second);
  displayed = valid_pixel_ratio (displayed.first, displayed.second);
  return gst_video_calculate_display_ratio (n, d, guint (width), guint (height),
      guint (pixel.first), guint (pixel.second), guint (displayed.first),
      guint (displayed.second));
}

/* --- DMABuf caps of GStreamer 1.24 and newer: format=DMA_DRM, drm-format=NV12 ---
 *
 * Linear memory has the layout of a raw video format, and elements work with caps of that
 * format. GStreamer's own functions for this came with 1.24. A library that was built
 * with an older version also runs with newer ones, so this file has its own table. */

struct DrmFormat {
  const char *drm; /* the code in <drm_fourcc.h> */
  const char *raw;
};

inline constexpr DrmFormat drm_formats[] = {{"NV12", "NV12"}, {"NV21", "NV21"},
    {"NV16", "NV16"}, {"NV61", "NV61"}, {"NV24", "NV24"}, {"YU12", "I420"},
    {"YV12", "YV12"}, {"YU11", "Y41B"}, {"YU16", "Y42B"}, {"YU24", "Y444"},
    {"YUYV", "YUY2"}, {"YVYU", "YVYU"}, {"UYVY", "UYVY"}, {"VYUY", "VYUY"},
    {"AYUV", "VUYA"}, {"P010", "P010_10LE"}, {"P012", "P012_LE"}, {"Y210", "Y210"},
    {"Y212", "Y212_LE"}, {"Y410", "Y410"}, {"Y412", "Y412_LE"}, {"XB24", "RGBx"},
    {"XR24", "BGRx"}, {"BX24", "xRGB"}, {"RX24", "xBGR"}, {"AB24", "RGBA"},
    {"AR24", "BGRA"}, {"BA24", "ARGB"}, {"RA24", "ABGR"}, {"BG24", "RGB"},
    {"RG24", "BGR"}, {"RG16", "RGB16"}, {"BG16", "BGR16"}, {"XR15", "RGB15"},
    {"AR30", "BGR10A2_LE"}, {"AB30", "RGB10A2_LE"}, {"NV15", "NV12_10LE40"},
    {"R8  ", "GRAY8"}, {"R16 ", "GRAY16_LE"}};

inline constexpr char linear_modifier[] = ":0x0000000000000000";

bool is_dma_drm (const GstStructure *structure);

/* Returns the strings of a field that holds one string or a list */
std::vector<std::string> strings_of_field (
    const GstStructure *structure, const char *field);

/* Converts a structure of format DMA_DRM to raw video in the formats of its linear
 * drm-format. Returns nullptr if it has none. (transfer full) (nullable) */
GstStructure *raw_of_dma_drm (const GstStructure *structure);

/* Converts raw video to linear memory of format DMA_DRM. Returns nullptr if no format of
 * `structure` has a DRM code. (transfer full) (nullable) */
GstStructure *dma_drm_of_raw (const GstStructure *structure);

/* Like gst_video_info_from_caps(), but also reads fixed caps of format DMA_DRM as raw
 * video, and returns false if a frame has no pixels */
bool video_info_of_caps (const GstCaps *caps, GstVideoInfo &info);
} // namespace opencl
