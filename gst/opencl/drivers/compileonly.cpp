/* Compiles kernels ahead of their first launch
 *
 * Drivers compile in clBuildProgram, which any thread may call while others launch. PoCL
 * (3.1 to 7.1) compiles a kernel again at its first launch with a new work-group size.
 * Meanwhile it holds a lock that every launch in the process needs
 * (pocl_check_kernel_dlhandle_cache), so all pipelines stop for 0.3 to 0.9 s. PoCL keeps
 * the result in its file cache. Therefore a separate process, gst-opencl-compile, fills
 * that cache first.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/core/hooks.hpp>
#include <gst/common/platform.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace opencl {
namespace {
/* One compilation */
struct Task {
  std::string platform, device, kernel, options, source;
  std::array<std::string, 3> local;
};

/* Finds the platform and device index of a PoCL device. Returns false for other
 * drivers. */
bool
find_pocl_device (const cl::Device &wanted, Task &task)
{
  std::vector<cl::Platform> platforms;
  std::vector<cl::Device> devices;
  cl::Platform::get (&platforms);
  for (gsize p = 0; p < platforms.size (); p++) {
    if (platforms[p].getInfo<CL_PLATFORM_NAME> () != "Portable Computing Language"
        || platforms[p].getDevices (CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS)
      continue;
    for (gsize d = 0; d < devices.size (); d++) {
      if (devices[d]() != wanted ())
        continue;
      task.platform = std::to_string (p);
      task.device = std::to_string (d);
      return true;
    }
  }
  return false;
}

bool
describe (cl_kernel handle, guint dimensions, const gsize *local, Task &task)
{
  const cl::Kernel kernel (handle, true);
  const cl::Program program = kernel.getInfo<CL_KERNEL_PROGRAM> ();
  const std::vector<cl::Device> devices = program.getInfo<CL_PROGRAM_DEVICES> ();
  if (devices.empty () || !find_pocl_device (devices[0], task))
    return false;
  task.kernel = kernel.getInfo<CL_KERNEL_FUNCTION_NAME> ();
  task.options = program.getBuildInfo<CL_PROGRAM_BUILD_OPTIONS> (devices[0]);
  task.source = program.getInfo<CL_PROGRAM_SOURCE> ();
  for (guint d = 0; d < task.local.size (); d++)
    task.local[d] = std::to_string (d < dimensions ? local[d] : 1);
  return !task.source.empty ();
}

void
run (const Task &task, const std::atomic<bool> &cancelled)
{
  static const std::string path = find_helper_program ("gst-opencl-compile");
  ChildLimits limits;
  limits.cancelled = &cancelled;
  limits.seconds = 60;
  if (path.empty ()
      || run_child ({path, task.platform, task.device, task.kernel, task.local[0],
                        task.local[1], task.local[2], task.options, id_of_process ()},
             task.source, limits)
                 .end
             == ChildResult::not_started)
    GST_INFO ("gst-opencl-compile was not found, or cannot be started");
}

/* Returns whether this process has not compiled `task` before. */
bool
is_first (const Task &task)
{
  static std::mutex lock;
  static std::set<gsize> compiled;
  std::string all;
  for (const std::string *text : {&task.platform, &task.device, &task.kernel,
           &task.local[0], &task.local[1], &task.local[2], &task.options, &task.source})
    all += *text + '\n';
  std::lock_guard<std::mutex> guard (lock);
  return compiled.insert (std::hash<std::string> () (all)).second;
}

/* Compiles `kernel` for this work-group size. Failures are ignored, as the launch reports
 * them. */
void
compile_ahead (cl_kernel kernel, guint dimensions, const gsize *local,
    const std::atomic<bool> &cancelled)
{
  Task task;
  if (local && describe (kernel, dimensions, local, task) && !cancelled
      && is_first (task))
    run (task, cancelled);
}

[[maybe_unused]] const auto hook = driver_hooks ().before_launch = compile_ahead;
} // namespace
} // namespace opencl
