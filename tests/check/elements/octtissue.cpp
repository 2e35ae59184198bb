/* Tests of octtestsrc's three-dimensional phantom as a source: its frames do not depend on
 * how they are asked for, and say where they lie. pipelines/octtissue.py tests what they
 * show.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/check/harness.hpp"
#include "tests/check/opencl-counting.hpp"
#include "sourceframes.hpp"

#include <gst/oct/octscanmeta.h>

namespace {
using check::BadSettings;
using check::device_caps;
using check::frame_of_sample;
using check::frames_of;
using check::sized;
using check::SourceFrame;
using check::SourcePipeline;
using check::system_caps;

const char tissue[] = "pattern=tissue b-scans=3 repeats=2 motion=15 noise=20 "
                      "curvature=\"<5, -3, 8>\" ";

GstOctScan
scan_of (GstSample *sample)
{
  GstOctScan scan = {};
  fail_unless (gst_buffer_get_oct_scan (gst_sample_get_buffer (sample), &scan));
  return scan;
}

double
step_of (GstSample *sample, const char *name)
{
  double step = -1;
  gst_structure_get_double (
      gst_caps_get_structure (gst_sample_get_caps (sample), 0), name, &step);
  return step;
}

gsize
count_different (const SourceFrame &a, const SourceFrame &b)
{
  gsize different = 0;
  fail_unless_equals_int (a.samples.size (), b.samples.size ());
  for (gsize n = 0; n < a.samples.size (); n++)
    different += a.samples[n] != b.samples[n];
  return different;
}

void
seek_to (GstElement *pipeline, GstClockTime time)
{
  fail_unless (gst_element_seek (pipeline, 1, GST_FORMAT_TIME,
      GstSeekFlags (GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE), GST_SEEK_TYPE_SET,
      gint64 (time), GST_SEEK_TYPE_NONE, -1));
}
} // namespace

TEST (test_octtissue_same_frames_after_restart_and_seek)
{
  const std::string caps = sized (device_caps, 256, 24);
  const auto all = frames_of (tissue, caps, 14);
  const auto again = frames_of (tissue, caps, 14);
  for (guint n = 0; n < 14; n++)
    fail_unless (all[n].samples == again[n].samples, "frame %u", n);

  SourcePipeline pipeline (std::string (tissue) + "num-buffers=14", caps);
  SourceFrame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  for (guint n : {9u, 3u, 12u}) {
    seek_to (pipeline.pipeline, all[n].pts);
    fail_unless (pipeline.pull (frame));
    fail_unless_equals_uint64 (frame.offset, n);
    fail_unless (frame.samples == all[n].samples, "frame %u", n);
  }
  gst_element_set_state (pipeline.pipeline, GST_STATE_NULL);
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  fail_unless (frame.samples == all[0].samples);
}

TEST (test_octtissue_other_seed_other_tissue)
{
  const std::string caps = sized (device_caps, 256, 24);
  const auto one = frames_of ("pattern=tissue noise=0 seed=1", caps, 1);
  const auto other = frames_of ("pattern=tissue noise=0 seed=2", caps, 1);
  fail_unless (count_different (one[0], other[0]) > one[0].samples.size () * 9 / 10);

  /* The same if the seed changes while it plays */
  SourcePipeline pipeline ("pattern=tissue noise=0 seed=1 flow-velocity=0", caps);
  const auto still = frames_of ("pattern=tissue noise=0 seed=2 flow-velocity=0", caps, 1);
  SourceFrame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  g_object_set (pipeline.source, "seed", 2, nullptr);
  for (guint n = 0; n < 20; n++)
    fail_unless (pipeline.pull (frame));
  fail_unless (frame.samples == still[0].samples);
}

/* Frames of one B-scan without motion, noise and flow are equal, bit for bit, in each
 * repeat and in each volume. Other B-scans are different. */
