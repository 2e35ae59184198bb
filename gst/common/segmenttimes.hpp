/* Times of buffers in segments that may not be in time
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
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
} // namespace opencl
