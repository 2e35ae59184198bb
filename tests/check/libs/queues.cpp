/* Tests of command queues: each streaming thread has its own set
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/context.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <set>

using namespace check;

namespace {
/* Returns the compute queues of `n` threads that run at the same time. */
std::vector<cl_command_queue>
queues_of_threads (GstOpenCLContext *context, guint n)
{
  std::vector<cl_command_queue> queues (n);
  std::atomic<guint> waiting{n};

  together (n, [&] (guint i) {
    queues[i] = queue_of (context);
    waiting--;
    while (waiting > 0)
      g_usleep (100);
  });
  return queues;
}

std::set<cl_command_queue>
distinct (const std::vector<cl_command_queue> &queues)
{
  return {queues.begin (), queues.end ()};
}
} // namespace

/* --- queues of each thread --- */

TEST (test_queues_differ_between_threads)
{
  Owned<GstOpenCLContext> context = new_context ();
  const cl_command_queue own = queue_of (context);
  std::vector<cl_command_queue> queues = queues_of_threads (context, 2);

  fail_unless (own == queue_of (context));
  queues.push_back (own);
  queues.push_back (gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE));
  expect_equal (distinct (queues).size (), 4u);
}

TEST (test_queues_of_a_thread_differ_by_direction)
{
  Owned<GstOpenCLContext> context = new_context ();
  expect_equal (
      distinct ({queue_of (context), queue_of (context, GST_OPENCL_QUEUE_UPLOAD),
                    queue_of (context, GST_OPENCL_QUEUE_DOWNLOAD)})
          .size (),
      3u);
}

/* With two upload queues, a GPU may serve only one of them until it is empty. */
TEST (test_threads_upload_through_one_queue)
{
  Owned<GstOpenCLContext> context = new_context ();
  std::vector<cl_command_queue> queues (3, queue_of (context, GST_OPENCL_QUEUE_UPLOAD));

  for (cl_command_queue &queue : queues)
    std::thread ([&] { queue = queue_of (context, GST_OPENCL_QUEUE_UPLOAD); }).join ();
  queues.push_back (queue_of (context, GST_OPENCL_QUEUE_UPLOAD));
  expect_equal (distinct (queues).size (), 1u);
  fail_if (queues[0] == gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_UPLOAD));
}

TEST (test_queues_of_ended_threads_are_used_again)
{
  Owned<GstOpenCLContext> context = new_context ();
  std::vector<cl_command_queue> queues;

  for (guint i = 0; i < 50; i++)
    std::thread ([&] { queues.push_back (queue_of (context)); }).join ();
  expect_equal (distinct (queues).size (), 1u);
}

TEST (test_queues_are_bounded)
{
  Owned<GstOpenCLContext> context = new_context ();
  const std::set<cl_command_queue> queues = distinct (queues_of_threads (context, 60));

  fail_unless (queues.size () <= 16, "%d", int (queues.size ()));
  fail_unless (queues.size () >= 8, "%d", int (queues.size ()));
}

TEST (test_queues_end_with_their_context)
{
  for (guint i = 0; i < 20; i++) {
    Owned<GstOpenCLContext> first = new_context ();
    Owned<GstOpenCLContext> other = new_other_context (first);
    cl_context of_queue = nullptr;
    clGetCommandQueueInfo (
        queue_of (other), CL_QUEUE_CONTEXT, sizeof of_queue, &of_queue, nullptr);
    fail_unless (of_queue == gst_opencl_context_get_handle (other));
  }
}

