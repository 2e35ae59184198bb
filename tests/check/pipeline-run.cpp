/* What tests of elements and pipelines share: running one to its end, and known bytes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pipeline-run.hpp"

#include <cstdio>
#include <gst/check/gstcheck.h>
#include <unistd.h>

namespace testing {
static const GstMessageType endings =
    GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

std::vector<std::string>
Outcome::errors_of (const char *element) const
{
  const std::string prefix = std::string (element) + ": ";
  std::vector<std::string> found;
  for (const std::string &error : errors) {
    if (error.compare (0, prefix.size (), prefix) == 0)
      found.push_back (error);
  }
  return found;
}

static void
add_message (Outcome &outcome, GstMessage *message)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS) {
    outcome.eos = true;
  } else {
    GError *error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    outcome.errors.push_back (std::string (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)))
                              + ": " + error->message);
    g_error_free (error);
  }
  gst_message_unref (message);
}

Outcome
collect (GstBus *bus)
{
  Outcome outcome;
  while (GstMessage *message = gst_bus_pop_filtered (bus, endings))
    add_message (outcome, message);
  return outcome;
}

GstElement *
launch (const std::string &line)
{
  GError *error = nullptr;
  GstElement *pipeline = gst_parse_launch (line.c_str (), &error);
  fail_unless (error == nullptr, "%s: %s", line.c_str (), error ? error->message : "");
  return pipeline;
}

Outcome
play (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  Outcome outcome;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  GstMessage *first = gst_bus_timed_pop_filtered (bus, 60 * GST_SECOND, endings);
  fail_unless (first != nullptr, "neither EOS nor an error within a minute");
  add_message (outcome, first);
  GstClockTime patience = outcome.errors.empty () ? 0 : 100 * GST_MSECOND;
  while (GstMessage *next = gst_bus_timed_pop_filtered (bus, patience, endings))
    add_message (outcome, next);
  gst_object_unref (bus);
  return outcome;
}

Outcome
run (const std::string &line)
{
  GstElement *pipeline = launch (line);
  Outcome outcome = play (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  return outcome;
}

std::vector<std::string>
element_names ()
{
  std::vector<std::string> names;
  for (const char *plugin : {"keying", "npy", "oct", "opencl"}) {
    GList *features =
        gst_registry_get_feature_list_by_plugin (gst_registry_get (), plugin);
    fail_unless (features != nullptr, "plugin %s has no features", plugin);
    for (GList *item = features; item; item = item->next) {
      if (GST_IS_ELEMENT_FACTORY (item->data))
        names.push_back (GST_OBJECT_NAME (item->data));
    }
    gst_plugin_feature_list_free (features);
  }
  return names;
}

guint8
pattern (gsize position, guint seed)
{
  return guint8 ((position * 31 + (position >> 8) * 7 + seed * 101) ^ (position >> 3));
}

GstBuffer *
pattern_buffer (gsize size, guint seed)
{
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, size, nullptr);
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
  for (gsize i = 0; i < size; i++)
    map.data[i] = pattern (i, seed);
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

void
check_pattern (GstBuffer *buffer, gsize size, guint seed)
{
  GstMapInfo map;
  fail_unless_equals_uint64 (gst_buffer_get_size (buffer), size);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  /* Not fail_unless() for each byte, which tells the parent process each time. */
  for (gsize i = 0; i < size; i++) {
    if (map.data[i] != pattern (i, seed))
      fail ("byte %zu is %u, expected %u", i, map.data[i], pattern (i, seed));
  }
  gst_buffer_unmap (buffer, &map);
}

gsize
resident_kib ()
{
  unsigned long total = 0, resident = 0;
  FILE *file = fopen ("/proc/self/statm", "r");
  fail_unless (file != nullptr);
  fail_unless_equals_int (fscanf (file, "%lu %lu", &total, &resident), 2);
  fclose (file);
  return gsize (resident) * gsize (sysconf (_SC_PAGESIZE)) / 1024;
}
} // namespace testing
