/* Builds random pipelines of all elements, and disturbs them while they play
 *
 * random-pipelines FOLDER FIRST COUNT [LINE] runs the seeds FIRST to FIRST + COUNT - 1. FOLDER
 * holds the input files that tests/modes/random.sh writes. LINE is disturbed in place of the
 * random pipelines. A pipeline may end with an element error,
 * since its values and frames are random. The process ends at a CRITICAL message, a crash, or
 * when a pipeline does not stop within the time limit. The last seed printed is that one.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/catalogue.hpp"
#include "tests/soak/knobs.hpp"

#include <gst/video/video.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace {
constexpr unsigned time_limit = 240; /* seconds for one pipeline, with a sanitizer */

std::string folder;

/* --- chance --- */

class Chance {
public:
  explicit Chance (guint32 seed) : state (g_rand_new_with_seed (seed)) {}
  ~Chance () { g_rand_free (state); }
  Chance (const Chance &) = delete;

  gint below (gsize end) { return g_rand_int_range (state, 0, gint (end)); }
  bool once_in (gsize n) { return below (n) == 0; }
  const char *of (const std::vector<const char *> &choices)
  {
    return choices[gsize (below (choices.size ()))];
  }
  GRand *rand () { return state; }

private:
  GRand *const state;
};

/* --- launch lines --- */

/* Streams are letters, see tests/catalogue.txt. */
struct Step {
  std::string from;
  char to; /* 0: the same */
  std::string elements;
};

std::vector<Step> steps, sources, sinks;

/* Fills the lists above, with the files in the folder. Steps of video get RGBA. */
void
read_catalogue ()
{
  const std::string file = folder + "/catalogue.txt";
  for (const catalogue::Line &line : catalogue::lines ("step", folder, file.c_str ())) {
    const gsize at = line.streams.find ('>');
    const bool is_video = line.streams[0] == 'v';
    /* The tests of kernels have files of their own for each size. */
    if (line.name.empty () || line.text.find (folder) == std::string::npos)
      steps.push_back ({line.streams.substr (0, at), line.streams[at + 1],
          (is_video ? "openclconvert ! " : "") + line.text});
  }
  for (const catalogue::Line &line : catalogue::lines ("source", folder, file.c_str ()))
    sources.push_back ({"", line.streams[0], line.text});
  for (const catalogue::Line &line : catalogue::lines ("sink", folder, file.c_str ()))
    sinks.push_back ({line.streams, 0, line.text});
}

const std::vector<const char *> formats = {"RGBA", "BGRA", "ARGB", "ABGR", "RGBx", "RGB",
    "I420", "NV12", "YUY2", "GRAY8", "GRAY16_LE", "RGBA64_LE", "P010_10LE", "Y42B",
    "AYUV"};
const std::vector<const char *> sizes = {"width=64,height=48", "width=1,height=1",
    "width=17,height=5", "width=131,height=67", "width=320,height=240",
    "width=2,height=90"};
const std::vector<const char *> extras = {"", ",framerate=0/1", ",framerate=60/1",
    ",pixel-aspect-ratio=4/3", ",interlace-mode=interleaved", ",colorimetry=bt2100-pq",
    ",colorimetry=1:3:5:1", ",multiview-mode=side-by-side"};

std::string
random_size (Chance &chance)
{
  return std::string ("video/x-raw,format=") + chance.of (formats) + ","
         + chance.of (sizes) + chance.of (extras);
}

class Line {
public:
  explicit Line (Chance &a_chance) : chance (a_chance)
  {
    const Step &source = sources[gsize (chance.below (sources.size ()))];
    append (source.elements);
    branch (source.to, 3 + chance.below (5));
  }

  const std::string &text () const { return line; }

private:
  void append (const std::string &elements)
  {
    const std::string n = std::to_string (n_parts);
    const std::string words =
        catalogue::replaced (catalogue::replaced (elements, "OUT", folder + "/out-" + n),
            "name=valve", "name=valve" + n);
    line += (line.empty () ? "" : " ! ") + words;
    n_parts++;
  }