/* The ending thread must not be the one that frees them: they need the context. */
TEST (test_queues_end_with_their_context_while_a_thread_ends)
{
  Owned<GstOpenCLContext> first = new_context ();
  const guint rounds =
      is_gpu (first) ? 50 : 1000; /* a GPU's context takes a quarter second */
  for (guint i = 0; i < rounds; i++) {
    Owned<GstOpenCLContext> context = new_other_context (first);
    std::atomic<guint> step{0};
    cl_command_queue queue = nullptr;
    std::thread thread ([&] {
      queue = queue_of (context);
      clRetainCommandQueue (queue);
      step = 1;
      while (step == 1)
        continue;
      for (std::atomic<guint> pause{0}; pause < i * (1000 / rounds) % 200 * 5; pause++)
        continue;
    });
    while (step == 0)
      g_usleep (10);
    step = 2;
    context = nullptr;
    cl_uint references = 0;
    clGetCommandQueueInfo (
        queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, nullptr);
    thread.join ();
    clReleaseCommandQueue (queue);
    expect_equal (references, 1u, text ("round %u, with that of this test", i));
  }
}

TEST (test_queue_of_an_application_is_the_only_one)
{
  Owned<GstOpenCLContext> like = new_context ();
  cl_context handle = gst_opencl_context_get_handle (like);
  cl_device_id device = gst_opencl_context_get_device (like);
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue (handle, device, 0, &code);
  expect_equal (code, CL_SUCCESS);
  {
    Owned<GstOpenCLContext> context =
        gst_opencl_context_new_wrapped (handle, device, queue, nullptr);
    for (cl_command_queue used : queues_of_threads (context, 4))
      fail_unless (used == queue);
  }
  clReleaseCommandQueue (queue);
}

/* --- order of commands --- */

namespace {
/* A chain whose element keeps a mean on the device; no event covers that mean. */
struct RollingMean : Harness {
  RollingMean ()
      : Harness ("octwindowinterp background=rolling window=rectangular ! opencldownload",
          "video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,width=64,height=4,"
          "framerate=30/1")
  {
  }
  void push_frame (GstOpenCLContext *context, guint seed)
  {
    expect_equal (
        push (device_buffer (context, pattern (64 * 4 * 2, seed))), GST_FLOW_OK);
  }
};
} // namespace

TEST (test_element_keeps_its_order_when_its_thread_changes)
{
  Owned<GstOpenCLContext> context = new_context ();
  RollingMean one, several;
  constexpr guint n = 8;

  for (guint frame = 0; frame < n; frame++)
    one.push_frame (context, frame);
  /* Every second frame comes from another thread, whose queue is free while this thread's
   * queue is held. */
  for (guint frame = 0; frame < n; frame += 2) {
    Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
    several.push_frame (context, frame);
    std::thread ([&] { several.push_frame (context, frame + 1); }).join ();
    g_usleep (20000); /* a frame that did not wait would be finished */
  }
  for (guint frame = 0; frame < n; frame++)
    assert_same (read_buffer (several.pull ()), read_buffer (one.pull ()),
        text ("frame %u", frame));
}

/* Work that an element defers to the next one, across a `queue` into another thread */
TEST (test_deferred_work_of_another_thread)
{
  const char *const line =
      "octtestsrc num-buffers=6 pattern=layers ! "
      "video/x-raw(memory:OpenCLMemory),width=512,height=16 ! octwindowinterp "
      "wavelength-min=1187 wavelength-max=1433 background=frame ! %soctfft ! "
      "opencldownload ! appsink name=out";
  auto frames = [&] (const char *between) {
    Pipeline pipeline (text (line, between));
    std::vector<Bytes> all;
    pipeline.start ();
    while (Owned<GstSample> sample = pipeline.pull ())
      all.push_back (read_buffer (gst_sample_get_buffer (sample)));
    return all;
  };
  const std::vector<Bytes> direct = frames (""), queued = frames ("queue ! ");

  expect_equal (direct.size (), 6u);
  expect_equal (queued.size (), 6u);
  for (guint i = 0; i < 6; i++) {
    for (gsize n = 0; n < direct[i].size (); n++)
      fail_unless (
          std::abs (direct[i][n] - queued[i][n]) <= 1, "frame %u, byte %zu", i, n);
  }
}

