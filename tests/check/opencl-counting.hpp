/* gstreamer-opencl tests: which OpenCL calls a program makes, and failures on demand
 *
 * opencl-counting.cpp stands in front of the OpenCL library: link it into a test program
 * with export_dynamic, and the library under test calls it too.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <CL/cl.h>

namespace counting {
/* Calls that have no place in a pipeline that runs steadily, and those that transfer. */
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
  ENQUEUE_READ,
  ENQUEUE_WRITE,
  ENQUEUE_MAP,
  ENQUEUE_UNMAP,
  WAIT_FOR_EVENTS,
  GET_EVENT_INFO,
  FINISH,
  N_CALLS,
};

/* How often `call` was made since the program began. */
unsigned count (Call call);

/* Buffers, programs, kernels, queues and contexts made: what no frame may cost. */
unsigned allocations ();

/* Number of references to cl_mem objects that are not yet released */
int held_buffers ();

/* The n-th `call` from now on (1 is the next) returns `code` and does nothing; one
 * failure is pending at a time for each call. */
void let_fail (Call call, unsigned n, cl_int code);

/* Every `call` from now on returns `code` and does nothing; CL_SUCCESS ends that. */
void let_fail_for_good (Call call, cl_int code);

/* From here on clCreateBuffer fails as on a device without room, after `n` more that do
 * not; -1 for never. */
void fail_buffers_after (int n);

/* From here on new buffers hold `byte` where they hold nothing else; -1 ends that. */
void fill_new_buffers (int byte);

/* Value that every device reports for `name`, until the true value is restored */
void let_devices_say (cl_device_info name, const void *value, size_t size);
void let_devices_say_the_truth ();

/* The machine has no OpenCL platform while `hidden`. */
void hide_platforms (bool hidden);
/* From now on nothing can be enqueued in the contexts that there are, nor made in them,
 * as after a reset of the device; new ones work. FALSE: forgotten. */
void lose_device (bool lost);
} // namespace counting
