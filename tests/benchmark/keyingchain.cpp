/* opencl-bench: keying pipelines and their input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyingchain.hpp"
#include "octchain.hpp"

#include <random>

namespace bench {
const char *const keying_chain =
    "chromakey ! noisereduce iterations=5 ! flowkey iterations=3 ! "
    "noisereduce iterations=5";
const char *const soft_chain = "chromakey method=difference spill=1";

namespace {
struct Pixel {
  guint8 red, green, blue, alpha;
};

/* A frame whose pixels are `color (x, y)`. */
template <typename Color>
Feed
picture (unsigned width, unsigned height, Color color)
{
  Feed feed;
  feed.caps = hold (gst_caps_from_string (rgba_caps (width, height).c_str ()));
  const gsize size = gsize (width) * height * sizeof (Pixel);
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, size, nullptr);
  GstMapInfo map;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  Pixel *pixel = reinterpret_cast<Pixel *> (map.data);
  for (unsigned y = 0; y < height; y++)
    for (unsigned x = 0; x < width; x++)
      *pixel++ = color (x, y);
  gst_buffer_unmap (buffer, &map);
  feed.frames = {hold (buffer)};
  return feed;
}
} // namespace

std::string
rgba_caps (unsigned width, unsigned height)
{
  return "video/x-raw,format=RGBA,framerate=30/1,width=" + std::to_string (width)
         + ",height=" + std::to_string (height);
}

Feed
green_screen (unsigned width, unsigned height)
{
  std::minstd_rand random (1);
  return picture (width, height, [&, width, height] (unsigned x, unsigned y) {
    const double across = double (x) / width - 0.5, down = double (y) / height - 0.6;
    const unsigned noise = random () >> 8;
    if (across * across * 12 + down * down * 4 < 1)
      return Pixel{guint8 (150 + noise % 64), guint8 (90 + x % 64), guint8 (80), 255};
    /* Darker towards the corner: keyed by chromakey, by flowkey, and not at all. */
    const int dark = int (x * 24 / width + y * 8 / height);
    return Pixel{guint8 (noise % 6), guint8 (255 - dark - noise / 8 % 6),
        guint8 (noise / 64 % 6), 255};
  });
}

Feed
long_flow (unsigned width, unsigned height, unsigned columns)
{
  return picture (width, height, [columns] (unsigned x, unsigned) {
    if (x > columns)
      return Pixel{200, 60, 90, 255};
    return Pixel{0, 240, 0, guint8 (x == 0 ? 0 : 255)};
  });
}

bool
hold_on_device (const Feed &feed, Feed &held, std::string &error)
{
  return hold_frame (
      "benchmarksource name=source ! openclupload ! appsink name=sink sync=false",
      {{"source", feed}}, held, error);
}

namespace {
const std::string on_device = "video/x-raw(memory:OpenCLMemory),format=";
const GstClockTime frame_duration = GST_SECOND / 30;

/* Converts `camera` to `format` in host memory. */
bool
as_format (const char *format, const Feed &camera, Feed::Kind kind, Feed &made,
    std::string &error)
{
  return hold_frame ("benchmarksource name=source ! openclupload ! openclconvert ! "
                         + on_device + format
                         + " ! opencldownload ! video/x-raw ! appsink name=sink "
                           "sync=false",
             {{"source", camera}}, made, error)
         && to_host (made, kind, 1, error);
}

/* Converts to AYUV, the format between `alpha` and `compositor`. */
bool
as_ayuv (const Feed &picture, Feed &made, std::string &error)
{
  return hold_frame ("benchmarksource name=source ! videoconvert ! "
                     "video/x-raw,format=AYUV ! appsink name=sink sync=false",
      {{"source", picture}}, made, error);
}
} // namespace

/* The background has the timestamps of the foreground, as the compositor takes one frame
 * of each. */
bool
camera_line (const std::string &keyer, unsigned width, unsigned height, Line &line,
    std::string &error)
{
  Feed camera, background;
  if (!as_format ("NV12", green_screen (width, height), Feed::POOL, camera, error)
      || !hold_on_device (long_flow (width, height, 100), background, error))
    return false;
  camera.duration = background.duration = frame_duration;
  line.text = "openclcompositor name=mix background=transparent ! openclconvert ! "
              + on_device + "NV12 ! opencldownload ! " + queued_sink
              + " benchmarksource name=behind ! mix.sink_0 "
                "benchmarksource name=source ! openclupload ! "
              + keyer + " ! mix.sink_1";
  line.feeds = {{"source", camera}, {"behind", background}};
  return true;
}

bool
cpu_camera_line (unsigned width, unsigned height, Line &line, std::string &error)
{
  Feed camera, background;
  if (!as_format ("NV12", green_screen (width, height), Feed::HELD, camera, error)
      || !as_ayuv (long_flow (width, height, 100), background, error))
    return false;
  camera.duration = background.duration = frame_duration;
  line.text = std::string ("compositor name=mix max-threads=2 background=transparent ! "
                           "videoconvert n-threads=2 ! video/x-raw,format=NV12 ! ")
              + queued_sink
              + " benchmarksource name=behind ! mix.sink_0 "
                "benchmarksource name=source ! videoconvert n-threads=2 ! "
                "alpha method=green ! mix.sink_1";
  line.feeds = {{"source", camera}, {"behind", background}};
  return true;
}

bool
conversion_line (unsigned width, unsigned height, Line &line, std::string &error)
{
  Feed camera;
  if (!as_format ("NV12", green_screen (width, height), Feed::POOL, camera, error))
    return false;
  line.text = "benchmarksource name=source ! openclupload ! openclconvert ! " + on_device
              + "RGBA ! openclconvert ! " + on_device + "NV12 ! opencldownload ! "
              + queued_sink;
  line.feeds = {{"source", camera}};
  return true;
}

bool
cpu_conversion_line (unsigned width, unsigned height, Line &line, std::string &error)
{
  Feed camera;
  if (!as_format ("NV12", green_screen (width, height), Feed::HELD, camera, error))
    return false;
  line.text = std::string ("benchmarksource name=source ! videoconvert n-threads=2 ! "
                           "video/x-raw,format=RGBA ! videoconvert n-threads=2 ! "
                           "video/x-raw,format=NV12 ! ")
              + queued_sink;
  line.feeds = {{"source", camera}};
  return true;
}
} // namespace bench
