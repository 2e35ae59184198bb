/* soak: runs one thing for long and looks whether the process grows
 *
 * soak CASE [SCALE] runs a case, SCALE (1) times as long as it is meant, and prints what
 * the process has in the end, beside what it had when it was warm: resident memory, file
 * descriptors, threads. Exits with 1 where it has more, or where a pipeline fails.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/soak/knobs.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <vector>

namespace {
/* --- what a process has --- */

struct Possessions {
  gsize resident = 0; /* KiB */
  guint descriptors = 0;
  guint threads = 0;
};

guint
count_entries (const char *folder)
{
  guint n = 0;
  GDir *directory = g_dir_open (folder, 0, nullptr);
  while (g_dir_read_name (directory))
    n++;
  g_dir_close (directory);
  return n;
}

Possessions
look ()
{
  Possessions now;
  unsigned long total = 0, resident = 0;
  FILE *file = fopen ("/proc/self/statm", "r");
  if (fscanf (file, "%lu %lu", &total, &resident) != 2)
    g_error ("/proc/self/statm is not to be read");
  fclose (file);
  now.resident = resident * gsize (sysconf (_SC_PAGESIZE)) / 1024;
  now.descriptors = count_entries ("/proc/self/fd");
  now.threads = count_entries ("/proc/self/task");
  return now;
}

/* Memory of the process over time: the maximum of the second fifth, when it is warm,
 * and of the last fifth */
class Watch {
public:
  explicit Watch (guint64 steps) : steps (steps) {}

  void at (guint64 step)
  {
    const guint64 fifth = step * 5 / steps;
    if (fifth != 1 && fifth < 4)
      return;
    const Possessions now = look ();
    Possessions &most = fifth == 1 ? warm : last;
    most.resident = std::max (most.resident, now.resident);
    most.descriptors = std::max (most.descriptors, now.descriptors);
    most.threads = std::max (most.threads, now.threads);
  }

  /* For what may build another program at any step, which stays, and opens files for it */
  void let_build () { builds = true; }

  /* Pages that were touched for the first time late, a cache that fills: but no more. */
  bool is_flat () const
  {
    const gsize room = builds ? G_MAXINT : 8 * 1024 + warm.resident / 20;
    const guint files = builds ? 8 : 0;
    return warm.resident > 0 && last.resident <= warm.resident + room
           && last.descriptors <= warm.descriptors + files
           && last.threads <= warm.threads;
  }

  void print (const char *name, gdouble seconds) const
  {
    g_print ("%s: %" G_GUINT64_FORMAT " in %.0f s; resident %.1f MiB, then %.1f; "
             "descriptors %u, then %u; threads %u, then %u%s\n",
        name, steps, seconds, warm.resident / 1024.0, last.resident / 1024.0,
        warm.descriptors, last.descriptors, warm.threads, last.threads,
        is_flat () ? "" : ": it grows");
  }

private:
  const guint64 steps;
  bool builds = false;
  Possessions warm, last;
};

/* --- pipelines --- */

GstElement *
launch (const std::string &line)
{
  GError *error = nullptr;
  GstElement *pipeline =
      gst_parse_launch_full (line.c_str (), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!pipeline)
    g_error ("%s: %s", line.c_str (), error->message);
  return GST_ELEMENT (gst_object_ref_sink (pipeline));
}

