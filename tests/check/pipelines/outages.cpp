/* Tests of a device that does not respond, is lost and returns, or has no free memory.
 * The pipeline reports it, the process survives, and other devices continue.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../opencl-check.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>
#include "../opencl-counting.hpp"
#include "../folder.hpp"
#include "../slowness.hpp"
#include "../stopped.hpp"
#include "../harness.hpp"

#include <atomic>
#include <thread>

using namespace check;

static const bool alone = fork_each_test ();

namespace {
const char *const oct =
    "octtestsrc num-buffers=30 pattern=mirrors ! video/x-raw(memory:OpenCLMemory),"
    "width=512,height=16 ! octwindowinterp wavelength-min=1187 wavelength-max=1433 ! "
    "octfft name=last ! opencldownload ! videoconvert ! fakesink";
const char *const keying =
    "videotestsrc num-buffers=30 ! video/x-raw,format=RGBA,width=96,height=64 ! "
    "openclupload ! chromakey ! noisereduce ! flowkey name=last iterations=2000 ! "
    "opencldownload ! videoconvert ! fakesink";
const char *const composition =
    "videotestsrc num-buffers=30 ! video/x-raw,format=RGBA,width=96,height=64 ! "
    "openclupload ! openclcompositor name=last ! opencldownload ! videoconvert ! "
    "fakesink";
const struct {
  const char *label, *line;
} pipelines[] = {{"oct", oct}, {"keying", keying}, {"composition", composition}};

/* Blocks the compute queue of element `last` from its tenth frame until open(), like a
 * kernel that does not end. */
struct Stall {
  explicit Stall (GstElement *pipeline)
  {
    GstElement *last = gst_bin_get_by_name (GST_BIN (pipeline), "last");
    GstPad *pad = gst_element_get_static_pad (last, "src");
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, count, this, nullptr);
    gst_object_unref (pad);
    gst_object_unref (last);
  }
  ~Stall ()
  {
    open ();
    if (event)
      clReleaseEvent (event);
    gst_clear_object (&context);
  }

  void open ()
  {
    if (event && !is_open)
      clSetUserEventStatus (event, CL_COMPLETE);
    is_open = true;
  }

  static GstPadProbeReturn count (GstPad *, GstPadProbeInfo *info, gpointer data)
  {
    auto *self = static_cast<Stall *> (data);
    if (++self->frames == 10)
      self->begin (GST_PAD_PROBE_INFO_BUFFER (info));
    return GST_PAD_PROBE_OK;
  }

  void begin (GstBuffer *frame)
  {
    cl_int code;
    context = GST_OPENCL_CONTEXT (gst_object_ref (
        gst_opencl_memory_get_context (gst_buffer_peek_memory (frame, 0))));
    event = clCreateUserEvent (gst_opencl_context_get_handle (context), &code);
    fail_unless_equals_int (code, CL_SUCCESS);
    fail_unless_equals_int (
        clEnqueueBarrierWithWaitList (queue_of (context), 1, &event, nullptr),
        CL_SUCCESS);
    clFlush (queue_of (context));
    since = g_get_monotonic_time ();
  }

  gdouble seconds () const
  {
    return gdouble (g_get_monotonic_time () - since) / G_TIME_SPAN_SECOND;
  }

  std::atomic<guint> frames{0};
  GstOpenCLContext *context = nullptr;
  cl_event event = nullptr;
  std::atomic<gint64> since{0};
  bool is_open = false;
};

std::string
all_of (const Outcome &outcome)
{
  std::string all = outcome.eos ? "an end" : "";
  for (const std::string &error : outcome.errors)
    all += (all.empty () ? "" : ", ") + error;
  return all;
}

void
check_works (const char *line)
{
  Outcome outcome = run (line);
  fail_unless (
      outcome.eos && outcome.errors.empty (), "%s: %s", line, all_of (outcome).c_str ());
}

/* Number of devices of platform 0, which "0:N" names */
cl_uint
count_devices ()
{
  cl_platform_id platform;
  cl_uint n = 0;
  fail_unless_equals_int (clGetPlatformIDs (1, &platform, nullptr), CL_SUCCESS);
  clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n);
  return n;
}

guint
errors_of_elements (const Outcome &outcome)
{
  guint errors = 0; /* a source posts one of its own */
  for (const std::string &error : outcome.errors)
    errors += error.find ("Internal data stream error") == std::string::npos;
  return errors;
}
} // namespace

