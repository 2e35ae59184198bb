/* gstreamer-opencl tests: which guarantees of the library depend on the device under test
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/check/gstcheck.h>
#include <gst/opencl/gstopenclcontext.h>

#include <string>

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

/* Returns true if the device is a GPU, or says so for a test. */
inline bool
is_gpu (GstOpenCLContext *context)
{
  cl_device_type type = 0;
  fail_unless_equals_int (clGetDeviceInfo (gst_opencl_context_get_device (context),
                              CL_DEVICE_TYPE, sizeof type, &type, nullptr),
      CL_SUCCESS);
  return type & CL_DEVICE_TYPE_GPU;
}

/* Returns the value of a switch of GST_OPENCL_DEBUG, or "" if it is not set. */
inline std::string
debug_switch (const std::string &name)
{
  const gchar *variable = g_getenv ("GST_OPENCL_DEBUG");
  const std::string all = "," + std::string (variable ? variable : "") + ",";
  const gsize found = all.find ("," + name + "=");
  if (found == std::string::npos)
    return "";
  const gsize value = found + name.size () + 2;
  return all.substr (value, all.find (',', value) - value);
}

/* Sets a switch of GST_OPENCL_DEBUG, or removes it if @value is null. Others stay. */
inline void
set_debug_switch (const std::string &name, const char *value)
{
  std::string all;
  for (const char *other : {"share-memory", "stage-uploads", "convolve-groups"})
    if (name != other && !debug_switch (other).empty ())
      all += std::string (other) + "=" + debug_switch (other) + ",";
  g_setenv ("GST_OPENCL_DEBUG", (all + (value ? name + "=" + value : "")).c_str (), TRUE);
}

/* Returns true if host and device exchange frames without a copy: the device has unified
 * memory and maps buffers in place. The switch share-memory overrides this, so that
 * copies can be tested on any device. */
inline bool
shares_memory ()
{
  const std::string value = debug_switch ("share-memory");
  if (!value.empty ())
    return value == "1";
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
