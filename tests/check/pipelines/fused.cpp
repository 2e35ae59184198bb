/* Tests that fusing octwindowinterp and octfft into one launch changes no output. The
 * reference is the same pipeline with a launch for each element.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/gstopenclfilter.h>

#include "tests/check/opencl-counting.hpp"
#include "tests/check/harness.hpp"

using namespace check;

static const bool alone = fork_each_test ();
using Bytes = std::vector<guint8>;

namespace {
const char picture[] = "video/x-raw(memory:OpenCLMemory),format=GRAY8";
const char levels[] = "application/x-oct(memory:OpenCLMemory),format=F32LE";
const char raw[] =
    "octtestsrc num-buffers=4 ! video/x-raw(memory:OpenCLMemory),width=512,height=53";
const gsize n_lines = 53, picture_stride = GST_ROUND_UP_4 (n_lines);
const char resample[] = "octwindowinterp name=window wavelength-min=1187 "
                        "wavelength-max=1433";
/* Rounding error of an amplitude: relative to the largest raw value, and to the
 * amplitude */
const double raw_rounding = 65535.0 / (1 << 22), own_rounding = 1e-4;

std::string
fft (bool fused, const char *caps)
{
  return std::string ("octfft name=fft db-max=70 fused=") + (fused ? "always" : "never")
         + " ! " + caps;
}

/* Returns all frames that arrive at the appsink `name` until EOS. */
std::vector<Bytes>
pull_all (GstElement *pipeline, const char *name)
{
  Owned<GstElement> sink = gst_bin_get_by_name (GST_BIN (pipeline), name);
  std::vector<Bytes> frames;
  while (Owned<GstSample> sample = gst_app_sink_pull_sample (GST_APP_SINK (sink))) {
    GstMapInfo map;
    fail_unless (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ));
    frames.emplace_back (map.data, map.data + map.size);
    gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
  }
  sink = nullptr;
  return frames;
}

/* Results of a run: buffers of its appsinks "a" and "b", and numbers of launches and
 * builds */
struct Run {
  std::vector<Bytes> a, b;
  guint64 window_launches = 0;
  guint64 fft_launches = 0;
  guint builds = 0;
};

guint64
launches_of (GstElement *pipeline, const char *name)
{
  Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstOpenCLCounts counts;
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (element), &counts);
  element = nullptr;
  return counts.launches;
}

guint
builds_of (GstElement *pipeline, const char *name)
{
  Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (pipeline), name);
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (element);
  guint builds = gst_opencl_context_get_n_builds (gst_opencl_filter_get_context (filter));
  element = nullptr;
  return builds;
}

Run
run_to_appsinks (const std::string &line, bool second = false)
{
  Run result;
  Owned<GstElement> pipeline = launch (line);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  result.a = pull_all (pipeline, "a");
  if (second)
    result.b = pull_all (pipeline, "b");
  result.window_launches = launches_of (pipeline, "window");
  result.fft_launches = launches_of (pipeline, "fft");
  result.builds = builds_of (pipeline, "fft");
  gst_element_set_state (pipeline, GST_STATE_NULL);
  pipeline = nullptr;
  return result;
}

void
assert_same_pictures (const std::vector<Bytes> &fused, const std::vector<Bytes> &apart)
{
  expect_equal (fused.size (), 4);
  expect_equal (apart.size (), 4);
  for (gsize f = 0; f < fused.size (); f++) {
    expect_equal (fused[f].size (), apart[f].size ());
    for (gsize i = 0; i < fused[f].size (); i++)
      fail_unless (i % picture_stride >= n_lines /* padding */
                       || std::abs (fused[f][i] - apart[f][i]) <= 1,
          "frame %d, byte %d: %d, %d", int (f), int (i), fused[f][i], apart[f][i]);
  }
}

double
amplitude_of (const Bytes &frame, gsize n)
{
  float level;
  memcpy (&level, frame.data () + n * sizeof level, sizeof level);
  return std::pow (10, level / 20);
}

void
assert_same_levels (const std::vector<Bytes> &fused, const std::vector<Bytes> &apart)
{
  expect_equal (fused.size (), 4);
  for (gsize f = 0; f < fused.size (); f++) {
    expect_equal (fused[f].size (), apart[f].size ());
    for (gsize n = 0; n < fused[f].size () / sizeof (float); n++) {
      double a = amplitude_of (fused[f], n), b = amplitude_of (apart[f], n);
      fail_unless (std::abs (a - b) < raw_rounding + own_rounding * b,
          "frame %d, value %d: %f, %f", int (f), int (n), a, b);
    }
  }
}

/* octwindowinterp looks for saturated samples in the first frame and in one of 16. */
const gint looks = 1;

const char automatic[] =
    "octfft name=fft ! video/x-raw(memory:OpenCLMemory),format=GRAY8";
const char to_a[] = " ! appsink name=a sync=false";
const char to_b[] = " ! appsink name=b sync=false";
} // namespace

