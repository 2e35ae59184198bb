/* Compiles kernels ahead of their first launch
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/gstopenclcheck.h>

#include <atomic>

G_BEGIN_DECLS
/* Makes launches of this thread compile only, or run again if `cancelled` is null.
 * `cancelled` points to a std::atomic<bool>. Returns the previous pointer. */
GST_OPENCL_API gconstpointer gst_opencl_set_compile_only (gconstpointer cancelled);
G_END_DECLS

namespace opencl {
/* While in scope, launches of this thread compile their kernels first, and enqueue
 * nothing on a null queue. Thus the code that enqueues a frame can also prepare for the
 * first one. Compiler processes are killed when `cancelled` is set. */
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

/* --- used only by the library --- */

bool compiles_only ();

/* Like clEnqueueNDRangeKernel(). If this thread compiles only, first compiles the kernel,
 * and enqueues nothing on a null queue. */
cl_int enqueue_or_compile (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const gsize *offset, const gsize *global, const gsize *local, cl_uint n_events,
    const cl_event *events, cl_event *event);
} // namespace opencl
