/* Tests of opencldownload: what comes back from the device, and when
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-counting.hpp"
#include "transfer-chain.hpp"

using namespace check;

/* Device memory with the bytes and the metas of `buffer`, which is freed. */
static GstBuffer *
on_device (GstOpenCLContext *context, GstBuffer *buffer)
{
  GstBuffer *device = gst_buffer_new ();
  GstMapInfo from, to;

  gst_buffer_map (buffer, &from, GST_MAP_READ);
  gst_buffer_append_memory (device, gst_opencl_memory_new (context, from.size, nullptr));
  fail_unless (gst_buffer_map (device, &to, GST_MAP_WRITE));
  memcpy (to.data, from.data, from.size);
  gst_buffer_unmap (device, &to);
  gst_buffer_unmap (buffer, &from);
  gst_buffer_unref (buffer);
  return device;
}

/* --- bytes --- */

TEST (test_padded_device_memory_comes_back_in_the_default_layout)
{
  Owned<GstOpenCLContext> context = new_context ();
  for (GstVideoFormat format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE,
           GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_RGB}) {
    GstVideoInfo info;
    fail_unless (gst_video_info_set_format (&info, format, 37, 11));
    GstCaps *caps = gst_video_info_to_caps (&info);
    gst_caps_set_features_simple (
        caps, gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, nullptr));
    /* Downstream knows nothing of GstVideoMeta. */
    GstHarness *harness = gst_harness_new ("opencldownload");
    gst_harness_set_src_caps (harness, caps);
    guint seed = 0;
    for (gint padding : {0, 5, 91}) {
      for (gsize gap : {0, 3, 150}) {
        PaddedLayout layout (info, gap, padding);
        GstBuffer *input = on_device (context, pattern_buffer (layout.size, ++seed));
        add_layout (input, info, layout);
        Owned<GstBuffer> output = gst_harness_push_and_pull (harness, input);
        expect_equal (gst_buffer_get_size (output), info.size);
        GstVideoMeta *meta = gst_buffer_get_video_meta (output);
        for (guint p = 0; meta && p < meta->n_planes; p++) {
          expect_equal (meta->stride[p], info.stride[p]);
          expect_equal (meta->offset[p], info.offset[p]);
        }
        check_lines (output, info, layout, seed);
      }
    }
    gst_harness_teardown (harness);
  }
}

TEST (test_a_part_of_device_memory_comes_back)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload", "application/octet-stream(memory:OpenCLMemory)");
  Owned<GstBuffer> whole = on_device (context, pattern_buffer (1000, 3));
  GstBuffer *part = gst_buffer_copy_region (whole, GST_BUFFER_COPY_MEMORY, 123, 456);
  Owned<GstBuffer> output = chain.pass (part);
  const Bytes bytes = pattern (1000, 3);
  assert_same (read_buffer (output), {bytes.begin () + 123, bytes.begin () + 123 + 456},
      "the part");
  check_pattern (whole, 1000, 3);
}

/* The parts stand where a kernel could not read them as one. */
TEST (test_frames_of_many_device_memories_come_back)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload", device_gray);
  Owned<GstBuffer> whole = on_device (context, pattern_buffer (gray_size, 3));
  GstBuffer *parts =
      gst_buffer_append (gst_buffer_copy_region (whole, GST_BUFFER_COPY_MEMORY, 0, 1001),
          gst_buffer_copy_region (whole, GST_BUFFER_COPY_MEMORY, 1001, -1));
  Owned<GstBuffer> output = chain.pass (parts);
  check_pattern (output, gray_size, 3);
}

TEST (test_memory_of_another_context_comes_back)
{
  Owned<GstOpenCLContext> context = new_context ();
  cl_device_id device = gst_opencl_context_get_device (context);
  cl_int code;
  OwnedCL<cl_context> handle =
      clCreateContext (nullptr, 1, &device, nullptr, nullptr, &code);
  expect_equal (code, CL_SUCCESS);
  Owned<GstOpenCLContext> other =
      gst_opencl_context_new_wrapped (handle, device, nullptr, nullptr);
  Chain chain ("opencldownload", device_gray);

  for (guint i = 0; i < 10; i++) {
    Owned<GstBuffer> output =
        chain.pass (on_device (other, pattern_buffer (gray_size, i)));
    check_pattern (output, gray_size, i);
  }
}

TEST (test_what_is_written_downstream_does_not_reach_the_device)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload", device_gray);
  Owned<GstBuffer> device = on_device (context, pattern_buffer (gray_size, 1));
  Owned<GstBuffer> output =
      gst_buffer_make_writable (chain.pass (gst_buffer_ref (device)));
  gst_buffer_memset (output, 0, 0xaa, gray_size);
  check_pattern (device, gray_size, 1);
}

