/* gst-opencl-check: runs elements on one buffer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

namespace opencl {
using Bytes = std::vector<guint8>;

enum class Processed {
  yes,
  unbuilt, /* a kernel does not build; `error` is the reason */
  failed,  /* an element failed for another reason, such as a lack of memory */
  missing, /* elements are not installed */
};

/* Sends `input`, with `caps`, through the elements of `description`. */
Processed process_buffer (const std::string &description, const std::string &caps,
    const Bytes &input, Bytes &output, std::string &error);
} // namespace opencl
