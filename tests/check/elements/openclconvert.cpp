/* Tests of openclconvert: colours against double precision; layout and chroma siting against
 * GstVideoConverter
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../as-gpu.hpp"
#include "../one-context.hpp"
#include "../opencl-check.hpp"
#include "../videoframes.hpp"

#include <gst/app/gstappsink.h>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/gstopenclbufferpool.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/video/navigation.h>

using check::Owned;
using video::converted;
using video::info_of;
using video::of_fields;
using video::Picture;
using video::random_picture;
using video::Run;
using video::videoconverted;
using video::View;

namespace {
const char *const formats[] = {"RGB", "BGR", "RGBx", "xRGB", "BGRx", "xBGR", "RGBA",
    "BGRA", "ARGB", "ABGR", "I420", "YV12", "NV12", "NV21", "YUY2", "UYVY", "AYUV",
    "GRAY8", "GRAY16_LE"};

using Triple = std::array<double, 3>;

/* --- colours in double precision --- */

/* The last one, of a stream that names its matrix only, is of limited range. */
const char *const colorimetries[] = {
    "bt601", "bt709", "bt2020", "1:4:0:0", "1:3:5:1", "1:6:0:0", "0:3:0:0"};

struct Range {
  double offset[3], scale[3];
};

Range
range_of (const GstVideoInfo &info)
{
  bool full = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  if (GST_VIDEO_INFO_IS_RGB (&info))
    return full ? Range{{0, 0, 0}, {255, 255, 255}}
                : Range{{16, 16, 16}, {219, 219, 219}};
  return full ? Range{{0, 128, 128}, {255, 255, 255}}
              : Range{{16, 128, 128}, {219, 224, 224}};
}

void
luma_of (const GstVideoInfo &info, double &red, double &blue)
{
  switch (info.colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT601:
    red = 0.299, blue = 0.114;
    return;
  case GST_VIDEO_COLOR_MATRIX_BT709:
    red = 0.2126, blue = 0.0722;
    return;
  default:
    red = 0.2627, blue = 0.0593;
  }
}

/* Converts samples, 0 … 255, to R'G'B' in 0 … 1. */
Triple
to_rgb (const GstVideoInfo &info, Triple s)
{
  Range range = range_of (info);
  double red, blue;
  for (int i = 0; i < 3; i++)
    s[i] = (s[i] - range.offset[i]) / range.scale[i];
  if (GST_VIDEO_INFO_IS_RGB (&info))
    return s;
  luma_of (info, red, blue);
  double r = s[0] + 2 * (1 - red) * s[2], b = s[0] + 2 * (1 - blue) * s[1];
  return {r, (s[0] - red * r - blue * b) / (1 - red - blue), b};
}

Triple
from_rgb (const GstVideoInfo &info, const Triple &rgb)
{
  Range range = range_of (info);
  Triple s = rgb;
  double red, blue;
  if (!GST_VIDEO_INFO_IS_RGB (&info)) {
    luma_of (info, red, blue);
    double y = red * rgb[0] + (1 - red - blue) * rgb[1] + blue * rgb[2];
    s = {y, (rgb[2] - y) / (2 * (1 - blue)), (rgb[0] - y) / (2 * (1 - red))};
  }
  for (int i = 0; i < 3; i++)
    s[i] = std::min (255.0, std::max (0.0, s[i] * range.scale[i] + range.offset[i]));
  return s;
}

Triple
samples_at (const View &view, int x, int y)
{
  double levels = view.is_wide () ? 257 : 1;
  return {
      view.at (0, x, y) / levels, view.at (1, x, y) / levels, view.at (2, x, y) / levels};
}

/* --- expected output --- */

/* The same frame in another format; colorimetry, fields and chroma sites do not
 * change. */
GstVideoInfo
in_format (const GstVideoInfo &like, GstVideoFormat format)
{
  GstVideoInfo info;
  fail_unless (gst_video_info_set_interlaced_format (
      &info, format, like.interlace_mode, like.width, like.height));
  info.fps_n = like.fps_n;
  info.fps_d = like.fps_d;
  info.colorimetry = like.colorimetry;
  info.chroma_site = like.chroma_site;
  return info;
}

/* The same frame with all components at full resolution */
GstVideoInfo
whole (const GstVideoInfo &info)
{
  bool wide = GST_VIDEO_INFO_COMP_DEPTH (&info, 0) > 8;
  return in_format (info, GST_VIDEO_INFO_IS_RGB (&info)
                              ? wide ? GST_VIDEO_FORMAT_ARGB64 : GST_VIDEO_FORMAT_ARGB
                          : wide ? GST_VIDEO_FORMAT_AYUV64
                                 : GST_VIDEO_FORMAT_AYUV);
}

int
fields_of (const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_IS_INTERLACED (&info) ? 2 : 1;
}

bool
has_chroma_on_every_other_line (const GstVideoInfo &info)
{
  return info.finfo->h_sub[2] > 0 && info.chroma_site & GST_VIDEO_CHROMA_SITE_V_COSITED;
}

/* GstVideoConverter repeats chroma that is sited on every other row of its field. */
Picture
with_chroma_on_every_line (const Picture &picture)
{
  const GstVideoInfo &info = picture.info;
  if (!has_chroma_on_every_other_line (info))
    return picture;
  Picture made (in_format (info, GST_VIDEO_FORMAT_Y42B));
  View from (picture), to (made, GST_MAP_WRITE);
  int fields = fields_of (info);
  for (int c = 0; c < 3; c++)
    for (int y = 0; y < info.height; y++)
      for (int x = 0; x < to.width (c); x++) {
        int field = y % fields, line = y / fields, lines = from.height (c);
        int here = fields * (line / 2) + field;
        int below = std::min (fields * ((line + 1) / 2) + field, lines - 1);
        to.set (c, x, y,
            c == 0 ? from.at (c, x, y)
                   : (from.at (c, x, here) + from.at (c, x, below) + 1) / 2);
      }
  return made;
}

bool
gets_chroma_between_lines_of_fields (const GstVideoInfo &info)
{
  return info.finfo->h_sub[2] > 0 && fields_of (info) == 2
         && !(info.chroma_site & GST_VIDEO_CHROMA_SITE_V_COSITED);
}

/* GstVideoConverter takes the chroma of the first of two rows of a field. */
Picture
with_chroma_between_lines (const Picture &picture, const GstVideoInfo &output)
{
  Picture made = videoconverted (picture, output);
  if (!gets_chroma_between_lines_of_fields (output))
    return made;
  Picture all = videoconverted (picture, in_format (output, GST_VIDEO_FORMAT_Y42B));
  View from (all), to (made, GST_MAP_READWRITE);
  for (int c = 1; c < 3; c++)
    for (int y = 0; y < to.height (c); y++)
      for (int x = 0; x < to.width (c); x++) {
        int first = 4 * (y / 2) + y % 2, second = first + 2;
        if (second >= output.height)
          continue;
        int above = from.at (c, x, first), below = from.at (c, x, second);
        to.set (c, x, y, (y % 2 ? above + 3 * below + 2 : 3 * above + below + 2) / 4);
      }
  return made;
}

