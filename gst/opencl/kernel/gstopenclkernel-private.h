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
 * @queue: (type gpointer): where to
 * @kernel: (type gpointer): with its arguments set
 * @dimensions: 1 to 3
 * @global: work-items in each; rounded up to a multiple of @local, so kernels check
 * @local: (nullable): work-group size, %NULL to leave it to the device
 * @error: set when it cannot be enqueued
 *
 * Enqueues @kernel and counts the launch, where gst_opencl_kernel_launch() does not fit.
 *
 * Returns: whether it was enqueued
 */
GST_OPENCL_API gboolean gst_opencl_launch (cl_command_queue queue, cl_kernel kernel,
    guint dimensions, const gsize *global, const gsize *local, GError **error);

G_END_DECLS
