/* Settings files: properties of an element in a file, one NAME=VALUE per line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <string>

namespace oct {
/* Checks that the file can be read and has only properties of the element's own class,
 * other than `settings`. An empty path is valid. */
bool settings_file_check (GstElement *element, const std::string &path, GError **error);

/* Sets all properties of the file together when `settings` of the element changes. Errors
 * in the file are left to settings_file_check(), with the next frame. */
void settings_file_follow (GstElement *element);
} // namespace oct
