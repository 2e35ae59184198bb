/* npyparse: what it promises
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/app/gstappsink.h>
#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <glib/gstdio.h>

namespace {

constexpr GstClockTime frame_time = GST_SECOND / 25;

/* .npy files, as numpy.lib.format defines them */

std::string
dictionary (const char *descr, const char *shape, const char *order = "False")
{
  return std::string ("{'descr': '") + descr + "', 'fortran_order': " + order
         + ", 'shape': " + shape + ", }";
}

std::string
header (const std::string &text, int version = 1)
{
  std::string length_bytes (version == 1 ? 2 : 4, '\0');
  std::string padded = text;
  gsize preface = 8 + length_bytes.size ();

  while ((preface + padded.size () + 1) % 64 != 0)
    padded += ' ';
  padded += '\n';
  for (gsize i = 0; i < length_bytes.size (); i++)
    length_bytes[i] = char (padded.size () >> (8 * i));
  return std::string ("\x93NUMPY") + char (version) + '\0' + length_bytes + padded;
}

template <typename T>
std::string
bytes_of (const std::vector<T> &values)
{
  return std::string (
      reinterpret_cast<const char *> (values.data ()), values.size () * sizeof (T));
}

std::vector<guint16>
counted (gsize count, guint16 first = 0)
{
  std::vector<guint16> values (count);

  for (gsize i = 0; i < count; i++)
    values[i] = guint16 (first + i * 257);
  return values;
}

std::string
u16_file (const char *shape, const std::vector<guint16> &values, int version = 1)
{
  return header (dictionary ("<u2", shape), version) + bytes_of (values);
}

/* A harness around the element, and what came out of it */

struct Errors {
  int count = 0;
  std::string message;
};

Errors
errors_of (GstBus *bus, GstClockTime wait = 0)
{
  Errors errors;

  while (
      GstMessage *message = gst_bus_timed_pop_filtered (bus, wait, GST_MESSAGE_ERROR)) {
    GError *error;

    gst_message_parse_error (message, &error, nullptr);
    /* A source says once more that something behind it failed. */
    if (!GST_IS_ELEMENT (GST_MESSAGE_SRC (message))
        || g_str_has_prefix (GST_MESSAGE_SRC_NAME (message), "npyparse")) {
      errors.count++;
      errors.message = error->message;
      wait = 0;
    }
    g_error_free (error);
    gst_message_unref (message);
  }
  return errors;
}

struct Frame {
  std::string bytes;
  GstClockTime time;
  GstClockTime duration;
  bool operator== (const Frame &other) const
  {
    return bytes == other.bytes && time == other.time && duration == other.duration;
  }
};

Frame
frame_of (GstBuffer *buffer)
{
  GstMapInfo map;

  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  fail_unless (GPOINTER_TO_SIZE (map.data) % 4 == 0);
  Frame frame = {std::string (reinterpret_cast<char *> (map.data), map.size),
      GST_BUFFER_PTS (buffer), GST_BUFFER_DURATION (buffer)};
  gst_buffer_unmap (buffer, &map);
  return frame;
}

struct Parser {
  GstHarness *harness;
  GstBus *bus;

  explicit Parser (const char *launch = "npyparse name=npyparse")
  {
    harness = gst_harness_new_parse (launch);
    bus = gst_bus_new ();
    gst_element_set_bus (harness->element, bus);
    gst_harness_set_src_caps_str (harness, "application/x-npy");
  }
  Parser (const Parser &) = delete;
  Parser &operator= (const Parser &) = delete;
  ~Parser ()
  {
    gst_element_set_bus (harness->element, nullptr);
    gst_object_unref (bus);
    gst_harness_teardown (harness);
  }

  void start_bytes (guint64 offset)
  {
    GstSegment segment;

    gst_segment_init (&segment, GST_FORMAT_BYTES);
    segment.start = segment.time = segment.position = offset;
    fail_unless (gst_harness_push_event (harness, gst_event_new_segment (&segment)));
  }
  GstFlowReturn push (const std::string &bytes)
  {
    return gst_harness_push (
        harness, gst_buffer_new_memdup (bytes.data (), bytes.size ()));
  }
  GstFlowReturn push_in_blocks (const std::string &bytes, gsize size)
  {
    GstFlowReturn flow = GST_FLOW_OK;

    for (gsize at = 0; flow == GST_FLOW_OK && at < bytes.size (); at += size)
      flow = push (bytes.substr (at, size));
    return flow;
  }
  void end () { gst_harness_push_event (harness, gst_event_new_eos ()); }
  std::vector<Frame> frames ()
  {
    std::vector<Frame> frames;

    while (GstBuffer *buffer = gst_harness_try_pull (harness)) {
      frames.push_back (frame_of (buffer));
      gst_buffer_unref (buffer);
    }
    return frames;
  }
  std::string caps_field (const char *name)
  {
    GstCaps *caps = gst_pad_get_current_caps (harness->sinkpad);
    fail_unless (caps != nullptr);
    const GValue *value =
        gst_structure_get_value (gst_caps_get_structure (caps, 0), name);
    fail_unless (value != nullptr);
    gchar *text = gst_value_serialize (value);
    std::string result = text;
    g_free (text);
    gst_caps_unref (caps);
    return result;
  }
  void expect_field (const char *name, const char *expected)
  {
    std::string value = caps_field (name);
    assert_equals_string (value.c_str (), expected);
  }
  void expect_caps (const char *format, const char *samples, const char *lines)
  {
    expect_field ("domain", "wavelength");
    expect_field ("format", format);
    expect_field ("samples", samples);
    expect_field ("lines", lines);
  }
};

void
expect_frames (const std::vector<Frame> &frames, const std::vector<std::string> &bytes)
{
  assert_equals_int (frames.size (), bytes.size ());
  for (gsize i = 0; i < frames.size (); i++)
    fail_unless (frames[i].bytes == bytes[i], "frame %zu differs", i);
}

/* Files on disk */

struct Folder {
  gchar *path = g_dir_make_tmp ("npyparse-XXXXXX", nullptr);
  std::vector<std::string> files;

  ~Folder ()
  {
    for (const std::string &file : files)
      g_unlink (file.c_str ());
    g_rmdir (path);
    g_free (path);
  }
  std::string write (const char *name, const std::string &bytes)
  {
    std::string file = std::string (path) + "/" + name;

    fail_unless (
        g_file_set_contents (file.c_str (), bytes.data (), bytes.size (), nullptr));
    files.push_back (file);
    return file;
  }
};

