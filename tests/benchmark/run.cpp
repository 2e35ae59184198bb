/* opencl-bench: runs a pipeline and measures what arrives at its sink
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "run.hpp"

#include <gst/app/gstappsink.h>
#include <gst/opencl/gstopenclmemory.h>

#include <chrono>

namespace bench {
const char *const sink = "fakesink name=sink sync=false enable-last-sample=false";
const char *const queued_sink =
    "queue max-size-buffers=8 max-size-bytes=0 max-size-time=0 ! "
    "fakesink name=sink sync=false enable-last-sample=false";

namespace {
constexpr size_t most_latencies = 1 << 20;

/* Sets `failure` if the line cannot be parsed. */
Element
parse (const std::string &text, std::string &failure)
{
  GError *error = nullptr;
  GstElement *pipeline =
      gst_parse_launch_full (text.c_str (), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (error) {
    failure = error->message;
    g_error_free (error);
    if (pipeline)
      gst_object_unref (pipeline);
    return nullptr;
  }
  gst_object_ref_sink (pipeline);
  return hold (pipeline);
}

Element
by_name (const Element &pipeline, const char *name)
{
  return hold (gst_bin_get_by_name (GST_BIN (pipeline.get ()), name));
}

void
give_feeds (const Element &pipeline,
    const std::vector<std::pair<std::string, Feed>> &feeds, Gate *gate)
{
  for (const auto &feed : feeds)
    set_feed (by_name (pipeline, feed.first.c_str ()).get (), feed.second, gate);
}

std::string
error_on_bus (const Element &pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline.get ());
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  std::string text;
  if (message) {
    GError *error = nullptr;
    gst_message_parse_error (message, &error, nullptr);
    text = std::string (GST_MESSAGE_SRC_NAME (message)) + ": " + error->message;
    g_error_free (error);
    gst_message_unref (message);
  }
  gst_object_unref (bus);
  return text;
}

/* Checks the caps, since device memory may also be passed on as host memory. */
bool
stays_on_device (GstPad *pad)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  if (!caps)
    return false;
  const bool stays = gst_caps_features_contains (
      gst_caps_get_features (caps, 0), GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
  gst_caps_unref (caps);
  return stays;
}
} // namespace

Run::Run (const Line &line, const Timing &timing, Gate *gate)
    : pipeline (parse (line.text, failure)), amount (line.amount), windows (timing)
{
  if (!pipeline)
    return;
  give_feeds (pipeline, line.feeds, gate);
  for (const auto &feed : line.feeds)
    stamped &= feed.second.duration == 0;
  GstPad *pad = gst_element_get_static_pad (by_name (pipeline, "sink").get (), "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, this, nullptr);
  gst_object_unref (pad);
}

Run::~Run ()
{
  stop ();
}

void
Run::start ()
{
  if (pipeline)
    gst_element_set_state (pipeline.get (), GST_STATE_PLAYING);
}

void
Run::stop ()
{
  if (!pipeline)
    return;
  check_bus ();
  gst_element_set_state (pipeline.get (), GST_STATE_NULL);
  pipeline.reset ();
}

GstPadProbeReturn
Run::on_buffer (GstPad *pad, GstPadProbeInfo *info, gpointer run)
{
  static_cast<Run *> (run)->arrive (
      GST_PAD_PROBE_INFO_BUFFER (info), stays_on_device (pad));
  return GST_PAD_PROBE_OK;
}

void
Run::arrive (GstBuffer *buffer, bool on_device)
{
  GstMapInfo map;
  if (!on_device) {
    if (!gst_buffer_map (buffer, &map, GST_MAP_READ))
      return; /* a device error, which the element posts */
    gst_buffer_unmap (buffer, &map);
  }
  const double time = now ();

  std::lock_guard<std::mutex> guard (lock);
  windows.add (windows.time (), amount);
  arrived++;
  if (!on_device && stamped && windows.warm () && !windows.complete ()
      && latencies.size () < most_latencies)
    latencies.push_back (time - GST_BUFFER_PTS (buffer) * 1e-9);
  changed.notify_all ();
}

void
Run::check_bus ()
{
  if (failure.empty ())
    failure = error_on_bus (pipeline);
}

bool
Run::is_complete ()
{
  std::lock_guard<std::mutex> guard (lock);
  return windows.complete ();
}

double
Run::amount_so_far ()
{
  std::lock_guard<std::mutex> guard (lock);
  return amount * double (arrived);
}

template <typename Condition>
void
Run::wait_until (Condition condition)
{
  while (pipeline && failure.empty ()) {
    {
      std::unique_lock<std::mutex> guard (lock);
      if (changed.wait_for (guard, std::chrono::milliseconds (100), condition))
        return;
    }
    check_bus ();
  }
}

void
Run::wait ()
{
  wait_until ([this] { return windows.complete (); });
}

void
Run::wait_for_frames (unsigned frames)
{
  wait_until ([this, frames] { return arrived >= frames; });
}

void
measure (const Line &line, const Timing &timing, Result &result)
{
  Run run (line, timing);
  run.start ();
  run.wait ();
  run.stop ();
  result.rates = run.rates ();
  result.delays = run.delays ();
  result.error = run.error ();
}

void
measure_latency (const Line &line, const Timing &timing, Result &result)
{
  Gate gate;
  Run run (line, timing, &gate);
  run.start ();
  unsigned frames = 0;
  do {
    gate.open_once ();
    run.wait_for_frames (++frames);
    g_usleep (1000); /* until the pipeline is idle */
  } while (run.error ().empty () && !run.is_complete ());
  run.stop ();
  result.delays = run.delays ();
  result.error = run.error ();
  if (!result.delays.empty ())
    result.rates = {1 / median (result.delays)};
}

bool
hold_frame (const std::string &text,
    const std::vector<std::pair<std::string, Feed>> &feeds, Feed &feed,
    std::string &error)
{
  Element pipeline = parse (text, error);
  if (!pipeline)
    return false;
  give_feeds (pipeline, feeds, nullptr);
  gst_element_set_state (pipeline.get (), GST_STATE_PLAYING);
  Element sink = by_name (pipeline, "sink");
  GstSample *sample =
      gst_app_sink_try_pull_sample (GST_APP_SINK (sink.get ()), 60 * GST_SECOND);
  if (sample) {
    feed.kind = Feed::HELD;
    feed.caps = hold (gst_caps_ref (gst_sample_get_caps (sample)));
    feed.frames = {hold (gst_buffer_ref (gst_sample_get_buffer (sample)))};
    gst_sample_unref (sample);
  } else {
    error = error_on_bus (pipeline);
    if (error.empty ())
      error = "no frame within 60 s of: " + text;
  }
  gst_element_set_state (pipeline.get (), GST_STATE_NULL);
  return sample != nullptr;
}
} // namespace bench
