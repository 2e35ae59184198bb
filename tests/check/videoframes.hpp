/* Raw video frames for tests: creation, filling, padding, and access by component
 *
 *   // An element between two pads, with an odd width and rows that are longer than it
 *   const GstVideoInfo info = video::info_of ("GRAY8", 33, 7);
 *   video::Run run ("openclbrighten more=16", info, info);
 *   const video::Picture input = video::random_picture (info, 1, 5); // seed, bytes of padding
 *   const video::Picture output = run (input);
 *   video::View made (output), from (input); // access to samples
 *   expect_equal (made.at (0, 32, 6), std::min (from.at (0, 32, 6) + 16, 255));
 *
 *   // Another value from the next frame on
 *   check::set_together (run.harness.find ("openclbrighten"), "more=20");
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

#include <gst/opencl/gstopenclmemory.h>

namespace video {
inline GstVideoInfo
info_of (const char *format, int width, int height, const char *colorimetry = nullptr,
    const char *chroma_site = nullptr)
{
  GstVideoInfo info;
  fail_unless (gst_video_info_set_format (
      &info, gst_video_format_from_string (format), width, height));
  info.fps_n = 25;
  info.fps_d = 1;
  if (colorimetry)
    fail_unless (gst_video_colorimetry_from_string (&info.colorimetry, colorimetry));
  if (chroma_site)
    info.chroma_site = gst_video_chroma_site_from_string (chroma_site);
  return info;
}

/* Returns the same format, interlaced: both fields have equally many rows of chroma. */
inline GstVideoInfo
of_fields (const GstVideoInfo &progressive,
    GstVideoInterlaceMode mode = GST_VIDEO_INTERLACE_MODE_INTERLEAVED)
{
  GstVideoInfo info;
  fail_unless (gst_video_info_set_interlaced_format (&info,
      GST_VIDEO_INFO_FORMAT (&progressive), mode, progressive.width, progressive.height));
  info.fps_n = progressive.fps_n;
  info.fps_d = progressive.fps_d;
  info.colorimetry = progressive.colorimetry;
  info.chroma_site = progressive.chroma_site;
  return info;
}

/* (transfer full) */
inline GstCaps *
device_caps (const GstVideoInfo &info)
{
  GstCaps *caps = gst_video_info_to_caps (&info);
  gst_caps_set_features_simple (
      caps, gst_caps_features_new (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, nullptr));
  return caps;
}

/* A frame and its buffer; copies share the buffer. */
class Picture {
public:
  /* `padding` adds bytes to each row and before each plane. Bytes of no component are
   * 255: videoconvert reads the padding of RGBx as alpha. */
  explicit Picture (const GstVideoInfo &video_info, int padding = 0) : info (video_info)
  {
    gsize offset[GST_VIDEO_MAX_PLANES], size = 0;
    gint stride[GST_VIDEO_MAX_PLANES];
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      gsize end =
          p + 1 < GST_VIDEO_INFO_N_PLANES (&info) && info.offset[p] < info.offset[p + 1]
              ? info.offset[p + 1]
              : info.size;
      gsize lines = MAX (end - info.offset[p], 1) / info.stride[p] + 1;
      stride[p] = info.stride[p] + padding;
      offset[p] = size + padding;
      size = offset[p] + lines * stride[p];
    }
    bool padded = padding != 0;
    buffer = gst_buffer_new_allocate (nullptr, padded ? size : info.size, nullptr);
    gst_buffer_memset (buffer, 0, 0xff, G_MAXSIZE);
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_INFO_FORMAT (&info), info.width, info.height,
        GST_VIDEO_INFO_N_PLANES (&info), padded ? offset : info.offset,
        padded ? stride : info.stride);
  }
  Picture (const GstVideoInfo &video_info, GstBuffer *taken)
      : info (video_info), buffer (taken)
  {
  }
  Picture (const Picture &other)
      : info (other.info), buffer (gst_buffer_ref (other.buffer))
  {
  }
  Picture &operator= (Picture other)
  {
    std::swap (info, other.info);
    std::swap (buffer, other.buffer);
    return *this;
  }
  ~Picture () { gst_buffer_unref (buffer); }

  GstVideoInfo info;
  GstBuffer *buffer;
};

/* A frame mapped for the CPU */
class View {
public:
  explicit View (const Picture &picture, GstMapFlags access = GST_MAP_READ)
  {
    GstVideoInfo info = picture.info;
    fail_unless (gst_video_frame_map (&frame, &info, picture.buffer, access));
  }
  View (const View &) = delete;
  View &operator= (const View &) = delete;
  ~View () { gst_video_frame_unmap (&frame); }

  int components () const { return GST_VIDEO_FRAME_N_COMPONENTS (&frame); }
  int width (int component) const
  {
    return GST_VIDEO_FRAME_COMP_WIDTH (&frame, component);
  }
  int height (int component) const
  {
    return GST_VIDEO_FRAME_COMP_HEIGHT (&frame, component);
  }
  bool is_wide () const { return GST_VIDEO_FRAME_COMP_DEPTH (&frame, 0) > 8; }

  /* `x` and `y` count samples of the component. */
  int at (int component, int x, int y) const
  {
    const guint8 *bytes = address (component, x, y);
    return is_wide () ? GST_READ_UINT16_LE (bytes) : *bytes;
  }
  void set (int component, int x, int y, int value)
  {
    guint8 *bytes = address (component, x, y);
    if (is_wide ())
      GST_WRITE_UINT16_LE (bytes, value);
    else
      *bytes = guint8 (value);
  }

