/* Tests of properties that change while a live OCT pipeline plays
 *
 * Such a change builds programs in a thread of its own. This program overrides
 * clBuildProgram, so that a test can hold a build while frames go on.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/faults/realopencl.hpp"

#include <CL/cl.h>

#include <condition_variable>
#include <mutex>
#include <thread>

using namespace check;

static const bool alone = fork_each_test ();

namespace {
/* --- a gate for builds --- */

class Gate {
public:
  void close ()
  {
    std::lock_guard<std::mutex> guard (lock);
    closed = true;
    closer = std::this_thread::get_id ();
    held = 0;
  }

  void open ()
  {
    std::lock_guard<std::mutex> guard (lock);
    closed = false;
    changed.notify_all ();
  }

  /* Returns true if a build waits at the gate. */
  bool is_reached ()
  {
    std::lock_guard<std::mutex> guard (lock);
    return held > 0;
  }

  /* Returns the number of builds that came to the gate since it was closed. */
  unsigned builds ()
  {
    std::lock_guard<std::mutex> guard (lock);
    return held;
  }

  /* Builds of the thread that closed the gate pass: elements that start build programs. */
  void pass ()
  {
    std::unique_lock<std::mutex> guard (lock);
    if (std::this_thread::get_id () == closer)
      return;
    held++;
    changed.wait (guard, [this] { return !closed; });
  }

private:
  std::mutex lock;
  std::condition_variable changed;
  bool closed = false;
  std::thread::id closer;
  unsigned held = 0;
} gate;

/* Opens the gate, so that no test hangs in it. */
struct OpenAtEnd {
  ~OpenAtEnd () { gate.open (); }
};
} // namespace

extern "C" cl_int
clBuildProgram (cl_program program, cl_uint n, const cl_device_id *devices,
    const char *options, void (*notify) (cl_program, void *), void *user_data)
{
  gate.pass ();
  return REAL (clBuildProgram) (program, n, devices, options, notify, user_data);
}

namespace {
/* --- pipelines --- */

const guint rate = 30;
using Frames = std::vector<Bytes>; /* by frame number */

struct Settings {
  std::string interp, fft;

  std::string line (const std::string &source, guint lines = 8) const
  {
    return "octtestsrc name=src " + source
           + " ! video/x-raw(memory:OpenCLMemory),width=256,height="
           + std::to_string (lines) + ",framerate=" + std::to_string (rate)
           + "/1 ! octwindowinterp name=w wavelength-min=1187 wavelength-max=1433 "
           + interp + " ! octfft name=f " + fft
           + " ! opencldownload ! appsink name=out sync=false";
  }
};

/* Keeps binaries that another test compiled from being used. */
void
forget_compiled_kernels ()
{
  static Folder *folder;
  folder = new Folder;
  g_setenv ("POCL_CACHE_DIR", folder->path.c_str (), TRUE);
}

struct Shown {
  guint number; /* as counted by the source */
  Bytes bytes;
};

Shown
next_frame (const Pipeline &pipeline, const std::string &when)
{
  GstSample *pulled = nullptr;
  g_signal_emit_by_name (pipeline["out"], "try-pull-sample", guint64 (timeout), &pulled);
  fail_unless (pulled != nullptr, "%s: no frame arrived", when.c_str ());
  Owned<GstSample> sample (pulled);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  return {guint (GST_BUFFER_OFFSET (buffer)), read_buffer (buffer)};
}

/* Returns the first `n` frames with those settings, from a pipeline that is not live. */
Frames
reference (const Settings &settings, guint n)
{
  Pipeline pipeline (settings.line ("num-buffers=" + std::to_string (n)));
  Frames frames;
  pipeline.start ();
  for (guint i = 0; i < n; i++)
    frames.push_back (next_frame (pipeline, "reference").bytes);
  return frames;
}

/* Frames that a live pipeline showed, before and after a change of settings */
class Record {
public:
  explicit Record (const Pipeline &pipeline) : pipeline (pipeline) {}

  void look (guint n, const std::string &when)
  {
    for (guint i = 0; i < n; i++)
      frames.push_back (next_frame (pipeline, when));
  }