/* As images or as levels, whose kernels differ only in the last step */
const struct {
  const char *options, *caps;
} equal_chains[] = {
    {"", picture},
    {" dispersion-a2=2e-4", levels},
    {" interpolation=cubic", picture},
    {" interpolation=lanczos window=flattop", levels},
    {" background=frame", levels},
    {" background=rolling background-frames=2", picture},
};

TEST_ROWS (test_fused_results_are_those_of_the_two_elements, equal_chains)
{
  std::string head = std::string (raw) + " ! " + resample + row.options + " ! ";
  Run fused = run_to_appsinks (head + fft (true, row.caps) + to_a);
  Run apart = run_to_appsinks (head + fft (false, row.caps) + to_a);
  if (row.caps == picture)
    assert_same_pictures (fused.a, apart.a);
  else
    assert_same_levels (fused.a, apart.a);
}

TEST (test_fused_frames_cost_one_launch)
{
  std::string head = std::string (raw) + " ! " + resample + " ! ";
  Run fused = run_to_appsinks (head + fft (true, picture) + to_a);
  expect_equal (fused.window_launches, looks);
  expect_equal (fused.fft_launches, 4);
  Run apart = run_to_appsinks (head + fft (false, picture) + to_a);
  expect_equal (apart.window_launches, 4 + looks);
  fail_unless (apart.fft_launches >= 8);
}

/* The mean takes two launches; subtracting it takes none. */
TEST (test_fused_frames_with_a_background_cost_two_launches_more)
{
  for (const char *background : {" background=frame", " background=rolling"}) {
    Run fused = run_to_appsinks (
        std::string (raw) + " ! " + resample + background + " ! " + automatic + to_a);
    expect_equal (fused.window_launches, 8 + looks);
    expect_equal (fused.fft_launches, 4);
  }
}

/* Fused elements build one program instead of one each. */
TEST (test_fused_builds_nothing_that_no_frame_needs)
{
  std::string head = std::string (raw) + " ! " + resample + " ! ";
  Run fused = run_to_appsinks (head + fft (true, picture) + to_a);
  Run apart = run_to_appsinks (head + fft (false, picture) + to_a);
  expect_equal (fused.builds + 1, apart.builds);
}

TEST (test_fused_on_a_device_without_compute_units_is_the_same)
{
  const cl_uint none = 0;
  std::string line = std::string (raw) + " ! " + resample + " ! " + fft (true, picture);
  Run with = run_to_appsinks (line + to_a);
  counting::override_device_info (CL_DEVICE_MAX_COMPUTE_UNITS, &none, sizeof none);
  Run without = run_to_appsinks (line + to_a);
  counting::restore_device_info ();
  assert_same_pictures (with.a, without.a);
}

TEST (test_fused_over_a_queue_is_the_same)
{
  std::string head = std::string (raw) + " ! " + resample + " ! queue ! ";
  Run fused = run_to_appsinks (head + fft (true, picture) + to_a);
  Run apart = run_to_appsinks (head + fft (false, picture) + to_a);
  assert_same_pictures (fused.a, apart.a);
  expect_equal (fused.window_launches, looks);
}

/* The branch without octfft gets spectra, which are computed when it needs them. */
TEST (test_fused_beside_a_tee_shows_the_spectra_as_they_are)
{
  for (const char *background : {"", " background=rolling background-frames=2"}) {
    std::string head =
        std::string (raw) + " ! " + resample + background + " ! tee name=t ! queue ! ";
    std::string other = std::string (" t. ! queue ! opencldownload") + to_b;
    Run fused = run_to_appsinks (head + fft (true, picture) + to_a + other, true);
    Run apart = run_to_appsinks (head + fft (false, picture) + to_a + other, true);
    assert_same_pictures (fused.a, apart.a);
    expect_equal (fused.b.size (), 4);
    fail_unless (fused.b == apart.b);
  }
}

/* Probe that maps every frame for the CPU */
static GstPadProbeReturn
keep_bytes (GstPad *pad, GstPadProbeInfo *info, gpointer user_data)
{
  GstMapInfo map;
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
  static_cast<std::vector<Bytes> *> (user_data)->emplace_back (
      map.data, map.data + map.size);
  gst_buffer_unmap (buffer, &map);
  return GST_PAD_PROBE_OK;
}