/* Converts to the nearest levels of another matrix or range. */
Picture
with_colors_of (const Picture &picture, const GstVideoInfo &info)
{
  Picture made (whole (info));
  View from (picture), to (made, GST_MAP_WRITE);
  double levels = to.is_wide () ? 257 : 1, alpha_levels = from.is_wide () ? 257 : 1;
  for (int y = 0; y < info.height; y++)
    for (int x = 0; x < info.width; x++) {
      Triple samples = samples_at (from, x, y);
      if (from.is_wide ())
        /* Grey, whose chroma is between two of these levels. */
        samples[1] = samples[2] = 128;
      Triple colors = from_rgb (info, to_rgb (picture.info, samples));
      for (int c = 0; c < 3; c++)
        to.set (c, x, y, int (std::rint (levels * colors[c])));
      to.set (3, x, y, int (levels * from.at (3, x, y) / alpha_levels));
    }
  return made;
}

/* Returns true for conversions between grey and YUV of one matrix, which keep luma. */
bool
keeps_its_levels (const GstVideoInfo &in, const GstVideoInfo &out)
{
  return in.colorimetry.matrix == out.colorimetry.matrix
         && (in.colorimetry.range == out.colorimetry.range
             || GST_VIDEO_INFO_IS_GRAY (&in) != GST_VIDEO_INFO_IS_GRAY (&out));
}

Picture
expected (const Picture &input, const GstVideoInfo &output)
{
  bool colored = !keeps_its_levels (input.info, output);
  Picture picture = with_chroma_on_every_line (input);
  if (colored || has_chroma_on_every_other_line (input.info)
      || gets_chroma_between_lines_of_fields (output))
    picture = videoconverted (picture, whole (input.info));
  if (colored)
    picture = with_colors_of (picture, output);
  return with_chroma_between_lines (picture, output);
}

/* Mean of rows `first` to before `end`, of the same components */
int
largest_difference_of_lines (const Picture &a, const Picture &b, int first, int end)
{
  View left (a), right (b);
  int largest = 0;
  for (int c = 0; c < left.components (); c++)
    for (int y = first; y < std::min (end, left.height (c)); y++)
      for (int x = 0; x < left.width (c); x++)
        largest = std::max (largest, std::abs (left.at (c, x, y) - right.at (c, x, y)));
  return largest;
}

void
check_pair (const GstVideoInfo &in, const GstVideoInfo &out)
{
  Run run ("openclconvert", in, out);
  Picture random (in), gradient (in);
  video::fill_random (random, 1);
  video::fill_gradient (gradient);
  /* At the upper and lower edge videoconvert mixes chroma of both fields. */
  int edge = fields_of (in) == 2 ? 2 : 0;
  /* Where the element rounds chroma across and then down, this does so down and across:
   * a level of chroma is up to two of blue. */
  int tolerance = has_chroma_on_every_other_line (in) ? 2 : 1;
  for (const Picture &picture : {random, gradient}) {
    int difference = largest_difference_of_lines (
        run (picture), expected (picture, out), edge, in.height - 2 * edge);
    fail_unless (difference <= tolerance, "%s %s to %s %s at %dx%d is off by %d",
        GST_VIDEO_INFO_NAME (&in), gst_video_colorimetry_to_string (&in.colorimetry),
        GST_VIDEO_INFO_NAME (&out), gst_video_colorimetry_to_string (&out.colorimetry),
        in.width, in.height, difference);
  }
}

/* --- scaling in double precision --- */

/* Input samples of an output sample, with their weights */
using Shares = std::vector<std::pair<int, double>>;

/* Sampling of the rows of one field if there are two (`fields`). Each row stands for
 * two rows of the frame. `middle` is the position in the field, 0 in the middle of its
 * first row. */
Shares
shares (const std::string &method, int at, int in_size, int out_size, int fields = 1)
{
  int field = std::min (at % fields, in_size - 1);
  int last = (in_size - 1 - field) / fields;
  double ratio = double (in_size) / out_size;
  double middle = ((at + 0.5) * ratio - 0.5 - field) / fields;
  auto in_frame = [=] (int line) { return std::min (line, last) * fields + field; };
  Shares result;
  if (method == "nearest")
    return {{in_frame (std::max (0, int (std::floor (middle + 0.5 + 1e-9)))), 1}};
  if (method == "bilinear") {
    middle = std::max (0.0, middle);
    int first = int (middle);
    return {
        {in_frame (first), 1 - (middle - first)}, {in_frame (first + 1), middle - first}};
  }
  double sum = 0;
  for (int i = 0; i <= last; i++) {
    double overlap = std::min (middle + 0.5 + ratio / 2, i + 1.0)
                     - std::max (middle + 0.5 - ratio / 2, double (i));
    if (overlap > 1e-9) {
      result.push_back ({in_frame (i), overlap});
      sum += overlap;
    }
  }
  for (auto &line : result)
    line.second /= sum;
  if (result.empty ())
    return {{in_frame (middle < 0 ? 0 : last), 1}};
  return result;
}

double
scaled (const View &in, const std::string &method, int c, int x, int y, const View &out,
    int fields)
{
  double sum = 0;
  for (auto &row : shares (method, y, in.height (c), out.height (c), fields))
    for (auto &column : shares (method, x, in.width (c), out.width (c)))
      sum += row.second * column.second * in.at (c, column.first, row.first);
  return sum;
}

void
check_scaling (const char *method, GstVideoInfo in, GstVideoInfo out)
{
  Picture picture = random_picture (in, 7);
  const Picture made =
      converted (std::string ("openclconvert scale-method=") + method, picture, out);
  View from (picture), to (made);
  int fields = GST_VIDEO_INFO_IS_INTERLACED (&in) ? 2 : 1;
  for (int c = 0; c < 4; c++)
    for (int y = 0; y < out.height; y++)
      for (int x = 0; x < out.width; x++) {
        double expected = scaled (from, method, c, x, y, to, fields);
        fail_unless (std::fabs (to.at (c, x, y) - expected) < 0.51,
            "%s %dx%d to %dx%d in %d fields, component %d at %d,%d: %d, expected %f",
            method, in.width, in.height, out.width, out.height, fields, c, x, y,
            to.at (c, x, y), expected);
      }
}

/* --- statistics and negotiation --- */

GstOpenCLCounts
counts_of (Run &run)
{
  return check::counts_of (run.harness.find ("openclconvert"));
}

