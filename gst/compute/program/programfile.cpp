/* Program files: OpenCL C, program binaries and SPIR-V
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programfile.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/common/platform.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclcontext.h>

#include <CL/cl_ext.h>
#include <cstring>

namespace compute {
namespace {
const guint32 spirv_magic = 0x07230203;

bool
has_first_word (const std::string &bytes, guint32 wanted)
{
  guint32 word;
  if (bytes.size () < sizeof word)
    return false;
  memcpy (&word, bytes.data (), sizeof word);
  return word == wanted;
}

bool
is_nvidia_assembly (const std::string &text)
{
  return g_regex_match_simple ("^\\.version [0-9]+\\.[0-9]+\\s+\\.target ", text.c_str (),
      GRegexCompileFlags (G_REGEX_MULTILINE | G_REGEX_RAW), GRegexMatchFlags (0));
}

/* Drivers need not accept the other byte order. */
std::string
in_host_order (std::string words)
{
  if (has_first_word (words, spirv_magic))
    return words;
  for (gsize at = 0; at + 4 <= words.size (); at += 4) {
    std::swap (words[at], words[at + 3]);
    std::swap (words[at + 1], words[at + 2]);
  }
  return words;
}

std::string
driver_of (GstOpenCLContext *context)
{
  const cl::Device device (gst_opencl_context_get_device (context), true);
  return std::string (gst_opencl_context_get_device_name (context)) + " ("
         + opencl::platform_text (device, CL_PLATFORM_NAME) + ", "
         + opencl::platform_text (device, CL_PLATFORM_VERSION) + ")";
}

/* Returns the function of cl_khr_il_program, or else of OpenCL 2.1, or NULL. */
clCreateProgramWithILKHR_fn
find_create_with_il (GstOpenCLContext *context)
{
  const cl::Device device (gst_opencl_context_get_device (context), true);
  std::string versions;
  device.getInfo (CL_DEVICE_IL_VERSION_KHR, &versions);
  if (versions.find ("SPIR-V") == std::string::npos)
    return nullptr;
  void *call = opencl::find_platform_function (device, "clCreateProgramWithILKHR");
  if (!call)
    call = opencl::find_loaded_function ("clCreateProgramWithIL");
  return reinterpret_cast<clCreateProgramWithILKHR_fn> (call);
}

void
set_build_error (GstOpenCLContext *context, const ProgramFile &file, const char *call,
    cl_int code, const std::string &log, GError **error)
{
  const bool is_spirv = file.form == ProgramForm::SPIRV;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_BUILD,
      "%s does not build on %s: %s failed: %s (%d), expected %s\n%s",
      file.location.c_str (), driver_of (context).c_str (), call,
      gst_opencl_error_name (code), code,
      is_spirv ? "SPIR-V of a version that this driver supports"
               : "a program binary of this device and driver",
      log.c_str ());
}

cl::Program
create_with_il (GstOpenCLContext *context, const ProgramFile &file, GError **error)
{
  const std::string words = in_host_order (file.contents);
  const auto create = find_create_with_il (context);
  cl_int code = CL_SUCCESS;

  if (!create) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%s is SPIR-V, which %s does not support: expected OpenCL C, a program binary, "
        "or a driver with cl_khr_il_program",
        file.location.c_str (), driver_of (context).c_str ());
    return cl::Program ();
  }
  cl::Program program (create (
      gst_opencl_context_get_handle (context), words.data (), words.size (), &code));
  if (code == CL_SUCCESS)
    return program;
  set_build_error (context, file, "clCreateProgramWithIL", code, "", error);
  return cl::Program ();
}

cl::Program
create_with_binary (GstOpenCLContext *context, const ProgramFile &file, GError **error)
{
  const cl_device_id device = gst_opencl_context_get_device (context);
  const auto *bytes = reinterpret_cast<const unsigned char *> (file.contents.data ());
  const gsize size = file.contents.size ();
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;

  cl::Program program (clCreateProgramWithBinary (gst_opencl_context_get_handle (context),
      1, &device, &size, &bytes, &status, &code));
  if (code == CL_SUCCESS && status == CL_SUCCESS)
    return program;
  set_build_error (context, file, "clCreateProgramWithBinary",
      code == CL_SUCCESS ? status : code, "", error);
  return cl::Program ();
}
} // namespace

ProgramForm
form_of_program (const std::string &bytes)
{
  if (has_first_word (bytes, spirv_magic)
      || has_first_word (bytes, GUINT32_SWAP_LE_BE_CONSTANT (spirv_magic)))
    return ProgramForm::SPIRV;
  return bytes.find ('\0') != std::string::npos || is_nvidia_assembly (bytes)
             ? ProgramForm::BINARY
             : ProgramForm::SOURCE;
}

bool
read_program_file (const std::string &location, ProgramFile &file, GError **error)
{
  file.location = location;
  if (!opencl::read_file (location, file.contents, error))
    return false;
  file.form = form_of_program (file.contents);
  if (file.form != ProgramForm::SOURCE)
    return true;
  gchar *source = gst_opencl_source_of_file (location.c_str (), error);
  file.contents = source ? source : "";
  g_free (source);
  return source != nullptr;
}

cl::Program
build_compiled_program (GstOpenCLContext *context, const ProgramFile &file,
    const std::string &options, GError **error)
{
  const cl_device_id device = gst_opencl_context_get_device (context);
  cl::Program program = file.form == ProgramForm::SPIRV
                            ? create_with_il (context, file, error)
                            : create_with_binary (context, file, error);
  if (!program ())
    return program;
  const cl_int code =
      clBuildProgram (program (), 1, &device, options.c_str (), nullptr, nullptr);
  if (code == CL_SUCCESS)
    return program;
  std::string log;
  program.getBuildInfo (cl::Device (device, true), CL_PROGRAM_BUILD_LOG, &log);
  set_build_error (context, file, "clBuildProgram", code, log, error);
  return cl::Program ();
}
} // namespace compute
