/* gstreamer-opencl tests: what programs need of opencl-counting.hpp where no program can stand
 * in front of the OpenCL loader
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "opencl-counting.hpp"

#include "harness.hpp"

void
counting::override_device_info (cl_device_info, const void *, size_t)
{
  fail_unless (false, "the device cannot say otherwise here");
}

void
counting::restore_device_info ()
{
}
