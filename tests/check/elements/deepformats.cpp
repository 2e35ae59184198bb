/* Tests of openclconvert with more than 8 bits, in double precision from samples that
 * GStreamer's own functions unpack
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/as-gpu.hpp"
#include "tests/check/videoframes.hpp"

#include <array>
#include <cmath>
#include <random>
#include <vector>

using video::info_of;
using video::Picture;
using video::Run;

namespace {
/* Alpha and the three components of every pixel, in 16 bits */
typedef std::array<guint16, 4> Sample;
typedef std::vector<Sample> Samples;

int
depth_of (const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_COMP_DEPTH (&info, 0);
}

int
alpha_depth_of (const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_HAS_ALPHA (&info) ? GST_VIDEO_INFO_COMP_DEPTH (&info, 3)
                                          : depth_of (info);
}

GstVideoFrame
map (const Picture &picture, GstMapFlags access)
{
  GstVideoFrame frame;
  GstVideoInfo info = picture.info;
  fail_unless (gst_video_frame_map (&frame, &info, picture.buffer, access));
  return frame;
}

/* Unpacks rows as GstVideoConverter does; deeper samples lose their lowest bits. */
Samples
unpacked (const Picture &picture)
{
  const GstVideoFormatInfo *format = picture.info.finfo;
  const int width = picture.info.width, height = picture.info.height;
  bool of_bytes = gst_video_format_get_info (format->unpack_format)->bits == 8;
  GstVideoFrame frame = map (picture, GST_MAP_READ);
  Samples samples (size_t (width) * height);
  std::vector<guint8> bytes (4 * size_t (width + 8));
  for (int y = 0; y < height; y++) {
    Sample *line = &samples[size_t (y) * width];
    std::vector<guint16> words (4 * size_t (width + 8));
    format->unpack_func (format, GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE,
        of_bytes ? static_cast<gpointer> (bytes.data ()) : words.data (), frame.data,
        frame.info.stride, 0, y, width);
    for (int n = 0; n < 4 * width; n++)
      line[n / 4][n % 4] = of_bytes ? guint16 (bytes[n] << 8) : words[n];
  }
  gst_video_frame_unmap (&frame);
  return samples;
}

/* Frames of random samples, or of a ramp along each row */
void
fill (const Picture &picture, bool random)
{
  const GstVideoFormatInfo *format = picture.info.finfo;
  const int width = picture.info.width, height = picture.info.height;
  bool of_bytes = gst_video_format_get_info (format->unpack_format)->bits == 8;
  std::mt19937 generator (5);
  GstVideoFrame frame = map (picture, GST_MAP_WRITE);
  for (int y = 0; y < height; y++) {
    std::vector<guint16> words;
    std::vector<guint8> bytes;
    for (int n = 0; n < 4 * width + 32; n++) {
      words.push_back (guint16 (random ? generator () >> 8 : n / 4 * 65535 / width));
      bytes.push_back (guint8 (words.back () >> 8));
    }
    format->pack_func (format, GST_VIDEO_PACK_FLAG_NONE,
        of_bytes ? static_cast<gpointer> (bytes.data ()) : words.data (), 0, frame.data,
        frame.info.stride, picture.info.chroma_site, y, width);
  }
  gst_video_frame_unmap (&frame);
}

struct Scale {
  double offset[3], full[3];
};

/* Matrix of ITU-R BT.601 or 709 for `depth` bits */
Scale
scale_of (const GstVideoInfo &info)
{
  double levels = pow (2, depth_of (info)) - 1, unit = pow (2, depth_of (info) - 8);
  bool is_full = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  if (GST_VIDEO_INFO_IS_RGB (&info))
    return {{0, 0, 0}, {levels, levels, levels}};
  if (is_full)
    return {{0, 128 * unit, 128 * unit}, {levels, levels, levels}};
  return {{16 * unit, 128 * unit, 128 * unit}, {219 * unit, 224 * unit, 224 * unit}};
}

typedef std::array<double, 3> Color;

