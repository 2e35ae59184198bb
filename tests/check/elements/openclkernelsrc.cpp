/* Tests of openclkernelsrc
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>

using namespace programs;

namespace {
/* Each number encodes its index and the frame's number and time. */
const char *const count_up =
    "source=\"kernel void k (global int *output, uint frame, float time, int step) { "
    "size_t "
    "n = get_global_id (0); output[n] = step * n + 1000 * frame + 1000000 * (int) (10 * "
    "time + 0.5f); }\" arguments=a,step=1 ";
const char *const four = "output-caps=\"other/tensors,types=int32,dimensions=(string)4,"
                         "framerate=10/1\" ";

std::string
counting (const std::string &more = "")
{
  return std::string ("openclkernelsrc name=k ") + count_up + four + more;
}

gint32
number_of (const Output &output, gsize n)
{
  return values_of<gint32> (output.bytes)[n];
}
} // namespace

TEST (test_a_kernel_makes_frames_and_knows_which_and_when)
{
  Chain chain (counting ("num-buffers=5"));
  chain.start ();
  for (int frame = 0; frame < 5; frame++) {
    const Output output = chain.pull ();
    fail_unless_equals_uint64 (output.bytes.size (), 16);
    fail_unless_equals_int (number_of (output, 3), 3 + 1001000 * frame);
    fail_unless_equals_uint64 (output.time, frame * GST_SECOND / 10);
  }
  fail_unless (!gst_app_sink_try_pull_sample (GST_APP_SINK (chain.out), 10 * GST_SECOND));
  fail_unless (gst_app_sink_is_eos (GST_APP_SINK (chain.out)));
}

TEST (test_what_is_made_downstream_or_the_property_says)
{
  struct Row {
    const char *properties, *after, *expected;
    gsize size;
  };
  const Row rows[] = {
      {"output-caps=\"video/x-raw,format=GRAY8,width=10,height=3\"", "", "height=(int)3",
          36},
      {"", " ! video/x-raw(memory:OpenCLMemory),format=RGBA,width=10,height=2",
          "format=(string)RGBA", 80},
      {"", " ! video/x-raw,format=RGB,width=4,height=2", "format=(string)RGB", 24},
      {"", " ! video/x-raw,format=ABGR64_LE,width=3,height=2", "format=(string)ABGR64_LE",
          48},
      {"", " ! other/tensors,types=float64,dimensions=(string)5:2:1:1", "5:2:1:1", 80},
      {"output-caps=other/tensors,types=uint8,dimensions=(string)7", "",
          "types=(string)uint8", 7},
      {"", " ! application/x-oct,format=F32LE,domain=depth,samples=8,lines=3",
          "samples=(int)8", 96},
  };
  for (const Row &row : rows) {
    Chain chain (std::string ("openclkernelsrc expression=0.5 ") + row.properties
                 + row.after + " ! openclupload");
    chain.start ();
    const Output output = chain.pull ();
    fail_unless (
        output.caps.find (row.expected) != std::string::npos, "%s", output.caps.c_str ());
    fail_unless_equals_uint64 (output.bytes.size (), row.size);
  }
}

/* Skips frames that were made before a change. */
static Output
pull_later (Chain &chain)
{
  for (int ahead = 0; ahead < 6; ahead++)
    chain.pull ();
  return chain.pull ();
}

TEST (test_knobs_turn_while_it_plays)
{
  Chain chain (counting ());
  GObject *source = G_OBJECT (chain.element ());
  chain.start ();
  chain.pull ();
  gst_util_set_object_arg (source, "arguments", "a,step=7");
  fail_unless_equals_int (number_of (pull_later (chain), 3) % 1000, 21);
  gst_util_set_object_arg (source, "arguments", "a,step=0.5");
  fail_unless_equals_int (number_of (pull_later (chain), 3) % 1000, 21);
  const Messages messages = messages_on (chain.bus);
  fail_unless (messages.errors.empty () && messages.warnings.size () == 1);
  gst_util_set_object_arg (source, "arguments", "a,step=3");
  gst_util_set_object_arg (
      source, "output-caps", "other/tensors,types=int32,dimensions=(string)3:3");
  fail_unless_equals_uint64 (pull_later (chain).bytes.size (), 36);
  gst_util_set_object_arg (source, "arguments", "a,step=2");
  fail_unless_equals_int (number_of (pull_later (chain), 8) % 1000, 16);
  fail_unless (messages_on (chain.bus).warnings.empty ());
}

TEST (test_caps_that_downstream_refuses_leave_those_before)
{
  Chain chain (counting () + "! other/tensors(memory:OpenCLMemory),dimensions=(string)4");
  chain.start ();
  chain.pull ();
  gst_util_set_object_arg (G_OBJECT (chain.element ()), "output-caps",
      "other/tensors,types=int32,dimensions=(string)5");
  fail_unless_equals_uint64 (pull_later (chain).bytes.size (), 16);
  const Messages messages = messages_on (chain.bus);
  fail_unless (messages.errors.empty () && messages.warnings.size () == 1);
}

/* GstBaseSrc goes on without caps and without a buffer pool after its error. */
TEST (test_kernelsrc_with_empty_output_caps_is_one_error)
{
  check::Pipeline pipeline (
      "openclkernelsrc name=k expression=0.5 ! openclupload ! fakesink");
  gst_util_set_object_arg (G_OBJECT (pipeline["k"]), "output-caps", "EMPTY");
  pipeline.play ().expect_one_error ({"k"});
}

