/* Names of classes from a file
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

namespace inference {
/* Reads UTF-8 of up to 1 MiB, one label a line. Lines without text number a class, too. */
bool load_labels (
    const std::string &file, std::vector<std::string> &labels, GError **error);
} // namespace inference