/* Returns the output caps for input caps and the caps that downstream accepts. */
Owned<GstCaps>
negotiated (const char *in, const char *downstream)
{
  check::Harness harness ("openclconvert");
  gst_harness_set_sink_caps_str (harness, downstream);
  gst_harness_set_src_caps_str (harness, in);
  GstVideoInfo info;
  fail_unless (gst_video_info_from_caps (&info, check::caps_of (in)));
  const GstFlowReturn flow = harness.push (
      gst_buffer_new_allocate (nullptr, GST_VIDEO_INFO_SIZE (&info), nullptr));
  return flow == GST_FLOW_OK ? harness.caps () : nullptr;
}

void
check_negotiated (const char *in, const char *downstream, const char *expected)
{
  const Owned<GstCaps> caps = negotiated (in, downstream);
  fail_unless (caps && gst_caps_is_subset (caps, check::caps_of (expected)),
      "%s, downstream %s: made %" GST_PTR_FORMAT ", expected %s", in, downstream,
      caps.operator->(), expected);
}

#define DEVICE "video/x-raw(memory:OpenCLMemory)"
} // namespace

/* --- formats --- */

TEST (test_convert_is_right_for_every_pair)
{
  for (const char *from : formats)
    for (const char *to : formats)
      for (int odd : {0, 1})
        if (!g_str_equal (from, to))
          check_pair (
              info_of (from, 36 + odd, 22 + odd), info_of (to, 36 + odd, 22 + odd));
}

/* Formats of professional cameras, codecs and webcams, one of each kind as input and
 * output */
TEST (test_convert_is_right_for_further_formats)
{
  for (const char *format : {"Y42B", "Y444", "NV16", "NV61", "NV24", "YVYU", "VYUY",
           "A420", "VUYA", "GBR", "GBRA"})
    for (const char *other : {"RGBA", "NV12"})
      for (int width : {37, 54}) {
        /* GstVideoConverter swaps U and V of these formats in the last column of an odd
         * width. */
        if (width % 2 && (g_str_equal (format, "NV61") || g_str_equal (format, "VYUY")))
          continue;
        check_pair (info_of (format, width, 23), info_of (other, width, 23));
        check_pair (info_of (other, width, 23), info_of (format, width, 23));
      }
}

/* Red in the upper five bits of a word of two bytes, green in six, blue in the lower five.
 * Rows: the range is limited */
TEST_ROWS (test_convert_rgb16_is_the_nearest_level, {false, true})
{
  const Picture picture = random_picture (info_of ("RGBA", 37, 5), 3);
  GstVideoInfo wanted = info_of ("RGB16", 37, 5);
  if (row)
    wanted.colorimetry.range = GST_VIDEO_COLOR_RANGE_16_235;
  const double black = row ? 16 : 0, range = row ? 219 : 255;
  const Picture made = converted ("openclconvert", picture, wanted);
  const Picture back = converted ("openclconvert", made, info_of ("RGBA", 37, 5));
  const View from (picture), again (back);
  GstVideoFrame frame;
  GstVideoInfo info = made.info;
  fail_unless (gst_video_frame_map (&frame, &info, made.buffer, GST_MAP_READ));
  const auto *bytes =
      static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0));
  const int bits[3] = {5, 6, 5}, shifts[3] = {11, 5, 0};
  for (int y = 0; y < 5; y++)
    for (int x = 0; x < 37; x++) {
      const guint8 *pixel = bytes + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0) + 2 * x;
      for (int c = 0; c < 3; c++) {
        const int full = (1 << bits[c]) - 1;
        const int level = (pixel[0] | pixel[1] << 8) >> shifts[c] & full;
        const double share = (level * 255.0 / full - black) / range;
        fail_unless (
            std::fabs ((black + from.at (c, x, y) * range / 255) * full / 255 - level)
            <= (row ? 0.63
                    : 0.51)); /* it is made of levels of 8 bits, as is the picture */
        fail_unless (std::fabs (std::clamp (share, 0.0, 1.0) * 255 - again.at (c, x, y))
                     <= (row ? 1.1 : 0.51));
      }
    }
  gst_video_frame_unmap (&frame);
}

/* Formats with the same components in another order give the same output, except in the
 * last column. */
TEST (test_convert_is_the_same_for_formats_that_differ_in_order)
{
  const char *const twins[][2] = {{"NV16", "NV61"}, {"UYVY", "VYUY"}, {"YUY2", "YVYU"}};
  for (auto &twin : twins) {
    GstVideoInfo one = info_of (twin[0], 37, 23), other = info_of (twin[1], 37, 23);
    GstVideoInfo rgba = info_of ("RGBA", 37, 23);
    Picture first (one), second (other), picture (rgba);
    video::fill_random (first, 5);
    video::fill_random (second, 5);
    video::fill_random (picture, 6);
    Run from_first ("openclconvert", one, rgba),
        from_second ("openclconvert", other, rgba);
    Run to_first ("openclconvert", rgba, one), to_second ("openclconvert", rgba, other);
    expect_equal (
        largest_difference_of_lines (from_first (first), from_second (second), 0, 23), 0);
    expect_equal (
        largest_difference_of_lines (to_first (picture), to_second (picture), 0, 23), 0);
  }
}

/* Every format of the pad template */
static std::vector<std::string>
supported_formats (const char *pad_name)
{
  const Owned<GstElement> element = gst_element_factory_make ("openclconvert", nullptr);
  const Owned<GstPad> pad = gst_element_get_static_pad (element, pad_name);
  const Owned<GstCaps> caps = gst_pad_get_pad_template_caps (pad);
  const GValue *names =
      gst_structure_get_value (gst_caps_get_structure (caps, 0), "format");
  std::vector<std::string> formats;
  for (guint n = 0; n < gst_value_list_get_size (names); n++)
    formats.push_back (g_value_get_string (gst_value_list_get_value (names, n)));
  return formats;
}

/* RGB to compare with. videoconvert makes three quarters of opaque alpha of two bits. */
static GstVideoInfo
rgb_for (const GstVideoInfo &info)
{
  const std::string name = GST_VIDEO_INFO_NAME (&info);
  const bool has_two_bits =
      name == "Y410" || name == "RGB10A2_LE" || name == "BGR10A2_LE";
  return info_of (has_two_bits     ? "RGB"
                  : name == "RGBA" ? "BGRA"
                                   : "RGBA",
      info.width, info.height);
}

/* No two components of red or blue have the same level, so a swap is detected. */
TEST (test_openclconvert_channel_order_of_every_format)
{
  const std::vector<std::string> all = supported_formats ("sink");
  fail_unless (all.size () >= 63, "%zu formats", all.size ());
  for (const std::string &format : all) {
    const GstVideoInfo info = info_of (format.c_str (), 12, 4), rgb = rgb_for (info);
    Run read ("openclconvert", info, rgb);
    for (guint color : {0xff0000u, 0x0000ffu}) {
      const Picture picture = video::solid_color (info, color);
      fail_unless (
          video::largest_difference (read (picture), videoconverted (picture, rgb)) <= 6,
          "0x%06x read as %s", color, format.c_str ());
    }
  }
  for (const std::string &format : supported_formats ("src")) {
    const GstVideoInfo info = info_of (format.c_str (), 12, 4), rgb = rgb_for (info);
    Run write ("openclconvert", rgb, info);
    for (guint color : {0xff0000u, 0x0000ffu}) {
      const Picture written = write (video::solid_color (rgb, color));
      const Picture expected = videoconverted (video::solid_color (info, color), rgb);
      fail_unless (
          video::largest_difference (videoconverted (written, rgb), expected) <= 6,
          "0x%06x written as %s", color, format.c_str ());
    }
  }
}

