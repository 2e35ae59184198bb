/* Harness for tests of elements and pipelines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "harness.hpp"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace check {
/* --- messages --- */

std::vector<std::string>
Outcome::errors_of (const char *element) const
{
  const std::string prefix = std::string (element) + ": ";
  std::vector<std::string> found;
  for (const std::string &error : errors)
    if (error.compare (0, prefix.size (), prefix) == 0)
      found.push_back (error);
  return found;
}

std::string
Outcome::line () const
{
  std::string line;
  for (const std::string &error : errors)
    line += (line.empty () ? "" : "; ") + error;
  return line;
}

void
Outcome::expect_one_error (const std::vector<std::string> &parts) const
{
  fail_unless (errors.size () == 1, "%zu errors, expected one: %s", errors.size (),
      line ().c_str ());
  expect_contains (errors[0], parts);
  for (const std::string &detail : details) /* the place of the helper that posts it */
    fail_unless (
        detail.find ("elementerror.hpp(") == std::string::npos, "%s", detail.c_str ());
}

static const GstMessageType endings =
    GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

static void
add_message (Outcome &outcome, Owned<GstMessage> message)
{
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS) {
    outcome.eos = true;
    return;
  }
  const bool is_error = GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
  Owned<GError> error;
  Owned<gchar> detail;
  (is_error ? gst_message_parse_error : gst_message_parse_warning) (
      message, error.out (), detail.out ());
  /* Faults of a driver that the self-check finds are listed as known faults. */
  if (!is_error && strstr (error->message, " fails on ")
      && strncmp (g_getenv ("GST_OPENCL_SELF_CHECK") ?: "0", "0", 2) != 0)
    return;
  const gchar *source = GST_MESSAGE_SRC (message) ? GST_MESSAGE_SRC_NAME (message) : "?";
  (is_error ? outcome.errors : outcome.warnings)
      .push_back (std::string (source) + ": " + error->message);
  if (is_error)
    outcome.details.push_back (detail ? static_cast<gchar *> (detail) : "");
}

Outcome
collect (GstBus *bus)
{
  Outcome outcome;
  const auto types = GstMessageType (endings | GST_MESSAGE_WARNING);
  while (GstMessage *message = gst_bus_pop_filtered (bus, types))
    add_message (outcome, message);
  return outcome;
}

void
expect_warnings (
    GstBus *bus, const std::string &when, const std::vector<std::string> &expected)
{
  const Outcome messages = collect (bus);
  fail_unless (
      messages.errors.empty (), "%s: %s", when.c_str (), messages.line ().c_str ());
  expect_equal (messages.warnings.size (), expected.size (),
      when + (messages.warnings.empty () ? "" : ": " + messages.warnings.back ()));
  for (gsize n = 0; n < expected.size (); n++) {
    std::string message =
        messages.warnings[n].substr (messages.warnings[n].find (": ") + 2);
    fail_unless (message.compare (0, expected[n].size (), expected[n]) == 0,
        "%s: warning \"%s\", expected \"%s…\"", when.c_str (), message.c_str (),
        expected[n].c_str ());
  }
}

std::string
text (const char *format, ...)
{
  va_list values;
  va_start (values, format);
  Owned<gchar> text = g_strdup_vprintf (format, values);
  va_end (values);
  return static_cast<gchar *> (text);
}

/* --- bytes --- */

Bytes
pattern (gsize size, guint seed)
{
  Bytes bytes (size);
  guint32 state = seed * 2654435761u + 12345;
  for (guint8 &byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = guint8 (state >> 24);
  }
  return bytes;
}

Bytes
read_memory (GstMemory *memory)
{
  GstMapInfo map;
  fail_unless (gst_memory_map (memory, &map, GST_MAP_READ));
  Bytes bytes (map.data, map.data + map.size);
  gst_memory_unmap (memory, &map);
  return bytes;
}

