/* Tests of user programs between other elements: data arrives unchanged, nothing is
 * downloaded, and each failure is reported once
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"
#include "tests/check/octreference.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/slowness.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>

using namespace programs;
using check::Outcome;
using check::Owned;
using check::Pipeline;
using opencl::NumberType;

static const bool alone = check::fork_each_test ();

namespace {
#define DEVICE "(memory:OpenCLMemory)"

template <typename T>
std::vector<T>
numbers_of_file (const std::string &file, NumberType type, std::vector<gsize> shape)
{
  Owned<GError> error;
  opencl::NpyArray array;
  fail_unless (opencl::npy_load (file.c_str (), array, error.out ()), "%s",
      error ? error->message : "");
  fail_unless (array.header.type == type && array.header.shape == shape, "%s",
      opencl::npy_shape_text (array.header.shape).c_str ());
  return values_of<T> (
      Bytes (array.values (), array.values () + array.header.data_size ()));
}

GstOpenCLCounts
counts_of (GstElement *element)
{
  GstOpenCLCounts counts;
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (element), &counts);
  return counts;
}

/* Fails if one of these elements downloads frames or waits for the device. */
void
check_stays_on_the_device (
    const Pipeline &pipeline, const std::vector<const char *> &names)
{
  for (const char *name : names) {
    const GstOpenCLCounts counts = counts_of (pipeline[name]);
    fail_unless (counts.launches > 0, "%s: no kernel launch", name);
    fail_unless (counts.downloads == 0 && counts.host_waits == 0,
        "%s: %d downloads, %d waits", name, int (counts.downloads),
        int (counts.host_waits));
  }
}
} // namespace

/* --- OCT --- */

namespace {
const gsize samples = 256, lines = 6;

std::string
spectra (guint frames)
{
  return "octtestsrc pattern=mirrors depths=<20,70.5> amplitudes=<1000,300> num-buffers="
         + std::to_string (frames) + " ! video/x-raw" DEVICE
         + ",format=GRAY16_LE,width=256,height=6 ! ";
}

/* Writes power computed from decibels by a user's kernel; returns the number of uploaded
 * bytes. */
guint64
write_power (guint frames, const std::string &file)
{
  Pipeline pipeline (
      spectra (frames)
      + "octwindowinterp name=window ! octfft name=fft ! application/x-oct" DEVICE
        ",format=F32LE ! openclkernel name=k source=\"kernel void power (global const "
        "float *input, global float *output) { size_t n = get_global_id (0); output[n] = "
        "exp10 (input[n] / 10); }\" ! npysink location="
      + file);
  pipeline.play_to_eos ();
  check_stays_on_the_device (pipeline, {"fft", "k"});
  return counts_of (pipeline["window"]).upload_bytes
         + counts_of (pipeline["fft"]).upload_bytes
         + counts_of (pipeline["k"]).upload_bytes;
}
} // namespace

TEST (test_depths_go_through_a_kernel_into_a_file_with_the_right_numbers)
{
  Folder folder;
  const std::string raw = folder.file ("raw.npy"), power = folder.file ("power.npy");
  check::run (spectra (3) + "opencldownload ! npysink location=" + raw);
  const std::vector<guint16> sent =
      numbers_of_file<guint16> (raw, NumberType::u16, {3, lines, samples});
  const guint64 uploaded = write_power (3, power);
  const std::vector<float> got =
      numbers_of_file<float> (power, NumberType::f32, {3, lines, samples / 2});

  double largest = 0;
  std::vector<double> expected;
  for (gsize line = 0; line < 3 * lines; line++) {
    const auto *first = sent.data () + line * samples;
    const reference::Line depths = reference::depths_of (
        reference::spectrum_of ({}, reference::Values (first, first + samples)));
    for (const reference::Complex &depth : depths) {
      expected.push_back (std::norm (depth));
      largest = std::max (largest, expected.back ());
    }
  }
  fail_unless (largest > 1e4, "no mirror was seen: %g", largest);
  for (gsize n = 0; n < expected.size (); n++)
    fail_unless (std::abs (got[n] - expected[n]) < 1e-4 * largest,
        "number %d is %g, expected %g", int (n), got[n], expected[n]);
  /* Tables are uploaded once. */
  fail_unless_equals_uint64 (write_power (30, power), uploaded);
}

/* --- cameras --- */

