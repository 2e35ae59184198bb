/* Tests that nothing is downloaded between openclupload and opencldownload
 *
 * Each pipeline runs in gst-launch-1.0 with the tracer openclstats. The test compares the
 * tracer's counts with the expected ones.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/core/profile.hpp>

#include "tests/check/opencl-check.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"

using namespace check;

namespace {
constexpr guint few = 10, many = 1000;

/* The tracer's counters of one element. */
using Counts = std::map<std::string, guint64>;
using Records = std::map<std::string, Counts>;

const char *const counters[] = {"uploads", "upload-bytes", "downloads", "download-bytes",
    "host-waits", "throttled", "launches"};

void
add_record (Records &records, const char *line)
{
  const char *start = strstr (line, "openclstats, ");
  if (!start || !strstr (line, " TRACE "))
    return; /* the format of the records is in the log too */
  GstStructure *record = gst_structure_from_string (start, nullptr);
  fail_unless (record != nullptr, "not a record: %s", line);
  Counts &counts = records[gst_structure_get_string (record, "element")];
  for (const char *counter : counters) {
    guint64 value;
    fail_unless (
        gst_structure_get_uint64 (record, counter, &value), "%s: no %s", line, counter);
    counts[counter] += value;
  }
  gst_structure_free (record);
}

Records
read_records (const std::string &path)
{
  Records records;
  gchar **lines = g_strsplit (contents_of (path).c_str (), "\n", -1);
  for (gchar **line = lines; *line; line++)
    add_record (records, *line);
  g_strfreev (lines);
  return records;
}

gchar **
tracing_environment (const std::string &log)
{
  gchar **environment = g_get_environ ();
  const std::pair<const char *, const char *> variables[] = {
      {"GST_TRACERS", "openclstats"}, {"GST_DEBUG", "GST_TRACER:7"},
      {"GST_DEBUG_NO_COLOR", "1"}, {"GST_DEBUG_FILE", log.c_str ()}};
  for (const auto &variable : variables)
    environment = g_environ_setenv (environment, variable.first, variable.second, TRUE);
  return environment;
}

/* Runs a launch line in a process of its own. */
Records
trace (const std::string &line)
{
  const Folder folder;
  const std::string log = folder.file ("log");
  const std::string command = "gst-launch-1.0 -q " + line;
  gchar **arguments = nullptr, **environment = tracing_environment (log);
  Owned<gchar> errors;
  gint status = -1;
  GError *error = nullptr;

  fail_unless (g_shell_parse_argv (command.c_str (), nullptr, &arguments, nullptr));
  fail_unless (g_spawn_sync (nullptr, arguments, environment,
                   GSpawnFlags (G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL),
                   nullptr, nullptr, nullptr, errors.out (), &status, &error),
      "%s", error ? error->message : "");
  fail_unless (status == 0, "%s: %s", command.c_str (), errors.operator->());
  Records records = read_records (log);

  g_strfreev (arguments);
  g_strfreev (environment);
  return records;
}

/* Replaces every FRAMES of `line` by `frames`. */
Records
trace_frames (const std::string &line, guint frames)
{
  std::string complete = line;
  for (size_t at; (at = complete.find ("FRAMES")) != std::string::npos;)
    complete.replace (at, strlen ("FRAMES"), std::to_string (frames));
  return trace (complete);
}

struct Pipeline {
  const char *line;
  std::vector<std::string> uploads, between, downloads;
  guint sources; /* number of sources, each of FRAMES frames */

  gsize bytes; /* uploaded in all, for one frame of each source */
};

#define SPECTRA "video/x-raw,format=GRAY16_LE,width=512,height=16"
#define PICTURES "video/x-raw(memory:OpenCLMemory)"
#define OTHER_SPECTRA "video/x-raw,format=GRAY8,width=256,height=32"

