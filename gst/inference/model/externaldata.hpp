/* Files of tensors beside an ONNX model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <string>

namespace inference {
/* Reads `size` bytes at `offset` of `location`, a path below `folder`. A path that leaves the
 * folder, also by a symbolic link, is an error. */
bool read_external_data (const std::string &folder, const std::string &location,
    guint64 offset, gsize size, std::string &data, GError **error);
} // namespace inference