TEST (test_octtissue_static_tissue_is_static)
{
  const auto frames = frames_of ("pattern=tissue noise=0 flow-velocity=0 b-scans=3 "
                                 "repeats=2",
      sized (device_caps, 512, 40), 14);
  for (guint n = 0; n < frames.size (); n++) {
    const guint first = n % 6 / 2 * 2;
    fail_unless (frames[n].samples == frames[first].samples, "frame %u", n);
  }
  fail_unless (count_different (frames[0], frames[2]) > frames[0].samples.size () / 2);
  fail_unless (count_different (frames[2], frames[4]) > frames[0].samples.size () / 2);
}

TEST (test_octtissue_frames_tell_their_position)
{
  SourcePipeline pipeline ("pattern=tissue b-scans=3 repeats=2 bidirectional=true "
                           "line-step=7.5 num-buffers=14",
      sized (device_caps, 64, 8));
  pipeline.start ();
  for (guint n = 0; n < 14; n++) {
    const auto sample = pipeline.Pipeline::pull ("sink");
    fail_unless (sample);
    const GstOctScan scan = scan_of (sample);
    fail_unless_equals_uint64 (scan.frame, n);
    fail_unless_equals_int (scan.repeat, n % 2);
    fail_unless_equals_int (scan.b_scan, n / 2 % 3);
    fail_unless_equals_uint64 (scan.volume, n / 6);
    fail_unless_equals_int (scan.repeats, 2);
    fail_unless_equals_int (scan.b_scans, 3);
    fail_unless_equals_int (scan.reversed, n % 2);
    fail_unless_equals_float (step_of (sample, "line-step"), 7.5);
    fail_unless_equals_float (step_of (sample, "b-scan-step"), 1000);
  }
  fail_if (pipeline.Pipeline::pull ("sink"));
}

/* octscan writes its own numbers, and reverses A-lines as it does for other sources. */
TEST (test_octtissue_octscan_after_it)
{
  check::Pipeline pipeline (
      "octtestsrc pattern=tissue b-scans=3 repeats=2 num-buffers=12 noise=0 "
      "flow-velocity=0 bidirectional=true ! video/x-raw(ANY),width=128,height=16 ! "
      "octscan b-scans=3 repeats=2 reverse=odd ! opencldownload ! "
      "appsink name=out sync=false");
  const auto forward =
      frames_of ("pattern=tissue b-scans=3 repeats=2 noise=0 flow-velocity=0",
          sized (device_caps, 128, 16), 12);
  pipeline.start ();
  for (guint n = 0; n < 12; n++) {
    const auto sample = pipeline.pull ("out");
    fail_unless (sample);
    const GstOctScan scan = scan_of (sample);
    fail_unless_equals_int (scan.b_scan, n / 2 % 3);
    fail_unless_equals_uint64 (scan.volume, n / 6);
    fail_unless_equals_float (step_of (sample, "b-scan-step"), 1000);
    const check::Bytes bytes = check::read_buffer (gst_sample_get_buffer (sample));
    fail_unless_equals_int (bytes.size (), 128 * 16 * 2);
    fail_unless (memcmp (bytes.data (), forward[n].samples.data (), bytes.size ()) == 0,
        "frame %u", n);
  }
}

/* Angiography and volumes need no octscan. */
TEST (test_octtissue_groups_without_octscan)
{
  check::Pipeline pipeline (
      "octtestsrc pattern=tissue b-scans=4 repeats=2 num-buffers=8 ! "
      "video/x-raw(ANY),width=128,height=16 ! octwindowinterp wavelength-min=1187 "
      "wavelength-max=1433 ! octfft ! octangio repeats=2 ! octvolume ! "
      "other/tensors(ANY) ! opencldownload ! appsink name=out sync=false");
  pipeline.start ();
  guint volumes = 0;
  while (const auto sample = pipeline.pull ("out")) {
    const check::Bytes bytes = check::read_buffer (gst_sample_get_buffer (sample));
    fail_unless_equals_int (bytes.size (), 64 * 16 * 4 * sizeof (float));
    volumes++;
  }
  fail_unless (pipeline.messages ().is_clean ());
  fail_unless_equals_int (volumes, 1);
}

