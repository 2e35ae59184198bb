/* Detects interlaced frames
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

namespace opencl {
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
} // namespace opencl
