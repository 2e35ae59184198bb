/* Tests of the tracer openclstats with profile=true: times, messages, records, table
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/core/profile.hpp>

#include "tests/check/folder.hpp"
#include "tests/check/onnxmodel.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"

#include <algorithm>
#include <cmath>

using namespace check;

namespace {
/* GStreamer reads these when it starts. Uploads and downloads copy, on any device. */
const bool is_traced = [] {
  const gchar *others = g_getenv ("GST_TRACERS");
  const std::string all =
      (others ? std::string (others) + ";" : "") + "openclstats(profile=true)";
  check::set_debug_switch ("share-memory", "0");
  return g_setenv ("GST_TRACERS", all.c_str (), TRUE);
}();
const bool each_has_a_process = fork_each_test ();

constexpr guint short_rounds = 20, long_rounds = 64000;

/* An element whose kernel `name` takes time in proportion to `rounds`. Frames are small,
 * since a GPU works on all pixels at once. A compiler cannot shorten the loop. */
std::string
busy (const char *name, guint rounds)
{
  return text (
      " openclkernel name=%s source=\"kernel void %s_kernel ("
      "global const uchar *input, global uchar *output, int stride) {"
      " size_t at = get_global_id (1) * stride + get_global_id (0);"
      " uint value = input[at];"
      " for (uint n = 0; n < %u; n++) value = (value ^ value >> 13) * 1664525u + n;"
      " output[at] = value >> 24; }\" ",
      name, name, rounds);
}

std::string
source (guint frames)
{
  return text ("videotestsrc num-buffers=%u ! video/x-raw,format=GRAY8,width=64,"
               "height=4 ! openclupload name=up !",
      frames);
}

const char *const sink = " ! opencldownload name=down ! fakesink";

MeasuredTimes
times_of (const Pipeline &pipeline, const char *name)
{
  return check::times_of (gst_opencl_statistics_of (pipeline[name]));
}

/* --- messages --- */

struct TimeMessage {
  std::string element, kernel, layer;
  guint64 count;
  guint64 time;
};

/* Returns the messages of the profile up to EOS, an error or a timeout. */
std::vector<TimeMessage>
profile_messages (GstBus *bus, GstClockTime wait, GstMessageType *end)
{
  std::vector<TimeMessage> all;
  *end = GST_MESSAGE_UNKNOWN;
  while (
      Owned<GstMessage> message = gst_bus_timed_pop_filtered (bus, wait,
          GstMessageType (GST_MESSAGE_ELEMENT | GST_MESSAGE_EOS | GST_MESSAGE_ERROR))) {
    const GstStructure *fields = gst_message_get_structure (message);
    *end = GST_MESSAGE_TYPE (message);
    if (*end != GST_MESSAGE_ELEMENT)
      break;
    if (!gst_structure_has_name (fields, "opencl-profile"))
      continue;
    TimeMessage one = {GST_MESSAGE_SRC_NAME (message),
        gst_structure_get_string (fields, "kernel"),
        gst_structure_get_string (fields, "layer"), 0, 0};
    fail_unless (gst_structure_get_uint64 (fields, "count", &one.count));
    fail_unless (gst_structure_get_uint64 (fields, "time-ns", &one.time));
    all.push_back (one);
  }
  return all;
}

std::vector<TimeMessage>
messages_of (const std::vector<TimeMessage> &all, const char *element, const char *kernel)
{
  std::vector<TimeMessage> chosen;
  std::copy_if (all.begin (), all.end (), std::back_inserter (chosen),
      [=] (const TimeMessage &one) {
        return one.element == element && one.kernel == kernel;
      });
  return chosen;
}
} // namespace

/* --- times --- */