  /* Expects frames with `before` and then frames with `after`. The change must not come
   * before the frame with index `least`. */
  void expect (const Settings &before, const Settings &after, gsize least) const
  {
    const guint n = frames.back ().number + 1;
    const Frames old = reference (before, n), fresh = reference (after, n);
    gsize changed = 0;
    while (
        changed < frames.size () && frames[changed].bytes == old[frames[changed].number])
      changed++;
    fail_unless (changed >= least,
        "the settings changed with frame %u, expected %u or more", guint (changed),
        guint (least));
    fail_unless (changed < frames.size (), "no setting changed");
    for (gsize i = changed; i < frames.size (); i++)
      assert_same (frames[i].bytes, fresh[frames[i].number],
          text ("frame %u after the change", guint (i - changed)));
  }

  const Pipeline &pipeline;
  std::vector<Shown> frames;
};

/* Records frames until one equals that of a pipeline with these settings. */
void
wait_for_settings (Record &record, const Settings &settings, const std::string &when)
{
  const guint most = guint (60 * rate * slowness ());
  const guint ahead = 2 * rate;
  Frames expected;
  for (guint i = 0; i < most; i++) {
    record.look (1, when);
    const Shown &last = record.frames.back ();
    if (last.number >= expected.size ())
      expected = reference (settings, last.number + ahead);
    if (expected[last.number] == last.bytes)
      return;
  }
  fail_unless (false, "%s: the settings never took effect", when.c_str ());
}

/* --- a first change --- */

struct Change {
  const char *label;
  const char *element, *set;
  Settings before, after;
};

const Change changes[] = {
    {"dispersion", "w", "dispersion-a2=1e-4", {}, {"dispersion-a2=1e-4", ""}},
    {"background", "w", "background=frame", {}, {"background=frame", ""}},
    {"interpolation", "w", "interpolation=cubic", {}, {"interpolation=cubic", ""}},
    {"gridding", "w", "interpolation=nufft", {}, {"interpolation=nufft", ""}},
    {"padding", "w", "padded-samples=512", {}, {"padded-samples=512", ""}},
    {"padding to a length of an FFT library", "w", "padded-samples=300", {},
        {"padded-samples=300", ""}},
    {"padding to a length with a large prime factor", "w", "padded-samples=310", {},
        {"padded-samples=310", ""}},
    {"samples", "w", "samples=128", {}, {"samples=128", ""}},
    {"apart", "w", "interpolation=lanczos", {"", "fused=never"},
        {"interpolation=lanczos", "fused=never"}},
};
} // namespace

TEST_ROWS (test_live_settings_frames_go_on_while_programs_are_built, changes)
{
  OpenAtEnd opens;
  Pipeline pipeline (row.before.line ("is-live=true"));
  Record record (pipeline);
  pipeline.start ();
  record.look (5, "before the change");
  gate.close ();
  set_together (pipeline[row.element], row.set);
  record.look (20, "while a program is built");
  fail_unless (soon ([] { return gate.is_reached (); }), "no program is built");
  gate.open ();
  wait_for_settings (record, row.after, "after the change");
  record.look (5, "after the change");
  record.expect (row.before, row.after, 25);
  fail_unless (pipeline.messages ().is_clean ());
}

/* The range of the image depends on earlier frames, so the test only needs any frame. */
TEST (test_live_settings_frames_go_on_while_a_range_is_prepared)
{
  OpenAtEnd opens;
  const Settings fixed;
  Pipeline pipeline (fixed.line ("is-live=true"));
  Record record (pipeline);
  pipeline.start ();
  record.look (5, "before the change");
  gate.close ();
  set_together (pipeline["f"], "db-auto=true");
  record.look (20, "while a program is built");
  fail_unless (soon ([] { return gate.is_reached (); }), "no program is built");
  const Frames old = reference (fixed, record.frames.back ().number + 1);
  for (const Shown &frame : record.frames)
    assert_same (frame.bytes, old[frame.number], "with the range that is set");
  gate.open ();
  fail_unless (soon ([&] {
    record.look (1, "after the change");
    const Shown &last = record.frames.back ();
    return reference (fixed, last.number + 1).back () != last.bytes;
  }));
  fail_unless (pipeline.messages ().is_clean ());
}

