/* gstreamer-opencl: what every header of the library starts from
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

/* The library uses OpenCL 1.2 calls only, so that it runs on every vendor's device. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif

#include <CL/cl.h>
#include <gst/gst.h>

#ifndef GST_OPENCL_API
#ifdef BUILDING_GST_OPENCL
#define GST_OPENCL_API extern __attribute__ ((visibility ("default")))
#else
#define GST_OPENCL_API extern
#endif
#endif