TEST (test_profile_times_kernels_and_transfers)
{
  constexpr guint frames = 12;
  Pipeline pipeline (source (frames) + busy ("short", short_rounds) + "!"
                     + busy ("long", long_rounds) + sink);
  const gint64 start = g_get_monotonic_time ();
  pipeline.play_to_eos ();
  const GstClockTime wall = (g_get_monotonic_time () - start) * GST_USECOND;

  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  const MeasuredTimes quick = times_of (pipeline, "short");
  const MeasuredTimes slow = times_of (pipeline, "long");
  expect_equal (quick.size (), 1u);
  expect_equal (slow.size (), 1u);
  const Measured of_quick = quick.at ({"short_kernel", ""});
  const Measured of_slow = slow.at ({"long_kernel", ""});
  expect_equal (of_quick.count, frames);
  expect_equal (of_slow.count, frames);
  fail_unless (of_slow.time > 5 * of_quick.time,
      "%" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT " ns", of_slow.time, of_quick.time);
  /* Both run on one queue, one after the other. */
  fail_unless (of_quick.time > 0 && of_quick.time + of_slow.time <= wall);

  expect_equal (times_of (pipeline, "up").at ({"(upload)", ""}).count, frames);
  expect_equal (times_of (pipeline, "down").at ({"(download)", ""}).count, frames);
}

/* The last element launches the kernel for all. */
TEST (test_profile_adds_fused_kernels_to_the_element_that_launches)
{
  constexpr guint frames = 10;
  Pipeline pipeline (
      text ("videotestsrc num-buffers=%u pattern=ball background-color=0xff20a040 ! "
            "video/x-raw,format=RGBA,width=64,height=48 ! openclupload ! "
            "chromakey key-color=0xff20a040 tolerance=0.06 ! noisereduce name=noise ! "
            "flowkey name=flow ! fakesink",
          frames));
  pipeline.play_to_eos ();
  fail_unless (times_of (pipeline, "noise").empty ());
  const MeasuredTimes flow = times_of (pipeline, "flow");
  fail_unless (flow.begin ()->first.first.find ("run_chain") == 0, "%s",
      flow.begin ()->first.first.c_str ());
  expect_equal (flow.begin ()->second.count, frames);
}

/* --- work --- */

namespace {
/* The work of a layer, which its slowest kernel has alone */
Measured
work_of (const Pipeline &pipeline, const char *name, const std::string &layer)
{
  Measured slowest;
  guint rows = 0;
  for (const auto &[what, time] : times_of (pipeline, name)) {
    if (what.second != layer || (what.first[0] == '(' && what.first != "(clFFT)"))
      continue;
    rows += time.flop > 0 || time.bytes > 0;
    if (time.time > slowest.time)
      slowest = time;
  }
  expect_equal (rows, slowest.flop > 0 || slowest.bytes > 0 ? 1u : 0u);
  return slowest;
}

void
expect_work (const Measured &work, double flop, double bytes)
{
  fail_unless (std::abs (work.flop - flop) < 0.5 && std::abs (work.bytes - bytes) < 0.5,
      "%g operations and %g bytes, expected %g and %g", work.flop, work.bytes, flop,
      bytes);
}
} // namespace

/* Several kernels of one convolution have its work once. */
TEST_ROWS (test_profile_counts_work_of_convolutions, {"direct", "fft"})
{
  Pipeline pipeline (
      text ("videotestsrc num-buffers=5 ! video/x-raw,format=GRAY8,width=64,height=48 ! "
            "openclupload ! openclconvolve name=conv method=%s "
            "kernel=<<0,1,0>,<1,-4,1>,<0,1,0>> ! fakesink",
          row));
  pipeline.play_to_eos ();
  expect_work (work_of (pipeline, "conv", ""), 5 * 2.0 * 9 * 64 * 48,
      5 * (2.0 * 64 * 48 + 9 * sizeof (float)));
}

TEST (test_profile_counts_work_of_products)
{
  Pipeline pipeline (
      "openclkernelsrc num-buffers=3 expression=i0 "
      "output-caps=\"other/tensors,types=float32,dimensions=(string)20:20:2\""
      " ! openclkernel name=product expression=\"x @ x\" ! fakesink");
  pipeline.play_to_eos ();
  expect_work (work_of (pipeline, "product", ""), 3 * 2.0 * 2 * 20 * 20 * 20,
      3 * sizeof (float) * 2.0 * 800);
}

TEST (test_profile_counts_work_of_layers)
{
  const Folder folder;
  const std::string model = folder.write ("red.onnx", red_matte_model ().bytes ());
  Pipeline pipeline (
      "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=8,height=8 ! "
      "openclupload ! openclinference name=net model-file="
      + model + " ! fakesink");
  pipeline.play_to_eos ();
  expect_work (work_of (pipeline, "net", "Conv_0"), 3 * 2.0 * 3 * 64,
      3 * sizeof (float) * (3.0 * 64 + 64 + 3));
  expect_work (work_of (pipeline, "net", ""), 0, 0);
}

