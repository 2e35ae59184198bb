/* Tests that a pipeline reports an input that never gets data, with its name and the
 * reason
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/stopped.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <atomic>
#include <list>

#include "tests/faults/realopencl.hpp"

using namespace check;

/* A live pipeline starts with the first latency query, whose result depends on what ran before. */
static const bool alone = fork_each_test ();

static std::atomic<int> build_seconds{0}, check_seconds{0};

/* Takes a while where a test asks for it. */
extern "C" cl_int
clBuildProgram (cl_program program, cl_uint n, const cl_device_id *devices,
    const char *options, void (*notify) (cl_program, void *), void *user_data)
{
  g_usleep (gulong (build_seconds) * G_USEC_PER_SEC);
  return REAL (clBuildProgram) (program, n, devices, options, notify, user_data);
}

/* Stands for the programs that check engines and compile: takes a while and has no result. */
extern "C" gboolean
g_spawn_async_with_pipes_and_fds (const gchar *, const gchar *const *,
    const gchar *const *, GSpawnFlags, GSpawnChildSetupFunc, gpointer, gint, gint, gint,
    const gint *, const gint *, gsize, GPid *, gint *, gint *, gint *, GError **)
{
  g_usleep (gulong (check_seconds) * G_USEC_PER_SEC);
  return FALSE;
}

/* GLib reads the variable once, and a test changes it. */
extern "C" const gchar *
g_get_user_cache_dir ()
{
  static const gchar *const usual =
      g_build_filename (g_get_home_dir (), ".cache", nullptr);
  const gchar *folder = g_getenv ("XDG_CACHE_HOME");
  return folder && *folder ? folder : usual;
}

namespace {
#define VIDEO "videotestsrc ! video/x-raw,format=RGBA,width=64,height=48 ! "
#define MATTE "videotestsrc ! video/x-raw,format=GRAY8,width=64,height=48 ! "
#define SILENT "appsrc format=time caps=video/x-raw,format="

struct Stall {
  const char *line;
  const char *element; /* that posts the message */
  std::vector<std::string> parts;
};

/* The main pad is not linked. */
const Stall unlinked[] = {
    {MATTE "k.garbage chromakey name=k ! fakesink", "k",
        {"sink is not linked", "garbage", "openclupload ! k.sink"}},
    {MATTE "openclupload ! k.holdout chromakey name=k ! fakesink", "k",
        {"sink is not linked", "holdout"}},
    {"videotestsrc num-buffers=1 ! k.plate chromakey name=k ! fakesink", "k",
        {"sink is not linked", "plate"}},
};

/* Linked pads that get no data */
const Stall silent[] = {
    {VIDEO "openclupload ! chromakey name=k ! fakesink " SILENT
           "GRAY8,width=8,height=8 ! "
           "k.garbage",
        "k", {"No frame arrives on pad garbage"}},
    {VIDEO "openclupload ! tee name=t ! chromakey name=k ! fakesink t. ! openclconvert ! "
           "k.garbage",
        "k", {"No frame arrives on pad garbage", "queue"}},
    {SILENT "RGBA,width=8,height=8 name=film ! openclupload ! chromakey name=k ! "
            "fakesink " MATTE "k.garbage",
        "k", {"Pad sink receives no data", "garbage", "film sends nothing"}},
    {VIDEO "openclupload ! mix.sink_0 openclcompositor name=mix ! fakesink " SILENT
           "RGBA,width=8,height=8 name=film ! openclupload ! mix.sink_1",
        "mix", {"Pad sink_1 receives no data", "sink_0", "film sends nothing"}},
    {VIDEO "openclupload ! mix.left openclkernelmixer name=mix expression=left+right ! "
           "fakesink " SILENT
           "RGBA,width=8,height=8 name=film ! openclupload ! mix.right",
        "mix", {"No frame arrives on pad right", "queue"}},
    {VIDEO "k.background greenscreenbin name=k ! fakesink", "",
        {" receives no data", "sink of k is not linked"}},
};

struct Running {
  explicit Running (const Stall &wanted) : stall (wanted), pipeline (wanted.line)
  {
    pipeline.start ();
  }
  const Stall &stall;
  Pipeline pipeline;
};

bool
has_parts (const std::string &message, const Stall &stall)
{
  return std::all_of (stall.parts.begin (), stall.parts.end (),
             [&] (const std::string &part) {
               return message.find (part) != std::string::npos;
             })
         && message.compare (0, strlen (stall.element), stall.element) == 0;
}
} // namespace

