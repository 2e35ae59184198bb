/* OpenCL with injected failures and a count of unreleased objects
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "faultyopencl.hpp"

#include "otherdevice.hpp"
#include "realopencl.hpp"

#include <cstdio>
#include <execinfo.h>
#include <mutex>
#include <tuple>

namespace {
enum Kind {
  NONE,
  CONTEXT,
  QUEUE,
  BUFFER,
  PROGRAM,
  KERNEL,
  EVENT,
  SAMPLER,
  N_KINDS,
};

const char *const kinds[] = {
    "none", "contexts", "queues", "buffers", "programs", "kernels", "events", "samplers"};

/* --- where calls are made --- */

/* Caller of a call, and its number within this step of the thread */
using Site = std::tuple<std::string, std::vector<void *>, unsigned>;

std::vector<void *>
callers ()
{
  std::vector<void *> frames (64);
  frames.resize (size_t (backtrace (frames.data (), int (frames.size ()))));
  return frames;
}

/* How often a call has been made from one place in this step. */
thread_local std::map<std::pair<std::string, std::vector<void *>>, unsigned> in_this_step;

/* Everything that is known, for as long as the process lives: threads of a driver and
 * objects that are never released may call when all else is gone. */
struct Knowledge {
  std::mutex lock;
  faults::Fault fault;
  std::map<std::string, unsigned> calls;
  unsigned injected = 0;
  bool notes_sites = false;
  std::map<Site, std::vector<unsigned>> sites;
  int held[N_KINDS] = {};
  std::map<cl_event, cl_int> failed; /* of commands, and what they ended with */
};

Knowledge &
knowledge ()
{
  static Knowledge *const all = new Knowledge;
  return *all;
}

void
note_site (const char *call, unsigned n)
{
  const std::vector<void *> frames = callers ();
  const unsigned position = in_this_step[{call, frames}]++;
  Knowledge &all = knowledge ();
  std::lock_guard<std::mutex> guard (all.lock);
  all.sites[{call, frames, position}].push_back (n);
}

unsigned
count (const char *call)
{
  Knowledge &all = knowledge ();
  std::lock_guard<std::mutex> guard (all.lock);
  return ++all.calls[call];
}

/* Counts a call. What it is to return instead of doing its work, or CL_SUCCESS. */
cl_int
enter (const char *call)
{
  const unsigned n = count (call);
  Knowledge &all = knowledge ();
  if (all.notes_sites)
    note_site (call, n);
  std::lock_guard<std::mutex> guard (all.lock);
  const faults::Fault &fault = all.fault;
  if (fault.at == 0 || fault.call != call
      || (fault.for_good ? n < fault.at : n != fault.at))
    return CL_SUCCESS;
  all.injected++;
  return fault.code;
}

void
hold (Kind kind, int change)
{
  Knowledge &all = knowledge ();
  std::lock_guard<std::mutex> guard (all.lock);
  all.held[kind] += change;
}

/* Status with which a command ends: 0 without a fault */
cl_int
failure_of (cl_event event)
{
  Knowledge &all = knowledge ();
  std::lock_guard<std::mutex> guard (all.lock);
  auto found = all.failed.find (event);
  return found == all.failed.end () ? CL_SUCCESS : found->second;
}

/* An event came from a command that was enqueued. One that waits for a command that
 * failed fails, too. */
void
take (cl_uint n, const cl_event *waits, cl_event *event)
{
  if (!event || !*event)
    return;
  hold (EVENT, 1);
  cl_int failure = enter ("event");
  for (cl_uint i = 0; i < n && failure == CL_SUCCESS; i++) {
    if (failure_of (waits[i]) != CL_SUCCESS)
      failure = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  Knowledge &all = knowledge ();
  std::lock_guard<std::mutex> guard (all.lock);
  if (failure == CL_SUCCESS)
    all.failed.erase (*event); /* the handle of one that is no more */
  else
    all.failed[*event] = failure;
}

/* Retains or releases an object. */
template <typename Function, typename Object>
cl_int
change_count (Kind kind, Function function, Object object, int change)
{
  cl_int code = otherdevice::make ([&] { return function (object); });
  hold (kind, code == CL_SUCCESS ? change : 0);
  return code;
}
} // namespace

