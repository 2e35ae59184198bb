/* Decodes an image file with the installed decoders
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

namespace keying {
/* (transfer full) (nullable): its first frame, as RGBA in ordinary memory */
GstSample *load_picture (const std::string &path, GError **error);
} // namespace keying