TEST_ROWS (test_a_device_that_does_not_answer_is_an_error_in_time, pipelines)
{
  g_setenv ("GST_OPENCL_TIMEOUT", "1", TRUE);
  GstElement *pipeline = launch (row.line);
  Stall stall (pipeline);
  Outcome outcome = play (pipeline);
  fail_unless (
      stall.seconds () < 3 * slowness (), "an error after %g s", stall.seconds ());
  fail_unless (errors_of_elements (outcome) >= 1);
  fail_unless (outcome.errors[0].find ("GST_OPENCL_TIMEOUT") != std::string::npos, "%s",
      outcome.errors[0].c_str ());
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  fail_unless (
      stall.seconds () < 6 * slowness (), "stopped after %g s", stall.seconds ());

  /* The old context is still blocked. */
  check_works (row.line);
}

TEST_ROWS (test_without_a_limit_a_device_is_waited_for, pipelines)
{
  GstElement *pipeline = launch (row.line);
  Stall stall (pipeline);
  std::thread later ([&stall] {
    while (!stall.since)
      g_usleep (1000);
    g_usleep (3 * G_USEC_PER_SEC);
    stall.open ();
  });
  Outcome outcome = play (pipeline);
  later.join ();
  fail_unless (outcome.eos && outcome.errors.empty ());
  fail_unless (stall.seconds () >= 3);
  fail_unless_equals_int (stall.frames, 30);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

/* A timeout that is not reached has no effect. */
TEST (test_within_the_limit_a_device_is_waited_for)
{
  g_setenv ("GST_OPENCL_TIMEOUT", "30", TRUE);
  for (const auto &each : pipelines)
    check_works (each.line);
}

/* A device is not blamed for the time in which this process is stopped. */
TEST (test_a_stopped_process_does_not_reach_the_limit)
{
  g_setenv ("GST_OPENCL_TIMEOUT", "3", TRUE);
  GstElement *pipeline = launch (oct);
  Stall stall (pipeline);
  std::thread later ([&stall] {
    while (!stall.since)
      g_usleep (1000);
    stop_for (5);
    g_usleep (G_USEC_PER_SEC / 2);
    stall.open ();
  });
  const Outcome outcome = play (pipeline);
  later.join ();
  fail_unless (outcome.eos && outcome.errors.empty (), "%s", all_of (outcome).c_str ());
  fail_unless (stall.seconds () >= 5);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

TEST (test_another_device_goes_on)
{
  g_setenv ("GST_OPENCL_TIMEOUT", "1", TRUE);
  g_setenv ("POCL_DEVICES", "pthread pthread", TRUE);
  if (count_devices () < 2)
    return; /* only PoCL has a configurable number of devices */
  GstElement *other =
      launch ("videotestsrc num-buffers=300 ! video/x-raw,format=RGBA,width=96,height=64,"
              "framerate=100/1 ! openclupload device=0:1 ! chromakey ! opencldownload ! "
              "fakesink sync=true");
  gst_element_set_state (other, GST_STATE_PLAYING);
  GstElement *pipeline = launch (
      "octtestsrc device=0:0 num-buffers=30 ! video/x-raw(memory:OpenCLMemory),"
      "width=512,height=16 ! octwindowinterp name=last ! octfft ! opencldownload ! "
      "videoconvert ! fakesink");
  Stall stall (pipeline);
  fail_unless (errors_of_elements (play (pipeline)) >= 1);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  Outcome outcome = play (other);
  fail_unless (outcome.eos && outcome.errors.empty ());
  for (GstElement *each : {pipeline, other}) {
    gst_element_set_state (each, GST_STATE_NULL);
    gst_object_unref (each);
  }
}

TEST_ROWS (test_a_device_that_was_lost_comes_back, pipelines)
{
  struct Loss {
    static GstPadProbeReturn count (GstPad *, GstPadProbeInfo *, gpointer data)
    {
      if (++*static_cast<guint *> (data) == 10)
        counting::lose_device (true);
      return GST_PAD_PROBE_OK;
    }
  };
  const char *line = row.line;
  guint frames = 0;
  GstElement *pipeline = launch (line);
  GstElement *last = gst_bin_get_by_name (GST_BIN (pipeline), "last");
  GstPad *pad = gst_element_get_static_pad (last, "src");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, Loss::count, &frames, nullptr);
  gst_object_unref (pad);
  gst_object_unref (last);
  fail_unless (errors_of_elements (play (pipeline)) >= 1);
  gst_element_set_state (pipeline, GST_STATE_NULL);

  counting::hide_platforms (true); /* as if the card were removed */
  Outcome without = run (line);
  fail_unless (errors_of_elements (without) >= 1);
  counting::hide_platforms (false);
  check_works (line);
  frames = 100; /* the same elements work again */
  Outcome again = play (pipeline);
  fail_unless (again.eos && again.errors.empty (), "%s", all_of (again).c_str ());
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

/* Each element that gets no memory reports it once. */
TEST_ROWS (test_out_of_memory_error_and_next_pipeline_works, pipelines)
{
  const char *line = row.line;
  check_works (line);
  for (int left : {0, 1, 2, 3, 5, 8}) {
    counting::fail_buffers_after (left);
    Outcome outcome = run (line);
    fail_unless (outcome.eos || !outcome.errors.empty (), "%d buffers: %s", left,
        all_of (outcome).c_str ());
    for (const std::string &error : outcome.errors) {
      const std::string element = error.substr (0, error.find (':'));
      fail_unless_equals_int (outcome.errors_of (element.c_str ()).size (), 1);
    }
    counting::fail_buffers_after (-1);
    check_works (line);
  }
}

/* The driver refuses what exceeds the device's memory; PoCL's size is configurable. */
static GstPadProbeReturn
lose_events (GstPad *, GstPadProbeInfo *, gpointer)
{
  for (counting::Call call : {counting::GET_EVENT_INFO, counting::WAIT_FOR_EVENTS})
    counting::fail_always (call, CL_OUT_OF_RESOURCES);
  return GST_PAD_PROBE_OK;
}

static const struct {
  const char *label, *caps;
} written[] = {{"arrays", "application/x-oct(ANY),format=F32LE"},
    {"pictures", "video/x-raw(ANY),format=GRAY8"}};

/* A frame that could not be read is not written. */
TEST_ROWS (test_a_file_gets_no_frame_whose_transfer_fails, written)
{
  Folder folder;
  GstElement *pipeline =
      launch (std::string ("octtestsrc num-buffers=3 ! "
                           "video/x-raw(memory:OpenCLMemory),width=512,height=16 ! "
                           "octwindowinterp ! octfft scale=log ! ")
              + row.caps + " ! opencldownload ! octfilesink name=out location="
              + folder.file ("all.nrrd"));
  Owned<GstElement> out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  Owned<GstPad> pad = gst_element_get_static_pad (out, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, lose_events, nullptr, nullptr);
  const Outcome outcome = play (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  fail_unless (errors_of_elements (outcome) >= 1);
  fail_unless (folder.names ().empty ());
}

TEST (test_a_frame_too_large_for_the_device_is_one_error)
{
  g_setenv ("POCL_MEMORY_LIMIT", "1", TRUE); /* GiB, of which a quarter for a buffer */
  GstOpenCLContext *context = new_context ();
  cl_ulong most = 0;
  clGetDeviceInfo (gst_opencl_context_get_device (context), CL_DEVICE_MAX_MEM_ALLOC_SIZE,
      sizeof most, &most, nullptr);
  gst_object_unref (context);
  if (most >= 400000000)
    return;
  Outcome outcome = run (
      "videotestsrc num-buffers=1 pattern=black ! video/x-raw,format=GRAY8,width=20000,"
      "height=20000 ! openclupload ! opencldownload ! fakesink");
  fail_unless_equals_int (errors_of_elements (outcome), 1);
  check_works (keying);
}

namespace {
/* Counts the buffers that leave an element, and those after the first ERROR message. */
class Watch {
public:
  Watch (GstElement *pipeline, const char *element)
      : bus (gst_element_get_bus (pipeline)), pad (pad_of (pipeline, element, "src"))
  {
    gst_bus_set_sync_handler (bus, note_error, this, nullptr);
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, count, this, nullptr);
  }
  ~Watch () { gst_bus_set_sync_handler (bus, nullptr, nullptr, nullptr); }

  static GstPad *pad_of (GstElement *pipeline, const char *element, const char *name)
  {
    Owned<GstElement> found = gst_bin_get_by_name (GST_BIN (pipeline), element);
    return gst_element_get_static_pad (found, name);
  }

  std::atomic<guint> all{0}, late{0};

private:
  static GstBusSyncReply note_error (GstBus *, GstMessage *message, gpointer watch)
  {
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
      static_cast<Watch *> (watch)->failed = true;
    return GST_BUS_PASS;
  }
  static GstPadProbeReturn count (GstPad *, GstPadProbeInfo *, gpointer data)
  {
    auto *watch = static_cast<Watch *> (data);
    watch->all++;
    watch->late += watch->failed ? 1 : 0;
    return GST_PAD_PROBE_OK;
  }

  Owned<GstBus> bus;
  Owned<GstPad> pad;
  std::atomic<bool> failed{false};
};

#define B_SCANS "video/x-raw(ANY),width=512,height=16 ! "
#define DEPTHS                                                                           \
  "octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft scale=linear ! "     \
  "application/x-oct(memory:OpenCLMemory),format=F32LE ! "
#define VOLUME                                                                           \
  DEPTHS "octvolume name=last b-scans=50 ! other/tensors(ANY),num_tensors=1 ! "          \
         "opencldownload ! fakesink async=false "
#define PICTURE DEPTHS "octdisplay ! opencldownload ! fakesink async=false "

const struct {
  const char *label, *line;
} volumes[] = {
    {"alone", "octtestsrc num-buffers=6 ! " B_SCANS VOLUME},
    {"behind a tee", "octtestsrc num-buffers=6 ! " B_SCANS
                     "openclupload ! tee name=t t. ! " VOLUME "t. ! " PICTURE},
    {"behind a tee and a queue", /* endless, because one branch may finish first */
        "octtestsrc ! " B_SCANS "openclupload ! tee name=t t. ! queue ! " VOLUME
        "t. ! queue ! " PICTURE},
    {"of a source of the host",
        "videotestsrc num-buffers=6 ! video/x-raw,format=GRAY16_LE,width=512,height=16 ! "
        "tee name=t t. ! openclupload ! " VOLUME "t. ! openclupload ! " PICTURE},
};
} // namespace

/* The stream has fewer B-scans than the volume, so the only volume is sent at EOS. */
TEST_ROWS (test_octvolume_sends_no_volume_that_a_device_error_cuts_off, volumes)
{
  bool ended = false;
  guint n = 1;

  for (; !ended && n < 40; n += 5) {
    counting::fail_call (counting::ENQUEUE_KERNEL, n, CL_OUT_OF_RESOURCES);
    Owned<GstElement> pipeline = launch (row.line);
    Watch watch (pipeline, "last");
    const Outcome outcome = play (pipeline); /* waits for messages that follow an error */
    gst_element_set_state (pipeline, GST_STATE_NULL);
    ended = outcome.eos && outcome.errors.empty ();
    fail_unless (watch.all == (ended ? 1 : 0), "launch %u: %u volumes, %s", n,
        guint (watch.all), all_of (outcome).c_str ());
  }
  fail_unless (n > 10, "after %u launches", n);
}

namespace {
#define LAYER                                                                            \
  "videotestsrc num-buffers=20 ! video/x-raw,format=RGBA,width=96,height=64 ! "
#define ARRAY                                                                            \
  "openclkernelsrc num-buffers=20 expression=frame ! other/"                             \
  "tensors(memory:OpenCLMemory),types=int32,dimensions=(string)5,framerate=25/1 ! "

const struct {
  const char *label, *line;
} mixers[] = {
    {"compositor", LAYER "openclupload ! chromakey name=fails ! last.sink_0 " LAYER
                         "openclupload ! last.sink_1 openclcompositor name=last ! "
                         "opencldownload ! fakesink"},
    {"mixer",
        ARRAY "last.a " ARRAY "openclkernel name=fails expression=\"2 * x\" ! last.b "
              "openclkernelmixer name=last expression=\"a + b\" ! opencldownload ! "
              "fakesink"},
};

/* Makes the next kernel launch fail before the sixth frame, when the mixer waits for that
 * frame. */
GstPadProbeReturn
fail_sixth (GstPad *, GstPadProbeInfo *, gpointer frames)
{
  if (++*static_cast<guint *> (frames) == 6) {
    g_usleep (300000);
    counting::fail_call (counting::ENQUEUE_KERNEL, 1, CL_OUT_OF_RESOURCES);
  }
  return GST_PAD_PROBE_OK;
}
} // namespace

/* An input that ended with an error is not treated like an input at EOS. */
TEST_ROWS (test_mixers_send_nothing_after_a_device_error_of_an_input, mixers)
{
  guint frames = 0;
  Owned<GstElement> pipeline = launch (row.line);
  Watch watch (pipeline, "last");
  Owned<GstPad> pad = Watch::pad_of (pipeline, "fails", "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, fail_sixth, &frames, nullptr);
  const Outcome outcome = play (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless (errors_of_elements (outcome) == 1, "%s", all_of (outcome).c_str ());
  fail_unless (watch.all == 5 && watch.late == 0, "%u frames, %u after the error",
      guint (watch.all), guint (watch.late));
}