TEST (test_frames_can_be_read_after_the_element_is_gone)
{
  GstBuffer *outputs[5];
  {
    Chain chain ("openclupload ! opencldownload", system_gray);
    for (guint i = 0; i < 5; i++)
      outputs[i] = chain.pass (pattern_buffer (gray_size, i));
  }
  for (guint i = 0; i < 5; i++) {
    check_pattern (outputs[i], gray_size, i);
    gst_buffer_unref (outputs[i]);
  }
}

/* --- passing through --- */

TEST (test_system_memory_passes_through)
{
  Chain chain ("opencldownload", system_gray);
  GstBuffer *buffer = pattern_buffer (gray_size, 1);
  Owned<GstBuffer> output = chain.pass (buffer);
  fail_unless (output == buffer);
}

TEST (test_device_memory_passes_through_to_who_takes_nothing_else)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload");
  gst_harness_set_sink_caps_str (chain.harness, device_gray);
  chain.set_caps (device_gray);
  GstBuffer *buffer = on_device (context, pattern_buffer (gray_size, 1));
  Owned<GstBuffer> output = chain.pass (buffer);
  fail_unless (output == buffer);
}

TEST (test_who_takes_anything_gets_system_memory)
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

/* --- what a frame costs --- */

/* One download of its bytes, or none and the very same buffer. */
TEST (test_a_frame_comes_back_as_the_device_promises)
{
  const bool shares = shares_memory ();
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload name=down ! identity", device_gray);
  for (guint i = 0; i < 5; i++) {
    GstBuffer *input = on_device (context, pattern_buffer (gray_size, i));
    const unsigned reads = counting::count (counting::ENQUEUE_READ);
    Owned<GstBuffer> output = chain.pass (input);
    expect_equal (output == input, shares);
    check_pattern (output, gray_size, i);
    expect_equal (counting::count (counting::ENQUEUE_READ) - reads, shares ? 0 : 1);
  }
  const GstOpenCLCounts counts = counts_of (chain.element (), "down");
  expect_equal (counts.downloads, shares ? 0 : 5);
  expect_equal (counts.download_bytes, shares ? 0 : 5 * gray_size);
  expect_equal (counts.launches, 0);
}

/* And where it does not, the lines are copied, on any device. */
TEST (test_padded_lines_are_passed_to_who_knows_of_video_meta_and_no_one_else)
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
    GstBuffer *input = on_device (context, pattern_buffer (layout.size, 7));
    add_layout (input, info, layout);
    Owned<GstBuffer> output = gst_harness_push_and_pull (harness, input);
    expect_equal (output == input, shares && knows);
    check_lines (output, info, layout, 7);
    GstOpenCLCounts counts;
    gst_opencl_statistics_get_counts (
        gst_opencl_statistics_of (harness->element), &counts);
    expect_equal (counts.downloads, shares && knows ? 0 : 1);
    gst_harness_teardown (harness);
  }
}

/* A file would get the bytes behind the picture. */
TEST (test_a_frame_with_bytes_behind_it_comes_back_without)
{
  Owned<GstOpenCLContext> context = new_context ();
  GstHarness *harness = gst_harness_new ("opencldownload");
  gst_harness_set_src_caps_str (harness, device_gray);
  Owned<GstBuffer> output = gst_harness_push_and_pull (
      harness, on_device (context, pattern_buffer (gray_size + 100, 2)));
  check_pattern (output, gray_size, 2);
  gst_harness_teardown (harness);
}

TEST (test_a_frame_goes_back_up_as_it_is_where_memory_is_shared)
{
  const bool shares = shares_memory ();
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload ! video/x-raw ! openclupload name=up", device_gray);
  GstBuffer *input = on_device (context, pattern_buffer (gray_size, 6));
  Owned<GstBuffer> output = chain.pass (input);
  expect_equal (output == input, shares);
  check_pattern (output, gray_size, 6);
  expect_equal (counts_of (chain.element (), "up").uploads, shares ? 0 : 1);
}

/* --- waiting --- */

/* A frame that the device has yet to fill with `value`. */
static GstBuffer *
pending_frame (GstOpenCLContext *context, guint8 value)
{
  cl_command_queue queue =
      gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  GstMemory *memory = gst_opencl_memory_new (context, gray_size, nullptr);
  cl_event event;

  fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_WRITE, nullptr));
  expect_equal (clEnqueueFillBuffer (queue, gst_opencl_memory_get_handle (memory), &value,
                    1, 0, gray_size, 0, nullptr, &event),
      CL_SUCCESS);
  clFlush (queue);
  gst_opencl_memory_end (memory, queue, GST_MAP_WRITE, event);
  clReleaseEvent (event);
  GstBuffer *buffer = gst_buffer_new ();
  gst_buffer_append_memory (buffer, memory);
  return buffer;
}

