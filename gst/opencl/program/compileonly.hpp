/* Compiles kernels ahead of their first launch
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/gstopenclcheck.h>

#include <atomic>

G_BEGIN_DECLS
/* `cancelled` (nullable) points to a std::atomic<bool>; returns the one before. */
GST_OPENCL_API gconstpointer gst_opencl_set_compile_only (gconstpointer cancelled);
G_END_DECLS

namespace opencl {
/* In scope, the launches of this thread compile their kernels, and enqueue nothing where the
 * queue is null. So the code that enqueues a frame also prepares for the first one.
 * Compilers that are processes of their own end once `cancelled`. */
class CompileOnly {
public:
  explicit CompileOnly (const std::atomic<bool> &cancelled)
      : previous (gst_opencl_set_compile_only (&cancelled))
  {
  }
  ~CompileOnly () { gst_opencl_set_compile_only (previous); }
  CompileOnly (const CompileOnly &) = delete;
  CompileOnly &operator= (const CompileOnly &) = delete;

private:
  gconstpointer previous;
};

/* --- the library's own --- */

bool compiles_only ();

/* clEnqueueNDRangeKernel, with compile_ahead () before or in its place where this thread
 * compiles only */
cl_int enqueue_or_compile (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const gsize *offset, const gsize *global, const gsize *local, cl_uint n_events,
    const cl_event *events, cl_event *event);
} // namespace opencl
