/* What somebody does with a file in a player: seek forward and backward, scrub, pause and
 * resume, play backward, a part, or fast. The moves are those of GstValidate's scenarios,
 * which Debian 12 has no package of.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/pipeline-run.hpp"

#include <algorithm>
#include <cstring>
#include <glib/gstdio.h>
#include <mutex>

/* Last: its macro fail() breaks the headers of C++. */
#include <gst/check/gstcheck.h>

using namespace testing;

namespace {
constexpr guint n_frames = 50;
constexpr GstClockTime frame_time = 20 * GST_MSECOND; /* a second of frames in all */
constexpr GstClockTime patience = 60 * GST_SECOND;

std::string folder;

/* 50 frames of 4 A-lines of 64 samples. */
void
write_spectra (const std::string &path)
{
  std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (50, 4, 64), }";
  header.resize (117, ' ');
  std::string file = std::string ("\x93NUMPY\x01\0\x76\0", 10) + header + '\n';
  for (guint n = 0; n < n_frames * 4 * 64; n++)
    file += std::string ({char (n * 7), char (n / 256)});
  fail_unless (g_file_set_contents (path.c_str (), file.data (), file.size (), nullptr));
}

void
make_folder ()
{
  gchar *path = g_dir_make_tmp ("scenarios-XXXXXX", nullptr);
  folder = path;
  g_free (path);
  write_spectra (folder + "/spectra.npy");
  const Outcome outcome =
      run ("videotestsrc num-buffers=50 ! "
           "video/x-raw,width=64,height=48,framerate=50/1 ! jpegenc ! "
           "avimux ! filesink location="
           + folder + "/film.avi");
  fail_unless (outcome.eos);
}

void
remove_folder ()
{
  for (const char *name : {"/spectra.npy", "/film.avi"})
    g_remove ((folder + name).c_str ());
  g_rmdir (folder.c_str ());
}

/* Files of 50 frames at 50 a second, through the elements. */
const char *const lines[] = {
    "filesrc location=%s/spectra.npy ! npyparse framerate=50/1 ! openclupload ! "
    "octwindowinterp ! octfft ! opencldownload ! fakesink name=sink sync=true",
    "filesrc location=%s/film.avi ! avidemux ! jpegdec ! openclupload ! openclconvert ! "
    "chromakey ! noisereduce ! flowkey ! keyfill ! opencldownload ! queue ! "
    "fakesink name=sink sync=true",
};

/* A file that is played, and the frames that come out since the last seek. */
class Player {
public:
  explicit Player (const char *form)
  {
    gchar *line = g_strdup_printf (form, folder.c_str ());
    pipeline = launch (line);
    g_free (line);
    bus = gst_element_get_bus (pipeline);
    GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
    GstPad *pad = gst_element_get_static_pad (sink, "sink");
    gst_pad_add_probe (pad,
        GstPadProbeType (GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_FLUSH),
        note, this, nullptr);
    gst_object_unref (pad);
    gst_object_unref (sink);
    go_to (GST_STATE_PAUSED);
  }
  ~Player ()
  {
    const Outcome outcome = collect (bus);
    fail_unless (outcome.errors.empty (), "%s",
        outcome.errors.empty () ? "" : outcome.errors[0].c_str ());
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (bus);
    gst_object_unref (pipeline);
  }
  Player (const Player &) = delete;
  Player &operator= (const Player &) = delete;

  void go_to (GstState state)
  {
    gst_element_set_state (pipeline, state);
    settle ();
  }

