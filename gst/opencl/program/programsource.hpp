/* Loads OpenCL C from GResources and resolves its includes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>

namespace opencl {
/* False with an error where there is no such resource. */
bool source_of_resource (const char *path, std::string &source, GError **error);

/* The same of a file of the user's. */
bool source_of_file (const char *path, std::string &source, GError **error);

/* `text` is called "source" in what a compiler says of it. */
std::string source_of_text (const char *text);

/* The build log of `source` with the files' names and lines, where a compiler goes by its
 * own count: NVIDIA's says "<kernel>:25" whatever `#line` says. */
std::string name_lines (const std::string &log, const std::string &source);
} // namespace opencl