const Pipeline pipelines[] = {
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "opencldownload name=down ! fakesink",
        {"up"}, {}, {"down"}, 1, 512 * 16 * 2},
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window ! octfft name=fft ! opencldownload name=down ! "
     "fakesink",
        {"up"}, {"window", "fft"}, {"down"}, 1, 512 * 16 * 2},
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window wavelength-min=1187 wavelength-max=1433 "
     "dispersion-a2=1e-4 background=rolling ! queue ! octfft name=fft ! queue ! "
     "opencldownload name=down ! fakesink",
        {"up"}, {"window", "fft"}, {"down"}, 1, 512 * 16 * 2},
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! tee name=t "
     "t. ! queue ! octwindowinterp name=window ! octfft name=fft ! opencldownload "
     "name=down ! fakesink "
     "t. ! queue ! octwindowinterp name=window2 window=flattop ! octfft name=fft2 "
     "scale=linear ! opencldownload name=down2 ! fakesink",
        {"up"}, {"window", "fft", "window2", "fft2"}, {"down", "down2"}, 1, 512 * 16 * 2},
    /* Caps that change in the stream, after one upload and before it. */
    {"concat name=c ! openclupload name=up ! octwindowinterp name=window ! octfft "
     "name=fft ! opencldownload name=down ! fakesink "
     "videotestsrc num-buffers=FRAMES ! " SPECTRA " ! c. "
     "videotestsrc num-buffers=FRAMES ! " OTHER_SPECTRA " ! c.",
        {"up"}, {"window", "fft"}, {"down"}, 2, 512 * 16 * 2 + 256 * 32},
    /* Device memory of two pools in turn. */
    {"funnel name=f ! octwindowinterp name=window ! octfft name=fft ! opencldownload "
     "name=down ! fakesink "
     "videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! f. "
     "videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up2 ! queue ! f.",
        {"up", "up2"}, {"window", "fft"}, {"down"}, 2, 512 * 16 * 2 * 2},
    /* A B-scan in colour, scaled. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window ! octfft name=fft ! openclconvert name=convert "
     "colormap=viridis ! \"" PICTURES
     ",format=NV12,width=64,height=64\" ! opencldownload "
     "name=down ! fakesink",
        {"up"}, {"window", "fft", "convert"}, {"down"}, 1, 512 * 16 * 2},
    /* Means of B-scans. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window ! octfft name=fft ! octaverage name=average "
     "rolling=true "
     "mean=log lines=3 ! opencldownload name=down ! fakesink",
        {"up"}, {"window", "fft", "average"}, {"down"}, 1, 512 * 16 * 2},
    /* Angiograms, with B-scans in another branch. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window ! octfft name=fft ! tee name=t "
     "t. ! queue ! octangio name=angio method=complex-variance axial-shift=3 bands=2 ! "
     "fakesink "
     "t. ! queue ! opencldownload name=down ! fakesink",
        {"up"}, {"window", "fft", "angio"}, {"down"}, 1, 512 * 16 * 2},
    /* Velocities. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window ! octfft name=fft ! octdoppler name=flow "
     "! opencldownload name=down ! fakesink",
        {"up"}, {"window", "fft", "flow"}, {"down"}, 1, 512 * 16 * 2},
    /* Flat B-scans, and attenuation coefficients. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window ! octfft name=fft ! octflatten name=flat "
     "coefficients=<0,0,0,5> ! octattenuation name=attenuation depth-step=3 "
     "noise-depths=20 window-lines=3 ! opencldownload name=down ! fakesink",
        {"up"}, {"window", "fft", "flat", "attenuation"}, {"down"}, 1, 512 * 16 * 2},
    /* B-scans of a bidirectional resonant scanner, two in a buffer. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octscan name=scan b-scans-per-buffer=2 reverse=odd sinusoidal=1 delay=1.5 "
     "repeats=2 ! octwindowinterp name=window ! octfft name=fft ! octangio name=angio "
     "repeats=2 ! opencldownload name=down ! fakesink",
        {"up"}, {"scan", "window", "fft", "angio"}, {"down"}, 1, 512 * 16 * 2},
    /* Images with an automatic range, also of velocities. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octwindowinterp name=window ! octfft name=fft ! tee name=t "
     "t. ! queue ! octdoppler name=flow ! octdisplay name=show ! openclconvert "
     "name=convert colormap=flow ! fakesink "
     "t. ! queue ! octdisplay name=show2 db-auto=true ! opencldownload name=down ! "
     "fakesink",
        {"up"}, {"window", "fft", "flow", "show", "convert", "show2"}, {"down"}, 1,
        512 * 16 * 2},
    /* A whole OCT system. */
    {"videotestsrc num-buffers=FRAMES ! " SPECTRA " ! openclupload name=up ! "
     "octscan name=scan reverse=odd flyback=4 repeats=2 ! octwindowinterp name=window "
     "interpolation=nufft wavelength-min=1187 wavelength-max=1433 background=rolling ! "
     "octfft name=fft ! octbackground name=pattern ! tee name=t "
     "t. ! queue ! octangio name=angio repeats=2 bands=2 axial-shift=2 ! "
     "octdisplay name=show ! fakesink "
     "t. ! queue ! octdoppler name=flow ! octdisplay name=show2 ! fakesink "
     "t. ! queue ! octaverage name=average mean=linear rolling=true ! octdisplay "
     "name=show3 db-auto=true ! opencldownload name=down ! fakesink",
        {"up"},
        {"scan", "window", "fft", "pattern", "angio", "show", "flow", "show2", "average",
            "show3"},
        {"down"}, 1, 512 * 16 * 2},
    /* A green screen, with iterations in one launch and in many. */
    {"videotestsrc num-buffers=FRAMES pattern=smpte ! "
     "video/x-raw,format=I420,width=64,height=32 ! openclupload name=up ! "
     "openclconvert name=convert ! chromakey name=key tolerance=0.3 ! "
     "noisereduce name=noise ! flowkey name=flow limit=0.2 ! "
     "noisereduce name=noise2 fill-iterations=40 iterations=40 ! "
     "openclcompositor name=mix ! opencldownload name=down ! fakesink",
        {"up"}, {"convert", "key", "noise", "flow", "noise2", "mix"}, {"down"}, 1,
        64 * 32 * 3 / 2},
    /* Soft keying with values measured in each frame; flowkey runs until nothing
     * changes. */
    {"openclcompositor name=mix sink_0::zorder=0 sink_1::zorder=1 ! "
     "opencldownload name=down ! fakesink "
     "videotestsrc num-buffers=FRAMES ! video/x-raw,format=NV12,width=64,height=32 ! "
     "openclupload name=up ! openclconvert name=convert ! tee name=t "
     "t. ! queue ! chromakey name=key method=chroma spill=1 auto-key=rectangle ! "
     "flowkey name=flow iterations=0 ! keyfill name=fill ! mix.sink_1 "
     "t. ! queue ! splashkey name=splash ! matterefine name=refine ! mix.sink_0",
        {"up"}, {"convert", "key", "flow", "fill", "splash", "refine", "mix"}, {"down"},
        1, 64 * 32 * 3 / 2},
    /* A camera's frame composited onto itself. */
    {"openclcompositor name=mix sink_1::xpos=16 sink_1::width=40 ! opencldownload "
     "name=down ! fakesink "
     "videotestsrc num-buffers=FRAMES ! video/x-raw,format=NV12,width=64,height=32 ! "
     "openclupload name=up ! tee name=t "
     "t. ! queue ! openclconvert name=convert ! \"" PICTURES
     ",format=RGBA\" ! mix.sink_0 "
     "t. ! queue ! openclconvert name=convert2 ! \"" PICTURES
     ",format=ABGR\" ! mix.sink_1",
        {"up"}, {"convert", "convert2", "mix"}, {"down"}, 1, 64 * 32 * 3 / 2},
};

