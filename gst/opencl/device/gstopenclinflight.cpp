/* Limits the number of frames in flight on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclinflight.h"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/events.hpp>

#include <algorithm>
#include <deque>
#include <utility>

struct _GstOpenCLInFlight {
  std::deque<opencl::TrackedEvent> frames; /* oldest first */
  bool has_finished = false;               /* a frame, since the last drain */
};

GstOpenCLInFlight *
gst_opencl_in_flight_new (void)
{
  return new GstOpenCLInFlight;
}

void
gst_opencl_in_flight_free (GstOpenCLInFlight *in_flight)
{
  delete in_flight;
}

/* Waits for the oldest frame and forgets it. */
static bool
finish_oldest (GstOpenCLInFlight *in_flight, GError **error)
{
  opencl::TrackedEvent oldest = std::move (in_flight->frames.front ());
  in_flight->frames.pop_front ();
  in_flight->has_finished = true;
  cl_int status = oldest.status ();
  if (status > CL_COMPLETE) {
    gst_opencl_count_throttled ();
    status = oldest.wait ();
  }
  return gst_opencl_check (status, "a frame on the device", error);
}

/* PoCL compiles kernels when the first frame runs. A stop does not wait for that. */
static bool
wait_for_first (GstOpenCLInFlight *in_flight, GError **error)
{
  if (in_flight->has_finished || in_flight->frames.front ().wait_unless_stopped ())
    return true;
  g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
      "The frame was left, because the element stops");
  return false;
}

/* Does not query frames that do not block a new one. Other owners of their events, or a
 * later call, will. */
gboolean
gst_opencl_in_flight_admit (GstOpenCLInFlight *in_flight, guint depth, GError **error)
{
  g_return_val_if_fail (depth > 0, FALSE);

  auto &frames = in_flight->frames;
  while (frames.size () >= depth
         || (!frames.empty () && frames.front ().is_known_complete ())) {
    if (!wait_for_first (in_flight, error) || !finish_oldest (in_flight, error))
      return FALSE;
  }
  return TRUE;
}

void
gst_opencl_in_flight_add (GstOpenCLInFlight *in_flight, cl_event event)
{
  in_flight->frames.push_back (opencl::TrackedEvent (event));
}

gboolean
gst_opencl_in_flight_drain (GstOpenCLInFlight *in_flight, GError **error)
{
  bool ok = true;
  while (!in_flight->frames.empty ())
    ok = finish_oldest (in_flight, ok ? error : nullptr) && ok;
  in_flight->has_finished = false;
  return ok;
}

void
gst_opencl_in_flight_forget (GstOpenCLInFlight *in_flight)
{
  in_flight->frames.clear ();
  in_flight->has_finished = false;
}

gboolean
gst_opencl_in_flight_is_over (const GstOpenCLInFlight *in_flight)
{
  return std::all_of (in_flight->frames.begin (), in_flight->frames.end (),
      [] (const opencl::TrackedEvent &frame) { return frame.status () <= CL_COMPLETE; });
}

gboolean
gst_opencl_in_flight_is_empty (const GstOpenCLInFlight *in_flight)
{
  return in_flight->frames.empty ();
}

gboolean
gst_opencl_wait (cl_event event, gboolean *is_over, GError **error)
{
  opencl::TrackedEvent tracked (event);
  cl_int status = tracked.status ();
  if (status > CL_COMPLETE)
    status = tracked.wait ();
  if (is_over)
    *is_over = tracked.is_known_complete ();
  return gst_opencl_check (status, "a command on the device", error);
}