TEST (test_octtissue_system_and_device_memory_hold_the_same_frames)
{
  struct Size {
    guint width, height;
  };
  for (Size size :
      {Size{64, 1}, Size{65, 3}, Size{71, 2}, Size{1001, 7}, Size{2048, 16}}) {
    for (const char *pattern :
        {tissue, "pattern=flat b-scans=2 curvature=\"<4, 1, 2>\" depths=\"<12.5>\" "
                 "amplitudes=\"<3000>\""}) {
      const auto device =
          frames_of (pattern, sized (device_caps, size.width, size.height), 3);
      const auto system =
          frames_of (pattern, sized (system_caps, size.width, size.height), 3);
      for (guint n = 0; n < 3; n++)
        fail_unless (device[n].samples == system[n].samples, "%s: %u x %u", pattern,
            size.width, size.height);
    }
  }
}

TEST (test_octtissue_smallest_and_largest_frames)
{
  struct Size {
    guint width, height;
  };
  for (Size size : {Size{64, 1}, Size{64, 20000}, Size{16384, 2}}) {
    const auto bright = frames_of (
        "pattern=tissue noise=0", sized (device_caps, size.width, size.height), 1);
    const auto dark = frames_of ("pattern=tissue noise=0 level=0",
        sized (device_caps, size.width, size.height), 1);
    for (guint line : {0u, size.height - 1}) {
      double strongest = 0;
      for (guint j = 0; j < size.width; j++) {
        const double off_centre = (2.0 * j / (size.width - 1) - 1) / 0.5;
        const double level = 20000 * std::exp (-0.5 * off_centre * off_centre);
        strongest = std::max (strongest, std::fabs (bright[0].at (line, j) - level));
        fail_unless_equals_int (dark[0].at (line, j), 0);
      }
      fail_unless (strongest > 200 && strongest < 20000, "%g", strongest);
    }
  }
}

/* A change takes effect, breaks the scan if it is one of the scan, and leaves frames that
 * a source with the new settings makes. */
