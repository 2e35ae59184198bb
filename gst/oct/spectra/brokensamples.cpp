/* How many samples of spectra were not finite, as the device counts them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "brokensamples.hpp"

#include <gst/opencl/devicebuffer.hpp>
#include <gst/opencl/opencl-private.hpp>

namespace oct {
/* Frames from one look to the next: even four bytes cost a call of the driver. */
static const guint frames_between = 16;

BrokenSamples::~BrokenSamples ()
{
  wait ();
}

/* Whether the count is there. */
bool
BrokenSamples::wait ()
{
  gboolean is_over = TRUE;
  const bool there = under_way () && gst_opencl_wait (under_way (), &is_over, nullptr);
  under_way = cl::Event ();
  if (!is_over) {
    (void)count.release (); /* lost: the device may still write it */
    told = true;
  }
  return there;
}

bool
BrokenSamples::create (GstOpenCLContext *context, GError **error)
{
  const cl_uint none = 0;
  cl::Buffer made = opencl::make_buffer (
      context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof none, error, &none);
  if (!made ())
    return false;
  counter_ = std::make_shared<cl::Buffer> (std::move (made));
  return true;
}

bool
BrokenSamples::read (cl_command_queue queue)
{
  cl_event event;
  if (clEnqueueReadBuffer (queue, (*counter_) (), CL_FALSE, 0, sizeof *count,
          count.get (), 0, nullptr, &event)
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
  if (!counter_ || told)
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
  if (!counter_ || told)
    return 0;
  wait ();
  if (told || !read (queue))
    return 0;
  clFlush (queue);
  return wait () ? tell () : 0;
}
} // namespace oct
