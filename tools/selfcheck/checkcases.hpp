/* gst-opencl-check: test cases of engines, with expected results
 *
 * An engine is a kernel, or a library of kernels, that some drivers compile incorrectly,
 * such as "fft-vkfft". Elements have another way to compute the same, or refuse to run.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "checkpipeline.hpp"

#include <gst/common/verdict.hpp>

namespace opencl {
/* Valid arguments of gst_opencl_context_trusts_engine() */
std::vector<std::string> names_of_engines ();

/* Processes the known inputs of one engine and compares the results. The verdict is
 * unchecked if there is no such engine, or its elements are not installed. */
Verdict check_engine (const std::string &name);
} // namespace opencl