static void
check_filled (GstBuffer *buffer, guint8 value)
{
  GstMapInfo map;
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  expect_equal (map.size, gray_size);
  for (gsize i = 0; i < map.size; i++) {
    if (map.data[i] != value)
      ck_abort_msg ("byte %zu is %u, expected %u", i, map.data[i], value);
  }
  gst_buffer_unmap (buffer, &map);
}

TEST (test_frames_are_pushed_at_once_and_their_map_waits)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload async-depth=4", device_gray);
  Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
  std::vector<GstBuffer *> outputs;

  /* All four come back although the device has done nothing yet. */
  for (guint8 i = 0; i < 4; i++)
    outputs.push_back (chain.pass (pending_frame (context, 10 + i)));
  const bool shares = shares_memory ();
  for (GstBuffer *output : outputs) {
    GstMemory *memory = gst_buffer_peek_memory (output, 0);
    expect_equal (gst_buffer_n_memory (output), 1);
    fail_unless (
        shares ? gst_is_opencl_memory (memory) : gst_is_opencl_host_memory (memory));
  }

  gint mapped = FALSE;
  std::thread reader ([&] {
    check_filled (outputs[0], 10);
    g_atomic_int_set (&mapped, TRUE);
  });
  g_usleep (100000);
  fail_if (g_atomic_int_get (&mapped));
  gate.open ();
  reader.join ();
  for (guint8 i = 0; i < 4; i++) {
    check_filled (outputs[i], 10 + i);
    gst_buffer_unref (outputs[i]);
  }
}

TEST (test_frames_nobody_reads_hold_up_nobody)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload async-depth=8", device_gray);
  {
    Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
    for (guint8 i = 0; i < 8; i++)
      (chain.pass (pending_frame (context, i)));
  }
  for (guint8 i = 0; i < 20; i++) {
    Owned<GstBuffer> output = chain.pass (pending_frame (context, 100 + i));
    check_filled (output, 100 + i);
  }
}

struct Draining {
  GstEvent *(*make) ();
  GstEventType type;
};

static GstEvent *
make_flush_stop ()
{
  return gst_event_new_flush_stop (TRUE);
}

static GstEvent *
make_other_caps ()
{
  GstCaps *caps = gst_caps_from_string ("video/x-raw(memory:OpenCLMemory), format=GRAY8, "
                                        "width=8, height=8, framerate=30/1");
  GstEvent *event = gst_event_new_caps (caps);
  gst_caps_unref (caps);
  return event;
}

static const Draining draining[] = {
    {gst_event_new_eos, GST_EVENT_EOS},
    {make_flush_stop, GST_EVENT_FLUSH_STOP},
    {make_other_caps, GST_EVENT_CAPS},
};

static gboolean
has_received (GstHarness *harness, GstEventType type)
{
  while (GstEvent *event = gst_harness_try_pull_event (harness)) {
    GstEventType received = GST_EVENT_TYPE (event);
    gst_event_unref (event);
    if (received == type)
      return TRUE;
  }
  return FALSE;
}

TEST (test_eos_flush_and_caps_drain_what_is_in_flight)
{
  for (const Draining &drained : draining) {
    Owned<GstOpenCLContext> context = new_context ();
    Chain chain ("opencldownload", device_gray);
    Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
    for (guint8 i = 0; i < 3; i++)
      chain.push (pending_frame (context, i));
    while (gst_harness_events_in_queue (chain.harness) > 0)
      gst_event_unref (gst_harness_pull_event (chain.harness));
    if (drained.type == GST_EVENT_FLUSH_STOP)
      gst_harness_push_event (chain.harness, gst_event_new_flush_start ());

    std::thread sender ([&] { gst_harness_push_event (chain.harness, drained.make ()); });
    g_usleep (50000);
    fail_if (has_received (chain.harness, drained.type));
    gate.open ();
    sender.join ();
    fail_unless (has_received (chain.harness, drained.type));
  }
}