Bytes
read_buffer (GstBuffer *buffer)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  Bytes bytes (map.data, map.data + map.size);
  gst_buffer_unmap (buffer, &map);
  return bytes;
}

void
write_memory (GstMemory *memory, const Bytes &bytes)
{
  GstMapInfo map;
  fail_unless (gst_memory_map (memory, &map, GST_MAP_WRITE));
  fail_unless (map.size >= bytes.size ());
  std::copy (bytes.begin (), bytes.end (), map.data);
  gst_memory_unmap (memory, &map);
}

GstBuffer *
buffer_of (const Bytes &bytes)
{
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, bytes.size (), nullptr);
  gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ());
  return buffer;
}

GstBuffer *
pattern_buffer (gsize size, guint seed)
{
  return buffer_of (pattern (size, seed));
}

void
assert_same (const Bytes &got, const Bytes &expected, const std::string &what)
{
  expect_equal (got.size (), expected.size (), what);
  auto differing = std::mismatch (got.begin (), got.end (), expected.begin ());
  if (differing.first != got.end ())
    ck_abort_msg ("%s: byte %d is %u, expected %u", what.c_str (),
        int (differing.first - got.begin ()), *differing.first, *differing.second);
}

void
check_pattern (GstBuffer *buffer, gsize size, guint seed)
{
  fail_unless (buffer != nullptr);
  assert_same (read_buffer (buffer), pattern (size, seed), "buffer");
}

/* --- elements --- */

GstElement *
launch (const std::string &line)
{
  Owned<GError> error;
  GstElement *element = gst_parse_launch (line.c_str (), error.out ());
  fail_unless (element && !error, "%s: %s", line.c_str (), error ? error->message : "");
  return element;
}

void
set_together (gpointer object, const std::string &settings)
{
  std::istringstream words (settings);
  std::string word;
  g_object_freeze_notify (G_OBJECT (object));
  while (words >> word) {
    gsize equals = word.find ('=');
    std::string name = word.substr (0, equals), value = word.substr (equals + 1);
    if (value.empty ())
      g_object_set (object, name.c_str (), nullptr, nullptr);
    else
      gst_util_set_object_arg (G_OBJECT (object), name.c_str (), value.c_str ());
  }
  g_object_thaw_notify (G_OBJECT (object));
}

Harness::Harness (const std::string &line, const std::string &text)
    : harness (gst_harness_new_parse (line.c_str ())), bus (gst_bus_new ())
{
  fail_unless (harness != nullptr, "%s", line.c_str ());
  gst_element_set_bus (harness->element, bus);
  if (!text.empty ())
    set_caps (text);
}

Harness::Harness (GstElement *element, const std::string &text, const char *sink)
    : bus (gst_bus_new ())
{
  Owned<GstElement> held = static_cast<GstElement *> (gst_object_ref_sink (element));
  gst_element_set_bus (element, bus);
  harness = gst_harness_new_with_element (element, sink, "src");
  if (!text.empty ())
    set_caps (text);
}

Harness::~Harness ()
{
  Owned<GstElement> held = hold (harness->element);
  gst_harness_teardown (harness);
  gst_element_set_bus (held, nullptr);
}

Owned<GstElement>
Harness::find (const char *factory) const
{
  Owned<GstElement> found = gst_harness_find_element (harness, factory);
  fail_unless (found, "no element %s", factory);
  return found;
}

void
Harness::set_caps (const std::string &text)
{
  gst_harness_set_src_caps_str (harness, text.c_str ());
}

Owned<GstBuffer>
Harness::pull ()
{
  Owned<GstBuffer> buffer = gst_harness_pull (harness);
  fail_unless (buffer, "no buffer arrived: %s", messages ().line ().c_str ());
  return buffer;
}

