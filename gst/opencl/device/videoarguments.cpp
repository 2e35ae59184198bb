/* Kernel arguments and build options for video frames of any format (videoframe.clh)
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "videoarguments.hpp"

#include <gst/common/videoformats.hpp>

namespace opencl {
namespace {
/* Returns the offset of the unused byte of RGBx and similar formats. */
gsize
padding_offset (const GstVideoInfo &info)
{
  gsize offset = 0 + 1 + 2 + 3;
  for (guint c = 0; c < 3; c++)
    offset -= GST_VIDEO_INFO_COMP_POFFSET (&info, c);
  return offset;
}

bool
has_padding (const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_IS_RGB (&info) && GST_VIDEO_INFO_N_COMPONENTS (&info) == 3
         && GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0) == 4;
}
} // namespace

VideoLayout
layout_of (const GstVideoInfo &info, const GstOpenCLFrame &frame)
{
  VideoLayout layout = {};

  layout.size.s[0] = info.width;
  layout.size.s[1] = info.height;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++) {
    guint plane = GST_VIDEO_INFO_COMP_PLANE (&info, c);
    layout.start.s[c] = frame.offset[plane] + sample_offset (info, c);
    layout.stride.s[c] = frame.stride[plane];
    layout.step.s[c] = GST_VIDEO_INFO_COMP_PSTRIDE (&info, c);
  }
  return layout;
}

VideoLayout
layout_of_output (const GstVideoInfo &info, const GstOpenCLFrame &frame)
{
  VideoLayout layout = layout_of (info, frame);

  if (has_padding (info)) {
    layout.start.s[3] = frame.offset[0] + padding_offset (info);
    layout.stride.s[3] = frame.stride[0];
    layout.step.s[3] = GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0);
  }
  return layout;
}

bool
has_pixels_of_four_bytes (const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_N_PLANES (&info) == 1 && info.finfo->w_sub[2] == 0
         && GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0) == 4 && sample_bits (info) == 8;
}

bool
is_v210 (const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_FORMAT (&info) == GST_VIDEO_FORMAT_v210;
}

void
define (
    std::string &options, const char *side, const char *name, const std::string &value)
{
  options += std::string (" -D") + side + name + "=" + value;
}

/* Formats of whole bytes have none. */
static void
define_bit_fields (std::string &options, const char *side, const GstVideoInfo &info)
{
  static const char *const names[] = {"_FIELD_x", "_FIELD_y", "_FIELD_z", "_FIELD_w"};
  const BitFormat *format = bit_format_of (info);
  define (options, side, "_BIT_FIELDS", format ? "1" : "0");
  if (!format)
    return;
  define (options, side, "_THREES", format->threes ? "1" : "0");
  for (int c = 0; c < 4; c++) {
    const BitField &field = format->fields[c];
    define (options, side, names[c],
        std::to_string (field.first) + "," + std::to_string (field.step) + ","
            + std::to_string (MAX (field.bits, 1)));
  }
}

void
define_samples (
    std::string &options, const char *side, const GstVideoInfo &info, bool gray)
{
  define (options, side, "_GRAY", gray ? "1" : "0");
  define (options, side, "_BITS", std::to_string (sample_bits (info)));
  define (options, side, "_SHIFT", std::to_string (sample_shift (info)));
  define (options, side, "_BIG_ENDIAN", is_big_endian (info) ? "1" : "0");
  define (options, side, "_V210", is_v210 (info) ? "1" : "0");
  define_bit_fields (options, side, info);
  define (options, side, "_W_SUB", std::to_string (info.finfo->w_sub[2]));
  define (options, side, "_H_SUB", std::to_string (info.finfo->h_sub[2]));
  define (options, side, "_WORDS", has_pixels_of_four_bytes (info) ? "1" : "0");
}

ChromaFilter
chroma_filter (const GstVideoInfo &info, bool resampled)
{
  auto filter = [&] (guint subsampling, guint cosited) {
    return !resampled || subsampling == 0 ? ChromaSamples::nearest
           : info.chroma_site & cosited   ? ChromaSamples::cosited
                                          : ChromaSamples::centred;
  };
  return {filter (info.finfo->w_sub[2], GST_VIDEO_CHROMA_SITE_H_COSITED),
      filter (info.finfo->h_sub[2], GST_VIDEO_CHROMA_SITE_V_COSITED)};
}

void
define_chroma (
    std::string &options, const char *side, const GstVideoInfo &info, bool resampled)
{
  const char *const names[] = {"CHROMA_NEAREST", "CHROMA_CENTRED", "CHROMA_COSITED"};
  const ChromaFilter filter = chroma_filter (info, resampled);
  const std::string chroma = std::string ("CHROMA_") + side;
  define (options, chroma.c_str (), "_H", names[int (filter.across)]);
  define (options, chroma.c_str (), "_V", names[int (filter.down)]);
}

void
define_steps (std::string &options, const char *side, const VideoLayout &layout)
{
  std::string all;
  for (int n = 0; n < 4; n++)
    all += (n > 0 ? "," : "") + std::to_string (layout.step.s[n]);
  define (options, side, "_STEPS", all);
}
} // namespace opencl
