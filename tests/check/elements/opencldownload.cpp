/* Tests of opencldownload
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>
#include "tests/check/opencl-counting.hpp"
#include "transfer-chain.hpp"

using namespace check;

/* A frame of pattern() in device memory. */
static GstBuffer *
device_pattern (GstOpenCLContext *context, gsize size, guint seed)
{
  return device_buffer (context, pattern (size, seed));
}

/* --- bytes --- */

/* --- padding --- */

namespace {
/* Frames of odd sizes, with padding after rows and planes */
std::string
padded_frames (const std::string &format)
{
  return "videotestsrc num-buffers=12 ! video/x-raw,width=33,height=17,format=" + format
         + " ! openclupload ! ";
}

std::string
converted_frames (const std::string &format)
{
  return padded_frames ("RGBA")
         + "openclconvert ! video/x-raw(memory:OpenCLMemory),format=" + format + " ! ";
}

std::vector<std::string>
chains_with_padding ()
{
  std::vector<std::string> chains;
  for (const char *format : {"I420", "NV12", "GRAY8", "GRAY16_LE", "RGB", "YUY2", "Y42B",
           "I420_10LE", "P010_10LE"}) {
    chains.push_back (padded_frames (format) + "opencldownload");
    chains.push_back (converted_frames (format) + "opencldownload");
  }
  for (const char *format : {"v210", "UYVP", "IYU1", "NV12_64Z32", "RGB8P"})
    chains.push_back (padded_frames (format) + "opencldownload");
  chains.push_back (converted_frames ("I420") + "opencldownload ! y4menc");
  chains.push_back (
      "octtestsrc num-buffers=12 ! video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,"
      "width=64,height=33 ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! "
      "octfft ! "
      "video/x-raw(memory:OpenCLMemory),format=GRAY8 ! opencldownload");
  return chains;
}

/* Returns the bytes that `chain` writes to a file, if new device memory is filled with
 * `byte`. */
std::string
file_of (const std::string &chain, int byte)
{
  const Folder folder;
  const std::string file = folder.file ("frames");
  counting::fill_new_buffers (byte);
  const Outcome outcome = run (chain + " ! filesink location=" + file);
  counting::fill_new_buffers (-1);
  fail_unless (outcome.eos && outcome.errors.empty (), "%s: %s", chain.c_str (),
      outcome.line ().c_str ());
  return contents_of (file);
}
} // namespace

TEST (test_padding_does_not_depend_on_earlier_contents_of_memory)
{
  for (const std::string &chain : chains_with_padding ()) {
    const std::string one = file_of (chain, 0x11), other = file_of (chain, 0xee);
    gsize different = 0;
    expect_equal (one.size (), other.size ());
    for (gsize n = 0; n < one.size (); n++)
      different += one[n] != other[n];
    fail_unless (different == 0, "%zu of %zu bytes differ: %s", different, one.size (),
        chain.c_str ());
  }
}

TEST (test_what_is_written_downstream_does_not_reach_the_device)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload", device_gray);
  Owned<GstBuffer> device = device_pattern (context, gray_size, 1);
  Owned<GstBuffer> output =
      gst_buffer_make_writable (chain.pass (gst_buffer_ref (device)).give ());
  gst_buffer_memset (output, 0, 0xaa, gray_size);
  check_pattern (device, gray_size, 1);
}

TEST (test_frames_can_be_read_after_the_element_is_gone)
{
  Owned<GstBuffer> outputs[5];
  {
    Chain chain ("openclupload ! opencldownload", system_gray);
    for (guint i = 0; i < 5; i++)
      outputs[i] = chain.pass (pattern_buffer (gray_size, i));
  }
  for (guint i = 0; i < 5; i++)
    check_pattern (outputs[i], gray_size, i);
}

/* --- passthrough --- */

TEST (test_system_memory_passes_through)
{
  Chain chain ("opencldownload", system_gray);
  Owned<GstBuffer> buffer = pattern_buffer (gray_size, 1);
  Owned<GstBuffer> output = chain.pass (gst_buffer_ref (buffer));
  fail_unless (output == buffer);
}

TEST (test_device_memory_passes_through_if_required_downstream)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload");
  gst_harness_set_sink_caps_str (chain.harness, device_gray);
  chain.set_caps (device_gray);
  Owned<GstBuffer> buffer = device_pattern (context, gray_size, 1);
  Owned<GstBuffer> output = chain.pass (gst_buffer_ref (buffer));
  fail_unless (output == buffer);
}

