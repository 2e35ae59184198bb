/* Harness for tests of openclupload and opencldownload
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/profile.hpp>

namespace check {
inline const char device_gray[] =
    "video/x-raw(memory:OpenCLMemory), format=GRAY8, width=64, height=32, framerate=30/1";
inline const char system_gray[] =
    "video/x-raw, format=GRAY8, width=64, height=32, framerate=30/1";
constexpr gsize gray_size = 64 * 32;

/* Elements between pads of the test, the last of which supports GstVideoMeta */
struct Chain : Harness {
  explicit Chain (const std::string &line, const std::string &caps = "") : Harness (line)
  {
    gst_harness_add_propose_allocation_meta (harness, GST_VIDEO_META_API_TYPE, nullptr);
    if (!caps.empty ())
      set_caps (caps);
  }
};

/* Layout of `info` with rows that are `padding` bytes longer, and `gap` bytes between
 * planes */
struct PaddedLayout {
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  gsize size = 0;

  PaddedLayout (const GstVideoInfo &info, gsize gap, gint padding)
  {
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      gsize next = p + 1 < GST_VIDEO_INFO_N_PLANES (&info)
                       ? GST_VIDEO_INFO_PLANE_OFFSET (&info, p + 1)
                       : GST_VIDEO_INFO_SIZE (&info);
      gsize rows = (next - GST_VIDEO_INFO_PLANE_OFFSET (&info, p))
                   / GST_VIDEO_INFO_PLANE_STRIDE (&info, p);
      offset[p] = size + gap;
      stride[p] = GST_VIDEO_INFO_PLANE_STRIDE (&info, p) + padding;
      size = offset[p] + rows * stride[p];
    }
  }
};

inline void
add_layout (GstBuffer *buffer, const GstVideoInfo &info, PaddedLayout layout)
{
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (&info), GST_VIDEO_INFO_WIDTH (&info),
      GST_VIDEO_INFO_HEIGHT (&info), GST_VIDEO_INFO_N_PLANES (&info), layout.offset,
      layout.stride);
}

inline GstBuffer *
padded_buffer (const GstVideoInfo &info, const PaddedLayout &layout, guint seed)
{
  GstBuffer *buffer = pattern_buffer (layout.size, seed);
  add_layout (buffer, info, layout);
  return buffer;
}

/* Number of bytes of a row that hold pixels */
inline gsize
bytes_of_line (const GstVideoInfo &info, guint plane)
{
  gsize bytes = 0;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info); c++) {
    if (GST_VIDEO_INFO_COMP_PLANE (&info, c) == plane)
      bytes = MAX (bytes, gsize (GST_VIDEO_INFO_COMP_WIDTH (&info, c))
                              * GST_VIDEO_INFO_COMP_PSTRIDE (&info, c));
  }
  return bytes;
}

/* Fails unless `buffer`, in the layout of `info` or of its own meta, has the pixels of
 * padded_buffer(). */
inline void
check_lines (
    GstBuffer *buffer, const GstVideoInfo &info, const PaddedLayout &from, guint seed)
{
  GstVideoFrame frame;
  const Bytes expected = pattern (from.size, seed);
  fail_unless (gst_video_frame_map (
      &frame, const_cast<GstVideoInfo *> (&info), buffer, GST_MAP_READ));
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
    auto *bytes = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, p));
    gint component = -1;
    for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&info) && component < 0; c++)
      component = GST_VIDEO_INFO_COMP_PLANE (&info, c) == p ? gint (c) : -1;
    for (gint y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT (&info, component); y++) {
      for (gsize x = 0; x < bytes_of_line (info, p); x++) {
        guint8 should = expected[from.offset[p] + y * from.stride[p] + x];
        guint8 is = bytes[y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, p) + x];
        if (is != should)
          ck_abort_msg ("%s plane %u line %d byte %zu is %u, expected %u",
              GST_VIDEO_INFO_NAME (&info), p, y, x, is, should);
      }
    }
  }
  gst_video_frame_unmap (&frame);
}

inline GstOpenCLCounts
counts_of (GstElement *bin, const char *name)
{
  Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (bin), name);
  return counts_of (element);
}
} // namespace check
