/* gstreamer-opencl tests: what the test programs share
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "device-kind.hpp"

#include <gst/check/gstcheck.h>
#include <gst/opencl/opencl-private.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace check {
using Bytes = std::vector<guint8>;

/* A context on the machine's default device; a machine without one fails the test. */
inline GstOpenCLContext *
new_context ()
{
  GError *error = nullptr;
  GstOpenCLContext *context = gst_opencl_context_new (nullptr, &error);
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  return context;
}

/* Another cl_context on the device of `like`. */
inline GstOpenCLContext *
new_other_context (GstOpenCLContext *like)
{
  cl_device_id device = gst_opencl_context_get_device (like);
  cl_int code;
  cl_context handle = clCreateContext (nullptr, 1, &device, nullptr, nullptr, &code);
  fail_unless_equals_int (code, CL_SUCCESS);
  GError *error = nullptr;
  GstOpenCLContext *context =
      gst_opencl_context_new_wrapped (handle, device, nullptr, &error);
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  clReleaseContext (handle);
  return context;
}

inline cl_command_queue
queue_of (GstOpenCLContext *context, GstOpenCLQueue which = GST_OPENCL_QUEUE_COMPUTE)
{
  return gst_opencl_context_get_queue (context, which);
}

/* Bytes that differ everywhere and from seed to seed. */
inline Bytes
pattern (gsize size, guint seed)
{
  Bytes bytes (size);
  guint32 state = seed * 2654435761u + 12345;
  for (guint8 &byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = guint8 (state >> 24);
  }
  return bytes;
}

/* Holds everything enqueued behind it until it is opened: a command as slow as wanted. */
class Gate {
public:
  explicit Gate (GstOpenCLContext *context)
  {
    cl_int code;
    event = clCreateUserEvent (gst_opencl_context_get_handle (context), &code);
    fail_unless_equals_int (code, CL_SUCCESS);
  }
  ~Gate ()
  {
    if (closed)
      open ();
    clReleaseEvent (event);
  }
  Gate (const Gate &) = delete;
  Gate &operator= (const Gate &) = delete;

  void put_into (cl_command_queue queue)
  {
    fail_unless_equals_int (
        clEnqueueBarrierWithWaitList (queue, 1, &event, nullptr), CL_SUCCESS);
    clFlush (queue);
  }
  void open () { set_status (CL_COMPLETE); }
  void let_fail () { set_status (-5); }

  cl_event event;

private:
  void set_status (cl_int status)
  {
    closed = false;
    fail_unless_equals_int (clSetUserEventStatus (event, status), CL_SUCCESS);
  }
  bool closed = true;
};

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

/* A kernel of a program in a string. */
inline cl_kernel
make_kernel (GstOpenCLContext *context, const gchar *source, const gchar *name)
{
  GError *error = nullptr;
  cl_program program = gst_opencl_context_get_program (context, source, nullptr, &error);
  fail_unless (program != nullptr, "%s", error ? error->message : "no error");
  cl_int code;
  cl_kernel kernel = clCreateKernel (program, name, &code);
  fail_unless_equals_int (code, CL_SUCCESS);
  clReleaseProgram (program);
  return kernel;
}

/* Enqueues "add" or "flip" of `value` to `n` bytes of `handle` from `start`. */
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
  fail_unless_equals_int (
      clEnqueueNDRangeKernel (queue, kernel, 1, nullptr, &n, nullptr, 0, nullptr, &event),
      CL_SUCCESS);
  return event;
}

/* What the CPU reads; fails the test where it cannot be mapped. */
inline Bytes
read_memory (GstMemory *memory)
{
  GstMapInfo map;
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  Bytes bytes (map.data, map.data + map.size);
  gst_memory_unmap (memory, &map);
  return bytes;
}

inline void
write_memory (GstMemory *memory, const Bytes &bytes)
{
  GstMapInfo map;
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (map.size >= bytes.size ());
  memcpy (map.data, bytes.data (), bytes.size ());
  gst_memory_unmap (memory, &map);
}

inline Bytes
read_buffer (GstBuffer *buffer)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  Bytes bytes (map.data, map.data + map.size);
  gst_buffer_unmap (buffer, &map);
  return bytes;
}

inline void
assert_same (const Bytes &got, const Bytes &expected, const char *what)
{
  fail_unless (got.size () == expected.size (),
      "%s: %" G_GSIZE_FORMAT " bytes, expected %" G_GSIZE_FORMAT, what, got.size (),
      expected.size ());
  auto differing = std::mismatch (got.begin (), got.end (), expected.begin ());
  if (differing.first != got.end ())
    ck_abort_msg ("%s: byte %d is %u, expected %u", what,
        int (differing.first - got.begin ()), *differing.first, *differing.second);
}

/* Whether `condition` becomes true within ten seconds. */
template <typename Condition>
bool
soon (Condition condition)
{
  for (int i = 0; i < 2000; i++) {
    if (condition ())
      return true;
    g_usleep (5000);
  }
  return false;
}
} // namespace check
