/* gstreamer-opencl: how long a thread waits for a device
 *
 * As long as it takes, or, with GST_OPENCL_TIMEOUT in the environment, so many seconds:
 * then the device is given up. Read once.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

namespace opencl {
/* Blocks until `event`, of a queue that was flushed, is over, however it ended: the code
 * of the wait, or no_answer. */
cl_int wait_patiently (cl_event event);

/* clFinish(), as patiently. */
cl_int finish_patiently (cl_command_queue queue);
} // namespace opencl
