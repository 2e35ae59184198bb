/* opencl-bench: bandwidth limits of the device's link and memory, measured in this
 * process
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "ceilings.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>

#include <algorithm>

namespace bench {
namespace {
constexpr size_t block = 64 << 20;

/* Two blocks of pinned memory, two on the device, and a queue for each direction */
class Link {
public:
  Link (GstOpenCLContext *context, GError **error);
  ~Link ();

  explicit operator bool () const { return ready; }
  bool write () { return check (enqueue_write (), "clEnqueueWriteBuffer"); }
  bool read () { return check (enqueue_read (), "clEnqueueReadBuffer"); }
  bool copy ()
  {
    return check (
        up.enqueueCopyBuffer (device[0], device[1], 0, 0, block), "clEnqueueCopyBuffer");
  }
  /* Waits for all that was enqueued. */
  bool finish ()
  {
    return check (up.finish (), "clFinish") && check (down.finish (), "clFinish");
  }
  void flush ()
  {
    up.flush ();
    down.flush ();
  }

private:
  bool check (cl_int code, const char *call)
  {
    return gst_opencl_check (code, call, error);
  }
  cl_int enqueue_write ()
  {
    return up.enqueueWriteBuffer (
        device[0], CL_FALSE, 0, block, gst_opencl_host_memory_get_data (pinned[0]));
  }
  cl_int enqueue_read ()
  {
    return down.enqueueReadBuffer (
        device[1], CL_FALSE, 0, block, gst_opencl_host_memory_get_data (pinned[1]));
  }

  GError **error;
  bool ready = false;
  GstMemory *pinned[2] = {};
  cl::Buffer device[2];
  cl::CommandQueue up, down;
};

Link::Link (GstOpenCLContext *context, GError **error) : error (error)
{
  cl::Context handle (gst_opencl_context_get_handle (context), true);
  cl::Device on (gst_opencl_context_get_device (context), true);
  cl_int code;

  for (unsigned i = 0; i < 2; i++) {
    if (!(pinned[i] = gst_opencl_host_memory_new (context, block, error)))
      return;
    memset (gst_opencl_host_memory_get_data (pinned[i]), i + 1, block);
    device[i] = cl::Buffer (handle, CL_MEM_READ_WRITE, block, nullptr, &code);
    if (!check (code, "clCreateBuffer"))
      return;
  }
  up = cl::CommandQueue (handle, on, cl_command_queue_properties (0), &code);
  if (!check (code, "clCreateCommandQueue"))
    return;
  down = cl::CommandQueue (handle, on, cl_command_queue_properties (0), &code);
  ready = check (code, "clCreateCommandQueue");
}

Link::~Link ()
{
  if (up () && down ())
    finish ();
  for (GstMemory *memory : pinned)
    if (memory)
      gst_memory_unref (memory);
}

/* Enqueues several at a time, so that the device never waits for the host. */
template <typename Enqueue>
std::vector<double>
bandwidth (Link &link, const Timing &timing, double bytes, Enqueue enqueue)
{
  constexpr unsigned at_once = 4;
  auto rates = repeat (timing, [&] {
    for (unsigned i = 0; i < at_once; i++) {
      if (!enqueue ())
        return false;
      link.flush ();
    }
    return link.finish ();
  });
  for (double &rate : rates)
    rate *= at_once * bytes;
  return rates;
}

Timing
brief (const Timing &timing)
{
  return {std::min (timing.warm_up, 0.2), std::min (timing.seconds, 0.3),
      std::min (timing.windows, 3u)};
}
} // namespace

double
Ceilings::link_limit (double up, double down) const
{
  const double one_way = std::max (up / upload, down / download);
  const double seconds =
      up > 0 && down > 0 ? std::max (one_way, (up + down) / both) : one_way;
  return 1 / seconds;
}

std::vector<Result>
measure_ceilings (GstOpenCLContext *context, const Timing &given, Ceilings &ceilings)
{
  GError *error = nullptr;
  const Timing timing = brief (given);
  std::vector<Result> results;
  Link link (context, &error);

  auto measure = [&] (const char *name, double bytes, double &ceiling, auto enqueue) {
    Result result;
    result.what = std::string ("ceiling/") + name;
    result.device = gst_opencl_context_get_device_name (context);
    result.sizes = {{"bytes", block}};
    result.unit = "B/s";
    if (link)
      result.rates = bandwidth (link, timing, bytes, enqueue);
    if (error)
      result.error = error->message;
    ceiling = result.rates.empty () ? 0 : median (result.rates);
    results.push_back (result);
  };
  measure ("upload", block, ceilings.upload, [&] { return link.write (); });
  measure ("download", block, ceilings.download, [&] { return link.read (); });
  measure ("both-ways", 2 * block, ceilings.both,
      [&] { return link.write () && link.read (); });
  measure ("device-copy", block, ceilings.copy, [&] { return link.copy (); });
  g_clear_error (&error);
  return results;
}
} // namespace bench