/* Until EOS; false, and said, at an error. */
bool
wait_for_end (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered (
      bus, GST_CLOCK_TIME_NONE, GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  const bool ended = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
  if (!ended) {
    GError *error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    g_print ("%s: %s\n", GST_MESSAGE_SRC_NAME (message), error->message);
    g_error_free (error);
  }
  gst_message_unref (message);
  gst_object_unref (bus);
  return ended;
}

void
stop (GstElement *pipeline)
{
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

/* Looks now and then when a frame comes to a sink. */
struct Frames {
  const guint64 every;
  Watch &watch;
  guint64 n = 0;

  static void count (GstElement *, GstBuffer *, GstPad *, gpointer data)
  {
    auto *self = static_cast<Frames *> (data);
    if (++self->n % self->every == 0)
      self->watch.at (self->n - 1);
  }
};

/* `line` has a place for how many frames, and a sink named end. */
bool
run_frames (const char *line, guint64 n, Watch &watch)
{
  gchar *text = g_strdup_printf (line, guint (n));
  GstElement *pipeline = launch (text);
  g_free (text);
  GstElement *end = gst_bin_get_by_name (GST_BIN (pipeline), "end");
  Frames frames{std::max<guint64> (1, n / 500), watch};
  g_object_set (end, "signal-handoffs", TRUE, nullptr);
  g_signal_connect (end, "handoff", G_CALLBACK (Frames::count), &frames);
  gst_object_unref (end);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  const bool ended = wait_for_end (pipeline) && frames.n == n;
  stop (pipeline);
  return ended;
}

/* --- cases --- */

#define OCT                                                                              \
  "octwindowinterp name=interp wavelength-min=1187 wavelength-max=1433 ! "               \
  "octfft name=fft ! opencldownload ! "
#define KEYING                                                                           \
  "openclupload ! chromakey name=key ! noisereduce name=noise ! flowkey name=flow ! "    \
  "keyfill name=fill ! opencldownload ! "
/* Depths of complex numbers, shown in three ways; of a queue of pictures no more than a live
 * one has. */
#define FEW "queue max-size-buffers=2 ! "
#define DEPTHS                                                                           \
  "video/x-raw(memory:OpenCLMemory),width=512,height=60 ! "                              \
  "octscan name=scan b-scans=16 line-step=5 b-scan-step=5 ! octwindowinterp "            \
  "name=spectra wavelength-min=1187 wavelength-max=1433 background=rolling ! "           \
  "octfft name=depth ! application/x-oct(ANY),format=CF32LE ! tee name=depths ! " FEW    \
  "octbackground name=pattern ! octflatten name=flat coefficients=<0,0,0,9,0,4> ! "      \
  "octaverage name=mean frames=4 rolling=true ! "                                        \
  "octdisplay name=display ! opencldownload ! fakesink "                                 \
  "depths. ! " FEW "octdoppler name=doppler line-rate=20000 ! octdisplay min=-6 "        \
  "max=6 ! openclconvert colormap=flow ! opencldownload ! fakesink "                     \
  "depths. ! " FEW "octangio name=angio repeats=2 ! octvolume name=vessels "             \
  "b-scans=16 surface=true ! opencldownload ! fakesink "                                 \
  "depths. ! " FEW "octvolume b-scans=4 ! other/tensors(ANY),num_tensors=1 ! "           \
  "octregister name=register volumes=2 ! opencldownload ! fakesink "                     \
  "depths. ! " FEW "octsignal name=signal ! opencldownload ! fakesink "                  \
  "depths. ! " FEW "octattenuation name=attenuation depth-step=3 noise-depths=20 ! "     \
  "octdisplay max=10 ! openclconvert colormap=viridis ! opencldownload ! fakesink "      \
  "depths. ! " FEW "octvolume name=volume live=true ! octrender name=view turn=3 ! "     \
  "opencldownload ! "
/* A film before another, as cameras give them. */
#define ACTOR                                                                            \
  "pattern=ball background-color=0xff20a040 ! video/x-raw,format=I420,width=192,"        \
  "height=108 ! openclupload ! chromakey name=soft key-color=0xff20a040 "                \
  "method=difference plate=measured quiet=true spill=1 ! "                               \
  "matteshape name=shape feather=2 ! matterefine name=refine ! " FEW "mix.sink_1 "
#define STAGE                                                                            \
  "! video/x-raw,format=NV12,width=96,height=54 ! openclupload ! " FEW "mix.sink_0 "     \
  "openclcompositor name=mix sink_0::zorder=0 sink_0::width=192 sink_0::height=108 "     \
  "sink_1::zorder=1 sink_1::light-wrap=0.5 sink_1::light-wrap-radius=4 ! "               \
  "openclconvert ! opencldownload ! video/x-raw,format=I420 ! "
#define PROGRAMS                                                                         \
  "video/x-raw,format=RGBA,width=192,height=108 ! openclupload ! tee name=film ! " FEW   \
  "openclkernel name=curve expression=pow(x,gamma) arguments=a,gamma=2.2 ! blend.curve " \
  "film. ! " FEW "openclconvolve name=edges kernel=<<0,1,0>,<1,-4,1>,<0,1,0>> ! "        \
  "blend.edges openclkernelmixer name=blend expression=0.5f*(curve+edges) ! "            \
  "opencldownload ! "
#define END "fakesink name=end"

bool
run_lines (guint64 n, Watch &watch)
{
  return run_frames ("octtestsrc num-buffers=%u pattern=mirrors ! "
                     "video/x-raw(memory:OpenCLMemory),width=512,height=60 ! " OCT END,
      n, watch);
}

bool
run_keying (guint64 n, Watch &watch)
{
  return run_frames ("videotestsrc num-buffers=%u pattern=smpte ! "
                     "video/x-raw,format=RGBA,width=640,height=480 ! " KEYING END,
      n, watch);
}

bool
run_depths (guint64 n, Watch &watch)
{
  return run_frames ("octtestsrc num-buffers=%u velocity=1 ! " DEPTHS END, n, watch);
}

bool
run_composition (guint64 n, Watch &watch)
{
  return run_frames ("videotestsrc num-buffers=%1$u " ACTOR
                     "videotestsrc num-buffers=%1$u " STAGE END,
      n, watch);
}

bool
run_programs (guint64 n, Watch &watch)
{
  return run_frames ("videotestsrc num-buffers=%u ! " PROGRAMS END, n, watch);
}

/* glibc takes large blocks from its arenas once it has seen one freed, and keeps what is free
 * there. That is the application's to decide; here it would hide what the library keeps. With
 * a fixed threshold each frame is mapped by itself and unmapped when it is freed. */
void
map_large_blocks ()
{
#ifdef __GLIBC__
  mallopt (M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

bool
run_pipelines (guint64 n, Watch &watch)
{
  map_large_blocks ();
  for (guint64 i = 0; i < n; i++) {
    GstElement *pipeline =
        launch ("videotestsrc num-buffers=4 ! video/x-raw,format=RGBA,width=1920,"
                "height=1080 ! queue ! " KEYING "queue ! videoconvert ! "
                "video/x-raw,format=I420 ! " END);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    const bool ended = wait_for_end (pipeline);
    stop (pipeline);
    if (!ended)
      return false;
    g_usleep (20 * 1000); /* PoCL's threads free the last frames */
    watch.at (i);
  }
  return true;
}

struct Knob {
  const char *element, *property;
  std::vector<const char *> values;
};

/* Frames that have come to every sink of a pipeline. */
class Arrivals {
public:
  explicit Arrivals (GstElement *pipeline)
  {
    GstIterator *sinks = gst_bin_iterate_sinks (GST_BIN (pipeline));
    gst_iterator_foreach (sinks, watch, this);
    gst_iterator_free (sinks);
  }

  /* Until some more have come to each: a machine that is slow has built by then, too, what
   * was new. Not for ever, as the pipeline may have failed: whether they came. */
  bool wait (guint more)
  {
    const gint64 end = g_get_monotonic_time () + 60 * G_TIME_SPAN_SECOND;
    bool came = true;
    for (auto &frames : counts) {
      const guint enough = *frames + more;
      while (*frames < enough && g_get_monotonic_time () < end)
        g_usleep (1000);
      came = came && *frames >= enough;
    }
    return came;
  }

private:
  static void watch (const GValue *sink, gpointer data)
  {
    auto &counts = static_cast<Arrivals *> (data)->counts;
    counts.push_back (std::make_unique<std::atomic<guint>> (0));
    g_object_set (g_value_get_object (sink), "signal-handoffs", TRUE, nullptr);
    g_signal_connect (g_value_get_object (sink), "handoff",
        G_CALLBACK (+[] (GstElement *, GstBuffer *, GstPad *,
                         std::atomic<guint> *frames) { ++*frames; }),
        counts.back ().get ());
  }

  std::vector<std::unique_ptr<std::atomic<guint>>> counts;
};

/* Turns one after the other while a pipeline plays; a pause lets some frames pass. At first
 * a longer one, unwatched, until all that is built in its course has been. */
bool
turn_knobs (const char *line, const std::vector<Knob> &knobs, guint64 n, Watch &watch)
{
  const gulong pause = 2000; /* µs */
  const guint64 until_warm = 36 * knobs.size ();
  GstElement *pipeline = launch (line);
  Arrivals arrivals (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
  GstBus *bus = gst_element_get_bus (pipeline);
  bool failed = false;
  for (guint64 i = 0; i < until_warm + n && !failed; i++) {
    const Knob &knob = knobs[i % knobs.size ()];
    GstElement *element = gst_bin_get_by_name (GST_BIN (pipeline), knob.element);
    gst_util_set_object_arg (G_OBJECT (element), knob.property,
        knob.values[i / knobs.size () % knob.values.size ()]);
    gst_object_unref (element);
    if (i < until_warm)
      arrivals.wait (3);
    else
      g_usleep (pause);
    GstMessage *error = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    failed = error != nullptr;
    gst_clear_message (&error);
    if (i >= until_warm)
      watch.at (i - until_warm);
  }
  gst_object_unref (bus);
  stop (pipeline);
  return !failed;
}

bool
run_properties (guint64 n, Watch &watch)
{
  return turn_knobs ("octtestsrc ! video/x-raw(memory:OpenCLMemory),width=512,height=60 "
                     "! " OCT "fakesink videotestsrc is-live=false ! "
                     "video/x-raw,format=RGBA,width=320,height=240 ! " KEYING "fakesink",
      {{"key", "tolerance", {"0.1", "0.3", "0.02"}},
          {"interp", "window", {"hann", "tukey", "rectangular"}},
          {"flow", "iterations", {"1", "40", "0", "3"}},
          {"interp", "dispersion-a2", {"0", "1e-5"}}, {"noise", "iterations", {"5", "1"}},
          {"fft", "db-min", {"-60", "-20"}}, {"key", "method", {"distance", "chroma"}},
          {"interp", "interpolation", {"linear", "cubic", "lanczos"}},
          {"fill", "color", {"0xff0000ff", "0xffff0000"}}},
      n, watch);
}

bool
run_depth_knobs (guint64 n, Watch &watch)
{
  return turn_knobs ("octtestsrc velocity=1 ! " DEPTHS "fakesink",
      {{"scan", "reverse", {"none", "odd", "even"}}, {"pattern", "dc-depths", {"0", "3"}},
          {"attenuation", "window-lines", {"1", "4"}},
          {"attenuation", "noise-depths", {"20", "0"}},
          {"spectra", "background", {"rolling", "frame", "none"}},
          {"depth", "depth-start", {"0", "8"}}, {"depth", "depth-count", {"0", "100"}},
          {"mean", "frames", {"4", "2", "1"}}, {"mean", "lines", {"1", "3"}},
          {"display", "db-auto", {"true", "false"}},
          {"display", "flip", {"true", "false"}}, {"doppler", "window-lines", {"4", "8"}},
          {"doppler", "threshold", {"0", "20"}}, {"volume", "b-scans", {"16", "8"}},
          {"volume", "live", {"true", "false"}}, {"view", "mode", {"maximum", "alpha"}},
          {"view", "frames", {"1", "2"}}, {"view", "elevation", {"0", "30", "90"}},
          {"angio", "axial-shift", {"0", "2"}}, {"angio", "lateral-shift", {"0", "1"}},
          {"angio", "threshold-snr", {"0", "6"}},
          {"angio", "projection-resolved", {"true", "false"}},
          {"vessels", "surface", {"true", "false"}}, {"register", "volumes", {"2", "3"}}},
      n, watch);
}

bool
run_composition_knobs (guint64 n, Watch &watch)
{
  return turn_knobs ("videotestsrc " ACTOR "videotestsrc " STAGE "fakesink",
      {{"soft", "plate", {"measured", "none", "frozen", "adaptive"}},
          {"soft", "quiet", {"true", "false"}},
          {"soft", "method", {"difference", "chroma"}},
          {"soft", "mixing", {"levels", "light", "auto"}},
          {"soft", "core", {"true", "false"}}, {"shape", "grow", {"0", "2", "-1.5"}},
          {"shape", "feather", {"2", "0"}}, {"refine", "subsample", {"3", "1"}},
          {"refine", "smoothing", {"0", "0.7"}}, {"mix", "linear", {"true", "false"}},
          {"mix", "background", {"black", "checker"}}},
      n, watch);
}

bool
run_program_knobs (guint64 n, Watch &watch)
{
  return turn_knobs ("videotestsrc ! " PROGRAMS "fakesink",
      {{"curve", "expression", {"pow (x, gamma)", "gamma * x"}},
          {"curve", "arguments", {"a,gamma=2.2", "a,gamma=1.5"}},
          {"edges", "method", {"direct", "fft", "auto"}},
          {"edges", "kernel", {"<<0,1,0>,<1,-4,1>,<0,1,0>>", "<<1,2,1>>"}},
          {"blend", "expression", {"max (curve, edges)", "curve * edges"}}},
      n, watch);
}

/* --- any knob --- */

/* A live pipeline beside another one, which must not slow it down. */
class LiveNeighbour {
public:
  LiveNeighbour ()
  {
    GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "end");
    g_object_set (sink, "signal-handoffs", TRUE, nullptr);
    g_signal_connect (sink, "handoff",
        G_CALLBACK (+[] (GstElement *, GstBuffer *, GstPad *,
                         std::atomic<guint> *arrived) { ++*arrived; }),
        &frames);
    gst_object_unref (sink);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
  }
  ~LiveNeighbour () { stop (pipeline); }
  LiveNeighbour (const LiveNeighbour &) = delete;

  /* Once the neighbours have started. */
  void begin ()
  {
    first = frames;
    start = g_get_monotonic_time ();
  }
  gdouble seconds () const
  {
    return gdouble (g_get_monotonic_time () - start) / G_TIME_SPAN_SECOND;
  }
  bool keeps_its_rate () const
  {
    const gdouble rate = (frames - first) / seconds ();
    g_print ("live neighbour: %.1f of 30 frames/s\n", rate);
    return rate >= 28;
  }

private:
  GstElement *const pipeline = launch (
      "videotestsrc is-live=true ! "
      "video/x-raw,format=RGBA,width=320,height=240,framerate=30/1 ! openclupload ! "
      "openclconvert ! video/x-raw(memory:OpenCLMemory),format=BGRA ! "
      "opencldownload ! fakesink name=end sync=true qos=true");
  std::atomic<guint> frames{0};
  guint first = 0;
  gint64 start = 0;
};

/* One after the other, by chance, of which nothing ends the pipeline or makes it wait for
 * ever; what was refused is a warning. */
bool
turn_any (const char *line, guint64 n, Watch &watch, LiveNeighbour &neighbour)
{
  GstElement *pipeline = launch (line);
  Arrivals arrivals (pipeline);
  GRand *chance = g_rand_new_with_seed (1);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
  bool goes_on = arrivals.wait (3);
  neighbour.begin ();
  const std::vector<soak::Knob> knobs = soak::knobs_of (pipeline);
  GstBus *bus = gst_element_get_bus (pipeline);
  const gdouble least_seconds = 5; /* a rate of less says little */
  for (guint64 i = 0; (i < n || neighbour.seconds () < least_seconds) && goes_on; i++) {
    const soak::Knob &knob = knobs[g_rand_int_range (chance, 0, gint32 (knobs.size ()))];
    GValue value = G_VALUE_INIT;
    g_value_init (&value, knob.spec->value_type);
    if (soak::choose_value (chance, knob.spec, &value))
      g_object_set_property (knob.object, knob.spec->name, &value);
    gchar *text = g_strdup_value_contents (&value);
    g_value_unset (&value);
    goes_on = i % 16 != 0 || arrivals.wait (1);
    GstMessage *error = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
    if (error || !goes_on)
      g_print ("%s of %s set to %s: %s\n", knob.spec->name, GST_OBJECT_NAME (knob.object),
          text, error ? "an error" : "no frame comes");
    goes_on = goes_on && !error;
    gst_clear_message (&error);
    g_free (text);
    watch.at (std::min (i, n - 1));
  }
  gst_object_unref (bus);
  g_rand_free (chance);
  stop (pipeline);
  return goes_on;
}

template <const char *const &line>
bool
run_any (guint64 n, Watch &watch)
{
  LiveNeighbour neighbour;
  watch.let_build ();
  return turn_any (line, n, watch, neighbour) && neighbour.keeps_its_rate ();
}

const char *const any_depths = "octtestsrc velocity=1 ! " DEPTHS "fakesink";
const char *const any_composition =
    "videotestsrc " ACTOR "videotestsrc " STAGE "fakesink";
const char *const any_keying = "videotestsrc ! video/x-raw,format=RGBA,width=320,"
                               "height=240 ! " KEYING "fakesink";

/* As one scrubs: each flushes what is under way. */
bool
run_seeks (guint64 n, Watch &watch)
{
  GstElement *pipeline = launch ("videotestsrc ! video/x-raw,format=RGBA,width=320,"
                                 "height=240 ! queue ! " KEYING "queue ! fakesink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  gst_element_get_state (pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
  GstBus *bus = gst_element_get_bus (pipeline);
  bool failed = false;
  for (guint64 i = 0; i < n && !failed; i++) {
    failed = !gst_element_seek_simple (
        pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, (i * 7 % 60) * GST_SECOND);
    GstMessage *message = gst_bus_timed_pop_filtered (bus, 10 * GST_SECOND,
        GstMessageType (GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR));
    failed = failed || !message || GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR;
    gst_clear_message (&message);
    watch.at (i);
  }
  gst_object_unref (bus);
  stop (pipeline);
  return !failed;
}

bool
run_caps (guint64 n, Watch &watch)
{
  return turn_knobs ("videotestsrc ! capsfilter name=size caps-change-mode=delayed "
                     "caps=video/x-raw,format=RGBA,width=64,height=48 ! " KEYING
                     "fakesink",
      {{"size", "caps",
          {"video/x-raw,format=RGBA,width=64,height=48",
              "video/x-raw,format=RGBA,width=320,height=240",
              "video/x-raw,format=BGRA,width=100,height=75"}}},
      n, watch);
}

struct Case {
  const char *name;
  guint64 n; /* as long as it is meant */
  guint64 least;
  bool (*run) (guint64 n, Watch &watch);
};

const Case cases[] = {
    {"lines", 1000000, 2000, run_lines},
    {"keying", 200000, 1000, run_keying},
    {"depths", 20000, 500, run_depths},
    {"composition", 5000, 500, run_composition},
    {"programs", 20000, 500, run_programs},
    {"pipelines", 400, 20, run_pipelines},
    {"properties", 10000, 200, run_properties},
    {"depth-knobs", 5000, 200, run_depth_knobs},
    {"composition-knobs", 5000, 200, run_composition_knobs},
    {"program-knobs", 5000, 200, run_program_knobs},
    {"any-depth-knob", 2000, 100, run_any<any_depths>},
    {"any-composition-knob", 2000, 100, run_any<any_composition>},
    {"any-keying-knob", 2000, 100, run_any<any_keying>},
    {"caps", 2000, 60, run_caps},
    {"seeks", 5000, 100, run_seeks},
};
} // namespace

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  g_thread_pool_set_max_unused_threads (0); /* else their number depends on timing */
  const gdouble scale = argc > 2 ? g_ascii_strtod (argv[2], nullptr) : 1;
  for (const Case &known : cases) {
    if (argc < 2 || strcmp (argv[1], known.name) != 0)
      continue;
    const guint64 n = std::max (known.least, guint64 (std::llround (known.n * scale)));
    Watch watch (n);
    const gint64 start = g_get_monotonic_time ();
    const bool ended = known.run (n, watch);
    watch.print (
        known.name, gdouble (g_get_monotonic_time () - start) / G_TIME_SPAN_SECOND);
    return ended && watch.is_flat () ? 0 : 1;
  }
  g_printerr ("soak CASE [SCALE], of which CASE is one of:");
  for (const Case &known : cases)
    g_printerr (" %s", known.name);
  g_printerr ("\n");
  return 2;
}