/* The fourcc gives the order V0 Y0 U0 Y1. Red has Y 81, U 90 and V 240 in BT.601. */
TEST (test_openclconvert_vyuy_byte_order)
{
  const guint8 vyuy[] = {240, 81, 90, 81, 240, 81, 90, 81};
  const GstVideoInfo info = info_of ("VYUY", 4, 1), rgba = info_of ("RGBA", 4, 1);
  Run to ("openclconvert", rgba, info), from ("openclconvert", info, rgba);
  Picture made = to (video::solid_color (rgba, 0xff0000));
  fail_unless (gst_buffer_memcmp (made.buffer, 0, vyuy, sizeof vyuy) == 0);
  Picture red (info);
  gst_buffer_fill (red.buffer, 0, vyuy, sizeof vyuy);
  fail_unless (
      video::largest_difference (from (red), video::solid_color (rgba, 0xff0000)) <= 1);
}

TEST (test_convert_is_right_for_every_colorimetry)
{
  const char *const pairs[][2] = {
      {"AYUV", "RGBA"}, {"RGBA", "AYUV"}, {"NV12", "BGRx"}, {"BGR", "I420"}};
  for (auto &pair : pairs)
    for (const char *colorimetry : colorimetries) {
      bool to_rgb = g_str_equal (pair[1], "RGBA") || g_str_equal (pair[1], "BGRx");
      check_pair (info_of (pair[0], 64, 32, to_rgb ? colorimetry : "sRGB"),
          info_of (pair[1], 64, 32, to_rgb ? "sRGB" : colorimetry));
    }
  for (const char *from : {"bt601", "bt709", "bt2020"})
    for (const char *to : {"bt601", "bt709", "bt2020"})
      if (!g_str_equal (from, to))
        check_pair (info_of ("AYUV", 64, 32, from), info_of ("AYUV", 64, 32, to));
}

TEST (test_convert_is_right_for_every_chroma_site)
{
  const char *const pairs[][2] = {{"NV12", "RGBA"}, {"RGBA", "NV12"}, {"YUY2", "RGBA"},
      {"RGBA", "UYVY"}, {"I420", "YUY2"}};
  for (auto &pair : pairs)
    for (const char *site : {"jpeg", "mpeg2", "dv", "cosited"})
      for (int width : {1, 2, 3, 36, 53}) /* partial vectors of a CPU */
        check_pair (info_of (pair[0], width, 11, nullptr, site),
            info_of (pair[1], width, 11, nullptr, site));
  /* chroma siting changes within one format */
  check_pair (info_of ("I420", 36, 22, nullptr, "jpeg"),
      info_of ("I420", 36, 22, nullptr, "mpeg2"));
}

TEST (test_convert_makes_the_nearest_level)
{
  for (const char *colorimetry : colorimetries)
    for (bool to_yuv : {false, true}) {
      GstVideoInfo rgb = info_of ("BGRA", 64, 48, "sRGB");
      GstVideoInfo yuv = info_of ("AYUV", 64, 48, colorimetry);
      GstVideoInfo in = to_yuv ? rgb : yuv, out = to_yuv ? yuv : rgb;
      Picture picture = random_picture (in, 3);
      const Picture made = converted ("openclconvert", picture, out);
      View from (picture), to (made);
      for (int y = 0; y < 48; y++)
        for (int x = 0; x < 64; x++) {
          Triple samples = {double (from.at (0, x, y)), double (from.at (1, x, y)),
              double (from.at (2, x, y))};
          Triple expected = from_rgb (out, to_rgb (in, samples));
          for (int c = 0; c < 3; c++)
            fail_unless (std::fabs (to.at (c, x, y) - expected[c]) < 0.501,
                "%s: %d, expected %f", colorimetry, to.at (c, x, y), expected[c]);
          fail_unless_equals_int (to.at (3, x, y), from.at (3, x, y));
        }
    }
}

TEST (test_convert_follows_the_range_that_the_caps_name)
{
  GstVideoInfo in = info_of ("AYUV", 256, 1, "bt601");
  GstVideoInfo out = info_of ("AYUV", 256, 1, "1:4:0:0");
  Picture picture (in);
  video::fill (picture, [] (int, int x, int) { return x / 255.0; });
  const Picture made = converted ("openclconvert", picture, out);
  View view (made);
  for (int x = 0; x < 256; x++) {
    Triple expected = from_rgb (out, to_rgb (in, {double (x), double (x), double (x)}));
    for (int c = 0; c < 3; c++)
      fail_unless (std::fabs (view.at (c, x, 0) - expected[c]) < 0.501);
  }
}

TEST (test_convert_gives_back_what_it_only_rearranged)
{
  const char *const pairs[][2] = {{"RGBA", "ABGR"}, {"RGB", "xBGR"}, {"BGRA", "ARGB"},
      {"I420", "NV21"}, {"NV12", "YV12"}, {"YUY2", "UYVY"}, {"GRAY8", "GRAY16_LE"}};
  for (auto &pair : pairs) {
    GstVideoInfo first = info_of (pair[0], 35, 21), second = info_of (pair[1], 35, 21);
    Picture picture = random_picture (first, 5);
    Run there ("openclconvert", first, second), back ("openclconvert", second, first);
    fail_unless_equals_int (
        video::largest_difference (picture, back (there (picture))), 0);
  }
}

TEST (test_convert_there_and_back_loses_a_level_or_two)
{
  GstVideoInfo rgb = info_of ("RGBA", 64, 64), yuv = info_of ("AYUV", 64, 64, "1:4:0:0");
  Picture picture = random_picture (rgb, 6);
  Run there ("openclconvert", rgb, yuv);
  Run back ("openclconvert", yuv, rgb);
  /* half a level of luma, and half a level of Cb that counts 1.772 times in blue */
  fail_unless (video::largest_difference (picture, back (there (picture))) <= 2);
}

TEST (test_convert_without_alpha_is_opaque)
{
  GstVideoInfo in = info_of ("NV12", 16, 16), out = info_of ("BGRA", 16, 16);
  Picture picture = random_picture (in, 5);
  const Picture made = converted ("openclconvert", picture, out);
  View view (made);
  for (int i = 0; i < 256; i++)
    fail_unless_equals_int (view.at (3, i % 16, i / 16), 255);
}