/* A red wall in NV12, with red and green exchanged by a kernel, is a green screen. */
TEST (test_a_kernel_between_a_camera_and_a_key_makes_what_is_keyed)
{
  const char *exchange = "source=\"kernel void exchange (global const uchar4 *input, "
                         "global uchar4 *output, int stride) { size_t n = get_global_id "
                         "(1) * (stride / 4) + get_global_id (0); output[n] = "
                         "input[n].yxzw; }\"";
  for (const char *program : {exchange, "expression=x"}) {
    Pipeline pipeline (
        std::string (
            "videotestsrc pattern=red num-buffers=4 ! video/x-raw,format=NV12,"
            "width=64,height=48 ! openclupload name=up ! openclconvert "
            "name=convert ! video/x-raw" DEVICE ",format=RGBA ! openclkernel name=k ")
        + program
        + " ! chromakey name=key ! opencldownload ! appsink name=out sync=false");
    pipeline.start ();
    for (int frame = 0; frame < 4; frame++) {
      const Output output = output_of (pipeline.pull ().give ());
      fail_unless_equals_uint64 (output.bytes.size (), 64 * 48 * 4);
      for (gsize n = 3; n < output.bytes.size (); n += 4)
        fail_unless_equals_int (output.bytes[n], program == exchange ? 0 : 255);
    }
    check_stays_on_the_device (pipeline, {"convert", "k", "key"});
    fail_unless (counts_of (pipeline["up"]).upload_bytes
                 <= 5 * 64 * 48 * 3 / 2); /* one frame may be in flight */
    for (const char *name : {"convert", "k", "key"})
      fail_unless (counts_of (pipeline[name]).upload_bytes < 1000, "%s", name);
  }
}

/* --- NNStreamer --- */

/* Caps as NNStreamer's tensor_converter writes them, for elements that only support the
 * template of tensor_filter */
TEST_ROWS (test_caps_of_tensor_converter_are_taken,
    {"3:4:2:1", "3:4:2", "3:4:2:1:1:1:1:1", "3:4:2:1:1:1:1:1:1:1:1:1:1:1:1:1"})
{
  const std::string converter =
      "other/tensors,format=(string)static,num_tensors=(int)1,dimensions=(string)"
      + std::string (row) + ",types=(string)uint8,framerate=(fraction)30/1";
  const std::string filter =
      "other/tensors,num_tensors=(int)[1,16],framerate=(fraction)[0/1,2147483647/1],"
      "format=(string)static";
  const std::pair<const char *, std::function<float (gsize)>> programs[] = {
      {"openclkernel expression=\"x + 0.5\" output-caps=other/tensors,types=float32",
          [] (gsize n) { return n * 10 + 0.5f; }},
      {"openclconvolve kernel=<<2>>", [] (gsize n) { return 2.0f * n * 10; }}};
  for (const auto &program : programs) {
    /* A 4 by 2 RGB frame, with caps set by another element */
    Pipeline pipeline (
        "appsrc name=in format=time ! video/x-raw,format=RGB,width=4,"
        "height=2,framerate=30/1 ! capssetter replace=true join=false caps=\""
        + converter + "\" ! openclupload ! " + program.first
        + " ! opencldownload ! capsfilter caps=\"" + filter
        + "\" ! appsink name=out sync=false");
    pipeline.start ();
    GstBuffer *buffer =
        check::buffer_of (filled<guint8> (24, [] (gsize n) { return guint8 (n * 10); }));
    gst_app_src_push_buffer (GST_APP_SRC (pipeline["in"]), buffer);
    const Output output = output_of (pipeline.pull ().give ());
    const std::vector<float> got = values_of<float> (output.bytes);
    fail_unless_equals_int (int (got.size ()), 24);
    for (gsize n = 0; n < 24; n++)
      fail_unless_equals_float (got[n], program.second (n));
    fail_unless (output.caps.find ("framerate=(fraction)30/1") != std::string::npos);
  }
}

/* --- memory --- */

/* An application keeps pushing its memory. So a later frame would be output into memory
 * that is also an input. */
