/* Private functions of the library for this project's plugins and tests
 *
 * Not installed. The symbols are exported as GSTOPENCL_PRIVATE (gstopencl.map) and may
 * change from one version to the next.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/gstopenclcheck.h>
#include <gst/opencl/base/gstopenclstatistics.h>
#include <gst/opencl/base/profile.hpp>
#include <gst/opencl/base/gstopenclcontext-private.hpp>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/elements/gstopenclcombiner-private.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/device/gstopenclkernel-private.h>
#include <gst/opencl/base/gstopenclbufferpool-private.h>
#include <gst/opencl/base/gstopencldeferred.h>
#include <gst/opencl/base/gstopenclmemory-private.h>
#include <gst/opencl/opencl.h>