namespace faults {
bool
parse (const char *text, Fault &fault)
{
  char call[64], sign[2] = "";
  if (sscanf (text, "%63[A-Za-z]:%u:%d", call, &fault.at, &fault.code) != 3
      && sscanf (text, "%63[A-Za-z]:%u%1[+]:%d", call, &fault.at, sign, &fault.code) != 4)
    return false;
  fault.call = call;
  fault.for_good = sign[0] == '+';
  return fault.at > 0 && fault.code < 0;
}

void
set (const Fault &fault)
{
  std::lock_guard<std::mutex> guard (knowledge ().lock);
  knowledge ().fault = fault;
}

std::map<std::string, unsigned>
calls ()
{
  std::lock_guard<std::mutex> guard (knowledge ().lock);
  return knowledge ().calls;
}

unsigned
injected ()
{
  std::lock_guard<std::mutex> guard (knowledge ().lock);
  return knowledge ().injected;
}

void
note_sites ()
{
  knowledge ().notes_sites = true;
}

void
next_step ()
{
  in_this_step.clear ();
}

std::map<std::string, std::vector<std::vector<unsigned>>>
sites ()
{
  std::lock_guard<std::mutex> guard (knowledge ().lock);
  std::map<std::string, std::vector<std::vector<unsigned>>> sites;
  for (const auto &site : knowledge ().sites)
    sites[std::get<0> (site.first)].push_back (site.second);
  return sites;
}

std::map<std::string, int>
balance ()
{
  std::lock_guard<std::mutex> guard (knowledge ().lock);
  std::map<std::string, int> held;
  for (int kind = CONTEXT; kind < N_KINDS; kind++) {
    if (knowledge ().held[kind] != 0)
      held[kinds[kind]] = knowledge ().held[kind];
  }
  return held;
}
} // namespace faults

/* A call that returns a code. */
#define CALL(name, parameters, arguments)                                                \
  CALL_OF (name, REAL (name), parameters, arguments)

