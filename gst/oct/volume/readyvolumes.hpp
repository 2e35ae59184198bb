/* Whole volumes, or their projections, on their way out
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/bufferaccess.hpp"

#include <deque>
#include <gst/opencl/gstopenclfilter.h>

namespace oct {
/* GST_CLOCK_TIME_NONE if either is unknown */
GstClockTime end_of (GstClockTime time, GstClockTime duration);

/* Buffers that are ready to be pushed, and the time of the volume in progress */
class ReadyVolumes {
public:
  GstClockTime start = GST_CLOCK_TIME_NONE, end = GST_CLOCK_TIME_NONE;
  bool is_break = false; /* volumes before the next one were dropped */

  /* Adds a buffer (transfer full) with the time and the number of the volume. */
  void add (GstBuffer *volume, guint64 number);
  guint size () const { return guint (ready.size ()); }
  /* (transfer full) */
  GstBuffer *take ();
  void push_all (GstOpenCLFilter *filter);
  void drop () { ready.clear (); }

private:
  std::deque<std::unique_ptr<GstBuffer, ReleaseBuffer>> ready;
};
} // namespace oct
