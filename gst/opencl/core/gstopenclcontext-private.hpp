/* Private functions of contexts for elements
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "opencl-hpp.hpp"

#include <functional>
#include <gst/opencl/gstopenclcontext.h>

G_BEGIN_DECLS
/**
 * gst_opencl_context_get_program:
 * @context: a context
 * @source: OpenCL C
 * @options: (nullable): compiler options
 * @error: set to %GST_OPENCL_ERROR_BUILD; the lines after the first are the build log
 *
 * A program is built once for each pair of source and options. The context keeps the 64
 * programs that were used last; others live as long as their kernels.
 *
 * Returns: (type gpointer) (transfer full) (nullable): a cl_program, to be released with
 *   clReleaseProgram()
 */
GST_OPENCL_API cl_program gst_opencl_context_get_program (
    GstOpenCLContext *context, const gchar *source, const gchar *options, GError **error);

/* Returns the calling thread's queue, on which elements enqueue. If the application
 * supplied a compute queue, that is the compute queue of every thread. (transfer none) */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_thread_queue (
    GstOpenCLContext *context, GstOpenCLQueue queue);

/* Returns the queue that maps pinned memory. No frame uses it, so that mapping never
 * waits for frames. */
GST_OPENCL_API cl_command_queue gst_opencl_context_get_pinning_queue (
    GstOpenCLContext *context);

/* Returns a read-only buffer with these values. Calls with the same values share the one that
 * `make` returned for the first. (transfer full) (nullable) */
GST_OPENCL_API cl_mem gst_opencl_context_get_table (GstOpenCLContext *context,
    const void *values, gsize size, const std::function<cl::Buffer ()> &make,
    GError **error);
G_END_DECLS
