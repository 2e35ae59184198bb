/* Buffers: their size, their times, and pools of downstream
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <algorithm>

namespace opencl {
/* --- sizes --- */

/* Returns offset + stride * (rows - 1) + row_bytes, the end of the last row. On overflow
 * returns G_MAXSIZE, which is larger than any buffer. */
inline gsize
end_of_rows (gsize offset, gsize stride, gsize rows, gsize row_bytes)
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

/* Sets an error that names both sizes and returns false. `bound` is the text before the
 * expected size, such as "at least ". */
inline bool
refuse_frame_size (gsize has, const char *bound, gsize expected, GError **error)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "A frame has %" G_GSIZE_FORMAT " bytes, expected %s%" G_GSIZE_FORMAT
      " from its caps: a source of raw bytes needs blocksize=%" G_GSIZE_FORMAT,
      has, bound, expected, expected);
  return false;
}

/* Returns true if the size of `buffer` says nothing: a GstVideoMeta tells where the frame
 * is, and other allocators pad their memory as a driver needs. */
inline bool
has_unreliable_size (GstBuffer *buffer)
{
  GstMemory *memory =
      gst_buffer_n_memory (buffer) > 0 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  return !memory || gst_buffer_get_video_meta (buffer)
         || !(gst_memory_is_type (memory, GST_ALLOCATOR_SYSMEM)
              || gst_memory_is_type (memory, "OpenCLMemory")
              || gst_memory_is_type (memory, "OpenCLHostMemory"));
}

/* Returns true if `buffer` holds no part of another frame, which would be lost. A file
 * that is read with too large a blocksize has such buffers. Raw video (`info`) may end
 * with padding of up to a page or an eighth of a frame, but not with whole frames. A raw
 * frame that is too short is not refused here, as its last row may lack padding. Other frames have
 * `size` bytes, or 0 if the size is not known. */
inline bool
is_one_frame (GstBuffer *buffer, const GstVideoInfo *info, gsize size, GError **error)
{
  const gsize page = 4096, has = gst_buffer_get_size (buffer);

  if (!info)
    return size == 0 || has == size || refuse_frame_size (has, "", size, error);
  size = GST_VIDEO_INFO_SIZE (info);
  if (size == 0 || has <= size || has_unreliable_size (buffer))
    return true;
  /* Large frames are rounded up to pages. Small frames may have a page behind them. */
  const gsize padding = std::max (size < page ? page : page - 1, size / 8);
  return (has - size <= padding && has % size != 0)
         || refuse_frame_size (has, "", size, error);
}

/* Drops a frame that contradicts its caps, for the reason `error` (transfer full), such as
 * one that a camera sent only in part. As in GStreamer's converters, this is a WARNING.
 * Returns nullptr, or the error of the tenth such frame in a row of its stream. */
GError *drop_invalid_frame (GstElement *element, guint &n_in_a_row, GError *error);

/* --- times in segments that may not be in time --- */

/* Return GST_CLOCK_TIME_NONE in other segments, such as those in bytes of a file that is
 * read in blocks. */
inline GstClockTime
running_time_of (const GstSegment &segment, GstClockTime time)
{
  return segment.format == GST_FORMAT_TIME
             ? gst_segment_to_running_time (&segment, GST_FORMAT_TIME, time)
             : GST_CLOCK_TIME_NONE;
}

inline GstClockTime
stream_time_of (const GstSegment &segment, GstClockTime time)
{
  return segment.format == GST_FORMAT_TIME
             ? gst_segment_to_stream_time (&segment, GST_FORMAT_TIME, time)
             : GST_CLOCK_TIME_NONE;
}

/* --- pools --- */

/* Returns the active pool (transfer full, nullable) that downstream of a source pad offers
 * for buffers of `bytes` bytes. */
GstBufferPool *find_downstream_pool (GstPad *pad, GstCaps *caps, gsize bytes);

/* Deactivates a pool (nullable) and drops it. */
void release_pool (GstBufferPool **pool);

/* Takes a buffer of `bytes` bytes from a pool (nullable), or allocates one without it. */
GstFlowReturn acquire_buffer (GstBufferPool *pool, gsize bytes, GstBuffer **buffer);
} // namespace opencl
