/* Tests that a frame that cannot be mapped is one element error. No sink skips it or
 * writes stale memory, and no frames follow it.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"

#include <map>

using namespace check;

namespace {
const guint frame_size = 64 * 48;
const guint n_frames = 8;
const char *const converted =
    "videoconvert name=sink ! video/x-raw,format=RGB ! fakesink";

/* Frames of pattern() in system memory, uploaded, downloaded and passed to a sink */
struct Transfers : Pipeline {
  explicit Transfers (const std::string &sink, const std::string &format = "GRAY8",
      guint bytes = frame_size)
      : Pipeline ("appsrc name=source format=time caps=video/x-raw,format=" + format
                  + ",width=64,height=48,framerate=25/1 ! openclupload ! "
                    "opencldownload name=down ! "
                  + sink),
        bytes (bytes)
  {
    push ();
  }

  void push ()
  {
    GstAppSrc *source = GST_APP_SRC ((*this)["source"]);
    for (guint i = 0; i < n_frames; i++)
      gst_app_src_push_buffer (source, pattern_buffer (bytes, i));
    gst_app_src_end_of_stream (source);
  }

  void probe (const char *element, const char *pad_name, GstPadProbeCallback callback,
      gpointer data)
  {
    gst_pad_add_probe (
        pad (element, pad_name), GST_PAD_PROBE_TYPE_BUFFER, callback, data, nullptr);
  }

  const guint bytes;
};

/* Status queries and waits fail from the arrival of a frame at the sink until the next
 * frame of the source. */
struct Outage {
  Outage (Transfers &transfers, guint frame) : frame (frame)
  {
    transfers.probe ("sink", "sink", begin, this);
    transfers.probe ("source", "src", end, nullptr);
  }
  ~Outage () { set (CL_SUCCESS); }

  static void set (cl_int code)
  {
    counting::fail_always (counting::GET_EVENT_INFO, code);
    counting::fail_always (counting::WAIT_FOR_EVENTS, code);
  }

  static GstPadProbeReturn begin (GstPad *, GstPadProbeInfo *, gpointer data)
  {
    auto *self = static_cast<Outage *> (data);
    if (self->come++ == self->frame)
      set (CL_OUT_OF_RESOURCES);
    return GST_PAD_PROBE_OK;
  }

  static GstPadProbeReturn end (GstPad *, GstPadProbeInfo *, gpointer)
  {
    set (CL_SUCCESS);
    return GST_PAD_PROBE_OK;
  }

  const guint frame;
  guint come = 0;
};

void
check_one_error (const Outcome &outcome)
{
  guint of_elements = 0; /* a source posts one of its own */
  for (const std::string &error : outcome.errors)
    of_elements += error.find ("Internal data stream error") == std::string::npos;
  expect_equal (of_elements, 1);
}
} // namespace

TEST (test_a_frame_that_filesink_cannot_map_is_an_error_and_not_in_the_file)
{
  const Folder folder;
  const std::string file = folder.file ("frames");
  {
    Transfers transfers (
        text ("filesink name=sink buffer-mode=unbuffered location=%s", file.c_str ()));
    Outage outage (transfers, 3);
    check_one_error (transfers.play ());
  }
  const std::string got = contents_of (file);
  Bytes expected;
  for (guint frame = 0; frame < 3; frame++) {
    const Bytes bytes = pattern (frame_size, frame);
    expected.insert (expected.end (), bytes.begin (), bytes.end ());
  }
  assert_same (Bytes (got.begin (), got.end ()), expected, "the file");
}

TEST (test_a_frame_that_videoconvert_cannot_map_is_an_error)
{
  Transfers transfers (converted);
  Outage outage (transfers, 3);
  check_one_error (transfers.play ());
}

TEST (test_no_frame_follows_one_that_was_lost)
{
  Transfers transfers (converted);
  Outage outage (transfers, 3);
  transfers.play ();
  expect_equal (outage.come, 4);
}

/* Encoders of GStreamer 1.22.0 (base and good) that crash if a map for reading fails, but
 * not if it succeeds with no bytes. */
TEST_ROWS (test_lost_frame_does_not_crash, {"theoraenc", "vp8enc"})
{
  if (is_missing (row))
    return;
  for (guint frame : {0, 3}) {
    Transfers transfers (
        std::string (row) + " name=sink ! fakesink", "I420", frame_size * 3 / 2);
    Outage outage (transfers, frame);
    const Outcome outcome = transfers.play ();
    fail_if (outcome.errors.empty ());
  }
}