static GstClockTime
latency_of (const char *line)
{
  GstElement *pipeline = launch (line);
  GstQuery *query = gst_query_new_latency ();
  GstClockTime least;
  gboolean live;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
  fail_unless (gst_element_query (pipeline, query));
  gst_query_parse_latency (query, &live, &least, nullptr);
  fail_unless (live);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_query_unref (query);
  gst_object_unref (pipeline);
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

TEST (test_seeking_in_mid_stream)
{
  Owned<GstElement> pipeline =
      launch ("videotestsrc ! openclupload ! queue ! opencldownload ! "
              "appsink name=out max-buffers=1");
  Owned<GstElement> sink = gst_bin_get_by_name (GST_BIN (pipeline), "out");

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (guint i = 1; i <= 20; i++) {
    /* Once the first frame is there, others are on their way. */
    gst_sample_unref (gst_app_sink_pull_sample (GST_APP_SINK (sink)));
    fail_unless (gst_element_seek_simple (
        pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, i * GST_SECOND));
    Owned<GstSample> sample = gst_app_sink_pull_sample (GST_APP_SINK (sink));
    expect_equal (GST_BUFFER_PTS (gst_sample_get_buffer (sample)), i * GST_SECOND);
  }
  Owned<GstBus> bus = gst_element_get_bus (pipeline);
  fail_unless (collect (bus).errors.empty ());
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* Whoever keeps frames keeps them as they were, and keeps nobody from making more. */
TEST (test_an_application_may_keep_all_frames)
{
  constexpr guint n_frames = 60;
  auto frames_of = [] (const char *between) {
    std::vector<GstSample *> samples;
    GstElement *pipeline =
        launch (std::string ("videotestsrc pattern=ball num-buffers=60 ! video/x-raw,"
                             "format=GRAY8,width=64,height=32 ! ")
                + between + " appsink name=out sync=false wait-on-eos=false");
    fail_unless (play (pipeline).eos);
    GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "out");
    while (GstSample *sample = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 0))
      samples.push_back (sample);
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (sink);
    gst_object_unref (pipeline);
    return samples;
  };
  auto plain = frames_of (""), passed = frames_of ("openclupload ! opencldownload ! ");

  expect_equal (plain.size (), n_frames);
  expect_equal (passed.size (), n_frames);
  for (guint i = 0; i < n_frames; i++) {
    GstMapInfo map;
    GstBuffer *buffer = gst_sample_get_buffer (plain[i]);
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    expect_equal (
        gst_buffer_memcmp (gst_sample_get_buffer (passed[i]), 0, map.data, map.size), 0);
    gst_buffer_unmap (buffer, &map);
    gst_sample_unref (plain[i]);
    gst_sample_unref (passed[i]);
  }
}

/* Elements of the CPU behind a download draw into the frame; the other branch has it
 * without. */
TEST (test_what_one_branch_writes_the_other_does_not_see)
{
  Owned<GstElement> pipeline = launch (
      "videotestsrc pattern=white num-buffers=30 ! video/x-raw,format=I420,width=64,"
      "height=32 ! openclupload ! opencldownload ! tee name=t "
      "t. ! queue ! videobalance brightness=-1 ! fakesink async=false "
      "t. ! queue ! appsink name=out sync=false wait-on-eos=false");
  fail_unless (play (pipeline).eos);
  Owned<GstElement> sink = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  guint n_frames = 0;
  while (GstSample *sample = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 0)) {
    guint8 white[64 * 32];
    memset (white, 235, sizeof white);
    expect_equal (
        gst_buffer_memcmp (gst_sample_get_buffer (sample), 0, white, sizeof white), 0);
    gst_sample_unref (sample);
    n_frames++;
  }
  expect_equal (n_frames, 30);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

TEST (test_both_branches_of_a_tee_get_the_same_bytes)
{
  Chain chain ("openclupload ! tee name=t t. ! queue ! opencldownload ! fakesink "
               "async=false t. ! queue ! opencldownload",
      system_gray);
  for (guint i = 0; i < 50; i++) {
    Owned<GstBuffer> output = chain.pass (pattern_buffer (gray_size, i));
    check_pattern (output, gray_size, i);
  }
}

/* Between system and device memory, while frames are on their way: those of the caps
 * before still pass, which capsfilter refuses unless it is told otherwise. */
