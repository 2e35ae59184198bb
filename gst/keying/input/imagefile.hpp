/* Decodes an image file to a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

namespace keying {
/* (transfer full) (nullable): the first frame of the file, as RGBA or RGBA64_LE in system
 * memory */
GstSample *load_image (const std::string &path, GError **error);
} // namespace keying
