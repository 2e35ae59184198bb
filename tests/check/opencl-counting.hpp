/* Counts the OpenCL calls that a steady pipeline must not make, and makes one of them
 * fail
 *
 * A test program that uses this defines the calls itself, in front of the OpenCL
 * loader's.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

namespace counting {
/* Calls of this process so far; what PoCL calls inside itself is not counted. */
struct Calls {
  guint buffers;        /* clCreateBuffer */
  guint sub_buffers;    /* clCreateSubBuffer */
  guint kernels;        /* clCreateKernel */
  guint program_builds; /* clBuildProgram */
  guint queues;         /* clCreateCommandQueue */
  guint finishes;       /* clFinish */
};

Calls calls ();

/* From here on clCreateBuffer fails as on a device without room, after `n` more that do
 * not; -1 for never. */
void fail_buffers_after (gint n);
} // namespace counting
