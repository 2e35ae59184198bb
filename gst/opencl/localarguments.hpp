/* Arguments of a kernel that are local memory, checked against what the device has
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

#include <glib.h>

#include <map>
#include <string>

namespace opencl {
/* PoCL ends the process when a kernel is launched with more local memory than the device
 * has, so the sum of all is checked when an argument is set. */
class LocalArguments {
public:
  /* Sets an argument of the kernel, always the same one. Fails where the kernel would need
   * more local memory than the device has; the error has both sizes and `name`. `bytes` may be
   * larger than any gsize. */
  bool set (cl_kernel kernel, cl_device_id device, cl_uint index, const std::string &name,
      long double bytes, GError **error);

private:
  bool find_limits (cl_kernel kernel, cl_device_id device, GError **error);

  cl_ulong most = 0;              /* of the device; 0: not known yet */
  cl_ulong own = 0;               /* without the arguments */
  std::map<cl_uint, gsize> sizes; /* of arguments */
};
} // namespace opencl
