/* Offset, stride and rows of each plane in a buffer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>
#include <gst/video/video.h>

namespace opencl {
/* offset + stride * (rows - 1) + row_bytes: where the last of some lines ends. What does
 * not fit into a gsize is more than any buffer has. */
inline gsize
end_of_lines (gsize offset, gsize stride, gsize rows, gsize row_bytes)
{
  gsize end;
  if (rows == 0)
    return 0;
  if (!g_size_checked_mul (&end, stride, rows - 1)
      || !g_size_checked_add (&end, end, offset)
      || !g_size_checked_add (&end, end, row_bytes))
    return G_MAXSIZE;
  return end;
}

struct PlaneLayout {
  gsize offset;    /* of the first line, in bytes from the buffer's start */
  gsize stride;    /* bytes from line to line */
  gsize row_bytes; /* bytes of a line that mean something */
  gsize rows;

  bool operator== (const PlaneLayout &other) const
  {
    return offset == other.offset && stride == other.stride
           && row_bytes == other.row_bytes && rows == other.rows;
  }
};

struct PlaneLayouts {
  guint n_planes = 0;
  PlaneLayout planes[GST_VIDEO_MAX_PLANES];

  bool operator== (const PlaneLayouts &other) const;
  gsize bytes_needed () const;
};

/* The layout that the caps (`info`) and the buffer's GstVideoMeta give. GST_STREAM_ERROR
 * names what is there and what is needed when they contradict or the buffer is short. */
bool layout_of (
    GstBuffer *buffer, const GstVideoInfo *info, PlaneLayouts &layout, GError **error);

/* Whether a buffer of `size` bytes has bytes that belong to no row of the frame. */
bool has_padding (const GstVideoInfo *info, gsize size);

/* Whether `buffer` holds `needed` bytes, else the same error. */
bool is_long_enough (GstBuffer *buffer, gsize needed, GError **error);
} // namespace opencl