Owned<GstBuffer>
Harness::pass (GstBuffer *buffer)
{
  GstFlowReturn flow = push (buffer);
  fail_unless (flow == GST_FLOW_OK, "%s: %s", gst_flow_get_name (flow),
      messages ().line ().c_str ());
  return pull ();
}

void
Harness::start_segment (GstFormat format, guint64 start)
{
  GstSegment segment;
  gst_segment_init (&segment, format);
  segment.start = segment.time = segment.position = start;
  fail_unless (send (gst_event_new_segment (&segment)));
}

void
Harness::flush ()
{
  send (gst_event_new_flush_start ());
  send (gst_event_new_flush_stop (TRUE));
}

void
Harness::restart (const std::string &text)
{
  gst_element_set_state (harness->element, GST_STATE_READY);
  expect_equal (gst_element_set_state (harness->element, GST_STATE_PLAYING),
      GST_STATE_CHANGE_SUCCESS);
  flush ();
  send (gst_event_new_stream_start ("again"));
  set_caps (text);
  start_segment ();
}

LoneElement::LoneElement (GstElement *floating)
    : element (static_cast<GstElement *> (gst_object_ref_sink (floating))),
      bus (gst_bus_new ())
{
  gst_element_set_bus (element, bus);
}

LoneElement::LoneElement (const char *factory)
    : LoneElement (gst_element_factory_make (factory, nullptr))
{
}

LoneElement::~LoneElement ()
{
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, nullptr);
}

bool
LoneElement::reaches_state (GstState state)
{
  return gst_element_set_state (element, state) == GST_STATE_CHANGE_SUCCESS;
}

std::vector<std::string>
element_names ()
{
  std::vector<std::string> names;
  for (const char *plugin : {"computeopencl", "inferenceopencl", "keyingopencl",
           "npyopencl", "octopencl", "transferopencl"}) {
    GList *features =
        gst_registry_get_feature_list_by_plugin (gst_registry_get (), plugin);
    /* fail_unless() works only within a test, but lists of rows are built before. */
    if (!features)
      g_error ("plugin %s has no features", plugin);
    for (GList *item = features; item; item = item->next) {
      if (GST_IS_ELEMENT_FACTORY (item->data))
        names.push_back (GST_OBJECT_NAME (item->data));
    }
    gst_plugin_feature_list_free (features);
  }
  return names;
}

/* --- pipelines --- */

Outcome
play (GstElement *pipeline)
{
  Owned<GstBus> bus = gst_element_get_bus (pipeline);
  Outcome outcome;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  GstMessage *first = gst_bus_timed_pop_filtered (bus, timeout, endings);
  fail_unless (first != nullptr, "timeout: no EOS and no error");
  add_message (outcome, first);
  GstClockTime wait = outcome.errors.empty () ? 0 : 100 * GST_MSECOND;
  while (GstMessage *next = gst_bus_timed_pop_filtered (bus, wait, endings))
    add_message (outcome, next);
  return outcome;
}

Outcome
play_with_warnings (GstElement *pipeline)
{
  Owned<GstBus> bus = gst_element_get_bus (pipeline);
  Outcome outcome;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!outcome.eos && outcome.errors.empty ()) {
    GstMessage *message = gst_bus_timed_pop_filtered (
        bus, timeout, GstMessageType (endings | GST_MESSAGE_WARNING));
    fail_unless (message != nullptr, "timeout: no EOS and no error");
    add_message (outcome, message);
  }
  return outcome;
}

Pipeline::Pipeline (const std::string &line)
    : pipeline (launch (line)), bus (gst_element_get_bus (pipeline))
{
}

