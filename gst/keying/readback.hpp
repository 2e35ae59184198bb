/* Reads numbers that a kernel wrote back to the host
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-hpp.hpp>
#include <gst/opencl/opencl-private.hpp>

#include <memory>

namespace keying {
/* The read is enqueued at once. The host waits when it wants the numbers. */
class ReadBack {
public:
  explicit ReadBack (gsize count);
  ReadBack (const ReadBack &) = delete;
  ~ReadBack ();

  /* `from`: as many cl_uint on the device */
  bool read (cl_command_queue queue, cl_mem from, GError **error);
  bool is_under_way () const { return under_way () != nullptr; }
  /* For a read that is under way. Returns NULL with an error if it failed. */
  const cl_uint *wait (GError **error);

private:
  gsize count;
  cl::Event under_way; /* empty when nothing is read */
  std::unique_ptr<cl_uint[]> numbers;
};
} // namespace keying