  const Step &choose (const std::vector<Step> &choices, char kind)
  {
    for (;;) {
      const Step &step = choices[gsize (chance.below (choices.size ()))];
      if (step.from.find (kind) != std::string::npos)
        return step;
    }
  }

  void branch (char kind, gint length)
  {
    for (gint n = 0; n < length; n++) {
      if (chance.once_in (8) && length > 2) {
        const std::string tee = "tee" + std::to_string (n_parts);
        append ("tee name=" + tee);
        line += " " + tee + ". ! queue";
        branch (kind, length - n - 1);
        line += " " + tee + ". ! queue";
      }
      const Step &step = choose (steps, kind);
      append (step.elements);
      kind = step.to ? step.to : kind;
    }
    append (choose (sinks, kind).elements);
  }

  Chance &chance;
  guint n_parts = 0;
  std::string line;
};

/* --- disturbance of frames --- */

/* A copy of a frame in other strides and offsets, which its meta tells; sometimes the meta is
 * wrong */
GstBuffer *
with_odd_meta (GstBuffer *buffer, const GstVideoInfo &info, Chance &chance)
{
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  gsize size = gsize (chance.below (70));
  const guint n_planes = GST_VIDEO_INFO_N_PLANES (&info);
  for (guint plane = 0; plane < n_planes; plane++) {
    offsets[plane] = size;
    strides[plane] = GST_VIDEO_INFO_PLANE_STRIDE (&info, plane) + 4 * chance.below (9);
    size += gsize (strides[plane]) * gsize (GST_VIDEO_INFO_HEIGHT (&info))
            + gsize (chance.below (30));
  }
  GstBuffer *odd = gst_buffer_new_allocate (nullptr, size, nullptr);
  gst_buffer_memset (odd, 0, guint8 (chance.below (256)), gsize (-1));
  gst_buffer_copy_into (odd, buffer,
      GstBufferCopyFlags (GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS), 0,
      gsize (-1));
  if (chance.once_in (4)) {
    offsets[chance.below (n_planes)] = g_rand_int (chance.rand ());
    strides[chance.below (n_planes)] = gint (g_rand_int (chance.rand ()));
  }
  gst_buffer_add_video_meta_full (odd, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_INFO_FORMAT (&info), guint (GST_VIDEO_INFO_WIDTH (&info)),
      guint (GST_VIDEO_INFO_HEIGHT (&info)), n_planes, offsets, strides);
  return odd;
}

GstBuffer *
of_wrong_size (GstBuffer *buffer, Chance &chance)
{
  const gsize size = gst_buffer_get_size (buffer);
  const gsize other = chance.once_in (3)   ? 0
                      : chance.once_in (2) ? size + 64
                                           : size - size / 3;
  GstBuffer *wrong = gst_buffer_new_allocate (nullptr, other, nullptr);
  gst_buffer_copy_into (wrong, buffer, GST_BUFFER_COPY_METADATA, 0, gsize (-1));
  return wrong;
}

/* Replaces some frames at a pad. The streaming thread alone uses `chance`. */
struct FrameDisturber {
  Chance chance;

  static GstPadProbeReturn on_buffer (GstPad *pad, GstPadProbeInfo *probe, gpointer data)
  {
    Chance &chance = static_cast<FrameDisturber *> (data)->chance;
    auto *buffer = GST_PAD_PROBE_INFO_BUFFER (probe);
    if (!chance.once_in (4))
      return GST_PAD_PROBE_OK;
    GstCaps *caps = gst_pad_get_current_caps (pad);
    GstVideoInfo info;
    GstBuffer *other = nullptr;
    if (chance.once_in (6))
      other = of_wrong_size (buffer, chance);
    else if (caps && gst_video_info_from_caps (&info, caps)
             && GST_VIDEO_INFO_N_PLANES (&info) > 0)
      other = with_odd_meta (buffer, info, chance);
    gst_clear_caps (&caps);
    if (other) {
      gst_buffer_unref (buffer);
      probe->data = other;
    }
    return GST_PAD_PROBE_OK;
  }
};