TEST (test_a_main_pad_that_is_not_linked_is_an_error)
{
  for (const Stall &stall : unlinked) {
    Pipeline pipeline (stall.line);
    pipeline.start ();
    Outcome messages;
    fail_unless (
        soon ([&] { return !(messages = pipeline.messages ()).errors.empty (); }),
        "no error: %s", stall.line);
    messages.expect_one_error (stall.parts);
    fail_unless (has_parts (messages.errors[0], stall), "%s", messages.line ().c_str ());
  }
}

TEST (test_a_main_pad_may_be_linked_soon_after_the_start)
{
  Pipeline pipeline (MATTE "k.garbage chromakey name=k ! fakesink num-buffers=3 " VIDEO
                           "valve name=valve drop=true ! openclupload name=film");
  pipeline.start ();
  g_usleep (200000);
  fail_unless (gst_element_link (pipeline["film"], pipeline["k"]));
  g_object_set (pipeline["valve"], "drop", FALSE, nullptr);
  pipeline.play_to_eos ();
}

/* An unused plate pad does not block the pipeline. */
TEST (test_a_plate_that_is_not_used_stops_nothing)
{
  const struct {
    std::string settings;
    const char *warning; /* (nullable): a part of it */
  } rows[] = {{"", "plate pad are ignored"}, {"plate=file method=distance", nullptr},
      {"plate=file method=difference auto-key=screen", "No green or blue screen"}};
  for (const auto &row : rows) {
    Pipeline pipeline (
        "videotestsrc num-buffers=40 pattern=black ! "
        "video/x-raw,format=RGBA,width=64,height=48,framerate=100/1 ! openclupload ! tee "
        "name=t ! queue max-size-buffers=2 ! chromakey name=k "
        + row.settings + " ! fakesink t. ! queue max-size-buffers=2 ! k.plate");
    std::vector<std::string> warnings;
    const auto ends = [&] {
      const Outcome messages = pipeline.messages ();
      fail_unless (messages.errors.empty (), "%s", messages.line ().c_str ());
      warnings.insert (
          warnings.end (), messages.warnings.begin (), messages.warnings.end ());
      return messages.eos;
    };
    pipeline.start ();
    fail_unless (soon (ends), "no end: %s", row.settings.c_str ());
    expect_equal (warnings.size (), row.warning ? 1u : 0u, row.settings);
    if (row.warning)
      expect_contains (warnings[0], {row.warning});
  }
}

namespace {
struct Waking {
  GstElement *mixer = nullptr;
  std::atomic<int> frames{0};
  std::atomic<int> frames_before{-1};
};

/* Wakes the mixer when the element behind it plays, and it does not yet. */
GstBusSyncReply
wake_early (GstBus *, GstMessage *message, gpointer data)
{
  Waking &waking = *static_cast<Waking *> (data);
  GstState state = GST_STATE_NULL;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_STATE_CHANGED
      && !strcmp (GST_MESSAGE_SRC_NAME (message), "behind"))
    gst_message_parse_state_changed (message, nullptr, &state, nullptr);
  if (state == GST_STATE_PLAYING) {
    for (int n = 0; n < 20; n++) {
      Owned<GstQuery> latency = gst_query_new_latency ();
      gst_element_query (waking.mixer, latency);
      g_usleep (10000);
    }
    waking.frames_before = waking.frames.load ();
  }
  return GST_BUS_PASS;
}
} // namespace

