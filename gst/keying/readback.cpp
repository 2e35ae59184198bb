/* Reads numbers that a kernel wrote back to the host
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "readback.hpp"

namespace keying {
ReadBack::ReadBack (gsize count)
    : count (count), numbers (std::make_unique<cl_uint[]> (count))
{
}

ReadBack::~ReadBack ()
{
  if (is_under_way ())
    wait (nullptr);
}

bool
ReadBack::read (cl_command_queue queue, cl_mem from, GError **error)
{
  cl_event event;
  if (is_under_way () && !wait (error))
    return false;
  if (!gst_opencl_check (
          clEnqueueReadBuffer (queue, from, CL_FALSE, 0, count * sizeof (cl_uint),
              numbers.get (), 0, nullptr, &event),
          "clEnqueueReadBuffer", error))
    return false;
  under_way = cl::Event (event);
  gst_opencl_count_download (count * sizeof (cl_uint));
  return gst_opencl_check (clFlush (queue), "clFlush", error);
}

const cl_uint *
ReadBack::wait (GError **error)
{
  gboolean is_over = TRUE;
  cl_int state = CL_COMPLETE;
  if (clGetEventInfo (
          under_way (), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr)
          == CL_SUCCESS
      && state > CL_COMPLETE)
    gst_opencl_count_host_wait ();
  const bool there = gst_opencl_wait (under_way (), &is_over, error);
  under_way = cl::Event ();
  if (!is_over) {
    (void)numbers.release (); /* lost: the device may still write it */
    numbers = std::make_unique<cl_uint[]> (count);
  }
  return there ? numbers.get () : nullptr;
}
} // namespace keying