/* R'G'B', 0 to 1 */
Color
color_of (const GstVideoInfo &info, const Sample &sample)
{
  Scale scale = scale_of (info);
  Color c;
  for (int n = 0; n < 3; n++)
    c[n] = ((sample[n + 1] >> (16 - depth_of (info))) - scale.offset[n]) / scale.full[n];
  if (GST_VIDEO_INFO_IS_RGB (&info))
    return c;
  bool is_601 = info.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT601;
  double red = is_601 ? 0.299 : 0.2126, blue = is_601 ? 0.114 : 0.0722;
  double r = c[0] + 2 * (1 - red) * c[2], b = c[0] + 2 * (1 - blue) * c[1];
  return {r, (c[0] - red * r - blue * b) / (1 - red - blue), b};
}

/* Levels of `info`, before they are rounded */
Color
levels_of (const GstVideoInfo &info, const Color &rgb)
{
  Scale scale = scale_of (info);
  Color c = rgb;
  if (!GST_VIDEO_INFO_IS_RGB (&info)) {
    bool is_601 = info.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT601;
    double red = is_601 ? 0.299 : 0.2126, blue = is_601 ? 0.114 : 0.0722;
    double y = red * rgb[0] + (1 - red - blue) * rgb[1] + blue * rgb[2];
    c = {y, (rgb[2] - y) / (2 * (1 - blue)), (rgb[0] - y) / (2 * (1 - red))};
  }
  for (int n = 0; n < 3; n++)
    c[n] = std::min (pow (2, depth_of (info)) - 1,
        std::max (0., c[n] * scale.full[n] + scale.offset[n]));
  return c;
}

/* Compares levels. Chroma is compared only at the positions of its samples. */
void
check_levels (const Picture &from, const Picture &made, double most)
{
  Samples before = unpacked (from), after = unpacked (made);
  const GstVideoInfo &in = from.info, &out = made.info;
  bool alpha = GST_VIDEO_INFO_HAS_ALPHA (&in) && GST_VIDEO_INFO_HAS_ALPHA (&out);
  const int in_depth = alpha_depth_of (in), out_depth = alpha_depth_of (out);
  const double in_full = pow (2, in_depth) - 1, out_full = pow (2, out_depth) - 1;
  /* Alpha of two bits is rounded twice. */
  const double most_of_alpha = out_depth < depth_of (out) ? 0.51 : most;
  for (int y = 0; y < in.height; y++) {
    for (int x = 0; x < in.width; x++) {
      const Sample &was = before[size_t (y) * in.width + x];
      const Sample &is = after[size_t (y) * in.width + x];
      Color wanted = levels_of (out, color_of (in, was));
      bool of_chroma =
          x % (1 << out.finfo->w_sub[2]) == 0 && y % (1 << out.finfo->h_sub[2]) == 0;
      int components = GST_VIDEO_INFO_IS_GRAY (&out) ? 1 : of_chroma ? 3 : 1;
      for (int n = 0; n < components; n++) {
        int level = is[n + 1] >> (16 - depth_of (out));
        fail_unless (fabs (level - wanted[n]) <= most,
            "%s to %s: component %d at %d,%d of %d,%d,%d is %d, expected %g",
            GST_VIDEO_INFO_NAME (&in), GST_VIDEO_INFO_NAME (&out), n, x, y, was[1],
            was[2], was[3], level, wanted[n]);
      }
      double opacity = (was[0] >> (16 - in_depth)) * out_full / in_full;
      fail_unless (
          !alpha || fabs ((is[0] >> (16 - out_depth)) - opacity) <= most_of_alpha,
          "%s to %s: alpha at %d,%d", GST_VIDEO_INFO_NAME (&in),
          GST_VIDEO_INFO_NAME (&out), x, y);
    }
  }
}

void
check_pair (const char *from, const char *to, int width, int padding)
{
  GstVideoInfo in = info_of (from, width, 11), out = info_of (to, width, 11);
  Run run ("openclconvert chroma-resampler=nearest", in, out);
  for (bool random : {true, false}) {
    Picture picture (in, padding);
    fill (picture, random);
    check_levels (picture, run (picture), 0.501);
  }
}
} // namespace

static void
check_formats (std::initializer_list<const char *> formats)
{
  for (const char *format : formats) {
    const char *wide = g_str_equal (format, "ARGB64") ? "AYUV64" : "ARGB64";
    check_pair (format, "RGBA", 37, 0);
    check_pair (wide, format, 37, 6);
    check_pair (format, "NV12", 48, 12);
  }
}

