/* Waits for a device, with an optional timeout
 *
 * The environment variable GST_OPENCL_TIMEOUT sets the timeout in seconds (unset = none).
 * It is read once. After a timeout, the context is lost (gst_opencl_context_give_up()).
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

namespace opencl {
/* Blocks until `event` has completed or failed. Its queue must have been flushed. Returns
 * the code of the wait, or timed_out after a timeout. */
cl_int wait_with_timeout (cl_event event);

/* clFinish() with the same timeout */
cl_int finish_with_timeout (cl_command_queue queue);
} // namespace opencl
