/* Limits the number of frames in flight on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclinflight.h"

#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/events.hpp>

#include <deque>
#include <utility>

struct _GstOpenCLInFlight {
  std::deque<opencl::TrackedEvent> frames; /* oldest first */
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
  cl_int status = oldest.status ();
  if (status > CL_COMPLETE) {
    gst_opencl_count_throttled ();
    status = oldest.wait ();
  }
  return gst_opencl_check (status, "a frame on the device", error);
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
    if (!finish_oldest (in_flight, error))
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
  return ok;
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