TEST (test_convert_of_deep_chroma_of_four_pixels_makes_the_nearest_level)
{
  check_formats (
      {"P010_10LE", "P012_LE", "P016_LE", "I420_10LE", "I420_12LE", "A420_10LE"});
  check_pair ("AYUV", "P010_10LE", 3, 0);
}

TEST (test_convert_of_deep_chroma_of_two_pixels_makes_the_nearest_level)
{
  check_formats ({"I422_10LE", "I422_12LE", "A422_10LE", "Y210", "Y212_LE"});
}

TEST (test_convert_of_v210_makes_the_nearest_level)
{
  check_formats ({"v210"});
  check_pair ("RGBA", "v210", 1, 0);
  check_pair ("v210", "P010_10LE", 53, 0);
  check_pair ("Y210", "v210", 53, 6);
}

TEST (test_convert_of_deep_chroma_of_each_pixel_makes_the_nearest_level)
{
  check_formats (
      {"Y444_10LE", "Y444_12LE", "Y444_16LE", "A444_10LE", "Y412_LE", "AYUV64"});
}

TEST (test_convert_of_deep_rgb_makes_the_nearest_level)
{
  check_formats ({"GBR_10LE", "GBR_12LE", "GBRA_10LE", "ARGB64", "RGBA64_LE", "BGRA64_LE",
      "ARGB64_LE", "ABGR64_LE"});
}

TEST (test_convert_of_bit_fields_makes_the_nearest_level)
{
  check_formats ({"RGB10A2_LE", "BGR10A2_LE", "Y410", "NV12_10LE32", "NV12_10LE40"});
  for (const char *format : {"NV12_10LE32", "NV12_10LE40"})
    for (const char *other : {"RGBA", "NV12", "P010_10LE"})
      for (int width : {1, 6, 37, 48}) {
        check_pair (format, other, width, 0);
        check_pair (other, format, width, 0);
      }
}

/* Also the two bits above three samples, which are 0, in a buffer that was used before. A row of
 * 9 pixels has no room for the last sample of V, which is in no other place either. */
TEST (test_convert_keeps_each_byte_of_bit_fields)
{
  struct Row {
    const char *format;
    int width, bytes;
  };
  for (const auto &[format, width, bytes] : {Row{"NV12_10LE32", 48, 48 / 3 * 4},
           {"NV12_10LE32", 9, 9 / 3 * 4}, {"NV12_10LE40", 48, 48 / 4 * 5}}) {
    const GstVideoInfo info = info_of (format, width, 11),
                       other = info_of ("P010_10LE", width, 11);
    Run there ("openclconvert", info, other), back ("openclconvert", other, info);
    Picture picture (info);
    fill (picture, true);
    for (int use = 0; use < 8; use++) {
      const check::Owned<GstBuffer> used = back.pass (there (picture));
      gst_buffer_memset (used, 0, 0xff, gst_buffer_get_size (used));
    }
    const Picture made = back (there (picture));
    GstVideoFrame a = map (picture, GST_MAP_READ), b = map (made, GST_MAP_READ);
    for (int plane = 0; plane < 2; plane++)
      for (int y = 0; y < (plane ? 6 : 11); y++)
        fail_unless (memcmp (static_cast<guint8 *> (a.data[plane])
                                 + y * GST_VIDEO_FRAME_PLANE_STRIDE (&a, plane),
                         static_cast<guint8 *> (b.data[plane])
                             + y * GST_VIDEO_FRAME_PLANE_STRIDE (&b, plane),
                         gsize (bytes))
                         == 0,
            "%s: row %d of plane %d", format, y, plane);
    gst_video_frame_unmap (&a);
    gst_video_frame_unmap (&b);
  }
}

/* 16 and 235 of 8 bits are 64 and 940 of 10 bits, whether bits are cut off or
 * repeated. */
