/* gstreamer-opencl: how far the host runs ahead of the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclinflight.h"

#include "accessevents.hpp"
#include "gstopenclerror.h"
#include "gstopenclstatistics.h"

#include <deque>
#include <utility>

struct _GstOpenCLInFlight {
  std::deque<cl::Event> frames; /* oldest first */
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

/* Waits for the oldest frame, which has this status, and forgets it. */
static bool
finish_oldest (GstOpenCLInFlight *in_flight, cl_int status, GError **error)
{
  cl::Event oldest = std::move (in_flight->frames.front ());
  in_flight->frames.pop_front ();
  if (status > CL_COMPLETE) {
    gst_opencl_count_throttled ();
    oldest.wait (); /* the status says how it ended */
    status = opencl::status_of (oldest);
  }
  return gst_opencl_check (status, "a frame on the device", error);
}

gboolean
gst_opencl_in_flight_admit (GstOpenCLInFlight *in_flight, guint depth, GError **error)
{
  g_return_val_if_fail (depth > 0, FALSE);

  auto &frames = in_flight->frames;
  while (!frames.empty ()) {
    cl_int status = opencl::status_of (frames.front ());
    if (status > CL_COMPLETE && frames.size () < depth)
      break;
    if (!finish_oldest (in_flight, status, error))
      return FALSE;
  }
  return TRUE;
}

void
gst_opencl_in_flight_add (GstOpenCLInFlight *in_flight, cl_event event)
{
  in_flight->frames.push_back (cl::Event (event, true));
}

gboolean
gst_opencl_in_flight_drain (GstOpenCLInFlight *in_flight, GError **error)
{
  bool ok = true;
  while (!in_flight->frames.empty ()) {
    cl_int status = opencl::status_of (in_flight->frames.front ());
    ok = finish_oldest (in_flight, status, ok ? error : nullptr) && ok;
  }
  return ok;
}
