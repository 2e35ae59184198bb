/* Tests of octrawparse
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "byteharness.hpp"
#include "playedframes.hpp"

using namespace check;

namespace {
const GstClockTime frame_time = GST_SECOND / 25;
const char layout[] = "octrawparse name=parse samples=5 lines=2 format=U16LE";
const gsize frame_bytes = 20;

std::string
counted (gsize size)
{
  std::string bytes;
  for (gsize n = 0; n < size; n++)
    bytes += char (n * 7 + n / 256);
  return bytes;
}

std::vector<std::string>
split (const std::string &bytes, gsize size)
{
  std::vector<std::string> parts;
  for (gsize at = 0; at + size <= bytes.size (); at += size)
    parts.push_back (bytes.substr (at, size));
  return parts;
}

struct Parser : ByteHarness {
  explicit Parser (const std::string &line = layout) : ByteHarness (line)
  {
    gst_harness_set_src_caps_str (harness, "application/octet-stream");
  }

  std::vector<PlayedFrame> frames ()
  {
    std::vector<PlayedFrame> frames;
    while (Owned<GstBuffer> buffer = gst_harness_try_pull (harness))
      frames.push_back (played_frame (buffer));
    return frames;
  }
};
} // namespace

/* Blocks */

TEST_ROWS (
    test_octrawparse_joins_and_splits_blocks, {1u, 3u, 19u, 20u, 21u, 40u, 57u, 1000u})
{
  for (const gsize header : {0, 1, 17, 20, 41}) {
    const std::string bytes = counted (header + 5 * frame_bytes);
    Parser parser (std::string (layout) + text (" header-bytes=%zu", header));
    expect_equal (parser.push_in_blocks (bytes, row), GST_FLOW_OK);
    parser.end ();
    const auto frames = parser.frames ();
    expect_played (frames, split (bytes.substr (header), frame_bytes));
    for (gsize n = 0; n < frames.size (); n++)
      expect_equal (frames[n].time, n * frame_time);
    fail_unless (parser.messages ().is_clean ());
  }
}

struct Format {
  const char *label; /* also the name */
  gsize line_bytes;  /* of 5 samples */
};

TEST_ROWS (test_octrawparse_formats,
    {Format{"U8", 5}, Format{"S8", 5}, Format{"U16LE", 10}, Format{"U16BE", 10},
        Format{"S16LE", 10}, Format{"S16BE", 10}, Format{"U32LE", 20},
        Format{"S32LE", 20}, Format{"F32LE", 20}, Format{"MONO10P", 7},
        Format{"MONO12P", 8}, Format{"MONO12PACKED", 8}})
{
  const std::string bytes = counted (3 * 2 * row.line_bytes);
  Parser parser (text ("octrawparse samples=5 lines=2 format=%s", row.label));
  parser.push (bytes);
  parser.end ();
  expect_played (parser.frames (), split (bytes, 2 * row.line_bytes));
  Owned<GstCaps> expected = gst_caps_from_string (
      text ("application/x-oct, domain=wavelength, format=%s, samples=5, lines=2, "
            "framerate=25/1",
          row.label)
          .c_str ());
  fail_unless (gst_caps_is_equal (parser.caps (), expected));
}

/* Partial frames */

struct Cut {
  const char *label;
  gsize bytes;  /* of the stream */
  gsize frames; /* that are output before the error */
  const char *part;
};

const Cut cuts[] = {
    {"within the first frame", 7 + 19, 0,
        "in frame 1: only 19 bytes available, expected 20"},
    {"after a byte of the last frame", 7 + 61, 3,
        "in frame 4: only 1 bytes available, expected 20"},
    {"before the last byte", 7 + 79, 3,
        "in frame 4: only 19 bytes available, expected 20"},
    {"within the header", 3, 0, "in a header: only 3 bytes available, expected 7"},
    {"after the header", 7, 0, "in frame 1: only 0 bytes available, expected 20"},
    {"empty", 0, 0, "in a header: only 0 bytes available, expected 7"},
};

TEST_ROWS (test_octrawparse_refuses_partial_frames_pushed, cuts)
{
  for (const gsize block : {1, 8, 1000}) {
    Parser parser (std::string (layout) + " header-bytes=7");
    const std::string bytes = counted (row.bytes);
    parser.push_in_blocks (bytes, block);
    parser.end ();
    expect_equal (parser.frames ().size (), row.frames);
    parser.messages ().expect_one_error ({row.part});
  }
}

TEST_ROWS (test_octrawparse_refuses_partial_frames_of_files, cuts)
{
  Folder folder;
  const std::string path = folder.write ("a.raw", counted (row.bytes));
  Outcome outcome;
  const auto frames = play_frames (
      "filesrc location=" + path + " ! " + layout + " header-bytes=7", outcome);
  expect_equal (frames.size (), row.frames);
  outcome.expect_one_error ({row.part});
}

TEST (test_octrawparse_needs_a_size)
{
  Folder folder;
  const std::string path = folder.write ("a.raw", counted (100));
  for (const char *settings :
      {"", "samples=5", "lines=5", "samples=2147483647 lines=2"}) {
    const Outcome outcome =
        run ("filesrc location=" + path + " ! octrawparse " + settings + " ! fakesink");
    outcome.expect_one_error ({"samples ", "lines ", "expected both above 0"});
    Parser parser (std::string ("octrawparse ") + settings);
    parser.push (counted (100));
    parser.end ();
    parser.messages ().expect_one_error ({"expected both above 0"});
  }
}

