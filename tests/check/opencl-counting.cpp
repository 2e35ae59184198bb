/* gstreamer-opencl tests: counts OpenCL calls and makes them fail on demand
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "opencl-counting.hpp"

#include "tests/faults/realopencl.hpp"

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace {
struct Counter {
  std::atomic<unsigned> calls{0};
  std::atomic<unsigned> fail_at{0}; /* 0: never */
  std::atomic<cl_int> code{CL_SUCCESS};
  std::atomic<cl_int> code_for_good{CL_SUCCESS};
};

Counter counters[counting::N_CALLS];
std::atomic<int> buffers_left{-1}; /* until allocation fails; -1: never */
std::atomic<int> filling{-1};      /* byte of new buffers; -1: not filled */
std::atomic<bool> platforms_hidden{false};

std::mutex overrides_lock;
std::map<cl_device_info, std::vector<char>> overrides;
std::atomic<int> buffers_held{0};

/* Existing queues and contexts, and those of a lost device */
std::mutex objects_lock;
std::set<void *> living, lost;

template <typename Object>
Object
remember (Object object)
{
  std::lock_guard<std::mutex> guard (objects_lock);
  if (object) {
    living.insert (object);
    lost.erase (object); /* a new object at the same address */
  }
  return object;
}

bool
is_lost (void *object)
{
  std::lock_guard<std::mutex> guard (objects_lock);
  return lost.count (object) > 0;
}

/* Returns the error that this call must return instead of its work, or CL_SUCCESS. */
cl_int
enter (counting::Call call)
{
  Counter &counter = counters[call];
  return ++counter.calls == counter.fail_at ? counter.code : counter.code_for_good;
}

bool
has_room ()
{
  int left = buffers_left;
  while (left > 0 && !buffers_left.compare_exchange_weak (left, left - 1))
    ;
  return left != 0;
}

/* For calls that return an object and set a code. */
template <typename Object>
Object
refuse (cl_int code, cl_int *returned)
{
  if (returned)
    *returned = code;
  return nullptr;
}
} // namespace

namespace counting {
unsigned
count (Call call)
{
  return counters[call].calls;
}

unsigned
allocations ()
{
  unsigned sum = 0;
  for (Call call : {CREATE_BUFFER, CREATE_SUB_BUFFER, CREATE_CONTEXT, CREATE_QUEUE,
           CREATE_PROGRAM, BUILD_PROGRAM, CREATE_KERNEL})
    sum += count (call);
  return sum;
}

int
held_buffers ()
{
  return buffers_held;
}

void
fail_call (Call call, unsigned n, cl_int code)
{
  counters[call].code = code;
  counters[call].fail_at = counters[call].calls + n;
}

void
fail_always (Call call, cl_int code)
{
  counters[call].code_for_good = code;
}

void
fail_buffers_after (int n)
{
  buffers_left = n;
}

void
fill_new_buffers (int byte)
{
  filling = byte;
}

void
override_device_info (cl_device_info name, const void *value, size_t size)
{
  auto *bytes = static_cast<const char *> (value);
  std::lock_guard<std::mutex> guard (overrides_lock);
  overrides[name] = std::vector<char> (bytes, bytes + size);
}

void
restore_device_info ()
{
  std::lock_guard<std::mutex> guard (overrides_lock);
  overrides.clear ();
}

void
lose_device (bool is_lost_now)
{
  std::lock_guard<std::mutex> guard (objects_lock);
  lost = is_lost_now ? living : std::set<void *> ();
}

void
hide_platforms (bool hidden)
{
  platforms_hidden = hidden;
}
} // namespace counting

using namespace counting;

