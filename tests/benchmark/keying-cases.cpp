/* opencl-bench: the cases of green screens
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"
#include "firstframe.hpp"
#include "keyingchain.hpp"
#include "session.hpp"

#include <algorithm>
#include <cmath>

namespace bench {
namespace {
struct Size {
  unsigned width, height;
};

constexpr Size uhd = {3840, 2160}, hd = {1920, 1080};

Size
size_or (const Session &session, const Size &fallback)
{
  const Options &options = session.options;
  return options.width ? Size{options.width, options.height} : fallback;
}

double
rgba_bytes (const Size &size)
{
  return 4.0 * size.width * size.height;
}

Feed
pinned (Feed feed)
{
  feed.kind = Feed::POOL;
  return feed;
}

/* `feed`'s frame on the device, as `format`. */
bool
hold_on_device (const Feed &feed, Feed &held, std::string &error)
{
  return hold_frame (
      "benchmarksource name=source ! openclupload ! appsink name=sink sync=false",
      {{"source", feed}}, held, error);
}

Result
frames_result (const Session &session, const std::string &what, const Size &size)
{
  return session.result (what, picture_size (size.width, size.height), "frames/s");
}

Line
host_line (const Feed &feed, const std::string &chain, const char *sink)
{
  return {"benchmarksource name=source ! openclupload ! " + chain + " ! opencldownload ! "
              + sink,
      {{"source", pinned (feed)}}, 1};
}

void
run_host (Session &session, const std::string &what, const Size &fallback,
    const std::string &chain)
{
  const Size size = size_or (session, fallback);
  Result result = frames_result (session, what, size);
  result.limit = session.ceilings.link_limit (rgba_bytes (size), rgba_bytes (size));
  measure (host_line (green_screen (size.width, size.height), chain, queued_sink),
      session.options.timing, result);
  session.print (result);
}

/* What reads a frame and writes one, on the device. */
void
run_on_device (Session &session, const std::string &what, const Size &size,
    const Feed &filmed, const std::string &chain)
{
  Result result = frames_result (session, what, size);
  Feed held;
  result.limit = session.ceilings.memory_limit (2 * rgba_bytes (size));
  if (hold_on_device (filmed, held, result.error))
    measure (
        {"benchmarksource name=source ! " + chain + " ! " + sink, {{"source", held}}, 1},
        session.options.timing, result);
  session.print (result);
}

void
run_device (Session &session, const std::string &what)
{
  const Size size = size_or (session, uhd);
  run_on_device (
      session, what, size, green_screen (size.width, size.height), keying_chain);
}

void
run_convergence (Session &session, const std::string &what)
{
  const Size size = size_or (session, hd);
  const unsigned columns = std::min (1000u, size.width - 1);
  run_on_device (session, what, size, long_flow (size.width, size.height, columns),
      "flowkey iterations=0");
}

/* The background's frames come with the picture's, as the compositor takes one of each.
 */
bool
composited_line (const Size &size, Line &line, std::string &error)
{
  const std::string on_device = "video/x-raw(memory:OpenCLMemory),format=";
  const GstClockTime duration = GST_SECOND / 30;
  Feed filmed, background;
  if (!hold_frame (
          "benchmarksource name=source ! openclupload ! openclconvert ! " + on_device
              + "NV12 ! opencldownload ! video/x-raw ! appsink name=sink sync=false",
          {{"source", green_screen (size.width, size.height)}}, filmed, error)
      || !hold_on_device (long_flow (size.width, size.height, 100), background, error)
      || !to_host (filmed, Feed::POOL, 1, error))
    return false;
  filmed.duration = background.duration = duration;
  line.text = "openclcompositor name=mix background=transparent ! openclconvert ! "
              + on_device + "NV12 ! opencldownload ! " + queued_sink
              + " benchmarksource name=behind ! mix.sink_0 "
                "benchmarksource name=source ! openclupload ! openclconvert ! "
              + on_device + "RGBA ! " + keying_chain + " ! mix.sink_1";
  line.feeds = {{"source", filmed}, {"behind", background}};
  return true;
}