TEST (test_queue_of_an_application_sees_earlier_writes)
{
  Owned<GstOpenCLContext> context = new_context ();
  Harness chain ("openclupload ! keyfill color=0xff010203",
      "video/x-raw,format=RGBA,width=4,height=1,framerate=30/1");
  auto gate = std::make_unique<Gate> (context, GST_OPENCL_QUEUE_COMPUTE);
  Owned<GstBuffer> output = chain.pass (buffer_of (Bytes (16, 0)));
  GstMemory *memory = gst_buffer_peek_memory (output, 0);
  GstMapInfo map;
  guint8 seen[4] = {9, 9, 9, 9};

  std::thread application ([&] {
    cl_command_queue queue =
        gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
    fail_unless (
        gst_memory_map (memory, &map, GstMapFlags (GST_MAP_READ | GST_MAP_OPENCL)));
    expect_equal (clEnqueueReadBuffer (queue, reinterpret_cast<cl_mem> (map.data),
                      CL_FALSE, 0, sizeof seen, seen, 0, nullptr, nullptr),
        CL_SUCCESS);
    gst_memory_unmap (memory, &map);
    gate.reset ();
    clFinish (queue);
  });
  application.join ();
  assert_same (Bytes (seen, seen + 4), {1, 2, 3, 255}, "pixel");
}

/* --- threads that must not wait for each other --- */

namespace {
/* Blocks the compute queue of the thread that pushes through a pad, from the first buffer
 * until open(), like a slow kernel. */
class BlockedThread {
public:
  BlockedThread (GstOpenCLContext *context, Owned<GstPad> pad) : gate (context)
  {
    watch (pad, GST_PAD_PROBE_TYPE_BUFFER, [this, context] (GstPadProbeInfo *) {
      if (!blocks.exchange (true))
        gate.put_into (queue_of (context));
      return GST_PAD_PROBE_OK;
    });
  }
  bool is_blocked () const { return blocks; }
  void open () { gate.open (); }

private:
  Gate gate;
  std::atomic<bool> blocks{false};
};

#define LEAKY                                                                            \
  "queue leaky=downstream max-size-buffers=2 max-size-bytes=0 max-size-time=0 ! "
} // namespace

TEST (test_pipeline_plays_and_stops_beside_a_blocked_one)
{
  Owned<GstOpenCLContext> context = new_context ();
  Pipeline slow (
      "videotestsrc ! video/x-raw,format=GRAY8,width=64,height=64 ! openclupload "
      "! openclkernel name=slow expression=x async-depth=1 ! opencldownload ! "
      "fakesink");
  BlockedThread blocked (context, slow.pad ("slow", "sink"));
  slow.start ();
  fail_unless (soon ([&] { return blocked.is_blocked (); }));

  expect_equal (run ("videotestsrc num-buffers=60 ! "
                     "video/x-raw,format=RGBA,width=320,height=240 ! openclupload ! "
                     "openclconvert ! video/x-raw(memory:OpenCLMemory),format=BGRA ! "
                     "opencldownload ! fakesink")
                    .line (),
      "");
  blocked.open ();
}

namespace {
/* Fails unless frames reach the sink "out" while the thread before "slow" is blocked. */
void
expect_frames_during_block (const std::string &line)
{
  Owned<GstOpenCLContext> context = new_context ();
  Pipeline pipeline (line);
  BlockedThread blocked (context, pipeline.pad ("slow", "sink"));

  pipeline.start ();
  fail_unless (soon ([&] { return blocked.is_blocked (); }));
  for (guint frame = 0; frame < 60; frame++)
    fail_unless (pipeline.pull (), "frame %u", frame);
  blocked.open ();
}

#define SLOW                                                                             \
  "openclkernel name=slow expression=x async-depth=2 ! opencldownload ! fakesink "
#define OUT "opencldownload ! appsink name=out sync=false"
#define GRAY "video/x-raw,format=GRAY8,width=1024,height=64,framerate=100/1 ! "

const struct {
  const char *label, *source, *upload;
} branches[] = {
    {"device memory",
        "octtestsrc is-live=true ! "
        "video/x-raw(memory:OpenCLMemory),width=1024,height=64,framerate=100/1 ! ",
        ""},
    {"uploaded frames", "videotestsrc is-live=true ! " GRAY "openclupload ! ", ""},
    {"frames that each branch uploads", "videotestsrc is-live=true ! " GRAY,
        "openclupload ! "},
};
} // namespace

