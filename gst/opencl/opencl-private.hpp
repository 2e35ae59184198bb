/* gstreamer-opencl: what this project's own plugins and tests use and nobody else has
 *
 * Not installed. The symbols are exported as GSTOPENCL_PRIVATE (gstopencl.map) and may
 * change from one version to the next.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcombiner-private.h>
#include <gst/opencl/gstopenclcontext-private.hpp>
#include <gst/opencl/gstopencldeferred.h>
#include <gst/opencl/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclinflight.h>
#include <gst/opencl/gstopenclstatistics-private.h>
#include <gst/opencl/opencl.h>
