/* gstreamer-opencl tests: counts OpenCL calls and makes them fail on demand
 *
 * opencl-counting.cpp overrides functions of the OpenCL library. Link it into a test
 * program with export_dynamic; the library under test then calls it too.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <CL/cl.h>

namespace counting {
/* Calls that a pipeline must not make in steady state, and transfers */
enum Call {
  CREATE_BUFFER,
  CREATE_SUB_BUFFER,
  CREATE_CONTEXT,
  CREATE_QUEUE,
  CREATE_PROGRAM,
  BUILD_PROGRAM,
  CREATE_KERNEL,
  SET_KERNEL_ARGUMENT,
  ENQUEUE_KERNEL,
  ENQUEUE_KERNEL_WITH_EVENT, /* counts only */
  ENQUEUE_READ,
  ENQUEUE_WRITE,
  ENQUEUE_MAP,
  ENQUEUE_UNMAP,
  WAIT_FOR_EVENTS,
  GET_EVENT_INFO,
  FINISH,
  N_CALLS,
};

/* Returns how often `call` was made since the program began. */
unsigned count (Call call);

/* Number of buffers, programs, kernels, queues and contexts created; frames must create
 * none. */
unsigned allocations ();

/* Number of references to cl_mem objects that are not yet released */
int held_buffers ();

/* The n-th `call` from now on (1 is the next) returns `code` and does nothing; one
 * failure is pending at a time for each call. */
void fail_call (Call call, unsigned n, cl_int code);

/* Every `call` from now on returns `code` and does nothing; CL_SUCCESS ends that. */
void fail_always (Call call, cl_int code);

/* clCreateBuffer succeeds `n` more times and then fails, as on a device without free
 * memory. -1 ends that. */
void fail_buffers_after (int n);

/* Fills new buffers without contents with `byte`; -1 ends that. */
void fill_new_buffers (int byte);

/* Makes every device report `value` for `name`, or fail to if `size` is 0, until the true
 * values are restored. */
void override_device_info (cl_device_info name, const void *value, size_t size);
void restore_device_info ();

/* Hides all OpenCL platforms while `hidden`. */
void hide_platforms (bool hidden);
/* Makes calls in all existing contexts fail, as after a reset of the device; new contexts
 * work. FALSE ends that. */
void lose_device (bool lost);
} // namespace counting