TEST (test_downstream_changes_its_mind)
{
  Owned<GstElement> pipeline = launch (
      "videotestsrc ! video/x-raw,format=GRAY8,width=64,height=32 ! openclupload ! "
      "opencldownload ! capsfilter name=filter caps-change-mode=delayed ! "
      "appsink name=out max-buffers=2");
  Owned<GstElement> filter = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  Owned<GstElement> sink = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  const char *const wanted[] = {"video/x-raw", "video/x-raw(memory:OpenCLMemory)"};
  const bool shares = shares_memory ();

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (guint i = 0; i < 20; i++) {
    gst_util_set_object_arg (G_OBJECT (filter), "caps", wanted[i % 2]);
    gboolean is_changed = FALSE;
    for (guint frame = 0; frame < 20 && !is_changed; frame++) {
      Owned<GstSample> sample = gst_app_sink_pull_sample (GST_APP_SINK (sink));
      fail_unless (sample != nullptr);
      GstBuffer *buffer = gst_sample_get_buffer (sample);
      bool on_device = gst_is_opencl_memory (gst_buffer_peek_memory (buffer, 0));
      bool says_so = gst_caps_features_contains (
          gst_caps_get_features (gst_sample_get_caps (sample), 0),
          GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
      /* Where device and host share memory, it is both. */
      fail_unless (on_device == (says_so || shares));
      is_changed = says_so == (i % 2 == 1);
    }
    fail_unless (is_changed, "still not %s", wanted[i % 2]);
  }
  Owned<GstBus> bus = gst_element_get_bus (pipeline);
  fail_unless (collect (bus).errors.empty ());
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

/* --- errors --- */

TEST (test_a_short_frame_is_one_error_that_names_both_sizes)
{
  Owned<GstOpenCLContext> context = new_context ();
  for (gsize size : {gray_size - 1, gsize (0)}) {
    Chain chain ("opencldownload", device_gray);
    chain.push (on_device (context, pattern_buffer (gray_size, 1)));
    GstBuffer *bad =
        size ? on_device (context, pattern_buffer (size, 2)) : gst_buffer_new ();
    expect_equal (chain.push (bad), GST_FLOW_ERROR);
    Outcome outcome = chain.said ();
    expect_equal (outcome.errors.size (), 1);
    fail_unless (outcome.errors[0].find (std::to_string (size)) != std::string::npos);
    fail_unless (outcome.errors[0].find ("2048") != std::string::npos);
    Owned<GstBuffer> earlier = gst_harness_pull (chain.harness);
    check_pattern (earlier, gray_size, 1);
  }
}

TEST (test_no_pinned_memory_is_one_error)
{
  Owned<GstOpenCLContext> context = new_context ();
  Chain chain ("opencldownload", device_gray);
  /* In two memories, so that it is copied on any device. */
  GstBuffer *input = gst_buffer_append (on_device (context, pattern_buffer (1000, 1)),
      on_device (context, pattern_buffer (gray_size - 1000, 1)));
  counting::fail_buffers_after (0);
  GstFlowReturn flow = chain.push (input);
  counting::fail_buffers_after (-1);
  expect_equal (flow, GST_FLOW_ERROR);
  expect_equal (chain.said ().errors.size (), 1);
}

/* With some memory it goes on with fewer buffers in turn; without, whoever is refused
 * one, also the source, hears why. */
TEST (test_a_pipeline_without_device_memory_fails_and_works_after_ready)
{
  Owned<GstElement> pipeline =
      launch ("videotestsrc num-buffers=20 ! openclupload name=up ! "
              "opencldownload name=down ! fakesink");
  guint refused = 0, done = 0;
  for (gint left = 0; left < 12; left++) {
    counting::fail_buffers_after (left);
    Outcome outcome = play (pipeline);
    counting::fail_buffers_after (-1);
    std::vector<std::string> errors = outcome.errors_of ("up");
    for (const std::string &error : outcome.errors_of ("down"))
      errors.push_back (error);
    /* A source that was refused ends its stream. */
    const bool failed = !outcome.errors.empty ();
    expect_equal (errors.size (), failed ? 1 : 0);
    if (failed)
      fail_unless (errors[0].find ("No memory for a frame of ") != std::string::npos,
          "%s", errors[0].c_str ());
    (failed ? refused : done)++;
    gst_element_set_state (pipeline, GST_STATE_READY);
    outcome = play (pipeline);
    fail_unless (outcome.eos && outcome.errors.empty (), "after %d buffers", left);
    gst_element_set_state (pipeline, GST_STATE_READY);
  }
  fail_unless (refused >= 1 && done >= 1, "%u refused, %u done", refused, done);
  gst_element_set_state (pipeline, GST_STATE_NULL);
}

TEST (test_an_unknown_device_fails_the_pipeline_with_one_error)
{
  Outcome outcome = run ("videotestsrc num-buffers=5 ! openclupload ! opencldownload "
                         "name=down device=nonsense ! fakesink");
  fail_if (outcome.eos);
  expect_equal (outcome.errors.size (), 1);
  expect_equal (outcome.errors_of ("down").size (), 1);
  fail_unless (outcome.errors[0].find ("nonsense") != std::string::npos);
}
