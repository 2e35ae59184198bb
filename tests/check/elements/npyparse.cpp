/* Tests of npyparse
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "byteharness.hpp"

#include <numeric>

using namespace check;

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

/* Harness of the element, and its output */

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

/* A source also posts an error when an element after it fails. */
void
expect_no_error (const Outcome &messages)
{
  for (const std::string &error : messages.errors)
    fail_if (g_str_has_prefix (error.c_str (), "npyparse"), "%s", error.c_str ());
}

struct Parser : ByteHarness {
  explicit Parser (const char *launch = "npyparse name=npyparse")
      : ByteHarness (launch, "application/x-npy")
  {
  }

  void start_bytes (guint64 offset) { start_segment (GST_FORMAT_BYTES, offset); }
  std::vector<Frame> frames ()
  {
    std::vector<Frame> frames;

    while (Owned<GstBuffer> buffer = gst_harness_try_pull (harness))
      frames.push_back (frame_of (buffer));
    return frames;
  }
  void expect_caps (const std::string &fields, const char *media = "application/x-oct")
  {
    Owned<GstCaps> expected = caps_of (std::string (media) + ", " + fields);
    Owned<gchar> got = gst_caps_to_string (caps ());
    fail_unless (gst_caps_is_subset (caps (), expected), "%s, expected %s",
        static_cast<gchar *> (got), fields.c_str ());
  }
};

/* Downstream accepts spectra but no arrays. */
struct SpectraParser : Parser {
  explicit SpectraParser (const char *launch = "npyparse name=npyparse") : Parser (launch)
  {
    gst_harness_set_sink_caps_str (harness, "application/x-oct");
  }
};

void
expect_frames (const std::vector<Frame> &frames, const std::vector<std::string> &bytes)
{
  expect_equal (frames.size (), bytes.size ());
  for (gsize i = 0; i < frames.size (); i++)
    fail_unless (frames[i].bytes == bytes[i], "frame %zu differs", i);
}

struct Player : Pipeline {
  explicit Player (const std::string &line)
      : Pipeline (line + " ! appsink name=out sync=false max-buffers=2")
  {
  }

