/* Timestamps of frames at a fixed frame rate
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
struct Framerate {
  int n;
  int d;

  bool is_fixed () const { return n > 0; }
  GstClockTime time_of (guint64 frame) const
  {
    return gst_util_uint64_scale (frame, guint64 (d) * GST_SECOND, n);
  }
  guint64 frame_at (GstClockTime time) const
  {
    guint64 frame = gst_util_uint64_scale (time, n, guint64 (d) * GST_SECOND);
    /* time_of() rounds down, too. */
    return time_of (frame + 1) <= time ? frame + 1 : frame;
  }
  /* Returns the first frame that begins at `time` or later. */
  guint64 frame_from (GstClockTime time) const
  {
    return time == 0 ? 0 : frame_at (time - 1) + 1;
  }
};
} // namespace opencl
