/* Local memory arguments of a kernel, checked against the device's limits
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/gstopenclcheck.h>

#include <map>
#include <string>

namespace opencl {
/* PoCL ends the process when a kernel is launched with more local memory than the device
 * has, so the sum of all is checked when an argument is set. */
class LocalArguments {
public:
  /* Sets an argument. Every call must name the same kernel. Fails if the kernel would
   * need more local memory than the device has; the error has both sizes and `name`.
   * `bytes` may be larger than any gsize. */
  bool set (cl_kernel kernel, cl_device_id device, cl_uint index, const std::string &name,
      long double bytes, GError **error);

private:
  bool find_limits (cl_kernel kernel, cl_device_id device, GError **error);

  cl_ulong most = 0;              /* limit of the device (0 = not known yet) */
  cl_ulong own = 0;               /* of the kernel without its arguments */
  std::map<cl_uint, gsize> sizes; /* sizes of the arguments */
};

/* Runs before the first argument is set, because the driver also counts arguments. */
inline bool
LocalArguments::find_limits (cl_kernel kernel, cl_device_id device, GError **error)
{
  return most > 0
         || (gst_opencl_check (clGetKernelWorkGroupInfo (kernel, device,
                                   CL_KERNEL_LOCAL_MEM_SIZE, sizeof own, &own, nullptr),
                 "clGetKernelWorkGroupInfo", error)
             && gst_opencl_check (clGetDeviceInfo (device, CL_DEVICE_LOCAL_MEM_SIZE,
                                      sizeof most, &most, nullptr),
                 "clGetDeviceInfo", error));
}

inline bool
LocalArguments::set (cl_kernel kernel, cl_device_id device, cl_uint index,
    const std::string &name, long double bytes, GError **error)
{
  if (!find_limits (kernel, device, error))
    return false;
  long double others = own;
  for (const auto &[other, size] : sizes)
    others += other == index ? 0 : size;
  if (bytes + others > most) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "The argument %s needs %.0Lf bytes of local memory and the rest of the kernel "
        "%.0Lf, but a work-group has only %" G_GUINT64_FORMAT " bytes on the device",
        name.c_str (), bytes, others, guint64 (most));
    return false;
  }
  sizes[index] = gsize (bytes);
  return gst_opencl_check (
      clSetKernelArg (kernel, index, sizes[index], nullptr), "clSetKernelArg", error);
}
} // namespace opencl
