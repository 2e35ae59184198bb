/* gst-opencl-check: engines, and what each must compute
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "checkpipeline.hpp"
#include <gst/opencl/kernel/verdict.hpp>

namespace opencl {
/* Names for gst_opencl_context_trusts_engine() */
std::vector<std::string> names_of_engines ();

/* Processes the known inputs of one engine. Unchecked where there is no such engine, or its
 * elements are not installed. */
Verdict check_engine (const std::string &name);
} // namespace opencl
