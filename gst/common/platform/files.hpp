/* File functions that all operating systems share
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../platform.hpp"

#include <filesystem>
#include <system_error>

namespace opencl {
/* Sets the error and returns false. */
bool fail (GError **error, GstResourceError code, const std::string &reason);

/* Says what the path is in place of a regular file. */
std::string kind_error (const std::filesystem::path &path);

/* Returns the file itself, which need not exist, for a name that may be a link. */
std::string follow_links (const std::string &path, std::error_code &code);
} // namespace opencl