/* Function in place of `function`: the original, except for a few */
#define CALL_OF(name, function, parameters, arguments)                                   \
  cl_int name parameters                                                                 \
  {                                                                                      \
    cl_int failure = enter (#name);                                                      \
    return failure ? failure : otherdevice::make ([&] { return function arguments; });   \
  }

/* The same, of a command with an event. */
#define COMMAND(name, parameters, arguments)                                             \
  COMMAND_OF (name, REAL (name), parameters, arguments)

#define COMMAND_OF(name, function, parameters, arguments)                                \
  cl_int name parameters                                                                 \
  {                                                                                      \
    if (cl_int failure = enter (#name))                                                  \
      return failure;                                                                    \
    cl_int code = otherdevice::make ([&] { return function arguments; });                \
    if (code == CL_SUCCESS)                                                              \
      take (n, waits, event);                                                            \
    return code;                                                                         \
  }

/* A call that returns an object and sets a code. */
#define MAKE(kind, type, name, parameters, arguments)                                    \
  MAKE_OF (kind, type, name, REAL (name), parameters, arguments)

#define MAKE_OF(kind, type, name, function, parameters, arguments)                       \
  type name parameters                                                                   \
  {                                                                                      \
    if (cl_int failure = enter (#name)) {                                                \
      if (code)                                                                          \
        *code = failure;                                                                 \
      return nullptr;                                                                    \
    }                                                                                    \
    type made = otherdevice::make ([&] { return function arguments; });                  \
    hold (kind, made ? 1 : 0);                                                           \
    return made;                                                                         \
  }

/* Retaining may fail. Releasing does not: a program that cannot release has nothing left to
 * do. */
#define RETAIN(kind, name, type)                                                         \
  cl_int name (type object)                                                              \
  {                                                                                      \
    if (cl_int failure = enter (#name))                                                  \
      return failure;                                                                    \
    return change_count (kind, REAL (name), object, 1);                                  \
  }

#define RELEASE(kind, name, type)                                                        \
  cl_int name (type object)                                                              \
  {                                                                                      \
    return change_count (kind, REAL (name), object, -1);                                 \
  }

#define WAITS cl_uint n, const cl_event *waits, cl_event *event

extern "C" {
RETAIN (CONTEXT, clRetainContext, cl_context)
RELEASE (CONTEXT, clReleaseContext, cl_context)
RETAIN (NONE, clRetainDevice, cl_device_id) /* counts nothing for root devices */
RETAIN (QUEUE, clRetainCommandQueue, cl_command_queue)
RELEASE (QUEUE, clReleaseCommandQueue, cl_command_queue)
RETAIN (BUFFER, clRetainMemObject, cl_mem)
RELEASE (BUFFER, clReleaseMemObject, cl_mem)
RETAIN (PROGRAM, clRetainProgram, cl_program)
RELEASE (PROGRAM, clReleaseProgram, cl_program)
RETAIN (KERNEL, clRetainKernel, cl_kernel)
RELEASE (KERNEL, clReleaseKernel, cl_kernel)
RETAIN (EVENT, clRetainEvent, cl_event)
RELEASE (EVENT, clReleaseEvent, cl_event)
RETAIN (SAMPLER, clRetainSampler, cl_sampler)
RELEASE (SAMPLER, clReleaseSampler, cl_sampler)

MAKE (CONTEXT, cl_context, clCreateContext,
    (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
        void (CL_CALLBACK *notify) (const char *, const void *, size_t, void *),
        void *data, cl_int *code),
    (properties, n, devices, notify, data, code))
MAKE (QUEUE, cl_command_queue, clCreateCommandQueue,
    (cl_context context, cl_device_id device, cl_command_queue_properties properties,
        cl_int *code),
    (context, device, properties, code))
MAKE_OF (BUFFER, cl_mem, clCreateBuffer, otherdevice::create_buffer,
    (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
    (context, flags, size, host, code))
MAKE (BUFFER, cl_mem, clCreateSubBuffer,
    (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
        cl_int *code),
    (buffer, flags, type, info, code))
MAKE (BUFFER, cl_mem, clCreateImage,
    (cl_context context, cl_mem_flags flags, const cl_image_format *format,
        const cl_image_desc *what, void *host, cl_int *code),
    (context, flags, format, what, host, code))
MAKE (SAMPLER, cl_sampler, clCreateSampler,
    (cl_context context, cl_bool normalized, cl_addressing_mode addressing,
        cl_filter_mode filter, cl_int *code),
    (context, normalized, addressing, filter, code))
MAKE_OF (PROGRAM, cl_program, clCreateProgramWithSource, otherdevice::create_program,
    (cl_context context, cl_uint n, const char **texts, const size_t *lengths,
        cl_int *code),
    (context, n, texts, lengths, code))
MAKE (PROGRAM, cl_program, clCreateProgramWithBinary,
    (cl_context context, cl_uint n, const cl_device_id *devices, const size_t *lengths,
        const unsigned char **binaries, cl_int *status, cl_int *code),
    (context, n, devices, lengths, binaries, status, code))
MAKE (KERNEL, cl_kernel, clCreateKernel,
    (cl_program program, const char *name, cl_int *code), (program, name, code))

CALL (clGetPlatformIDs, (cl_uint room, cl_platform_id *platforms, cl_uint *n),
    (room, platforms, n))
CALL (clGetDeviceIDs,
    (cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *devices,
        cl_uint *n),
    (platform, type, room, devices, n))
CALL_OF (clGetDeviceInfo, otherdevice::get_device_info,
    (cl_device_id device, cl_device_info what, size_t room, void *value, size_t *size),
    (device, what, room, value, size))
CALL (clGetContextInfo,
    (cl_context context, cl_context_info what, size_t room, void *value, size_t *size),
    (context, what, room, value, size))
CALL (clGetSupportedImageFormats,
    (cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint room,
        cl_image_format *formats, cl_uint *n),
    (context, flags, type, room, formats, n))
CALL (clGetMemObjectInfo,
    (cl_mem buffer, cl_mem_info what, size_t room, void *value, size_t *size),
    (buffer, what, room, value, size))
CALL (clGetCommandQueueInfo,
    (cl_command_queue queue, cl_command_queue_info what, size_t room, void *value,
        size_t *size),
    (queue, what, room, value, size))
CALL_OF (clBuildProgram, otherdevice::build_program,
    (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
        void (CL_CALLBACK *notify) (cl_program, void *), void *data),
    (program, n, devices, options, notify, data))
CALL (clGetProgramInfo,
    (cl_program program, cl_program_info what, size_t room, void *value, size_t *size),
    (program, what, room, value, size))
CALL (clGetProgramBuildInfo,
    (cl_program program, cl_device_id device, cl_program_build_info what, size_t room,
        void *value, size_t *size),
    (program, device, what, room, value, size))
CALL_OF (clGetKernelWorkGroupInfo, otherdevice::get_kernel_work_group_info,
    (cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t room,
        void *value, size_t *size),
    (kernel, device, what, room, value, size))
CALL (clGetKernelInfo,
    (cl_kernel kernel, cl_kernel_info what, size_t room, void *value, size_t *size),
    (kernel, what, room, value, size))
CALL (clGetKernelArgInfo,
    (cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t room, void *value,
        size_t *size),
    (kernel, index, what, room, value, size))
CALL (clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
    (kernel, index, size, value))
CALL (clFlush, (cl_command_queue queue), (queue))
CALL (clFinish, (cl_command_queue queue), (queue))

/* A failed command is complete, and its status says that it failed. */
cl_int
clGetEventInfo (
    cl_event event, cl_event_info what, size_t room, void *value, size_t *size)
{
  if (cl_int failure = enter ("clGetEventInfo"))
    return failure;
  cl_int code = otherdevice::make (
      [&] { return REAL (clGetEventInfo) (event, what, room, value, size); });
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && value && code == CL_SUCCESS
      && *static_cast<cl_int *> (value) == CL_COMPLETE)
    *static_cast<cl_int *> (value) = failure_of (event);
  return code;
}

cl_int
clWaitForEvents (cl_uint n, const cl_event *events)
{
  if (cl_int failure = enter ("clWaitForEvents"))
    return failure;
  cl_int code = otherdevice::make ([&] { return REAL (clWaitForEvents) (n, events); });
  for (cl_uint i = 0; i < n; i++) {
    if (failure_of (events[i]) != CL_SUCCESS)
      return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return code;
}

COMMAND (clEnqueueReadBuffer,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
        void *data, WAITS),
    (queue, buffer, blocking, offset, size, data, n, waits, event))
COMMAND (clEnqueueReadBufferRect,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *from,
        const size_t *to, const size_t *region, size_t from_row, size_t from_slice,
        size_t to_row, size_t to_slice, void *data, WAITS),
    (queue, buffer, blocking, from, to, region, from_row, from_slice, to_row, to_slice,
        data, n, waits, event))
COMMAND (clEnqueueWriteBuffer,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
        const void *data, WAITS),
    (queue, buffer, blocking, offset, size, data, n, waits, event))
COMMAND (clEnqueueWriteBufferRect,
    (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *to,
        const size_t *from, const size_t *region, size_t to_row, size_t to_slice,
        size_t from_row, size_t from_slice, const void *data, WAITS),
    (queue, buffer, blocking, to, from, region, to_row, to_slice, from_row, from_slice,
        data, n, waits, event))
COMMAND (clEnqueueCopyBuffer,
    (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
        size_t size, WAITS),
    (queue, from, to, from_offset, to_offset, size, n, waits, event))
COMMAND (clEnqueueCopyBufferRect,
    (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
        const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
        size_t to_row, size_t to_slice, WAITS),
    (queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row,
        to_slice, n, waits, event))
COMMAND (clEnqueueCopyBufferToImage,
    (cl_command_queue queue, cl_mem buffer, cl_mem image, size_t offset,
        const size_t *origin, const size_t *region, WAITS),
    (queue, buffer, image, offset, origin, region, n, waits, event))
COMMAND (clEnqueueCopyImageToBuffer,
    (cl_command_queue queue, cl_mem image, cl_mem buffer, const size_t *origin,
        const size_t *region, size_t offset, WAITS),
    (queue, image, buffer, origin, region, offset, n, waits, event))
COMMAND_OF (clEnqueueFillBuffer, otherdevice::fill_buffer,
    (cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
        size_t offset, size_t size, WAITS),
    (queue, buffer, pattern, pattern_size, offset, size, n, waits, event))
COMMAND (clEnqueueUnmapMemObject,
    (cl_command_queue queue, cl_mem buffer, void *data, WAITS),
    (queue, buffer, data, n, waits, event))
COMMAND_OF (clEnqueueNDRangeKernel, otherdevice::enqueue_kernel,
    (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
        const size_t *global, const size_t *local, WAITS),
    (queue, kernel, dimensions, offset, global, local, n, waits, event))
COMMAND (clEnqueueMarkerWithWaitList, (cl_command_queue queue, WAITS),
    (queue, n, waits, event))
COMMAND (clEnqueueBarrierWithWaitList, (cl_command_queue queue, WAITS),
    (queue, n, waits, event))

void *
clEnqueueMapBuffer (cl_command_queue queue, cl_mem buffer, cl_bool blocking,
    cl_map_flags flags, size_t offset, size_t size, WAITS, cl_int *code)
{
  if (cl_int failure = enter ("clEnqueueMapBuffer")) {
    if (code)
      *code = failure;
    return nullptr;
  }
  void *data = otherdevice::make ([&] {
    return REAL (clEnqueueMapBuffer) (
        queue, buffer, blocking, flags, offset, size, n, waits, event, code);
  });
  if (data)
    take (n, waits, event);
  return data;
}
}
