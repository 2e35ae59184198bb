/* Asynchronous read-back of numbers that a kernel wrote, counted in the statistics
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/devicevalues.hpp>

namespace keying {
class ReadBack : private opencl::ReadBack {
public:
  using opencl::ReadBack::create;
  using opencl::ReadBack::is_under_way;

  bool read (cl_command_queue queue, cl_mem from, GError **error)
  {
    if (!opencl::ReadBack::read (queue, from, error))
      return false;
    gst_opencl_count_download (bytes ());
    return true;
  }

  const cl_uint *wait (GError **error)
  {
    if (!has_ended ())
      gst_opencl_count_host_wait ();
    return opencl::ReadBack::wait (error);
  }
};
} // namespace keying
