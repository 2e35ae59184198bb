/* Selects an OpenCL device by "auto", "gpu", "0:1" or a name
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/opencl-hpp.hpp>

#include <glib.h>
#include <string>
#include <vector>

namespace opencl {
/* Properties by which a device is selected */
struct DeviceDescription {
  std::string index; /* "PLATFORM:DEVICE", or empty if no platform lists it */
  std::string name;
  cl_device_type type = 0;
  bool shares_host_memory = false; /* a CPU or an integrated GPU */
  cl_ulong memory = 0;             /* bytes */
  std::string fault;               /* "is not available"; empty if usable */
  bool has_compiler = true;        /* else programs are compiled elsewhere */
};

/* A device of this machine and its index, "PLATFORM:DEVICE" */
struct ListedDevice {
  cl::Device device;
  std::string index;
};
std::vector<ListedDevice> list_devices ();

/* Fails in a process that was forked from one that has listed the devices: a command would never
 * end, as the driver's threads exist only in the parent. */
bool check_process (GError **error);

/* Returns GST_OPENCL_DEVICE in place of %NULL and "auto", and other names unchanged. */
const char *effective_device (const char *device);

/* `index` may be empty. */
DeviceDescription describe_device (const cl::Device &device, const std::string &index);

bool has_extension (cl_device_id device, const std::string &name);

/* Returns true if `choice` names the device. */
bool device_is_chosen (const DeviceDescription &device, const char *choice);

/* Returns the index in `listed` of the best usable device that `choice` names. Devices
 * with a compiler come first. Then the order is: a GPU with its own memory, a GPU that
 * uses the host's memory, a CPU, an accelerator. Then the one with more memory is
 * preferred, then the first. "auto" selects no device without a compiler. Returns -1 with
 * GST_OPENCL_ERROR_NO_DEVICE if there is none. The error lists the available devices, or
 * what the named ones lack. */
int choose_among (
    const std::vector<DeviceDescription> &listed, const char *choice, GError **error);

/* Chooses among the devices of this machine. */
bool choose_device (const char *choice, cl::Device &device, GError **error);

/* Returns "PLATFORM:DEVICE" of a device, or "" if no platform lists it. */
std::string device_index (const cl::Device &device);
} // namespace opencl
