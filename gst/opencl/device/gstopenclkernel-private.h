/* Launches a kernel with given work-groups
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * gst_opencl_launch:
 * @queue: (type gpointer): the queue
 * @kernel: (type gpointer): a kernel whose arguments are set
 * @dimensions: number of dimensions, 1 to 3
 * @global: global work size. It is rounded up to a multiple of @local, so kernels must
 *   check their ids
 * @local: (nullable): work-group size; %NULL lets the device choose
 * @error: set if the kernel cannot be enqueued
 *
 * Enqueues @kernel and counts the launch. For launches that gst_opencl_kernel_launch()
 * does not support.
 *
 * Returns: whether it was enqueued
 */
GST_OPENCL_API gboolean gst_opencl_launch (cl_command_queue queue, cl_kernel kernel,
    guint dimensions, const gsize *global, const gsize *local, GError **error);

G_END_DECLS
