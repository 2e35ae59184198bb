/* Tests of octtestsrc against a model in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"
#include <gst/app/gstappsink.h>
#include <gst/check/gstharness.h>
#include <gst/check/gsttestclock.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/video/video.h>

#include "tests/check/device-kind.hpp"
#include "tests/check/one-context.hpp"
#include "sourceframes.hpp"
#include "tests/check/opencl-counting.hpp"

namespace {
using check::BadSettings;
using check::device_caps;
using check::frame_of;
using check::frame_of_sample;
using check::frames_of;
using check::sized;
using check::SourcePipeline;
using check::system_caps;
using Frame = check::SourceFrame;

const double pi = 3.14159265358979323846;
struct Mirror {
  double depth, amplitude;
};

std::string
property_of (const std::vector<Mirror> &mirrors)
{
  std::string depths, amplitudes;
  for (const Mirror &mirror : mirrors) {
    const char *comma = depths.empty () ? "" : ",";
    depths += comma + std::to_string (mirror.depth);
    amplitudes += comma + std::to_string (mirror.amplitude);
  }
  return "pattern=mirrors depths=\"<" + depths + ">\" amplitudes=\"<" + amplitudes
         + ">\" ";
}

struct Spectrometer {
  double wavelength_min = 1187, wavelength_max = 1433;
  double a2 = 0, a3 = 0;
  guint samples = 2048;

  double wavenumber (double j) const
  {
    return 2 * pi
           / (wavelength_min + (wavelength_max - wavelength_min) * j / (samples - 1));
  }
  /* Position of sample j on the grid of even wavenumbers */
  double position (double j) const
  {
    const double first = wavenumber (0), last = wavenumber (samples - 1);
    return (wavenumber (j) - first) / (last - first) * (samples - 1);
  }
  double phase (double m) const
  {
    const double q = m - samples / 2.0;
    return a2 * q * q + a3 * q * q * q;
  }
  double spectrum (const std::vector<Mirror> &mirrors, double level, guint j) const
  {
    const double m = position (j);
    double sum = level;
    for (const Mirror &mirror : mirrors)
      sum +=
          mirror.amplitude
          * std::cos (2 * pi * std::fmod (mirror.depth * m / samples, 1.0) + phase (m));
    return std::min (std::max (sum, 0.0), 65535.0);
  }
};

/* Largest difference of a frame from the exact spectrum */
double
worst_difference (const Frame &frame, const Spectrometer &spectrometer,
    const std::vector<Mirror> &mirrors, double level)
{
  double worst = 0;
  for (guint j = 0; j < frame.width; j++) {
    const double exact = spectrometer.spectrum (mirrors, level, j);
    for (guint line = 0; line < frame.height; line++)
      worst = std::max (worst, std::fabs (frame.at (line, j) - exact));
  }
  return worst;
}

void
check_mirrors (
    const Spectrometer &spectrometer, const std::vector<Mirror> &mirrors, guint lines)
{
  gchar *spectrometer_properties = g_strdup_printf (
      "noise=0 level=20000 wavelength-min=%.17g wavelength-max=%.17g dispersion-a2=%.17g "
      "dispersion-a3=%.17g",
      spectrometer.wavelength_min, spectrometer.wavelength_max, spectrometer.a2,
      spectrometer.a3);
  const Frame frame = frame_of (
      property_of (mirrors) + spectrometer_properties, spectrometer.samples, lines);
  g_free (spectrometer_properties);
  const double worst = worst_difference (frame, spectrometer, mirrors, 20000);
  fail_unless (worst <= 0.52, "%u samples: %g off", spectrometer.samples, worst);
}

struct Moments {
  double mean = 0, deviation = 0, beyond_two = 0, skewness = 0, kurtosis = 0;
};

Moments
moments_of (const std::vector<double> &values)
{
  Moments moments;
  for (double value : values)
    moments.mean += value / values.size ();
  for (double value : values)
    moments.deviation += (value - moments.mean) * (value - moments.mean) / values.size ();
  moments.deviation = std::sqrt (moments.deviation);
  for (double value : values)
    moments.beyond_two += std::fabs (value - moments.mean) > 2 * moments.deviation
                              ? 1.0 / values.size ()
                              : 0;
  for (double value : values) {
    const double off = (value - moments.mean) / moments.deviation;
    moments.skewness += off * off * off / values.size ();
    moments.kurtosis += off * off * off * off / values.size ();
  }
  return moments;
}