Pipeline::~Pipeline ()
{
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

GstElement *
Pipeline::operator[] (const std::string &name) const
{
  Owned<GstElement> found = gst_bin_get_by_name (GST_BIN (pipeline), name.c_str ());
  fail_unless (found, "no element is named %s", name.c_str ());
  return found;
}

Owned<GstPad>
Pipeline::pad (const std::string &element, const char *name) const
{
  return gst_element_get_static_pad ((*this)[element], name);
}

void
Pipeline::set_state (GstState state)
{
  gst_element_set_state (pipeline, state);
  GstStateChangeReturn reached =
      gst_element_get_state (pipeline, nullptr, nullptr, timeout);
  fail_unless (reached != GST_STATE_CHANGE_FAILURE && reached != GST_STATE_CHANGE_ASYNC,
      "not in %s: %s", gst_element_state_get_name (state), messages ().line ().c_str ());
}

void
Pipeline::play_to_eos ()
{
  const Outcome outcome = play ();
  fail_unless (outcome.eos && outcome.errors.empty (), "%s", outcome.line ().c_str ());
}

Owned<GstSample>
Pipeline::pull (const std::string &sink) const
{
  return gst_app_sink_try_pull_sample (GST_APP_SINK ((*this)[sink]), timeout);
}

Outcome
run (const std::string &line)
{
  return Pipeline (line).play ();
}

/* --- pads --- */

gulong
watch (GstPad *pad, GstPadProbeType type, Look look)
{
  return gst_pad_add_probe (
      pad, type,
      [] (GstPad *, GstPadProbeInfo *info, gpointer look) {
        return (*static_cast<Look *> (look)) (info);
      },
      new Look (std::move (look)),
      [] (gpointer look) { delete static_cast<Look *> (look); });
}

void
set_during_negotiation (GstElement *element, const std::string &settings)
{
  Owned<GstPad> pad = gst_element_get_static_pad (element, "src");
  Owned<GstPad> behind = gst_pad_get_peer (pad);
  watch (behind, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      [element, settings] (GstPadProbeInfo *info) {
        const GstQueryType asked = GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (info));
        if (asked != GST_QUERY_CAPS && asked != GST_QUERY_ACCEPT_CAPS)
          return GST_PAD_PROBE_OK;
        set_together (element, settings);
        return GST_PAD_PROBE_REMOVE;
      });
}

Allocation
query_allocation (Harness &harness, const std::string &caps)
{
  Allocation offered;
  offered.query = gst_query_new_allocation (caps_of (caps), TRUE);
  fail_unless (gst_pad_peer_query (harness->srcpad, offered.query));
  if (gst_query_get_n_allocation_pools (offered.query) > 0)
    gst_query_parse_nth_allocation_pool (
        offered.query, 0, offered.pool.out (), &offered.size, &offered.min, &offered.max);
  return offered;
}

Owned<GstBuffer>
filled_buffer (GstBufferPool *pool, const Bytes &bytes)
{
  Owned<GstBuffer> buffer;
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  expect_equal (
      gst_buffer_pool_acquire_buffer (pool, buffer.out (), nullptr), GST_FLOW_OK);
  expect_equal (gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ()), bytes.size ());
  gst_buffer_pool_set_active (pool, FALSE);
  return buffer;
}

void
offer_pool (Harness &harness, GstBufferPool *pool, guint size)
{
  auto held = std::make_shared<Owned<GstBufferPool>> (hold (pool));
  watch (
      harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, [=] (GstPadProbeInfo *info) {
        GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
        if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
          return GST_PAD_PROBE_OK;
        gst_query_add_allocation_pool (query, *held, size, 3, 0);
        return GST_PAD_PROBE_HANDLED;
      });
}

/* --- memory --- */

gsize
resident_kib ()
{
#ifdef _WIN32
  check::fail_test (__FILE__, __LINE__, "resident_kib", "not on Windows");
#else
  unsigned long total = 0, resident = 0;
  FILE *file = fopen ("/proc/self/statm", "r");
  fail_unless (file != nullptr);
  expect_equal (fscanf (file, "%lu %lu", &total, &resident), 2);
  fclose (file);
  return gsize (resident) * gsize (sysconf (_SC_PAGESIZE)) / 1024;
#endif
}
} // namespace check
