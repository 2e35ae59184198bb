/* gstreamer-opencl tests: which guarantees of the library depend on the device under test
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/opencl/gstopenclcontext.h>

#include <cstring>

namespace check {
/* Returns true if all maps of a buffer give the same address. */
inline bool
has_one_place_for_a_buffer (GstOpenCLContext *context)
{
  char bytes[64];
  auto handle = static_cast<cl_context> (gst_opencl_context_get_handle (context));
  cl_command_queue queue =
      clCreateCommandQueue (handle, gst_opencl_context_get_device (context), 0, nullptr);
  cl_mem buffer =
      clCreateBuffer (handle, CL_MEM_ALLOC_HOST_PTR, sizeof bytes, nullptr, nullptr);
  const auto map = [&] (cl_map_flags flags) {
    return clEnqueueMapBuffer (
        queue, buffer, CL_TRUE, flags, 0, sizeof bytes, 0, nullptr, nullptr, nullptr);
  };
  void *written = map (CL_MAP_WRITE), *read = map (CL_MAP_READ);
  fail_unless (written && read);
  for (void *place : {written, read})
    clEnqueueUnmapMemObject (queue, buffer, place, 0, nullptr, nullptr);
  clReleaseMemObject (buffer);
  clReleaseCommandQueue (queue);
  return written == read;
}

/* Returns true if host and device exchange frames without a copy: the device has unified
 * memory and maps buffers in place. GST_OPENCL_SHARE_MEMORY overrides this, so that
 * copies can be tested on any device. */
inline bool
shares_memory ()
{
  const gchar *value = g_getenv ("GST_OPENCL_SHARE_MEMORY");
  if (value && *value)
    return strcmp (value, "0") != 0;
  GError *error = nullptr;
  GstOpenCLContext *context = gst_opencl_context_new (nullptr, &error);
  fail_unless (context != nullptr, "%s", error ? error->message : "no error");
  cl_bool unified = CL_FALSE;
  fail_unless_equals_int (
      clGetDeviceInfo (gst_opencl_context_get_device (context),
          CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, nullptr),
      CL_SUCCESS);
  const bool shares = unified && has_one_place_for_a_buffer (context);
  gst_object_unref (context);
  return shares;
}
} // namespace check
