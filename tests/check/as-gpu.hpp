/* Makes CPU devices report that they are GPUs if GST_OPENCL_TEST_AS_GPU is set, so that a
 * second run of the program tests the kernels for GPUs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "opencl-counting.hpp"
#include "test.hpp"

#include <cstdlib>

static bool
runs_as_gpu ()
{
  return std::getenv ("GST_OPENCL_TEST_AS_GPU") != nullptr;
}

static const bool reports_gpu = check::around_each_test (
    [] {
      const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
      if (runs_as_gpu ())
        counting::override_device_info (CL_DEVICE_TYPE, &gpu, sizeof gpu);
    },
    nullptr);
