/* The key that was taken from a picture, as the host learns of it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "takenkey.hpp"

namespace keying {
TakenKey::~TakenKey ()
{
  wait ();
}

/* Whether the key is there. */
bool
TakenKey::wait ()
{
  gboolean is_over = TRUE;
  const bool there = under_way () && gst_opencl_wait (under_way (), &is_over, nullptr);
  under_way = cl::Event ();
  if (!is_over) {
    (void)key.release (); /* lost: the device may still write it */
    key = std::make_unique<cl_uint> (0);
  }
  return there;
}

bool
TakenKey::read (cl_command_queue queue, cl_mem taken, GError **error)
{
  cl_event event;
  wait ();
  if (!gst_opencl_check (clEnqueueReadBuffer (queue, taken, CL_FALSE, 0, sizeof *key,
                             key.get (), 0, nullptr, &event),
          "clEnqueueReadBuffer", error))
    return false;
  gst_opencl_count_download (sizeof *key);
  under_way = cl::Event (event);
  return true;
}

bool
TakenKey::tell (cl_command_queue queue, bool waiting, guint *told)
{
  if (!under_way ())
    return false;
  cl_int state = CL_QUEUED;
  clGetEventInfo (
      under_way (), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
  if (state > CL_COMPLETE && !waiting)
    return false;
  clFlush (queue);
  const bool there = wait ();
  *told = *key;
  return there;
}
} // namespace keying
