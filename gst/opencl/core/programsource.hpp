/* Loads OpenCL C from GResources or files and resolves its includes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>

namespace opencl {
/* Loads a resource. Returns false with an error if there is no such resource. */
bool source_of_resource (const char *path, std::string &source, GError **error);

/* Loads a file. Returns false with an error if it cannot be read. */
bool source_of_file (const char *path, std::string &source, GError **error);

/* Resolves the includes of `text`, which a build log calls "source". */
std::string source_of_text (const char *text);

/* Returns the build log of `source` with the original files and lines. NVIDIA's compiler
 * ignores `#line` and counts the lines of the expanded source: "<kernel>:25". */
std::string map_log_lines (const std::string &log, const std::string &source);
} // namespace opencl
