/* A device that is not as this machine's: another vendor's
 *
 * Every device reports the values of the environment variable OTHER_DEVICE, such as
 * "type=4 group=64 local=16384", and enforces them: larger work-groups and kernels with more
 * local memory do not run. Besides `facts` there are
 *
 *   kernel-group=64  the largest work-group of a kernel that is not built for one size,
 *                    where that is less than the device's
 *   doubles=0        programs that use double precision do not compile
 *   guard=1          buffers begin with arbitrary contents, and memory after them is not
 *                    accessible; 2: memory before them
 *   one-thread=1     one thread makes all calls: Oclgrind needs this to track uninitialized
 *                    memory
 *
 * Every program that is built is written into the folder OTHER_DEVICE_PROGRAMS, where that
 * is named.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <functional>

/* These do what the calls do whose names they have, on that device. */
namespace otherdevice {
cl_int get_device_info (
    cl_device_id device, cl_device_info what, size_t room, void *value, size_t *size);
cl_int get_kernel_work_group_info (cl_kernel kernel, cl_device_id device,
    cl_kernel_work_group_info what, size_t room, void *value, size_t *size);
cl_mem create_buffer (
    cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code);
cl_program create_program (cl_context context, cl_uint n, const char **texts,
    const size_t *lengths, cl_int *code);
cl_int build_program (cl_program program, cl_uint n, const cl_device_id *devices,
    const char *options, void (CL_CALLBACK *notify) (cl_program, void *), void *data);
cl_int enqueue_kernel (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
    const cl_event *waits, cl_event *event);

cl_int fill_buffer (cl_command_queue queue, cl_mem buffer, const void *pattern,
    size_t pattern_size, size_t offset, size_t size, cl_uint n, const cl_event *waits,
    cl_event *event);

void run (const std::function<void ()> &work);

/* Returns the result of `call`, which runs in the thread that makes all calls to that
 * device. */
template <typename Call>
auto
make (Call call)
{
  decltype (call ()) result{};
  run ([&] { result = call (); });
  return result;
}
} // namespace otherdevice