/* Kolmogorov-Smirnov distance of integers from a rounded normal distribution */
double
distance_from_normal (std::vector<double> values, double deviation)
{
  double distance = 0;
  std::sort (values.begin (), values.end ());
  for (gsize i = 0; i < values.size (); i++) {
    if (i + 1 < values.size () && values[i + 1] == values[i])
      continue;
    const double upto =
        0.5 * std::erfc (-(values[i] + 0.5) / deviation / std::sqrt (2.0));
    distance = std::max (distance, std::fabs ((i + 1.0) / values.size () - upto));
  }
  return distance;
}

double
correlation (const std::vector<double> &a, const std::vector<double> &b)
{
  const Moments of_a = moments_of (a), of_b = moments_of (b);
  double sum = 0;
  for (gsize i = 0; i < a.size (); i++)
    sum += (a[i] - of_a.mean) * (b[i] - of_b.mean) / a.size ();
  return sum / (of_a.deviation * of_b.deviation);
}

/* Depths of each A-line of `frames` frames, as octwindowinterp and octfft make them */
std::vector<std::vector<double>>
depths_of (const std::string &properties, guint lines, const std::string &window = "",
    guint frames = 1)
{
  check::Pipeline pipeline (check::text (
      "octtestsrc %s num-buffers=%u ! video/x-raw(ANY),width=2048,height=%u ! "
      "octwindowinterp wavelength-min=1187 wavelength-max=1433 interpolation=lanczos16 "
      "%s ! "
      "octfft scale=linear ! application/x-oct(ANY),format=F32LE ! opencldownload ! "
      "appsink name=out sync=false",
      properties.c_str (), frames, lines, window.c_str ()));
  std::vector<std::vector<double>> depths;
  pipeline.start ();
  while (const check::Owned<GstSample> sample = pipeline.pull ()) {
    const check::Bytes bytes = check::read_buffer (gst_sample_get_buffer (sample));
    const auto *at = reinterpret_cast<const float *> (bytes.data ());
    for (guint line = 0; line < lines; line++, at += 1024)
      depths.emplace_back (at, at + 1024);
  }
  fail_unless_equals_int (depths.size (), lines * frames);
  return depths;
}

const char no_mirrors[] = "pattern=mirrors depths=\"<>\" amplitudes=\"<>\" level=20000 ";

GstOpenCLCounts
counts_after (const char *caps, const char *pattern, guint n)
{
  SourcePipeline pipeline (std::string (pattern) + " num-buffers=" + std::to_string (n),
      sized (caps, 256, 16));
  GstOpenCLCounts counts;
  Frame frame;
  guint pulled = 0;
  pipeline.start ();
  while (pipeline.pull (frame))
    pulled++;
  fail_unless_equals_int (pulled, n);
  fail_unless (gst_opencl_statistics_get_counts (
      gst_opencl_statistics_of (pipeline.source), &counts));
  return counts;
}
} // namespace

TEST (test_mirrors_give_the_exact_fringe_of_any_wavelengths_and_dispersion)
{
  for (guint samples : {64u, 2048u, 16384u}) {
    Spectrometer spectrometer;
    spectrometer.samples = samples;
    check_mirrors (spectrometer,
        {{samples / 40.0, 1000}, {samples / 10.25, 700.5}, {samples / 3.0, 500},
            {samples / 2.0, 250}},
        2);
  }
  check_mirrors ({0.80e-6, 0.88e-6, -3.1e-4, 2.5e-8, 1000},
      {{0, 100}, {0.125, 300}, {123.456, 1000}, {499.9, 900}}, 3);
  check_mirrors ({1433, 1187}, {{50, 1000}, {300.5, 700}}, 3); /* wavelengths may fall */
}

TEST (test_mirrors_peak_at_their_depths_with_their_amplitudes)
{
  const std::vector<Mirror> mirrors = {{50, 1000}, {200, 500}, {450, 2000}};
  const auto depths = depths_of (property_of (mirrors) + "noise=0", 1)[0];
  for (const Mirror &mirror : mirrors) {
    const gsize bin = gsize (mirror.depth);
    fail_unless (
        std::fabs (depths[bin] / mirror.amplitude - 1) < 0.01, "%g", depths[bin]);
    fail_unless (depths[bin - 1] < 0.6 * depths[bin]);
    fail_unless (depths[bin + 1] < 0.6 * depths[bin]);
  }
  for (gsize between : {125, 300, 600, 800})
    fail_unless (depths[between] < 1, "%g", depths[between]);
}