TEST (test_arguments_that_overlap_in_memory_are_one_error)
{
  Owned<GstOpenCLContext> context = check::new_context ();
  Pipeline pipeline (
      "appsrc name=in format=time caps=\"other/tensors" DEVICE
      ",format=static,num_tensors=1,types=int32,dimensions=(string)16,"
      "framerate=25/1\" ! openclkernel name=k source=\"kernel void next "
      "(global const int *input, global int *output) { size_t n = "
      "get_global_id (0); output[n] = input[n] + 1; }\" ! appsink name=out "
      "sync=false enable-last-sample=false");
  const gsize size = 16 * sizeof (gint32);
  check::set_context (pipeline, context);
  cl_mem first = nullptr;
  GstMemory *memory = gst_opencl_memory_new (context, size, nullptr);
  check::write_memory (memory, bytes_of (std::vector<gint32> (16, 5)));
  pipeline.start ();
  for (int frame = 0; memory && frame < 20; frame++) {
    GstBuffer *buffer = gst_buffer_new ();
    gst_buffer_append_memory (buffer, memory);
    gst_app_src_push_buffer (GST_APP_SRC (pipeline["in"]), buffer);
    Owned<GstSample> sample = pipeline.pull ();
    memory = nullptr;
    if (!sample)
      break;
    GstBuffer *made = gst_sample_get_buffer (sample);
    const int expected = frame == 0 ? 6 : 7;
    fail_unless (
        check::read_buffer (made) == bytes_of (std::vector<gint32> (16, expected)));
    if (frame == 0)
      first = gst_opencl_memory_get_handle (gst_buffer_peek_memory (made, 0));
    memory = gst_opencl_memory_new_wrapped (context, first, size, nullptr, nullptr);
  }
  const Outcome outcome = pipeline.messages ();
  fail_unless (outcome.errors_of ("k").size () == 1, "%s", outcome.line ().c_str ());
  const std::string messages = outcome.errors_of ("k")[0];
  fail_unless (
      messages.find (
          "The arguments \"input\" and \"output\" overlap in memory; the kernel's "
          "arguments: __global const int *input, __global int *output")
          != std::string::npos,
      "%s", messages.c_str ());
}

/* --- kernels that do not terminate --- */

namespace {
bool
device_is_cpu ()
{
  Owned<GstOpenCLContext> context (gst_opencl_context_new (nullptr, nullptr));
  return opencl::is_cpu (context);
}

/* Runs for at least ten seconds on the fastest CPUs and GPUs: each step depends on the
 * previous one. NVIDIA's driver releases no memory while a kernel runs, so a stop takes
 * as long as the kernel. */
std::string
endless ()
{
  return std::string ("openclkernel name=k global-size=1 source=\"kernel void endless "
                      "(global const "
                      "uint *input, global uint *output) { uint s = input[0]; for (ulong "
                      "n = 0; n < ")
         + (device_is_cpu () ? "20000000000" : "400000000")
         + "; n++) s = (s ^ (s >> 7)) * 1664525 + 1013904223; output[0] = s; }\"";
}

double
seconds_since (gint64 start)
{
  return double (g_get_monotonic_time () - start) / G_TIME_SPAN_SECOND;
}
} // namespace

/* GST_OPENCL_TIMEOUT: an error in time, and a stop that does not wait. The process and
 * new pipelines continue. Objects that such a kernel may still use are not released. */
TEST (test_a_kernel_that_does_not_end_is_one_error_in_time)
{
  if (check::checks_leaks ())
    return;
  g_setenv ("GST_OPENCL_TIMEOUT", "1", TRUE);
  const gint64 start = g_get_monotonic_time ();
  {
    Pipeline pipeline ("appsrc name=in format=time caps=\"" + tensors ("uint32", "4")
                       + "\" ! openclupload ! " + endless ()
                       + " ! opencldownload ! fakesink");
    for (int frame = 0; frame < 20; frame++)
      gst_app_src_push_buffer (
          GST_APP_SRC (pipeline["in"]), check::buffer_of (Bytes (16, 1)));
    const Outcome outcome = pipeline.play ();
    const std::vector<std::string> errors = outcome.errors_of ("k");
    fail_unless (
        errors.size () == 1 && errors[0].find ("GST_OPENCL_TIMEOUT") != std::string::npos,
        "%s", outcome.line ().c_str ());
    fail_unless (seconds_since (start) < 8 * check::slowness (), "after %g s",
        seconds_since (start));
  }
  fail_unless (seconds_since (start) < (device_is_cpu () ? 9 : 60) * check::slowness (),
      "stopped after %g s", seconds_since (start));
  Chain chain ("openclkernel name=k expression=\"x * 2\"", tensors ("int32", "4"));
  fail_unless (chain.run (bytes_of (std::vector<gint32> (4, 5))).bytes
               == bytes_of (std::vector<gint32> (4, 10)));
}

/* The user stops the pipeline while the kernel runs. */
TEST (test_a_stop_does_not_wait_for_a_kernel_that_does_not_end)
{
  if (check::checks_leaks ())
    return;
  g_setenv ("GST_OPENCL_TIMEOUT", "1", TRUE);
  gint64 start;
  {
    Pipeline pipeline ("openclkernelsrc expression=i0 output-caps=other/tensors,"
                       "types=uint32,dimensions=(string)4 ! "
                       + endless () + " ! fakesink sync=false");
    pipeline.start ();
    g_usleep (300000);
    start = g_get_monotonic_time ();
  }
  fail_unless (seconds_since (start) < (device_is_cpu () ? 6 : 60) * check::slowness (),
      "stopped after %g s", seconds_since (start));
}
