/* What a context's device says of itself
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl.h>

namespace oct {
template <typename T>
T
device_info (GstOpenCLContext *context, cl_device_info name)
{
  T value{};
  clGetDeviceInfo (
      gst_opencl_context_get_device (context), name, sizeof value, &value, nullptr);
  return value;
}

inline bool
is_cpu (GstOpenCLContext *context)
{
  return device_info<cl_device_type> (context, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
}
} // namespace oct