TEST (test_profile_shows_groups_and_local_memory)
{
  Pipeline pipeline (
      source (2)
      + " openclkernel name=work local-size=8,2 source=\"kernel void shared_kernel ("
        "global const uchar *input, global uchar *output, int stride) {"
        " local uchar shared[16]; int i = get_local_id (1) * 8 + get_local_id (0);"
        " size_t at = get_global_id (1) * stride + get_global_id (0);"
        " shared[i] = input[at]; barrier (CLK_LOCAL_MEM_FENCE);"
        " output[at] = shared[15 - i]; }\" ! fakesink");
  pipeline.play_to_eos ();
  const Measured work = times_of (pipeline, "work").at ({"shared_kernel", ""});
  expect_equal (work.group, 16u);
  fail_unless (work.local_memory >= 16, "%" G_GUINT64_FORMAT, work.local_memory);
  expect_work (work, 0, 2 * 2 * 64 * 4);
}

/* --- messages --- */

TEST (test_profile_posts_all_times_before_eos)
{
  constexpr guint frames = 7;
  Pipeline pipeline (source (frames) + busy ("work", short_rounds) + sink);
  GstMessageType end;
  pipeline.start ();
  const std::vector<TimeMessage> all = profile_messages (pipeline.bus, timeout, &end);
  expect_equal (end, GST_MESSAGE_EOS);
  const std::pair<const char *, const char *> expected[] = {
      {"up", "(upload)"}, {"work", "work_kernel"}, {"down", "(download)"}};
  for (const auto &[element, kernel] : expected) {
    const std::vector<TimeMessage> posted = messages_of (all, element, kernel);
    fail_if (posted.empty (), "%s posted nothing", element);
    expect_equal (posted.back ().count, frames, element);
    expect_equal (posted.back ().time,
        times_of (pipeline, element).at ({kernel, ""}).time, element);
    expect_equal (posted.back ().layer, "", element);
  }
}

/* Each element posts about once a second, with growing totals. */
TEST (test_profile_posts_messages_while_it_runs)
{
  Pipeline pipeline (
      "videotestsrc is-live=true num-buffers=70 ! video/x-raw,format=GRAY8,"
      "width=64,height=48,framerate=20/1 ! openclupload name=up !"
      + busy ("work", short_rounds) + sink);
  GstMessageType end;
  const gint64 start = g_get_monotonic_time ();
  pipeline.start ();
  const std::vector<TimeMessage> all = profile_messages (pipeline.bus, timeout, &end);
  const gsize seconds = (g_get_monotonic_time () - start) / G_USEC_PER_SEC;
  expect_equal (end, GST_MESSAGE_EOS);
  const std::vector<TimeMessage> posted = messages_of (all, "work", "work_kernel");
  fail_unless (posted.size () >= 3 && posted.size () <= seconds + 1,
      "%u messages in %u s", guint (posted.size ()), guint (seconds));
  for (gsize n = 1; n < posted.size (); n++)
    fail_unless (
        posted[n].count > posted[n - 1].count && posted[n].time > posted[n - 1].time);
  expect_equal (posted.back ().count, 70u);
}

/* --- ends --- */

TEST (test_profile_leaves_nothing_after_a_stop)
{
  Pipeline pipeline (source (100000) + busy ("work", short_rounds) + sink);
  GstMessageType end;
  pipeline.set_state (GST_STATE_PLAYING);
  g_usleep (200000);
  pipeline.set_state (GST_STATE_READY);
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  const guint64 count = times_of (pipeline, "work").at ({"work_kernel", ""}).count;
  fail_unless (count > 0);
  expect_equal (counts_of (pipeline["work"]).launches, count);
  /* The totals of a stopped element */
  const std::vector<TimeMessage> all = profile_messages (pipeline.bus, 0, &end);
  expect_equal (messages_of (all, "work", "work_kernel").back ().count, count);
}