TEST (test_convert_chroma_nearest_takes_the_shared_sample)
{
  GstVideoInfo in = info_of ("I420", 9, 7), out = info_of ("AYUV", 9, 7);
  Picture picture = random_picture (in, 8);
  const Picture made = converted ("openclconvert chroma-resampler=nearest", picture, out);
  View from (picture), to (made);
  for (int y = 0; y < 7; y++)
    for (int x = 0; x < 9; x++)
      for (int c : {1, 2})
        fail_unless_equals_int (to.at (c, x, y), from.at (c, x / 2, y / 2));
}

/* videoconvert repeats the row; correct siting requires interpolation. */
TEST (test_convert_interpolates_lines_of_cosited_chroma)
{
  GstVideoInfo in = info_of ("I420", 8, 8, nullptr, "cosited");
  GstVideoInfo out = info_of ("AYUV", 8, 8, nullptr, "cosited");
  Picture picture = random_picture (in, 9);
  const Picture made = converted ("openclconvert", picture, out);
  View from (picture), to (made);
  for (int c : {1, 2})
    for (int y = 0; y < 8; y++)
      for (int x = 0; x < 8; x += 2) {
        int here = from.at (c, x / 2, y / 2);
        int below = from.at (c, x / 2, std::min ((y + 1) / 2, 3));
        fail_unless_equals_int (to.at (c, x, y), (here + below + 1) / 2);
      }
}

/* --- layout --- */

TEST (test_convert_honours_padded_input)
{
  for (const char *format : {"RGB", "I420", "NV12", "YUY2", "GRAY16_LE", "ABGR"}) {
    GstVideoInfo in = info_of (format, 33, 17), out = info_of ("RGBA", 33, 17);
    Picture tight (in), padded (in, 13);
    video::fill_random (tight, 2);
    video::fill_random (padded, 2);
    Run run ("openclconvert", in, out);
    fail_unless_equals_int (video::largest_difference (run (tight), run (padded)), 0);
  }
}

/* Downstream proposes a pool of padded device memory. */
static GstPadProbeReturn
propose_padded_pool (GstPad *pad, GstPadProbeInfo *probe, gpointer user_data)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (probe);
  GstCaps *caps;
  GstVideoAlignment alignment;
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;

  gst_query_parse_allocation (query, &caps, nullptr);
  const Owned<GstOpenCLContext> context = check::new_context ();
  const Owned<GstBufferPool> pool = gst_opencl_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  gst_video_alignment_reset (&alignment);
  alignment.padding_left = 6;
  alignment.padding_right = 10;
  alignment.padding_top = 2;
  gst_buffer_pool_config_set_params (config, caps, 1, 0, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &alignment);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  config = gst_buffer_pool_get_config (pool);
  guint size;
  gst_buffer_pool_config_get_params (config, nullptr, &size, nullptr, nullptr);
  gst_structure_free (config);
  gst_query_add_allocation_pool (query, pool, size, 0, 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  return GST_PAD_PROBE_HANDLED;
}

TEST (test_convert_honours_padded_output)
{
  for (const char *format : {"RGB", "I420", "NV12", "YUY2", "GRAY16_LE", "ABGR"}) {
    GstVideoInfo in = info_of ("BGRx", 34, 18), out = info_of (format, 34, 18);
    Picture picture = random_picture (in, 2);
    Run plain ("openclconvert", in, out);
    const Picture padded = Run ("openclconvert", in, out, propose_padded_pool) (picture);
    fail_unless (gst_buffer_get_video_meta (padded.buffer)->stride[0] > out.stride[0]);
    fail_unless_equals_int (video::largest_difference (plain (picture), padded), 0);
  }
}

/* --- scaling --- */

TEST (test_convert_scales_as_its_method_says)
{
  const int sizes[][4] = {{32, 24, 64, 48}, {32, 24, 33, 25}, {31, 17, 16, 9},
      {40, 40, 7, 61}, {1, 1, 5, 4}, {13, 9, 1, 1}};
  for (auto &size : sizes) {
    GstVideoInfo in = info_of ("RGBA", size[0], size[1]);
    GstVideoInfo out = info_of ("RGBA", size[2], size[3]);
    for (const char *method : {"nearest", "bilinear", "area"}) {
      check_scaling (method, in, out);
      check_scaling (method, of_fields (in), of_fields (out));
    }
  }
}

TEST (test_convert_scales_and_converts_at_once)
{
  GstVideoInfo in = info_of ("NV12", 64, 48), out = info_of ("I420", 31, 23);
  Picture picture (in);
  video::fill_gradient (picture);
  Run run ("openclconvert scale-method=area", in, out);
  Picture made = run (picture);
  View view (made);
  for (int c = 0; c < 3; c++)
    for (int y = 1; y < view.height (c) - 1; y++)
      for (int x = 1; x < view.width (c) - 1; x++) {
        double u = (x + 0.5) / view.width (c), v = (y + 0.5) / view.height (c);
        double expected = 255 * (c == 0 ? u : c == 1 ? v : (u + v) / 2);
        /* chroma of 31 columns is stored in 32: it is off by up to half a sample */
        fail_unless (std::fabs (view.at (c, x, y) - expected) < 12);
      }
  /* A GPU scales the planes first. */
  check::Owned<GstOpenCLContext> context = check::new_context ();
  fail_unless_equals_uint64 (counts_of (run).launches, check::is_gpu (context) ? 2 : 1);
}

TEST (test_convert_alpha_only_is_the_matte_as_gray)
{
  for (const char *from : {"RGBA", "BGRA", "ARGB", "ABGR", "AYUV"})
    for (const char *to : {"GRAY8", "GRAY16_LE"})
      for (int width : {1, 37, 64}) {
        GstVideoInfo in = info_of (from, width, 9), out = info_of (to, width, 9);
        Picture picture = random_picture (in, 3);
        for (bool alpha_only : {false, true}) {
          const Picture made =
              converted (alpha_only ? "openclconvert alpha-only=true" : "openclconvert",
                  picture, out);
          View is (made), was (picture);
          bool same = true;
          for (int y = 0; y < 9; y++)
            for (int x = 0; x < width; x++)
              same =
                  same && is.at (0, x, y) == was.at (3, x, y) * (is.is_wide () ? 257 : 1);
          fail_unless (same == alpha_only, "%s to %s, %d wide", from, to, width);
        }
      }
}

/* --- interlaced video --- */

TEST (test_convert_is_right_for_interlaced_video)
{
  const char *const pairs[][3] = {{"NV12", "RGBA", "mpeg2"}, {"I420", "BGRx", "jpeg"},
      {"YV12", "RGB", "cosited"}, {"RGBA", "NV21", "jpeg"}, {"BGRA", "I420", "mpeg2"},
      {"NV12", "YUY2", "mpeg2"}, {"UYVY", "RGBA", "mpeg2"}, {"YUY2", "NV12", "jpeg"}};
  for (auto &pair : pairs)
    for (int odd : {0, 1})
      check_pair (of_fields (info_of (pair[0], 36 + odd, 24 - 3 * odd, nullptr, pair[2])),
          of_fields (info_of (pair[1], 36 + odd, 24 - 3 * odd, nullptr, pair[2])));
}