TEST (test_downstream_with_any_caps_gets_system_memory)
{
  for (const char *line :
      {"opencldownload", "openclupload ! opencldownload ! openclupload ! opencldownload",
          "openclupload ! opencldownload ! opencldownload"}) {
    Chain chain (line, device_gray);
    Owned<GstCaps> caps = chain.caps ();
    Owned<GstCaps> expected = gst_caps_from_string (system_gray);
    fail_unless (gst_caps_is_subset (caps, expected), "%s", line);
  }
}

/* --- cost of a frame --- */

/* One download of the frame's bytes, or none and the same memory if it is shared. */
TEST (test_a_frame_comes_back_as_the_device_promises)
{
  const bool shares = shares_memory ();
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload name=down ! identity", device_gray);
  for (guint i = 0; i < 5; i++) {
    GstBuffer *input = device_pattern (context, gray_size, i);
    Owned<GstMemory> memory = gst_buffer_get_memory (input, 0);
    const unsigned reads = counting::count (counting::ENQUEUE_READ);
    Owned<GstBuffer> output = chain.pass (input);
    expect_equal (gst_buffer_peek_memory (output, 0) == memory, shares);
    check_pattern (output, gray_size, i);
    expect_equal (counting::count (counting::ENQUEUE_READ) - reads, shares ? 0 : 1);
  }
  const GstOpenCLCounts counts = counts_of (chain.element (), "down");
  expect_equal (counts.downloads, shares ? 0 : 5);
  expect_equal (counts.download_bytes, shares ? 0 : 5 * gray_size);
  expect_equal (counts.launches, 0);
}

/* Without GstVideoMeta downstream, rows are copied on any device. */
TEST (test_padded_rows_are_passed_only_with_video_meta_support)
{
  const bool shares = shares_memory ();
  Owned<GstOpenCLContext> context = new_context ();
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, 64, 32);
  PaddedLayout layout (info, 0, 16);
  for (bool knows : {true, false}) {
    GstHarness *harness = gst_harness_new ("opencldownload");
    if (knows)
      gst_harness_add_propose_allocation_meta (harness, GST_VIDEO_META_API_TYPE, nullptr);
    gst_harness_set_src_caps_str (harness, device_gray);
    Owned<GstBuffer> input = device_pattern (context, layout.size, 7);
    add_layout (input, info, layout);
    Owned<GstBuffer> output = gst_harness_push_and_pull (harness, gst_buffer_ref (input));
    expect_equal (output == input, shares && knows);
    check_lines (output, info, layout, 7);
    GstOpenCLCounts counts;
    gst_opencl_statistics_get_counts (
        gst_opencl_statistics_of (harness->element), &counts);
    expect_equal (counts.downloads, shares && knows ? 0 : 1);
    gst_harness_teardown (harness);
  }
}

TEST (test_a_frame_goes_back_up_as_it_is_where_memory_is_shared)
{
  const bool shares = shares_memory ();
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload ! video/x-raw ! openclupload name=up", device_gray);
  Owned<GstBuffer> input = device_pattern (context, gray_size, 6);
  Owned<GstBuffer> output = chain.pass (gst_buffer_ref (input));
  expect_equal (output == input, shares);
  check_pattern (output, gray_size, 6);
  expect_equal (counts_of (chain.element (), "up").uploads, shares ? 0 : 1);
}

/* --- waiting --- */

/* A frame that the device has not yet filled with `value` */
static GstBuffer *
pending_frame (GstOpenCLContext *context, guint8 value)
{
  cl_command_queue queue = queue_of (context);
  GstMemory *memory = gst_opencl_memory_new (context, gray_size, nullptr);
  OwnedCL<cl_event> event;

  fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_WRITE, nullptr));
  expect_equal (clEnqueueFillBuffer (queue, gst_opencl_memory_get_handle (memory), &value,
                    1, 0, gray_size, 0, nullptr, event.out ()),
      CL_SUCCESS);
  clFlush (queue);
  gst_opencl_memory_end (memory, queue, GST_MAP_WRITE, event);
  GstBuffer *buffer = gst_buffer_new ();
  gst_buffer_append_memory (buffer, memory);
  return buffer;
}

static void
check_filled (GstBuffer *buffer, guint8 value)
{
  assert_same (read_buffer (buffer), Bytes (gray_size, value), "frame");
}