  /* Returns `most` frames, or all until EOS. */
  std::vector<Frame> frames (gsize most = G_MAXSIZE)
  {
    std::vector<Frame> frames;

    while (frames.size () < most) {
      Owned<GstSample> sample = pull ();
      if (!sample)
        break;
      frames.push_back (frame_of (gst_sample_get_buffer (sample)));
    }
    return frames;
  }
  std::vector<Frame> play_frames ()
  {
    start ();
    return frames ();
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

/* Values, shapes and versions */

struct Read {
  const char *label;
  std::string file;
  std::vector<std::string> frames;
  const char *caps;
};

static std::vector<Read>
files_that_are_read ()
{
  const std::vector<float> floats = {0.0f, -0.0f, 1e-45f, -3.25f, INFINITY, NAN};
  const std::vector<double> doubles = {0.1, -1e300, 1.0 / 3, 65535.0, 1e-320, 16777217.0};
  const std::vector<float> rounded (doubles.begin (), doubles.end ());
  std::vector<guint16> all (65536);
  std::iota (all.begin (), all.end (), 0);
  const std::string six = bytes_of (counted (6));
  const char *const six_values = "format=U16LE, samples=3, lines=2";

  return {
      {"uint16 bit by bit", u16_file ("(32, 2048)", all), {bytes_of (all)},
          "domain=wavelength, format=U16LE, samples=2048, lines=32"},
      {"float32 bit by bit", header (dictionary ("<f4", "(2, 3)")) + bytes_of (floats),
          {bytes_of (floats)}, "domain=wavelength, format=F32LE, samples=3, lines=2"},
      {"float64, rounded", header (dictionary ("<f8", "(3, 1, 2)")) + bytes_of (doubles),
          split (bytes_of (rounded), 8), "format=F32LE, samples=2, lines=1"},
      {"one dimension is one line", u16_file ("(6,)", counted (6)), {six},
          "format=U16LE, samples=6, lines=1"},
      {"of one dimension in any order", header (dictionary ("<u2", "(6,)", "True")) + six,
          {six}, "format=U16LE, samples=6, lines=1"},
      {"the third dimension is frames", three_frames (),
          split (bytes_of (counted (24)), 16), "format=U16LE, samples=4, lines=2"},
      {"version 1", u16_file ("(2, 3)", counted (6), 1), {six}, six_values},
      {"version 2", u16_file ("(2, 3)", counted (6), 2), {six}, six_values},
      {"version 3", u16_file ("(2, 3)", counted (6), 3), {six}, six_values},
      {"a header without spaces",
          header ("{\"shape\":(2L,3L),\"descr\":\"<u2\",\"fortran_order\":False}") + six,
          {six}, six_values},
      {"a header full of spaces",
          header ("  {  'fortran_order' : False , 'descr' : '<u2' , "
                  "'shape' : ( 2 , 3 , ) , }  ")
              + six,
          {six}, six_values},
      {"a header of several lines",
          header ("{\n'descr': '<u2',\n'fortran_order': False,\n'shape': (2, 3)\n}")
              + six,
          {six}, six_values},
  };
}

TEST_ROWS (test_npyparse_reads, files_that_are_read ())
{
  SpectraParser parser;

  expect_equal (parser.push (row.file), GST_FLOW_OK);
  expect_frames (parser.frames (), row.frames);
  parser.expect_caps (row.caps);
}

/* Numbers of either byte order are converted to that of the host. */
TEST (test_npyparse_takes_integers_and_floats_of_either_order_of_bytes)
{
  const struct {
    const char *kind, *format;
    guint size;
  } types[] = {{"u1", "U8", 1}, {"i1", "S8", 1}, {"u2", "U16LE", 2}, {"i2", "S16LE", 2},
      {"u4", "U32LE", 4}, {"i4", "S32LE", 4}, {"f4", "F32LE", 4}, {"f8", "F32LE", 8}};
  const double doubles[] = {1.5, -2.25, 3e10, -4, 0, 6};
  for (const auto &type : types) {
    for (const char *order : {"<", ">"}) {
      std::string values, expected;
      for (guint n = 0; n < 6; n++) {
        guint64 bits = 0x0123456789abcdefull * (n + 1);
        if (type.size == 8)
          memcpy (&bits, &doubles[n], sizeof bits);
        for (guint byte = 0; byte < type.size; byte++) {
          const guint place = *order == '<' ? byte : type.size - 1 - byte;
          values += char (bits >> 8 * place);
        }
        const float rounded = float (doubles[n]);
        guint32 word = guint32 (bits);
        if (type.size == 8)
          memcpy (&word, &rounded, sizeof word);
        for (guint byte = 0; byte < std::min (type.size, 4u); byte++)
          expected += char (word >> 8 * byte);
      }
      SpectraParser parser;
      parser.push (
          header (dictionary ((order + std::string (type.kind)).c_str (), "(2, 3)"))
          + values);
      parser.expect_caps (
          (std::string ("format=") + type.format + ", samples=3, lines=2").c_str ());
      expect_frames (parser.frames (), {expected});
    }
  }
}

TEST (test_npyparse_aligns_values_behind_an_odd_header)
{
  Parser parser;
  std::string text = dictionary ("<f4", "(2, 3)");
  std::vector<float> values = {1, 2, 3, 4, 5, 6};

  if ((text.size () + 10) % 2 == 0)
    text += ' ';
  std::string file = std::string ("\x93NUMPY\x01\0", 8) + char (text.size ()) + '\0'
                     + text + bytes_of (values);
  expect_equal (parser.push (file), GST_FLOW_OK);
  /* frame_of() asserts the alignment. */
  expect_frames (parser.frames (), {bytes_of (values)});
}

/* The stream */

TEST (test_npyparse_gives_the_same_for_any_block_size)
{
  std::string file = three_frames ();
  std::string stream = file + u16_file ("(2, 4)", counted (8, 999)) + file;
  std::vector<Frame> whole;

  for (gsize size : {stream.size (), gsize (1), gsize (7), gsize (64), gsize (129)}) {
    Parser parser;

    expect_equal (parser.push_in_blocks (stream, size), GST_FLOW_OK);
    parser.end ();
    std::vector<Frame> frames = parser.frames ();
    expect_equal (frames.size (), 7);
    expect_no_error (parser.messages ());
    if (whole.empty ())
      whole = frames;
    fail_unless (frames == whole, "blocks of %zu bytes give something else", size);
  }
}

TEST (test_npyparse_counts_time_over_all_files)
{
  Parser parser ("npyparse name=npyparse framerate=30000/1001");

  for (int i = 0; i < 3; i++)
    expect_equal (parser.push (three_frames ()), GST_FLOW_OK);
  std::vector<Frame> frames = parser.frames ();
  expect_equal (frames.size (), 9);
  for (guint64 i = 0; i < frames.size (); i++) {
    guint64 time = i * 1001 * GST_SECOND / 30000;

    expect_equal (frames[i].time, time);
    expect_equal (frames[i].duration, (i + 1) * 1001 * GST_SECOND / 30000 - time);
  }
  parser.expect_caps ("framerate=30000/1001");
}

TEST (test_npyparse_framerate_zero_gives_no_timestamps)
{
  Parser parser ("npyparse name=npyparse framerate=0/1");

  expect_equal (parser.push (three_frames ()), GST_FLOW_OK);
  for (const Frame &frame : parser.frames ()) {
    expect_equal (frame.time, GST_CLOCK_TIME_NONE);
    expect_equal (frame.duration, GST_CLOCK_TIME_NONE);
  }
  parser.expect_caps ("framerate=0/1");
}

TEST (test_npyparse_framerate_of_the_caps_goes_before_the_property)
{
  Parser parser;

  parser.set_caps ("application/x-npy, framerate=10/1");
  expect_equal (parser.push (three_frames ()), GST_FLOW_OK);
  expect_equal (parser.frames ()[2].time, 2 * GST_SECOND / 10);
  parser.expect_caps ("framerate=10/1");
}

TEST (test_npyparse_keeps_timestamps_of_a_stream_in_time)
{
  Parser parser;

  for (GstClockTime time : {5 * GST_SECOND, 9 * GST_SECOND}) {
    std::string file = three_frames ();
    GstBuffer *buffer = gst_buffer_new_memdup (file.data (), file.size ());

    GST_BUFFER_PTS (buffer) = time;
    expect_equal (gst_harness_push (parser, buffer), GST_FLOW_OK);
  }
  std::vector<Frame> frames = parser.frames ();
  expect_equal (frames[0].time, 5 * GST_SECOND);
  expect_equal (frames[2].time, 5 * GST_SECOND + 2 * frame_time);
  expect_equal (frames[3].time, 9 * GST_SECOND);
}

static gint
caps_events (GstHarness *harness)
{
  gint count = 0;

  while (Owned<GstEvent> event = gst_harness_try_pull_event (harness))
    count += GST_EVENT_TYPE (event) == GST_EVENT_CAPS;
  return count;
}

TEST (test_npyparse_sends_caps_only_when_they_change)
{
  Parser parser;
  std::string frame = u16_file ("(2, 4)", counted (8));

  parser.push (frame + three_frames () + frame);
  expect_equal (caps_events (parser), 1);
  parser.push (u16_file ("(4, 2)", counted (8)));
  expect_equal (caps_events (parser), 1);
  parser.expect_caps ("format=U16LE, samples=2, lines=4");
  expect_equal (parser.frames ().size (), 6);
}

struct Filled {
  const char *label;
  std::string file;
  std::vector<std::string> frames;
};

static std::vector<Filled>
files_for_a_pool ()
{
  std::vector<double> values = {1.5, -2.5, 0.25, 1e9};
  std::vector<float> rounded (values.begin (), values.end ());
  return {{"uint16", three_frames (), split (bytes_of (counted (24)), 16)},
      {"float64", header (dictionary ("<f8", "(2, 2)")) + bytes_of (values),
          {bytes_of (rounded)}}};
}

TEST_ROWS (test_npyparse_fills_the_pool_that_downstream_offers, files_for_a_pool ())
{
  Owned<GstBufferPool> pool = gst_buffer_pool_new ();
  SpectraParser parser;

  offer_pool (parser, pool, 100);
  expect_equal (parser.push_in_blocks (row.file, 13), GST_FLOW_OK);
  for (const std::string &bytes : row.frames) {
    Owned<GstBuffer> buffer = parser.pull ();
    fail_unless (buffer->pool == pool);
    fail_unless (frame_of (buffer).bytes == bytes);
  }
  gst_element_set_state (parser.element (), GST_STATE_NULL);
  fail_if (gst_buffer_pool_is_active (pool));
}

TEST (test_npyparse_flush_starts_over)
{
  Parser parser;

  parser.start_bytes (0);
  parser.push (three_frames ().substr (0, 128 + 20));
  expect_equal (parser.frames ().size (), 1);
  parser.flush ();
  parser.start_bytes (0);
  expect_equal (parser.push (three_frames ()), GST_FLOW_OK);
  std::vector<Frame> frames = parser.frames ();
  expect_frames (frames, split (bytes_of (counted (24)), 16));
  expect_equal (frames[0].time, 0);
  expect_no_error (parser.messages ());
}

/* Pipelines */

TEST (test_npyparse_reads_many_files)
{
  Folder folder;
  std::vector<std::string> expected;

  for (int i = 0; i < 5; i++) {
    std::vector<guint16> values = counted (8, guint16 (1000 * i));
    std::string name = std::to_string (i) + ".npy";

    folder.write (name, u16_file ("(2, 4)", values, 1 + i % 3));
    expected.push_back (bytes_of (values));
  }
  for (const char *caps : {"", " caps=application/x-npy",
           " caps=application/x-npy,framerate=25/1", " ! typefind"}) {
    Player run (
        "multifilesrc location=" + folder.path + "/%d.npy" + caps + " ! npyparse");

    std::vector<Frame> frames = run.play_frames ();
    expect_frames (frames, expected);
    for (gsize i = 0; i < frames.size (); i++)
      expect_equal (frames[i].time, i * frame_time);
    expect_no_error (run.messages ());
  }
}

TEST (test_npyparse_a_short_file_is_not_filled_up_with_the_next)
{
  Folder folder;
  std::string file = u16_file ("(2, 4)", counted (8));

  folder.write ("0.npy", file);
  folder.write ("1.npy", file.substr (0, file.size () - 2));
  folder.write ("2.npy", file);
  Player run ("multifilesrc location=" + folder.path
              + "/%d.npy caps=application/x-npy ! npyparse name=npyparse");
  expect_frames (run.play_frames (), {bytes_of (counted (8))});
  Outcome messages = run.messages ();
  messages.errors = messages.errors_of ("npyparse");
  messages.expect_one_error ({"only 14 bytes available, expected 16"});
}

TEST (test_npy_files_are_recognised)
{
  Folder folder;
  /* The file name has no meaning. */
  std::string file = folder.write ("a.bin", three_frames ());
  Player run ("filesrc location=" + file + " ! decodebin caps=application/x-oct");

  expect_frames (run.play_frames (), split (bytes_of (counted (24)), 16));
}

struct TenFrames : Folder {
  const std::string ten = u16_file ("(10, 2, 4)", counted (80));
  const std::vector<std::string> all = split (bytes_of (counted (80)), 16);
  const std::string file = write ("a.npy", ten);
};

static gint64
duration_of (Player &run, GstFormat format)
{
  gint64 duration;

  run.set_state (GST_STATE_PAUSED);
  fail_unless (gst_element_query_duration (run, format, &duration));
  return duration;
}

/* Seeks to frames `first` to `end`, or to the end of the file if `end` is -1. */
static void
seek (
    Player &run, gdouble rate, gint64 first, gint64 end, int flags = GST_SEEK_FLAG_FLUSH)
{
  fail_unless (gst_element_seek (run, rate, GST_FORMAT_TIME, GstSeekFlags (flags),
      GST_SEEK_TYPE_SET, first * frame_time, GST_SEEK_TYPE_SET,
      end < 0 ? -1 : end * gint64 (frame_time)));
}

static std::vector<Frame>
frames_of_segment (Player &run, gdouble rate, gint64 first, gint64 end)
{
  run.set_state (GST_STATE_PAUSED);
  seek (run, rate, first, end);
  run.set_state (GST_STATE_PLAYING);
  return run.frames ();
}

TEST (test_npyparse_seeks_to_the_frame)
{
  TenFrames on_disk;
  Player run ("filesrc blocksize=50 location="
              + on_disk.write ("b.npy", on_disk.ten + on_disk.ten) + " ! npyparse");

  run.set_state (GST_STATE_PAUSED);
  run.set_state (GST_STATE_PLAYING);
  for (gint64 target : {7, 0, 19, 10, 13}) {
    fail_unless (gst_element_seek_simple (run, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
        target * frame_time + (target == 7 ? 1000 : 0)));
    std::vector<Frame> frames = run.frames ();

    expect_equal (frames.size (), 20 - target);
    for (gsize i = 0; i < frames.size (); i++) {
      expect_equal (frames[i].time, (target + i) * frame_time);
      fail_unless (frames[i].bytes == on_disk.all[(target + i) % 10]);
    }
  }
  expect_no_error (run.messages ());
}

/* One pipeline reads parts of the file on demand, the other pushes them. */
static const char *read_modes[] = {" ! npyparse", " ! queue ! npyparse"};

static void
expect_backward (const std::vector<Frame> &frames, const std::vector<std::string> &all,
    gsize lowest, gsize end)
{
  expect_equal (frames.size (), end - lowest);
  for (gsize i = 0; i < frames.size (); i++) {
    expect_equal (frames[i].time, (end - 1 - i) * frame_time);
    expect_equal (frames[i].duration, frame_time);
    fail_unless (frames[i].bytes == all[end - 1 - i]);
  }
}

TEST (test_npyparse_plays_backward)
{
  TenFrames on_disk;
  const struct {
    gdouble rate;
    gint64 first, asked_end;
    gsize end;
  } segments[] = {
      {-1, 0, -1, 10}, {-1, 0, 10, 10}, {-2.5, 2, 5, 5}, {-1, 9, 10, 10}, {-1, 0, 1, 1}};

  for (const char *blocksize : {"1", "7", "50", "4096"}) {
    Player run (std::string ("filesrc blocksize=") + blocksize
                + " location=" + on_disk.file + " ! npyparse");

    for (auto &[rate, first, asked_end, end] : segments)
      expect_backward (
          frames_of_segment (run, rate, first, asked_end), on_disk.all, first, end);
    expect_equal (frames_of_segment (run, 1.0, 8, -1).size (), 2);
    expect_no_error (run.messages ());
  }
}

/* Only the first of several files has known frames. */
TEST_ROWS (test_npyparse_refuses_reverse_playback, {" ! queue ! npyparse", " ! npyparse"})
{
  TenFrames on_disk;
  const bool has_queue = strstr (row, "queue");
  const std::string two = on_disk.write ("b.npy", on_disk.ten + on_disk.ten);
  Player run ("filesrc location=" + (has_queue ? on_disk.file : two) + row);
  run.set_state (GST_STATE_PAUSED);
  fail_if (gst_element_seek (run, -1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
      GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_SET, 5 * frame_time));
  run.set_state (GST_STATE_PLAYING);
  expect_equal (run.frames ().size (), has_queue ? 10 : 20);
  expect_no_error (run.messages ());
}

TEST_ROWS (test_npyparse_follows_a_scrub, read_modes)
{
  TenFrames on_disk;
  std::mt19937 random (7);
  Player run ("filesrc blocksize=50 location=" + on_disk.file + row);

  run.set_state (GST_STATE_PAUSED);
  for (int i = 0; i < 60; i++) {
    gint64 frame = random () % 10;
    bool backward = !strstr (row, "queue") && random () % 2;

    seek (run, backward ? -1 : 1, backward ? 0 : frame, backward ? frame + 1 : -1,
        GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE);
    /* Every other seek is followed by the next at once, as when a user scrubs. */
    if (i % 2)
      continue;
    Owned<GstSample> sample =
        gst_app_sink_try_pull_preroll (GST_APP_SINK (run["out"]), timeout);
    fail_unless (sample);
    Frame shown = frame_of (gst_sample_get_buffer (sample));
    fail_unless (shown.bytes == on_disk.all[frame], "seek %d to %d", i, int (frame));
    expect_equal (shown.time, frame * frame_time);
  }
  expect_no_error (run.messages ());
}

/* As an application plays a loop: the first seek flushes, later ones do not. */
TEST (test_npyparse_loops_over_a_segment)
{
  TenFrames on_disk;
  Player run ("filesrc location=" + on_disk.file + " ! npyparse");
  int flags = GST_SEEK_FLAG_SEGMENT | GST_SEEK_FLAG_FLUSH;

  run.set_state (GST_STATE_PAUSED);
  for (gdouble rate : {1.0, 1.0, -1.0, -1.0, 1.0}) {
    seek (run, rate, 2, 5, flags);
    run.set_state (GST_STATE_PLAYING);
    std::vector<Frame> frames = run.frames (3);
    if (rate < 0)
      expect_backward (frames, on_disk.all, 2, 5);
    else
      expect_frames (frames, {on_disk.all[2], on_disk.all[3], on_disk.all[4]});
    Owned<GstMessage> message = gst_bus_timed_pop_filtered (run.bus, timeout,
        GstMessageType (GST_MESSAGE_SEGMENT_DONE | GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    expect_equal (GST_MESSAGE_TYPE (message), GST_MESSAGE_SEGMENT_DONE);
    flags = GST_SEEK_FLAG_SEGMENT;
  }
  expect_no_error (run.messages ());
}

TEST_ROWS (test_npyparse_says_how_long_a_file_is, read_modes)
{
  TenFrames on_disk;
  Player run ("filesrc location=" + on_disk.file + row + " framerate=30/1");

  expect_equal (duration_of (run, GST_FORMAT_TIME), 10 * GST_SECOND / 30);
  expect_equal (duration_of (run, GST_FORMAT_DEFAULT), 10);
}

/* While a frame is pushed, the position is its end: the number of frames so far. */
TEST_ROWS (test_npyparse_position_counts_frames, read_modes)
{
  TenFrames on_disk;
  Player run (
      "filesrc location=" + on_disk.file + row + " framerate=30/1 ! identity name=seen");
  const Owned<GstPad> pad = run.pad ("seen", "sink");
  guint frames = 0;
  watch (pad, GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *info) {
    const GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
    gint64 passed = -1, time = -1;
    frames++;
    fail_unless (gst_pad_peer_query_position (pad, GST_FORMAT_DEFAULT, &passed));
    fail_unless (gst_pad_peer_query_position (pad, GST_FORMAT_TIME, &time));
    expect_equal (passed, gint64 (frames), "frames");
    expect_equal (time, gint64 (GST_BUFFER_PTS (buffer) + GST_BUFFER_DURATION (buffer)));
    return GST_PAD_PROBE_OK;
  });
  expect_equal (run.play_frames ().size (), 10);
  expect_equal (frames, 10u);
}

/* Queries come from another thread, as from a player's window; --tsan checks them. */
TEST (test_npyparse_answers_while_streams_begin)
{
  const std::string file = u16_file ("(3, 4)", counted (12));
  Parser parser ("npyparse name=npyparse framerate=30/1");
  std::atomic<bool> ends{false};
  std::thread asking ([&] {
    gint64 length, passed;
    while (!ends) {
      if (gst_pad_peer_query_duration (parser->sinkpad, GST_FORMAT_DEFAULT, &length))
        expect_equal (length, 1);
      if (gst_pad_peer_query_position (parser->sinkpad, GST_FORMAT_DEFAULT, &passed))
        fail_unless (passed <= 1);
    }
  });

  for (guint round = 0; round < 100; round++) {
    expect_equal (parser.push (file), GST_FLOW_OK);
    parser.flush ();
    parser.start_bytes (0);
  }
  ends = true;
  asking.join ();
}

/* Downstream that accepts no more data */

TEST_ROWS (test_npyparse_is_silent_when_downstream_ends_first, read_modes)
{
  TenFrames on_disk;

  for (const char *blocksize : {"50", "4096"}) {
    Player run (std::string ("filesrc blocksize=") + blocksize + " location="
                + on_disk.file + row + " name=npyparse ! identity eos-after=3");

    expect_equal (run.play_frames ().size (), 2);
    expect_no_error (run.messages ());
  }
}

TEST_ROWS (test_npyparse_is_silent_when_the_application_ends_the_stream, read_modes)
{
  Folder folder;
  std::string file = folder.write ("a.npy", u16_file ("(5000, 2, 4)", counted (40000)));
  Player run ("filesrc blocksize=50 location=" + file + row
              + " name=npyparse ! identity name=slow sleep-time=1000");
  gint64 passed;

  g_object_set (run["out"], "drop", TRUE, nullptr);
  run.start ();
  fail_unless (run.pull ());
  fail_unless (gst_element_send_event (run, gst_event_new_eos ()));
  run.frames ();
  fail_unless (
      gst_pad_query_position (run.pad ("slow", "src"), GST_FORMAT_DEFAULT, &passed));
  fail_unless (passed < 5000);
  expect_no_error (run.messages ());
}

TEST (test_npyparse_is_refused_before_it_collects_a_frame)
{
  Parser parser (
      "npyparse name=npyparse ! capsfilter caps=application/x-oct,samples=(int)5");
  std::string file = u16_file ("(2, 4)", counted (8));

  expect_equal (parser.push (file.substr (0, 128)), GST_FLOW_NOT_NEGOTIATED);
  parser.end ();
  expect_no_error (parser.messages ());
}

/* Refused seeks */

struct Refused {
  std::string bytes;
  const char *label; /* what the error says */
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
      {"", "only 0 bytes available, expected 8", 0},
      {frame.substr (0, 3), "only 3 bytes available, expected 8", 0},
      {frame.substr (0, 50), "only 50 bytes available, expected 128", 0},
      {frame.substr (0, 128), "only 0 bytes available, expected 16", 0},
      {three_frames ().substr (0, 128 + 40),
          "in frame 3: only 8 bytes available, expected 16", 2},
      {frame + frame.substr (0, 139), "only 11 bytes available, expected 16", 1},
      {frame + "trailing bytes",
          "at byte 144: not a .npy file: it begins with \"traili\"", 1},
      {"1.5\n2.5\n3.5\n", "it begins with \"1.5\\n2.\"", 0},
      {array ("|O", "(2, 4)"), "'|O' (Python objects), expected '<u2'", 0},
      {array ("<i8", "(2, 4)"), "'<i8', expected u1, i1, u2, i2, u4, i4, f4 or f8", 0},
      {header ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
          "'descr' is the record [('a', '<f4')]", 0},
      {array ("<u2", "(2, 4)", "True"),
          "(2, 4) has 'fortran_order': True, expected False: save "
          "numpy.ascontiguousarray",
          0},
      {array ("<u2", "(3, 2, 4)", "True"), "(3, 2, 4) has 'fortran_order': True", 0},
      {array ("<u2", "(1, 3, 2, 4)"), "shape (1, 3, 2, 4) has the wrong number", 0},
      {array ("<u2", "()"), "shape () has the wrong number of dimensions", 0},
      {array ("<u2", "(2, 0)"), "shape (2, 0) is empty", 0},
      {array ("<u2", "(0, 2, 4)"), "shape (0, 2, 4) is empty", 0},
      {array ("<u2", "(2, 3000000000)"), "shape (2, 3000000000) has more than", 0},
      {array ("<u2", "(3000000000, 2)"), "shape (3000000000, 2) has more than", 0},
      {array ("<f8", "(99999999, 999999999, 999999999)"), "does not fit into memory", 0},
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
  parser.messages ().expect_one_error ({refused.label});
  expect_equal (parser.frames ().size (), refused.frames);
}

TEST_ROWS (test_npyparse_refuses_with_one_error_that_names_the_value, refused_streams ())
{
  for (gsize block : {4096, 1}) {
    SpectraParser parser;
    expect_refused (parser, row, block);
  }
}

TEST_ROWS (test_npyparse_works_again_after_an_error_and_ready, refused_streams ())
{
  SpectraParser parser;

  expect_refused (parser, row, 4096);
  gst_element_set_state (parser.element (), GST_STATE_READY);
  gst_element_set_state (parser.element (), GST_STATE_PLAYING);
  parser.send (gst_event_new_stream_start ("again"));
  parser.start_bytes (0);
  expect_equal (parser.push (three_frames ()), GST_FLOW_OK);
  parser.end ();
  expect_frames (parser.frames (), split (bytes_of (counted (24)), 16));
  expect_no_error (parser.messages ());
}

TEST (test_npyparse_refuses_early_what_cannot_be_in_the_file)
{
  Folder folder;
  std::string file = folder.write ("a.npy",
      header (dictionary ("<u2", "(2000000000, 1000)")) + std::string (5000, 'x'));
  Outcome messages = run (
      "filesrc blocksize=512 location=" + file + " ! npyparse name=npyparse ! fakesink");

  messages.errors = messages.errors_of ("npyparse");
  messages.expect_one_error ({"ends at byte 5128 in frame 1: only 5000 bytes "
                              "available, expected 4000000000000"});
}

/* The place in the debug text is that of the element, not that of a helper. */
TEST (test_npyparse_errors_name_their_place)
{
  Folder folder;
  const std::string path = folder.write ("text.npy", std::string (4096, 'x'));
  Outcome messages = run ("filesrc location=" + path + " ! npyparse ! fakesink");
  messages.expect_one_error ();
  const std::string &place = messages.details[0];
  fail_unless (place.find ("npyparse.cpp(") != std::string::npos
                   && place.find ("npy_parse_fail") == std::string::npos,
      "%s", place.c_str ());
}

TEST (test_npyparse_survives_damaged_streams)
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
    int errors = parser.messages ().errors.size ();
    gsize frames = parser.frames ().size ();

    fail_unless (errors <= 1, "round %d: %d errors", round, errors);
    fail_unless (errors == 1 || frames > 0, "round %d: neither frame nor error", round);
  }
}

/* Arrays, if downstream accepts only these */

namespace {

struct ArrayParser : Parser {
  explicit ArrayParser (const char *launch = "npyparse name=npyparse") : Parser (launch)
  {
    gst_harness_set_sink_caps_str (
        harness, "other/tensors, format=static, num_tensors=1");
  }
  void expect_tensors (const char *types, const char *dimensions)
  {
    expect_caps (text ("format=static, num_tensors=1, types=%s, "
                       "dimensions=(string)%s, framerate=25/1",
                     types, dimensions),
        "other/tensors");
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
  const char *label, *name; /* in the file and in caps */
  gsize size;               /* bytes of a number */
  gsize in_element;         /* numbers per element */
};

const NumberType number_types[] = {{"|b1", "uint8", 1, 1}, {"|i1", "int8", 1, 1},
    {"|u1", "uint8", 1, 1}, {"<i2", "int16", 2, 1}, {"<u2", "uint16", 2, 1},
    {"<i4", "int32", 4, 1}, {"<u4", "uint32", 4, 1}, {"<i8", "int64", 8, 1},
    {"<u8", "uint64", 8, 1}, {"<f2", "float16", 2, 1}, {"<f4", "float32", 4, 1},
    {"<f8", "float64", 8, 1}, {"<c8", "float32", 4, 2}, {"<c16", "float64", 8, 2},
    {">i2", "int16", 2, 1}, {">u4", "uint32", 4, 1}, {">f8", "float64", 8, 1},
    {">c8", "float32", 4, 2}};

} // namespace

TEST_ROWS (test_npyparse_gives_arrays_of_every_number_bit_exactly, number_types)
{
  ArrayParser parser;
  std::string values (24 * row.size * row.in_element, 0);
  for (gsize i = 0; i < values.size (); i++)
    values[i] = char (i * 37 + 11);
  expect_equal (
      parser.push (header (dictionary (row.label, "(2, 3, 4)")) + values), GST_FLOW_OK);
  expect_frames (
      parser.frames (), {row.label[0] == '>' ? reversed_in (values, row.size) : values});
  parser.expect_tensors (row.name, row.in_element == 2 ? "2:4:3:2" : "4:3:2");
}

static const struct {
  const char *label, *dimensions; /* the shape in the file, and that in caps */
  gsize count;
} shapes[] = {{"()", "1", 1}, {"(7,)", "7", 7}, {"(1, 7)", "7:1", 7},
    {"(1, 2, 3, 4)", "4:3:2:1", 24}, {"(2, 1, 2, 1, 2, 1, 2)", "2:1:2:1:2:1:2", 16}};

TEST_ROWS (test_npyparse_gives_arrays_of_every_shape, shapes)
{
  ArrayParser parser;
  const std::vector<guint16> values = counted (row.count);
  expect_equal (parser.push (u16_file (row.label, values)), GST_FLOW_OK);
  expect_frames (parser.frames (), {bytes_of (values)});
  parser.expect_tensors ("uint16", row.dimensions);
}

TEST (test_npyparse_splits_an_array_along_its_outermost_dimension)
{
  ArrayParser parser ("npyparse name=npyparse split=true");

  expect_equal (parser.push (u16_file ("(3, 1, 2, 4)", counted (24))), GST_FLOW_OK);
  expect_frames (parser.frames (), split (bytes_of (counted (24)), 16));
  parser.expect_tensors ("uint16", "4:2:1");
}

/* NNStreamer's elements write four dimensions. */
TEST (test_npyparse_spells_dimensions_as_downstream_does)
{
  Parser parser;

  gst_harness_set_sink_caps_str (
      parser, "other/tensors, format=static, num_tensors=1, dimensions=(string)4:3:1:1");
  expect_equal (parser.push (u16_file ("(3, 4)", counted (12))), GST_FLOW_OK);
  parser.expect_caps ("dimensions=(string)4:3:1:1", "other/tensors");
}

struct NoArray {
  std::string file;
  const char *launch, *label; /* part of the error */
};

static std::vector<NoArray>
files_of_no_array ()
{
  const char *const seventeen = "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)";
  const char *const sixteen = "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)";
  return {{u16_file ("(0, 4)", {}), "npyparse", "(0, 4) is empty"},
      {u16_file (seventeen, counted (1)), "npyparse", "too many dimensions"},
      {header (dictionary ("<c8", sixteen)) + "12345678", "npyparse",
          "too many dimensions"},
      {u16_file ("()", counted (1)), "npyparse split=true", "() cannot be split"},
      {header (dictionary ("<U4", "(1,)")) + "1234", "npyparse", "type '<U4', expected"},
      {header (dictionary ("<f16", "(1,)")) + "1234", "npyparse", "type '<f16'"},
      {header (dictionary ("<c4", "(1,)")) + "1234", "npyparse", "type '<c4'"}};
}

TEST_ROWS (test_npyparse_refuses_what_is_no_array, files_of_no_array ())
{
  ArrayParser parser (row.launch);
  expect_equal (parser.push (row.file), GST_FLOW_ERROR);
  parser.messages ().expect_one_error ({row.label});
}

/* Downstream that accepts both spectra and arrays */

namespace {
/* Returns true if the element posted an INFO message. */
bool
posted_info (const Parser &parser)
{
  bool posted = false;
  while (Owned<GstMessage> message = gst_bus_pop_filtered (parser.bus, GST_MESSAGE_INFO))
    posted = true;
  return posted;
}

const struct {
  const char *label, *caps; /* (nullable): of downstream */
} takers_of_both[] = {{"anything", nullptr},
    {"both", "application/x-oct; other/tensors, format=static, num_tensors=1"},
    {"both, arrays first", "other/tensors; application/x-oct, domain=wavelength"}};

const std::vector<double> fine_doubles = {1 + 1e-12, 1.0 / 3, -1e300, 16777217, 0.1, 2};
} // namespace

/* float32 keeps 24 of the 53 bits of these doubles. */
TEST_ROWS (test_npyparse_keeps_float64_where_arrays_are_taken, takers_of_both)
{
  for (const char *descr : {"<f8", ">f8"}) {
    Parser parser;
    if (row.caps)
      gst_harness_set_sink_caps_str (parser, row.caps);
    const std::string values = bytes_of (fine_doubles);
    expect_equal (parser.push (header (dictionary (descr, "(3, 2)"))
                               + (*descr == '>' ? reversed_in (values, 8) : values)),
        GST_FLOW_OK);
    expect_frames (parser.frames (), {values});
    parser.expect_caps ("types=float64, dimensions=(string)2:3", "other/tensors");
    fail_if (posted_info (parser));
  }
}

/* Spectra represent these types exactly. */
TEST_ROWS (test_npyparse_prefers_spectra_that_keep_the_type, takers_of_both)
{
  Parser parser;
  if (row.caps)
    gst_harness_set_sink_caps_str (parser, row.caps);
  expect_equal (parser.push (three_frames ()), GST_FLOW_OK);
  expect_frames (parser.frames (), split (bytes_of (counted (24)), 16));
  parser.expect_caps ("format=U16LE, samples=4, lines=2");
}

TEST_ROWS (test_npyparse_gives_arrays_where_there_is_no_spectrum, takers_of_both)
{
  Parser parser;
  if (row.caps)
    gst_harness_set_sink_caps_str (parser, row.caps);
  const std::vector<gint64> values = {1, -2, G_MAXINT64, G_MININT64, 5, 6};
  expect_equal (
      parser.push (header (dictionary ("<i8", "(1, 1, 2, 3)")) + bytes_of (values)),
      GST_FLOW_OK);
  expect_frames (parser.frames (), {bytes_of (values)});
  parser.expect_caps ("types=int64, dimensions=(string)3:2:1:1", "other/tensors");
}

/* Caps that only allow spectra request the conversion. The element reports it if it
 * rounds. */
TEST (test_npyparse_says_that_it_rounds_float64)
{
  const struct {
    std::vector<double> values;
    bool rounds;
  } rows[] = {{fine_doubles, true}, {{0, -0.0, 0.5, 4095, INFINITY, NAN}, false},
      {{1e300, 0, 0, 0, 0, 0}, true}, {{1e-320, 0, 0, 0, 0, 0}, true}};
  for (const auto &row : rows) {
    SpectraParser parser;
    const std::vector<float> rounded (row.values.begin (), row.values.end ());
    const std::string file =
        header (dictionary ("<f8", "(3, 2)")) + bytes_of (row.values);
    expect_equal (parser.push (file), GST_FLOW_OK);
    expect_frames (parser.frames (), {bytes_of (rounded)});
    parser.expect_caps ("format=F32LE, samples=2, lines=3");
    expect_equal (posted_info (parser), row.rounds);
    expect_equal (parser.push (file), GST_FLOW_OK);
    fail_if (posted_info (parser), "posted twice");
  }
}

/* As with numpy.save() and numpy.load(), numbers are the same bit by bit. */
TEST_ROWS (test_npyparse_and_npysink_keep_every_number_type, number_types)
{
  Folder folder;
  const std::string in = folder.file ("in.npy"), out = folder.file ("out.npy");
  std::string values (24 * row.size * row.in_element, 0);
  for (gsize i = 0; i < values.size (); i++)
    values[i] = char (i * 37 + 11);
  folder.write ("in.npy", header (dictionary (row.label, "(2, 3, 4)")) + values);
  if (row.label[0] == '>')
    values = reversed_in (values, row.size);

  for (const char *between :
      {"", "! openclupload ! opencldownload ", "! openclupload "}) {
    const Outcome outcome = run ("filesrc location=" + in + " ! npyparse " + between
                                 + "! npysink location=" + out);
    fail_unless (outcome.eos && outcome.is_clean (), "%s", outcome.line ().c_str ());
    const std::string file = contents_of (out);
    const std::string type (row.name);
    std::string descr = type.substr (0, 1) + std::to_string (row.size);
    fail_unless (file.find ("'descr': '" + ((row.size == 1 ? "|" : "<") + descr) + "'")
                     != std::string::npos,
        "%s, expected %s", file.c_str () + 10, descr.c_str ());
    fail_unless (file.size () > values.size ()
                     && file.substr (file.size () - values.size ()) == values,
        "%s: other values", between);
  }
}
