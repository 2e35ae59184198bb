/* Files of programs: OpenCL C, program binaries and SPIR-V
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/base/opencl-hpp.hpp>

#include <string>

namespace compute {
enum class ProgramForm { SOURCE, BINARY, SPIRV };

/* SPIR-V by its magic number in either byte order. A file with a zero byte, or with NVIDIA's
 * assembly, which its driver gives as binary, is a binary. All else is OpenCL C. */
ProgramForm form_of_program (const std::string &bytes);

struct ProgramFile {
  std::string location;
  ProgramForm form = ProgramForm::SOURCE;
  std::string contents; /* OpenCL C, its includes put in, or the bytes of the file */
};

bool read_program_file (const std::string &location, ProgramFile &file, GError **error);

/* The built program of a binary or of SPIR-V, or empty with GST_OPENCL_ERROR_BUILD, or
 * GST_OPENCL_ERROR_UNSUPPORTED where the driver takes no SPIR-V. */
cl::Program build_compiled_program (GstOpenCLContext *context, const ProgramFile &file,
    const std::string &options, GError **error);
} // namespace compute
