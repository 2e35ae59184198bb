/* Selects an OpenCL device by "auto", "gpu", "0:1" or a name
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <glib.h>
#include <string>
#include <vector>

namespace opencl {
/* Properties of a device that select it */
struct DeviceDescription {
  std::string index; /* "PLATFORM:DEVICE", empty where no platform lists it */
  std::string name;
  cl_device_type type = 0;
  bool shares_host_memory = false; /* a CPU, or a GPU beside one */
  cl_ulong memory = 0;             /* bytes */
  std::string fault;               /* "is not available"; empty where it can be used */
  bool has_compiler = true;        /* or else its programs are compiled elsewhere */
};

/* A device of this machine, and where its platform lists it: "PLATFORM:DEVICE" */
struct ListedDevice {
  cl::Device device;
  std::string index;
};
std::vector<ListedDevice> list_devices ();

/* Returns GST_OPENCL_DEVICE in place of %NULL and "auto", and other names unchanged. */
const char *effective_device (const char *device);

/* `index` may be empty. */
DeviceDescription describe_device (const cl::Device &device, const std::string &index);

bool has_extension (cl_device_id device, const std::string &name);

/* Whether it is what `choice` names. */
bool device_is_chosen (const DeviceDescription &device, const char *choice);

/* The place in `listed` of the device that `choice` means: of those that it names and
 * that can be used, one with a compiler before one without; then a GPU with memory of its own
 * before one that works in the host's, that before a CPU and that before an accelerator; then
 * the one with more memory, then the first. "auto" takes no device without a compiler. -1 with
 * GST_OPENCL_ERROR_NO_DEVICE, which says which devices are there or what those that `choice`
 * names lack. */
int choose_among (
    const std::vector<DeviceDescription> &listed, const char *choice, GError **error);

/* The same of this machine's devices. */
bool choose_device (const char *choice, cl::Device &device, GError **error);

/* "PLATFORM:DEVICE" of a device, or "" where no platform lists it. */
std::string device_index (const cl::Device &device);
} // namespace opencl
