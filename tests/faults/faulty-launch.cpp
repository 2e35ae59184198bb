/* faulty-launch: one pipeline, in which one OpenCL call fails
 *
 * faulty-launch [FAULT] PIPELINE runs the pipeline until it ends, by itself or by an
 * error, and prints one JSON object: what its elements said, how often each OpenCL call
 * was made, and which OpenCL objects nobody has released. FAULT is CALL:N:CODE for the
 * N-th call, CALL:N+:CODE for all from then on.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "faultyopencl.hpp"

#include <gst/gst.h>

namespace {
/* What came over the bus. */
struct Outcome {
  bool ended = false; /* by itself */
  GString *errors = g_string_new (nullptr);
  GString *warnings = g_string_new (nullptr);
  guint complaints = 0; /* criticals and warnings of GLib */
};

Outcome outcome;

void
append (GString *list, const gchar *source, const gchar *text)
{
  gchar *line = g_strdup_printf ("%s: %s", source, text);
  gchar *escaped = g_strescape (line, nullptr);
  g_string_append_printf (list, "%s\"%s\"", list->len ? ", " : "", escaped);
  g_free (escaped);
  g_free (line);
}

void
take_message (GstMessage *message)
{
  GError *error = nullptr;
  switch (GST_MESSAGE_TYPE (message)) {
  case GST_MESSAGE_EOS:
    outcome.ended = true;
    break;
  case GST_MESSAGE_ERROR:
    gst_message_parse_error (message, &error, nullptr);
    append (outcome.errors, GST_MESSAGE_SRC_NAME (message), error->message);
    break;
  case GST_MESSAGE_WARNING:
    gst_message_parse_warning (message, &error, nullptr);
    append (outcome.warnings, GST_MESSAGE_SRC_NAME (message), error->message);
    break;
  default:
    break;
  }
  g_clear_error (&error);
  gst_message_unref (message);
}

/* Until EOS or the first error; what comes after it is taken too. */
void
run (GstElement *pipeline)
{
  const auto interesting =
      GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  GstBus *bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!outcome.ended && outcome.errors->len == 0)
    take_message (gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, interesting));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  while (GstMessage *message = gst_bus_pop_filtered (bus, interesting))
    take_message (message);
  gst_object_unref (bus);
}

void
complain (const gchar *domain, GLogLevelFlags level, const gchar *text, gpointer)
{
  if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING))
    outcome.complaints++;
  g_printerr ("%s: %s\n", domain ? domain : "", text);
}

/* A thread may still be at letting go of the last reference. */
void
settle ()
{
  const gint64 end = g_get_monotonic_time () + 2 * G_TIME_SPAN_SECOND;
  while (!faults::balance ().empty () && g_get_monotonic_time () < end)
    g_usleep (1000);
}

template <typename Number>
void
print_map (const char *name, const std::map<std::string, Number> &map)
{
  const char *between = "";
  g_print (", \"%s\": {", name);
  for (const auto &entry : map) {
    g_print ("%s\"%s\": %d", between, entry.first.c_str (), int (entry.second));
    between = ", ";
  }
  g_print ("}");
}
} // namespace

int
main (int argc, char **argv)
{
  faults::Fault fault;
  GError *error = nullptr;

  gst_init (&argc, &argv);
  g_log_set_default_handler (complain, nullptr);
  if (argc < 2 || (argc > 2 && !faults::parse (argv[1], fault))) {
    g_printerr ("faulty-launch [CALL:N[+]:CODE] PIPELINE\n");
    return 2;
  }
  faults::set (fault);
  GstElement *pipeline = gst_parse_launch_full (
      argv[argc - 1], nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!pipeline) {
    g_printerr ("%s\n", error->message);
    return 2;
  }
  gst_object_ref_sink (pipeline);
  run (pipeline);
  gst_object_unref (pipeline);
  settle ();

  g_print ("{\"ended\": %s, \"errors\": [%s], \"warnings\": [%s], \"complaints\": %u, "
           "\"injected\": %u",
      outcome.ended ? "true" : "false", outcome.errors->str, outcome.warnings->str,
      outcome.complaints, faults::injected ());
  print_map ("calls", faults::calls ());
  print_map ("balance", faults::balance ());
  g_print ("}\n");
  return 0;
}
