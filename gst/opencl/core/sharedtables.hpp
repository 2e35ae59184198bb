/* Read-only buffers of a context, one for each table of values
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/opencl-hpp.hpp>

#include <functional>
#include <glib.h>
#include <map>
#include <mutex>
#include <string>

namespace opencl {
class SharedTables {
public:
  /* Returns the buffer with these values. If there is none, frees those that are in no
   * other use, and calls `make`. */
  cl::Buffer get (const void *values, gsize size,
      const std::function<cl::Buffer ()> &make, GError **error);

private:
  std::mutex lock;
  std::map<std::string, cl::Buffer> tables; /* by checksum and size */
};
} // namespace opencl