/* Each field has one colour, also with rows of chroma of alternating fields. */
static Picture
two_even_fields (const GstVideoInfo &info, const Triple &top, const Triple &bottom)
{
  Picture picture (info);
  View view (picture, GST_MAP_WRITE);
  for (int c = 0; c < 3; c++) {
    int lines = view.height (c);
    if (lines < info.height)
      lines = (info.height + 2) / 4 * 2; /* as many rows as GstVideoInfo allocates */
    for (int y = 0; y < std::max (lines, view.height (c)); y++)
      for (int x = 0; x < view.width (c); x++)
        view.set (c, x, y, int ((y % 2 ? bottom : top)[c]));
  }
  return picture;
}

static void
check_fields_apart (const char *element, const char *format, int width, int height)
{
  GstVideoInfo yuv = of_fields (info_of (format, width, height));
  GstVideoInfo all = of_fields (info_of ("AYUV", width, height));
  const Triple top = {60, 30, 200}, bottom = {180, 220, 40};
  Run there (element, yuv, all), back (element, all, yuv);
  Picture split = there (two_even_fields (yuv, top, bottom));
  Picture joined = back (split);
  Picture again = there (joined);
  for (const Picture &picture : {split, again}) {
    View view (picture);
    for (int c = 0; c < 3; c++)
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
          fail_unless (view.at (c, x, y) == int ((y % 2 ? bottom : top)[c]),
              "%s %dx%d, component %d at %d,%d: %d, which is not of its field", format,
              width, height, c, x, y, view.at (c, x, y));
  }
}

TEST (test_convert_keeps_the_chroma_of_a_field_in_its_field)
{
  for (const char *format : {"I420", "NV12"})
    for (int height : {1, 2, 3, 5, 6, 7, 24})
      check_fields_apart ("openclconvert", format, 5, height);
  for (int height : {6, 7})
    check_fields_apart ("openclconvert", "NV12", 6, height);
}

/* A static ramp stays one ramp; videoscale displaces its fields. */
TEST (test_convert_scales_fields_where_they_stand)
{
  for (int height : {20, 30, 80}) {
    GstVideoInfo in = of_fields (info_of ("GRAY8", 8, 40));
    GstVideoInfo out = of_fields (info_of ("GRAY8", 8, height));
    Picture ramp (in);
    video::fill (ramp, [] (int, int, int y) { return 5 * y / 255.0; });
    const Picture made = converted ("openclconvert", ramp, out);
    View view (made);
    for (int y = 4; y < height - 4; y++) {
      double expected = 5 * ((y + 0.5) * 40 / height - 0.5);
      fail_unless (std::fabs (view.at (0, 3, y) - expected) < 0.51,
          "40 to %d lines, line %d: %d, expected %f", height, y, view.at (0, 3, y),
          expected);
    }
  }
}

