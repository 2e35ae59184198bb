/* gstreamer-opencl: where the lines of each plane of a buffer stand
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "bufferlayout.hpp"

#include <algorithm>
#include <gst/video/gstvideometa.h>

namespace opencl {
bool
BufferLayout::operator== (const BufferLayout &other) const
{
  return n_planes == other.n_planes
         && std::equal (planes, planes + n_planes, other.planes);
}

gsize
BufferLayout::bytes_needed () const
{
  gsize needed = 0;
  for (guint p = 0; p < n_planes; p++) {
    const PlaneLayout &plane = planes[p];
    if (plane.rows > 0)
      needed = std::max (
          needed, plane.offset + plane.stride * (plane.rows - 1) + plane.row_bytes);
  }
  return needed;
}

/* Formats that pack pixels in other ways than whole bytes a component use the full line.
 */
static gsize
row_bytes_of (const GstVideoInfo *info, guint plane, gsize stride)
{
  gsize bytes = 0;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    if (GST_VIDEO_INFO_COMP_PLANE (info, c) != plane)
      continue;
    gsize pixel_stride = GST_VIDEO_INFO_COMP_PSTRIDE (info, c);
    if (pixel_stride == 0)
      return stride;
    bytes = std::max (bytes, gsize (GST_VIDEO_INFO_COMP_WIDTH (info, c)) * pixel_stride);
  }
  bool whole_pixels = GST_VIDEO_FORMAT_INFO_IS_COMPLEX (info->finfo) == 0;
  return whole_pixels && bytes > 0 ? std::min (bytes, stride) : stride;
}

static gsize
rows_of (const GstVideoInfo *info, guint plane)
{
  gsize rows = 0;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++) {
    if (GST_VIDEO_INFO_COMP_PLANE (info, c) == plane)
      rows = std::max (rows, gsize (GST_VIDEO_INFO_COMP_HEIGHT (info, c)));
  }
  return rows ? rows : GST_VIDEO_INFO_HEIGHT (info);
}

/* Tiles and palettes are no lines of pixels: such a plane is one run of bytes. */
static bool
is_one_run (const GstVideoInfo *info, guint plane)
{
  bool has_component = false;
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    has_component |= guint (GST_VIDEO_INFO_COMP_PLANE (info, c)) == plane;
  bool is_palette = GST_VIDEO_FORMAT_INFO_HAS_PALETTE (info->finfo) && plane > 0;
  return GST_VIDEO_FORMAT_INFO_IS_TILED (info->finfo) || is_palette || !has_component;
}

static gsize
plane_bytes (const GstVideoInfo *info, guint plane)
{
  gsize end = plane + 1 < GST_VIDEO_INFO_N_PLANES (info)
                  ? GST_VIDEO_INFO_PLANE_OFFSET (info, plane + 1)
                  : GST_VIDEO_INFO_SIZE (info);
  return end - GST_VIDEO_INFO_PLANE_OFFSET (info, plane);
}

static bool
lay_out_run (const GstVideoInfo *info, const GstVideoMeta *meta, guint plane,
    PlaneLayout &layout, GError **error)
{
  gint expected = GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  if (meta && meta->stride[plane] != expected) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "The stride of plane %u of %s is %d, expected %d from the caps", plane,
        GST_VIDEO_INFO_NAME (info), meta->stride[plane], expected);
    return false;
  }
  gsize bytes = plane_bytes (info, plane);
  layout = {meta ? meta->offset[plane] : GST_VIDEO_INFO_PLANE_OFFSET (info, plane), bytes,
      bytes, 1};
  return true;
}

static bool
lay_out_lines (const GstVideoInfo *info, const GstVideoMeta *meta, guint plane,
    PlaneLayout &layout, GError **error)
{
  gint expected = GST_VIDEO_INFO_PLANE_STRIDE (info, plane);
  gint stride = meta ? meta->stride[plane] : expected;
  gsize row_bytes = row_bytes_of (info, plane, expected);
  if (stride < 0 || gsize (stride) < row_bytes) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "A plane's stride is %d bytes, expected at least %" G_GSIZE_FORMAT, stride,
        row_bytes);
    return false;
  }
  layout = {meta ? meta->offset[plane] : GST_VIDEO_INFO_PLANE_OFFSET (info, plane),
      gsize (stride), row_bytes, rows_of (info, plane)};
  return true;
}

/* A decoder's picture may be larger than what the caps show of it, as for
 * gst_video_frame_map(). */
static bool
meta_agrees (const GstVideoMeta *meta, const GstVideoInfo *info, GError **error)
{
  if (meta->format == GST_VIDEO_INFO_FORMAT (info)
      && meta->width >= guint (GST_VIDEO_INFO_WIDTH (info))
      && meta->height >= guint (GST_VIDEO_INFO_HEIGHT (info))
      && meta->n_planes == GST_VIDEO_INFO_N_PLANES (info))
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "The frame's GstVideoMeta says %s %ux%u, expected %s %dx%d from the caps",
      gst_video_format_to_string (meta->format), meta->width, meta->height,
      GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info),
      GST_VIDEO_INFO_HEIGHT (info));
  return false;
}

bool
is_long_enough (GstBuffer *buffer, gsize needed, GError **error)
{
  gsize size = gst_buffer_get_size (buffer);
  if (size >= needed)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "A frame has %" G_GSIZE_FORMAT " bytes, expected at least %" G_GSIZE_FORMAT
      " from its caps",
      size, needed);
  return false;
}

bool
layout_of (
    GstBuffer *buffer, const GstVideoInfo *info, BufferLayout &layout, GError **error)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  if (meta && !meta_agrees (meta, info, error))
    return false;

  layout.n_planes = GST_VIDEO_INFO_N_PLANES (info);
  for (guint p = 0; p < layout.n_planes; p++) {
    auto lay_out = is_one_run (info, p) ? lay_out_run : lay_out_lines;
    if (!lay_out (info, meta, p, layout.planes[p], error))
      return false;
  }
  return is_long_enough (buffer, layout.bytes_needed (), error);
}
} // namespace opencl
