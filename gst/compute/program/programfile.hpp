/* Program files: OpenCL C, program binaries and SPIR-V
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclerror.h>

#include <string>

namespace compute {
enum class ProgramForm { SOURCE, BINARY, SPIRV };

/* Detects SPIR-V by its magic number, in either byte order. A file with a zero byte is a
 * binary, and so is NVIDIA's assembly, which its driver returns as a binary. Any other
 * file is OpenCL C. */
ProgramForm form_of_program (const std::string &bytes);

struct ProgramFile {
  std::string location;
  ProgramForm form = ProgramForm::SOURCE;
  std::string contents; /* OpenCL C with includes inserted, or the bytes of the file */
};

bool read_program_file (const std::string &location, ProgramFile &file, GError **error);

/* Builds a program from a binary or SPIR-V. Returns an empty program with
 * GST_OPENCL_ERROR_BUILD, or with GST_OPENCL_ERROR_UNSUPPORTED if the driver does not
 * accept SPIR-V. */
cl::Program build_compiled_program (GstOpenCLContext *context, const ProgramFile &file,
    const std::string &options, GError **error);
} // namespace compute
