/* A kernel over columns and rows, with the work-group size that the device allows it
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/kernelarguments.hpp>
#include <gst/opencl/opencl-hpp.hpp>

#include <algorithm>

namespace opencl {
class Kernel {
public:
  /* Work-items of the largest group: more hide no more latency, and leave more of them
   * idle at a line's end. */
  static constexpr gsize largest_group = 256;

  bool create (GstOpenCLContext *context, const char *resource, const char *name,
      const char *options, GError **error)
  {
    known_arguments.forget ();
    kernel = cl::Kernel (
        gst_opencl_context_create_kernel (context, resource, name, options, error));
    return kernel ()
           && gst_opencl_check (
               clGetKernelWorkGroupInfo (kernel (),
                   gst_opencl_context_get_device (context), CL_KERNEL_WORK_GROUP_SIZE,
                   sizeof allowed_group, &allowed_group, nullptr),
               "clGetKernelWorkGroupInfo", error);
  }

  /* `value` is of the very type that the kernel declares; a buffer is a cl_mem. */
  template <typename Argument>
  bool set (cl_uint index, const Argument &value, GError **error)
  {
    return known_arguments.set (kernel (), index, value, error);
  }

  bool allows (gsize group) const { return group <= allowed_group; }

  bool enqueue (cl_command_queue queue, gsize columns, gsize rows, GError **error)
  {
    /* Fewer leave a GPU idle, and every other size costs PoCL another compilation. */
    const gsize least_group = 64;
    gsize group = std::min (allowed_group, least_group);
    while (2 * group <= std::min (allowed_group, largest_group) && group < columns)
      group *= 2;
    const gsize global[] = {columns, rows};
    const gsize local[] = {group, 1};
    return gst_opencl_launch (queue, kernel (), 2, global, local, error);
  }

  /* All arguments in the kernel's order, and enqueue. */
  template <typename... Arguments>
  bool launch (cl_command_queue queue, gsize columns, gsize rows, GError **error,
      const Arguments &...arguments)
  {
    return set_all (error, arguments...) && enqueue (queue, columns, rows, error);
  }

  /* For a kernel that is built for one size of its groups, which it allows. */
  template <typename... Arguments>
  bool launch_groups (cl_command_queue queue, gsize groups, gsize group, GError **error,
      const Arguments &...arguments)
  {
    const gsize global = groups * group;
    return set_all (error, arguments...)
           && gst_opencl_launch (queue, kernel (), 1, &global, &group, error);
  }

private:
  template <typename... Arguments>
  bool set_all (GError **error, const Arguments &...arguments)
  {
    cl_uint index = 0;
    return (set (index++, arguments, error) && ...);
  }

  cl::Kernel kernel;
  KernelArguments known_arguments;
  gsize allowed_group = 1;
};
} // namespace opencl