/* One of the inputs sends nothing, so the clock alone decides when a frame is made. */
TEST (test_a_live_mixer_makes_no_frames_before_it_plays)
{
  Waking waking; /* outlives the pipeline, whose threads use it */
  Pipeline pipeline ("videotestsrc is-live=true ! "
                     "video/x-raw,format=RGBA,width=64,height=48,framerate=25/1 ! "
                     "openclupload ! openclcompositor name=mix ! valve name=behind "
                     "drop=true ! fakesink async=false videotestsrc is-live=true ! valve "
                     "drop=true ! openclupload ! mix.");
  waking.mixer = pipeline["mix"];
  watch (pipeline.pad ("mix", "src"), GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *) {
    waking.frames++;
    return GST_PAD_PROBE_OK;
  });
  gst_bus_set_sync_handler (pipeline.bus, wake_early, &waking, nullptr);
  pipeline.start ();
  fail_unless (soon ([&] { return waking.frames > 0; }), "no frame");
  expect_equal (waking.frames_before.load (), 0, "frames before");
}

/* A live mixer goes on without one of its inputs. */
const char *const live =
    "videotestsrc is-live=true ! video/x-raw,format=RGBA,width=64,height=48 ! "
    "openclupload ! openclcompositor name=mix ! fakesink "
    "videotestsrc is-live=true ! valve drop=true ! openclupload ! mix.";

/* A source tells its latency once it has caps. */
TEST (test_a_live_mixer_begins_though_an_input_tells_its_latency_late)
{
  std::atomic<bool> is_late{true};
  Pipeline pipeline (live);
  Owned<GstPad> silent = pipeline.pad ("mix", "sink_1"),
                source = gst_pad_get_peer (silent);
  watch (source, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM, [&] (GstPadProbeInfo *info) {
    const GstQueryType type = GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (info));
    return type == GST_QUERY_LATENCY && is_late ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
  });
  Owned<GstPad> mixed = pipeline.pad ("mix", "src");
  pipeline.start ();
  g_usleep (500000);
  fail_unless (!gst_pad_has_current_caps (mixed));
  is_late = false;
  fail_unless (soon ([&] { return gst_pad_has_current_caps (mixed); }), "no frames");
  fail_unless (pipeline.messages ().is_clean ());
}

/* All in one test, because each warning takes seconds. */
TEST (test_an_input_without_data_is_a_warning)
{
  Pipeline mixing (live);
  mixing.start ();
  std::list<Running> all;
  for (const Stall &stall : silent)
    all.emplace_back (stall);
  for (Running &each : all) {
    Outcome messages;
    fail_unless (
        soon ([&] { return !(messages = each.pipeline.messages ()).is_clean (); }),
        "no message: %s", each.stall.line);
    fail_unless (messages.errors.empty (), "%s", messages.line ().c_str ());
    expect_equal (messages.warnings.size (), 1u, each.stall.line);
    fail_unless (has_parts (messages.warnings[0], each.stall), "%s",
        messages.warnings[0].c_str ());
  }
  Owned<GstPad> mixed = mixing.pad ("mix", "src");
  fail_unless (soon ([&] { return gst_pad_has_current_caps (mixed); }),
      "the live mixer has no frames");
  fail_unless (mixing.messages ().is_clean ());
}

namespace {
/* Two recorded inputs, the second of which can be stopped */
const char *const stoppable =
    VIDEO "openclupload ! openclcompositor name=mix ! fakesink "
          "videotestsrc ! video/x-raw,format=RGBA,width=8,height=8 ! valve name=valve ! "
          "openclupload name=film ! mix.";

/* Expects one warning of the mixer that names `pad`. */
void
expect_stall (Pipeline &pipeline, const std::string &pad)
{
  Outcome messages;
  fail_unless (soon ([&] { return !(messages = pipeline.messages ()).is_clean (); }),
      "no warning of %s", pad.c_str ());
  expect_equal (messages.warnings.size (), 1u, messages.line ());
  expect_contains (messages.warnings[0], {"mix", "Pad " + pad + " receives no data"});
}

bool
has_frames (Pipeline &pipeline)
{
  Owned<GstPad> mixed = pipeline.pad ("mix", "src");
  return soon ([&] { return gst_pad_has_current_caps (mixed); });
}
} // namespace