TEST (test_dispersion_is_undone_by_the_same_values)
{
  const std::string source =
      property_of ({{200, 1000}}) + "noise=0 dispersion-a2=8e-5 dispersion-a3=2.67e-8";
  const auto with = [&] (const char *window) { return depths_of (source, 1, window)[0]; };
  const double right = with ("dispersion-a2=8e-5 dispersion-a3=2.67e-8")[200];
  fail_unless (std::fabs (right - 1000) < 10, "%g", right);
  const auto without = with (""),
             twice = with ("dispersion-a2=-8e-5 dispersion-a3=-2.67e-8");
  for (gsize depth = 150; depth < 250; depth++)
    fail_unless (without[depth] < 500 && twice[depth] < 350, "%g, %g", without[depth],
        twice[depth]);
}

TEST (test_noise_is_normal_with_its_standard_deviation_and_mean_zero)
{
  const auto frames = frames_of (
      std::string (no_mirrors) + "noise=100", sized (device_caps, 1024, 128), 2);
  std::vector<double> noise[2];
  for (guint i = 0; i < 2; i++) {
    for (guint16 sample : frames[i].samples)
      noise[i].push_back (sample - 20000.0);
    const Moments moments = moments_of (noise[i]);
    fail_unless (std::fabs (moments.mean) < 5 * 100 / std::sqrt (noise[i].size ()), "%g",
        moments.mean);
    fail_unless (std::fabs (moments.deviation - 100) < 1, "%g", moments.deviation);
    fail_unless (
        std::fabs (moments.beyond_two - 0.0455) < 0.003, "%g", moments.beyond_two);
    const double root = std::sqrt (noise[i].size ());
    fail_unless (
        std::fabs (moments.skewness) < 4 * std::sqrt (6) / root, "%g", moments.skewness);
    fail_unless (std::fabs (moments.kurtosis - 3) < 4 * std::sqrt (24) / root, "%g",
        moments.kurtosis);
    const double distance = distance_from_normal (noise[i], 100);
    /* A larger distance has a probability of 0.001. */
    fail_unless (distance < 1.95 / root, "%g", distance);
  }

  /* The noise does not repeat at another sample, A-line or frame. */
  const std::vector<double> all (noise[0].begin (), noise[0].end () - 1024);
  for (gsize shift : {1, 2, 4, 8, 1024}) {
    const std::vector<double> shifted (
        noise[0].begin () + shift, noise[0].begin () + shift + all.size ());
    const double related = correlation (all, shifted);
    fail_unless (std::fabs (related) < 0.015, "%g at %zu", related, shift);
  }
  fail_unless (std::fabs (correlation (noise[0], noise[1])) < 0.015);
}

/* Sums of a frame, each sample with another sign, that were stored when a model of Philox and
 * of the scatterers in double precision gave the same samples. A level of rounding here and
 * there changes a sum by less than 2. */
struct Stored {
  const char *label, *properties;
  guint samples, lines, frame;
  std::array<double, 4> sums;
};

TEST_ROWS (test_frames_are_those_of_the_model,
    std::vector<Stored>{
        {"noise, frame 0",
            "pattern=mirrors depths=<> amplitudes=<> level=20000 noise=1000 seed=77", 68,
            3, 0, {-2741.3, -15894.9, 9857.8, -15005.7}},
        {"noise, frame 1",
            "pattern=mirrors depths=<> amplitudes=<> level=20000 noise=1000 seed=77", 68,
            3, 1, {-52.7, -16061.8, 10432.0, -13537.1}},
        {"tissue of 64 samples, frame 0",
            "pattern=layers noise=0 seed=3 level=15000 dispersion-a2=0.00256 "
            "dispersion-a3=2.67e-8",
            64, 80, 0, {-6946.6, 11643.9, 1626.2, -8470.4}},
        {"tissue of 64 samples, frame 24",
            "pattern=layers noise=0 seed=3 level=15000 dispersion-a2=0.00256 "
            "dispersion-a3=2.67e-8",
            64, 80, 24, {-7142.7, 11958.1, 1614.7, -8270.6}},
        {"tissue of 500 samples, frame 0",
            "pattern=layers noise=0 seed=3 level=15000 dispersion-a2=0.00032768 "
            "dispersion-a3=2.67e-8",
            500, 80, 0, {5505.0, 6217.6, -16999.3, -9116.5}},
        {"tissue of 500 samples, frame 24",
            "pattern=layers noise=0 seed=3 level=15000 dispersion-a2=0.00032768 "
            "dispersion-a3=2.67e-8",
            500, 80, 24, {6028.0, 5847.4, -15965.8, -8679.5}},
        {"tissue of 2048 samples, frame 0",
            "pattern=layers noise=0 seed=3 level=15000 dispersion-a2=8e-05 "
            "dispersion-a3=2.67e-8",
            2048, 6, 0, {3464.9, 3098.9, 12514.3, -447.7}},
        {"tissue of 2048 samples, frame 24",
            "pattern=layers noise=0 seed=3 level=15000 dispersion-a2=8e-05 "
            "dispersion-a3=2.67e-8",
            2048, 6, 24, {3789.6, 4312.2, 10463.5, 846.0}},
    })
{
  const Frame frame = frames_of (row.properties,
      sized (device_caps, row.samples, row.lines), row.frame + 1)[row.frame];
  std::array<double, 4> sums = {};
  std::mt19937 random (1);
  for (guint16 sample : frame.samples) {
    const guint32 signs = guint32 (random ());
    for (guint n = 0; n < 4; n++)
      sums[n] += (signs >> n & 1 ? sample : -double (sample))
                 / std::sqrt (double (frame.samples.size ()));
  }
  check::expect_near (sums, row.sums, 2, row.label);
}

