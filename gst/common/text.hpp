/* Converts strings of GLib to C++ strings
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <cstdarg>
#include <string>

namespace opencl {
/* Takes `text`, which may be NULL: an empty string. (transfer full) */
inline std::string
take_text (gchar *text)
{
  const std::string taken = text ? text : "";
  g_free (text);
  return taken;
}

/* As printf() */
G_GNUC_PRINTF (1, 2)
inline std::string
text_of (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  gchar *made = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  return take_text (made);
}
} // namespace opencl