TEST (test_a_live_source_gives_each_frame_at_its_time)
{
  Chain chain (counting ("is-live=true num-buffers=4"));
  chain.start ();
  for (guint n = 0; n < 4; n++) {
    const GstClockTime time = chain.pull ().time;
    fail_unless (time >= n * GST_SECOND / 10);
    fail_unless (gst_element_get_current_running_time (chain.out) >= time);
  }
}

/* Seeks as in a video: frames are counted from the target. */
TEST (test_a_seek_goes_to_a_frame)
{
  Chain chain (counting ("num-buffers=100"));
  chain.start ();
  chain.pull ();
  fail_unless (gst_element_seek_simple (chain.pipeline, GST_FORMAT_TIME,
      GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), 5 * GST_SECOND));
  fail_unless_equals_int (number_of (chain.pull (), 1), 1 + 1001000 * 50);
}

/* Frames are counted by the state. Those made ahead of the seek are counted, too. */
TEST (test_a_seek_sets_the_state_of_a_source_back)
{
  for (bool keep : {false, true}) {
    Chain chain (std::string ("openclkernelsrc name=k expression=\"previous + 1\" ")
                 + four + "num-buffers=100 keep-state=" + (keep ? "true" : "false"));
    chain.start ();
    for (int frame = 0; frame < 3; frame++)
      fail_unless_equals_int (number_of (chain.pull (), 3), frame + 1);
    fail_unless (gst_element_seek_simple (chain.pipeline, GST_FORMAT_TIME,
        GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), 5 * GST_SECOND));
    const int start = number_of (chain.pull (), 3);
    fail_unless (keep ? start > 3 : start == 1, "%d", start);
    fail_unless_equals_int (number_of (chain.pull (), 3), start + 1);
  }
}

TEST (test_a_source_has_several_outputs)
{
  Chain chain (
      "openclkernelsrc num-buffers=2 source=\"kernel void k (global int *output0, "
      "global uchar *output1, uint frame) { size_t n = get_global_id (0); "
      "output0[n] = 100 * n + frame; if (n < 3) output1[n] = n + 7; }\" "
      + several_outputs (2, "int32.uint8", "4.3"));
  chain.start ();
  for (gint32 frame = 0; frame < 2; frame++) {
    Bytes expected =
        bytes_of (std::vector<gint32>{frame, 100 + frame, 200 + frame, 300 + frame});
    for (guint8 value : {7, 8, 9})
      expected.push_back (value);
    const Output output = chain.pull ();
    fail_unless (output.bytes == expected);
    fail_unless (output.caps.find ("dimensions=(string)\"4\\,3\"") != std::string::npos,
        "%s", output.caps.c_str ());
  }
}

TEST (test_nothing_is_uploaded_for_a_frame)
{
  Chain chain (counting ("num-buffers=50"));
  GstOpenCLCounts counts;
  chain.start ();
  for (int n = 0; n < 50; n++)
    chain.pull ();
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (chain.element ()), &counts);
  fail_unless_equals_uint64 (counts.upload_bytes, 0);
  fail_unless_equals_uint64 (counts.host_waits, 0);
  fail_unless_equals_uint64 (counts.launches, 50);
}

/* An application reads the result directly from the device. Each number of an array of 5
 * rows, 7 columns and 2 channels is summed with its neighbours; there are none beyond the
 * edge. */
TEST (test_what_is_made_is_convolved_and_an_application_reads_it)
{
  const int taps[3][3] = {{1, 0, -2}, {0, 4, 3}, {5, 0, -1}};
  auto made = [] (int frame, int y, int x, int c) {
    return y < 0 || y >= 5 || x < 0 || x >= 7 ? 0 : y * y + 3 * x + 50 * c + frame * x;
  };
  GstElement *pipeline = check::launch (
      "openclkernelsrc expression=\"i2 * i2 + 3 * i1 + 50 * i0 + frame * i1\" "
      "output-caps=other/tensors,types=float32,dimensions=(string)2:7:5:1 ! "
      "openclconvolve kernel=\"<<1,0,-2>,<0,4,3>,<5,0,-1>>\" ! "
      "appsink name=out sync=false max-buffers=2");
  GstElement *out = gst_bin_get_by_name (GST_BIN (pipeline), "out");

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (int frame = 0; frame < 3; frame++) {
    GstSample *sample = pull_in_time (out);
    fail_unless (sample != nullptr);
    fail_unless (gst_is_opencl_memory (
        gst_buffer_peek_memory (gst_sample_get_buffer (sample), 0)));
    const Output output = output_of (sample);
    fail_unless (
        output.caps.find ("2:7:5:1") != std::string::npos, "%s", output.caps.c_str ());
    const std::vector<float> numbers = values_of<float> (output.bytes);
    fail_unless_equals_uint64 (numbers.size (), 5 * 7 * 2);
    for (int n = 0; n < 5 * 7 * 2; n++) {
      float expected = 0;
      for (int tap = 0; tap < 9; tap++)
        expected += taps[tap / 3][tap % 3]
                    * made (frame, n / 14 + tap / 3 - 1, n / 2 % 7 + tap % 3 - 1, n % 2);
      fail_unless_equals_float (numbers[n], expected);
    }
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (out);
  gst_object_unref (pipeline);
}
