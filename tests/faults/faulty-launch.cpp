/* faulty-launch: one pipeline, in which one OpenCL call fails
 *
 * faulty-launch [FAULT] PIPELINE runs the pipeline until it ends, by itself or by an
 * error, and prints one JSON object: messages of its elements, the number of each OpenCL
 * call, and the OpenCL objects that were not released. FAULT is CALL:N:CODE for the
 * N-th call, CALL:N+:CODE for all from then on, or "sites": none fails, but it is printed,
 * too, which calls came from one and the same place.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "faultyopencl.hpp"

#include <gst/gst.h>

/* Tells where one element's work on a frame ends, and another's begins. */
struct StepTracer {
  GstTracer parent;
};
struct StepTracerClass {
  GstTracerClass parent;
};
G_DEFINE_TYPE (StepTracer, step_tracer, GST_TYPE_TRACER)

static void
step_tracer_class_init (StepTracerClass *)
{
}

static void
step_tracer_init (StepTracer *self)
{
  for (const char *hook : {"pad-push-pre", "pad-push-post"})
    gst_tracing_register_hook (GST_TRACER (self), hook, G_CALLBACK (faults::next_step));
}

namespace {
/* Messages of the bus */
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
void
print_sites ()
{
  const char *between = "";
  g_print (", \"sites\": {");
  for (const auto &call : faults::sites ()) {
    g_print ("%s\"%s\": [", between, call.first.c_str ());
    const char *between_sites = "";
    for (const auto &site : call.second) {
      g_print ("%s[", between_sites);
      for (size_t n = 0; n < site.size (); n++)
        g_print ("%s%u", n ? ", " : "", site[n]);
      g_print ("]");
      between_sites = ", ";
    }
    g_print ("]");
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
  const bool asks_sites = argc > 2 && g_str_equal (argv[1], "sites");
  if (argc < 2 || (argc > 2 && !asks_sites && !faults::parse (argv[1], fault))) {
    g_printerr ("faulty-launch [CALL:N[+]:CODE | sites] PIPELINE\n");
    return 2;
  }
  faults::set (fault);
  if (asks_sites) {
    g_object_new (step_tracer_get_type (), nullptr); /* its hooks stay */
    faults::note_sites ();
  }
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
  if (asks_sites)
    print_sites ();
  g_print ("}\n");
  return 0;
}
