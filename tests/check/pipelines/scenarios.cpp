/* Playback of files as in a player: seeks forward and backward, scrubbing, pause and
 * resume, reverse, segment and fast playback. The scenarios are those of GstValidate,
 * which Debian 12 does not package.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"

#include <mutex>
#include <optional>

using namespace check;

namespace {
constexpr guint n_frames = 50;
constexpr GstClockTime frame_time = 20 * GST_MSECOND; /* the file lasts one second */

std::optional<Folder> folder;

/* 50 frames of 4 A-lines of 64 samples. */
std::string
spectra ()
{
  std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (50, 4, 64), }";
  header.resize (117, ' ');
  std::string file = std::string ("\x93NUMPY\x01\0\x76\0", 10) + header + '\n';
  for (guint n = 0; n < n_frames * 4 * 64; n++)
    file += std::string ({char (n * 7), char (n / 256)});
  return file;
}

void
make_folder ()
{
  folder.emplace ();
  folder->write ("spectra.npy", spectra ());
  const Outcome outcome =
      run ("videotestsrc num-buffers=50 ! "
           "video/x-raw,width=64,height=48,framerate=50/1 ! jpegenc ! "
           "avimux ! filesink location="
           + folder->file ("film.avi"));
  fail_unless (outcome.eos);
}

void
remove_folder ()
{
  folder.reset ();
}

/* Files of 50 frames at 50 frames per second, and their pipelines */
struct File {
  const char *label, *line;
};
const File files[] = {
    {"spectra",
        "filesrc location=%s/spectra.npy ! npyparse framerate=50/1 ! openclupload ! "
        "octwindowinterp ! octfft ! opencldownload ! fakesink name=sink sync=true"},
    {"film", "filesrc location=%s/film.avi ! avidemux ! jpegdec ! openclupload ! "
             "openclconvert ! "
             "chromakey ! noisereduce ! flowkey ! keyfill ! opencldownload ! queue ! "
             "fakesink name=sink sync=true"},
};

/* Plays a file and records the frames since the last seek. */
class Player {
public:
  explicit Player (const File &file) : pipeline (text (file.line, folder->path.c_str ()))
  {
    const auto seen =
        GstPadProbeType (GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_FLUSH);
    watch (pipeline.pad ("sink", "sink"), seen, [this] (GstPadProbeInfo *info) {
      note (info);
      return GST_PAD_PROBE_OK;
    });
    go_to (GST_STATE_PAUSED);
  }
  ~Player ()
  {
    const Outcome outcome = pipeline.messages ();
    fail_unless (outcome.errors.empty (), "%s", outcome.line ().c_str ());
    /* The probe refers to members of this object. */
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }

  void go_to (GstState state)
  {
    gst_element_set_state (pipeline, state);
    settle ();
  }

  /* Seeks to play frames `begin` to `end` - 1; a negative rate plays them backwards. */
  void seek (gdouble rate, guint begin, guint end = n_frames)
  {
    fail_unless (gst_element_seek (pipeline, rate, GST_FORMAT_TIME,
        GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), GST_SEEK_TYPE_SET,
        begin * frame_time, GST_SEEK_TYPE_SET, end * frame_time));
    settle ();
  }

  /* Expects that this frame is shown while paused. */
  void expect_shown (guint frame)
  {
    const std::vector<guint> seen = frames ();
    fail_unless (seen.size () == 1 && seen[0] == frame, "frame %d is shown, expected %u",
        seen.empty () ? -1 : int (seen[0]), frame);
  }

  /* Expects each frame from `first` to `last` once and in order, then EOS. */
  void expect_until_end (guint first, guint last)
  {
    Owned<GstMessage> message = gst_bus_timed_pop_filtered (
        pipeline.bus, timeout, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    fail_unless (message && message->type == GST_MESSAGE_EOS, "no end");
    std::vector<guint> expected;
    for (guint n = std::min (first, last); n <= std::max (first, last); n++)
      expected.push_back (n);
    if (first > last)
      std::reverse (expected.begin (), expected.end ());
    const std::vector<guint> seen = frames ();
    fail_unless (seen == expected, "%zu frames, %d to %d; expected %u to %u",
        seen.size (), seen.empty () ? -1 : int (seen.front ()),
        seen.empty () ? -1 : int (seen.back ()), first, last);
  }

  gint64 position ()
  {
    gint64 now = -1;
    fail_unless (gst_element_query_position (pipeline, GST_FORMAT_TIME, &now));
    return now;
  }

  std::vector<guint> frames ()
  {
    std::lock_guard<std::mutex> lock (mutex);
    return shown;
  }

private:
  void settle ()
  {
    fail_unless (gst_element_get_state (pipeline, nullptr, nullptr, timeout)
                 == GST_STATE_CHANGE_SUCCESS);
  }

  void note (GstPadProbeInfo *info)
  {
    std::lock_guard<std::mutex> lock (mutex);
    if (!(info->type & GST_PAD_PROBE_TYPE_BUFFER)) {
      shown.clear ();
    } else {
      const GstClockTime time = GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info));
      shown.push_back (guint ((time + frame_time / 2) / frame_time));
    }
  }

  std::mutex mutex;
  std::vector<guint> shown;
  Pipeline pipeline;
};
} // namespace

TEST_ROWS (test_scenario_seek_forward, files)
{
  Player player (row);
  player.go_to (GST_STATE_PLAYING);
  for (guint frame : {5, 15, 30, 40})
    player.seek (1, frame);
  player.expect_until_end (40, n_frames - 1);
}