/* --- a pipeline under disturbance --- */

/* GStreamer's reader of structures logs a critical message for text that is none. */
thread_local bool reads_text = false;

const std::vector<const char *> texts = {"", "x", "a", "1", "-1,2", "0.5", "<1,2,3>",
    "<<1,0>,<0,1>>", "a,gain=2", "input=1", "/nonexistent", "<0,0,0,9>", "0,1", "nan"};
/* These write files or read devices. */
const char *const not_texts[] = {"location", "device", "name", "settings", nullptr};

void
set_random (const soak::Knob &knob, GRand *rand)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, knob.spec->value_type);
  const char *text = texts[gsize (g_rand_int_range (rand, 0, gint (texts.size ())))];
  reads_text = true;
  const bool is_value =
      soak::choose_value (rand, knob.spec, &value)
      || (!g_strv_contains (not_texts, knob.spec->name)
          && gst_value_deserialize_with_pspec (&value, text, knob.spec));
  reads_text = false;
  if (is_value)
    g_object_set_property (knob.object, knob.spec->name, &value);
  g_value_unset (&value);
}

class Disturbed {
public:
  Disturbed (GstElement *a_pipeline, guint32 a_seed)
      : pipeline (a_pipeline), seed (a_seed), chance (seed),
        knobs (soak::knobs_of (a_pipeline))
  {
    change_size ();
    if (chance.once_in (2))
      disturb_frames ();
  }

  void run ()
  {
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    std::atomic<bool> ends{false};
    std::vector<std::thread> setters;
    for (guint32 n = 0; n < 2 && !knobs.empty (); n++)
      setters.emplace_back ([this, n, &ends] { turn_knobs (n, ends); });
    const gint n_actions = 3 + chance.below (10);
    for (gint n = 0; n < n_actions && !has_ended (); n++)
      act ();
    ends = true;
    for (std::thread &setter : setters)
      setter.join ();
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }

private:
  void disturb_frames ()
  {
    std::vector<GstPad *> pads;
    for (const soak::Knob &knob : knobs) {
      if (!GST_IS_ELEMENT (knob.object) || GST_IS_BIN (knob.object))
        continue;
      for (GList *pad = GST_ELEMENT (knob.object)->sinkpads; pad; pad = pad->next)
        pads.push_back (GST_PAD (pad->data));
    }
    if (pads.empty ())
      return;
    gst_pad_add_probe (pads[gsize (chance.below (pads.size ()))],
        GST_PAD_PROBE_TYPE_BUFFER, FrameDisturber::on_buffer,
        new FrameDisturber{Chance (seed)},
        [] (gpointer data) { delete static_cast<FrameDisturber *> (data); });
  }

  void turn_knobs (guint32 thread, const std::atomic<bool> &ends)
  {
    Chance own (seed + thread);
    while (!ends) {
      set_random (knobs[gsize (own.below (knobs.size ()))], own.rand ());
      g_usleep (gulong (own.below (20000)));
    }
  }

