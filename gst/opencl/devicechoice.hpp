/* gstreamer-opencl: which OpenCL device "auto", "gpu", "0:1" or a name means
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "opencl-hpp.hpp"

namespace opencl {
/* What is really asked for: %NULL and "auto" give way to GST_OPENCL_DEVICE. */
const char *effective_device (const char *device);

/* Whether `device`, at `index` ("PLATFORM:DEVICE", may be empty), is what `choice` names.
 */
bool device_is_chosen (
    const cl::Device &device, const std::string &index, const char *choice);

/* The device that `choice` means; GST_OPENCL_ERROR_NO_DEVICE lists those that are there.
 */
bool choose_device (const char *choice, cl::Device &device, GError **error);

/* "PLATFORM:DEVICE" of a device, or "" where no platform lists it. */
std::string device_index (const cl::Device &device);
} // namespace opencl