TEST_ROWS (test_branch_plays_beside_a_blocked_one, branches)
{
  expect_frames_during_block (std::string (row.source) + "tee name=t t. ! " LEAKY
                              + row.upload + SLOW "t. ! " LEAKY + row.upload
                              + "octwindowinterp ! octfft ! " OUT);
}

TEST (test_element_does_not_wait_for_the_read_of_another_branch)
{
  expect_frames_during_block (
      "videotestsrc is-live=true ! "
      "video/x-raw,format=RGBA,width=64,height=64,framerate=100/1 ! openclupload ! "
      "tee name=t t. ! " LEAKY SLOW "t. ! queue ! keyfill ! " OUT);
}

TEST (test_release_after_does_not_wait_for_other_queues)
{
  Owned<GstOpenCLContext> context = new_context ();
  Gate gate (context, GST_OPENCL_QUEUE_COMPUTE);
  OwnedCL<cl_event> slow, quick;
  std::atomic<bool> released{false};
  cl_command_queue upload = queue_of (context, GST_OPENCL_QUEUE_UPLOAD);

  clEnqueueMarkerWithWaitList (queue_of (context), 0, nullptr, slow.out ());
  clFlush (queue_of (context));
  clEnqueueMarkerWithWaitList (upload, 0, nullptr, quick.out ());
  clFlush (upload);
  gst_opencl_context_release_after (
      context, slow, [] (gpointer) {}, nullptr);
  gst_opencl_context_release_after (
      context, quick,
      [] (gpointer flag) { *static_cast<std::atomic<bool> *> (flag) = true; }, &released);
  fail_unless (soon ([&] { return released.load (); }));
}

/* --- programs --- */

TEST (test_program_cache_is_bounded)
{
  Owned<GstOpenCLContext> context = new_context ();
  auto program = [&] (guint n) {
    const std::string source = text ("kernel void k (global int *o) { *o = %u; }", n);
    cl_program built =
        gst_opencl_context_get_program (context, source.c_str (), nullptr, nullptr);
    fail_unless (built != nullptr);
    clReleaseProgram (built);
    return built;
  };

  const guint before = gst_opencl_context_get_n_builds (context);
  auto builds = [&] { return gst_opencl_context_get_n_builds (context) - before; };
  for (guint n = 0; n < 100; n++) {
    program (n);
    program (0); /* used throughout */
  }
  fail_unless (gst_opencl_context_get_n_programs (context) <= 64);
  expect_equal (builds (), 100u);
  program (0);
  program (99);
  expect_equal (builds (), 100u);
  program (1); /* was evicted */
  expect_equal (builds (), 101u);
}

TEST (test_program_that_leaves_the_cache_still_runs)
{
  Owned<GstOpenCLContext> context = new_context ();
  OwnedCL<cl_kernel> kernel = make_kernel (context, change_source, "add");

  for (guint n = 0; n < 70; n++) {
    const std::string source = text ("kernel void k (global int *o) { *o = %u; }", n);
    clReleaseProgram (
        gst_opencl_context_get_program (context, source.c_str (), nullptr, nullptr));
  }
  Owned<GstBuffer> buffer = device_buffer (context, Bytes (4, 1));
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  cl_command_queue queue = queue_of (context);
  fail_unless (gst_opencl_memory_begin (memory, queue, GST_MAP_READWRITE, nullptr));
  OwnedCL<cl_event> event =
      enqueue_change (queue, kernel, gst_opencl_memory_get_handle (memory), 0, 4, 2);
  clFlush (queue);
  gst_opencl_memory_end (memory, queue, GST_MAP_READWRITE, event);
  assert_same (read_buffer (buffer), Bytes (4, 3), "bytes");
}
