/* All public headers of the library
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>
#include <gst/opencl/gstopenclaggregator.h>
#include <gst/opencl/gstopenclallocator.h>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclexternal.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclkernel.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclsrc.h>
