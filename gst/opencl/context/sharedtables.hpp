/* Read-only buffers of a context that are shared by all who need the same values
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <functional>
#include <glib.h>
#include <map>
#include <mutex>
#include <string>

namespace opencl {
class SharedTables {
public:
  /* Returns the buffer with these values. Calls `make` if nobody uses one. Buffers that
   * nobody uses any more are freed by the next call. */
  cl::Buffer get (
      const void *values, gsize size, const std::function<cl::Buffer ()> &make);

private:
  std::mutex lock;
  std::map<std::string, cl::Buffer> tables; /* by SHA-256 and size */
};
} // namespace opencl
