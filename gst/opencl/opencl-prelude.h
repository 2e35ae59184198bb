/* Definitions that every public header includes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#ifndef GST_USE_UNSTABLE_API
#pragma message(                                                                         \
    "The API of gstreamer-opencl-1.0 may change. Define GST_USE_UNSTABLE_API to avoid "  \
    "this message.")
#endif

/* The application chooses the OpenCL version that it targets. If it has, this includes
 * the OpenCL headers. If it has not, this only declares the types that these headers use,
 * so that the application can include CL/cl.h later. */
#if defined(CL_TARGET_OPENCL_VERSION) || defined(__OPENCL_CL_H)
#include <CL/cl.h>
#else
typedef gint32 cl_int;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_context *cl_context;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_event *cl_event;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
#endif

/* A context is often only passed on, without the functions of gstopenclcontext.h. */
typedef struct _GstOpenCLContext GstOpenCLContext;

#ifndef GST_OPENCL_API
#ifdef BUILDING_GST_OPENCL
#define GST_OPENCL_API GST_API_EXPORT
#else
#define GST_OPENCL_API GST_API_IMPORT
#endif
#endif