TEST (test_frames_are_pushed_at_once_and_their_map_waits)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload async-depth=4", device_gray);
  Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
  std::vector<Owned<GstBuffer>> outputs;

  /* All four are pushed although the device has done nothing yet. */
  for (guint8 i = 0; i < 4; i++)
    outputs.push_back (chain.pass (pending_frame (context, 10 + i)));
  const bool shares = shares_memory ();
  for (const auto &output : outputs) {
    GstMemory *memory = gst_buffer_peek_memory (output, 0);
    expect_equal (gst_buffer_n_memory (output), 1);
    fail_unless (
        shares ? gst_is_opencl_memory (memory) : gst_is_opencl_host_memory (memory));
  }

  {
    Worker reader ([&] { check_filled (outputs[0], 10); });
    fail_unless (reader.stays_blocked ());
    gate.open ();
  }
  for (guint8 i = 0; i < 4; i++) {
    check_filled (outputs[i], 10 + i);
  }
}

TEST (test_frames_nobody_reads_hold_up_nobody)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload async-depth=8", device_gray);
  {
    Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
    for (guint8 i = 0; i < 8; i++)
      chain.pass (pending_frame (context, i));
  }
  for (guint8 i = 0; i < 20; i++) {
    Owned<GstBuffer> output = chain.pass (pending_frame (context, 100 + i));
    check_filled (output, 100 + i);
  }
}

static const struct {
  const char *label;
  GstEventType type;
  GstEvent *(*make) ();
} draining[] = {
    {"eos", GST_EVENT_EOS, gst_event_new_eos},
    {"flush", GST_EVENT_FLUSH_STOP, [] { return gst_event_new_flush_stop (TRUE); }},
    {"other caps", GST_EVENT_CAPS,
        [] {
          return gst_event_new_caps (
              caps_of ("video/x-raw(memory:OpenCLMemory), format=GRAY8, "
                       "width=8, height=8, framerate=30/1"));
        }},
};

static gboolean
has_received (GstHarness *harness, GstEventType type)
{
  while (Owned<GstEvent> event = gst_harness_try_pull_event (harness))
    if (GST_EVENT_TYPE (event) == type)
      return TRUE;
  return FALSE;
}

TEST_ROWS (test_what_is_in_flight_is_drained_by, draining)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload", device_gray);
  Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
  for (guint8 i = 0; i < 3; i++)
    chain.push (pending_frame (context, i));
  while (gst_harness_events_in_queue (chain) > 0)
    gst_event_unref (gst_harness_pull_event (chain));
  if (row.type == GST_EVENT_FLUSH_STOP)
    chain.send (gst_event_new_flush_start ());

  {
    Worker sender ([&] { chain.send (row.make ()); });
    g_usleep (50000);
    fail_if (has_received (chain, row.type));
    gate.open ();
  }
  fail_unless (has_received (chain, row.type));
}

static GstClockTime
latency_of (const char *line)
{
  Pipeline pipeline (line);
  Owned<GstQuery> query = gst_query_new_latency ();
  GstClockTime least;
  gboolean live;

  pipeline.set_state (GST_STATE_PLAYING);
  fail_unless (gst_element_query (pipeline, query));
  gst_query_parse_latency (query, &live, &least, nullptr);
  fail_unless (live);
  return least;
}

TEST (test_upload_and_download_add_no_latency)
{
  expect_equal (
      latency_of (
          "videotestsrc is-live=true ! video/x-raw,framerate=50/1 ! fakesink sync=true"),
      latency_of ("videotestsrc is-live=true ! video/x-raw,framerate=50/1 ! "
                  "openclupload ! opencldownload ! fakesink sync=true"));
}

/* --- pipelines --- */

/* Frames that are kept do not change, and do not block new ones. */
TEST (test_an_application_may_keep_all_frames)
{
  constexpr guint n_frames = 60;
  auto frames_of = [] (const char *between) {
    std::vector<Owned<GstSample>> samples;
    Pipeline pipeline (text (
        "videotestsrc pattern=ball num-buffers=60 ! video/x-raw,format=GRAY8,width=64,"
        "height=32 ! %s appsink name=out sync=false wait-on-eos=false",
        between));
    pipeline.play_to_eos ();
    while (Owned<GstSample> sample = pipeline.pull ())
      samples.push_back (std::move (sample));
    return samples;
  };
  auto plain = frames_of (""), passed = frames_of ("openclupload ! opencldownload ! ");

  expect_equal (plain.size (), n_frames);
  expect_equal (passed.size (), n_frames);
  for (guint i = 0; i < n_frames; i++)
    assert_same (read_buffer (gst_sample_get_buffer (passed[i])),
        read_buffer (gst_sample_get_buffer (plain[i])), text ("frame %u", i));
}