  GstVideoFrame frame;

private:
  /* VYUY begins with V. GstVideoFormatInfo of GStreamer 1.22 has the offsets of UYVY for
   * it, and for P010 the second byte as that of V. */
  int offset_in_pixel (int component) const
  {
    const int vyuy[GST_VIDEO_MAX_COMPONENTS] = {1, 2, 0};
    const GstVideoFormat format = GST_VIDEO_FRAME_FORMAT (&frame);
    return format == GST_VIDEO_FORMAT_VYUY ? vyuy[component]
           : format == GST_VIDEO_FORMAT_P010_10LE
               ? component / 2 * 2
               : GST_VIDEO_FRAME_COMP_POFFSET (&frame, component);
  }

  guint8 *address (int component, int x, int y) const
  {
    const int plane = GST_VIDEO_FRAME_COMP_PLANE (&frame, component);
    return static_cast<guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, plane))
           + offset_in_pixel (component)
           + gsize (y) * GST_VIDEO_FRAME_COMP_STRIDE (&frame, component)
           + gsize (x) * GST_VIDEO_FRAME_COMP_PSTRIDE (&frame, component);
  }
};

/* Sets each sample to `value` (c, x, y), 0 … 1; x and y count samples of component c. */
inline void
fill (const Picture &picture, const std::function<double (int c, int x, int y)> &value)
{
  View view (picture, GST_MAP_WRITE);
  double scale = view.is_wide () ? 65535 : 255;
  for (int c = 0; c < view.components (); c++)
    for (int y = 0; y < view.height (c); y++)
      for (int x = 0; x < view.width (c); x++)
        view.set (c, x, y, int (value (c, x, y) * scale + 0.5));
}

inline void
fill_random (const Picture &picture, unsigned seed)
{
  std::mt19937 random (seed);
  fill (picture, [&] (int, int, int) { return (random () >> 8) / double (0xffffff); });
}

inline Picture
random_picture (const GstVideoInfo &info, unsigned seed, int padding = 0)
{
  Picture picture (info, padding);
  fill_random (picture, seed);
  return picture;
}

/* Each component is a ramp in a direction of its own. */
inline void
fill_gradient (const Picture &picture)
{
  const double turns[][2] = {{1, 0}, {0, 1}, {0.5, 0.5}, {1, -0.5}};
  fill (picture, [&] (int c, int x, int y) {
    double u = (x + 0.5) / GST_VIDEO_INFO_COMP_WIDTH (&picture.info, c);
    double v = (y + 0.5) / GST_VIDEO_INFO_COMP_HEIGHT (&picture.info, c);
    double value = turns[c][0] * u + turns[c][1] * v;
    return value < 0 ? 0 : value > 1 ? 1 : value;
  });
}

/* The largest difference between samples of two pictures of one format. */
inline int
largest_difference (const Picture &a, const Picture &b)
{
  View left (a), right (b);
  int largest = 0;
  expect_equal (left.components (), right.components ());
  for (int c = 0; c < left.components (); c++) {
    expect_equal (left.width (c), right.width (c));
    expect_equal (left.height (c), right.height (c));
    for (int y = 0; y < left.height (c); y++)
      for (int x = 0; x < left.width (c); x++)
        largest = MAX (largest, ABS (left.at (c, x, y) - right.at (c, x, y)));
  }
  return largest;
}

/* Output of GstVideoConverter without dithering. Its fast paths ignore the chroma siting
 * and take the nearest sample. This quantization turns them off. */
inline Picture
videoconverted (const Picture &input, const GstVideoInfo &output)
{
  GstVideoInfo in = input.info, out = output;
  Picture made (out);
  GstVideoConverter *converter = gst_video_converter_new (&in, &out,
      gst_structure_new ("options", GST_VIDEO_CONVERTER_OPT_DITHER_METHOD,
          GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE,
          GST_VIDEO_CONVERTER_OPT_DITHER_QUANTIZATION, G_TYPE_UINT, 2, nullptr));
  View from (input), to (made, GST_MAP_WRITE);
  gst_video_converter_frame (converter, &from.frame, &to.frame);
  gst_video_converter_free (converter);
  return made;
}

/* Opaque frame of one colour, 0xRRGGBB, that GstVideoConverter made from RGBA */
inline Picture
solid_color (const GstVideoInfo &info, guint color)
{
  Picture rgba (info_of ("RGBA", info.width, info.height));
  fill (rgba, [&] (int c, int, int) {
    return c == 3 ? 1 : ((color >> (16 - 8 * c)) & 0xff) / 255.0;
  });
  return videoconverted (rgba, info);
}

/* One element between test pads, with caps in device memory on both sides */
class Run {
public:
  /* `probe` sees the queries that the element sends downstream, from the first on. */
  Run (const std::string &launch_line, const GstVideoInfo &in, const GstVideoInfo &out,
      GstPadProbeCallback probe = nullptr)
      : harness (launch_line), output (out)
  {
    if (probe)
      gst_pad_add_probe (
          harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, probe, nullptr, nullptr);
    gst_harness_set_caps (harness, device_caps (in), device_caps (out));
  }

  /* (transfer full) */
  GstBuffer *pass (const Picture &input)
  {
    return harness.pass (gst_buffer_ref (input.buffer)).give ();
  }
  Picture operator() (const Picture &input)
  {
    Picture made (output, pass (input));
    fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (made.buffer, 0)));
    return made;
  }

  check::Harness harness;

private:
  GstVideoInfo output;
};

/* Output of a new element for one frame */
inline Picture
converted (const std::string &launch_line, const Picture &input, const GstVideoInfo &out)
{
  return Run (launch_line, input.info, out) (input);
}
} // namespace video
