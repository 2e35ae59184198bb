/* Number of work-item dimensions that a kernel uses
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>

namespace compute {
/* Returns 2 if `kernel` in the OpenCL C `source` calls get_global_id (1), 3 if it calls
 * get_global_id (2), else 1. get_group_id () and get_local_id () count as well. Follows
 * functions and macros of the source. Calls within an #if of the kernel do not count. */
unsigned work_dimensions (const std::string &source, const std::string &kernel);
} // namespace compute