namespace {
/* The longest time between two of `n` frames, in µs */
gint64
longest_gap (const Pipeline &pipeline, guint n)
{
  gint64 longest = 0, last = g_get_monotonic_time ();
  for (guint i = 0; i < n; i++) {
    next_frame (pipeline, "a gap");
    const gint64 now = g_get_monotonic_time ();
    longest = std::max (longest, now - last);
    last = now;
  }
  return longest;
}
} // namespace

/* Drivers may compile again at the first launch, which no gate detects. A loaded machine
 * delays frames too: so gaps without a change are measured for comparison, and one of
 * three changes without a delay is enough. */
TEST (test_live_settings_first_change_stops_no_frames)
{
  forget_compiled_kernels ();
  const gint64 frame = G_TIME_SPAN_SECOND / rate;
  Pipeline pipeline (Settings ().line ("is-live=true"));
  Record record (pipeline);
  pipeline.start ();
  record.look (5, "before the changes");
  std::string gaps;
  bool is_short = false;
  for (const char *interpolation : {"cubic", "lanczos", "nufft"}) {
    const std::string set = std::string ("interpolation=") + interpolation;
    const gint64 without = longest_gap (pipeline, 2 * rate);
    set_together (pipeline["w"], set);
    const gint64 with = longest_gap (pipeline, 2 * rate);
    is_short = is_short || with < 2 * frame + without;
    gaps +=
        text (" %d ms, without a change %d ms;", int (with / 1000), int (without / 1000));
  }
  wait_for_settings (record, {"interpolation=nufft", ""}, "after the changes");
  fail_unless (is_short, "frames stopped for%s", gaps.c_str ());
}

/* --- many changes --- */

TEST (test_live_settings_thirty_changes_a_second_keep_the_frame_rate)
{
  forget_compiled_kernels ();
  Pipeline pipeline (Settings ().line ("is-live=true"));
  Record record (pipeline);
  pipeline.start ();
  record.look (5, "before the changes");
  const gint64 begin = g_get_monotonic_time ();
  guint frames = 0;
  const guint changes = 3 * rate;
  std::string last;
  {
    Worker turn ([&] {
      for (guint n = 0; n < changes; n++) { /* each needs a program of its own */
        last = text ("samples=%u dispersion-a2=%g", 160 + n, n % 3 * 1e-4);
        set_together (pipeline["w"], last);
        g_usleep (G_USEC_PER_SEC / rate);
      }
    });
    while (!turn.ended ()) {
      record.look (1, "while settings change");
      frames++;
    }
  }
  const gdouble took = gdouble (g_get_monotonic_time () - begin) / G_TIME_SPAN_SECOND;
  fail_unless (frames >= 0.8 * rate * took, "%u frames in %g s, expected %g", frames,
      took, 0.8 * rate * took);
  wait_for_settings (record, {last, ""}, "after the changes");
  fail_unless (pipeline.messages ().is_clean ());
}

/* --- pipelines that are not live wait --- */

TEST_ROWS (test_live_settings_a_recording_changes_with_the_next_frame, changes)
{
  const guint n = 10, changed = 4;
  Pipeline pipeline (row.before.line ("num-buffers=" + std::to_string (n)));
  guint pushed = 0;
  watch (pipeline.pad ("src", "src"), GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *) {
    if (pushed++ == changed)
      set_together (pipeline[row.element], row.set);
    return GST_PAD_PROBE_OK;
  });
  const Frames old = reference (row.before, n), fresh = reference (row.after, n);
  pipeline.start ();
  for (guint i = 0; i < n; i++) {
    const Shown frame = next_frame (pipeline, "recording");
    assert_same (frame.bytes, (i < changed ? old : fresh)[i], text ("frame %u", i));
  }
}

/* --- while a change is prepared --- */

namespace {
/* A live pipeline with a change that waits for a build */
struct Pending {
  Pending () : pipeline (Settings ().line ("is-live=true")), record (pipeline)
  {
    pipeline.start ();
    record.look (5, "before the change");
    gate.close ();
    set_together (pipeline["w"], "interpolation=cubic");
    fail_unless (soon ([this] {
      record.look (1, "before the build");
      return gate.is_reached ();
    }));
  }
  ~Pending () { gate.open (); }

  Pipeline pipeline;
  Record record;
};
} // namespace

