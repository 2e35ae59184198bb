/* Functions of the extension cl_khr_external_memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "externalcalls.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/base/gstopenclcheck.h>

#include <dlfcn.h>

namespace opencl {
bool
ExternalCalls::find (GstOpenCLContext *context, ExternalCalls &calls, GError **error)
{
  const auto platform = device_info<cl_platform_id> (context, CL_DEVICE_PLATFORM);
  const auto of_driver = [platform] (const char *name) {
    return reinterpret_cast<Enqueue> (
        clGetExtensionFunctionAddressForPlatform (platform, name));
  };

  calls.create_buffer = reinterpret_cast<CreateBuffer> (
      dlsym (RTLD_DEFAULT, "clCreateBufferWithProperties"));
  calls.acquire = of_driver ("clEnqueueAcquireExternalMemObjectsKHR");
  calls.release = of_driver ("clEnqueueReleaseExternalMemObjectsKHR");
  if (calls.create_buffer && calls.acquire && calls.release)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "%s of %s does not have %s",
      calls.create_buffer ? "The driver" : "The OpenCL loader",
      gst_opencl_context_get_device_name (context),
      !calls.create_buffer ? "clCreateBufferWithProperties"
      : !calls.acquire     ? "clEnqueueAcquireExternalMemObjectsKHR"
                           : "clEnqueueReleaseExternalMemObjectsKHR");
  return false;
}
} // namespace opencl