TEST (test_convert_from_eight_bits_to_ten_keeps_black_and_white)
{
  for (const char *deep : {"I420_10LE", "P010_10LE", "v210", "Y210"}) {
    GstVideoInfo in = info_of ("AYUV", 48, 4), out = info_of (deep, 48, 4);
    for (auto &level : {std::pair (16, 64), std::pair (235, 940), std::pair (100, 400)}) {
      Picture picture (in);
      video::fill (picture, [&] (int c, int, int) {
        return (c == 0 ? level.first : c == 3 ? 255 : 128) / 255.;
      });
      Run there ("openclconvert", in, out), back ("openclconvert", out, in);
      Picture made = there (picture);
      for (const Sample &sample : unpacked (made))
        fail_unless (sample[1] >> 6 == level.second && sample[2] >> 6 == 512,
            "%s: %d is %d", deep, level.first, sample[1] >> 6);
      expect_equal (video::largest_difference (back (made), picture), 0);
    }
  }
}

/* Chroma is interpolated as with eight bits. */
TEST (test_convert_of_ten_bits_is_that_of_eight_with_finer_levels)
{
  for (auto &pair : {std::pair ("I420", "I420_10LE"), std::pair ("NV12", "P010_10LE"),
           std::pair ("YUY2", "Y210"), std::pair ("UYVY", "v210")}) {
    for (const char *site : {"jpeg", "mpeg2", "cosited"}) {
      GstVideoInfo shallow = info_of (pair.first, 54, 23, nullptr, site);
      GstVideoInfo deep = info_of (pair.second, 54, 23, nullptr, site);
      GstVideoInfo rgba = info_of ("RGBA", 54, 23);
      Picture picture = video::random_picture (shallow, 9);
      Run deepen ("openclconvert", shallow, deep), one ("openclconvert", shallow, rgba),
          other ("openclconvert", deep, rgba);
      int difference =
          video::largest_difference (one (picture), other (deepen (picture)));
      fail_unless (difference <= 3, "%s, %s: off by %d", pair.second, site, difference);
    }
  }
}

TEST (test_convert_gray_of_either_byte_order_is_the_same)
{
  GstVideoInfo big = info_of ("GRAY16_BE", 37, 5), little = info_of ("GRAY16_LE", 37, 5);
  GstVideoInfo rgba = info_of ("RGBA", 37, 5);
  Picture picture = video::random_picture (little, 4);
  Run turn ("openclconvert", little, big), back ("openclconvert", big, little);
  Run one ("openclconvert", little, rgba), other ("openclconvert", big, rgba);
  Picture turned = turn (picture);
  GstVideoFrame a = map (picture, GST_MAP_READ), b = map (turned, GST_MAP_READ);
  const guint8 *first = static_cast<guint8 *> (a.data[0]),
               *second = static_cast<guint8 *> (b.data[0]);
  fail_unless (first[0] == second[1] && first[1] == second[0]);
  gst_video_frame_unmap (&a);
  gst_video_frame_unmap (&b);
  expect_equal (video::largest_difference (back (turned), picture), 0);
  expect_equal (video::largest_difference (one (picture), other (turned)), 0);
}

/* The mean of a plane is between two levels, and each sample is one of the two. */
TEST (test_convert_dither_keeps_the_mean_of_what_lies_between_levels)
{
  GstVideoInfo in = info_of ("Y444_10LE", 64, 64), out = info_of ("Y444", 64, 64);
  Run plain ("openclconvert", in, out), dithered ("openclconvert dither=bayer", in, out);
  for (int level : {401, 402, 403, 404}) {
    Picture picture (in);
    GstVideoFrame frame = map (picture, GST_MAP_WRITE);
    for (int c = 0; c < 3; c++)
      for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++)
          GST_WRITE_UINT16_LE (
              static_cast<guint8 *> (frame.data[c]) + y * frame.info.stride[c] + 2 * x,
              level);
    gst_video_frame_unmap (&frame);
    double sums[2] = {0, 0};
    for (const Sample &sample : unpacked (dithered (picture))) {
      int is = sample[1] >> 8;
      fail_unless (is == level / 4 || is == (level + 3) / 4, "%d became %d", level, is);
      sums[0] += is;
    }
    for (const Sample &sample : unpacked (plain (picture)))
      sums[1] += sample[1] >> 8;
    fail_unless (fabs (sums[0] / 4096 - level / 4.) < 0.01, "mean %g", sums[0] / 4096);
    expect_equal (sums[1] / 4096, double ((level + 2) / 4));
  }
}