struct Pipeline {
  GstElement *pipeline;
  GstElement *sink;
  GstBus *bus;

  explicit Pipeline (const std::string &launch)
  {
    GError *error = nullptr;

    pipeline = gst_parse_launch (
        (launch + " ! appsink name=sink sync=false max-buffers=2").c_str (), &error);
    fail_unless (error == nullptr, "%s", error ? error->message : "");
    sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
    bus = gst_element_get_bus (pipeline);
  }
  Pipeline (const Pipeline &) = delete;
  Pipeline &operator= (const Pipeline &) = delete;
  ~Pipeline ()
  {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (bus);
    gst_object_unref (sink);
    gst_object_unref (pipeline);
  }
  void set_state (GstState state)
  {
    gst_element_set_state (pipeline, state);
    fail_unless_equals_int (
        gst_element_get_state (pipeline, nullptr, nullptr, 20 * GST_SECOND),
        GST_STATE_CHANGE_SUCCESS);
  }
  std::vector<Frame> frames ()
  {
    std::vector<Frame> frames;

    while (GstSample *sample =
               gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_SECOND)) {
      frames.push_back (frame_of (gst_sample_get_buffer (sample)));
      gst_sample_unref (sample);
    }
    return frames;
  }
};

std::string
three_frames ()
{
  return u16_file ("(3, 2, 4)", counted (24));
}

std::vector<std::string>
split (const std::string &bytes, gsize size)
{
  std::vector<std::string> parts;

  for (gsize at = 0; at < bytes.size (); at += size)
    parts.push_back (bytes.substr (at, size));
  return parts;
}

} // namespace

/* Values */

GST_START_TEST (test_npyparse_passes_uint16_bit_exactly)
{
  Parser parser;
  std::vector<guint16> values (65536);

  for (gsize i = 0; i < values.size (); i++)
    values[i] = guint16 (i);
  fail_unless_equals_int (parser.push (u16_file ("(32, 2048)", values)), GST_FLOW_OK);
  expect_frames (parser.frames (), {bytes_of (values)});
  parser.expect_caps ("U16LE", "2048", "32");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_passes_float32_bit_exactly)
{
  Parser parser;
  std::vector<float> values = {0.0f, -0.0f, 1e-45f, -3.25f, INFINITY, NAN};

  fail_unless_equals_int (
      parser.push (header (dictionary ("<f4", "(2, 3)")) + bytes_of (values)),
      GST_FLOW_OK);
  expect_frames (parser.frames (), {bytes_of (values)});
  parser.expect_caps ("F32LE", "3", "2");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_rounds_float64_to_float32)
{
  Parser parser;
  std::vector<double> values = {0.1, -1e300, 1.0 / 3, 65535.0, 1e-320, 16777217.0};
  std::vector<float> expected;

  for (double value : values)
    expected.push_back (float (value));
  fail_unless_equals_int (
      parser.push (header (dictionary ("<f8", "(3, 1, 2)")) + bytes_of (values)),
      GST_FLOW_OK);
  expect_frames (parser.frames (), split (bytes_of (expected), 8));
  parser.expect_caps ("F32LE", "2", "1");
}
GST_END_TEST;

/* Shapes and versions */

GST_START_TEST (test_npyparse_one_dimension_is_one_line)
{
  Parser parser;

  fail_unless_equals_int (parser.push (u16_file ("(6,)", counted (6))), GST_FLOW_OK);
  expect_frames (parser.frames (), {bytes_of (counted (6))});
  parser.expect_caps ("U16LE", "6", "1");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_order_of_one_dimension_does_not_matter)
{
  Parser parser;

  fail_unless_equals_int (
      parser.push (header (dictionary ("<u2", "(6,)", "True")) + bytes_of (counted (6))),
      GST_FLOW_OK);
  expect_frames (parser.frames (), {bytes_of (counted (6))});
}
GST_END_TEST;

