/* gstreamer-opencl tests: what the library promises on the device under test
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/opencl/opencl.h>

#include <cstring>

namespace check {
/* Whether nothing may be copied between host and device. The device says so, or else the
 * environment, with which the copying way is tested on any device. */
inline bool
shares_memory ()
{
  const gchar *said = g_getenv ("GST_OPENCL_SHARE_MEMORY");
  if (said && *said)
    return strcmp (said, "0") != 0;
  GError *error = nullptr;
  GstOpenCLContext *context = gst_opencl_context_new (nullptr, &error);
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  cl_bool unified = CL_FALSE;
  fail_unless_equals_int (
      clGetDeviceInfo (gst_opencl_context_get_device (context),
          CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, nullptr),
      CL_SUCCESS);
  gst_object_unref (context);
  return unified;
}
} // namespace check