TEST (test_profile_leaves_nothing_after_an_error)
{
  Pipeline pipeline (source (100) + busy ("work", short_rounds) + sink);
  counting::fail_call (counting::ENQUEUE_KERNEL, 6, CL_OUT_OF_RESOURCES);
  Outcome outcome = pipeline.play ();
  const std::vector<std::string> errors = outcome.errors_of ("work");
  expect_equal (errors.size (), 1u, outcome.line ());
  expect_contains (errors[0], {"clEnqueueNDRangeKernel"});
  pipeline.set_state (GST_STATE_NULL);
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  expect_equal (gst_opencl_profile_get_n_missed (), 0u);
  expect_equal (times_of (pipeline, "work").at ({"work_kernel", ""}).count, 5u);
}

/* The context is released, though events of its commands were kept. */
TEST (test_profile_releases_the_context)
{
  GWeakRef context;
  g_weak_ref_init (&context, nullptr);
  {
    Pipeline pipeline (source (5) + busy ("work", short_rounds) + sink);
    pipeline.play_to_eos ();
    Owned<GstOpenCLContext> shared = new_context ();
    g_weak_ref_set (&context, shared.operator->());
  }
  fail_unless (g_weak_ref_get (&context) == nullptr);
  expect_equal (gst_opencl_profile_get_n_pending (), 0u);
  g_weak_ref_clear (&context);
}

TEST (test_profile_of_two_pipelines)
{
  Pipeline one (source (30) + busy ("work", short_rounds) + sink);
  Pipeline two (source (50) + busy ("work", short_rounds) + sink);
  GstMessageType end;
  one.start ();
  two.start ();
  const std::pair<Pipeline *, guint> both[] = {{&one, 30}, {&two, 50}};
  for (const auto &[pipeline, frames] : both) {
    const std::vector<TimeMessage> all = profile_messages (pipeline->bus, timeout, &end);
    expect_equal (end, GST_MESSAGE_EOS);
    expect_equal (messages_of (all, "work", "work_kernel").back ().count, frames);
    expect_equal (times_of (*pipeline, "work").at ({"work_kernel", ""}).count, frames);
  }
}

/* --- the end of the program --- */

namespace {
struct Printed {
  std::string log, errors;
};

/* Runs a launch line in a process of its own, with this value of GST_TRACERS. */
Printed
trace (const std::string &line, const char *tracers)
{
  const Folder folder;
  const std::string log = folder.file ("log");
  const std::string command = "gst-launch-1.0 -q " + line;
  const std::pair<const char *, const char *> variables[] = {{"GST_TRACERS", tracers},
      {"GST_DEBUG", "GST_TRACER:7,openclstats:2,default:2"}, {"GST_DEBUG_NO_COLOR", "1"},
      {"GST_DEBUG_FILE", log.c_str ()}};
  gchar **arguments = nullptr, **environment = g_get_environ ();
  for (const auto &variable : variables)
    environment = g_environ_setenv (environment, variable.first, variable.second, TRUE);
  Owned<gchar> errors;
  gint status = -1;
  fail_unless (g_shell_parse_argv (command.c_str (), nullptr, &arguments, nullptr));
  fail_unless (g_spawn_sync (nullptr, arguments, environment, G_SPAWN_SEARCH_PATH,
      nullptr, nullptr, nullptr, errors.out (), &status, nullptr));
  fail_unless (status == 0, "%s: %s", command.c_str (), errors.operator->());
  g_strfreev (arguments);
  g_strfreev (environment);
  return {contents_of (log), errors.operator->()};
}

std::vector<std::string>
lines_with (const std::string &all, const char *part)
{
  std::vector<std::string> chosen;
  gchar **lines = g_strsplit (all.c_str (), "\n", -1);
  for (gchar **line = lines; *line; line++)
    if (strstr (*line, part))
      chosen.push_back (*line);
  g_strfreev (lines);
  return chosen;
}

std::vector<TimeMessage>
records_of (const std::string &log)
{
  std::vector<TimeMessage> records;
  for (const std::string &line : lines_with (log, ":: opencl-profile, ")) {
    GstStructure *record =
        gst_structure_from_string (strstr (line.c_str (), "opencl-profile, "), nullptr);
    fail_unless (record != nullptr, "%s", line.c_str ());
    TimeMessage one = {gst_structure_get_string (record, "element"),
        gst_structure_get_string (record, "kernel"),
        gst_structure_get_string (record, "layer"), 0, 0};
    fail_unless (gst_structure_get_uint64 (record, "count", &one.count));
    fail_unless (gst_structure_get_uint64 (record, "time-ns", &one.time));
    gst_structure_free (record);
    records.push_back (one);
  }
  return records;
}

const std::string traced_line =
    source (9) + busy ("slow", long_rounds) + "!" + busy ("quick", short_rounds) + sink;
} // namespace

