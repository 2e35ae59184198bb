/* A kernel over columns and rows, with the work-group size that the device allows it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "kernel.hpp"

#include <algorithm>

namespace oct {
bool
Kernel::create (GstOpenCLContext *context, const char *resource, const char *name,
    const char *options, GError **error)
{
  known_arguments.forget ();
  kernel = cl::Kernel (
      gst_opencl_context_create_kernel (context, resource, name, options, error));
  return kernel ()
         && gst_opencl_check (
             clGetKernelWorkGroupInfo (kernel (), gst_opencl_context_get_device (context),
                 CL_KERNEL_WORK_GROUP_SIZE, sizeof allowed_group, &allowed_group,
                 nullptr),
             "clGetKernelWorkGroupInfo", error);
}

bool
Kernel::enqueue (cl_command_queue queue, gsize columns, gsize rows, GError **error)
{
  gsize group = 1;
  while (2 * group <= std::min<gsize> (allowed_group, largest_group) && group < columns)
    group *= 2;
  const gsize global[] = {columns, rows};
  const gsize local[] = {group, 1};
  return gst_opencl_launch (queue, kernel (), 2, global, local, error);
}

bool
Kernel::enqueue_groups (cl_command_queue queue, gsize groups, gsize group, GError **error)
{
  const gsize global = groups * group;
  return gst_opencl_launch (queue, kernel (), 1, &global, &group, error);
}
} // namespace oct
