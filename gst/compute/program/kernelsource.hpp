/* Facts about a kernel that only its source shows
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

/* Returns whether `source` passes the address of the argument `pointer` to an atomic
 * function that reads the old value. Does not see aliases of the argument. */
bool calls_atomic_on (const std::string &source, const std::string &pointer);
/* The same for functions that read or write integers of an image. */
bool uses_integers_of (const std::string &source, const std::string &image);

/* Returns the text between the braces of the struct of this type name ("par" or "struct
 * par"), or "" if `source` does not declare it once in that way. */
std::string body_of_struct (const std::string &source, const std::string &type);
} // namespace compute
