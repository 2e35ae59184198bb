/* Debugging switches of the environment variable GST_OPENCL_DEBUG=NAME=0,NAME=1,…
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <optional>

namespace opencl {
/* Returns the value of a switch, or nothing if it is not set. Logs a WARNING for an entry
 * of the variable that is not a switch with 0 or 1. docs/architecture.md lists the names. */
std::optional<bool> debug_switch (const char *name);
} // namespace opencl
