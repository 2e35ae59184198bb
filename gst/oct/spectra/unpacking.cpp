/* Unpacks samples that other kernels do not read: signed, 32-bit or packed. Counts samples
 * that are not finite or saturated
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "unpacking.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicebuffer.hpp>

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/unpack.cl"

namespace oct {
bool
Unpacking::create (
    GstOpenCLContext *of, const char *option, SampleFormat made, GError **error)
{
  context = of;
  sample_bytes = sample_of (made).bytes;
  return kernel.create (
      of, KERNELS, "unpack", (std::string ("-D") + option).c_str (), error);
}

bool
Unpacking::enqueue (cl_command_queue queue, guint first, guint samples,
    RawSpectra &spectra, GError **error)
{
  const gsize line = samples * sample_bytes;
  std::shared_ptr<cl::Buffer> made =
      buffers.unused (context, line * spectra.lines, error);
  if (!made
      || !kernel.launch (queue, samples, spectra.lines, error, spectra.data,
          spectra.offset, spectra.stride, cl_uint (first), cl_uint (samples),
          spectra.lines, spectra.shift, (*made) ()))
    return false;
  spectra.data = (*made) ();
  spectra.offset = 0;
  spectra.stride = cl_long (line);
  spectra.samples = samples;
  spectra.shift = 0;
  spectra.unpacked = std::move (made);
  spectra.is_read = true;
  return true;
}

/* Only some frames, and some of their A-lines, are checked: a check costs two driver
 * calls and the time that they wait. Counting in the kernels that read all samples anyway
 * made these a fifth slower on a GPU. */
static const guint frames_between = 16, lines_between = 16;

bool
SampleCounts::create (GstOpenCLContext *context, const char *option, GError **error)
{
  cl_uint none[2] = {};
  cl::Buffer made = opencl::make_buffer (
      context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof none, error, none);
  if (!made () || !counts.create_block (context, G_N_ELEMENTS (none), error))
    return false;
  counter_ = std::make_shared<cl::Buffer> (std::move (made));
  items_of_line = opencl::is_cpu (context) ? 1 : 256;
  return !option
         || kernel.create (context, KERNELS, "count_saturated",
             (std::string ("-D") + option).c_str (), error);
}

/* The first A-line changes from frame to frame, so that all A-lines are checked over
 * time. If a frame has few, all are checked at once. */
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

/* GstOpenCLStatistics does not count this read, which is not frame data. */
const cl_uint *
SampleCounts::poll (cl_command_queue queue)
{
  if (!counter_)
    return nullptr;
  if (counts.is_under_way ())
    return counts.has_ended () ? counts.wait (nullptr) : nullptr;
  if (++frames % frames_between == 0)
    counts.read (queue, (*counter_) (), nullptr);
  return nullptr;
}

const cl_uint *
SampleCounts::wait_for_last (cl_command_queue queue)
{
  return counter_ && counts.read (queue, (*counter_) (), nullptr) ? counts.wait (nullptr)
                                                                  : nullptr;
}
} // namespace oct
