/* Counts the OpenCL calls that a steady pipeline must not make, and makes one of them
 * fail
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "opencl-counting.hpp"

#include <atomic>
#include <dlfcn.h>

namespace {
std::atomic<guint> buffers, sub_buffers, kernels, program_builds, queues, finishes;
std::atomic<gint> buffers_until_failure{-1};

/* The loader's function of the same name. */
template <typename Function>
Function *
next (Function *, const char *name)
{
  return reinterpret_cast<Function *> (dlsym (RTLD_NEXT, name));
}

bool
is_to_fail ()
{
  gint left = buffers_until_failure;
  if (left > 0)
    buffers_until_failure--;
  return left == 0;
}
} // namespace

#define COUNTED(counter, function, ...)                                                  \
  static auto *const real = next (&function, #function);                                 \
  counter++;                                                                             \
  return real (__VA_ARGS__)

extern "C" {
cl_mem
clCreateBuffer (
    cl_context context, cl_mem_flags flags, size_t size, void *host_ptr, cl_int *code)
{
  if (is_to_fail ()) {
    if (code)
      *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return nullptr;
  }
  COUNTED (buffers, clCreateBuffer, context, flags, size, host_ptr, code);
}

cl_mem
clCreateSubBuffer (cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
    const void *info, cl_int *code)
{
  COUNTED (sub_buffers, clCreateSubBuffer, buffer, flags, type, info, code);
}

cl_kernel
clCreateKernel (cl_program program, const char *name, cl_int *code)
{
  COUNTED (kernels, clCreateKernel, program, name, code);
}

cl_int
clBuildProgram (cl_program program, cl_uint n, const cl_device_id *devices,
    const char *options, void (*notify) (cl_program, void *), void *user_data)
{
  COUNTED (
      program_builds, clBuildProgram, program, n, devices, options, notify, user_data);
}

cl_command_queue
clCreateCommandQueue (cl_context context, cl_device_id device,
    cl_command_queue_properties properties, cl_int *code)
{
  COUNTED (queues, clCreateCommandQueue, context, device, properties, code);
}

cl_int
clFinish (cl_command_queue queue)
{
  COUNTED (finishes, clFinish, queue);
}
}

namespace counting {
Calls
calls ()
{
  return {buffers, sub_buffers, kernels, program_builds, queues, finishes};
}

void
fail_buffers_after (gint n)
{
  buffers_until_failure = n;
}
} // namespace counting