void
run_composited (Session &session, const std::string &what)
{
  const Size size = size_or (session, uhd);
  const double bytes = rgba_bytes (size) * 3 / 8;
  Result result = frames_result (session, what, size);
  Line line;
  result.limit = session.ceilings.link_limit (bytes, bytes);
  if (composited_line (size, line, result.error))
    measure (line, session.options.timing, result);
  session.print (result);
}

void
run_latency (Session &session, const std::string &what)
{
  const Size size = size_or (session, hd);
  const double bytes = rgba_bytes (size);
  Result result = frames_result (session, what, size);
  result.limit =
      1 / (bytes / session.ceilings.upload + bytes / session.ceilings.download);
  measure_latency (host_line (green_screen (size.width, size.height), keying_chain, sink),
      session.options.timing, result);
  session.print (result);
}

void
run_blocking (Session &session, const std::string &what, const Size &fallback)
{
  const Size size = size_or (session, fallback);
  Result result = frames_result (session, what, size);
  const Feed filmed = green_screen (size.width, size.height);
  measure_blocking_keying (session.context, size.width, size.height,
      filmed.frames.front (), session.options.timing, result);
  session.print (result);
}

void
run_ffmpeg (Session &session, const std::string &what, bool opencl)
{
  const Size size = size_or (session, hd);
  Result result = frames_result (session, what, size);
  if (!opencl)
    result.device = "CPU";
  measure_ffmpeg (session.device_name, opencl, size.width, size.height,
      session.options.timing, result);
  session.print (result);
}

/* GStreamer's own element for the purpose, on the CPU. */
void
run_alpha (Session &session, const std::string &what)
{
  const Size size = size_or (session, hd);
  Result result = frames_result (session, what, size);
  Feed filmed = green_screen (size.width, size.height);
  result.device = "CPU";
  measure ({std::string ("benchmarksource name=source ! alpha method=green ! "
                         "video/x-raw,format=AYUV ! ")
                   + sink,
               {{"source", filmed}}, 1},
      session.options.timing, result);
  session.print (result);
}
} // namespace

const std::vector<Case> keying_cases = {
    {"host", "3840x2160 RGBA host to host, pinned: the whole run",
        [] (Session &session, const std::string &what) {
          run_host (session, what, uhd, keying_chain);
        }},
    {"composited", "3840x2160 NV12 to NV12, over a background that is on the device",
        run_composited},
    {"device", "3840x2160 RGBA that is and stays on the device: the whole run",
        run_device},
    {"convergence", "1920x1080 on the device: flowkey until nothing changes, 1000 deep",
        run_convergence},
    {"hd-chromakey", "1920x1080 RGBA host to host, pinned: chromakey alone",
        [] (Session &session, const std::string &what) {
          run_host (session, what, hd, "chromakey");
        }},
    {"hd-host", "1920x1080 RGBA host to host, pinned: the whole run",
        [] (Session &session, const std::string &what) {
          run_host (session, what, hd, keying_chain);
        }},
    {"latency", "one frame of 1920x1080 at a time, host to host", run_latency},
    {"first-frame", "process start to first frame: without kernel caches, then with",
        [] (Session &session, const std::string &what) {
          const Size size = size_or (session, hd);
          measure_first_frames (session, what, picture_size (size.width, size.height));
        }},
    {"baseline-blocking", "3840x2160: a launch, buffers and a blocking read a step",
        [] (Session &session, const std::string &what) {
          run_blocking (session, what, uhd);
        }},
    {"baseline-blocking-hd", "the same at 1920x1080",
        [] (Session &session, const std::string &what) {
          run_blocking (session, what, hd);
        }},
    {"baseline-ffmpeg-opencl", "ffmpeg's colorkey_opencl, 1920x1080",
        [] (Session &session, const std::string &what) {
          run_ffmpeg (session, what, true);
        }},
    {"baseline-ffmpeg", "ffmpeg's colorkey, 1920x1080",
        [] (Session &session, const std::string &what) {
          run_ffmpeg (session, what, false);
        }},
    {"baseline-alpha", "GStreamer's alpha, 1920x1080", run_alpha},
};
} // namespace bench
