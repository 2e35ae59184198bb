/* A kernel over columns and rows, with the work-group size that the device allows it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/kernelarguments.hpp>
#include <gst/opencl/opencl.h>
#include <gst/opencl/opencl-hpp.hpp>

namespace oct {
class Kernel {
public:
  /* Work-items of the largest group: more hide no more latency, and leave more of them
   * idle at the end of a line. */
  static constexpr gsize largest_group = 256;

  bool create (GstOpenCLContext *context, const char *resource, const char *name,
      const char *options, GError **error);

  /* Arguments in the kernel's order, each of the very type that the kernel declares;
   * buffers as cl_mem. */
  template <typename... Arguments>
  bool launch (cl_command_queue queue, gsize columns, gsize rows, GError **error,
      const Arguments &...arguments)
  {
    return set (error, arguments...) && enqueue (queue, columns, rows, error);
  }

  bool allows (gsize group) const { return group <= allowed_group; }

  /* For a kernel that is built for one size of its groups, which it allows. */
  template <typename... Arguments>
  bool launch_groups (cl_command_queue queue, gsize groups, gsize group, GError **error,
      const Arguments &...arguments)
  {
    return set (error, arguments...) && enqueue_groups (queue, groups, group, error);
  }

private:
  template <typename... Arguments>
  bool set (GError **error, const Arguments &...arguments)
  {
    cl_uint index = 0;
    return (known_arguments.set (kernel (), index++, arguments, error) && ...);
  }
  bool enqueue (cl_command_queue queue, gsize columns, gsize rows, GError **error);
  bool enqueue_groups (cl_command_queue queue, gsize groups, gsize group, GError **error);

  cl::Kernel kernel;
  opencl::KernelArguments known_arguments;
  gsize allowed_group = 1;
};
} // namespace oct