/* Elements after the download draw into the frame; the other branch gets it unchanged. */
TEST (test_what_one_branch_writes_the_other_does_not_see)
{
  Pipeline pipeline (
      "videotestsrc pattern=white num-buffers=30 ! video/x-raw,format=I420,width=64,"
      "height=32 ! openclupload ! opencldownload ! tee name=t "
      "t. ! queue ! videobalance brightness=-1 ! fakesink async=false "
      "t. ! queue ! appsink name=out sync=false wait-on-eos=false");
  pipeline.play_to_eos ();
  guint n_frames = 0;
  while (Owned<GstSample> sample = pipeline.pull ()) {
    Bytes luma = read_buffer (gst_sample_get_buffer (sample));
    luma.resize (64 * 32);
    assert_same (luma, Bytes (64 * 32, 235), text ("frame %u", n_frames));
    n_frames++;
  }
  expect_equal (n_frames, 30);
}

/* Downstream changes from system to device memory while frames are in flight. Frames with
 * the old caps still arrive; capsfilter refuses them by default. */
TEST (test_downstream_changes_its_mind)
{
  Pipeline pipeline (
      "videotestsrc ! video/x-raw,format=GRAY8,width=64,height=32 ! openclupload ! "
      "opencldownload ! capsfilter name=filter caps-change-mode=delayed ! "
      "appsink name=out max-buffers=2");
  const char *const wanted[] = {"video/x-raw", "video/x-raw(memory:OpenCLMemory)"};
  const bool shares = shares_memory ();

  pipeline.start ();
  for (guint i = 0; i < 20; i++) {
    gst_util_set_object_arg (G_OBJECT (pipeline["filter"]), "caps", wanted[i % 2]);
    gboolean is_changed = FALSE;
    for (guint frame = 0; frame < 20 && !is_changed; frame++) {
      Owned<GstSample> sample = pipeline.pull ();
      fail_unless (sample);
      GstBuffer *buffer = gst_sample_get_buffer (sample);
      bool on_device = gst_is_opencl_memory (gst_buffer_peek_memory (buffer, 0));
      bool has_feature = gst_caps_features_contains (
          gst_caps_get_features (gst_sample_get_caps (sample), 0),
          GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
      /* Memory that host and device share is both. */
      fail_unless (on_device == (has_feature || shares));
      is_changed = has_feature == (i % 2 == 1);
    }
    fail_unless (is_changed, "still not %s", wanted[i % 2]);
  }
  fail_unless (pipeline.messages ().errors.empty ());
}

/* --- errors --- */

TEST (test_no_pinned_memory_is_one_error)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload", device_gray);
  /* Two memories force a copy on any device. */
  GstBuffer *input = gst_buffer_append (
      device_pattern (context, 1000, 1), device_pattern (context, gray_size - 1000, 1));
  counting::fail_buffers_after (0);
  GstFlowReturn flow = chain.push (input);
  counting::fail_buffers_after (-1);
  expect_equal (flow, GST_FLOW_ERROR);
  chain.messages ().expect_one_error ();
}

/* With some memory left, playback continues with fewer buffers. Without any, each element
 * that gets no buffer, including the source, reports the reason. */
TEST (test_a_pipeline_without_device_memory_fails_and_works_after_ready)
{
  Pipeline pipeline ("videotestsrc num-buffers=20 ! openclupload name=up ! "
                     "opencldownload name=down ! fakesink");
  guint refused = 0, done = 0;
  for (gint left = 0; left < 12; left++) {
    counting::fail_buffers_after (left);
    Outcome outcome = pipeline.play ();
    counting::fail_buffers_after (-1);
    /* A source that was refused ends its stream. */
    const bool failed = !outcome.errors.empty ();
    std::vector<std::string> errors = outcome.errors_of ("up");
    for (const std::string &error : outcome.errors_of ("down"))
      errors.push_back (error);
    expect_equal (errors.size (), failed ? 1 : 0);
    if (failed)
      expect_contains (errors[0], {"No memory for a frame of "});
    (failed ? refused : done)++;
    pipeline.set_state (GST_STATE_READY);
    pipeline.play_to_eos ();
    pipeline.set_state (GST_STATE_READY);
  }
  fail_unless (refused >= 1 && done >= 1, "%u refused, %u done", refused, done);
}
