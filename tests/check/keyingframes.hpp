/* Harness of the keying elements: frames of four bytes per pixel through one element, in
 * device memory of any layout
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>

namespace keying_frames {
struct Pixel {
  uint8_t red, green, blue, alpha;

  bool operator== (const Pixel &other) const
  {
    return red == other.red && green == other.green && blue == other.blue
           && alpha == other.alpha;
  }
};

struct Picture {
  int width = 0, height = 0;
  std::vector<Pixel> pixels;

  Picture () = default;
  Picture (int a_width, int a_height, Pixel pixel = {0, 0, 0, 255})
      : width (a_width), height (a_height), pixels (size_t (a_width) * a_height, pixel)
  {
  }
  /* Calls `pixel_at` with each column and row, from left to right and downwards. */
  template <typename PixelAt, typename = std::invoke_result_t<PixelAt, int, int>>
  Picture (int a_width, int a_height, PixelAt pixel_at) : Picture (a_width, a_height)
  {
    draw (0, 0, width, height, pixel_at);
  }
  /* The same in a rectangle, without the column `right` and the row `bottom` */
  template <typename PixelAt>
  void draw (int left, int top, int right, int bottom, PixelAt pixel_at)
  {
    for (int y = top; y < bottom; y++)
      for (int x = left; x < right; x++)
        at (x, y) = pixel_at (x, y);
  }
  void fill (int left, int top, int right, int bottom, Pixel pixel)
  {
    draw (left, top, right, bottom, [&] (int, int) { return pixel; });
  }
  Pixel &at (int x, int y) { return pixels[size_t (y) * width + x]; }
  const Pixel &at (int x, int y) const { return pixels[size_t (y) * width + x]; }
};

/* Red, green and blue: levels, or linear light on the same scale */
using Color = std::array<double, 3>;

inline Color
color_of (const Pixel &pixel)
{
  return {double (pixel.red), double (pixel.green), double (pixel.blue)};
}

inline Pixel
pixel_of (const Color &color, int alpha = 255)
{
  return {uint8_t (lround (color[0])), uint8_t (lround (color[1])),
      uint8_t (lround (color[2])), uint8_t (alpha)};
}

/* A pixel of which `front` covers a part */
inline Pixel
mixed (const Pixel &back, const Pixel &front, double part)
{
  const Color a = color_of (back), b = color_of (front);
  return pixel_of ({a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1]),
      a[2] + part * (b[2] - a[2])});
}

/* The same colour in other light */
inline Pixel
lit (const Pixel &pixel, double light)
{
  return mixed ({0, 0, 0, 255}, pixel, light);
}

/* Largest difference of a component, without alpha */
inline double
difference (const Pixel &pixel, const Color &color)
{
  return std::max ({fabs (pixel.red - color[0]), fabs (pixel.green - color[1]),
      fabs (pixel.blue - color[2])});
}

/* For messages */
inline std::string
text_of (const Color &color)
{
  return check::text ("%g,%g,%g", color[0], color[1], color[2]);
}

inline std::string
text_of (const Pixel &pixel)
{
  return check::text ("%d,%d,%d,%d", pixel.red, pixel.green, pixel.blue, pixel.alpha);
}

/* Byte offsets of the components in a pixel */
struct Format {
  const char *name;
  int red, green, blue, alpha;
};

const Format formats[] = {
    {"RGBA", 0, 1, 2, 3},
    {"BGRA", 2, 1, 0, 3},
    {"ARGB", 1, 2, 3, 0},
    {"ABGR", 3, 2, 1, 0},
};

/* Memory layout of a frame: bytes before it, and after each row */
struct Layout {
  gsize offset;
  gsize padding;
};

const Layout layouts[] = {{0, 0}, {16, 64}, {4, 12}, {8, 4}, {1, 3}, {2, 0}};

/* Random numbers, the same on every machine */
class Random {
public:
  explicit Random (uint32_t seed) : state (seed * 2654435761u + 1) {}
  uint32_t below (uint32_t end)
  {
    state = state * 1664525u + 1013904223u;
    return uint32_t ((uint64_t (state >> 8) * end) >> 24);
  }

private:
  uint32_t state;
};

class ElementUnderTest {
public:
  explicit ElementUnderTest (const std::string &launch)
      : harness (gst_harness_new_parse (launch.c_str ())),
        context (gst_opencl_context_new (nullptr, nullptr)), bus (gst_bus_new ())
  {
    fail_unless (harness != nullptr && context != nullptr);
    gst_element_set_bus (harness->element, bus);
  }
  ~ElementUnderTest ()
  {
    gst_element_set_bus (harness->element, nullptr);
    gst_harness_teardown (harness);
  }
  ElementUnderTest (const ElementUnderTest &) = delete;

  /* (transfer full) */
  GstElement *element (const char *factory)
  {
    GstElement *found = gst_harness_find_element (harness, factory);
    fail_unless (found != nullptr, "no element %s", factory);
    return found;
  }

  template <typename... Values> void set (const char *factory, Values... values)
  {
    GstElement *found = element (factory);
    g_object_set (found, values..., nullptr);
    gst_object_unref (found);
  }

  /* Sets a property to a value as in a launch line. */
  void set_text (const char *factory, const char *property, const std::string &value)
  {
    check::Owned<GstElement> found = element (factory);
    gst_util_set_object_arg (G_OBJECT (found), property, value.c_str ());
  }

