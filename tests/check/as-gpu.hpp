/* With GST_OPENCL_TEST_AS_GPU in the environment a device that is a CPU says that it is a
 * GPU, so that what is made for one is tested; for a program that is run in both ways
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "opencl-counting.hpp"
#include "test.hpp"

#include <cstdlib>

static const bool says_gpu = check::around_each_test (
    [] {
      const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
      if (std::getenv ("GST_OPENCL_TEST_AS_GPU"))
        counting::let_devices_say (CL_DEVICE_TYPE, &gpu, sizeof gpu);
    },
    nullptr);
