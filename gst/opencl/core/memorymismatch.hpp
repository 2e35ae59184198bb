/* Finds a linked element that does not take OpenCL memory
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

namespace opencl {
/* If `source` sends only OpenCL memory and the next element takes only other memory,
 * returns a text that names both elements and suggests opencldownload. Else returns an
 * empty text. */
std::string find_memory_mismatch (GstPad *source);
} // namespace opencl