guint64
sum (
    const Records &records, const std::vector<std::string> &elements, const char *counter)
{
  guint64 total = 0;
  for (const std::string &element : elements) {
    auto found = records.find (element);
    fail_unless (
        found != records.end (), "the tracer does not mention %s", element.c_str ());
    total += found->second.at (counter);
  }
  return total;
}

/* Fails if an element downloads that should not, or if any element waits. */
void
check_nobody_waits (const Pipeline &pipeline, const Records &records)
{
  for (const auto &record : records) {
    const Counts &counts = record.second;
    bool downloads =
        std::find (pipeline.downloads.begin (), pipeline.downloads.end (), record.first)
        != pipeline.downloads.end ();
    fail_unless (counts.at ("host-waits") == 0, "%s waited %" G_GUINT64_FORMAT " times",
        record.first.c_str (), counts.at ("host-waits"));
    fail_unless (downloads || counts.at ("downloads") == 0,
        "%s downloaded %" G_GUINT64_FORMAT " times", record.first.c_str (),
        counts.at ("downloads"));
  }
}

void
check_pipeline (const Pipeline &pipeline)
{
  Records short_run = trace_frames (pipeline.line, few);
  Records long_run = trace_frames (pipeline.line, many);
  const guint64 frames = many * pipeline.sources;
  const guint64 copies = check::shares_memory () ? 0 : 1;

  /* No transfer is counted outside elements. */
  fail_if (long_run.count ("(application)"));
  check_nobody_waits (pipeline, long_run);
  /* One transfer of each frame's bytes, or none if host and device share memory. */
  expect_equal (sum (long_run, pipeline.uploads, "uploads"), frames * copies);
  expect_equal (
      sum (long_run, pipeline.uploads, "upload-bytes"), many * pipeline.bytes * copies);
  expect_equal (sum (long_run, pipeline.downloads, "uploads"), 0);
  expect_equal (sum (long_run, pipeline.downloads, "downloads"),
      frames * pipeline.downloads.size () * copies);
  /* Tables are uploaded when elements are configured, not for each frame. */
  expect_equal (sum (long_run, pipeline.between, "uploads"),
      sum (short_run, pipeline.between, "uploads"));
  /* At least one launch per frame: neighbours may share a launch. */
  fail_unless (pipeline.between.empty ()
               || sum (long_run, pipeline.between, "launches") >= frames);
}
} // namespace

