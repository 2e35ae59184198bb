/* Posts a GError as the error message of an element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <cstring>

namespace opencl {
/* A position in the sources. As a default argument, Place::here() is that of the caller. */
struct Place {
  const char *file, *function;
  int line;

  static Place here (const char *file = __builtin_FILE(),
      const char *function = __builtin_FUNCTION(), int line = __builtin_LINE())
  {
    return {file, function, line};
  }
};

/* Posts the first line of `error` as the message and the other lines as its debug text,
 * under `domain` and `code`. Takes ownership of `error`. */
inline void
post_element_error (GstElement *element, GQuark domain, gint code, GError *error,
    const Place &place = Place::here ())
{
  const gchar *rest = strchr (error->message, '\n');
  /* A file name or a compiler's log need not be UTF-8, but a message must be. */
  gchar *text = g_utf8_make_valid (error->message, rest ? rest - error->message : -1);
  gchar *debug = rest ? g_utf8_make_valid (rest + 1, -1) : nullptr;
  gst_element_message_full (element, GST_MESSAGE_ERROR, domain, code, text, debug,
      place.file, place.function, place.line);
  g_error_free (error);
}
} // namespace opencl