TEST (test_an_input_that_stalls_after_a_restart_is_a_warning)
{
  Pipeline pipeline (stoppable);
  pipeline.start ();
  fail_unless (has_frames (pipeline));
  for (int time = 0; time < 2; time++) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    g_object_set (pipeline["valve"], "drop", TRUE, nullptr);
    pipeline.start ();
    expect_stall (pipeline, "sink_1");
  }
}

TEST (test_an_input_that_is_added_while_playing_and_stalls_is_a_warning)
{
  Pipeline pipeline (stoppable);
  pipeline.start ();
  fail_unless (has_frames (pipeline));
  g_usleep (2 * G_USEC_PER_SEC);
  GstElement *silent = gst_parse_bin_from_description (
      SILENT "RGBA,width=8,height=8 ! openclupload", TRUE, nullptr);
  gst_bin_add (GST_BIN ((GstElement *)pipeline), silent);
  fail_unless (gst_element_link (silent, pipeline["mix"]));
  gst_element_sync_state_with_parent (silent);
  expect_stall (pipeline, "sink_2");
}

/* The clock of the warnings goes on then. */
TEST (test_an_input_that_is_late_because_the_process_was_stopped_is_no_warning)
{
  std::list<Running> all;
  for (const Stall &stall : silent)
    all.emplace_back (stall);
  g_usleep (G_USEC_PER_SEC);
  stop_for (8);
  g_usleep (G_USEC_PER_SEC / 2);
  for (Running &each : all) {
    const Outcome messages = each.pipeline.messages ();
    fail_unless (messages.is_clean (), "%s", messages.line ().c_str ());
  }
}

/* Live sources send nothing then. */
TEST (test_a_live_input_that_is_paused_is_no_warning)
{
  Pipeline pipeline (
      "videotestsrc is-live=true ! video/x-raw,format=RGBA,width=8,height=8 "
      "! openclupload ! openclcompositor name=mix ! fakesink " VIDEO
      "openclupload ! mix.");
  gst_element_set_state (pipeline, GST_STATE_PAUSED);
  g_usleep (8 * G_USEC_PER_SEC);
  fail_unless (pipeline.messages ().is_clean ());
  pipeline.start ();
  fail_unless (has_frames (pipeline));
  fail_unless (pipeline.messages ().is_clean ());
}

namespace {
/* The other input has its first frame after eight seconds of the library's work. */
void
expect_no_warning (const std::string &line)
{
  Pipeline pipeline (
      VIDEO "openclupload ! openclcompositor name=mix ! fakesink " + line + " ! mix.");
  const gint64 begin = g_get_monotonic_time ();
  pipeline.start ();
  fail_unless (has_frames (pipeline));
  fail_unless (g_get_monotonic_time () - begin >= 8 * G_USEC_PER_SEC, "no wait");
  fail_unless (pipeline.messages ().is_clean ());
}
} // namespace

TEST (test_an_input_whose_kernel_compiles_is_no_warning)
{
  build_seconds = 8;
  expect_no_warning ("videotestsrc ! video/x-raw,format=RGBA,width=8,height=8 ! "
                     "openclupload ! openclkernel expression=\"x * 0.8642\"");
}

/* A check runs in another process, at low priority. */
TEST (test_an_input_whose_engine_is_checked_is_no_warning)
{
  Folder empty; /* of verdicts */
  g_setenv ("XDG_CACHE_HOME", empty.path.c_str (), TRUE);
  g_setenv ("GST_OPENCL_SELF_CHECK", "60", TRUE);
  check_seconds = 8;
  expect_no_warning (VIDEO "openclupload ! chromakey method=chroma");
}