/* Conversion of frames of a mixed stream with and without the interlaced flag */
TEST (test_convert_takes_each_frame_of_mixed_video_as_flagged)
{
  GstVideoInfo in = info_of ("I420", 32, 24), out = info_of ("RGBA", 40, 36);
  Run progressive ("openclconvert", in, out);
  Run interlaced ("openclconvert", of_fields (in), of_fields (out));
  Run mixed ("openclconvert", of_fields (in, GST_VIDEO_INTERLACE_MODE_MIXED),
      of_fields (out, GST_VIDEO_INTERLACE_MODE_MIXED));
  for (int i = 0; i < 4; i++) {
    Picture picture = random_picture (in, i);
    Picture whole = progressive (picture), woven = interlaced (picture);
    fail_unless (video::largest_difference (whole, woven) > 10);
    if (i % 2)
      GST_BUFFER_FLAG_SET (picture.buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    /* Progressive video is scaled by another kernel on a CPU, with other ties. */
    fail_unless (video::largest_difference (i % 2 ? woven : whole, mixed (picture))
                 <= (i % 2 ? 0 : 2));
  }
}

TEST (test_convert_keeps_what_a_buffer_says_of_its_fields)
{
  GstVideoInfo in = of_fields (info_of ("NV12", 16, 16), GST_VIDEO_INTERLACE_MODE_MIXED);
  GstVideoInfo out = of_fields (info_of ("RGBA", 16, 8), GST_VIDEO_INTERLACE_MODE_MIXED);
  Run run ("openclconvert", in, out);
  for (guint flag : {GST_VIDEO_BUFFER_FLAG_INTERLACED, GST_VIDEO_BUFFER_FLAG_TFF,
           GST_VIDEO_BUFFER_FLAG_RFF, GST_VIDEO_BUFFER_FLAG_ONEFIELD}) {
    Picture picture (in);
    GST_BUFFER_FLAG_SET (picture.buffer, flag);
    Picture made = run (picture);
    const guint all = GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF
                      | GST_VIDEO_BUFFER_FLAG_RFF | GST_VIDEO_BUFFER_FLAG_ONEFIELD;
    fail_unless_equals_int (GST_BUFFER_FLAGS (made.buffer) & all, flag);
  }
}

/* Film at 24 frames per second, converted to video with 60 fields per second and back */
static std::vector<Picture>
telecined (const std::string &pattern, const std::string &converter)
{
  check::Pipeline pipeline ("videotestsrc num-buffers=12 horizontal-speed=5 ! "
                            "video/x-raw,format=NV12,width=48,height=38,framerate=24/1 ! "
                            "interlace field-pattern="
                            + pattern + " ! " + converter
                            + " ! deinterlace ! appsink name=out sync=false");
  std::vector<Picture> pictures;
  pipeline.start ();
  while (const Owned<GstSample> sample = pipeline.pull ()) {
    GstVideoInfo info;
    fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
    pictures.push_back (Picture (info, gst_buffer_ref (gst_sample_get_buffer (sample))));
  }
  return pictures;
}

TEST (test_convert_amid_telecine_makes_what_videoconvert_makes)
{
  if (check::is_missing ("deinterlace"))
    return;
  for (const char *pattern : {"1:1", "2:2", "2:3", "2:3:3:2"}) {
    auto expected =
        telecined (pattern, "videoconvert dither=none ! video/x-raw,format=AYUV");
    auto made = telecined (pattern,
        "openclupload ! openclconvert ! " DEVICE ",format=AYUV ! opencldownload");
    fail_unless (expected.size () >= 10 && made.size () == expected.size ());
    for (size_t i = 0; i < made.size (); i++) {
      fail_unless_equals_uint64 (
          GST_BUFFER_PTS (made[i].buffer), GST_BUFFER_PTS (expected[i].buffer));
      int difference = largest_difference_of_lines (made[i], expected[i], 4, 32);
      fail_unless (
          difference <= 2, "%s, picture %zu differs by %d", pattern, i, difference);
    }
  }
}

/* --- frames that differ from their caps --- */

/* The tenth in a row */
TEST (test_convert_of_frames_smaller_than_their_caps_is_one_error)
{
  const char *const sources[] = {
      "videotestsrc num-buffers=12 ! video/x-raw,format=NV12,width=64,height=48 ! "
      "openclupload",
      "videotestsrc num-buffers=12 ! openclupload ! openclconvert ! " DEVICE
      ",format=NV12,width=64,height=48",
      "fakesrc num-buffers=12 sizetype=fixed sizemax=6144 filltype=pattern ! "
      "video/x-raw,format=NV12,width=64,height=48,framerate=25/1 ! openclupload"};
  for (const char *source : sources)
    for (const char *raised : {"height=96", "height=50", "width=128"})
      for (const char *made : {"format=BGRA", "format=BGRA,width=80,height=40"}) {
        const std::string line = std::string (source) + " ! capssetter caps=\"" DEVICE ","
                                 + raised + "\" ! openclconvert name=last ! " DEVICE ","
                                 + made + " ! opencldownload ! fakesink";
        check::Outcome outcome = check::run (line);
        fail_unless (outcome.errors_of ("last").size () == 1, "%zu errors of %s",
            outcome.errors_of ("last").size (), line.c_str ());
      }
}

/* --- colour maps --- */

struct MapEnds {
  const char *name;
  int first[3], last[3];
};

static const MapEnds map_ends[] = {
    {"viridis", {68, 1, 84}, {253, 231, 37}},
    {"inferno", {0, 0, 4}, {252, 255, 164}},
    {"turbo", {48, 18, 59}, {122, 4, 3}},
    {"hot", {0, 0, 0}, {255, 255, 255}},
    {"flow", {0, 255, 255}, {255, 255, 0}},
};

static Picture
colored_ramp (const char *map, const char *gray, const char *color)
{
  GstVideoInfo in = info_of (gray, 256, 2), out = info_of (color, 256, 2);
  Picture ramp (in);
  video::fill (ramp, [] (int, int x, int) { return x / 255.0; });
  Run run (std::string ("openclconvert colormap=") + map, in, out);
  return run (ramp);
}

TEST (test_convert_colormaps_end_where_published)
{
  for (const MapEnds &ends : map_ends)
    for (const char *gray : {"GRAY8", "GRAY16_LE"}) {
      Picture made = colored_ramp (ends.name, gray, "RGBA");
      View view (made);
      for (int c = 0; c < 3; c++) {
        fail_unless_equals_int (view.at (c, 0, 0), ends.first[c]);
        fail_unless_equals_int (view.at (c, 255, 1), ends.last[c]);
      }
    }
}

TEST (test_convert_viridis_and_inferno_rise_in_luminance)
{
  for (const char *map : {"viridis", "inferno", "hot"}) {
    Picture made = colored_ramp (map, "GRAY8", "RGB");
    View view (made);
    double before = -1;
    for (int x = 0; x < 256; x++) {
      double luminance = 0.2126 * view.at (0, x, 0) + 0.7152 * view.at (1, x, 0)
                         + 0.0722 * view.at (2, x, 0);
      /* a rounding error of one level in green is 0.72 */
      fail_unless (
          luminance > before - 0.4, "%s at %d: %f after %f", map, x, luminance, before);
      before = luminance;
    }
  }
}

/* Published values between the anchors of the tables */
TEST (test_convert_colormaps_are_the_published_ones)
{
  const struct {
    const char *map;
    int level, color[3];
  } published[] = {
      {"viridis", 127, {33, 144, 141}},
      {"viridis", 180, {70, 192, 111}},
      {"inferno", 127, {186, 54, 85}},
      {"inferno", 60, {81, 14, 108}},
      {"turbo", 100, {63, 246, 138}},
      {"turbo", 140, {195, 241, 52}},
      {"hot", 96, {255, 1, 0}},
      {"flow", 128, {2, 0, 0}},
      {"flow", 64, {0, 0, 254}},
      {"flow", 191, {254, 0, 0}},
  };
  for (auto &entry : published) {
    Picture made = colored_ramp (entry.map, "GRAY8", "RGBA");
    View view (made);
    for (int c = 0; c < 3; c++)
      fail_unless (std::abs (view.at (c, entry.level, 0) - entry.color[c]) <= 2,
          "%s at %d, component %d: %d, expected %d", entry.map, entry.level, c,
          view.at (c, entry.level, 0), entry.color[c]);
  }
}

TEST (test_convert_colormap_in_yuv_is_the_colour_in_rgb)
{
  Picture yuv = colored_ramp ("turbo", "GRAY8", "AYUV");
  Picture rgb = colored_ramp ("turbo", "GRAY8", "RGBA");
  View of_yuv (yuv), of_rgb (rgb);
  for (int x = 0; x < 256; x++) {
    Triple back =
        to_rgb (yuv.info, {double (of_yuv.at (0, x, 0)), double (of_yuv.at (1, x, 0)),
                              double (of_yuv.at (2, x, 0))});
    for (int c = 0; c < 3; c++)
      fail_unless (std::fabs (255 * back[c] - of_rgb.at (c, x, 0)) < 2.5);
  }
}

/* --- caps --- */

TEST (test_convert_equal_caps_pass_through)
{
  GstVideoInfo info = info_of ("I420", 32, 32);
  Picture picture (info);
  Run run ("openclconvert", info, info);
  const Owned<GstBuffer> made = run.pass (picture);
  fail_unless (made == picture.buffer);
  fail_unless_equals_uint64 (counts_of (run).launches, 0);
}

TEST (test_convert_launches_once_and_never_waits)
{
  GstVideoInfo in = info_of ("NV12", 64, 64), out = info_of ("RGBA", 64, 64);
  Run run ("openclconvert async-depth=64", in, out);
  const Owned<GstOpenCLContext> context = check::new_context ();
  const int frames = 20;
  guint builds = 0;
  for (int i = 0; i < frames; i++) {
    GstBuffer *buffer = gst_buffer_new ();
    gst_buffer_append_memory (
        buffer, gst_opencl_memory_new (context, GST_VIDEO_INFO_SIZE (&in), nullptr));
    run.harness.pass (buffer);
    if (i == 0)
      builds = gst_opencl_context_get_n_builds (context);
  }
  GstOpenCLCounts counts = counts_of (run);
  fail_unless_equals_uint64 (counts.launches, frames);
  fail_unless_equals_uint64 (counts.host_waits, 0);
  fail_unless_equals_uint64 (counts.downloads, 0);
  fail_unless_equals_uint64 (counts.uploads, 0);
  fail_unless_equals_int (gst_opencl_context_get_n_builds (context), builds);
}

TEST (test_convert_negotiates_like_videoconvert_and_videoscale)
{
  const char *i420 = DEVICE ",format=I420,width=320,height=240,framerate=25/1,"
                            "pixel-aspect-ratio=1/1,colorimetry=bt601";
  /* the same format if possible */
  check_negotiated (i420, DEVICE ",format={RGBA,NV12,I420,GRAY8}",
      DEVICE ",format=I420,width=320,height=240,colorimetry=bt601");
  /* otherwise the format that loses least */
  check_negotiated (i420, DEVICE ",format={GRAY8,RGBA,YUY2,NV12}",
      DEVICE ",format=NV12,colorimetry=bt601");
  check_negotiated (i420, DEVICE ",format={GRAY8,BGR}", DEVICE ",format=BGR,width=320");
  check_negotiated (DEVICE ",format=RGBA,width=4,height=4,framerate=25/1",
      DEVICE ",format={RGB,NV12,ABGR}", DEVICE ",format=ABGR");
  /* the aspect ratio is kept */
  check_negotiated (i420, DEVICE ",pixel-aspect-ratio=1/1,width=640",
      DEVICE ",width=640,height=480,format=I420");
  check_negotiated (i420, DEVICE ",pixel-aspect-ratio=1/1,height=60",
      DEVICE ",width=80,height=60,format=I420");
  check_negotiated (i420, DEVICE ",width=640,height=240",
      DEVICE ",width=640,height=240,pixel-aspect-ratio=1/2");
  check_negotiated (
      i420, DEVICE ",pixel-aspect-ratio=2/1,height=240", DEVICE ",width=160,height=240");
  /* grey keeps the range of luma */
  check_negotiated (
      i420, DEVICE ",format=GRAY8", DEVICE ",format=GRAY8,colorimetry=bt601");
}

TEST (test_convert_keeps_the_interlace_mode)
{
#define CAMERA ",format=I420,width=320,height=240,framerate=25/1"
  check_negotiated (DEVICE CAMERA
      ",interlace-mode=interleaved,field-order=top-field-first",
      DEVICE ",width=640,format=RGBA",
      DEVICE ",width=640,interlace-mode=interleaved,field-order=top-field-first");
  check_negotiated (DEVICE CAMERA ",interlace-mode=mixed", DEVICE ",format=BGRA",
      DEVICE ",interlace-mode=mixed");
  check_negotiated (DEVICE CAMERA,
      DEVICE ",format=RGBA,interlace-mode={interleaved,progressive}",
      DEVICE ",interlace-mode=progressive");
  fail_unless (negotiated (DEVICE CAMERA ",interlace-mode=interleaved",
                   DEVICE ",format=RGBA,interlace-mode=progressive")
               == nullptr);
  fail_unless (
      negotiated (DEVICE CAMERA, DEVICE ",format=RGBA,interlace-mode=interleaved")
      == nullptr);
#undef CAMERA
}

/* --- events from downstream --- */

/* Upstream position of a pointer event at (x, y) of the output */
static std::pair<double, double>
pointer_upstream (const char *element, const GstVideoInfo &in, const GstVideoInfo &out,
    double x, double y)
{
  Run run (element, in, out);
  const Owned<GstBuffer> made = run.pass (Picture (in));
  while (GstEvent *event = gst_harness_try_pull_upstream_event (run.harness))
    gst_event_unref (event);
  gst_harness_push_upstream_event (run.harness,
      gst_navigation_event_new_mouse_move (x, y, GST_NAVIGATION_MODIFIER_NONE));
  const Owned<GstEvent> event = gst_harness_try_pull_upstream_event (run.harness);
  fail_unless (event && GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION);
  fail_unless (gst_navigation_event_get_coordinates (event, &x, &y));
  return {x, y};
}

/* --- metas --- */

/* Metas on a buffer that was scaled from 32x24 to 64x8 */
static std::string
metas_after (const char *element, const char *features)
{
  check::Harness harness (element);
  const std::string caps = std::string ("video/x-raw") + features + ",framerate=25/1";
  gst_harness_set_caps_str (harness, (caps + ",format=I420,width=32,height=24").c_str (),
      (caps + ",format=RGBA,width=64,height=8").c_str ());
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, 32 * 24 * 3 / 2, nullptr);
  const guint8 caption[] = {0xfc, 0x94, 0x2c};
  gst_buffer_add_video_region_of_interest_meta (buffer, "face", 10, 6, 8, 12);
  gst_buffer_add_video_caption_meta (
      buffer, GST_VIDEO_CAPTION_TYPE_CEA708_RAW, caption, 3);
  gst_buffer_add_video_time_code_meta_full (
      buffer, 25, 1, nullptr, GST_VIDEO_TIME_CODE_FLAGS_NONE, 1, 2, 3, 4, 0);
  gst_buffer_add_video_afd_meta (
      buffer, 0, GST_VIDEO_AFD_SPEC_ATSC_A53, GST_VIDEO_AFD_4_3_FULL_16_9_FULL);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);
  crop->width = crop->height = 4;
  const Owned<GstBuffer> made = harness.pass (buffer);

  std::string text;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta (made, &state)) {
    auto *region = reinterpret_cast<GstVideoRegionOfInterestMeta *> (meta);
    if (meta->info->api == GST_VIDEO_META_API_TYPE)
      continue;
    text += g_type_name (meta->info->api);
    if (meta->info->api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
      text += check::text (" %u,%u %ux%u", region->x, region->y, region->w, region->h);
    text += "\n";
  }
  return text;
}