TEST (test_same_seed_gives_the_same_frames_and_another_seed_others)
{
  for (const char *pattern : {"pattern=layers ", "pattern=mirrors depths=\"<20>\" "
                                                 "amplitudes=\"<900>\" noise=30 "}) {
    const std::string caps = sized (device_caps, 256, 32);
    const auto first = frames_of (std::string (pattern) + "seed=5", caps, 3);
    const auto again = frames_of (std::string (pattern) + "seed=5", caps, 3);
    const auto other = frames_of (std::string (pattern) + "seed=6", caps, 3);
    for (guint n = 0; n < 3; n++) {
      fail_unless (first[n].samples == again[n].samples);
      fail_unless (first[n].samples != other[n].samples);
      fail_unless (first[n].samples != first[(n + 1) % 3].samples);
    }
  }
}

TEST (test_mirrors_without_noise_stand_still)
{
  const auto frames =
      frames_of (property_of ({{20, 900}}) + "noise=0", sized (device_caps, 256, 4), 3);
  fail_unless (frames[0].samples == frames[1].samples);
  fail_unless (frames[0].samples == frames[2].samples);
}

TEST (test_raw_values_are_clamped_to_sixteen_bits)
{
  const Spectrometer spectrometer;
  const std::vector<Mirror> mirrors = {{100, 3000}};
  for (double level : {0.0, 65535.0}) {
    const Frame frame = frame_of (
        property_of (mirrors) + "noise=0 level=" + std::to_string (level), 2048, 1);
    const auto range = std::minmax_element (frame.samples.begin (), frame.samples.end ());
    fail_unless_equals_int (*range.first, level > 0 ? 65535 - 3000 : 0);
    fail_unless_equals_int (*range.second, level > 0 ? 65535 : 3000);
    fail_unless (worst_difference (frame, spectrometer, mirrors, level) <= 0.52);
  }
}

TEST (test_timestamps_are_exact_over_many_frames)
{
  const auto frames = frames_of (std::string (no_mirrors) + "noise=0",
      sized (device_caps, 64, 1, "30000/1001"), 3000);
  for (guint n = 0; n < frames.size (); n++) {
    const GstClockTime begins = gst_util_uint64_scale (n, 1001 * GST_SECOND, 30000);
    const GstClockTime ends = gst_util_uint64_scale (n + 1, 1001 * GST_SECOND, 30000);
    fail_unless_equals_uint64 (frames[n].pts, begins);
    fail_unless_equals_uint64 (frames[n].duration, ends - begins);
    fail_unless_equals_uint64 (frames[n].offset, n);
  }
}