GST_START_TEST (test_npyparse_third_dimension_is_frames)
{
  Parser parser;

  fail_unless_equals_int (parser.push (three_frames ()), GST_FLOW_OK);
  expect_frames (parser.frames (), split (bytes_of (counted (24)), 16));
  parser.expect_caps ("U16LE", "4", "2");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_reads_every_format_version)
{
  for (int version : {1, 2, 3}) {
    Parser parser;

    fail_unless_equals_int (
        parser.push (u16_file ("(2, 3)", counted (6), version)), GST_FLOW_OK);
    expect_frames (parser.frames (), {bytes_of (counted (6))});
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_reads_headers_in_any_layout)
{
  const char *texts[] = {
      "{\"shape\":(2L,3L),\"descr\":\"<u2\",\"fortran_order\":False}",
      "  {  'fortran_order' : False , 'descr' : '<u2' , 'shape' : ( 2 , 3 , ) , }  ",
      "{\n'descr': '<u2',\n'fortran_order': False,\n'shape': (2, 3)\n}",
  };

  for (const char *text : texts) {
    Parser parser;

    fail_unless_equals_int (
        parser.push (header (text) + bytes_of (counted (6))), GST_FLOW_OK);
    expect_frames (parser.frames (), {bytes_of (counted (6))});
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_aligns_values_behind_an_odd_header)
{
  Parser parser;
  std::string text = dictionary ("<f4", "(2, 3)");
  std::vector<float> values = {1, 2, 3, 4, 5, 6};

  if ((text.size () + 10) % 2 == 0)
    text += ' ';
  std::string file = std::string ("\x93NUMPY\x01\0", 8) + char (text.size ()) + '\0'
                     + text + bytes_of (values);
  fail_unless_equals_int (parser.push (file), GST_FLOW_OK);
  /* frame_of() asserts the alignment. */
  expect_frames (parser.frames (), {bytes_of (values)});
}
GST_END_TEST;

/* The stream */

GST_START_TEST (test_npyparse_gives_the_same_for_any_block_size)
{
  std::string file = three_frames ();
  std::string stream = file + u16_file ("(2, 4)", counted (8, 999)) + file;
  std::vector<Frame> whole;

  for (gsize size : {stream.size (), gsize (1), gsize (7), gsize (64), gsize (129)}) {
    Parser parser;

    fail_unless_equals_int (parser.push_in_blocks (stream, size), GST_FLOW_OK);
    parser.end ();
    std::vector<Frame> frames = parser.frames ();
    assert_equals_int (frames.size (), 7);
    assert_equals_int (errors_of (parser.bus).count, 0);
    if (whole.empty ())
      whole = frames;
    fail_unless (frames == whole, "blocks of %zu bytes give something else", size);
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_counts_time_over_all_files)
{
  Parser parser ("npyparse name=npyparse framerate=30000/1001");

  for (int i = 0; i < 3; i++)
    fail_unless_equals_int (parser.push (three_frames ()), GST_FLOW_OK);
  std::vector<Frame> frames = parser.frames ();
  assert_equals_int (frames.size (), 9);
  for (guint64 i = 0; i < frames.size (); i++) {
    guint64 time = i * 1001 * GST_SECOND / 30000;

    assert_equals_uint64 (frames[i].time, time);
    assert_equals_uint64 (frames[i].duration, (i + 1) * 1001 * GST_SECOND / 30000 - time);
  }
  parser.expect_field ("framerate", "30000/1001");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_framerate_zero_gives_no_timestamps)
{
  Parser parser ("npyparse name=npyparse framerate=0/1");

  fail_unless_equals_int (parser.push (three_frames ()), GST_FLOW_OK);
  for (const Frame &frame : parser.frames ()) {
    assert_equals_uint64 (frame.time, GST_CLOCK_TIME_NONE);
    assert_equals_uint64 (frame.duration, GST_CLOCK_TIME_NONE);
  }
  parser.expect_field ("framerate", "0/1");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_framerate_of_the_caps_goes_before_the_property)
{
  Parser parser;

  gst_harness_set_src_caps_str (parser.harness, "application/x-npy, framerate=10/1");
  fail_unless_equals_int (parser.push (three_frames ()), GST_FLOW_OK);
  assert_equals_uint64 (parser.frames ()[2].time, 2 * GST_SECOND / 10);
  parser.expect_field ("framerate", "10/1");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_keeps_timestamps_of_a_stream_in_time)
{
  Parser parser;

  for (GstClockTime time : {5 * GST_SECOND, 9 * GST_SECOND}) {
    std::string file = three_frames ();
    GstBuffer *buffer = gst_buffer_new_memdup (file.data (), file.size ());

    GST_BUFFER_PTS (buffer) = time;
    fail_unless_equals_int (gst_harness_push (parser.harness, buffer), GST_FLOW_OK);
  }
  std::vector<Frame> frames = parser.frames ();
  assert_equals_uint64 (frames[0].time, 5 * GST_SECOND);
  assert_equals_uint64 (frames[2].time, 5 * GST_SECOND + 2 * frame_time);
  assert_equals_uint64 (frames[3].time, 9 * GST_SECOND);
}
GST_END_TEST;

static gint
caps_events (GstHarness *harness)
{
  gint count = 0;

  while (GstEvent *event = gst_harness_try_pull_event (harness)) {
    count += GST_EVENT_TYPE (event) == GST_EVENT_CAPS;
    gst_event_unref (event);
  }
  return count;
}

GST_START_TEST (test_npyparse_sends_caps_only_when_they_change)
{
  Parser parser;
  std::string frame = u16_file ("(2, 4)", counted (8));

  parser.push (frame + three_frames () + frame);
  assert_equals_int (caps_events (parser.harness), 1);
  parser.push (u16_file ("(4, 2)", counted (8)));
  assert_equals_int (caps_events (parser.harness), 1);
  parser.expect_caps ("U16LE", "2", "4");
  assert_equals_int (parser.frames ().size (), 6);
}
GST_END_TEST;

static GstPadProbeReturn
offer_pool (GstPad *, GstPadProbeInfo *info, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);

  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (query, GST_BUFFER_POOL (user_data), 100, 2, 0);
  return GST_PAD_PROBE_HANDLED;
}

GST_START_TEST (test_npyparse_fills_the_pool_that_downstream_offers)
{
  std::vector<double> values = {1.5, -2.5, 0.25, 1e9};
  std::vector<float> expected (values.begin (), values.end ());
  std::string files[] = {
      three_frames (), header (dictionary ("<f8", "(2, 2)")) + bytes_of (values)};
  std::vector<std::string> frames[] = {
      split (bytes_of (counted (24)), 16), {bytes_of (expected)}};

  for (int i : {0, 1}) {
    Parser parser;
    GstBufferPool *pool = gst_buffer_pool_new ();

    gst_pad_add_probe (parser.harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
        offer_pool, gst_object_ref (pool), gst_object_unref);
    fail_unless_equals_int (parser.push_in_blocks (files[i], 13), GST_FLOW_OK);
    for (const std::string &bytes : frames[i]) {
      GstBuffer *buffer = gst_harness_pull (parser.harness);

      fail_unless (buffer->pool == pool);
      fail_unless (frame_of (buffer).bytes == bytes);
      gst_buffer_unref (buffer);
    }
    gst_element_set_state (parser.harness->element, GST_STATE_NULL);
    fail_if (gst_buffer_pool_is_active (pool));
    gst_object_unref (pool);
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_flush_starts_over)
{
  Parser parser;

  parser.start_bytes (0);
  parser.push (three_frames ().substr (0, 128 + 20));
  assert_equals_int (parser.frames ().size (), 1);
  gst_harness_push_event (parser.harness, gst_event_new_flush_start ());
  gst_harness_push_event (parser.harness, gst_event_new_flush_stop (TRUE));
  parser.start_bytes (0);
  fail_unless_equals_int (parser.push (three_frames ()), GST_FLOW_OK);
  std::vector<Frame> frames = parser.frames ();
  expect_frames (frames, split (bytes_of (counted (24)), 16));
  assert_equals_uint64 (frames[0].time, 0);
  assert_equals_int (errors_of (parser.bus).count, 0);
}
GST_END_TEST;

GST_START_TEST (test_npyparse_goes_on_at_the_next_whole_frame_after_a_jump)
{
  Parser parser;
  std::string file = three_frames ();

  parser.start_bytes (0);
  parser.push (file);
  parser.frames ();
  gst_harness_push_event (parser.harness, gst_event_new_flush_start ());
  gst_harness_push_event (parser.harness, gst_event_new_flush_stop (TRUE));
  parser.start_bytes (128 + 18);
  fail_unless_equals_int (parser.push_in_blocks (file.substr (128 + 18), 5), GST_FLOW_OK);
  parser.end ();
  std::vector<Frame> frames = parser.frames ();
  expect_frames (frames, {bytes_of (counted (24)).substr (32)});
  assert_equals_uint64 (frames[0].time, 2 * frame_time);
  assert_equals_int (errors_of (parser.bus).count, 0);
}
GST_END_TEST;

/* Pipelines */

GST_START_TEST (test_npyparse_reads_a_file_in_blocks_of_any_size)
{
  Folder folder;
  std::string file = folder.write ("a.npy", three_frames ());

  for (const char *blocksize : {"1", "33", "4096"}) {
    for (const char *between : {"", "! queue "}) {
      Pipeline run ("filesrc blocksize=" + std::string (blocksize) + " location=" + file
                    + " " + between + "! npyparse");

      gst_element_set_state (run.pipeline, GST_STATE_PLAYING);
      expect_frames (run.frames (), split (bytes_of (counted (24)), 16));
      assert_equals_int (errors_of (run.bus).count, 0);
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_reads_many_files)
{
  Folder folder;
  std::vector<std::string> expected;

  for (int i = 0; i < 5; i++) {
    std::vector<guint16> values = counted (8, guint16 (1000 * i));
    std::string name = std::to_string (i) + ".npy";

    folder.write (name.c_str (), u16_file ("(2, 4)", values, 1 + i % 3));
    expected.push_back (bytes_of (values));
  }
  for (const char *caps : {"", " caps=application/x-npy",
           " caps=application/x-npy,framerate=25/1", " ! typefind"}) {
    Pipeline run ("multifilesrc location=" + std::string (folder.path) + "/%d.npy" + caps
                  + " ! npyparse");

    gst_element_set_state (run.pipeline, GST_STATE_PLAYING);
    std::vector<Frame> frames = run.frames ();
    expect_frames (frames, expected);
    for (gsize i = 0; i < frames.size (); i++)
      assert_equals_uint64 (frames[i].time, i * frame_time);
    assert_equals_int (errors_of (run.bus).count, 0);
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_a_short_file_is_not_filled_up_with_the_next)
{
  Folder folder;
  std::string file = u16_file ("(2, 4)", counted (8));

  folder.write ("0.npy", file);
  folder.write ("1.npy", file.substr (0, file.size () - 2));
  folder.write ("2.npy", file);
  Pipeline run ("multifilesrc location=" + std::string (folder.path)
                + "/%d.npy caps=application/x-npy ! npyparse name=npyparse");
  gst_element_set_state (run.pipeline, GST_STATE_PLAYING);
  expect_frames (run.frames (), {bytes_of (counted (8))});
  Errors errors = errors_of (run.bus);
  assert_equals_int (errors.count, 1);
  fail_unless (errors.message.find ("14 bytes of data are there, expected 16")
                   != std::string::npos,
      "%s", errors.message.c_str ());
}
GST_END_TEST;

GST_START_TEST (test_npy_files_are_recognised)
{
  Folder folder;
  /* The name says nothing. */
  std::string file = folder.write ("a.bin", three_frames ());
  Pipeline run ("filesrc location=" + file + " ! decodebin caps=application/x-oct");

  gst_element_set_state (run.pipeline, GST_STATE_PLAYING);
  expect_frames (run.frames (), split (bytes_of (counted (24)), 16));
}
GST_END_TEST;

static std::string
ten_frames ()
{
  return u16_file ("(10, 2, 4)", counted (80));
}

GST_START_TEST (test_npyparse_seeks_to_the_frame)
{
  Folder folder;
  std::string file = folder.write ("a.npy", ten_frames () + ten_frames ());
  std::vector<std::string> all = split (bytes_of (counted (80)), 16);
  Pipeline run ("filesrc blocksize=50 location=" + file + " ! npyparse");
  gint64 duration;

  run.set_state (GST_STATE_PAUSED);
  fail_unless (gst_element_query_duration (run.pipeline, GST_FORMAT_TIME, &duration));
  assert_equals_int64 (duration, 20 * frame_time);
  run.set_state (GST_STATE_PLAYING);
  for (gint64 target : {7, 0, 19, 10, 13}) {
    fail_unless (gst_element_seek_simple (run.pipeline, GST_FORMAT_TIME,
        GST_SEEK_FLAG_FLUSH, target * frame_time + (target == 7 ? 1000 : 0)));
    std::vector<Frame> frames = run.frames ();

    assert_equals_int (frames.size (), 20 - target);
    for (gsize i = 0; i < frames.size (); i++) {
      assert_equals_uint64 (frames[i].time, (target + i) * frame_time);
      fail_unless (frames[i].bytes == all[(target + i) % 10]);
    }
  }
  assert_equals_int (errors_of (run.bus).count, 0);
}
GST_END_TEST;

GST_START_TEST (test_npyparse_stops_where_a_seek_says)
{
  Folder folder;
  std::string file = folder.write ("a.npy", ten_frames ());
  Pipeline run ("filesrc location=" + file + " ! npyparse");

  run.set_state (GST_STATE_PAUSED);
  fail_unless (gst_element_seek (run.pipeline, 1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, 2 * frame_time, GST_SEEK_TYPE_SET, 5 * frame_time));
  run.set_state (GST_STATE_PLAYING);
  std::vector<Frame> frames = run.frames ();
  assert_equals_int (frames.size (), 3);
  assert_equals_uint64 (frames[0].time, 2 * frame_time);
  assert_equals_int (errors_of (run.bus).count, 0);
}
GST_END_TEST;

/* Whoever plays a file: one that is asked for its parts, and one that pushes them. */
static const char *ways_of_reading[] = {" ! npyparse", " ! queue ! npyparse"};

static std::vector<Frame>
frames_of_segment (Pipeline &run, gdouble rate, gint64 first, gint64 end,
    GstSeekFlags flags = GST_SEEK_FLAG_FLUSH)
{
  fail_unless (gst_element_seek (run.pipeline, rate, GST_FORMAT_TIME, flags,
      GST_SEEK_TYPE_SET, first * frame_time, GST_SEEK_TYPE_SET,
      end < 0 ? -1 : end * gint64 (frame_time)));
  run.set_state (GST_STATE_PLAYING);
  return run.frames ();
}

static void
expect_backward (const std::vector<Frame> &frames, const std::vector<std::string> &all,
    gsize lowest, gsize end)
{
  assert_equals_int (frames.size (), end - lowest);
  for (gsize i = 0; i < frames.size (); i++) {
    assert_equals_uint64 (frames[i].time, (end - 1 - i) * frame_time);
    assert_equals_uint64 (frames[i].duration, frame_time);
    fail_unless (frames[i].bytes == all[end - 1 - i]);
  }
}

GST_START_TEST (test_npyparse_plays_backward)
{
  Folder folder;
  std::string file = folder.write ("a.npy", ten_frames ());
  std::vector<std::string> all = split (bytes_of (counted (80)), 16);

  for (const char *way : ways_of_reading) {
    for (const char *blocksize : {"1", "7", "50", "4096"}) {
      Pipeline run (
          std::string ("filesrc blocksize=") + blocksize + " location=" + file + way);

      run.set_state (GST_STATE_PAUSED);
      expect_backward (frames_of_segment (run, -1.0, 0, -1), all, 0, 10);
      expect_backward (frames_of_segment (run, -1.0, 0, 10), all, 0, 10);
      expect_backward (frames_of_segment (run, -2.5, 2, 5), all, 2, 5);
      expect_backward (frames_of_segment (run, -1.0, 9, 10), all, 9, 10);
      expect_backward (frames_of_segment (run, -1.0, 0, 1), all, 0, 1);
      assert_equals_int (frames_of_segment (run, 1.0, 8, -1).size (), 2);
      assert_equals_int (errors_of (run.bus).count, 0);
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_plays_files_behind_each_other_backward)
{
  Folder folder;
  std::vector<double> last = {0.5, -0.25, 8, 16, 32, 64, 128, 256};
  std::vector<float> last_as_floats (last.begin (), last.end ());
  std::string file = folder.write (
      "a.npy", three_frames () + u16_file ("(2, 4)", counted (8, 999), 2)
                   + header (dictionary ("<f8", "(2, 4)")) + bytes_of (last));
  std::vector<std::string> all = split (bytes_of (counted (24)), 16);
  Pipeline run ("filesrc location=" + file + " ! npyparse");
  gint64 frames;

  all.push_back (bytes_of (counted (8, 999)));
  all.push_back (bytes_of (last_as_floats));
  run.set_state (GST_STATE_PAUSED);
  fail_unless (gst_element_query_duration (run.pipeline, GST_FORMAT_DEFAULT, &frames));
  assert_equals_int64 (frames, 5);
  expect_backward (frames_of_segment (run, -1.0, 0, -1), all, 0, 5);
  std::vector<Frame> forward = frames_of_segment (run, 1.0, 3, -1);
  assert_equals_int (forward.size (), 2);
  fail_unless (forward[0].bytes == all[3] && forward[1].bytes == all[4]);
  assert_equals_uint64 (forward[0].time, 3 * frame_time);
  assert_equals_int (errors_of (run.bus).count, 0);
}
GST_END_TEST;

GST_START_TEST (test_npyparse_follows_a_scrub)
{
  Folder folder;
  std::string file = folder.write ("a.npy", ten_frames ());
  std::vector<std::string> all = split (bytes_of (counted (80)), 16);
  std::mt19937 random (7);

  for (const char *way : ways_of_reading) {
    Pipeline run ("filesrc blocksize=50 location=" + file + way);

    run.set_state (GST_STATE_PAUSED);
    for (int i = 0; i < 60; i++) {
      gsize frame = random () % 10;
      bool backward = random () % 2;

      fail_unless (gst_element_seek (run.pipeline, backward ? -1 : 1, GST_FORMAT_TIME,
          GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), GST_SEEK_TYPE_SET,
          backward ? 0 : frame * frame_time, GST_SEEK_TYPE_SET,
          backward ? gint64 ((frame + 1) * frame_time) : -1));
      /* Every other one at once, as a hand does. */
      if (i % 2)
        continue;
      GstSample *sample =
          gst_app_sink_try_pull_preroll (GST_APP_SINK (run.sink), 20 * GST_SECOND);
      fail_unless (sample != nullptr);
      Frame shown = frame_of (gst_sample_get_buffer (sample));
      gst_sample_unref (sample);
      fail_unless (shown.bytes == all[frame], "seek %d to %zu", i, frame);
      assert_equals_uint64 (shown.time, frame * frame_time);
    }
    assert_equals_int (errors_of (run.bus).count, 0);
  }
}
GST_END_TEST;

static void
expect_segment_done (Pipeline &run)
{
  GstMessage *message = gst_bus_timed_pop_filtered (run.bus, 20 * GST_SECOND,
      GstMessageType (GST_MESSAGE_SEGMENT_DONE | GST_MESSAGE_ERROR | GST_MESSAGE_EOS));

  fail_unless (message != nullptr);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_SEGMENT_DONE);
  gst_message_unref (message);
}

static std::vector<Frame>
pull_frames (Pipeline &run, gsize count)
{
  std::vector<Frame> frames;

  for (gsize i = 0; i < count; i++) {
    GstSample *sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (run.sink), 20 * GST_SECOND);

    fail_unless (sample != nullptr);
    frames.push_back (frame_of (gst_sample_get_buffer (sample)));
    gst_sample_unref (sample);
  }
  return frames;
}

/* As an application plays a loop: the first seek flushes, those that follow do not. */
GST_START_TEST (test_npyparse_loops_over_a_segment)
{
  Folder folder;
  std::string file = folder.write ("a.npy", ten_frames ());
  std::vector<std::string> all = split (bytes_of (counted (80)), 16);

  for (const char *way : ways_of_reading) {
    Pipeline run ("filesrc blocksize=50 location=" + file + way);
    int flags = GST_SEEK_FLAG_SEGMENT | GST_SEEK_FLAG_FLUSH;

    run.set_state (GST_STATE_PAUSED);
    for (gdouble rate : {1.0, 1.0, -1.0, -1.0, 1.0}) {
      fail_unless (
          gst_element_seek (run.pipeline, rate, GST_FORMAT_TIME, GstSeekFlags (flags),
              GST_SEEK_TYPE_SET, 2 * frame_time, GST_SEEK_TYPE_SET, 5 * frame_time));
      run.set_state (GST_STATE_PLAYING);
      std::vector<Frame> frames = pull_frames (run, 3);
      if (rate < 0)
        expect_backward (frames, all, 2, 5);
      else
        expect_frames (frames, {all[2], all[3], all[4]});
      expect_segment_done (run);
      flags = GST_SEEK_FLAG_SEGMENT;
    }
    assert_equals_int (errors_of (run.bus).count, 0);
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_says_how_long_a_file_is)
{
  Folder folder;
  std::string file = folder.write ("a.npy", ten_frames ());

  for (const char *way : ways_of_reading) {
    Pipeline run ("filesrc location=" + file + way + " framerate=30/1");
    gint64 time, frames;

    run.set_state (GST_STATE_PAUSED);
    fail_unless (gst_element_query_duration (run.pipeline, GST_FORMAT_TIME, &time));
    assert_equals_int64 (time, 10 * GST_SECOND / 30);
    fail_unless (gst_element_query_duration (run.pipeline, GST_FORMAT_DEFAULT, &frames));
    assert_equals_int64 (frames, 10);
  }
}
GST_END_TEST;

/* Downstream that wants no more */

GST_START_TEST (test_npyparse_is_silent_when_downstream_ends_first)
{
  Folder folder;
  std::string file = folder.write ("a.npy", ten_frames ());

  for (const char *way : ways_of_reading) {
    for (const char *blocksize : {"50", "4096"}) {
      Pipeline run (std::string ("filesrc blocksize=") + blocksize + " location=" + file
                    + way + " name=npyparse ! identity eos-after=3");

      gst_element_set_state (run.pipeline, GST_STATE_PLAYING);
      assert_equals_int (run.frames ().size (), 2);
      Errors errors = errors_of (run.bus);
      fail_unless (errors.count == 0, "%s", errors.message.c_str ());
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_is_silent_when_the_application_ends_the_stream)
{
  Folder folder;
  std::string file = folder.write ("a.npy", u16_file ("(5000, 2, 4)", counted (40000)));

  for (const char *way : ways_of_reading) {
    Pipeline run ("filesrc blocksize=50 location=" + file + way
                  + " name=npyparse ! identity name=slow sleep-time=1000");
    GstElement *slow = gst_bin_get_by_name (GST_BIN (run.pipeline), "slow");
    gint64 passed;

    g_object_set (run.sink, "drop", TRUE, nullptr);
    gst_element_set_state (run.pipeline, GST_STATE_PLAYING);
    gst_sample_unref (gst_app_sink_pull_sample (GST_APP_SINK (run.sink)));
    fail_unless (gst_element_send_event (run.pipeline, gst_event_new_eos ()));
    run.frames ();
    GstPad *pad = gst_element_get_static_pad (slow, "src");
    fail_unless (gst_pad_query_position (pad, GST_FORMAT_DEFAULT, &passed));
    fail_unless (passed < 5000);
    Errors errors = errors_of (run.bus);
    fail_unless (errors.count == 0, "%s", errors.message.c_str ());
    gst_object_unref (pad);
    gst_object_unref (slow);
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_is_refused_before_it_collects_a_frame)
{
  Parser parser (
      "npyparse name=npyparse ! capsfilter caps=application/x-oct,samples=(int)5");
  std::string file = u16_file ("(2, 4)", counted (8));

  fail_unless_equals_int (parser.push (file.substr (0, 128)), GST_FLOW_NOT_NEGOTIATED);
  parser.end ();
  assert_equals_int (errors_of (parser.bus).count, 0);
}
GST_END_TEST;

/* What it refuses */

struct Refused {
  std::string bytes;
  const char *says;
  gsize frames;
};

static std::string
array (const char *descr, const char *shape, const char *order = "False")
{
  return header (dictionary (descr, shape, order)) + std::string (96, '\1');
}

static std::vector<Refused>
refused_streams ()
{
  std::string frame = u16_file ("(2, 4)", counted (8));
  std::string long_header = std::string ("\x93NUMPY\x02\0\xff\xff\xff\xff{", 13);

  return {
      {"", "0 bytes of it are there, expected 8", 0},
      {frame.substr (0, 3), "3 bytes of it are there, expected 8", 0},
      {frame.substr (0, 50), "50 bytes of it are there, expected 128", 0},
      {frame.substr (0, 128), "0 bytes of data are there, expected 16", 0},
      {three_frames ().substr (0, 128 + 40), "40 bytes of data are there, expected 48",
          2},
      {frame + frame.substr (0, 139), "11 bytes of data are there, expected 16", 1},
      {frame + "trailing bytes",
          "at byte 144: not a .npy file: it begins with \"traili\"", 1},
      {"1.5\n2.5\n3.5\n", "it begins with \"1.5\\n2.\"", 0},
      {array (">f4", "(2, 4)"), "'>f4', which is big-endian, expected '<u2'", 0},
      {array ("|O", "(2, 4)"), "'|O', which is Python objects, expected '<u2'", 0},
      {array ("<i4", "(2, 4)"), "'<i4', expected '<u2', '<f4' or '<f8'", 0},
      {header ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
          "'descr' is the record [('a', '<f4')]", 0},
      {array ("<u2", "(2, 4)", "True"),
          "(2, 4) has 'fortran_order': True, expected False", 0},
      {array ("<u2", "(3, 2, 4)", "True"), "(3, 2, 4) has 'fortran_order': True", 0},
      {array ("<u2", "(1, 3, 2, 4)"), "shape (1, 3, 2, 4) has another number", 0},
      {array ("<u2", "()"), "shape () has another number of dimensions", 0},
      {array ("<u2", "(2, 0)"), "shape (2, 0) is empty", 0},
      {array ("<u2", "(0, 2, 4)"), "shape (0, 2, 4) is empty", 0},
      {array ("<u2", "(2, 3000000000)"), "shape (2, 3000000000) has more than", 0},
      {array ("<u2", "(3000000000, 2)"), "shape (3000000000, 2) has more than", 0},
      {array ("<f8", "(99999999, 999999999, 999999999)"), "larger than any memory", 0},
      {array ("<u2", "(99999999999999999999999, 2)"), "dimension that fits", 0},
      {array ("<u2", "(-2, 4)"), "found \"-2, 4), }\", expected a dimension of 0", 0},
      {array ("<u2", "(8)"), "expected \",\" after the first dimension", 0},
      {array ("<u2", "8"), "expected \"(\" after 'shape'", 0},
      {array ("<u2", "((2, 4), 2)"), "expected a dimension", 0},
      {array ("<u2", "(2, 4"), "found \"}\", expected a dimension", 0},
      {array ("<u2", "(2, 4)", "None"), "expected True or False", 0},
      {header ("{'descr': '<u2', 'fortran_order': False}"),
          "expected 'descr', 'fortran_order' and 'shape'", 0},
      {header ("{'descr': '<u2', 'descr': '<u2'}"), "expected one each of", 0},
      {header ("{'descr: <u2, }"), "with a closing quote", 0},
      {header ("{'more': 1, }"), "found \"'more': 1, }\"", 0},
      {header (std::string (500, '{')), "found \"{{{", 0},
      {header ("__import__('os')"), "expected \"{\"", 0},
      {header (""), "found its end, expected \"{\"", 0},
      {long_header, "4294967295 bytes long, expected at most 65535", 0},
      {std::string ("\x93NUMPY\x04\0\x10\0", 10), "version 4.0, expected 1.0", 0},
      {std::string ("\x93NUMPY\x01\x01\x10\0", 10), "version 1.1, expected 1.0", 0},
  };
}

static void
expect_refused (Parser &parser, const Refused &refused, gsize block)
{
  parser.push_in_blocks (refused.bytes, block);
  parser.end ();
  Errors errors = errors_of (parser.bus);
  fail_unless (errors.count == 1, "%d errors, expected one that says %s", errors.count,
      refused.says);
  fail_unless (errors.message.find (refused.says) != std::string::npos,
      "\"%s\", expected it to say \"%s\"", errors.message.c_str (), refused.says);
  assert_equals_int (parser.frames ().size (), refused.frames);
}

GST_START_TEST (test_npyparse_refuses_with_one_error_that_names_the_value)
{
  for (const Refused &refused : refused_streams ()) {
    for (gsize block : {gsize (4096), gsize (1)}) {
      Parser parser;

      expect_refused (parser, refused, block);
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_works_again_after_an_error_and_ready)
{
  for (const Refused &refused : refused_streams ()) {
    Parser parser;

    expect_refused (parser, refused, 4096);
    gst_element_set_state (parser.harness->element, GST_STATE_READY);
    gst_element_set_state (parser.harness->element, GST_STATE_PLAYING);
    gst_harness_push_event (parser.harness, gst_event_new_stream_start ("again"));
    parser.start_bytes (0);
    fail_unless_equals_int (parser.push (three_frames ()), GST_FLOW_OK);
    parser.end ();
    expect_frames (parser.frames (), split (bytes_of (counted (24)), 16));
    assert_equals_int (errors_of (parser.bus).count, 0);
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_refuses_early_what_cannot_be_in_the_file)
{
  Folder folder;
  std::string file = folder.write ("a.npy",
      header (dictionary ("<u2", "(2000000000, 1000)")) + std::string (5000, 'x'));
  Pipeline run ("filesrc blocksize=512 location=" + file + " ! npyparse name=npyparse");

  gst_element_set_state (run.pipeline, GST_STATE_PLAYING);
  Errors errors = errors_of (run.bus, 20 * GST_SECOND);
  assert_equals_int (errors.count, 1);
  fail_unless (
      errors.message.find ("ends at byte 5128 in frame 1 of a .npy file, expected "
                           "4000000000128 bytes")
          != std::string::npos,
      "%s", errors.message.c_str ());
}
GST_END_TEST;

GST_START_TEST (test_npyparse_survives_damaged_streams)
{
  std::mt19937 random (20240229);
  std::string good = three_frames () + u16_file ("(4, 2)", counted (8), 2);
  const char alphabet[] = "(){}[]',:0123456789 L<>|\\\"uf\n";

  for (int round = 0; round < 3000; round++) {
    Parser parser;
    std::string bad = good;

    for (guint i = random () % 4; i > 0; i--)
      bad[random () % bad.size ()] =
          random () % 2 ? char (random ()) : alphabet[random () % (sizeof alphabet - 1)];
    bad.resize (random () % 3 ? bad.size () : random () % bad.size ());
    parser.push_in_blocks (bad, 1 + random () % 200);
    parser.end ();
    int errors = errors_of (parser.bus).count;
    gsize frames = parser.frames ().size ();

    fail_unless (errors <= 1, "round %d: %d errors", round, errors);
    fail_unless (errors == 1 || frames > 0, "round %d: neither frame nor error", round);
  }
}
GST_END_TEST;

/* Arrays, where it is those that downstream takes */

namespace {

struct ArrayParser : Parser {
  explicit ArrayParser (const char *launch = "npyparse name=npyparse") : Parser (launch)
  {
    gst_harness_set_sink_caps_str (
        harness, "other/tensors, format=static, num_tensors=1");
  }
  void expect_tensors (const char *types, const char *dimensions)
  {
    expect_field ("format", "static");
    expect_field ("num_tensors", "1");
    expect_field ("types", types);
    expect_field ("dimensions", dimensions);
    expect_field ("framerate", "25/1");
  }
};

std::string
reversed_in (const std::string &bytes, gsize size)
{
  std::string result = bytes;

  for (gsize at = 0; at < bytes.size (); at += size)
    std::reverse (result.begin () + at, result.begin () + at + size);
  return result;
}

struct NumberType {
  const char *descr, *name;
  gsize size;       /* of a number */
  gsize in_element; /* numbers of an element */
};

const NumberType number_types[] = {{"|b1", "uint8", 1, 1}, {"|i1", "int8", 1, 1},
    {"|u1", "uint8", 1, 1}, {"<i2", "int16", 2, 1}, {"<u2", "uint16", 2, 1},
    {"<i4", "int32", 4, 1}, {"<u4", "uint32", 4, 1}, {"<i8", "int64", 8, 1},
    {"<u8", "uint64", 8, 1}, {"<f2", "float16", 2, 1}, {"<f4", "float32", 4, 1},
    {"<f8", "float64", 8, 1}, {"<c8", "float32", 4, 2}, {"<c16", "float64", 8, 2},
    {">i2", "int16", 2, 1}, {">u4", "uint32", 4, 1}, {">f8", "float64", 8, 1},
    {">c8", "float32", 4, 2}};

} // namespace

GST_START_TEST (test_npyparse_gives_arrays_of_every_number_bit_exactly)
{
  for (const NumberType &type : number_types) {
    ArrayParser parser;
    std::string values (24 * type.size * type.in_element, 0);
    for (gsize i = 0; i < values.size (); i++)
      values[i] = char (i * 37 + 11);
    fail_unless_equals_int (
        parser.push (header (dictionary (type.descr, "(2, 3, 4)")) + values),
        GST_FLOW_OK);
    expect_frames (parser.frames (),
        {type.descr[0] == '>' ? reversed_in (values, type.size) : values});
    parser.expect_tensors (type.name, type.in_element == 2 ? "2:4:3:2" : "4:3:2");
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_gives_arrays_of_every_shape)
{
  struct Row {
    const char *shape, *dimensions;
    gsize count;
  };
  for (const Row &row : {Row{"()", "1", 1}, {"(7,)", "7", 7}, {"(1, 7)", "7:1", 7},
           {"(1, 2, 3, 4)", "4:3:2:1", 24},
           {"(2, 1, 2, 1, 2, 1, 2)", "2:1:2:1:2:1:2", 16}}) {
    ArrayParser parser;
    const std::vector<guint16> values = counted (row.count);
    fail_unless_equals_int (parser.push (u16_file (row.shape, values)), GST_FLOW_OK);
    expect_frames (parser.frames (), {bytes_of (values)});
    parser.expect_tensors ("uint16", row.dimensions);
  }
}
GST_END_TEST;

GST_START_TEST (test_npyparse_splits_an_array_along_its_outermost_dimension)
{
  ArrayParser parser ("npyparse name=npyparse split=true");

  fail_unless_equals_int (
      parser.push (u16_file ("(3, 1, 2, 4)", counted (24))), GST_FLOW_OK);
  expect_frames (parser.frames (), split (bytes_of (counted (24)), 16));
  parser.expect_tensors ("uint16", "4:2:1");
}
GST_END_TEST;

/* Elements of NNStreamer's write four dimensions. */
GST_START_TEST (test_npyparse_spells_dimensions_as_downstream_does)
{
  Parser parser;

  gst_harness_set_sink_caps_str (parser.harness,
      "other/tensors, format=static, num_tensors=1, dimensions=(string)4:3:1:1");
  fail_unless_equals_int (parser.push (u16_file ("(3, 4)", counted (12))), GST_FLOW_OK);
  parser.expect_field ("dimensions", "4:3:1:1");
}
GST_END_TEST;

GST_START_TEST (test_npyparse_refuses_what_is_no_array)
{
  struct Row {
    std::string file;
    const char *launch, *expected;
  };
  const std::string sixteen = "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)";
  for (const Row &row : {Row{u16_file ("(0, 4)", {}), "npyparse", "(0, 4) is empty"},
           {u16_file (sixteen.c_str (), counted (1)), "npyparse", "too many dimensions"},
           {u16_file ("()", counted (1)), "npyparse split=true", "() cannot be split"},
           {header (dictionary ("<U4", "(1,)")) + "1234", "npyparse",
               "type '<U4', expected"},
           {header (dictionary ("<f16", "(1,)")) + "1234", "npyparse", "type '<f16'"},
           {header (dictionary ("<c4", "(1,)")) + "1234", "npyparse", "type '<c4'"}}) {
    ArrayParser parser (row.launch);
    fail_unless_equals_int (parser.push (row.file), GST_FLOW_ERROR);
    const Errors errors = errors_of (parser.bus);
    fail_unless_equals_int (errors.count, 1);
    fail_unless (errors.message.find (row.expected) != std::string::npos, "%s",
        errors.message.c_str ());
  }
}
GST_END_TEST;

static Suite *
npyparse_suite ()
{
  Suite *suite = suite_create ("npyparse");
  TCase *tests = tcase_create ("general");

  suite_add_tcase (suite, tests);
  tcase_add_test (tests, test_npyparse_passes_uint16_bit_exactly);
  tcase_add_test (tests, test_npyparse_passes_float32_bit_exactly);
  tcase_add_test (tests, test_npyparse_rounds_float64_to_float32);
  tcase_add_test (tests, test_npyparse_one_dimension_is_one_line);
  tcase_add_test (tests, test_npyparse_order_of_one_dimension_does_not_matter);
  tcase_add_test (tests, test_npyparse_third_dimension_is_frames);
  tcase_add_test (tests, test_npyparse_reads_every_format_version);
  tcase_add_test (tests, test_npyparse_reads_headers_in_any_layout);
  tcase_add_test (tests, test_npyparse_aligns_values_behind_an_odd_header);
  tcase_add_test (tests, test_npyparse_gives_the_same_for_any_block_size);
  tcase_add_test (tests, test_npyparse_counts_time_over_all_files);
  tcase_add_test (tests, test_npyparse_framerate_zero_gives_no_timestamps);
  tcase_add_test (tests, test_npyparse_framerate_of_the_caps_goes_before_the_property);
  tcase_add_test (tests, test_npyparse_keeps_timestamps_of_a_stream_in_time);
  tcase_add_test (tests, test_npyparse_sends_caps_only_when_they_change);
  tcase_add_test (tests, test_npyparse_fills_the_pool_that_downstream_offers);
  tcase_add_test (tests, test_npyparse_flush_starts_over);
  tcase_add_test (tests, test_npyparse_goes_on_at_the_next_whole_frame_after_a_jump);
  tcase_add_test (tests, test_npyparse_reads_a_file_in_blocks_of_any_size);
  tcase_add_test (tests, test_npyparse_reads_many_files);
  tcase_add_test (tests, test_npyparse_a_short_file_is_not_filled_up_with_the_next);
  tcase_add_test (tests, test_npy_files_are_recognised);
  tcase_add_test (tests, test_npyparse_seeks_to_the_frame);
  tcase_add_test (tests, test_npyparse_stops_where_a_seek_says);
  tcase_add_test (tests, test_npyparse_plays_backward);
  tcase_add_test (tests, test_npyparse_plays_files_behind_each_other_backward);
  tcase_add_test (tests, test_npyparse_follows_a_scrub);
  tcase_add_test (tests, test_npyparse_loops_over_a_segment);
  tcase_add_test (tests, test_npyparse_says_how_long_a_file_is);
  tcase_add_test (tests, test_npyparse_is_silent_when_downstream_ends_first);
  tcase_add_test (tests, test_npyparse_is_silent_when_the_application_ends_the_stream);
  tcase_add_test (tests, test_npyparse_is_refused_before_it_collects_a_frame);
  tcase_add_test (tests, test_npyparse_refuses_with_one_error_that_names_the_value);
  tcase_add_test (tests, test_npyparse_works_again_after_an_error_and_ready);
  tcase_add_test (tests, test_npyparse_refuses_early_what_cannot_be_in_the_file);
  tcase_add_test (tests, test_npyparse_survives_damaged_streams);
  tcase_add_test (tests, test_npyparse_gives_arrays_of_every_number_bit_exactly);
  tcase_add_test (tests, test_npyparse_gives_arrays_of_every_shape);
  tcase_add_test (tests, test_npyparse_splits_an_array_along_its_outermost_dimension);
  tcase_add_test (tests, test_npyparse_spells_dimensions_as_downstream_does);
  tcase_add_test (tests, test_npyparse_refuses_what_is_no_array);
  return suite;
}

GST_CHECK_MAIN (npyparse)