TEST (test_convert_takes_metas_along_as_videoconvertscale_does)
{
  std::string made = metas_after ("openclconvert", "(memory:OpenCLMemory)");
  std::string expected = metas_after ("videoconvertscale", "");
  fail_unless_equals_string (made.c_str (), expected.c_str ());
  fail_unless (made.find ("20,2 16x4") != std::string::npos, "%s", made.c_str ());
  fail_unless (made.find ("Caption") != std::string::npos, "%s", made.c_str ());
}

TEST (test_convert_tells_the_pointer_in_pixels_of_the_input)
{
  GstVideoInfo in = info_of ("I420", 320, 240), out = info_of ("RGBA", 160, 60);
  using Point = std::pair<double, double>;
  fail_unless (pointer_upstream ("openclconvert", in, out, 80, 15) == Point (160, 60));
  fail_unless (pointer_upstream ("openclconvert", out, in, 160, 60) == Point (80, 15));
  /* pixels that are not square are considered */
  in.par_n = 2;
  fail_unless (pointer_upstream ("openclconvert", in, out, 10, 10) == Point (20, 40));
  /* through several elements, and without scaling */
  fail_unless (pointer_upstream ("openclconvert ! " DEVICE ",width=640,height=480 ! "
                                 "openclconvert ! openclconvert",
                   in, out, 80, 15)
               == Point (160, 60));
  out = in;
  fail_unless (pointer_upstream ("openclconvert", in, out, 7, 9) == Point (7, 9));
}
