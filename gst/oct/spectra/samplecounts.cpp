/* Two numbers that kernels count in spectra, read back without waiting
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "samplecounts.hpp"

#include <gst/opencl/devicebuffer.hpp>
#include <gst/opencl/opencl-private.hpp>

namespace oct {
/* Frames from one look to the next: even eight bytes cost a call of the driver. */
static const guint frames_between = 16;

SampleCounts::~SampleCounts ()
{
  wait ();
}

/* Whether the counts are there. */
bool
SampleCounts::wait ()
{
  gboolean is_over = TRUE;
  const bool there = under_way () && gst_opencl_wait (under_way (), &is_over, nullptr);
  under_way = cl::Event ();
  if (!is_over) {
    (void)counts.release (); /* the device may still write them */
    lost = true;
  }
  return there;
}

bool
SampleCounts::create (GstOpenCLContext *context, GError **error)
{
  Counts none = {};
  cl::Buffer made = opencl::make_buffer (context,
      CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof none, error, none.data ());
  if (!made ())
    return false;
  counter_ = std::make_shared<cl::Buffer> (std::move (made));
  return true;
}

/* No data of a frame: GstOpenCLStatistics does not count it. */
bool
SampleCounts::read (cl_command_queue queue)
{
  cl_event event;
  if (clEnqueueReadBuffer (queue, (*counter_) (), CL_FALSE, 0, sizeof *counts,
          counts->data (), 0, nullptr, &event)
      != CL_SUCCESS)
    return false;
  under_way = cl::Event (event);
  return true;
}

const SampleCounts::Counts *
SampleCounts::look (cl_command_queue queue)
{
  if (!counter_ || lost)
    return nullptr;
  if (under_way ()) {
    cl_int state = CL_QUEUED;
    clGetEventInfo (
        under_way (), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
    if (state > CL_COMPLETE)
      return nullptr;
    under_way = cl::Event ();
    return state == CL_COMPLETE ? counts.get () : nullptr;
  }
  if (++frames % frames_between == 0)
    read (queue);
  return nullptr;
}

const SampleCounts::Counts *
SampleCounts::look_at_last (cl_command_queue queue)
{
  if (!counter_ || lost)
    return nullptr;
  wait ();
  if (lost || !read (queue))
    return nullptr;
  clFlush (queue);
  return wait () ? counts.get () : nullptr;
}
} // namespace oct
