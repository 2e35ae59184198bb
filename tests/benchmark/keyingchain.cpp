/* opencl-bench: the green screen's elements and their input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyingchain.hpp"

#include <random>

namespace bench {
const char *const keying_chain =
    "chromakey ! noisereduce iterations=5 ! flowkey iterations=3 ! "
    "noisereduce iterations=5";

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
    /* Darker to the corner: keyed at once, by flow, and not at all. */
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
} // namespace bench
