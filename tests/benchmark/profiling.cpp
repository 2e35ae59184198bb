/* opencl-bench: device time of every command that the library enqueues
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/* This program's functions replace those of the OpenCL loader, and call them. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "profiling.hpp"

#include <CL/cl.h>

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <vector>

namespace {
struct Recorded {
  std::string name;
  cl_event event;
};

/* One per process, since the functions of the loader are replaced once. */
struct Recorder {
  std::atomic<bool> enabled{false}, on{false};
  std::mutex lock;
  std::vector<Recorded> commands;
};

Recorder &
recorder ()
{
  static Recorder recorder;
  return recorder;
}

template <typename Function>
Function *
real (Function *, const char *name)
{
  return reinterpret_cast<Function *> (dlsym (RTLD_NEXT, name));
}

std::string
name_of (cl_kernel kernel)
{
  char name[256] = "kernel";
  clGetKernelInfo (kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
  return name;
}

/* Calls `enqueue`, and keeps the event when recording. */
template <typename Name, typename Enqueue>
cl_int
record_command (cl_event *event, Name name, Enqueue enqueue)
{
  if (!recorder ().on)
    return enqueue (event);
  cl_event own = nullptr;
  const cl_int code = enqueue (&own);
  if (code != CL_SUCCESS)
    return code;
  if (event) {
    *event = own;
    clRetainEvent (own);
  }
  std::lock_guard<std::mutex> guard (recorder ().lock);
  recorder ().commands.push_back ({name (), own});
  return code;
}

double
seconds_of (cl_event event)
{
  cl_ulong start = 0, end = 0;
  clGetEventProfilingInfo (
      event, CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr);
  clGetEventProfilingInfo (event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
  return (end - start) * 1e-9;
}
} // namespace

namespace bench {
namespace profiling {
void
enable ()
{
  recorder ().enabled = true;
}

void
record (bool on)
{
  recorder ().on = on;
}

std::map<std::string, Command>
collect ()
{
  std::lock_guard<std::mutex> guard (recorder ().lock);
  std::map<std::string, Command> sums;
  for (const Recorded &recorded : recorder ().commands) {
    if (clWaitForEvents (1, &recorded.event) == CL_SUCCESS) {
      Command &sum = sums[recorded.name];
      sum.calls++;
      sum.seconds += seconds_of (recorded.event);
    }
    clReleaseEvent (recorded.event);
  }
  recorder ().commands.clear ();
  return sums;
}
} // namespace profiling
} // namespace bench

#define REAL(name) static auto *const next = real (name, #name)
#define NAMED(text) [] { return std::string (text); }

extern "C" {
cl_command_queue
clCreateCommandQueue (cl_context context, cl_device_id device,
    cl_command_queue_properties properties, cl_int *code)
{
  REAL (clCreateCommandQueue);
  if (recorder ().enabled)
    properties |= CL_QUEUE_PROFILING_ENABLE;
  return next (context, device, properties, code);
}

cl_int
clEnqueueNDRangeKernel (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const size_t *offset, const size_t *global, const size_t *local, cl_uint n_waits,
    const cl_event *waits, cl_event *event)
{
  REAL (clEnqueueNDRangeKernel);
  return record_command (
      event, [kernel] { return name_of (kernel); },
      [=] (cl_event *e) {
        return next (queue, kernel, dimensions, offset, global, local, n_waits, waits, e);
      });
}

cl_int
clEnqueueNativeKernel (cl_command_queue queue, void (CL_CALLBACK *function) (void *),
    void *arguments, size_t size, cl_uint n_buffers, const cl_mem *buffers,
    const void **locations, cl_uint n_waits, const cl_event *waits, cl_event *event)
{
  REAL (clEnqueueNativeKernel);
  return record_command (event, NAMED ("native"), [=] (cl_event *e) {
    return next (queue, function, arguments, size, n_buffers, buffers, locations, n_waits,
        waits, e);
  });
}

cl_int
clEnqueueWriteBuffer (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
    size_t offset, size_t size, const void *data, cl_uint n_waits, const cl_event *waits,
    cl_event *event)
{
  REAL (clEnqueueWriteBuffer);
  return record_command (event, NAMED ("upload"), [=] (cl_event *e) {
    return next (queue, buffer, blocking, offset, size, data, n_waits, waits, e);
  });
}

cl_int
clEnqueueReadBuffer (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
    size_t offset, size_t size, void *data, cl_uint n_waits, const cl_event *waits,
    cl_event *event)
{
  REAL (clEnqueueReadBuffer);
  return record_command (event, NAMED ("download"), [=] (cl_event *e) {
    return next (queue, buffer, blocking, offset, size, data, n_waits, waits, e);
  });
}

cl_int
clEnqueueCopyBuffer (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
    size_t to_offset, size_t size, cl_uint n_waits, const cl_event *waits,
    cl_event *event)
{
  REAL (clEnqueueCopyBuffer);
  return record_command (event, NAMED ("copy"), [=] (cl_event *e) {
    return next (queue, from, to, from_offset, to_offset, size, n_waits, waits, e);
  });
}

cl_int
clEnqueueFillBuffer (cl_command_queue queue, cl_mem buffer, const void *pattern,
    size_t pattern_size, size_t offset, size_t size, cl_uint n_waits,
    const cl_event *waits, cl_event *event)
{
  REAL (clEnqueueFillBuffer);
  return record_command (event, NAMED ("fill"), [=] (cl_event *e) {
    return next (queue, buffer, pattern, pattern_size, offset, size, n_waits, waits, e);
  });
}
}
