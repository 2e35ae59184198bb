/* Which frames are made of two fields
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/video/video.h>

namespace opencl {
/* Whether the lines of `buffer` belong in turns to two fields; of mixed video each buffer
 * says so itself. */
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
