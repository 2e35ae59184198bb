/* Macros of kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <string>

namespace opencl {
/* " -DNAME=VALUE" */
inline std::string
macro (const char *name, gint64 value)
{
  return std::string (" -D") + name + "=" + std::to_string (value);
}
} // namespace opencl
