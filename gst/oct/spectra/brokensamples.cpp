/* How many samples of spectra were not finite, as the device counts them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "brokensamples.hpp"

#include <gst/opencl/devicebuffer.hpp>

namespace oct {
/* Frames from one look to the next: even four bytes cost a call of the driver. */
static const guint frames_between = 16;

BrokenSamples::~BrokenSamples ()
{
  if (under_way ())
    gst_opencl_context_release_after (context, under_way (), g_free, count);
  else
    g_free (count);
}

bool
BrokenSamples::create (GstOpenCLContext *of, GError **error)
{
  context = of;
  count = g_new0 (cl_uint, 1);
  counter_ = opencl::make_buffer (
      context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof *count, error, count);
  return counter_ () != nullptr;
}

bool
BrokenSamples::read (cl_command_queue queue)
{
  cl_event event;
  if (clEnqueueReadBuffer (
          queue, counter_ (), CL_FALSE, 0, sizeof *count, count, 0, nullptr, &event)
      != CL_SUCCESS)
    return false;
  gst_opencl_count_download (sizeof *count);
  under_way = cl::Event (event);
  return true;
}

guint
BrokenSamples::tell ()
{
  under_way = cl::Event ();
  if (told || *count == 0)
    return 0;
  told = true;
  return *count;
}

guint
BrokenSamples::look (cl_command_queue queue)
{
  if (!counter_ () || told)
    return 0;
  if (under_way ()) {
    cl_int state = CL_QUEUED;
    clGetEventInfo (
        under_way (), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    return state <= CL_COMPLETE ? tell () : 0;
  }
  if (++frames % frames_between == 0)
    read (queue);
  return 0;
}

guint
BrokenSamples::look_at_last (cl_command_queue queue)
{
  if (!counter_ () || told)
    return 0;
  if (under_way () && clWaitForEvents (1, &under_way ()) != CL_SUCCESS)
    return 0;
  if (!read (queue) || clWaitForEvents (1, &under_way ()) != CL_SUCCESS)
    return 0;
  return tell ();
}
} // namespace oct
