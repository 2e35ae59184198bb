/* Waits for a device, with an optional timeout
 *
 * The environment variable GST_OPENCL_TIMEOUT sets the timeout in seconds (unset = none). It
 * is read once. After a timeout, the device is given up.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

namespace opencl {
/* Blocks until `event`, of a queue that was flushed, is over, however it ended: the code
 * of the wait, or no_answer. */
cl_int wait_with_timeout (cl_event event);

/* clFinish(), as patiently. */
cl_int finish_with_timeout (cl_command_queue queue);
} // namespace opencl