/* An application's sink that maps the lost frame and reads beyond the size of the map */
TEST (test_a_lost_frame_has_no_bytes_and_what_stands_there_is_zero)
{
  Transfers transfers ("fakesink name=sink signal-handoffs=true");
  Outage outage (transfers, 3);
  struct Sink {
    static void take (GstElement *, GstBuffer *buffer, GstPad *, guint *frame)
    {
      GstMapInfo map;
      fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
      expect_equal (map.size, *frame == 3 ? 0 : frame_size);
      assert_same (Bytes (map.data, map.data + frame_size),
          *frame == 3 ? Bytes (frame_size) : pattern (frame_size, *frame), "frame");
      gst_buffer_unmap (buffer, &map);
      ++*frame;
    }
  };
  guint frame = 0;
  g_signal_connect (transfers["sink"], "handoff", G_CALLBACK (Sink::take), &frame);
  check_one_error (transfers.play ());
  expect_equal (frame, 4);
}

TEST (test_a_frame_that_a_source_cannot_write_is_an_error)
{
  /* Only the first map of pinned memory must succeed: a source can do without later
   * buffers. */
  const guint n_maps = shares_memory () ? 3 : 1;
  /* Creating a context maps a buffer too. */
  Owned<GstOpenCLContext> context = new_context ();
  for (guint map = 1; map <= n_maps; map++) {
    counting::fail_call (counting::ENQUEUE_MAP, map, CL_OUT_OF_RESOURCES);
    check_one_error (
        run ("videotestsrc num-buffers=8 ! video/x-raw,format=GRAY8,width=64,height=48 ! "
             "openclupload ! fakesink"));
    counting::fail_call (counting::ENQUEUE_MAP, 0, CL_SUCCESS);
  }
}

TEST (test_an_element_is_as_new_after_a_lost_frame_and_ready)
{
  Transfers transfers (converted);
  Outage outage (transfers, 3);
  check_one_error (transfers.play ());
  gst_element_set_state (transfers, GST_STATE_READY);
  gst_element_set_state (transfers, GST_STATE_PAUSED);
  transfers.push ();
  Outcome again = transfers.play ();
  fail_unless (again.eos && again.errors.empty ());
}

namespace {
/* Frames that reach an appsink, and the messages of the pipeline */
struct Passed {
  Outcome outcome;
  std::map<GstClockTime, Bytes> frames;
  std::vector<GstClockTime> discontinuities; /* after the first frame */
};

/* Sends twenty frames through `elements`, the sixth of which is too short. */
Passed
pass_short_frame (const std::string &elements)
{
  const gsize size = 4 * frame_size;
  Passed passed;
  Pipeline pipeline (
      "appsrc name=source format=time caps=video/x-raw,format=RGBA,width=64,height=48,"
      "framerate=10/1 ! "
      + elements
      + " ! video/x-raw,format=BGRA ! appsink name=out sync=false wait-on-eos=false");
  for (guint n = 0; n < 20; n++) {
    GstBuffer *buffer = pattern_buffer (n == 5 ? 5000 : size, n);
    GST_BUFFER_PTS (buffer) = n * GST_SECOND / 10;
    GST_BUFFER_DURATION (buffer) = GST_SECOND / 10;
    gst_app_src_push_buffer (GST_APP_SRC (pipeline["source"]), buffer);
  }
  gst_app_src_end_of_stream (GST_APP_SRC (pipeline["source"]));
  passed.outcome = play_with_warnings (pipeline);
  while (Owned<GstSample> sample = passed.outcome.eos ? pipeline.pull () : nullptr) {
    GstBuffer *buffer = gst_sample_get_buffer (sample);
    if (GST_BUFFER_IS_DISCONT (buffer) && !passed.frames.empty ())
      passed.discontinuities.push_back (GST_BUFFER_PTS (buffer));
    passed.frames[GST_BUFFER_PTS (buffer)] = read_buffer (buffer);
  }
  return passed;
}

/* Elements, and GStreamer's with the same result */
const struct {
  std::string label, elements, like;
  double tolerance; /* GStreamer 1.26 rounds another way */
} passing[] = {
    {"bin", "openclconvertbin", "videoconvert", 0},
    {"convert", "openclupload ! openclconvert ! opencldownload", "videoconvert", 0},
    {"compositor", "openclcompositorbin", "compositor", 1},
};
} // namespace