TEST (test_profile_logs_records_and_prints_a_table)
{
  const Printed printed = trace (traced_line, "openclstats(profile=true)");
  const std::vector<TimeMessage> records = records_of (printed.log);
  fail_unless (std::is_sorted (records.begin (), records.end (),
      [] (const TimeMessage &a, const TimeMessage &b) { return a.time > b.time; }));
  const std::pair<const char *, const char *> expected[] = {{"up", "(upload)"},
      {"slow", "slow_kernel"}, {"quick", "quick_kernel"}, {"down", "(download)"}};
  for (const auto &[element, kernel] : expected) {
    const std::vector<TimeMessage> record = messages_of (records, element, kernel);
    expect_equal (record.size (), 1u, element);
    expect_equal (record[0].count, 9u, element);
    fail_unless (record[0].time > 0);

    /* The table has the same numbers. */
    const std::vector<std::string> rows = lines_with (printed.errors, kernel);
    expect_equal (rows.size (), 1u, printed.errors);
    const std::string total = text ("%.3f", record[0].time * 1e-6);
    const std::string mean = text ("%.1f", record[0].time * 1e-3 / 9);
    for (const std::string &part : {element + std::string (" "), std::string (" 9 "),
             " " + total + " ", " " + mean + " "})
      fail_unless (rows[0].find (part) != std::string::npos, "%s: no \"%s\"",
          rows[0].c_str (), part.c_str ());
  }
  expect_equal (lines_with (printed.errors, "total ms").size (), 1u, printed.errors);
  expect_equal (lines_with (printed.log, ":: openclstats, element").size (), 4u);
}

/* The shares are those of the rates that are given. */
TEST (test_profile_table_has_shares_of_rates)
{
  const Printed printed =
      trace ("videotestsrc num-buffers=9 ! video/x-raw,format=GRAY8,width=64,height=48 ! "
             "openclupload ! openclconvolve kernel=<<0,1,0>,<1,-4,1>,<0,1,0>> ! fakesink",
          "openclstats(profile=true,memory-rate=1e-6,arithmetic-rate=1)");
  const std::vector<std::string> heads = lines_with (printed.errors, "total ms");
  expect_equal (heads.size (), 1u, printed.errors);
  expect_contains (
      heads[0], {"group", "MB", "MFLOP", "GB/s", "GFLOP/s", "memory %", "arithmetic %"});
  const std::vector<std::string> records = lines_with (printed.log, "openclconvolve0");
  guint64 flop = 0;
  for (const std::string &line : records) {
    const gchar *start = strstr (line.c_str (), "opencl-profile, ");
    guint64 one = 0;
    GstStructure *record = start ? gst_structure_from_string (start, nullptr) : nullptr;
    if (record && gst_structure_get_uint64 (record, "flop", &one))
      flop += one;
    g_clear_pointer (&record, gst_structure_free);
  }
  fail_unless (
      std::abs (double (flop) - 9 * 2.0 * 9 * 64 * 48) < 9, "%" G_GUINT64_FORMAT, flop);
}

TEST_ROWS (test_profile_is_off_by_default, {"openclstats", "openclstats(profile=false)"})
{
  const Printed printed = trace (traced_line, row);
  fail_unless (records_of (printed.log).empty ());
  fail_unless (lines_with (printed.errors, "total ms").empty ());
  expect_equal (lines_with (printed.log, ":: openclstats, element").size (), 4u);
  fail_unless (lines_with (printed.log, "ignoring the parameters").empty ());
}

TEST_ROWS (test_profile_names_wrong_parameters,
    {"openclstats(profile=maybe)", "openclstats(profle=true)"})
{
  const Printed printed = trace ("fakesrc num-buffers=1 ! fakesink", row);
  expect_equal (
      lines_with (printed.log, "ignoring the parameters").size (), 1u, printed.log);
}
