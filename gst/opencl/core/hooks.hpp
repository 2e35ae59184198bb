/* Hooks of drivers/: builds of programs, launches, and trust in engines
 *
 * drivers/ contains what exists because drivers differ. It sets the hooks when the library
 * is loaded. Without them, everything works as with a driver without faults.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/verdict.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>

#include <atomic>
#include <functional>
#include <string>

namespace opencl {
/* Returns the program of a source and options, which `compile` compiles. The program is
 * empty if that failed. */
using BuildProgram =
    std::function<cl::Program (const cl::Context &context, const std::string &source,
        const std::string &options, const std::function<cl::Program ()> &compile)>;

/* How the verdict on an engine is found */
enum class Lookup {
  peek,   /* return what is known in this process */
  start,  /* start the check if needed */
  wait,   /* wait for the verdict */
  stored, /* read the cache only */
  rerun,  /* check again, and wait */
};

struct DriverHooks {
  /* Program build: called once for each context */
  BuildProgram (*program_build) (const cl::Device &device) = nullptr;
  /* Before a launch by a thread that only compiles: compiles the kernel for this size of
   * work-groups */
  void (*before_launch) (cl_kernel kernel, guint dimensions, const gsize *local,
      const std::atomic<bool> &cancelled) = nullptr;
  /* Trust in an engine, and the names of all engines, one a line */
  Verdict (*verdict) (
      const cl::Device &device, const std::string &engine, Lookup lookup) = nullptr;
  std::string (*engines) () = nullptr;
  std::atomic<guint> n_verdicts{0}; /* since the process began */
};
DriverHooks &driver_hooks ();

/* While in scope, the thread prepares for new caps, builds a program, launches a kernel,
 * which may compile it, or waits for the device or for a self-check. So an input is late
 * and not missing. */
class Busy {
public:
  Busy () { ++threads; }
  ~Busy () { --threads; }
  Busy (const Busy &) = delete;
  Busy &operator= (const Busy &) = delete;

  static bool is_any_thread () { return threads > 0; }

private:
  static inline std::atomic<int> threads{0};
};

/* Makes launches of this thread compile only, or run again if `cancelled` is null. Returns
 * the previous pointer. */
const std::atomic<bool> *set_compile_only (const std::atomic<bool> *cancelled);
bool compiles_only ();

/* Like clEnqueueNDRangeKernel(). If this thread compiles only, first compiles the kernel,
 * and enqueues nothing on a null queue. */
cl_int enqueue_or_compile (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const gsize *offset, const gsize *global, const gsize *local, cl_uint n_events,
    const cl_event *events, cl_event *event);
} // namespace opencl