TEST_ROWS (test_nothing_goes_back_to_the_host_over_1000_frames, pipelines)
{
  check_pipeline (row);
}

TEST (test_source_on_the_device_uploads_nothing)
{
  Records records = trace ("octtestsrc name=source num-buffers=200 ! "
                           "'video/x-raw(memory:OpenCLMemory),width=512,height=16' ! "
                           "octwindowinterp name=window ! octfft name=fft ! fakesink");
  Records fewer = trace ("octtestsrc name=source num-buffers=20 ! "
                         "'video/x-raw(memory:OpenCLMemory),width=512,height=16' ! "
                         "octwindowinterp name=window ! octfft name=fft ! fakesink");
  const std::vector<std::string> all = {"source", "window", "fft"};
  for (const char *counter : {"downloads", "host-waits"})
    expect_equal (sum (records, all, counter), 0);
  expect_equal (sum (records, all, "uploads"), sum (fewer, all, "uploads"));
}

/* Proves that the test above detects a round trip and names the right element. */
TEST (test_an_element_that_maps_for_the_cpu_is_reported)
{
  Records records = trace (
      "videotestsrc num-buffers=10 ! " SPECTRA " ! openclupload name=up ! "
      "octwindowinterp name=window ! identity name=cpu dump=true ! octfft name=fft ! "
      "opencldownload name=down ! fakesink");
  const guint64 copies = check::shares_memory () ? 0 : 1;
  Counts cpu = records["cpu"]; /* empty if it neither copied nor waited */
  expect_equal (cpu["downloads"], 10 * copies);
  expect_equal (cpu["download-bytes"], 10 * 512 * 16 * 4 * copies);
  /* Whether a thread had to wait depends on the speed of the device. */
  fail_unless (cpu["host-waits"] <= 10);
  for (const char *name : {"up", "window", "fft"})
    expect_equal (records.at (name).at ("downloads"), 0);
}

