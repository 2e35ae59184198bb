/* Files of tensors beside an ONNX model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <memory>
#include <string>

namespace inference {
struct MappedFile {
  std::shared_ptr<const void> owner; /* keeps the mapping */
  const guint8 *data = nullptr;
  gsize size = 0;
};

bool map_file (const std::string &file, MappedFile &mapped, GError **error);

/* Maps `location`, a path below `folder`. A path that leaves the folder, also by a symbolic
 * link, is an error. */
bool map_external_file (const std::string &folder, const std::string &location,
    MappedFile &mapped, GError **error);
} // namespace inference