  bool has_ended ()
  {
    GstBus *bus = gst_element_get_bus (pipeline);
    GstMessage *message =
        gst_bus_timed_pop_filtered (bus, guint64 (chance.below (60)) * GST_MSECOND,
            GstMessageType (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    gst_object_unref (bus);
    const bool ended = message != nullptr;
    gst_clear_message (&message);
    return ended && chance.once_in (2); /* a seek after EOS or an error is allowed */
  }

  void act ()
  {
    switch (chance.below (7)) {
    case 0:
    case 1:
      seek ();
      break;
    case 2:
    case 3:
      change_size ();
      break;
    case 4:
      turn_valves ();
      break;
    case 5: {
      const GstState states[] = {GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_NULL};
      gst_element_set_state (pipeline, states[chance.below (3)]);
      gst_element_set_state (pipeline, GST_STATE_PLAYING);
      break;
    }
    default:
      gst_element_send_event (pipeline, gst_event_new_reconfigure ());
    }
  }

  bool has_valve () const
  {
    GstIterator *valves =
        gst_bin_iterate_all_by_element_factory_name (GST_BIN (pipeline), "valve");
    GValue first = G_VALUE_INIT;
    const bool found = gst_iterator_next (valves, &first) == GST_ITERATOR_OK;
    if (found)
      g_value_unset (&first);
    gst_iterator_free (valves);
    return found;
  }

  /* Without a flush, a seek waits for ever for a sink that waits for its first frame. So it
   * does with a valve: a closed one keeps the flush back, and one that has opened sends an
   * earlier EOS before it. */
  void seek ()
  {
    if (has_valve ())
      return;
    gst_element_seek_simple (pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
        GstClockTime (chance.below (1500)) * GST_MSECOND);
  }

  void change_size ()
  {
    if (GstElement *size = gst_bin_get_by_name (GST_BIN (pipeline), "size")) {
      gst_util_set_object_arg (G_OBJECT (size), "caps", random_size (chance).c_str ());
      gst_object_unref (size);
    }
  }

  void turn_valves ()
  {
    GstIterator *elements = gst_bin_iterate_elements (GST_BIN (pipeline));
    gst_iterator_foreach (
        elements,
        [] (const GValue *element, gpointer data) {
          GObject *object = G_OBJECT (g_value_get_object (element));
          if (g_str_has_prefix (GST_OBJECT_NAME (object), "valve"))
            g_object_set (
                object, "drop", static_cast<Chance *> (data)->once_in (2), nullptr);
        },
        &chance);
    gst_iterator_free (elements);
  }

  GstElement *const pipeline;
  const guint32 seed;
  Chance chance;
  const std::vector<soak::Knob> knobs;
};

/* --- seeds --- */

/* During a flush, GstAggregator 1.22 pushes a frame or EOS without the segment before it. */
const char *const of_gstreamer[] = {"gst_segment_clip: ", "gst_event_set_seqnum: "};

/* Ends the process, with AddressSanitizer also where the message came from. LLVM, in PoCL,
 * takes the signal of abort(). */
void
end_at_critical (const gchar *domain, GLogLevelFlags level, const gchar *text, gpointer)
{
  if (!(level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) || reads_text)
    return;
  for (const char *known : of_gstreamer) {
    if (g_str_has_prefix (text, known))
      return;
  }
  g_printerr ("CRITICAL of %s: %s\n", domain ? domain : "?", text);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_print_stack_trace ();
#endif
  abort ();
}

void
run_seed (guint32 seed, const char *given)
{
  Chance chance (seed);
  std::string line = Line (chance).text ();
  if (given)
    line = given;
  printf ("seed %u: %s\n", seed, line.c_str ());
  fflush (stdout);
  GError *error = nullptr;
  GstElement *pipeline =
      gst_parse_launch_full (line.c_str (), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (!pipeline) {
    printf ("  not linked: %s\n", error->message);
    g_clear_error (&error);
    return;
  }
  gst_object_ref_sink (pipeline);
  alarm (time_limit);
  Disturbed (pipeline, seed).run ();
  gst_object_unref (pipeline);
  alarm (0);
}

void
report_hang (int)
{
  const char text[] = "the pipeline of the last seed does not stop\n";
  if (write (STDERR_FILENO, text, sizeof text - 1) < 0)
    _exit (2);
  abort ();
}
} // namespace

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  if (argc != 4 && argc != 5) {
    g_printerr ("usage: random-pipelines FOLDER FIRST COUNT [LINE]\n");
    return 2;
  }
  folder = argv[1];
  read_catalogue ();
  std::signal (SIGALRM, report_hang);
  g_log_set_default_handler (end_at_critical, nullptr);
  const auto first = guint32 (g_ascii_strtoull (argv[2], nullptr, 10));
  const auto count = guint32 (g_ascii_strtoull (argv[3], nullptr, 10));
  for (guint32 seed = first; seed < first + count; seed++)
    run_seed (seed, argc > 4 ? argv[4] : nullptr);
  printf ("done\n");
  return 0;
}