TEST (test_live_settings_a_pipeline_stops_while_a_program_is_built)
{
  OpenAtEnd opens;
  Pending pending;
  Worker stop ([&] { pending.pipeline.set_state (GST_STATE_NULL); });
  g_usleep (50000);
  gate.open ();
  fail_unless (soon ([&] { return stop.ended (); }));
}

TEST (test_live_settings_restart_after_stop_during_build)
{
  OpenAtEnd opens;
  Pending pending;
  {
    Worker stop ([&] { pending.pipeline.set_state (GST_STATE_READY); });
    gate.open ();
  }
  pending.pipeline.start ();
  Record record (pending.pipeline);
  wait_for_settings (record, {"interpolation=cubic", ""}, "played again");
  fail_unless (pending.pipeline.messages ().is_clean ());
}

TEST (test_live_settings_a_flush_leaves_what_is_prepared)
{
  OpenAtEnd opens;
  Pending pending;
  std::atomic<bool> flushed{false};
  watch (pending.pipeline.pad ("src", "src"), GST_PAD_PROBE_TYPE_BUFFER,
      [&] (GstPadProbeInfo *) {
        if (flushed.exchange (true))
          return GST_PAD_PROBE_OK;
        Owned<GstPad> source = pending.pipeline.pad ("src", "src");
        Owned<GstPad> sink = pending.pipeline.pad ("w", "sink");
        Owned<GstEvent> segment = gst_pad_get_sticky_event (source, GST_EVENT_SEGMENT, 0);
        gst_pad_send_event (sink, gst_event_new_flush_start ());
        gst_pad_send_event (sink, gst_event_new_flush_stop (FALSE));
        gst_pad_send_event (sink, gst_event_ref (segment));
        return GST_PAD_PROBE_OK;
      });
  pending.record.look (10, "after the flush");
  fail_unless (flushed.load ());
  gate.open ();
  wait_for_settings (pending.record, {"interpolation=cubic", ""}, "after the build");
  pending.record.expect ({}, {"interpolation=cubic", ""}, 15);
}

TEST (test_live_settings_a_bad_set_while_another_is_prepared_warns_once)
{
  OpenAtEnd opens;
  Pending pending;
  gint padded = 0;
  set_together (pending.pipeline["w"], "padded-samples=3");
  pending.record.look (10, "while a program is built");
  gate.open ();
  wait_for_settings (pending.record, {"interpolation=cubic", ""}, "after the build");
  Outcome messages;
  fail_unless (soon ([&] {
    pending.record.look (1, "after the warning");
    for (const std::string &warning : pending.pipeline.messages ().warnings)
      messages.warnings.push_back (warning);
    return !messages.warnings.empty ();
  }));
  pending.record.look (10, "after the warning");
  fail_unless (
      messages.warnings.size () == 1 && pending.pipeline.messages ().is_clean ());
  pending.record.expect ({}, {"interpolation=cubic", ""}, 15);
  g_object_get (pending.pipeline["w"], "padded-samples", &padded, nullptr);
  fail_unless_equals_int (padded, 3);
}

/* --- a stop during a build --- */

/* It builds a program for the light and one for the blending. */
TEST (test_live_settings_a_stop_waits_for_one_build)
{
  OpenAtEnd opens;
  forget_compiled_kernels ();
  Pipeline pipeline (
      "openclcompositor name=built sink_1::width=100 sink_1::light-wrap=0.5 ! "
      "video/x-raw(memory:OpenCLMemory),format=I420 ! fakesink "
      "videotestsrc num-buffers=3 ! video/x-raw,format=NV12 ! openclupload ! built. "
      "videotestsrc num-buffers=3 ! video/x-raw,format=YUY2 ! openclupload ! built.");
  gate.close ();
  fail_unless (
      gst_element_set_state (pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
  fail_unless (soon ([] { return gate.is_reached (); }), "no program is built");
  const unsigned builds = gate.builds ();
  {
    Worker stop ([&] { gst_element_set_state (pipeline, GST_STATE_NULL); });
    Owned<GstPad> pad (gst_element_get_static_pad (pipeline["built"], "src"));
    fail_unless (soon (
        [&] { return GST_PAD_MODE (static_cast<GstPad *> (pad)) == GST_PAD_MODE_NONE; }));
    gate.open ();
  }
  expect_equal (gate.builds (), builds);
  fail_unless (pipeline.messages ().is_clean ());
  pipeline.play_to_eos ();
}