TEST (test_downstream_that_reads_a_frame_is_reported)
{
  Records records =
      trace ("videotestsrc num-buffers=10 ! " SPECTRA " ! openclupload name=up ! "
             "opencldownload name=down ! filesink name=file location=/dev/null");
  expect_equal (sum (records, {"down"}, "host-waits"), 0);
  expect_equal (sum (records, {"down"}, "downloads"), check::shares_memory () ? 0 : 10);
  /* A fast device may leave nothing to wait for. */
  if (records.count ("file")) {
    expect_equal (sum (records, {"file"}, "downloads"), 0);
    fail_unless (sum (records, {"file"}, "host-waits") <= 10);
  }
}

static GstOpenCLCounts
counts_of (GstElement *pipeline, const char *name)
{
  GstOpenCLCounts counts;
  Owned<GstElement> element = gst_bin_get_by_name (GST_BIN (pipeline), name);
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (element), &counts);
  element = nullptr;
  return counts;
}

/* Queries do not reach from one pipeline to the other, but they share a context. */
TEST (test_one_pipeline_hands_device_memory_to_another)
{
  GstElement *giver = check::launch ("videotestsrc num-buffers=300 ! " SPECTRA
                                     " ! openclupload ! appsink name=out max-buffers=2 "
                                     "sync=false");
  GstElement *taker =
      check::launch ("appsrc name=in format=time block=true max-buffers=2 "
                     "! octwindowinterp name=window ! octfft name=fft ! "
                     "fakesink");
  Owned<GstElement> out = gst_bin_get_by_name (GST_BIN (giver), "out");
  Owned<GstElement> in = gst_bin_get_by_name (GST_BIN (taker), "in");
  Owned<GstBus> bus = gst_element_get_bus (taker);
  guint handed = 0;

  gst_element_set_state (giver, GST_STATE_PLAYING);
  gst_element_set_state (taker, GST_STATE_PLAYING);
  while (GstSample *sample = gst_app_sink_pull_sample (GST_APP_SINK (out))) {
    expect_equal (gst_app_src_push_sample (GST_APP_SRC (in), sample), GST_FLOW_OK);
    gst_sample_unref (sample);
    handed++;
  }
  gst_app_src_end_of_stream (GST_APP_SRC (in));
  Owned<GstMessage> end = gst_bus_timed_pop_filtered (
      bus, 60 * GST_SECOND, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  fail_unless (end && GST_MESSAGE_TYPE (end) == GST_MESSAGE_EOS);

  expect_equal (handed, 300);
  GstOpenCLCounts window = counts_of (taker, "window"), fft = counts_of (taker, "fft");
  fail_unless (window.launches + fft.launches >= 300);
  /* Tables are uploaded at configuration. */
  guint64 uploads = window.uploads + fft.uploads;
  fail_unless (uploads < 20, "%" G_GUINT64_FORMAT " uploads", uploads);
  expect_equal (window.downloads + fft.downloads, 0);
  expect_equal (window.host_waits + fft.host_waits, 0);
  for (GstElement *pipeline : {giver, taker}) {
    gst_element_set_state (pipeline, GST_STATE_NULL);
    gst_object_unref (pipeline);
  }
}

TEST (test_names_of_all_kinds_can_be_read_from_the_log)
{
  Records records =
      trace ("videotestsrc num-buffers=5 ! openclupload name='up (1), \"a\"' "
             "! opencldownload name=down ! fakesink");
  const guint64 copies = check::shares_memory () ? 0 : 5;
  expect_equal (sum (records, {"up (1), \"a\""}, "uploads"), copies);
  expect_equal (sum (records, {"down"}, "downloads"), copies);
}