/* GStreamer's converters make a frame of what is left, its compositor one without a layer. */
TEST_ROWS (test_a_short_frame_is_dropped_and_the_others_are_those_of_gstreamer, passing)
{
  const GstClockTime lost = GST_SECOND / 2;
  Passed passed = pass_short_frame (row.elements);
  Passed expected = pass_short_frame (row.like);
  fail_unless (passed.outcome.eos && expected.outcome.eos);
  expect_equal (passed.outcome.warnings.size (), 1u);
  expect_contains (passed.outcome.warnings[0], {"5000 bytes", "12288"});
  expect_equal (expected.frames.size (), 20u);
  if (row.label == "compositor") /* the layer's last frame is repeated */
    expect_near (passed.frames[lost], expected.frames[lost - GST_SECOND / 10],
        row.tolerance, "repeated");
  else
    fail_unless (passed.discontinuities == std::vector{lost + GST_SECOND / 10});
  passed.frames.erase (lost);
  expected.frames.erase (lost);
  expect_equal (passed.frames.size (), expected.frames.size ());
  for (const auto &[time, frame] : expected.frames)
    expect_near (passed.frames[time], frame, row.tolerance, std::to_string (time));
}

/* Frames of device memory that an application sends to a mixer or a request pad */
TEST (test_inputs_of_mixers_and_request_pads_may_have_a_short_frame)
{
  const struct {
    const char *line, *format;
    bool is_lost; /* with its output */
  } rows[] = {
      {"openclcompositor name=k ! appsink name=out sync=false wait-on-eos=false appsrc "
       "name=source ! k.",
          "RGBA", false},
      {"openclkernelmixer name=k expression=a ! appsink name=out sync=false "
       "wait-on-eos=false "
       "appsrc name=source ! k.a",
          "RGBA", true},
      {"openclkernelmixer name=k expression=a+b-b ! appsink name=out sync=false "
       "wait-on-eos=false "
       "videotestsrc num-buffers=8 ! video/x-raw,format=RGBA,width=64,height=48,"
       "framerate=10/1 ! openclupload ! k.a appsrc name=source ! k.b",
          "RGBA", false},
      {"videotestsrc num-buffers=8 ! video/x-raw,format=RGBA,width=64,height=48,"
       "framerate=10/1 ! openclupload ! chromakey name=k ! appsink name=out sync=false "
       "wait-on-eos=false "
       "appsrc name=source ! k.garbage",
          "GRAY8", false},
  };
  Owned<GstOpenCLContext> context = new_context ();
  for (const auto &row : rows) {
    const gsize size = frame_size * (row.format == std::string ("RGBA") ? 4 : 1);
    Pipeline pipeline (row.line);
    set_context (pipeline, context);
    Owned<GstCaps> caps = gst_caps_from_string (
        text ("video/x-raw(memory:OpenCLMemory),format=%s,width=64,height=48,"
              "framerate=10/1",
            row.format)
            .c_str ());
    g_object_set (pipeline["source"], "format", GST_FORMAT_TIME, nullptr);
    gst_app_src_set_caps (GST_APP_SRC (pipeline["source"]), caps);
    for (guint n = 0; n < 8; n++) {
      GstBuffer *buffer = device_buffer (context, pattern (n == 3 ? size - 1 : size, n));
      GST_BUFFER_PTS (buffer) = n * GST_SECOND / 10;
      GST_BUFFER_DURATION (buffer) = GST_SECOND / 10;
      gst_app_src_push_buffer (GST_APP_SRC (pipeline["source"]), buffer);
    }
    gst_app_src_end_of_stream (GST_APP_SRC (pipeline["source"]));
    const Outcome outcome = play_with_warnings (pipeline);
    fail_unless (outcome.eos && outcome.errors.empty (), "%s: %s", row.line,
        outcome.line ().c_str ());
    expect_equal (outcome.warnings.size (), 1u, row.line);
    expect_contains (
        outcome.warnings[0], {"k: ", text ("%zu bytes", size - 1), text ("%zu", size)});
    guint frames = 0;
    for (; Owned<GstSample> sample = pipeline.pull (); frames++) {
      GstBuffer *buffer = gst_sample_get_buffer (sample);
      const guint n = guint (GST_BUFFER_PTS (buffer) * 10 / GST_SECOND);
      fail_if (row.is_lost && n == 3);
      if (std::string (row.line).find ("mixer") != std::string::npos && n > 0)
        expect_equal (
            bool (GST_BUFFER_IS_DISCONT (buffer)), n == (row.is_lost ? 4 : 3), row.line);
    }
    expect_equal (frames, row.is_lost ? 7u : 8u, row.line);
  }
}
