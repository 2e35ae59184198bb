/* Two numbers that kernels count in spectra, read back without waiting: of floats that are
 * not finite, or of integers looked at and saturated ones of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "samplecounts.hpp"

#include <gst/opencl/devicebuffer.hpp>
#include <gst/opencl/deviceinfo.hpp>
#include <gst/opencl/opencl-private.hpp>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/unpack.cl"

namespace oct {
/* Frames from one look to the next, and A-lines of such a frame: a look costs two calls of
 * the driver and what they wait for. Counting within the kernels that read all samples
 * anyway made those a fifth slower on a GPU. */
static const guint frames_between = 16, lines_between = 16;

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
SampleCounts::create (GstOpenCLContext *context, const char *option, GError **error)
{
  Counts none = {};
  cl::Buffer made = opencl::make_buffer (context,
      CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof none, error, none.data ());
  if (!made ())
    return false;
  counts = opencl::PinnedBlock::make (context, sizeof none, error);
  if (!counts)
    return false;
  counter_ = std::make_shared<cl::Buffer> (std::move (made));
  items_of_line = opencl::is_cpu (context) ? 1 : 256;
  return !option
         || kernel.create (context, KERNELS, "count_saturated",
             (std::string ("-D") + option).c_str (), error);
}

/* Every A-line's turn comes; where there are few, all of them are looked at. */
bool
SampleCounts::count_saturated (cl_command_queue queue, guint first, guint samples,
    guint full_scale, RawSpectra &spectra, GError **error)
{
  if (candidates++ % frames_between != 0)
    return true;
  const cl_uint apart = spectra.lines > lines_between ? lines_between : 1;
  const cl_uint begin = candidates / frames_between % apart;
  const cl_uint lines = (spectra.lines - begin + apart - 1) / apart;
  spectra.is_read = true;
  return kernel.launch (queue, items_of_line, lines, error, spectra.data,
      cl_ulong (spectra.offset + begin * spectra.stride), spectra.stride * apart,
      cl_uint (first), cl_uint (samples), lines, spectra.shift, cl_float (full_scale),
      (*counter_) ());
}

/* No data of a frame: GstOpenCLStatistics does not count it. */
bool
SampleCounts::read (cl_command_queue queue)
{
  cl_event event;
  if (clEnqueueReadBuffer (queue, (*counter_) (), CL_FALSE, 0, sizeof (Counts),
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
    return state == CL_COMPLETE ? those_read () : nullptr;
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
  return wait () ? those_read () : nullptr;
}
} // namespace oct