extern "C" {
cl_int
clGetPlatformIDs (cl_uint room, cl_platform_id *platforms, cl_uint *n)
{
  if (!platforms_hidden)
    return REAL (clGetPlatformIDs) (room, platforms, n);
  if (n)
    *n = 0;
  return -1001; /* CL_PLATFORM_NOT_FOUND_KHR */
}

cl_int
clGetDeviceInfo (
    cl_device_id device, cl_device_info name, size_t room, void *value, size_t *size)
{
  std::lock_guard<std::mutex> guard (overrides_lock);
  auto found = overrides.find (name);
  if (found == overrides.end ())
    return REAL (clGetDeviceInfo) (device, name, room, value, size);
  const std::vector<char> &bytes = found->second;
  if (bytes.empty ())
    return CL_OUT_OF_HOST_MEMORY;
  if (value && room < bytes.size ())
    return CL_INVALID_VALUE;
  if (value)
    memcpy (value, bytes.data (), bytes.size ());
  if (size)
    *size = bytes.size ();
  return CL_SUCCESS;
}

cl_mem
clCreateBuffer (
    cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
  if (cl_int failure = enter (CREATE_BUFFER))
    return refuse<cl_mem> (failure, code);
  if (is_lost (context))
    return refuse<cl_mem> (CL_OUT_OF_RESOURCES, code);
  if (!has_room ())
    return refuse<cl_mem> (CL_MEM_OBJECT_ALLOCATION_FAILURE, code);
  std::vector<unsigned char> filled;
  if (!host && filling >= 0) {
    filled.assign (size, static_cast<unsigned char> (filling));
    flags |= CL_MEM_COPY_HOST_PTR;
    host = filled.data ();
  }
  cl_mem buffer = REAL (clCreateBuffer) (context, flags, size, host, code);
  buffers_held += buffer ? 1 : 0;
  return buffer;
}

cl_int
clRetainMemObject (cl_mem buffer)
{
  buffers_held++;
  return REAL (clRetainMemObject) (buffer);
}

cl_int
clReleaseMemObject (cl_mem buffer)
{
  buffers_held--;
  return REAL (clReleaseMemObject) (buffer);
}

cl_mem
clCreateSubBuffer (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
    const void *info, cl_int *code)
{
  if (cl_int failure = enter (CREATE_SUB_BUFFER))
    return refuse<cl_mem> (failure, code);
  cl_mem made = REAL (clCreateSubBuffer) (buffer, flags, type, info, code);
  buffers_held += made ? 1 : 0;
  return made;
}

cl_context
clCreateContext (const cl_context_properties *properties, cl_uint n,
    const cl_device_id *devices,
    void (*notify) (const char *, const void *, size_t, void *), void *user_data,
    cl_int *code)
{
  if (cl_int failure = enter (CREATE_CONTEXT))
    return refuse<cl_context> (failure, code);
  return remember (
      REAL (clCreateContext) (properties, n, devices, notify, user_data, code));
}

cl_command_queue
clCreateCommandQueue (cl_context context, cl_device_id device,
    cl_command_queue_properties properties, cl_int *code)
{
  if (cl_int failure = enter (CREATE_QUEUE))
    return refuse<cl_command_queue> (failure, code);
  return remember (REAL (clCreateCommandQueue) (context, device, properties, code));
}

cl_program
clCreateProgramWithSource (cl_context context, cl_uint n, const char **strings,
    const size_t *lengths, cl_int *code)
{
  if (cl_int failure = enter (CREATE_PROGRAM))
    return refuse<cl_program> (failure, code);
  return REAL (clCreateProgramWithSource) (context, n, strings, lengths, code);
}

cl_int
clBuildProgram (cl_program program, cl_uint n, const cl_device_id *devices,
    const char *options, void (*notify) (cl_program, void *), void *user_data)
{
  if (cl_int failure = enter (BUILD_PROGRAM))
    return failure;
  return REAL (clBuildProgram) (program, n, devices, options, notify, user_data);
}

cl_kernel
clCreateKernel (cl_program program, const char *name, cl_int *code)
{
  if (cl_int failure = enter (CREATE_KERNEL))
    return refuse<cl_kernel> (failure, code);
  return REAL (clCreateKernel) (program, name, code);
}

cl_int
clSetKernelArg (cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
  if (cl_int failure = enter (SET_KERNEL_ARGUMENT))
    return failure;
  return REAL (clSetKernelArg) (kernel, index, size, value);
}

/* Returns false if the kernel needs more local memory than the device reports. */
static bool
has_local_memory_for (cl_command_queue queue, cl_kernel kernel)
{
  {
    std::lock_guard<std::mutex> guard (overrides_lock);
    if (!overrides.count (CL_DEVICE_LOCAL_MEM_SIZE))
      return true;
  }
  cl_device_id device;
  cl_ulong has = 0, wanted = 0;
  REAL (clGetCommandQueueInfo)
  (queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  clGetDeviceInfo (device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof has, &has, nullptr);
  REAL (clGetKernelWorkGroupInfo)
  (kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof wanted, &wanted, nullptr);
  return wanted <= has;
}

cl_int
clEnqueueNDRangeKernel (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
    const cl_event *waits, cl_event *event)
{
  if (cl_int failure = enter (ENQUEUE_KERNEL))
    return failure;
  if (event)
    counters[ENQUEUE_KERNEL_WITH_EVENT].calls++;
  if (is_lost (queue) || !has_local_memory_for (queue, kernel))
    return CL_OUT_OF_RESOURCES;
  return REAL (clEnqueueNDRangeKernel) (
      queue, kernel, dimensions, offset, global, local, n, waits, event);
}

cl_int
clEnqueueReadBuffer (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
    size_t offset, size_t size, void *host, cl_uint n, const cl_event *waits,
    cl_event *event)
{
  if (cl_int failure = enter (ENQUEUE_READ))
    return failure;
  if (is_lost (queue))
    return CL_OUT_OF_RESOURCES;
  return REAL (clEnqueueReadBuffer) (
      queue, buffer, blocking, offset, size, host, n, waits, event);
}

cl_int
clEnqueueWriteBuffer (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
    size_t offset, size_t size, const void *host, cl_uint n, const cl_event *waits,
    cl_event *event)
{
  if (cl_int failure = enter (ENQUEUE_WRITE))
    return failure;
  if (is_lost (queue))
    return CL_OUT_OF_RESOURCES;
  return REAL (clEnqueueWriteBuffer) (
      queue, buffer, blocking, offset, size, host, n, waits, event);
}

void *
clEnqueueMapBuffer (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
    cl_map_flags flags, size_t offset, size_t size, cl_uint n, const cl_event *waits,
    cl_event *event, cl_int *code)
{
  if (cl_int failure = enter (ENQUEUE_MAP))
    return refuse<void *> (failure, code);
  if (is_lost (queue))
    return refuse<void *> (CL_OUT_OF_RESOURCES, code);
  return REAL (clEnqueueMapBuffer) (
      queue, buffer, blocking, flags, offset, size, n, waits, event, code);
}

cl_int
clEnqueueUnmapMemObject (cl_command_queue queue, cl_mem buffer, void *bytes, cl_uint n,
    const cl_event *waits, cl_event *event)
{
  if (cl_int failure = enter (ENQUEUE_UNMAP))
    return failure;
  if (is_lost (queue))
    return CL_OUT_OF_RESOURCES;
  return REAL (clEnqueueUnmapMemObject) (queue, buffer, bytes, n, waits, event);
}

cl_int
clWaitForEvents (cl_uint n, const cl_event *events)
{
  if (cl_int failure = enter (WAIT_FOR_EVENTS))
    return failure;
  return REAL (clWaitForEvents) (n, events);
}

cl_int
clGetEventInfo (
    cl_event event, cl_event_info name, size_t room, void *value, size_t *size)
{
  if (cl_int failure = enter (GET_EVENT_INFO))
    return failure;
  return REAL (clGetEventInfo) (event, name, room, value, size);
}

cl_int
clEnqueueMarkerWithWaitList (
    cl_command_queue queue, cl_uint n, const cl_event *waits, cl_event *event)
{
  if (is_lost (queue))
    return CL_OUT_OF_RESOURCES;
  return REAL (clEnqueueMarkerWithWaitList) (queue, n, waits, event);
}

cl_int
clEnqueueBarrierWithWaitList (
    cl_command_queue queue, cl_uint n, const cl_event *waits, cl_event *event)
{
  if (is_lost (queue))
    return CL_OUT_OF_RESOURCES;
  return REAL (clEnqueueBarrierWithWaitList) (queue, n, waits, event);
}

cl_int
clFinish (cl_command_queue queue)
{
  if (cl_int failure = enter (FINISH))
    return failure;
  if (is_lost (queue))
    return CL_OUT_OF_RESOURCES;
  return REAL (clFinish) (queue);
}
}
