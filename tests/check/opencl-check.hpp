/* gstreamer-opencl tests: helpers of tests that use OpenCL
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

#include "device-kind.hpp"

#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclmemory.h>

namespace check {
/* Returns a context on the default device. A machine without one fails the test. */
inline GstOpenCLContext *
new_context ()
{
  Owned<GError> error;
  GstOpenCLContext *context = gst_opencl_context_new (nullptr, error.out ());
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  return context;
}

/* Returns another cl_context on the device of `like`. */
inline GstOpenCLContext *
new_other_context (GstOpenCLContext *like)
{
  cl_device_id device = gst_opencl_context_get_device (like);
  cl_int code;
  OwnedCL<cl_context> handle =
      clCreateContext (nullptr, 1, &device, nullptr, nullptr, &code);
  expect_equal (code, CL_SUCCESS);
  Owned<GError> error;
  GstOpenCLContext *context =
      gst_opencl_context_new_wrapped (handle, device, nullptr, error.out ());
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  return context;
}

/* The queue that elements enqueue on in this thread */
inline cl_command_queue
queue_of (GstOpenCLContext *context, GstOpenCLQueue which = GST_OPENCL_QUEUE_COMPUTE)
{
  return gst_opencl_context_get_thread_queue (context, which);
}

/* The queue that an application uses while memory is mapped with GST_MAP_OPENCL */
inline cl_command_queue
application_queue_of (GstOpenCLContext *context)
{
  return gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
}

/* Blocks all commands enqueued after it until open(), like a slow kernel. */
class Gate {
public:
  explicit Gate (GstOpenCLContext *context)
  {
    cl_int code;
    event = clCreateUserEvent (gst_opencl_context_get_handle (context), &code);
    expect_equal (code, CL_SUCCESS);
  }
  Gate (GstOpenCLContext *context, GstOpenCLQueue which) : Gate (context)
  {
    put_into (queue_of (context, which));
  }
  ~Gate ()
  {
    open ();
    clReleaseEvent (event);
  }
  Gate (const Gate &) = delete;
  Gate &operator= (const Gate &) = delete;

  void put_into (cl_command_queue queue)
  {
    expect_equal (clEnqueueBarrierWithWaitList (queue, 1, &event, nullptr), CL_SUCCESS);
    clFlush (queue);
  }
  void open () { set_status (CL_COMPLETE); }
  void fail_call () { set_status (-5); }

  cl_event event;

private:
  void set_status (cl_int status)
  {
    if (std::exchange (closed, false))
      expect_equal (clSetUserEventStatus (event, status), CL_SUCCESS);
  }
  bool closed = true;
};

/* Sets the context of an element, as an application does. */
inline void
set_context (GstElement *element, GstOpenCLContext *context)
{
  Owned<GstContext> given = gst_opencl_context_to_gst_context (context);
  gst_element_set_context (element, given);
}

/* (transfer full): a buffer of device memory */
inline GstBuffer *
device_buffer (GstOpenCLContext *context, const Bytes &bytes)
{
  GstBuffer *buffer = gst_buffer_new ();
  gst_buffer_append_memory (
      buffer, gst_opencl_memory_new (context, bytes.size (), nullptr));
  gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ());
  return buffer;
}

/* Statistics of the library for `element` */
inline GstOpenCLCounts
counts_of (GstElement *element)
{
  GstOpenCLCounts counts;
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (element), &counts);
  return counts;
}

/* Times that the profile has measured, by kernel and layer */
struct Measured {
  guint64 count = 0;
  GstClockTime time = 0;
  gdouble flop = 0, bytes = 0;
  gsize group = 0; /* work-items */
  guint64 local_memory = 0;
};
using MeasuredTimes = std::map<std::pair<std::string, std::string>, Measured>;

inline MeasuredTimes
times_of (GstOpenCLStatistics *statistics)
{
  MeasuredTimes times;
  gst_opencl_statistics_foreach_time (
      statistics,
      [] (const GstOpenCLTime *time, gpointer data) {
        auto &to = *static_cast<MeasuredTimes *> (data);
        fail_if (to.count ({time->kernel, time->layer}));
        to[{time->kernel, time->layer}] = {time->count, time->time, time->flop,
            time->bytes, time->group[0] * time->group[1] * time->group[2],
            time->local_memory};
      },
      &times);
  return times;
}

inline cl_int
status_of (cl_event event)
{
  cl_int status = -9999;
  clGetEventInfo (
      event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return status;
}

inline const gchar *const change_source =
    "__kernel void add (__global uchar *bytes, ulong start, ulong n, uchar value) {"
    "  size_t i = get_global_id (0);"
    "  if (i < n) bytes[start + i] += value; }\n"
    "__kernel void flip (__global uchar *bytes, ulong start, ulong n, uchar value) {"
    "  size_t i = get_global_id (0);"
    "  if (i < n) bytes[start + i] ^= value; }\n";

/* Returns a kernel of the program `source`. */
inline cl_kernel
make_kernel (GstOpenCLContext *context, const gchar *source, const gchar *name)
{
  Owned<GError> error;
  OwnedCL<cl_program> program =
      gst_opencl_context_get_program (context, source, nullptr, error.out ());
  fail_unless (program, "%s", error ? error->message : "no error");
  cl_int code;
  cl_kernel kernel = clCreateKernel (program, name, &code);
  expect_equal (code, CL_SUCCESS);
  return kernel;
}

/* Enqueues kernel "add" or "flip" with `value` for `n` bytes of `handle` from `start`. */
inline cl_event
enqueue_change (cl_command_queue queue, cl_kernel kernel, cl_mem handle, gsize start,
    gsize n, guint8 value)
{
  cl_ulong first = start, bytes = n;
  cl_event event;
  clSetKernelArg (kernel, 0, sizeof handle, &handle);
  clSetKernelArg (kernel, 1, sizeof first, &first);
  clSetKernelArg (kernel, 2, sizeof bytes, &bytes);
  clSetKernelArg (kernel, 3, sizeof value, &value);
  expect_equal (
      clEnqueueNDRangeKernel (queue, kernel, 1, nullptr, &n, nullptr, 0, nullptr, &event),
      CL_SUCCESS);
  return event;
}

} // namespace check
