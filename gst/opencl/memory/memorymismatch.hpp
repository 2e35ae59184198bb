/* Finds a linked element that does not take OpenCL memory
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

namespace opencl {
/* Where `source` gives frames in OpenCL memory only, and the next element takes other memory
 * only: a text that names both and says to add opencldownload. Else an empty text. */
std::string find_memory_mismatch (GstPad *source);
} // namespace opencl
