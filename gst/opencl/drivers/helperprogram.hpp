/* Finds the helper programs of the library
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>

namespace opencl {
/* Returns the path of the program `name`, or an empty string if there is none. Looks in
 * the folder gstreamer-opencl-1.0 beside the library, then beside the library, as in a
 * build folder. */
std::string find_helper_program (const char *name);
} // namespace opencl