TEST (test_another_framerate_goes_on_where_the_old_one_ended)
{
  const struct {
    guint after;
    const char *rate;
  } changes[] = {{7, "50/1"}, {35, "25/1"}, {60, "30/1"}};
  SourcePipeline pipeline (std::string (no_mirrors), sized (device_caps, 64, 2, "30/1"));
  const auto steady = frames_of (no_mirrors, sized (device_caps, 64, 2, "30/1"), 90);
  std::vector<Frame> frames (90);
  pipeline.start ();
  for (guint n = 0; n < frames.size (); n++) {
    fail_unless (pipeline.pull (frames[n]));
    fail_unless (frames[n].samples == steady[n].samples);
    for (const auto &change : changes) {
      if (n == change.after)
        gst_util_set_object_arg (G_OBJECT (pipeline.filter), "caps",
            sized (device_caps, 64, 2, change.rate).c_str ());
    }
    if (n > 0) {
      fail_unless_equals_uint64 (
          frames[n].pts, frames[n - 1].pts + frames[n - 1].duration);
      fail_unless_equals_uint64 (frames[n].offset, frames[n - 1].offset + 1);
    }
  }
  fail_unless (frames.front ().duration > 33 * GST_MSECOND);
  fail_unless_equals_uint64 (frames[changes[1].after].duration, 20 * GST_MSECOND);
  fail_unless_equals_uint64 (frames[changes[2].after].duration, 40 * GST_MSECOND);
  fail_unless (frames.back ().duration < 34 * GST_MSECOND);
}

TEST (test_a_still_is_one_frame)
{
  SourcePipeline pipeline ("", sized (device_caps, 64, 4, "0/1"));
  Frame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  fail_unless_equals_uint64 (frame.pts, 0);
  fail_unless_equals_uint64 (frame.duration, GST_CLOCK_TIME_NONE);
  fail_if (pipeline.pull (frame));
  fail_unless (pipeline.messages ().errors.empty ());
}

TEST (test_live_frames_come_when_the_clock_reaches_their_time)
{
  GstHarness *harness = gst_harness_new_parse ("octtestsrc is-live=true");
  gst_harness_set_sink_caps_str (harness, sized (device_caps, 64, 2, "25/1").c_str ());
  gst_harness_use_testclock (harness);
  GstTestClock *clock = gst_harness_get_testclock (harness);
  gst_harness_play (harness);

  for (guint n = 0; n < 6; n++) {
    gst_test_clock_wait_for_next_pending_id (clock, nullptr);
    fail_unless_equals_int (gst_harness_buffers_received (harness), n);
    fail_unless (gst_harness_crank_single_clock_wait (harness));
    GstBuffer *buffer = gst_harness_pull (harness);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buffer), n * 40 * GST_MSECOND);
    fail_unless_equals_uint64 (
        gst_clock_get_time (GST_CLOCK (clock)), n * 40 * GST_MSECOND);
    gst_buffer_unref (buffer);
  }
  gst_object_unref (clock);
  gst_harness_teardown (harness);
}

TEST (test_latency_is_a_frame_and_live_when_live)
{
  for (bool live : {false, true}) {
    SourcePipeline pipeline (
        live ? "is-live=true" : "is-live=false", sized (device_caps, 64, 2, "25/1"));
    GstQuery *query = gst_query_new_latency ();
    gboolean answered_live;
    GstClockTime least, most;
    Frame frame;
    pipeline.start ();
    fail_unless (pipeline.pull (frame));
    fail_unless (gst_element_query (pipeline.source, query));
    gst_query_parse_latency (query, &answered_live, &least, &most);
    fail_unless_equals_int (answered_live, live);
    fail_unless_equals_uint64 (least, 40 * GST_MSECOND);
    gst_query_unref (query);
  }
}

static bool
seek_to (GstElement *pipeline, gdouble rate, GstClockTime start, GstClockTime stop)
{
  return gst_element_seek (pipeline, rate, GST_FORMAT_TIME,
      static_cast<GstSeekFlags> (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE),
      GST_SEEK_TYPE_SET, start, GST_SEEK_TYPE_SET, stop);
}

TEST (test_backwards_the_frames_come_in_descending_time)
{
  const std::string caps = sized (device_caps, 64, 2, "30/1");
  const auto all = frames_of ("pattern=layers", caps, 20);
  SourcePipeline pipeline ("pattern=layers num-buffers=20", caps);
  Frame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  /* From the middle of frame 14, between two frames, and from the known end. */
  struct {
    GstClockTime start, stop;
    int first, last;
  } seeks[] = {{0, all[14].pts + 1000, 14, 0}, {all[5].pts, all[9].pts, 8, 5},
      {0, GST_CLOCK_TIME_NONE, 19, 0}};
  for (auto &seek : seeks) {
    fail_unless (seek_to (pipeline.pipeline, -1, seek.start, seek.stop));
    for (int n = seek.first; n >= seek.last; n--) {
      fail_unless (pipeline.pull (frame));
      fail_unless_equals_uint64 (frame.pts, all[n].pts);
      fail_unless_equals_uint64 (frame.duration, all[n].duration);
      fail_unless_equals_uint64 (frame.offset, n);
      fail_unless (frame.samples == all[n].samples);
    }
    fail_if (pipeline.pull (frame)); /* EOS */
  }
}

