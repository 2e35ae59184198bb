/* opencl-bench: keying cases
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

constexpr Size uhd = {3840, 2160}, hd = {1920, 1080}, half_hd = {1280, 720};

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

/* Runs a chain on the device. The limit is that of reading and writing one frame. */
void
run_on_device (Session &session, const std::string &what, const Size &size,
    const Feed &screen, const std::string &chain)
{
  Result result = frames_result (session, what, size);
  Feed held;
  result.limit = session.ceilings.memory_limit (2 * rgba_bytes (size));
  if (hold_on_device (screen, held, result.error))
    measure (
        {"benchmarksource name=source ! " + chain + " ! " + sink, {{"source", held}}, 1},
        session.options.timing, result);
  session.print (result);
}

void
run_device (
    Session &session, const std::string &what, const Size &fallback, const char *chain)
{
  const Size size = size_or (session, fallback);
  run_on_device (session, what, size, green_screen (size.width, size.height), chain);
}

void
run_convergence (Session &session, const std::string &what)
{
  const Size size = size_or (session, hd);
  const unsigned columns = std::min (1000u, size.width - 1);
  run_on_device (session, what, size, long_flow (size.width, size.height, columns),
      "flowkey iterations=0");
}

/* From NV12 to NV12, which has 3/8 of the bytes of RGBA */
void
run_nv12 (Session &session, const std::string &what, const Size &size, Line line,
    const std::string &error, bool on_cpu)
{
  const double bytes = rgba_bytes (size) * 3 / 8;
  Result result = frames_result (session, what, size);
  result.error = error;
  if (on_cpu)
    result.device = "CPU";
  else
    result.limit = session.ceilings.link_limit (bytes, bytes);
  if (error.empty ())
    measure (line, session.options.timing, result);
  session.print (result);
}

void
run_camera (
    Session &session, const std::string &what, const Size &fallback, const char *keyer)
{
  const Size size = size_or (session, fallback);
  Line line;
  std::string error;
  camera_line (keyer, size.width, size.height, line, error);
  run_nv12 (session, what, size, line, error, false);
}

using MakeLine = bool (*) (unsigned, unsigned, Line &, std::string &);

void
run_line (Session &session, const std::string &what, MakeLine make, bool on_cpu)
{
  const Size size = size_or (session, hd);
  Line line;
  std::string error;
  make (size.width, size.height, line, error);
  run_nv12 (session, what, size, line, error, on_cpu);
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
run_first_frames (Session &session, const std::string &what)
{
  const Size size = size_or (session, hd);
  measure_first_frames (session, what, picture_size (size.width, size.height));
}

void
run_blocking (Session &session, const std::string &what, const Size &fallback)
{
  const Size size = size_or (session, fallback);
  Result result = frames_result (session, what, size);
  const Feed screen = green_screen (size.width, size.height);
  measure_blocking_keying (session.context, size.width, size.height,
      screen.frames.front (), session.options.timing, result);
  session.print (result);
}

void
run_ffmpeg (Session &session, const std::string &what, const Size &fallback,
    const char *filters, bool opencl)
{
  const Size size = size_or (session, fallback);
  Result result = frames_result (session, what, size);
  if (!opencl)
    result.device = "CPU";
  measure_ffmpeg (opencl ? session.device_name : "", filters, size.width, size.height,
      session.options.timing, result);
  session.print (result);
}

/* GStreamer's own element `alpha`, on the CPU */
void
run_alpha (Session &session, const std::string &what)
{
  const Size size = size_or (session, hd);
  Result result = frames_result (session, what, size);
  Feed screen = green_screen (size.width, size.height);
  result.device = "CPU";
  measure ({std::string ("benchmarksource name=source ! alpha method=green ! "
                         "video/x-raw,format=AYUV ! ")
                   + sink,
               {{"source", screen}}, 1},
      session.options.timing, result);
  session.print (result);
}
} // namespace

const std::vector<Case> keying_cases = {
    {"host", "3840x2160 RGBA host to host, pinned: the whole chain",
        with (run_host, uhd, keying_chain)},
    {"composited", "3840x2160 NV12 to NV12, over a background on the device",
        with (run_camera, uhd, keying_chain)},
    {"camera", "the same at 1920x1080", with (run_camera, hd, keying_chain)},
    {"camera-soft", "the same with a soft key", with (run_camera, hd, soft_chain)},
    {"conversion", "1920x1080 NV12 to RGBA and back to NV12, host to host",
        with (run_line, conversion_line, false)},
    {"soft", "1280x720 RGBA on the device: soft key with refine, core and spill",
        with (run_device, half_hd, soft_chain)},
    {"soft-uhd", "the same at 3840x2160", with (run_device, uhd, soft_chain)},
    {"refine", "1280x720 RGBA on the device: matterefine with smoothing",
        with (run_device, half_hd, "matterefine")},
    {"refine-uhd", "the same at 3840x2160", with (run_device, uhd, "matterefine")},
    {"device", "3840x2160 RGBA device to device: the whole chain",
        with (run_device, uhd, keying_chain)},
    {"convergence",
        "1920x1080 on the device: flowkey until nothing changes, after 1000 steps",
        run_convergence},
    {"hd-chromakey", "1920x1080 RGBA host to host, pinned: chromakey alone",
        with (run_host, hd, "chromakey")},
    {"hd-host", "1920x1080 RGBA host to host, pinned: the whole chain",
        with (run_host, hd, keying_chain)},
    {"latency", "one frame of 1920x1080 at a time, host to host", run_latency},
    {"first-frame", "process start to first frame, without and with kernel caches",
        run_first_frames},
    {"baseline-blocking", "3840x2160: a launch, buffers and a blocking read per step",
        with (run_blocking, uhd)},
    {"baseline-blocking-hd", "the same at 1920x1080", with (run_blocking, hd)},
    {"baseline-ffmpeg-opencl", "ffmpeg's colorkey_opencl, 1920x1080",
        with (run_ffmpeg, hd,
            "hwupload,colorkey_opencl=green:0.025:0,hwdownload,format=rgba", true)},
    {"baseline-ffmpeg", "ffmpeg's colorkey, 1920x1080",
        with (run_ffmpeg, hd, "colorkey=green:0.025:0", false)},
    {"baseline-ffmpeg-soft", "ffmpeg's chromakey and despill, 1280x720",
        with (run_ffmpeg, half_hd,
            "chromakey=green:0.1:0.1,format=rgba,despill=green,format=rgba", false)},
    {"baseline-alpha", "GStreamer's alpha, 1920x1080", run_alpha},
    {"baseline-alpha-camera",
        "GStreamer's videoconvert, alpha and compositor for camera, two threads",
        with (run_line, cpu_camera_line, true)},
    {"baseline-videoconvert", "GStreamer's videoconvert for conversion, two threads",
        with (run_line, cpu_conversion_line, true)},
};
} // namespace bench
