/* Queries about the device of a context
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "opencl-hpp.hpp"

#include <string>

namespace opencl {
/* Writes `size` bytes of a property to `value`. Returns false if the query fails. */
bool read_device_info (
    GstOpenCLContext *context, cl_device_info name, gsize size, void *value);

/* Returns a property of the device, or zero if the query fails */
template <typename T>
T
device_info (GstOpenCLContext *context, cl_device_info name)
{
  T value{};
  return read_device_info (context, name, sizeof value, &value) ? value : T{};
}

/* The same without a context. getInfo<>() of opencl.hpp returns an uninitialized number if
 * the query fails. */
template <typename T>
T
device_info (const cl::Device &device, cl_device_info name)
{
  T value{};
  return device.getInfo (name, &value) == CL_SUCCESS ? value : T{};
}

/* Returns the number of compute units, or 1 if the device does not report it. */
inline cl_uint
compute_units (GstOpenCLContext *context)
{
  cl_uint units = device_info<cl_uint> (context, CL_DEVICE_MAX_COMPUTE_UNITS);
  return units > 0 ? units : 1;
}

/* Returns the bytes of local memory for a work-group. If the device does not report them,
 * returns the minimum in OpenCL 1.2. */
inline cl_ulong
local_memory (GstOpenCLContext *context)
{
  const cl_ulong promised = 32768;
  cl_ulong said = device_info<cl_ulong> (context, CL_DEVICE_LOCAL_MEM_SIZE);
  return said > 0 ? said : promised;
}

/* Returns the maximum work-group size, or 1 if the device does not report it. */
inline gsize
largest_group (GstOpenCLContext *context)
{
  const size_t said = device_info<size_t> (context, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  return said > 0 ? said : 1;
}

/* Returns the vector width of kernels for CPUs in floats: that of the CPU, within 4, 8 or
 * 16 */
inline cl_uint
float_lanes (GstOpenCLContext *context)
{
  cl_uint native = device_info<cl_uint> (context, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  return native >= 16 ? 16 : native >= 8 ? 8 : 4;
}

/* Returns true if kernels may compute in double precision */
inline bool
has_double (GstOpenCLContext *context)
{
  return device_info<cl_device_fp_config> (context, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
}

inline bool
is_cpu (GstOpenCLContext *context)
{
  return device_info<cl_device_type> (context, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
}

/* Returns a text of the device's platform, or "" if the driver does not tell it. The loader
 * crashes at a query of no platform. */
std::string platform_text (const cl::Device &device, cl_platform_info name);

/* Returns a function of an extension of the device's platform, or NULL. */
void *find_platform_function (const cl::Device &device, const char *name);

/* Returns the names and versions of platform, device and driver, as lines of text. */
std::string identity_of (const cl::Device &device);
} // namespace opencl