  /* Returns the messages since the last call. */
  check::Outcome messages () { return check::collect (bus); }

  Picture run (
      const Picture &picture, const Format &format = formats[0], Layout layout = {0, 0})
  {
    check::Owned<GstBuffer> output =
        pass (make_buffer (picture, format, layout), picture, format);
    return read_buffer (output, picture, format);
  }

  /* (transfer full): output for `buffer` (transfer full), a frame of the size of
   * `picture` */
  GstBuffer *pass (GstBuffer *buffer, const Picture &picture, const Format &format)
  {
    negotiate (picture, format);
    GstBuffer *output = gst_harness_push_and_pull (harness, buffer);
    fail_unless (output != nullptr);
    return output;
  }

  /* Flushes as a seek does. With `with_caps`, caps with another framerate follow. */
  void flush (bool with_caps)
  {
    GstSegment segment;
    gst_segment_init (&segment, GST_FORMAT_TIME);
    check::Owned<GstCaps> current = gst_pad_get_current_caps (harness->srcpad);
    check::Owned<GstCaps> caps = gst_caps_copy (current);
    gst_caps_set_simple (caps, "framerate", GST_TYPE_FRACTION, 25, 1, nullptr);
    gst_harness_push_event (harness, gst_event_new_flush_start ());
    gst_harness_push_event (harness, gst_event_new_flush_stop (TRUE));
    if (with_caps)
      gst_harness_push_event (harness, gst_event_new_caps (caps));
    gst_harness_push_event (harness, gst_event_new_segment (&segment));
  }

  GstHarness *get_harness () { return harness; }
  GstOpenCLContext *get_context () { return context; }
  GstBus *get_bus () { return bus; }

  void negotiate (const Picture &picture, const Format &format)
  {
    std::string wanted = std::string (format.name) + std::to_string (picture.width) + "x"
                         + std::to_string (picture.height);
    if (wanted == negotiated)
      return;
    negotiated = wanted;
    gchar *caps = g_strdup_printf (
        "video/x-raw(memory:OpenCLMemory), format=%s, width=%d, height=%d, "
        "framerate=30/1%s%s",
        format.name, picture.width, picture.height, colorimetry ? ", colorimetry=" : "",
        colorimetry ? colorimetry : "");
    gst_harness_set_src_caps_str (harness, caps);
    g_free (caps);
  }

  GstBuffer *make_buffer (const Picture &picture, const Format &format, Layout layout)
  {
    gsize stride = 4 * gsize (picture.width) + layout.padding;
    gsize size = layout.offset + stride * picture.height;
    GstMemory *memory = gst_opencl_memory_new (context, size, nullptr);
    GstBuffer *buffer = gst_buffer_new ();
    GstMapInfo map;

    gst_buffer_append_memory (buffer, memory);
    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_WRITE));
    memset (map.data, 0xa5, size);
    for (int y = 0; y < picture.height; y++) {
      for (int x = 0; x < picture.width; x++) {
        guint8 *bytes = map.data + layout.offset + y * stride + 4 * x;
        bytes[format.red] = picture.at (x, y).red;
        bytes[format.green] = picture.at (x, y).green;
        bytes[format.blue] = picture.at (x, y).blue;
        bytes[format.alpha] = picture.at (x, y).alpha;
      }
    }
    gst_buffer_unmap (buffer, &map);
    gsize offsets[GST_VIDEO_MAX_PLANES] = {layout.offset};
    gint strides[GST_VIDEO_MAX_PLANES] = {gint (stride)};
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        gst_video_format_from_string (format.name), picture.width, picture.height, 1,
        offsets, strides);
    return buffer;
  }

  Picture read_buffer (GstBuffer *buffer, const Picture &like, const Format &format)
  {
    Picture picture (like.width, like.height);
    GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
    gsize stride = meta ? meta->stride[0] : 4 * like.width;
    gsize offset = meta ? meta->offset[0] : 0;
    GstMapInfo map;

    fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
    for (int y = 0; y < like.height; y++) {
      for (int x = 0; x < like.width; x++) {
        const guint8 *bytes = map.data + offset + y * stride + 4 * x;
        picture.at (x, y) = {bytes[format.red], bytes[format.green], bytes[format.blue],
            bytes[format.alpha]};
      }
    }
    gst_buffer_unmap (buffer, &map);
    return picture;
  }

  const char *colorimetry = nullptr; /* of the frames, or unset */

private:
  GstHarness *harness;
  check::Owned<GstOpenCLContext> context;
  check::Owned<GstBus> bus;
  std::string negotiated;
};

inline void
assert_same (const Picture &actual, const Picture &expected, const char *what)
{
  fail_unless (actual.width == expected.width && actual.height == expected.height);
  for (int y = 0; y < expected.height; y++) {
    for (int x = 0; x < expected.width; x++) {
      const Pixel &a = actual.at (x, y);
      const Pixel &e = expected.at (x, y);
      if (!(a == e))
        ck_abort_msg ("%s, %dx%d: pixel %d,%d is %s, expected %s", what, expected.width,
            expected.height, x, y, text_of (a).c_str (), text_of (e).c_str ());
    }
  }
}
} // namespace keying_frames
