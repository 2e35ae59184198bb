/* opencl-bench: a live pipeline beside slow kernels of other threads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "session.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/gstopenclcontext.h>

namespace bench {
namespace {
const char *const slow_source =
    "kernel void slow (global const uchar *input, global uchar *output, int loops) {"
    "  float sum = 0;"
    "  for (int i = 0; i < loops; i++) sum += native_sin ((float) i * input[0]);"
    "  output[get_global_id (0) % 16] = sum; }";
constexpr double slow_seconds = 0.43;

/* A slow kernel in its own pipeline, or in a branch of the live one */
struct Slow {
  gsize items = 0; /* 0 = no slow kernel */
  int loops = 0;

  std::string element (const std::string &of_sink = "") const
  {
    return "openclkernel async-depth=1 local-size=1 global-size=" + std::to_string (items)
           + " arguments=a,loops=(int)" + std::to_string (loops) + " source=\""
           + slow_source + "\" ! opencldownload ! fakesink sync=false " + of_sink + " ";
  }
};

/* Returns the seconds of one run, or a negative number if it fails. */
double
time_of (const Session &session, cl_kernel kernel, const Slow &slow)
{
  cl_command_queue queue =
      gst_opencl_context_get_queue (session.context, GST_OPENCL_QUEUE_COMPUTE);
  const gsize one = 1;
  const double start = now ();

  clSetKernelArg (kernel, 2, sizeof slow.loops, &slow.loops);
  if (clEnqueueNDRangeKernel (
          queue, kernel, 1, nullptr, &slow.items, &one, 0, nullptr, nullptr)
          != CL_SUCCESS
      || clFinish (queue) != CL_SUCCESS)
    return -1;
  return now () - start;
}

/* Finds the number of loops that takes `slow_seconds` on this device. */
bool
find_loops (const Session &session, Slow &slow, std::string &error)
{
  GError *why = nullptr;
  cl_int code;
  cl::Program program (
      gst_opencl_context_get_program (session.context, slow_source, nullptr, &why));
  if (!program ()) {
    error = why->message;
    g_error_free (why);
    return false;
  }
  cl::Kernel kernel (clCreateKernel (program (), "slow", &code));
  const cl_uchar ones[16] = {1};
  cl::Buffer bytes (clCreateBuffer (gst_opencl_context_get_handle (session.context),
      CL_MEM_COPY_HOST_PTR, sizeof ones, const_cast<cl_uchar *> (ones), &code));
  for (cl_uint argument : {0u, 1u})
    clSetKernelArg (kernel (), argument, sizeof (cl_mem), &bytes ());
  slow.loops = 1000;
  time_of (session, kernel (), slow); /* the first run may compile */
  double seconds = time_of (session, kernel (), slow);
  while (seconds >= 0 && seconds < 0.05 && slow.loops < 100000000) {
    slow.loops *= 2;
    seconds = time_of (session, kernel (), slow);
  }
  if (seconds <= 0)
    error = "the slow kernel does not run";
  slow.loops = int (slow.loops * slow_seconds / seconds);
  return seconds > 0;
}

/* Returns one work-item, or enough to fill the device. */
gsize
items_of (const Session &session, bool wide)
{
  const auto units =
      opencl::device_info<cl_uint> (session.context, CL_DEVICE_MAX_COMPUTE_UNITS);
  return wide ? units * gsize (opencl::is_cpu (session.context) ? 32 : 64) : 1;
}

const std::string leaky =
    "queue leaky=downstream max-size-buffers=2 max-size-bytes=0 max-size-time=0 ! ";
const std::string live_source =
    "videotestsrc is-live=true ! "
    "video/x-raw,format=RGBA,width=320,height=240,framerate=30/1 ! openclupload ! ";
const std::string live_rest =
    "openclconvert ! video/x-raw(memory:OpenCLMemory),format=BGRA ! opencldownload ! "
    "fakesink name=sink sync=true ";

enum class Where { NOWHERE, PIPELINE, BRANCH };

std::string
line_with (Where where, const Slow &slow)
{
  if (where == Where::BRANCH)
    return live_source + "tee name=t t. ! " + leaky + live_rest + "t. ! " + leaky
           + slow.element ();
  return live_source + live_rest;
}

/* Frames of 8 MB, as fast as the device takes them */
const std::string busy_line =
    "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=1920,height=1080 ! "
    "imagefreeze ! openclupload ! openclconvert ! "
    "video/x-raw(memory:OpenCLMemory),format=BGRA ! opencldownload ! "
    "fakesink name=sink sync=false";

/* Measures the rate of a live pipeline, and the time that it takes to stop. */
void
measure_live (Run &run, Result &result)
{
  run.start ();
  run.wait ();
  const double before = now ();
  run.stop ();
  result.more = {{"stop_seconds", now () - before}};
  result.rates = run.rates ();
  result.error = run.error ();
}

/* Beside a pipeline that always has short commands on the device */
void
beside_busy (Session &session, const std::string &what)
{
  Result result = session.result (what, picture_size (320, 240), "frames/s");
  Line busy, line;
  result.limit = 30;
  busy.text = busy_line;
  line.text = line_with (Where::PIPELINE, {});
  Run other (busy, session.options.timing);
  Run run (line, session.options.timing);
  other.start ();
  measure_live (run, result);
  other.wait ();
  other.stop ();
  result.more.push_back ({"busy_rate", median (other.rates ())});
  result.error += other.error ();
  session.print (result);
}

std::function<void (Session &, const std::string &)>
live (Where where, bool wide = false)
{
  return [=] (Session &session, const std::string &what) {
    Result result = session.result (what, picture_size (320, 240), "frames/s");
    Slow slow;
    slow.items = items_of (session, wide);
    result.limit = 30;
    if (where == Where::NOWHERE || find_loops (session, slow, result.error)) {
      Line neighbour, line;
      line.text = line_with (where, slow);
      neighbour.text = "videotestsrc ! video/x-raw,format=GRAY8,width=64,height=64 ! "
                       "openclupload ! "
                       + slow.element ("name=sink");
      Run other (neighbour, session.options.timing);
      Run run (line, session.options.timing);
      if (where == Where::PIPELINE)
        other.start ();
      measure_live (run, result);
    }
    session.print (result);
  };
}
} // namespace

const std::vector<Case> neighbour_cases = {
    {"alone", "a live pipeline of 30 frames/s", live (Where::NOWHERE)},
    {"narrow", "the same next to a pipeline with a kernel of 0.43 s, one work-item",
        live (Where::PIPELINE)},
    {"wide", "next to a pipeline with a kernel of 0.43 s that fills the device",
        live (Where::PIPELINE, true)},
    {"busy", "next to a pipeline that uploads and downloads as fast as it can",
        beside_busy},
    {"branch", "as a branch of a tee, with the narrow kernel in another branch",
        live (Where::BRANCH)},
    {"branch-wide", "the same with the wide kernel", live (Where::BRANCH, true)},
};
} // namespace bench