TEST_ROWS (test_scenario_seek_backward, files)
{
  Player player (row);
  player.go_to (GST_STATE_PLAYING);
  for (guint frame : {45, 30, 12, 0})
    player.seek (1, frame);
  player.expect_until_end (0, n_frames - 1);
}

TEST_ROWS (test_scenario_scrub, files)
{
  Player player (row);
  for (guint frame : {0, 7, 14, 21, 28, 35, 42, 49, 40, 31, 22, 13, 4}) {
    player.seek (1, frame);
    player.expect_shown (frame);
  }
}

TEST_ROWS (test_scenario_pause_and_resume, files)
{
  Player player (row);
  for (guint round = 0; round < 4; round++) {
    player.go_to (GST_STATE_PLAYING);
    g_usleep (100000);
    player.go_to (GST_STATE_PAUSED);
    const gint64 before = player.position ();
    g_usleep (60000);
    fail_unless (player.position () == before, "the position changes while paused");
  }
  player.go_to (GST_STATE_PLAYING);
  player.expect_until_end (0, n_frames - 1);
}

TEST_ROWS (test_scenario_reverse, files)
{
  Player player (row);
  player.seek (-1, 0);
  player.expect_shown (n_frames - 1);
  player.go_to (GST_STATE_PLAYING);
  player.expect_until_end (n_frames - 1, 0);
}

TEST_ROWS (test_scenario_a_part_forward_and_backward, files)
{
  Player player (row);
  player.go_to (GST_STATE_PLAYING);
  player.seek (1, 10, 20);
  player.expect_until_end (10, 19);
  player.seek (-1, 10, 20);
  player.expect_until_end (19, 10);
}

TEST_ROWS (test_scenario_fast_forward, files)
{
  Player player (row);
  player.seek (4, 0);
  player.go_to (GST_STATE_PLAYING);
  player.expect_until_end (0, n_frames - 1);
}

/* The files are made in each process, because threads of GStreamer do not survive a
 * fork. */
static const bool with_files = around_each_test (make_folder, remove_folder);

/* --- overlays that downstream draws --- */

namespace {
/* The frame of a gray picture with text behind `chain` */
struct Captioned {
  explicit Captioned (const std::string &chain)
      : pipeline (
          "videotestsrc num-buffers=1 pattern=white foreground-color=0xff808080 ! "
          "video/x-raw,format=RGBA,width=160,height=120 ! textoverlay text=text ! "
          + chain + " ! appsink name=out sync=false")
  {
    Owned<GstElement> out =
        gst_bin_get_by_name (GST_BIN (pipeline.operator GstElement * ()), "out");
    Owned<GstPad> pad = gst_element_get_static_pad (out, "sink");
    gst_pad_add_probe (
        pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, draw_overlays, nullptr, nullptr);
    pipeline.start ();
    sample = pipeline.pull ();
    fail_unless (sample != nullptr, "%s", chain.c_str ());
  }

  static GstPadProbeReturn draw_overlays (GstPad *, GstPadProbeInfo *info, gpointer)
  {
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY (info);
    if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
      return GST_PAD_PROBE_OK;
    gst_query_add_allocation_meta (
        query, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
    return GST_PAD_PROBE_HANDLED;
  }

  GstBuffer *buffer () const { return gst_sample_get_buffer (sample); }

  /* Left, top, width and height of the overlay, or nothing */
  std::vector<int> overlay () const
  {
    GstVideoOverlayCompositionMeta *meta =
        gst_buffer_get_video_overlay_composition_meta (buffer ());
    gint x, y;
    guint width, height;
    if (!meta)
      return {};
    gst_video_overlay_rectangle_get_render_rectangle (
        gst_video_overlay_composition_get_rectangle (meta->overlay, 0), &x, &y, &width,
        &height);
    return {x, y, int (width), int (height)};
  }

  /* Whether all pixels of the frame are equal */
  bool is_even () const
  {
    GstMapInfo map;
    fail_unless (gst_buffer_map (buffer (), &map, GST_MAP_READ));
    const bool even = std::equal (map.data + 4, map.data + map.size, map.data);
    gst_buffer_unmap (buffer (), &map);
    return even;
  }

  Pipeline pipeline;
  Owned<GstSample> sample;
};

#define CONVERT "openclupload ! openclconvert "
} // namespace

TEST_ROWS (test_overlays_pass_to_the_element_that_draws_them,
    std::vector<std::string>{"openclupload ! opencldownload",
        CONVERT "! video/x-raw(ANY),format=BGRA ! opencldownload",
        "openclupload ! noisereduce ! flowkey ! opencldownload",
        "openclconvertbin ! video/x-raw(ANY),format=BGRA"})
{
  const Captioned plain ("identity"), passed (row);
  fail_unless (plain.overlay ().size () == 4);
  fail_unless (passed.overlay () == plain.overlay (), "%s: %zu numbers", row.c_str (),
      passed.overlay ().size ());
  fail_unless (passed.is_even ());
}

/* Their place is in pixels of the frame. */
TEST_ROWS (test_overlays_are_drawn_before_the_frame_changes_its_shape,
    std::vector<std::string>{CONVERT
        "! video/x-raw(ANY),width=320,height=240 ! opencldownload",
        CONVERT "video-direction=180 ! opencldownload"})
{
  const Captioned drawn (row);
  fail_unless (drawn.overlay ().empty ());
  fail_if (drawn.is_even ());
}
