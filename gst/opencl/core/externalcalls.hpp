/* Functions of the extension cl_khr_external_memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/base/opencl-hpp.hpp>

namespace opencl {
/* The library targets OpenCL 1.2 and does not link these functions. A loader or a driver
 * may lack them. */
struct ExternalCalls {
  /* As in OpenCL's headers, which declare these only for target version 3.0. */
  using Properties = cl_ulong;
  using CreateBuffer = cl_mem (CL_API_CALL *) (
      cl_context, const Properties *, cl_mem_flags, size_t, void *, cl_int *);
  using Enqueue = cl_int (CL_API_CALL *) (
      cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *);

  /* Defined here, because their names differ between versions of the headers */
  static constexpr Properties opaque_fd = 0x2060, dma_buf = 0x2067;
  static constexpr Properties device_list = 0x2051, device_list_end = 0;

  CreateBuffer create_buffer = nullptr;
  Enqueue acquire = nullptr;
  Enqueue release = nullptr;

  /* Looks the functions up in the ICD loader and in the driver of the device. */
  static bool find (GstOpenCLContext *context, ExternalCalls &calls, GError **error);
};
} // namespace opencl
