/* Finds the helper programs of the library
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>

namespace opencl {
/* The path of the program `name` beside the library, empty where there is none: in a folder
 * where it is installed, and next to the library in a build folder. */
std::string find_helper_program (const char *name);
} // namespace opencl
