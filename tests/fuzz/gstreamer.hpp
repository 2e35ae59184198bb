/* Fuzzing: GStreamer with the project's plugins, in which no CRITICAL passes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "input.hpp"

#include <gst/gst.h>

namespace fuzz {
/* While it is set, text goes through GStreamer's own parser of structures and caps, which
 * complains to GLib of text that is none. */
inline thread_local bool parses_structure = false;

/* GLib's warnings for values that a property's specification refuses are expected. */
inline GLogWriterOutput
judge_message (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer)
{
  if (parses_structure)
    return G_LOG_WRITER_HANDLED;
  for (gsize i = 0; i < n_fields; i++) {
    const bool of_values =
        g_str_equal (fields[i].key, "GLIB_DOMAIN")
        && g_str_equal (static_cast<const char *> (fields[i].value), "GLib-GObject");
    if (of_values)
      return G_LOG_WRITER_HANDLED;
  }
  g_log_writer_standard_streams (level, fields, n_fields, nullptr);
  promise (!(level & G_LOG_LEVEL_CRITICAL), "nobody complains to GLib");
  return G_LOG_WRITER_HANDLED;
}

inline void
start_gstreamer ()
{
  static const bool started = [] {
    gst_init (nullptr, nullptr);
    g_log_set_writer_func (judge_message, nullptr, nullptr);
    return true;
  }();
  promise (started, "GStreamer is there");
}

inline GstElement *
make_element (const char *name)
{
  GstElement *element = gst_element_factory_make (name, nullptr);
  promise (element != nullptr, name);
  return element;
}
} // namespace fuzz
