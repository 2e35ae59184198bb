/* Whether an input buffer is as large as a frame
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

#include <algorithm>

namespace opencl {
/* False, with an error that names both sizes; `bound` stands before the expected one. */
inline bool
refuse_frame_size (gsize has, const char *bound, gsize expected, GError **error)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "A frame has %" G_GSIZE_FORMAT " bytes, expected %s%" G_GSIZE_FORMAT
      " from its caps: a source of raw bytes needs blocksize=%" G_GSIZE_FORMAT,
      has, bound, expected, expected);
  return false;
}

/* A GstVideoMeta says where in a buffer of any size a frame lies. Other allocators pad their
 * memory as a driver needs. */
inline bool
is_padded_by_others (GstBuffer *buffer)
{
  GstMemory *memory =
      gst_buffer_n_memory (buffer) > 0 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  return !memory || gst_buffer_get_video_meta (buffer)
         || !(gst_memory_is_type (memory, GST_ALLOCATOR_SYSMEM)
              || gst_memory_is_type (memory, "OpenCLMemory")
              || gst_memory_is_type (memory, "OpenCLHostMemory"));
}

/* Whether `buffer` has no part of another frame, which would be lost: as of a file that is
 * read in blocks that are too large. Raw video (`info`) may end with padding: up to a page or
 * an eighth of a frame, but no whole frames. Whether it is long enough its layout tells. Other
 * frames are of `size` bytes, 0 where that is not known. */
inline bool
is_one_frame (GstBuffer *buffer, const GstVideoInfo *info, gsize size, GError **error)
{
  const gsize page = 4096, has = gst_buffer_get_size (buffer);

  if (!info)
    return size == 0 || has == size || refuse_frame_size (has, "", size, error);
  size = GST_VIDEO_INFO_SIZE (info);
  if (size == 0 || has <= size || is_padded_by_others (buffer))
    return true;
  /* A large frame is rounded up to pages, a small one may have one behind it. */
  const gsize padding = std::max (size < page ? page : page - 1, size / 8);
  return (has - size <= padding && has % size != 0)
         || refuse_frame_size (has, "", size, error);
}
} // namespace opencl