/* Time, seeks and flushes */

/* A source that seeks continues at any byte. The rest of a frame is dropped. */
TEST_ROWS (test_octrawparse_continues_after_a_seek_of_the_source,
    {0u, 3u, 7u, 8u, 27u, 46u, 47u})
{
  const std::string bytes = counted (7 + 4 * frame_bytes);
  Parser parser (std::string (layout) + " header-bytes=7");
  parser.push (bytes.substr (0, 33));
  expect_equal (parser.frames ().size (), 1u);
  parser.send (gst_event_new_flush_start ());
  parser.send (gst_event_new_flush_stop (TRUE));
  parser.start_segment (GST_FORMAT_BYTES, row);
  parser.push_in_blocks (bytes.substr (row), 9);
  parser.end ();
  const gsize first = row <= 7 ? 0 : (row - 7 + frame_bytes - 1) / frame_bytes;
  const auto frames = parser.frames ();
  expect_played (frames, split (bytes.substr (7 + first * frame_bytes), frame_bytes));
  expect_equal (frames[0].time, first * frame_time);
  fail_unless (parser.messages ().is_clean ());
}

TEST (test_octrawparse_refuses_a_gap)
{
  Parser parser;
  parser.push (counted (25));
  GstBuffer *buffer = gst_buffer_new_memdup (counted (20).data (), 20);
  GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_DISCONT);
  expect_equal (parser.Harness::push (buffer), GST_FLOW_ERROR);
  expect_equal (parser.push (counted (20)), GST_FLOW_ERROR);
  parser.end ();
  parser.messages ().expect_one_error ({"in frame 2: only 5 bytes available"});
}

TEST (test_octrawparse_restarts)
{
  Parser parser;
  for (guint n = 0; n < 3; n++) {
    parser.push (counted (2 * frame_bytes + n));
    expect_equal (parser.frames ().size (), 2u);
    parser.restart ("application/octet-stream");
  }
  fail_unless (parser.messages ().is_clean ());
}

TEST (test_octrawparse_seeks_in_files)
{
  Folder folder;
  const std::string bytes = counted (7 + 5 * frame_bytes);
  FramePlayer player ("filesrc location=" + folder.write ("a.raw", bytes) + " ! " + layout
                      + " header-bytes=7");
  player.set_state (GST_STATE_PAUSED);
  gint64 duration = 0;
  fail_unless (gst_element_query_duration (player, GST_FORMAT_TIME, &duration));
  expect_equal (duration, 5 * frame_time);
  const auto all = split (bytes.substr (7), frame_bytes);
  fail_unless (player.seek (1, GST_SEEK_FLAG_FLUSH, 3 * frame_time, GST_CLOCK_TIME_NONE));
  player.start ();
  expect_played (player.frames (), {all[3], all[4]}, "forward");
  fail_unless (player.seek (-1, GST_SEEK_FLAG_FLUSH, frame_time, 3 * frame_time));
  expect_played (player.frames (), {all[2], all[1]}, "backward");
  fail_unless (player.seek (1, GST_SEEK_FLAG_FLUSH, 0, GST_CLOCK_TIME_NONE));
  expect_played (player.frames (), all, "again");
  fail_unless (player.messages ().is_clean ());
}

/* A source that pushes seeks in bytes. */
TEST (test_octrawparse_seeks_behind_a_queue)
{
  Folder folder;
  const std::string bytes = counted (7 + 5 * frame_bytes);
  FramePlayer player ("filesrc location=" + folder.write ("a.raw", bytes) + " ! queue ! "
                      + layout + " header-bytes=7");
  const auto all = split (bytes.substr (7), frame_bytes);
  player.set_state (GST_STATE_PAUSED);
  fail_unless (player.seek (1, GST_SEEK_FLAG_FLUSH, 3 * frame_time, GST_CLOCK_TIME_NONE));
  player.start ();
  expect_played (player.frames (), {all[3], all[4]}, "to a frame");
  fail_unless (player.seek (1, GST_SEEK_FLAG_FLUSH, 0, GST_CLOCK_TIME_NONE));
  expect_played (player.frames (), all, "to the beginning");
  fail_unless (player.messages ().is_clean ());
}

/* Formats agree with octwindowinterp: the same numbers give the same depths. */
TEST (test_octrawparse_depths)
{
  Folder folder;
  std::string little, big, floats;
  for (guint n = 0; n < 2 * 3 * 32; n++) {
    const guint16 value = guint16 (1000 + 997 * n % 5000);
    const gfloat number = value;
    little += {char (value), char (value >> 8)};
    big += {char (value >> 8), char (value)};
    floats.append (reinterpret_cast<const char *> (&number), sizeof number);
  }
  auto depths_of = [&] (const std::string &bytes, const char *format) {
    FramePlayer player (
        "filesrc location=" + folder.write ("a.raw", bytes)
        + text (" ! octrawparse samples=32 lines=3 format=%s ! openclupload ! ", format)
        + "octwindowinterp ! octfft scale=linear ! "
          "application/x-oct(ANY),domain=depth,format=F32LE ! opencldownload");
    player.start ();
    std::vector<std::string> all;
    for (const PlayedFrame &frame : player.frames ())
      all.push_back (frame.bytes);
    expect_equal (all.size (), 2u);
    return all;
  };
  fail_unless (depths_of (little, "U16LE") == depths_of (big, "U16BE"));
  fail_unless (depths_of (little, "U16LE") == depths_of (floats, "F32LE"));
}