  /* Forward from frame `begin` up to `end`, backward from before `end` down to `begin`. */
  void seek (gdouble rate, guint begin, guint end = n_frames)
  {
    fail_unless (gst_element_seek (pipeline, rate, GST_FORMAT_TIME,
        GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), GST_SEEK_TYPE_SET,
        begin * frame_time, GST_SEEK_TYPE_SET, end * frame_time));
    settle ();
  }

  /* What is shown while it is paused. */
  void expect_shown (guint frame)
  {
    const std::vector<guint> seen = frames ();
    fail_unless (seen.size () == 1 && seen[0] == frame, "frame %d is shown, expected %u",
        seen.empty () ? -1 : int (seen[0]), frame);
  }

  /* To its end, from `first` to `last`, each once and in order. */
  void expect_until_end (guint first, guint last)
  {
    GstMessage *message = gst_bus_timed_pop_filtered (
        bus, patience, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS, "no end");
    gst_message_unref (message);
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
    fail_unless (gst_element_get_state (pipeline, nullptr, nullptr, patience)
                 == GST_STATE_CHANGE_SUCCESS);
  }

  static GstPadProbeReturn note (GstPad *pad, GstPadProbeInfo *info, gpointer data)
  {
    auto *self = static_cast<Player *> (data);
    std::lock_guard<std::mutex> lock (self->mutex);
    if (!(info->type & GST_PAD_PROBE_TYPE_BUFFER)) {
      self->shown.clear ();
    } else {
      const GstClockTime time = GST_BUFFER_PTS (GST_PAD_PROBE_INFO_BUFFER (info));
      self->shown.push_back (guint ((time + frame_time / 2) / frame_time));
    }
    return GST_PAD_PROBE_OK;
  }

  GstElement *pipeline;
  GstBus *bus;
  std::mutex mutex;
  std::vector<guint> shown;
};
} // namespace

GST_START_TEST (test_scenario_seek_forward)
{
  Player player (lines[__i__]);
  player.go_to (GST_STATE_PLAYING);
  for (guint frame : {5, 15, 30, 40})
    player.seek (1, frame);
  player.expect_until_end (40, n_frames - 1);
}
GST_END_TEST;

GST_START_TEST (test_scenario_seek_backward)
{
  Player player (lines[__i__]);
  player.go_to (GST_STATE_PLAYING);
  for (guint frame : {45, 30, 12, 0})
    player.seek (1, frame);
  player.expect_until_end (0, n_frames - 1);
}
GST_END_TEST;

GST_START_TEST (test_scenario_scrub)
{
  Player player (lines[__i__]);
  for (guint frame : {0, 7, 14, 21, 28, 35, 42, 49, 40, 31, 22, 13, 4}) {
    player.seek (1, frame);
    player.expect_shown (frame);
  }
}
GST_END_TEST;

GST_START_TEST (test_scenario_pause_and_resume)
{
  Player player (lines[__i__]);
  for (guint round = 0; round < 4; round++) {
    player.go_to (GST_STATE_PLAYING);
    g_usleep (100000);
    player.go_to (GST_STATE_PAUSED);
    const gint64 before = player.position ();
    g_usleep (60000);
    fail_unless (player.position () == before, "it goes on while it is paused");
  }
  player.go_to (GST_STATE_PLAYING);
  player.expect_until_end (0, n_frames - 1);
}
GST_END_TEST;

GST_START_TEST (test_scenario_reverse)
{
  Player player (lines[__i__]);
  player.seek (-1, 0);
  player.expect_shown (n_frames - 1);
  player.go_to (GST_STATE_PLAYING);
  player.expect_until_end (n_frames - 1, 0);
}
GST_END_TEST;

GST_START_TEST (test_scenario_a_part_forward_and_backward)
{
  Player player (lines[__i__]);
  player.go_to (GST_STATE_PLAYING);
  player.seek (1, 10, 20);
  player.expect_until_end (10, 19);
  player.seek (-1, 10, 20);
  player.expect_until_end (19, 10);
}
GST_END_TEST;

GST_START_TEST (test_scenario_fast_forward)
{
  Player player (lines[__i__]);
  player.seek (4, 0);
  player.go_to (GST_STATE_PLAYING);
  player.expect_until_end (0, n_frames - 1);
}
GST_END_TEST;

static Suite *
scenarios_suite ()
{
  Suite *suite = suite_create ("scenarios");
  TCase *tcase = tcase_create ("general");
  const int n = G_N_ELEMENTS (lines);

  suite_add_tcase (suite, tcase);
  /* In each process: threads that have played something are not there after a fork. */
  tcase_add_checked_fixture (tcase, make_folder, remove_folder);
  tcase_add_loop_test (tcase, test_scenario_seek_forward, 0, n);
  tcase_add_loop_test (tcase, test_scenario_seek_backward, 0, n);
  tcase_add_loop_test (tcase, test_scenario_scrub, 0, n);
  tcase_add_loop_test (tcase, test_scenario_pause_and_resume, 0, n);
  tcase_add_loop_test (tcase, test_scenario_reverse, 0, n);
  tcase_add_loop_test (tcase, test_scenario_a_part_forward_and_backward, 0, n);
  tcase_add_loop_test (tcase, test_scenario_fast_forward, 0, n);
  return suite;
}

GST_CHECK_MAIN (scenarios);