TEST (test_scrubbing_shows_the_frame_of_each_time)
{
  const std::string caps = sized (device_caps, 64, 2, "30/1");
  const auto all = frames_of ("pattern=layers", caps, 30);
  SourcePipeline pipeline ("pattern=layers num-buffers=30", caps);
  gst_element_set_state (pipeline.pipeline, GST_STATE_PAUSED);
  gst_element_get_state (pipeline.pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
  for (int n : {29, 3, 4, 4, 17, 0}) {
    GstSample *sample = nullptr;
    fail_unless (seek_to (pipeline.pipeline, 1, all[n].pts, GST_CLOCK_TIME_NONE));
    gst_element_get_state (pipeline.pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
    g_signal_emit_by_name (pipeline.sink, "pull-preroll", &sample);
    fail_unless (sample != nullptr);
    Frame frame = frame_of_sample (sample);
    gst_sample_unref (sample);
    fail_unless_equals_uint64 (frame.offset, n);
    fail_unless (frame.samples == all[n].samples);
  }
}

TEST (test_num_buffers_ends_the_stream_and_gives_a_duration)
{
  SourcePipeline pipeline ("num-buffers=45", sized (device_caps, 64, 2, "30/1"));
  Frame frame;
  gint64 duration;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  fail_unless (
      gst_element_query_duration (pipeline.pipeline, GST_FORMAT_TIME, &duration));
  fail_unless_equals_int64 (duration, 1500 * GST_MSECOND);
  /* A seek skips the frames in between. */
  fail_unless (seek_to (pipeline.pipeline, 1, GST_SECOND, GST_CLOCK_TIME_NONE));
  for (guint n = 30; n < 45; n++) {
    fail_unless (pipeline.pull (frame));
    fail_unless_equals_uint64 (frame.offset, n);
  }
  fail_if (pipeline.pull (frame));
  fail_unless (gst_app_sink_is_eos (GST_APP_SINK (pipeline.sink)));
  fail_unless_equals_int (frames_of ("", sized (system_caps, 64, 2), 4).size (), 4);

  SourcePipeline endless ("", sized (device_caps, 64, 2, "30/1"));
  endless.start ();
  fail_unless (endless.pull (frame));
  fail_if (gst_element_query_duration (endless.pipeline, GST_FORMAT_TIME, &duration)
           && duration >= 0);
}

TEST (test_system_and_device_memory_hold_the_same_frames)
{
  struct Size {
    guint width, height;
  };
  for (Size size : {Size{64, 1}, Size{65, 3}, Size{1001, 7}, Size{2048, 16}}) {
    for (const char *pattern : {"pattern=layers", "pattern=mirrors depths=\"<10, 20.5>\" "
                                                  "amplitudes=\"<1000, 500>\""}) {
      const auto device =
          frames_of (pattern, sized (device_caps, size.width, size.height), 6);
      const auto system =
          frames_of (pattern, sized (system_caps, size.width, size.height), 6);
      for (guint n = 0; n < 6; n++) {
        fail_unless (device[n].device_memory);
        fail_unless_equals_int (system[n].host_memory, !check::shares_memory ());
        fail_unless_equals_int (system[n].device_memory, check::shares_memory ());
        fail_unless (device[n].has_meta && system[n].has_meta);
        fail_unless_equals_int (system[n].stride, GST_ROUND_UP_4 (2 * size.width));
        fail_unless (device[n].samples == system[n].samples);
      }
    }
  }
}

TEST (test_odd_sizes_are_whole_to_the_last_sample_of_the_last_line)
{
  const std::vector<Mirror> mirrors = {{7, 1000}, {30.25, 500}};
  for (const char *caps : {device_caps, system_caps}) {
    for (guint samples : {65u, 71u, 1001u, 1007u}) {
      Spectrometer spectrometer;
      spectrometer.samples = samples;
      const Frame frame =
          frames_of (property_of (mirrors) + "noise=0", sized (caps, samples, 7), 1)[0];
      fail_unless (worst_difference (frame, spectrometer, mirrors, 20000) <= 0.52);
    }
  }
}

TEST (test_the_smallest_and_the_largest_frames_show_tissue)
{
  struct Size {
    guint width, height;
  };
  for (Size size : {Size{64, 1}, Size{64, 65536}, Size{16384, 2}}) {
    const Frame frame = frame_of ("pattern=layers noise=0", size.width, size.height);
    const Frame dark =
        frame_of ("pattern=layers noise=0 level=0", size.width, size.height);
    double strongest = 0;
    for (guint line : {0u, size.height - 1}) {
      for (guint j = 0; j < size.width; j++) {
        const double off_centre = (2.0 * j / (size.width - 1) - 1) / 0.5;
        const double level = 20000 * std::exp (-0.5 * off_centre * off_centre);
        strongest = std::max (strongest, std::fabs (frame.at (line, j) - level));
        fail_unless_equals_int (dark.at (line, j), 0);
      }
    }
    fail_unless (strongest > 200 && strongest < 20000, "%g", strongest);
  }
}

TEST (test_without_wishes_frames_are_in_device_memory)
{
  SourcePipeline pipeline ("num-buffers=1", "video/x-raw,height=2;"
                                            "video/x-raw(memory:OpenCLMemory),height=2");
  Frame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  fail_unless (frame.device_memory);
  fail_unless_equals_int (frame.width, 2048);
  fail_unless_equals_uint64 (frame.duration, GST_SECOND / 30);
}

TEST (test_nothing_is_uploaded_for_a_frame_and_nobody_waits)
{
  for (const char *pattern : {"pattern=layers", "pattern=mirrors depths=\"<20>\" "
                                                "amplitudes=\"<900>\""}) {
    for (const char *caps : {device_caps, system_caps}) {
      const GstOpenCLCounts few = counts_after (caps, pattern, 5);
      const GstOpenCLCounts more = counts_after (caps, pattern, 10);
      const GstOpenCLCounts many = counts_after (caps, pattern, 50);
      const guint64 downloads = caps == system_caps && !check::shares_memory () ? 50 : 0;
      fail_unless (few.uploads > 0);
      fail_unless_equals_uint64 (few.uploads, many.uploads);
      fail_unless_equals_uint64 (few.upload_bytes, many.upload_bytes);
      fail_unless_equals_uint64 (many.downloads, downloads);
      fail_unless_equals_uint64 (many.host_waits, 0);
      /* The static part is computed once, so each later frame takes the same time. */
      fail_unless (more.launches > few.launches);
      fail_unless_equals_uint64 (
          many.launches - few.launches, 9 * (more.launches - few.launches));
    }
  }
}

TEST (test_the_context_is_shared_with_whoever_asks)
{
  SourcePipeline pipeline ("", sized (device_caps, 64, 2));
  Frame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  GstQuery *query = gst_query_new_context (GST_OPENCL_CONTEXT_TYPE);
  GstContext *context = nullptr;
  fail_unless (gst_element_query (pipeline.source, query));
  gst_query_parse_context (query, &context);
  fail_unless (context != nullptr);
  gst_query_unref (query);
}

TEST (test_bad_settings_are_one_error_that_names_the_value)
{
  const BadSettings cases[] = {
      {"wavelength-min=1200 wavelength-max=1200", "wavelength-min 1200", "two different"},
      {"wavelength-min=0", "wavelength-min 0", "above 0"},
      {"wavelength-max=0", "wavelength-max 0", "above 0"},
      {"pattern=mirrors depths=\"<10,20>\" amplitudes=\"<100>\"", "amplitudes: 1 values",
          "expected 2"},
      {"pattern=mirrors depths=\"<10,32.5>\" amplitudes=\"<100,100>\"", "depths: 32.5",
          "0 to 32 "},
      {"pattern=mirrors depths=\"<-1,2>\" amplitudes=\"<100,100>\"", "depths: -1",
          "0 to 32 "},
  };
  for (const BadSettings &bad : cases) {
    SourcePipeline pipeline (bad.properties, sized (device_caps, 64, 2));
    Frame frame;
    expect_refused (pipeline, bad);

    /* The properties are valid again. */
    g_object_set (
        pipeline.source, "wavelength-min", 1187.0, "wavelength-max", 1433.0, nullptr);
    gst_util_set_object_arg (G_OBJECT (pipeline.source), "depths", "<10, 20.5>");
    gst_util_set_object_arg (G_OBJECT (pipeline.source), "amplitudes", "<100, 200>");
    pipeline.start ();
    const bool came = pipeline.pull (frame);
    for (const std::string &error : pipeline.messages ().errors)
      ck_abort_msg ("%s", error.c_str ());
    fail_unless (came, "%s", bad.properties);
  }
}

TEST (test_out_of_memory_error_message)
{
  for (const char *caps : {device_caps, system_caps}) {
    counting::fail_buffers_after (0);
    SourcePipeline pipeline ("", sized (caps, 64, 2));
    pipeline.start ();
    const auto errors = pipeline.errors_when_stopped ();
    counting::fail_buffers_after (-1);
    fail_unless_equals_int (errors.size (), 1);
    fail_unless (
        errors[0].find ("No memory for a frame of 256 bytes on") != std::string::npos,
        "%s", errors[0].c_str ());
  }
}

/* Skips frames that were made before a change. */
static void
pull_until_sized (SourcePipeline &pipeline, guint samples, Frame &frame)
{
  do
    fail_unless (pipeline.pull (frame));
  while (frame.width != samples);
}

TEST (test_mirrors_too_deep_for_new_caps_are_left_out_and_come_back)
{
  SourcePipeline pipeline (
      property_of ({{20, 900}, {50, 500}}) + "noise=0", sized (device_caps, 128, 2));
  Spectrometer spectrometer;
  Frame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  for (guint samples : {64, 128}) {
    const bool deep = samples == 128;
    gst_util_set_object_arg (
        G_OBJECT (pipeline.filter), "caps", sized (device_caps, samples, 2).c_str ());
    pull_until_sized (pipeline, samples, frame);
    spectrometer.samples = samples;
    const std::vector<Mirror> mirrors =
        deep ? std::vector<Mirror>{{20, 900}, {50, 500}} : std::vector<Mirror>{{20, 900}};
    fail_unless (worst_difference (frame, spectrometer, mirrors, 20000) <= 0.52);
    check::expect_warnings (pipeline.bus, "new caps",
        deep ? std::vector<std::string> ()
             : std::vector<std::string>{"depths: 50, expected 0 to 32 (half of 64"});
  }
}

static double
mean_between (const std::vector<std::vector<double>> &scan, guint first, guint last)
{
  double sum = 0;
  for (const auto &a_line : scan) {
    for (guint depth = first; depth < last; depth++)
      sum += a_line[depth] / ((last - first) * scan.size ());
  }
  return sum;
}

TEST (test_tissue_has_a_surface_and_speckle_of_its_own_and_fades_with_depth)
{
  auto scan = depths_of ("pattern=layers noise=0", 512);
  scan = {scan.begin () + 236, scan.begin () + 276};
  const double air = mean_between (scan, 40, 95);
  const double upper = mean_between (scan, 220, 260);
  const double lower = mean_between (scan, 320, 360);
  fail_unless (upper > 30 * air, "%g over %g", upper, air);
  fail_unless (lower < 0.8 * upper && lower > 0.2 * upper, "%g below %g", lower, upper);

  /* Fully developed speckle: the standard deviation of the amplitude is 0.523 of its
   * mean. */
  std::vector<double> values;
  for (const auto &a_line : scan)
    values.insert (values.end (), a_line.begin () + 220, a_line.begin () + 260);
  const Moments moments = moments_of (values);
  const double contrast = moments.deviation / moments.mean;
  fail_unless (contrast > 0.45 && contrast < 0.60, "%g", contrast);

  /* Neighbouring A-lines are correlated, distant ones are not. */
  double neighbours = 0, distant = 0;
  for (guint line = 0; line < 20; line++) {
    const auto part = [&] (guint of) {
      return std::vector<double> (scan[of].begin () + 210, scan[of].begin () + 420);
    };
    neighbours += correlation (part (line), part (line + 1)) / 20;
    distant += correlation (part (line), part (line + 20)) / 20;
  }
  fail_unless (neighbours > 0.6, "%g", neighbours);
  fail_unless (distant < 0.3, "%g", distant);
}

TEST (test_tissue_moves_a_little_from_frame_to_frame)
{
  const auto scans = depths_of ("pattern=layers noise=0", 16, "", 2);
  double related = 0;
  for (guint line = 4; line < 12; line++)
    related += correlation ({&scans[line][0], &scans[line][420]},
                   {&scans[16 + line][0], &scans[16 + line][420]})
               / 8;
  fail_unless (related > 0.8, "%g", related);
  fail_unless (related < 0.99999, "%g", related);
}