TEST (test_fused_lets_a_probe_between_see_the_spectra)
{
  std::vector<Bytes> seen[2];
  for (bool fused : {false, true}) {
    Owned<GstElement> pipeline = launch (
        std::string (raw) + " ! " + resample + " ! " + fft (fused, picture) + to_a);
    Owned<GstElement> window = gst_bin_get_by_name (GST_BIN (pipeline), "window");
    Owned<GstPad> pad = gst_element_get_static_pad (window, "src");
    gst_pad_add_probe (
        pad, GST_PAD_PROBE_TYPE_BUFFER, keep_bytes, &seen[fused ? 1 : 0], nullptr);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    expect_equal (pull_all (pipeline, "a").size (), 4);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
  expect_equal (seen[0].size (), 4);
  fail_unless (seen[0] == seen[1]);
}

TEST (test_fused_is_refused_for_a_length_that_no_work_group_holds)
{
  Outcome outcome = run ("octtestsrc num-buffers=1 ! "
                         "video/x-raw(memory:OpenCLMemory),width=1001,height=4 ! "
                         "octwindowinterp ! octfft name=fft fused=always ! fakesink");
  expect_equal (outcome.errors_of ("fft").size (), 1);
  fail_unless (outcome.errors_of ("fft")[0].find ("1001") != std::string::npos);
  outcome = run ("octtestsrc num-buffers=1 ! "
                 "video/x-raw(memory:OpenCLMemory),width=1001,height=4 ! "
                 "octwindowinterp ! octfft name=fft ! fakesink");
  fail_unless (outcome.eos);
}

/* An element in between changes the caps but not the buffers: twice as many A-lines of
 * half as many samples. The deferred work was prepared for the old caps. */
TEST (test_deferred_spectra_of_other_caps_are_not_merged)
{
  const std::string source = "octtestsrc num-buffers=3 ! "
                             "video/x-raw(memory:OpenCLMemory),width=512,height=64 ! "
                             "octwindowinterp name=window ! ";
  const std::string halves = "capssetter join=true replace=false caps=\"application/"
                             "x-oct(memory:OpenCLMemory),lines=128,samples=256\" ! ";
  const std::string sink = std::string (levels) + " ! appsink name=a sync=false";
  Run apart = run_to_appsinks (source + halves + "octfft name=fft fused=never ! " + sink);
  Run fused =
      run_to_appsinks (source + halves + "octfft name=fft fused=always ! " + sink);

  expect_equal (fused.a.size (), 3);
  for (gsize f = 0; f < 3; f++) {
    expect_equal (fused.a[f].size (), 128 * 128 * sizeof (float));
    auto *made = reinterpret_cast<const float *> (fused.a[f].data ());
    auto *expected = reinterpret_cast<const float *> (apart.a[f].data ());
    for (gsize i = 0; i < 128 * 128; i++)
      fail_unless (fabs (pow (10, made[i] / 20) - pow (10, expected[i] / 20))
                       <= raw_rounding + own_rounding * pow (10, expected[i] / 20),
          "frame %zu value %zu: %f dB, expected %f dB", f, i, made[i], expected[i]);
  }
}

/* The same for keying: the memory holds frames of 64 columns, whatever the caps say. */
TEST (test_deferred_frames_of_another_width_are_not_merged)
{
  for (const char *width : {"32", "65", "640"}) {
    Outcome outcome =
        run (std::string ("videotestsrc num-buffers=3 ! "
                          "video/x-raw,format=RGBA,width=64,height=48 ! openclupload ! "
                          "chromakey ! capssetter join=true replace=false caps=\"video/"
                          "x-raw(memory:OpenCLMemory),width=")
             + width + "\" ! noisereduce name=reduce ! opencldownload ! fakesink");
    fail_unless (outcome.eos || outcome.errors_of ("reduce").size () == 1, "%s: %s",
        width, outcome.errors.empty () ? "nothing" : outcome.errors[0].c_str ());
  }
}

/* The recording has all frames, although a display beside it shows only a tenth. */
TEST (test_a_slow_display_loses_nothing_of_a_recording)
{
  Owned<GstElement> pipeline = launch (
      "octtestsrc num-buffers=150 ! "
      "video/x-raw(memory:OpenCLMemory),width=256,height=8,framerate=300/1 ! "
      "octwindowinterp name=window ! octfft name=fft ! opencldownload ! tee name=t "
      "t. ! queue max-size-buffers=2 leaky=downstream ! "
      "identity sleep-time=30000 ! fakesink sync=true qos=true max-lateness=1 "
      "t. ! queue ! fakesink name=recording sync=false signal-handoffs=true");
  Owned<GstElement> recording = gst_bin_get_by_name (GST_BIN (pipeline), "recording");
  guint frames = 0;
  g_signal_connect (recording, "handoff",
      G_CALLBACK (+[] (GstElement *, GstBuffer *, GstPad *, guint *n) { (*n)++; }),
      &frames);
  Outcome outcome = play (pipeline);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless (outcome.eos && outcome.errors.empty ());
  expect_equal (frames, 150);
  /* QoS is off by default, and can be turned on. */
  for (const char *name : {"window", "fft"}) {
    Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (pipeline), name);
    gboolean qos;
    g_object_get (element, "qos", &qos, nullptr);
    fail_if (qos);
    g_object_set (element, "qos", TRUE, nullptr);
    g_object_get (element, "qos", &qos, nullptr);
    fail_unless (qos);
  }
}
