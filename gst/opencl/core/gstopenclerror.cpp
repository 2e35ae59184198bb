/* Checks OpenCL return codes and reports failures
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclcheck.h"
#include "opencl-hpp.hpp"

#include <gst/common/elementerror.hpp>
#include <gst/opencl/gstopenclerror.h>

/* The macro converts its first argument to a string. clang-format would put spaces into
 * it. */
// clang-format off
G_DEFINE_QUARK (gst-opencl-error-quark, gst_opencl_error)
// clang-format on

GType
gst_opencl_error_get_type (void)
{
  static const GEnumValue values[] = {
      {GST_OPENCL_ERROR_FAILED, "A call failed", "failed"},
      {GST_OPENCL_ERROR_NO_DEVICE, "No such device", "no-device"},
      {GST_OPENCL_ERROR_BUILD, "A program cannot be built", "build"},
      {GST_OPENCL_ERROR_NO_MEMORY, "Out of memory", "no-memory"},
      {GST_OPENCL_ERROR_UNSUPPORTED, "Not supported", "unsupported"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstOpenCLError", values);
  return type;
}

namespace {
struct NamedCode {
  cl_int code;
  const char *name;
};

#define NAMED(code)                                                                      \
  {                                                                                      \
    code, #code                                                                          \
  }
const NamedCode named_codes[] = {
    NAMED (CL_SUCCESS),
    NAMED (CL_DEVICE_NOT_FOUND),
    NAMED (CL_DEVICE_NOT_AVAILABLE),
    NAMED (CL_COMPILER_NOT_AVAILABLE),
    NAMED (CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAMED (CL_OUT_OF_RESOURCES),
    NAMED (CL_OUT_OF_HOST_MEMORY),
    NAMED (CL_PROFILING_INFO_NOT_AVAILABLE),
    NAMED (CL_MEM_COPY_OVERLAP),
    NAMED (CL_IMAGE_FORMAT_MISMATCH),
    NAMED (CL_IMAGE_FORMAT_NOT_SUPPORTED),
    NAMED (CL_BUILD_PROGRAM_FAILURE),
    NAMED (CL_MAP_FAILURE),
    NAMED (CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NAMED (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAMED (CL_COMPILE_PROGRAM_FAILURE),
    NAMED (CL_LINKER_NOT_AVAILABLE),
    NAMED (CL_LINK_PROGRAM_FAILURE),
    NAMED (CL_DEVICE_PARTITION_FAILED),
    NAMED (CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    NAMED (CL_INVALID_VALUE),
    NAMED (CL_INVALID_DEVICE_TYPE),
    NAMED (CL_INVALID_PLATFORM),
    NAMED (CL_INVALID_DEVICE),
    NAMED (CL_INVALID_CONTEXT),
    NAMED (CL_INVALID_QUEUE_PROPERTIES),
    NAMED (CL_INVALID_COMMAND_QUEUE),
    NAMED (CL_INVALID_HOST_PTR),
    NAMED (CL_INVALID_MEM_OBJECT),
    NAMED (CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    NAMED (CL_INVALID_IMAGE_SIZE),
    NAMED (CL_INVALID_SAMPLER),
    NAMED (CL_INVALID_BINARY),
    NAMED (CL_INVALID_BUILD_OPTIONS),
    NAMED (CL_INVALID_PROGRAM),
    NAMED (CL_INVALID_PROGRAM_EXECUTABLE),
    NAMED (CL_INVALID_KERNEL_NAME),
    NAMED (CL_INVALID_KERNEL_DEFINITION),
    NAMED (CL_INVALID_KERNEL),
    NAMED (CL_INVALID_ARG_INDEX),
    NAMED (CL_INVALID_ARG_VALUE),
    NAMED (CL_INVALID_ARG_SIZE),
    NAMED (CL_INVALID_KERNEL_ARGS),
    NAMED (CL_INVALID_WORK_DIMENSION),
    NAMED (CL_INVALID_WORK_GROUP_SIZE),
    NAMED (CL_INVALID_WORK_ITEM_SIZE),
    NAMED (CL_INVALID_GLOBAL_OFFSET),
    NAMED (CL_INVALID_EVENT_WAIT_LIST),
    NAMED (CL_INVALID_EVENT),
    NAMED (CL_INVALID_OPERATION),
    NAMED (CL_INVALID_GL_OBJECT),
    NAMED (CL_INVALID_BUFFER_SIZE),
    NAMED (CL_INVALID_MIP_LEVEL),
    NAMED (CL_INVALID_GLOBAL_WORK_SIZE),
    NAMED (CL_INVALID_PROPERTY),
    NAMED (CL_INVALID_IMAGE_DESCRIPTOR),
    NAMED (CL_INVALID_COMPILER_OPTIONS),
    NAMED (CL_INVALID_LINKER_OPTIONS),
    NAMED (CL_INVALID_DEVICE_PARTITION_COUNT),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    {opencl::timed_out, "no answer from the device within GST_OPENCL_TIMEOUT"},
};
#undef NAMED

/* CL_INVALID_BUFFER_SIZE: the buffer is larger than any that the device can allocate. */
bool
out_of_memory (cl_int code)
{
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES
         || code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

struct PostedAs {
  GstOpenCLError code;
  GQuark (*domain) (void);
  gint posted;
};

const PostedAs posted_as[] = {
    {GST_OPENCL_ERROR_FAILED, gst_library_error_quark, GST_LIBRARY_ERROR_FAILED},
    {GST_OPENCL_ERROR_NO_DEVICE, gst_resource_error_quark, GST_RESOURCE_ERROR_NOT_FOUND},
    {GST_OPENCL_ERROR_BUILD, gst_library_error_quark, GST_LIBRARY_ERROR_INIT},
    {GST_OPENCL_ERROR_NO_MEMORY, gst_resource_error_quark,
        GST_RESOURCE_ERROR_NO_SPACE_LEFT},
    {GST_OPENCL_ERROR_UNSUPPORTED, gst_library_error_quark, GST_LIBRARY_ERROR_SETTINGS},
};

bool
is_element_error_domain (GQuark domain)
{
  return domain == GST_RESOURCE_ERROR || domain == GST_STREAM_ERROR
         || domain == GST_LIBRARY_ERROR || domain == GST_CORE_ERROR;
}

void
find_posted_code (const GError *error, GQuark *domain, gint *code)
{
  *domain = error->domain;
  *code = error->code;
  if (is_element_error_domain (error->domain))
    return;

  *domain = GST_LIBRARY_ERROR;
  *code = GST_LIBRARY_ERROR_FAILED;
  if (error->domain != GST_OPENCL_ERROR)
    return;
  for (const PostedAs &entry : posted_as) {
    if (entry.code == error->code) {
      *domain = entry.domain ();
      *code = entry.posted;
    }
  }
}
} // namespace

const gchar *
gst_opencl_error_name (cl_int code)
{
  for (const NamedCode &named : named_codes) {
    if (named.code == code)
      return named.name;
  }
  return "unknown OpenCL error";
}

gboolean
gst_opencl_check (cl_int code, const gchar *call, GError **error)
{
  if (code == CL_SUCCESS)
    return TRUE;
  if (error && !*error) {
    g_set_error (error, GST_OPENCL_ERROR,
        out_of_memory (code) ? GST_OPENCL_ERROR_NO_MEMORY : GST_OPENCL_ERROR_FAILED,
        "%s failed: %s (%d)", call, gst_opencl_error_name (code), code);
  }
  return FALSE;
}

void
gst_opencl_post_error (GstElement *element, GError *error, const opencl::Place &place)
{
  g_return_if_fail (GST_IS_ELEMENT (element));
  g_return_if_fail (error != nullptr);

  GQuark domain;
  gint code;
  find_posted_code (error, &domain, &code);

  opencl::post_element_error (element, domain, code, error, place);
}