TEST (test_octtissue_settings_change_while_playing)
{
  const std::string initial =
      "pattern=tissue b-scans=2 repeats=1 noise=0 flow-velocity=0 line-step=20 ";
  const std::string caps = sized (device_caps, 128, 8);
  struct Change {
    const char *property, *value;
    bool discont;
  };
  const Change changes[] = {
      {"curvature", "<3, 4>", true},
      {"dispersion-a2", "0.002", true},
      {"b-scans", "5", true},
      {"repeats", "3", true},
      {"motion", "10", true},
      {"pattern", "flat", true},
      {"pattern", "tissue", true},
      {"bidirectional", "true", false},
  };
  std::string settings = initial;
  SourcePipeline pipeline (initial, caps);
  pipeline.start ();
  fail_unless (pipeline.Pipeline::pull ("sink"));
  for (const Change &change : changes) {
    gst_util_set_object_arg (G_OBJECT (pipeline.source), change.property, change.value);
    settings += std::string (change.property) + "=\"" + change.value + "\" ";
    bool discont = false;
    SourceFrame frame;
    for (guint n = 0; n < 12; n++) {
      const auto sample = pipeline.Pipeline::pull ("sink");
      fail_unless (sample);
      discont |= GST_BUFFER_FLAG_IS_SET (
          gst_sample_get_buffer (sample), GST_BUFFER_FLAG_DISCONT);
      frame = frame_of_sample (sample);
    }
    fail_unless (discont == change.discont, "%s: %d", change.property, discont);
    SourcePipeline fresh (settings, caps);
    SourceFrame expected;
    gst_element_set_state (fresh.pipeline, GST_STATE_PAUSED);
    gst_element_get_state (fresh.pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
    seek_to (fresh.pipeline, frame.pts + GST_MSECOND);
    fresh.start ();
    fail_unless (fresh.pull (expected));
    fail_unless_equals_uint64 (expected.offset, frame.offset);
    fail_unless (
        frame.samples == expected.samples, "%s=%s", change.property, change.value);
    check::expect_warnings (pipeline.bus, change.property, {});
  }
}

/* Steps are announced with new caps when the pattern or the number of B-scans changes. */
TEST (test_octtissue_caps_follow_the_steps)
{
  SourcePipeline pipeline ("pattern=layers", sized (device_caps, 64, 8));
  pipeline.start ();
  auto sample = pipeline.Pipeline::pull ("sink");
  fail_unless_equals_float (step_of (sample, "line-step"), -1);
  const auto pull_until = [&] (double b_scan_step) {
    for (guint n = 0; n < 50; n++) {
      sample = pipeline.Pipeline::pull ("sink");
      if (step_of (sample, "b-scan-step") == b_scan_step)
        return true;
    }
    return false;
  };
  g_object_set (pipeline.source, "b-scans", 10, nullptr);
  gst_util_set_object_arg (G_OBJECT (pipeline.source), "pattern", "tissue");
  fail_unless (pull_until (300));
  fail_unless_equals_float (step_of (sample, "line-step"), 375);
  g_object_set (pipeline.source, "b-scans", 100, nullptr);
  fail_unless (pull_until (30));
  gst_util_set_object_arg (G_OBJECT (pipeline.source), "pattern", "layers");
  fail_unless (pull_until (-1));
}

TEST (test_octtissue_new_caps_while_playing)
{
  SourcePipeline pipeline (
      "pattern=tissue noise=0 flow-velocity=0", sized (device_caps, 128, 8));
  SourceFrame frame;
  pipeline.start ();
  fail_unless (pipeline.pull (frame));
  for (guint samples : {256u, 64u, 128u}) {
    const std::string caps = sized (device_caps, samples, 12);
    gst_util_set_object_arg (G_OBJECT (pipeline.filter), "caps", caps.c_str ());
    do
      fail_unless (pipeline.pull (frame));
    while (frame.width != samples || frame.height != 12);
    const auto fresh = frames_of ("pattern=tissue noise=0 flow-velocity=0", caps, 1);
    fail_unless (frame.samples == fresh[0].samples, "%u samples", samples);
  }
}

TEST (test_octtissue_bad_settings_are_one_error_that_names_the_value)
{
  const BadSettings cases[] = {
      {"pattern=flat depths=\"<40>\" amplitudes=\"<1>\"", "depths: 40", "0 to 32"},
      {"pattern=flat depths=\"<>\" amplitudes=\"<>\"", "depths: no value",
          "expected one"},
      {"pattern=tissue line-step=10000 b-scans=1000 b-scan-step=10000", "b-scans 1000",
          "too large"},
  };
  for (const BadSettings &bad : cases) {
    SourcePipeline pipeline (bad.properties, sized (device_caps, 64, 200));
    SourceFrame frame;
    expect_refused (pipeline, bad);
  }
}

/* A setting that is refused while it plays leaves the last one in force. */
TEST (test_octtissue_refused_setting_warns)
{
  SourcePipeline pipeline ("pattern=tissue noise=0 flow-velocity=0 line-step=100",
      sized (device_caps, 64, 200));
  SourceFrame before, frame;
  pipeline.start ();
  fail_unless (pipeline.pull (before));
  g_object_set (pipeline.source, "b-scans", 65536, nullptr);
  for (guint n = 0; n < 10; n++)
    fail_unless (pipeline.pull (frame));
  fail_unless (frame.samples == before.samples);
  check::expect_warnings (pipeline.bus, "too many B-scans", {"b-scans 65536"});
}

/* Frames create nothing on the device. */
TEST (test_octtissue_frames_allocate_nothing)
{
  SourcePipeline pipeline (tissue, sized (device_caps, 64, 8));
  SourceFrame frame;
  pipeline.start ();
  for (guint n = 0; n < 12; n++)
    fail_unless (pipeline.pull (frame));
  const unsigned before = counting::allocations ();
  for (guint n = 0; n < 24; n++)
    fail_unless (pipeline.pull (frame));
  fail_unless_equals_int (counting::allocations () - before, 0);
}
