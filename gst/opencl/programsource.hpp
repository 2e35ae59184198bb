/* gstreamer-opencl: OpenCL C from the GResources, its includes put in
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <string>

namespace opencl {
/* False with an error where there is no such resource. */
bool source_of_resource (const char *path, std::string &source, GError **error);

/* `text` is called "source" in what a compiler says of it. */
std::string source_of_text (const char *text);
} // namespace opencl
