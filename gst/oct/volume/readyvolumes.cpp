/* Whole volumes, or their projections, on their way out
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "readyvolumes.hpp"

#include "../octscanmeta.h"

#include <utility>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclfilter.h>

namespace oct {
GstClockTime
end_of (GstClockTime time, GstClockTime duration)
{
  return GST_CLOCK_TIME_IS_VALID (time) && GST_CLOCK_TIME_IS_VALID (duration)
             ? time + duration
             : GST_CLOCK_TIME_NONE;
}

void
ReadyVolumes::add (GstBuffer *volume, guint64 number)
{
  ready.emplace_back (volume);
  GST_BUFFER_PTS (volume) = start;
  if (GST_CLOCK_TIME_IS_VALID (start) && GST_CLOCK_TIME_IS_VALID (end) && end >= start)
    GST_BUFFER_DURATION (volume) = end - start;
  if (std::exchange (is_break, false))
    GST_BUFFER_FLAG_SET (volume, GST_BUFFER_FLAG_DISCONT);
  GstOctScan scan = {};
  scan.frame = scan.volume = number;
  scan.b_scans = scan.repeats = 1;
  gst_buffer_set_oct_scan (volume, &scan);
}

GstBuffer *
ReadyVolumes::take ()
{
  GstBuffer *first = ready.front ().release ();
  ready.pop_front ();
  return first;
}

void
ReadyVolumes::push_all (GstOpenCLFilter *filter)
{
  while (!ready.empty ())
    gst_opencl_filter_push (filter, take ());
}
} // namespace oct
