/* Tests of openclcompositor against a blend in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/as-gpu.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"
#include "tests/check/videoframes.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/video/gstvideoaggregator.h>
#include <gst/video/navigation.h>

#include <regex>

using namespace check;
using video::info_of;
using video::of_fields;
using video::Picture;
using video::View;

namespace {
#define DEVICE "video/x-raw(memory:OpenCLMemory)"

struct Layer {
  Picture picture;
  int x = 0, y = 0;
  int width = -1, height = -1;
  double alpha = 1;
  std::string blend_operator = "over";
  unsigned zorder = 0;
  double wrap = 0; /* light-wrap */
  int radius = 10;
};

/* --- the blend in double precision --- */

/* Red, green, blue, alpha in 0 … 1. */
using Pixel = std::array<double, 4>;

/* With `linear`, colours become linear light, by GStreamer's own functions. */
Pixel
light_of (Pixel pixel, const View &view, bool linear)
{
  for (int c = 0; linear && c < 3; c++)
    pixel[c] = gst_video_transfer_function_decode (
        view.frame.info.colorimetry.transfer, pixel[c]);
  return pixel;
}

Pixel
pixel_at (const View &view, int x, int y, bool linear)
{
  Pixel pixel;
  for (int c = 0; c < 4; c++)
    pixel[c] = view.at (c, x, y) / 255.0;
  return light_of (pixel, view, linear);
}

struct Neighbours {
  int first, second;
  double share;
};

/* Sampling of the rows of one field if there are two (`fields`) */
Neighbours
neighbours (int at, int in_size, int out_size, int fields = 1)
{
  int field = std::min (at % fields, in_size - 1);
  int last = (in_size - 1 - field) / fields;
  double in_frame = (at + 0.5) * in_size / out_size - 0.5;
  double middle = std::max (0.0, (in_frame - field) / fields);
  int first = int (middle);
  return {first * fields + field, std::min (first + 1, last) * fields + field,
      middle - first};
}

/* Bilinear interpolation with premultiplied alpha */
Pixel
scaled (const View &view, int x, int y, int width, int height, bool linear)
{
  Neighbours columns = neighbours (x, view.width (0), width);
  int fields = GST_VIDEO_FRAME_IS_INTERLACED (&view.frame) ? 2 : 1;
  Neighbours rows = neighbours (y, view.height (0), height, fields);
  Pixel seen = {}, plain = {};
  for (int corner = 0; corner < 4; corner++) {
    Pixel pixel = pixel_at (view, corner & 1 ? columns.second : columns.first,
        corner & 2 ? rows.second : rows.first, linear);
    double share = (corner & 1 ? columns.share : 1 - columns.share)
                   * (corner & 2 ? rows.share : 1 - rows.share);
    for (int c = 0; c < 4; c++) {
      plain[c] += share * pixel[c];
      seen[c] += share * pixel[c] * (c < 3 ? pixel[3] : 1);
    }
  }
  if (seen[3] <= 0)
    return plain;
  return {seen[0] / seen[3], seen[1] / seen[3], seen[2] / seen[3], seen[3]};
}

Pixel
blended (const Pixel &below, Pixel layer, const Layer &how)
{
  if (how.alpha == 0) /* hides the layer, as in GStreamer's compositor */
    return below;
  layer[3] *= how.alpha;
  if (how.blend_operator == "source")
    return layer;
  double kept = below[3] * (1 - layer[3]);
  double sum = layer[3] + kept;
  Pixel result = layer;
  for (int c = 0; c < 3 && sum > 0; c++)
    result[c] = (layer[c] * layer[3] + below[c] * kept) / sum;
  result[3] = how.blend_operator == "add" ? std::min (1.0, layer[3] + below[3]) : sum;
  return result;
}

Pixel
background_at (const std::string &background, int x, int y)
{
  if (background == "transparent")
    return {0, 0, 0, 0};
  if (background == "black")
    return {0, 0, 0, 1};
  if (background == "white")
    return {1, 1, 1, 1};
  double gray = (x / 8 + y / 8) % 2 ? 160 / 255.0 : 80 / 255.0;
  return {gray, gray, gray, 1};
}

/* All pixels of the output */
struct Canvas {
  int width, height;
  std::vector<Pixel> pixels;

  Pixel &at (int x, int y) { return pixels[size_t (y) * width + x]; }
  const Pixel &at_nearest (int x, int y) const
  {
    return pixels[size_t (std::clamp (y, 0, height - 1)) * width
                  + std::clamp (x, 0, width - 1)];
  }
};

/* A layer scaled to its size in the output */
struct Shown {
  const Layer &layer;
  Canvas picture;

  Shown (const Layer &what, bool linear) : layer (what), picture ({0, 0, {}})
  {
    const View view (layer.picture);
    const int width = layer.width > 0 ? layer.width : view.width (0);
    const int height = layer.height > 0 ? layer.height : view.height (0);
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++)
        picture.pixels.push_back (scaled (view, x, y, width, height, linear));
    picture.width = width, picture.height = height;
  }
  bool covers (int x, int y) const
  {
    return x >= layer.x && y >= layer.y && x < layer.x + picture.width
           && y < layer.y + picture.height;
  }
  const Pixel &at (int x, int y) const
  {
    return picture.at_nearest (x - layer.x, y - layer.y);
  }
};

/* Light wrap: blurs the light below with Gaussian weights in two dimensions, and screens
 * it onto the picture where alpha, blurred likewise, falls off. */
Pixel
lit (const Shown &shown, const Canvas &below, int x, int y)
{
  const int radius = shown.layer.radius;
  double light[3] = {}, alpha = 0, sum = 0;
  for (int dy = -radius; dy <= radius; dy++)
    for (int dx = -radius; dx <= radius; dx++) {
      const double weight = std::exp (-2.0 * (dx * dx + dy * dy) / (radius * radius));
      const Pixel &beside = below.at_nearest (x + dx, y + dy);
      sum += weight;
      alpha += weight * shown.at (x + dx, y + dy)[3];
      for (int c = 0; c < 3; c++)
        light[c] += weight * beside[c] * beside[3];
    }
  Pixel pixel = shown.at (x, y);
  for (int c = 0; c < 3; c++) {
    const double wrapped = shown.layer.wrap * (1 - alpha / sum) * light[c] / sum;
    pixel[c] = 1 - (1 - pixel[c]) * (1 - wrapped);
  }
  return pixel;
}

void
add_layer (Canvas &canvas, const Layer &layer, bool linear)
{
  const Canvas below = canvas;
  const Shown shown (layer, linear);
  for (int y = 0; y < canvas.height; y++)
    for (int x = 0; x < canvas.width; x++) {
      if (!shown.covers (x, y))
        continue;
      canvas.at (x, y) = blended (canvas.at (x, y),
          layer.wrap > 0 ? lit (shown, below, x, y) : shown.at (x, y), layer);
    }
}

/* Layers are ordered from the lowest to the highest. */
Canvas
expected_of (const std::vector<Layer> &layers, const View &made,
    const std::string &background, bool linear)
{
  Canvas canvas = {made.width (0), made.height (0), {}};
  for (int y = 0; y < canvas.height; y++)
    for (int x = 0; x < canvas.width; x++)
      canvas.pixels.push_back (light_of (background_at (background, x, y), made, linear));
  for (const Layer &layer : layers)
    add_layer (canvas, layer, linear);
  for (Pixel &pixel : canvas.pixels)
    for (int c = 0; linear && c < 3; c++)
      pixel[c] = gst_video_transfer_function_encode (
          made.frame.info.colorimetry.transfer, pixel[c]);
  return canvas;
}

void
check_blend (const std::vector<Layer> &layers, const Picture &made,
    const std::string &background, bool linear = false)
{
  View view (made);
  Canvas canvas = expected_of (layers, view, background, linear);
  for (int y = 0; y < view.height (0); y++)
    for (int x = 0; x < view.width (0); x++) {
      const Pixel &expected = canvas.at (x, y);
      /* the colour of a transparent pixel is undefined */
      for (int c = expected[3] > 0 ? 0 : 3; c < 4; c++)
        fail_unless (std::fabs (view.at (c, x, y) - 255 * expected[c]) <= 1,
            "component %d at %d,%d: %d, expected %f", c, x, y, view.at (c, x, y),
            255 * expected[c]);
    }
}

/* --- the element in a pipeline --- */

std::string
description_of (const std::vector<Layer> &layers, const std::string &properties)
{
  std::string text = "openclcompositor name=mix " + properties;
  for (size_t i = 0; i < layers.size (); i++) {
    const Layer &layer = layers[i];
    std::string pad = " sink_" + std::to_string (i) + "::";
    gchar alpha[G_ASCII_DTOSTR_BUF_SIZE], wrap[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_dtostr (alpha, sizeof alpha, layer.alpha);
    g_ascii_dtostr (wrap, sizeof wrap, layer.wrap);
    text += pad + "xpos=" + std::to_string (layer.x) + pad + "ypos="
            + std::to_string (layer.y) + pad + "width=" + std::to_string (layer.width)
            + pad + "height=" + std::to_string (layer.height) + pad + "alpha=" + alpha
            + pad + "operator=" + layer.blend_operator + pad
            + "zorder=" + std::to_string (layer.zorder) + pad + "light-wrap=" + wrap + pad
            + "light-wrap-radius=" + std::to_string (layer.radius);
  }
  text += " ! appsink name=out sync=false";
  for (size_t i = 0; i < layers.size (); i++)
    text += " appsrc name=in" + std::to_string (i) + " format=time ! mix.sink_"
            + std::to_string (i);
  return text;
}

class Mix : public Pipeline {
public:
  using Pipeline::Pipeline;

  void push (int input, const Picture &picture, GstClockTime pts)
  {
    GstAppSrc *source = GST_APP_SRC ((*this)["in" + std::to_string (input)]);
    Owned<GstCaps> caps = video::device_caps (picture.info);
    Owned<GstCaps> before = gst_app_src_get_caps (source);
    if (!before || !gst_caps_is_equal (before, caps))
      gst_app_src_set_caps (source, caps);
    GstBuffer *buffer = gst_buffer_copy (picture.buffer);
    GST_BUFFER_PTS (buffer) = pts;
    GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
    expect_equal (gst_app_src_push_buffer (source, buffer), GST_FLOW_OK);
  }

  void end (int input)
  {
    gst_app_src_end_of_stream (GST_APP_SRC ((*this)["in" + std::to_string (input)]));
  }

  /* Returns the next output; fails on an error or at EOS. */
  Picture picture ()
  {
    Owned<GstSample> sample = pull ();
    fail_unless (sample, "no output: %s", messages ().line ().c_str ());
    return picture_of (sample);
  }

  static Picture picture_of (GstSample *sample)
  {
    GstVideoInfo info;
    fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
    GstBuffer *buffer = gst_buffer_ref (gst_sample_get_buffer (sample));
    fail_unless (gst_is_opencl_memory (gst_buffer_peek_memory (buffer, 0)));
    return Picture (info, buffer);
  }

  bool ends () { return !pull () && gst_app_sink_is_eos (GST_APP_SINK ((*this)["out"])); }
};

/* Returns the first output, and the number of launches for it if `launches` is given.
 * `more` is inserted before the sink. */
Picture
composed (const std::vector<Layer> &layers, const std::string &properties,
    const std::string &more = "", guint64 *launches = nullptr)
{
  std::string description = description_of (layers, properties);
  description.replace (description.find ("! appsink"), 0, more);
  Mix mix (description);
  mix.start ();
  for (size_t i = 0; i < layers.size (); i++) {
    mix.push (i, layers[i].picture, 0);
    mix.end (i);
  }
  Picture made = mix.picture ();
  if (launches)
    *launches = counts_of (mix["mix"]).launches;
  return made;
}

/* Frames of one format and size, with other contents for each seed */
Picture
random_picture (const char *format, int width, int height, unsigned seed, int padding = 0)
{
  Picture picture =
      video::random_picture (info_of (format, width, height), seed, padding);
  return picture;
}

Picture
even_picture (int width, int height, const Pixel &color)
{
  Picture picture (info_of ("RGBA", width, height));
  video::fill (picture, [&] (int c, int, int) { return color[c]; });
  return picture;
}

/* Frames of two fields; in mixed video only if `woven` */
Picture
random_fields (
    int width, int height, unsigned seed, GstVideoInterlaceMode mode, bool woven = true)
{
  Picture picture (of_fields (info_of ("RGBA", width, height), mode));
  video::fill_random (picture, seed);
  if (woven)
    GST_BUFFER_FLAG_SET (
        picture.buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF);
  return picture;
}

Layer
layer_of (const Picture &picture)
{
  return Layer{picture};
}

/* Tests both forms of the kernels on a CPU, and the form for GPUs on a GPU, where the compiler
 * may take half a minute for a kernel of sixteen columns. */
template <typename Check>
void
as_cpu_and_gpu (Check check)
{
  const bool on_cpu = opencl::is_cpu (new_context ());
  for (const cl_device_type type : {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU}) {
    if (type == CL_DEVICE_TYPE_CPU && !on_cpu)
      continue;
    counting::override_device_info (CL_DEVICE_TYPE, &type, sizeof type);
    check ();
  }
  counting::restore_device_info ();
}

const char *const formats[] = {"RGBA", "BGRA", "ARGB", "ABGR"};
const char *const operators[] = {"source", "over", "add"};
const char *const backgrounds[] = {"checker", "black", "white", "transparent"};
} // namespace

/* --- blending --- */

TEST_ROWS (test_compositor_blends_every_format, {0, 1, 2, 3})
{
  std::vector<Layer> layers = {layer_of (random_picture (formats[row], 45, 31, 1)),
      layer_of (random_picture (formats[(row + 1) % 4], 45, 31, 2)),
      layer_of (random_picture (formats[(row + 2) % 4], 45, 31, 3))};
  Picture made = composed (layers, "background=black");
  fail_unless (
      GST_VIDEO_INFO_FORMAT (&made.info) == gst_video_format_from_string (formats[row]));
  check_blend (layers, made, "black");
}

TEST_ROWS (test_compositor_blends_with_every_operator_and_alpha, operators)
{
  for (double alpha : {0.0, 0.25, 0.5, 1.0})
    for (const char *background : backgrounds) {
      std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 40, 24, 1)),
          layer_of (random_picture ("BGRA", 40, 24, 2))};
      layers[1].alpha = alpha;
      layers[1].blend_operator = row;
      check_blend (layers, composed (layers, std::string ("background=") + background),
          background);
    }
}

/* Each input's levels become linear light by its own colorimetry; in one launch and in
 * several. */
TEST_ROWS (test_compositor_blends_and_scales_light_where_linear, backgrounds)
{
  const GstVideoTransferFunction transfers[] = {GST_VIDEO_TRANSFER_SRGB,
      GST_VIDEO_TRANSFER_BT709, GST_VIDEO_TRANSFER_GAMMA22, GST_VIDEO_TRANSFER_GAMMA10};
  for (int count : {1, 3, 11}) {
    std::vector<Layer> layers;
    for (int i = 0; i < count; i++) {
      Picture picture = random_picture (formats[i % 4], 40, 24, i);
      picture.info.colorimetry.transfer = transfers[i % 4];
      layers.push_back (layer_of (picture));
      layers.back ().blend_operator = i > 0 ? operators[i % 3] : "over";
      layers.back ().alpha = i > 0 ? 0.7 : 1;
      layers.back ().zorder = i;
      if (i % 3 == 1)
        layers.back ().width = 55, layers.back ().height = 11;
    }
    check_blend (layers, composed (layers, std::string ("linear=true background=") + row),
        row, true);
  }
}

/* --- light wrap --- */

/* An opaque disc with a soft edge */
static Picture
soft_disc (const char *format, int width, int height, const Pixel &color)
{
  Picture picture (info_of (format, width, height));
  video::fill (picture, [&] (int c, int x, int y) {
    const double away = std::hypot (x - width / 2.0, y - height / 2.0);
    return c < 3 ? color[c] : std::clamp ((height / 3.0 - away) / 3 + 0.5, 0.0, 1.0);
  });
  return picture;
}

struct Wrap {
  double amount;
  int radius, x, y, width;
  bool linear;
};
static const Wrap wraps[] = {{1, 10, 0, 0, -1, false}, {0.4, 3, 5, -9, -1, false},
    {1, 6, -20, 12, 55, false}, {0.7, 1, 30, 20, 21, true}, {1, 10, 2, 3, -1, true},
    {1, 64, 0, 0, 30, false}};

/* Over other pictures, below others, over the background alone, and with more layers than
 * one launch supports */
TEST_ROWS (test_compositor_light_below_wraps_around_edges, {0, 1, 2, 3, 4, 5})
{
  const Wrap &wrap = wraps[row];
  for (int below : {0, 1, 9}) {
    std::vector<Layer> layers;
    for (int i = 0; i < below; i++) {
      layers.push_back (layer_of (random_picture (formats[i % 4], 48, 40, i)));
      layers.back ().alpha = i > 0 ? 0.3 : 1;
    }
    layers.push_back (layer_of (soft_disc (formats[row % 4], 40, 32, {0.3, 0.1, 0.6})));
    layers.back ().wrap = wrap.amount, layers.back ().radius = wrap.radius;
    layers.back ().x = wrap.x, layers.back ().y = wrap.y;
    layers.back ().width = wrap.width;
    layers.push_back (layers.back ());
    layers.back ().x += 7, layers.back ().alpha = 0.8;
    layers.push_back (layer_of (random_picture ("RGBA", 20, 40, 77)));
    for (size_t i = 0; i < layers.size (); i++)
      layers[i].zorder = unsigned (i);
    as_cpu_and_gpu ([&] {
      check_blend (layers,
          composed (layers, wrap.linear ? "linear=true background=white" : "",
              "! " DEVICE ",width=48,height=40 "),
          wrap.linear ? "white" : "checker", wrap.linear);
    });
  }
}

/* Light wrap brightens edges. Pixels far from edges and pictures without edges do not
 * change. */
TEST (test_compositor_light_wrap_leaves_the_inside_alone)
{
  std::vector<Layer> layers = {layer_of (even_picture (60, 60, {1, 1, 1, 1})),
      layer_of (soft_disc ("RGBA", 60, 60, {0.2, 0.2, 0.2, 1}))};
  Picture plain = composed (layers, "");
  layers[1].wrap = 1, layers[1].radius = 5;
  Picture lit = composed (layers, "");
  View before (plain), after (lit);
  expect_equal (after.at (0, 30, 30), before.at (0, 30, 30));
  expect_equal (after.at (0, 2, 2), 255);
  fail_unless (after.at (0, 30, 48) > before.at (0, 30, 48) + 40);
  layers[1].picture = even_picture (60, 60, {0.2, 0.2, 0.2, 1});
  fail_unless (View (composed (layers, "")).at (0, 0, 0) == 51);
}

TEST (test_compositor_light_wrap_ignores_cropped_and_outside_pixels)
{
  const struct {
    int x, y;
    const char *crop;
  } gone[] = {{-50, 0, ""}, {0, -41, ""}, {0, 90, ""}, {0, 0, "sink_1::crop-left=40"},
      {0, 0, "sink_1::crop-top=50 sink_1::crop-bottom=3"}};
  for (const auto &way : gone) {
    std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 40, 40, 1)),
        layer_of (random_picture ("RGBA", 40, 40, 2))};
    layers[1].wrap = 1, layers[1].x = way.x, layers[1].y = way.y;
    as_cpu_and_gpu ([&] {
      check_blend ({layers[0]},
          composed (layers, way.crop, "! " DEVICE ",width=40,height=40 "), "checker");
    });
  }
}

/* Without light wrap a frame is one launch. With it the background is another launch, and
 * each layer two, or four on a CPU. */
TEST (test_compositor_light_wrap_costs_nothing_where_it_is_0)
{
  const bool on_cpu = opencl::is_cpu (new_context ());
  for (double wrap : {0.0, 0.5}) {
    Layer layer = layer_of (random_picture ("RGBA", 16, 16, 1));
    layer.wrap = wrap;
    Mix mix (description_of ({layer, layer}, ""));
    mix.start ();
    for (int i = 0; i < 2; i++) {
      mix.push (i, layer.picture, 0);
      mix.end (i);
    }
    mix.picture ();
    expect_equal (counts_of (mix["mix"]).launches, wrap > 0 ? on_cpu ? 9 : 5 : 1);
  }
}

TEST (test_compositor_shows_the_background_where_no_picture_is)
{
  Layer layer = layer_of (random_picture ("RGBA", 20, 10, 1));
  layer.x = 30;
  layer.y = 40;
  for (const char *background : backgrounds)
    check_blend ({layer}, composed ({layer}, std::string ("background=") + background),
        background);
}

TEST (test_compositor_cuts_off_what_is_outside)
{
  std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 50, 40, 1))};
  const int places[][2] = {{-10, -7}, {40, 33}, {-19, 35}, {49, 0}, {60, 60}, {-20, -20}};
  for (size_t i = 0; i < G_N_ELEMENTS (places); i++) {
    layers.push_back (layer_of (random_picture ("ARGB", 20, 20, i + 2)));
    layers.back ().x = places[i][0];
    layers.back ().y = places[i][1];
    layers.back ().zorder = i + 1;
  }
  Picture made = composed (
      layers, "background=black", "! " DEVICE ",width=50,height=40,format=RGBA ");
  check_blend (layers, made, "black");
}

TEST (test_compositor_scales_each_picture_to_its_size)
{
  const int sizes[][2] = {{60, 50}, {13, 9}, {1, 1}, {30, 20}, {29, 41}};
  for (auto &size : sizes) {
    Layer layer = layer_of (random_picture ("RGBA", 30, 20, 4));
    layer.width = size[0];
    layer.height = size[1];
    layer.x = 3;
    check_blend ({layer}, composed ({layer}, "background=white"), "white");
  }
}

/* Compares with openclconvert before each input. */
static void
check_as_converted (
    const std::vector<Layer> &layers, const std::string &properties, int tolerance = 0)
{
  const std::string direct = std::regex_replace (description_of (layers, properties),
      std::regex ("! appsink"), "! " DEVICE ",format=RGBA ! appsink");
  const std::string converted = std::regex_replace (direct, std::regex ("! mix\\.sink"),
      "! openclconvert ! " DEVICE ",format=RGBA ! mix.sink");
  Picture made[2] = {layers[0].picture, layers[0].picture};
  for (int way = 0; way < 2; way++) {
    Mix mix (way == 0 ? direct : converted);
    mix.start ();
    for (size_t i = 0; i < layers.size (); i++) {
      mix.push (i, layers[i].picture, 0);
      mix.end (i);
    }
    made[way] = mix.picture ();
  }
  fail_unless (gst_video_info_is_equal (&made[0].info, &made[1].info));
  const int difference = video::largest_difference (made[0], made[1]);
  fail_unless (difference <= tolerance, "%s: off by %d", direct.c_str (), difference);
}

/* A CPU processes sixteen columns at once where a layer covers them and is scaled down by
 * no more than eight. */
TEST_ROWS (test_compositor_scales_many_columns_at_once, operators)
{
  std::vector<Layer> layers = {layer_of (random_picture ("BGRA", 310, 25, 1))};
  for (const int width : {300, 131, 129, 95, 64, 49, 44, 33, 17, 16}) {
    const int padding = width % 2 ? 3 : 0;
    const int from = width == 95 ? width : width % 2 ? 113 : 130; /* 95: only downwards */
    Layer layer = layer_of (
        random_picture (formats[width % 4], from, 21, unsigned (width), padding));
    layer.x = (width * 7) % 60 - 20;
    layer.width = width, layer.height = width % 3 ? 25 : 21;
    layer.alpha = width % 2 ? 0.7 : 1;
    layer.blend_operator = row;
    layer.zorder = unsigned (layers.size ());
    check_blend ({layers[0], layer}, composed ({layers[0], layer}, ""), "checker");
    layers.push_back (layer);
  }
  as_cpu_and_gpu ([&] { check_blend (layers, composed (layers, ""), "checker"); });
}

/* Samples whose colours are within RGB, also between them */
static void
fill_within_rgb (const Picture &picture)
{
  GstMapInfo map;
  video::fill_random (picture, 6);
  fail_unless (gst_buffer_map (picture.buffer, &map, GST_MAP_READWRITE));
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = guint8 (107 + map.data[i] / 6);
  gst_buffer_unmap (picture.buffer, &map);
}

/* Samples are mixed before their conversion to RGB, and rounded on a CPU. */
TEST (test_compositor_scales_opaque_and_camera_formats_like_openclconvert)
{
  for (const int width : {300, 64, 44}) {
    Layer layer = layer_of (random_picture ("RGBx", 130, 21, unsigned (width)));
    layer.width = width, layer.height = 30, layer.x = -3;
    const Layer below = layer_of (even_picture (310, 25, {10, 20, 30, 255}));
    check_as_converted ({below, layer}, "", 1);
    Layer filmed = layer;
    filmed.picture = Picture (info_of ("NV12", 130, 21, "bt601", "jpeg"), 2);
    fill_within_rgb (filmed.picture);
    check_as_converted ({below, filmed}, "", 2);
    check_as_converted ({below, filmed}, "sink_1::crop-left=5 sink_1::crop-right=2", 2);
    check_as_converted ({filmed, layer}, "sink_0::crop-left=4", 2);
  }
}

/* In an area of 60 × 50 at 3, 4: full width and 40 high, full height and half as wide,
 * … */
TEST (test_compositor_sizing_policy_keeps_aspect_ratio_centred)
{
  const struct {
    int width, height, par;
    int shown[4];
  } rows[] = {{30, 20, 1, {3, 9, 60, 40}}, {20, 40, 1, {20, 4, 25, 50}},
      {20, 40, 2, {8, 4, 50, 50}}, {36, 30, 1, {3, 4, 60, 50}},
      {90, 1, 1, {3, 28, 60, 1}}};
  for (auto &row : rows) {
    Picture picture = random_picture ("RGBA", row.width, row.height, 4);
    picture.info.par_n = row.par;
    Layer layer = layer_of (picture), shown = layer;
    layer.x = 3, layer.y = 4, layer.width = 60, layer.height = 50;
    shown.x = row.shown[0], shown.y = row.shown[1];
    shown.width = row.shown[2], shown.height = row.shown[3];
    check_blend ({shown},
        composed ({layer}, "background=white sink_0::sizing-policy=keep-aspect-ratio"),
        "white");
  }
}

static const int crops[][4] = {
    {0, 0, 0, 0}, {3, 0, 0, 5}, {0, 7, 2, 0}, {9, 10, 5, 6}, {0, 0, 4, 1}, {2, 3, 0, 0}};

static Picture
cut (const Picture &picture, const int (&crop)[4])
{
  View from (picture);
  Picture rest (info_of (
      "RGBA", from.width (0) - crop[0] - crop[1], from.height (0) - crop[2] - crop[3]));
  View to (rest, GST_MAP_WRITE);
  for (int c = 0; c < 4; c++)
    for (int y = 0; y < to.height (c); y++)
      for (int x = 0; x < to.width (c); x++)
        to.set (c, x, y, from.at (c, x + crop[0], y + crop[2]));
  return rest;
}

static void
check_crop (const Layer &layer, const Picture &rest, const std::string &properties)
{
  for (int width : {-1, 50}) {
    Layer whole = layer, shown = layer;
    shown.picture = rest;
    whole.width = shown.width = width;
    whole.x = shown.x = 4;
    Picture made = composed ({whole}, "background=white " + properties);
    expect_equal (made.info.width, 4 + (width > 0 ? width : rest.info.width));
    expect_equal (made.info.height, rest.info.height);
    check_blend ({shown}, made, "white");
  }
}

TEST_ROWS (test_compositor_shows_what_its_crop_leaves, {0, 1, 2, 3})
{
  const int (&crop)[4] = crops[row];
  Layer layer = layer_of (random_picture ("RGBA", 30, 21, 4, row % 2 ? 4 : 0));
  check_crop (layer, cut (layer.picture, crop),
      text ("sink_0::crop-left=%d sink_0::crop-right=%d sink_0::crop-top=%d "
            "sink_0::crop-bottom=%d",
          crop[0], crop[1], crop[2], crop[3]));
}

/* Caps have the size of the cropped frame, as from videocrop and decoders. */
TEST_ROWS (test_compositor_shows_what_a_frames_crop_meta_leaves, {0, 1, 2, 3, 4, 5})
{
  const int (&crop)[4] = crops[row];
  Layer layer = layer_of (random_picture ("RGBA", 30, 21, 4));
  Picture rest = cut (layer.picture, crop);
  GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta (layer.picture.buffer);
  meta->x = crop[0], meta->y = crop[2];
  meta->width = rest.info.width, meta->height = rest.info.height;
  layer.picture.info = rest.info;
  check_crop (layer, rest, "");
  const int more[4] = {1, 2, 3, 1};
  check_crop (layer, cut (rest, more),
      "sink_0::crop-left=1 sink_0::crop-right=2 sink_0::crop-top=3 "
      "sink_0::crop-bottom=1");
}

TEST (test_compositor_shows_nothing_of_what_is_all_cropped)
{
  Layer low = layer_of (random_picture ("RGBA", 30, 20, 4));
  Layer high = layer_of (random_picture ("RGBA", 30, 20, 5));
  check_blend ({low},
      composed ({low, high}, "sink_1::crop-left=10 sink_1::crop-right=20"), "checker");
}

/* videocrop leaves the cropping to the compositor, and nothing is copied. */
TEST (test_compositor_takes_videocrops_frames_as_they_are)
{
  Mix mix ("videotestsrc num-buffers=2 pattern=snow ! video/x-raw,format=RGBA,width=64,"
           "height=48 ! tee name=both ! openclupload ! videocrop left=9 top=4 ! "
           "openclcompositor name=mix ! opencldownload ! appsink name=out sync=false "
           "both. ! videocrop left=9 top=4 ! appsink name=wanted sync=false");
  mix.start ();
  for (int frame = 0; frame < 2; frame++) {
    Owned<GstSample> made = mix.pull (), wanted = mix.pull ("wanted");
    fail_unless (made && wanted);
    GstVideoInfo info;
    fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (wanted)));
    expect_equal (info.width, 55);
    expect_equal (video::largest_difference (
                      Picture (info, gst_buffer_ref (gst_sample_get_buffer (made))),
                      Picture (info, gst_buffer_ref (gst_sample_get_buffer (wanted)))),
        0);
  }
}

/* A keyed-out green keeps its colour in the frame, but must not show at edges. */
TEST (test_compositor_scaling_bleeds_no_keyed_out_colour)
{
  Picture keyed (info_of ("RGBA", 8, 8));
  video::fill (keyed, [] (int c, int x, int) {
    bool keyed_out = x < 4;
    return c == 3 ? (keyed_out ? 0.0 : 1.0) : c == 1 ? (keyed_out ? 1.0 : 0.0) : 0.5;
  });
  Layer layer = layer_of (keyed);
  layer.width = layer.height = 37;
  Picture made = composed ({layer}, "background=black");
  View view (made);
  for (int x = 0; x < 37; x++)
    expect_equal (view.at (1, x, 18), 0);
}

TEST (test_compositor_orders_by_zorder)
{
  std::vector<Layer> layers;
  for (unsigned i = 0; i < 4; i++)
    layers.push_back (layer_of (random_picture ("RGBA", 32, 32, i)));
  const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
  for (auto &order : orders) {
    for (unsigned i = 0; i < 4; i++)
      layers[i].zorder = order[i];
    Picture made = composed (layers, "background=transparent");
    std::vector<Layer> sorted = layers;
    std::stable_sort (sorted.begin (), sorted.end (),
        [] (const Layer &a, const Layer &b) { return a.zorder < b.zorder; });
    check_blend (sorted, made, "transparent");
  }
}

/* More inputs than one launch supports; nothing is rounded between launches. */
TEST (test_compositor_blends_any_number_of_pictures)
{
  for (unsigned n : {1u, 8u, 9u, 17u, 25u}) {
    std::vector<Layer> layers;
    for (unsigned i = 0; i < n; i++) {
      layers.push_back (layer_of (random_picture (formats[i % 4], 33, 17, i)));
      layers.back ().alpha = 0.3;
      layers.back ().zorder = i;
      layers.back ().blend_operator = i % 5 == 4 ? "add" : "over";
    }
    check_blend (layers, composed (layers, "background=transparent"), "transparent");
  }
}

TEST (test_compositor_honours_padded_input)
{
  for (int padding : {4, 13}) {
    std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 33, 17, 1)),
        layer_of (random_picture ("BGRA", 33, 17, 2, padding))};
    check_blend (layers, composed (layers, "background=black"), "black");
  }
}

/* --- camera formats --- */

static const char *const camera_formats[] = {"NV12", "I420", "YUY2", "UYVY", "NV21",
    "YV12", "YVYU", "VYUY", "Y42B", "NV16", "NV61", "Y444", "NV24", "AYUV", "VUYA",
    "A420", "RGBx", "BGRx", "xRGB", "xBGR", "RGB", "BGR", "GBR", "GBRA", "GRAY8"};
/* One format of each memory layout, for tests that compile for long */
static const char *const kinds_of_camera[] = {
    "NV12", "I420", "YUY2", "NV24", "AYUV", "A420", "BGRx", "RGB", "GRAY8"};

static Layer
filmed (const char *format, int width, int height, const char *colors, const char *site,
    int padding = 0)
{
  Picture picture (info_of (format, width, height), padding);
  if (GST_VIDEO_INFO_IS_YUV (&picture.info) || GST_VIDEO_INFO_IS_GRAY (&picture.info))
    picture = Picture (info_of (format, width, height, colors, site), padding);
  video::fill_random (picture, 5);
  return layer_of (picture);
}

/* Output must be equal bit for bit. */
TEST_ROWS (test_compositor_reads_camera_formats_like_openclconvert, camera_formats)
{
  check_as_converted ({filmed (row, 64, 34, "bt709", "mpeg2")}, "");
}

/* No two components of red or blue have the same level, so a swap is detected. */
TEST_ROWS (test_openclcompositor_channel_order, camera_formats)
{
  const GstVideoInfo rgba = info_of ("RGBA", 12, 4);
  for (guint color : {0xff0000u, 0x0000ffu}) {
    Picture picture = video::solid_color (info_of (row, 12, 4), color);
    Picture made = composed ({layer_of (picture)}, "", "! " DEVICE ",format=RGBA ");
    const int difference =
        video::largest_difference (made, video::videoconverted (picture, rgba));
    fail_unless (difference <= 6, "0x%06x is off by %d", color, difference);
  }
}

/* Overlapping inputs of odd sizes and strides, scaled, cropped, with other colorimetry
 * and chroma sites */
TEST_ROWS (test_compositor_blends_camera_formats_like_openclconvert, kinds_of_camera)
{
  std::vector<Layer> layers = {filmed (row, 71, 33, "bt601", "mpeg2", 5),
      filmed (row, 53, 40, "1:3:5:1", "jpeg"), filmed ("BGRA", 30, 30, "", ""),
      filmed (row, 80, 31, "2:6:5:7", "dv")};
  layers[1].x = 3, layers[1].alpha = 0.7;
  layers[3].width = 60, layers[3].height = 45, layers[3].blend_operator = "add";
  fill_within_rgb (layers[3].picture);
  for (unsigned i = 0; i < 4; i++)
    layers[i].zorder = i;
  check_as_converted (layers, "background=white", 2);
  check_as_converted (layers,
      "sink_0::crop-left=7 sink_0::crop-top=3 sink_0::crop-right=1 "
      "sink_3::crop-left=3 sink_3::crop-bottom=2",
      2);
  layers[1].wrap = layers[3].wrap = 0.5;
  check_as_converted (layers, "linear=true");
}

TEST_ROWS (test_compositor_takes_fields_as_openclconvert_would, kinds_of_camera)
{
  std::vector<Layer> layers;
  for (int i = 0; i < 2; i++) {
    Picture picture (of_fields (info_of (row, 45 + i, 30)));
    fill_within_rgb (picture);
    GST_BUFFER_FLAG_SET (
        picture.buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF);
    layers.push_back (layer_of (picture));
  }
  layers[1].alpha = 0.5, layers[1].height = 21;
  check_as_converted (layers, "", 2);
}

/* An RGB input whose range differs from that of the lowest input */
TEST (test_compositor_gives_all_pictures_the_range_of_the_output)
{
  for (const char *colors : {"2:1:7:1", "1:1:7:1"}) {
    std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 40, 24, 1)),
        layer_of (random_picture ("ARGB", 33, 24, 2, 3))};
    layers[0].picture.info = info_of ("RGBA", 40, 24, colors);
    layers[1].picture.info = info_of ("ARGB", 33, 24, "2:1:7:1");
    layers[1].alpha = 0.5;
    Picture made = composed (layers, "background=black");
    expect_equal (made.info.colorimetry.range, layers[0].picture.info.colorimetry.range);
    View view (made), low (layers[0].picture), high (layers[1].picture);
    const bool same = made.info.colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;
    for (int c = 0; c < 3; c++) {
      const double level = high.at (c, 9, 9);
      const double wanted =
          same ? level : std::clamp (std::round ((level - 16) * 255 / 219), 0.0, 255.0);
      const double alpha = 0.5 * high.at (3, 9, 9) / 255,
                   below = low.at (3, 9, 9) / 255.0;
      const double got = view.at (c, 9, 9);
      fail_unless (
          std::fabs (wanted * alpha + (1 - alpha) * below * low.at (c, 9, 9) - got) <= 1);
    }
  }
}

/* --- output with 4:2:0 chroma --- */

/* Converts the expected pixels to Y'CbCr in double precision, and takes the mean of chroma
 * with the weights that the chroma siting gives. */
class ExpectedYuv {
public:
  ExpectedYuv (const Canvas &canvas, const GstVideoInfo &output)
      : pixels (canvas), info (output)
  {
    gst_video_color_matrix_get_Kr_Kb (info.colorimetry.matrix, &red, &blue);
    gst_video_color_range_offsets (info.colorimetry.range, info.finfo, offset, scale);
  }

  double at (int component, int x, int y) const
  {
    if (component == 0)
      return sample (0, x, y);
    /* At an edge the sample beside it is left out. */
    const int left = x > 0 ? 2 * x - 1 : 0;
    const int right = x > 0 && 2 * x + 2 >= pixels.width ? 2 * x : 2 * x + 1;
    const std::vector<int> columns = info.chroma_site & GST_VIDEO_CHROMA_SITE_H_COSITED
                                         ? std::vector<int>{left, 2 * x, 2 * x, right}
                                         : std::vector<int>{2 * x, 2 * x + 1};
    const int last = info.chroma_site & GST_VIDEO_CHROMA_SITE_V_COSITED ? 0 : 1;
    double sum = 0;
    for (int row = 0; row <= last; row++)
      for (int column : columns)
        sum += sample (component, column, 2 * y + row);
    return sum / double (columns.size () * size_t (last + 1));
  }

private:
  double sample (int component, int x, int y) const
  {
    const Pixel &rgb = pixels.at_nearest (x, y);
    const double luma = red * rgb[0] + (1 - red - blue) * rgb[1] + blue * rgb[2];
    const double values[] = {
        luma, (rgb[2] - luma) / (2 * (1 - blue)), (rgb[0] - luma) / (2 * (1 - red))};
    return std::clamp (
        values[component] * scale[component] + offset[component], 0.0, 255.0);
  }

  const Canvas &pixels;
  GstVideoInfo info;
  double red, blue;
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
};

/* Luma is rounded twice, in RGB and in Y'CbCr, and chroma twice more, in the mean of rows
 * and of columns. */
static void
check_yuv (const std::vector<Layer> &layers, const Picture &made,
    const std::string &background, bool linear = false)
{
  View view (made);
  const Canvas canvas = expected_of (layers, view, background, linear);
  const ExpectedYuv expected (canvas, made.info);
  for (int c = 0; c < 3; c++)
    for (int y = 0; y < view.height (c); y++)
      for (int x = 0; x < view.width (c); x++)
        fail_unless (
            std::fabs (view.at (c, x, y) - expected.at (c, x, y)) <= (c ? 1.6 : 1.01),
            "component %d at %d,%d: %d, expected %f", c, x, y, view.at (c, x, y),
            expected.at (c, x, y));
}

static std::string
yuv_caps (const char *format, const char *colors, const char *site)
{
  return text (DEVICE ",format=%s,colorimetry=%s,chroma-site=%s ", format, colors, site);
}

struct YuvOutput {
  const char *format, *colors, *site;
};
static const YuvOutput yuv_outputs[] = {{"NV12", "bt601", "jpeg"},
    {"NV12", "bt709", "mpeg2"}, {"I420", "1:3:5:1", "cosited"},
    {"I420", "1:4:7:1", "dv"}};

/* Layers of odd sizes and strides at odd positions, in one launch and in several */
static std::vector<Layer>
stacked_layers (int count)
{
  std::vector<Layer> layers;
  for (int i = 0; i < count; i++) {
    layers.push_back (layer_of (
        random_picture (formats[i % 4], i % 3 ? 30 + i : 83, 37 - i, i, i % 2 ? 3 : 0)));
    layers.back ().x = i % 3 ? 3 * i : 0, layers.back ().y = i;
    layers.back ().alpha = i % 4 == 3 ? 0.4 : 1;
    layers.back ().zorder = i;
    if (i % 5 == 2)
      layers.back ().width = 51, layers.back ().height = 20;
  }
  return layers;
}

TEST_ROWS (test_compositor_yuv_output_equals_double_precision, {0, 1, 2, 3})
{
  const YuvOutput &output = yuv_outputs[row];
  for (int count : {0, 2, 5, 11}) {
    std::vector<Layer> layers = stacked_layers (MAX (count, 1));
    layers[0].x = count == 0 ? 200 : 0;
    for (const char *background : backgrounds)
      as_cpu_and_gpu ([&] {
        Picture made = composed (layers, std::string ("background=") + background,
            "! " + yuv_caps (output.format, output.colors, output.site)
                + ",width=83,height=37 ");
        expect_equal (GST_VIDEO_INFO_NAME (&made.info), output.format);
        check_yuv (
            layers, made, g_str_equal (background, "transparent") ? "black" : background);
      });
  }
}

TEST (test_compositor_yuv_output_blends_light)
{
  std::vector<Layer> layers = stacked_layers (5);
  for (Layer &layer : layers)
    layer.picture.info.colorimetry.transfer = GST_VIDEO_TRANSFER_BT709;
  layers[4].wrap = 0.6, layers[4].radius = 4;
  Picture made = composed (layers, "linear=true",
      "! " + yuv_caps ("NV12", "bt709", "mpeg2") + ",width=83,height=37 ");
  check_yuv (layers, made, "checker", true);
}

/* Compares with an RGBA output that openclconvert converts: the same samples, bit for
 * bit. */
static void
check_as_converted_output (const std::vector<Layer> &layers, const YuvOutput &output,
    const std::string &properties = "")
{
  const std::string to = yuv_caps (output.format, output.colors, output.site);
  const std::string size = ",width=71,height=45 ";
  as_cpu_and_gpu ([&] {
    Picture direct = composed (layers, properties, "! " + to + size);
    Picture converted = composed (layers, properties,
        "! " DEVICE ",format=RGBA" + size + "! openclconvert ! " + to);
    fail_unless (gst_video_info_is_equal (&direct.info, &converted.info));
    expect_equal (video::largest_difference (direct, converted), 0);
  });
}

/* Camera formats and RGB, in one launch and in several */
TEST_ROWS (test_compositor_yuv_output_equals_openclconverts, {0, 1, 2, 3})
{
  std::vector<Layer> layers = {filmed ("NV12", 71, 33, "bt601", "mpeg2", 5),
      filmed ("I420", 53, 40, "1:3:5:1", "jpeg"),
      layer_of (random_picture ("BGRA", 30, 30, 7)),
      filmed ("YUY2", 80, 31, "2:6:5:7", "dv")};
  layers[1].x = 3, layers[1].alpha = 0.7;
  layers[3].width = 60, layers[3].height = 45, layers[3].alpha = 0.5;
  for (unsigned i = 0; i < 4; i++)
    layers[i].zorder = i;
  check_as_converted_output (layers, yuv_outputs[row], "background=black");
  layers[2].wrap = 0.5, layers[3].wrap = 0.3;
  check_as_converted_output (layers, yuv_outputs[row], "background=white");
  for (unsigned i = 4; i < 12; i++) {
    layers.push_back (layer_of (random_picture (formats[i % 4], 40, 20, i)));
    layers.back ().x = 5 * i - 30, layers.back ().zorder = i;
  }
  check_as_converted_output (layers, yuv_outputs[row]);
}

/* Chroma belongs to the rows of its field. */
TEST_ROWS (test_compositor_yuv_output_of_fields_equals_openclconverts, {0, 1, 2, 3})
{
  std::vector<Layer> layers;
  for (int i = 0; i < 2; i++) {
    layers.push_back (layer_of (
        random_fields (71, 45 - 2 * i, i, GST_VIDEO_INTERLACE_MODE_INTERLEAVED)));
    Picture camera (of_fields (info_of ("NV12", 70, 30)));
    video::fill_random (camera, i);
    layers.push_back (layer_of (camera));
  }
  for (unsigned i = 0; i < 4; i++) {
    layers[i].zorder = i, layers[i].alpha = 0.8;
  }
  layers[3].height = 21;
  check_as_converted_output (layers, yuv_outputs[row]);
}

/* --- copied samples --- */

/* A copy of the layers' samples, in their order, where they cover the output */
static void
check_copies (const std::vector<Layer> &layers, const Picture &made)
{
  View view (made);
  for (int c = 0; c < 3; c++)
    for (int y = 0; y < view.height (c); y++)
      for (int x = 0; x < view.width (c); x++) {
        int wanted = -1;
        for (const Layer &layer : layers) {
          View from (layer.picture);
          const int at_x = x - layer.x / (c ? 2 : 1), at_y = y - layer.y / (c ? 2 : 1);
          if (at_x >= 0 && at_y >= 0 && at_x < from.width (c) && at_y < from.height (c))
            wanted = from.at (c, at_x, at_y);
        }
        if (wanted >= 0)
          fail_unless (view.at (c, x, y) == wanted, "component %d at %d,%d: %d, not %d",
              c, x, y, view.at (c, x, y), wanted);
      }
}

static Layer
camera_layer (const char *format, int width, int height, int x, int y, unsigned zorder,
    int padding = 0)
{
  Layer layer = layer_of (Picture (info_of (format, width, height, "bt601"), padding));
  video::fill_random (layer.picture, zorder + 77);
  layer.x = x, layer.y = y, layer.zorder = zorder;
  return layer;
}

/* Returns the number of launches of the only frame. */
static guint64
launches_of (const std::vector<Layer> &layers, const std::string &caps, Picture *made)
{
  guint64 launches = 0;
  *made = composed (layers, "", caps, &launches);
  return launches;
}

/* Random samples, most of which are outside RGB, stay as they are: from either format, with
 * padding, over an edge, and of odd size at the edge. */
TEST_ROWS (test_compositor_copies_opaque_layers_in_the_outputs_format, {0, 1})
{
  const char *const format = row ? "I420" : "NV12", *const other = row ? "NV12" : "I420";
  const std::vector<Layer> layers = {camera_layer (format, 71, 45, 0, 0, 0, 3),
      camera_layer (other, 20, 12, 4, 6, 1), camera_layer (format, 31, 21, 40, 24, 2, 5),
      camera_layer (format, 36, 18, -10, -8, 3), camera_layer (other, 40, 40, 60, 2, 4)};
  const std::string caps =
      text ("! " DEVICE ",format=%s,width=71,height=45,colorimetry=bt601 ", format);
  as_cpu_and_gpu ([&] {
    Picture made = layers[0].picture;
    expect_equal (launches_of (layers, caps, &made), layers.size ());
    check_copies (layers, made);
  });
}

/* The background is blended only if it is seen, and hidden layers are not. */
TEST (test_compositor_blends_only_what_is_seen)
{
  const std::string caps = "! " DEVICE ",format=NV12,width=64,height=40 ";
  const bool on_gpu = !opencl::is_cpu (new_context ());
  Picture made = even_picture (1, 1, {});
  std::vector<Layer> layers = {
      camera_layer ("NV12", 32, 40, 0, 0, 0), camera_layer ("NV12", 32, 40, 32, 0, 1)};
  expect_equal (launches_of (layers, caps, &made), 2);
  check_copies (layers, made);

  layers[1].x = 34;
  /* A GPU converts between RGB and NV12 in launches of their own. */
  expect_equal (launches_of (layers, caps, &made), on_gpu ? 4 : 3);
  check_copies (layers, made);
  const View view (made); /* 80 of 255: the checker pattern */
  expect_near (std::array{view.at (0, 33, 0), view.at (1, 16, 0), view.at (2, 16, 0)},
      std::array{85, 128, 128}, 1, "background");

  layers = {
      camera_layer ("NV12", 64, 40, 0, 0, 0), camera_layer ("NV12", 64, 40, 0, 0, 1)};
  expect_equal (launches_of (layers, caps, &made), 1);
  check_copies (layers, made);
  layers[1].alpha = 0.5;
  expect_equal (launches_of (layers, caps, &made), on_gpu ? 4 : 1);
}

/* Also with an RGB output: nine layers need two launches. */
TEST (test_compositor_does_not_blend_hidden_layers)
{
  std::vector<Layer> layers;
  for (unsigned i = 0; i < 9; i++) {
    layers.push_back (layer_of (random_picture ("RGBA", 20, 20, i)));
    layers.back ().zorder = i, layers.back ().x = 2 * i;
  }
  layers.push_back (layer_of (random_picture ("RGBx", 36, 20, 10)));
  layers.back ().zorder = 10;
  const std::string caps = "! " DEVICE ",format=RGBA,width=36,height=20 ";
  Picture made = layers[0].picture;
  expect_equal (launches_of (layers, caps, &made), 1);
  Picture alone = composed ({layers[9]}, "", caps);
  expect_equal (video::largest_difference (made, alone), 0);
  layers[8].wrap = 0.5; /* its light shows on nothing, but needs the layers below */
  launches_of (layers, caps, &made);
  expect_equal (video::largest_difference (made, alone), 0);
  layers[9].alpha = 0.9;
  expect_equal (launches_of (layers, caps, &made) > 1, true);
}

/* Blended layers change only the blocks that they cover, and not those of copied layers
 * above. */
TEST (test_compositor_keeps_samples_beside_blended_layers)
{
  const Layer below = camera_layer ("NV12", 64, 40, 0, 0, 0);
  Layer above = layer_of (random_picture ("RGBA", 21, 13, 3));
  above.x = 11, above.y = 7, above.zorder = 1;
  const Layer top = camera_layer ("NV12", 16, 8, 20, 16, 2);
  const std::string to = "! " + yuv_caps ("NV12", "bt601", "jpeg");
  as_cpu_and_gpu ([&] {
    Picture made = composed ({below, above, top}, "", to);
    Picture blended =
        composed ({below, above}, "", "! " DEVICE ",format=RGBA ! openclconvert " + to);
    View view (made), low (below.picture), high (top.picture), middle (blended);
    for (int c = 0; c < 3; c++)
      for (int y = 0; y < view.height (c); y++)
        for (int x = 0; x < view.width (c); x++) {
          const int unit = c ? 2 : 1, at_x = x * unit, at_y = y * unit;
          const bool is_top = at_x >= 20 && at_x < 36 && at_y >= 16 && at_y < 24;
          const bool is_blended = at_x >= 10 && at_x < 32 && at_y >= 6 && at_y < 20;
          expect_equal (view.at (c, x, y), is_top
                                               ? high.at (c, x - 20 / unit, y - 16 / unit)
                                           : is_blended ? middle.at (c, x, y)
                                                        : low.at (c, x, y));
        }
  });
}

namespace {
/* A layer at odd places, partly outside of an output of 1 to 17 columns */
Layer
odd_layer (int width)
{
  Layer layer = layer_of (random_picture ("RGBA", 3 + width % 3, 5, width));
  layer.x = width * 3 % 8 - 3, layer.y = width % 3 - 1;
  layer.alpha = 0.6, layer.zorder = 1;
  return layer;
}
} // namespace

/* The blocks under the blended layer equal those of an output that is blended as a whole. */
TEST_ROWS (test_compositor_blends_odd_edges_over_a_copied_layer, {"NV12", "I420"})
{
  const std::string to = "! " + yuv_caps (row, "bt601", "jpeg");
  for (int width = 1; width <= 17; width++) {
    const Layer below = camera_layer (row, width, 9, 0, 0, 0), above = odd_layer (width);
    const int right = above.x + View (above.picture).width (0), bottom = above.y + 5;
    const std::string size = text (",width=%d,height=9 ", width);
    as_cpu_and_gpu ([&] {
      Picture made = composed ({below, above}, "", to + size);
      Picture blended = composed ({below, above}, "",
          "! " DEVICE ",format=RGBA" + size + "! openclconvert " + to);
      View view (made), low (below.picture), middle (blended);
      for (int c = 0; c < 3; c++)
        for (int y = 0; y < view.height (c); y++)
          for (int x = 0; x < view.width (c); x++) {
            const int unit = c ? 2 : 1, block_x = x * unit & ~1, block_y = y * unit & ~1;
            const bool is_blended = block_x + 1 >= above.x && block_x < right
                                    && block_y + 1 >= above.y && block_y < bottom;
            expect_equal (view.at (c, x, y),
                is_blended ? middle.at (c, x, y) : low.at (c, x, y),
                text ("%d columns, component %d at %d,%d", width, c, x, y));
          }
    });
  }
}

TEST (test_compositor_blends_odd_edges_in_rgb)
{
  for (int width = 1; width <= 17; width++) {
    const std::vector<Layer> layers = {
        layer_of (random_picture ("BGRA", width, 9, 40)), odd_layer (width)};
    as_cpu_and_gpu ([&] {
      check_blend (layers,
          composed (
              layers, "", text ("! " DEVICE ",format=RGBA,width=%d,height=9 ", width)),
          "checker");
    });
  }
}

/* Each differs from a layer that is copied in one way, and is blended as others are. */
TEST_ROWS (test_compositor_blends_layers_that_it_cannot_copy, {0, 1, 2, 4, 5, 6, 7})
{
  Layer layer = camera_layer ("NV12", 40, 30, 4, 6, 1);
  std::string properties = "background=black";
  layer.x += row == 0, layer.y += row == 1;
  layer.alpha = row == 2 ? 0.99 : 1;
  if (row == 4)
    layer = filmed ("NV12", 40, 30, "bt709", "jpeg");
  if (row == 5)
    layer = filmed ("NV12", 40, 30, "bt601", "mpeg2");
  if (row == 6)
    properties += " sink_0::crop-left=1";
  if (row == 7)
    layer = camera_layer ("NV12", 39, 30, 4, 6, 1);
  check_as_converted_output ({layer}, {"NV12", "bt601", "jpeg"}, properties);
}

/* A GPU scales in RGB. */
static void
fill_smoothly (const Picture &picture)
{
  View view (picture, GST_MAP_READWRITE);
  for (int c = 0; c < view.components (); c++)
    for (int y = 0; y < view.height (c); y++)
      for (int x = 0; x < view.width (c); x++)
        view.set (c, x, y, 90 + 40 * x / view.width (c) + 20 * y / view.height (c));
}

/* A CPU scales them before. Their buffers still have the size before that. */
TEST_ROWS (test_compositor_yuv_output_blends_enlarged_layers, {"NV12", "I420"})
{
  Layer below = camera_layer (row, 40, 30, 0, 0, 0);
  fill_smoothly (below.picture);
  below.width = 72, below.height = 44;
  Layer above = below;
  above.zorder = 1, above.alpha = 0.25;
  const std::string to = "! " + yuv_caps (row, "bt601", "jpeg") + ",width=72,height=44 ";
  const Picture alone = composed ({below}, "", to);
  const Picture over_itself = composed ({below, above}, "", to);
  const int largest = video::largest_difference (alone, over_itself);
  fail_unless (largest <= 2, "%d levels", largest);
}

TEST_ROWS (test_compositor_scales_camera_layers_as_openclconvert_does, {"NV12", "I420"})
{
  const int tolerance = opencl::is_cpu (new_context ()) ? 0 : 40;
  Layer layer = camera_layer (row, 70, 50, 0, 0, 1);
  fill_within_rgb (layer.picture);
  for (const auto &size : {std::pair (42, 30), std::pair (37, 61), std::pair (140, 20)}) {
    layer.width = size.first, layer.height = size.second;
    const std::string colors = "! " + yuv_caps (row, "bt601", "jpeg");
    const Picture made = composed (
        {layer}, "", colors + text (",width=%d,height=%d ", size.first, size.second));
    const Picture scaled = video::converted ("openclconvert", layer.picture, made.info);
    fail_unless (video::largest_difference (made, scaled) <= tolerance);
  }
}

/* --- the choice of the output's format --- */

static GstVideoInfo
output_of (Mix &mix)
{
  Owned<GstCaps> caps = gst_pad_get_current_caps (mix.pad ("mix", "src"));
  GstVideoInfo info;
  fail_unless (caps && gst_video_info_from_caps (&info, caps));
  return info;
}

static const struct {
  const char *lowest, *highest, *properties, *behind, *format;
} choices[] = {{"NV12", "NV12", "", "", "NV12"}, {"I420", "I420", "", "", "I420"},
    {"NV12", "I420", "", "", "RGBA"}, {"NV12", "RGBA", "", "", "RGBA"},
    {"NV12", "NV12", "background=transparent", "", "RGBA"},
    {"BGRA", "NV12", "", "", "BGRA"},
    {"RGBA", "RGBA", "", "! openclconvert ! " DEVICE ",format=NV12 ", "NV12"},
    {"RGBA", "RGBA", "background=transparent",
        "! openclconvert ! " DEVICE ",format=(string){I420,YV12} ", "I420"},
    {"NV12", "BGRA", "", "! openclconvert ! " DEVICE ",format=(string){I420,NV12} ",
        "NV12"},
    {"BGRA", "RGBA", "", "! openclconvert ! " DEVICE ",format=(string){NV12,AYUV} ",
        "BGRA"},
    {"NV12", "NV12", "", "! openclconvert ! " DEVICE ",format=Y444 ", "RGBA"},
    {"NV12", "NV12", "", "! openclconvert ! " DEVICE ",format=BGRA ", "BGRA"},
    {"NV12", "NV12", "", "! openclconvert ! " DEVICE ",format=(string){BGRA,NV12} ",
        "NV12"},
    {"RGBA", "RGBA", "", "! " DEVICE ",format=(string){I420,ARGB} ", "ARGB"},
    {"NV12", "NV12", "", "! " DEVICE ",format=(string){ARGB,I420} ", "I420"}};

TEST_ROWS (
    test_compositor_output_format, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
{
  auto source = [] (const char *format) {
    return text (
        "videotestsrc num-buffers=1 ! video/x-raw,format=%s,width=16,height=16 ! "
        "openclupload ! mix. ",
        format);
  };
  Mix mix (std::string ("openclcompositor name=mix ") + choices[row].properties + " "
           + choices[row].behind + "! fakesink " + source (choices[row].lowest)
           + source (choices[row].highest));
  mix.play_to_eos ();
  const GstVideoInfo info = output_of (mix);
  expect_equal (GST_VIDEO_INFO_NAME (&info), choices[row].format);
}

TEST (test_compositor_yuv_output_has_the_colours_of_its_lowest_picture)
{
  const char *const colors[][2] = {{"bt601", "mpeg2"}, {"1:3:5:1", "jpeg"}};
  for (auto &wanted : colors) {
    const Layer low = filmed ("NV12", 20, 10, wanted[0], wanted[1]);
    Picture made = composed ({low, filmed ("NV12", 20, 10, "bt709", "dv")}, "");
    expect_equal (GST_VIDEO_INFO_FORMAT (&made.info), GST_VIDEO_FORMAT_NV12);
    fail_unless (gst_video_colorimetry_is_equal (
        &made.info.colorimetry, &low.picture.info.colorimetry));
    expect_equal (made.info.chroma_site, low.picture.info.chroma_site);
  }
}

/* The output becomes NV12 and RGBA again, by downstream's wish and by the inputs. Each
 * frame comes out once the next has arrived. */
TEST (test_compositor_output_format_changes_while_playing)
{
  const Layer words = layer_of (random_picture ("RGBA", 40, 30, 1));
  const Layer camera = camera_layer ("NV12", 40, 30, 0, 0, 0);
  std::string description = description_of ({words}, "background=black");
  description.replace (description.find ("! appsink"), 0, "! capsfilter name=filter ");
  Mix mix (description);
  mix.start ();
  const struct {
    const Layer &layer;
    const char *caps, *format;
  } steps[] = {{words, DEVICE, "RGBA"}, {words, DEVICE ",format=NV12", "NV12"},
      {words, DEVICE ",format=I420,colorimetry=bt709", "I420"}, {camera, DEVICE, "NV12"},
      {words, DEVICE, "RGBA"}, {camera, DEVICE ",format=I420", "I420"}};
  GstClockTime time = 0;
  mix.push (0, words.picture, time);
  for (const auto &step : steps) {
    set_together (mix["filter"], std::string ("caps=") + step.caps);
    Picture made = words.picture;
    for (int frame = 0; frame < 3; frame++) { /* at the latest the third has the format */
      mix.push (0, step.layer.picture, time += 40 * GST_MSECOND);
      made = mix.picture ();
    }
    expect_equal (GST_VIDEO_INFO_NAME (&made.info), step.format);
    if (&step.layer == &camera)
      check_copies ({camera}, made);
    else if (GST_VIDEO_INFO_HAS_ALPHA (&made.info))
      check_blend ({words}, made, "black");
    else
      check_yuv ({words}, made, "black");
  }
}

/* --- as an element --- */

TEST (test_compositor_output_holds_all_pictures)
{
  Layer low = layer_of (random_picture ("RGBA", 20, 10, 1));
  Layer high = layer_of (random_picture ("RGBA", 8, 8, 2));
  high.x = 30;
  high.y = 5;
  high.width = 16;
  high.height = 12;
  Picture made = composed ({low, high}, "");
  expect_equal (made.info.width, 46);
  expect_equal (made.info.height, 17);
}

static const struct {
  const char *behind;
  int width, height;
} sizes_behind[] = {{"", 46, 17},
    {"! openclconvert ! " DEVICE ",width=20,height=9 ", 46, 17},
    {"! openclconvert ! " DEVICE ",width=100,height=90,format=I420 ", 46, 17},
    {"! " DEVICE ",width=20,height=9 ", 20, 9},
    {"! " DEVICE ",width=[1,30],height=[20,40] ", 30, 20}};

/* Scaled if the element can scale, otherwise cropped */
TEST_ROWS (test_compositor_output_size_is_the_union_of_its_inputs, {0, 1, 2, 3, 4})
{
  Mix mix ("openclcompositor name=mix sink_1::xpos=30 sink_1::ypos=5 sink_1::width=16 "
           "sink_1::height=12 "
           + std::string (sizes_behind[row].behind)
           + "! fakesink name=out sync=false "
             "videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=20,height=10 ! "
             "openclupload ! mix.sink_0 "
             "videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=8,height=8 ! "
             "openclupload ! mix.sink_1");
  mix.play_to_eos ();
  const GstVideoInfo info = output_of (mix);
  expect_equal (info.width, sizes_behind[row].width);
  expect_equal (info.height, sizes_behind[row].height);
}

static const char *const shapes[] = {"720,height=576,pixel-aspect-ratio=16/15",
    "720,height=480,pixel-aspect-ratio=8/9", "720,height=480,pixel-aspect-ratio=32/27",
    "20,height=10,pixel-aspect-ratio=3/2", "101,height=31,pixel-aspect-ratio=1/2",
    "64,height=48,pixel-aspect-ratio=1/1", "4,height=3,pixel-aspect-ratio=64/45"};

/* Compared with GStreamer's compositor, for square and other pixels. It rounds down sizes
 * that keep their aspect ratio. */
TEST_ROWS (test_compositor_pixel_aspect_ratio_size, shapes)
{
  static const struct {
    const char *output, *size;
  } cases[] = {{"", ""}, {",pixel-aspect-ratio=1/1", ""}, {",pixel-aspect-ratio=4/3", ""},
      {"", "sink_0::width=90"}, {"", "sink_0::height=51"},
      {",pixel-aspect-ratio=4/3", "sink_0::width=96 sink_0::height=40"}};
  for (const auto &[output, size] : cases)
    for (const char *policy : {"none", "keep-aspect-ratio"}) {
      const std::string source =
          text ("videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width=%s ! ", row);
      const std::string pads = text (
          " sink_0::sizing-policy=%s sink_0::xpos=7 sink_0::ypos=3 %s ! ", policy, size);
      Mix theirs (
          source + "compositor name=mix" + pads + "video/x-raw" + output + " ! fakesink");
      Mix ours (source + "openclupload ! openclcompositor name=mix" + pads + DEVICE
                + output + " ! fakesink");
      theirs.play_to_eos ();
      ours.play_to_eos ();
      const GstVideoInfo got = output_of (ours), wanted = output_of (theirs);
      expect_near (std::array{got.width, got.height},
          std::array{wanted.width, wanted.height}, g_str_equal (policy, "none") ? 0 : 1,
          pads);
    }
}

TEST (test_compositor_zero_size_is_unscaled)
{
  std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 20, 10, 1)),
      layer_of (random_picture ("RGBA", 8, 6, 2))};
  layers[1].width = 0;
  check_blend (layers, composed (layers, ""), "checker");
  check_blend ({layers[0]}, composed (layers, "zero-size-is-unscaled=false"), "checker");
}

/* As of GStreamer Editing Services, which place a transition's frames while it plays: the
 * output is negotiated again if a pad begins or ends to add, and not for another place. */
TEST_ROWS (test_compositor_operator_negotiates_size, {"compositor", "openclcompositor"})
{
  const std::string mixer = row;
  Mix mix (
      mixer
      + " name=mix sink_0::operator=add ! appsink name=out sync=false "
        "appsrc name=in0 format=time caps=video/x-raw,format=RGBA,width=20,height=10,"
        "framerate=25/1 ! "
      + (mixer == "compositor" ? "" : "openclupload ! ") + "mix.sink_0");
  Owned<GstPad> pad = mix.pad ("mix", "sink_0");
  mix.start ();
  int frame = 0;
  const auto width = [&] {
    GstBuffer *buffer = buffer_of (Bytes (800, 255));
    GST_BUFFER_PTS (buffer) = guint64 (frame++) * 40 * GST_MSECOND;
    GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
    expect_equal (
        gst_app_src_push_buffer (GST_APP_SRC (mix["in0"]), buffer), GST_FLOW_OK);
    if (frame == 1)
      return 0; /* its end is not known yet */
    GstVideoInfo info;
    Owned<GstSample> sample = mix.pull ();
    fail_unless (gst_video_info_from_caps (&info, gst_sample_get_caps (sample)));
    return info.width;
  };
  width ();
  expect_equal (width (), 20);
  g_object_set (pad.operator->(), "xpos", 30, nullptr);
  width ();
  expect_equal (width (), 20);
  set_together (pad.operator->(), "operator=over");
  width ();
  expect_equal (width (), 50);
}

TEST (test_compositor_output_has_the_colours_of_its_lowest_picture)
{
  std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 20, 10, 1)),
      layer_of (random_picture ("BGRA", 20, 10, 2))};
  for (const char *colors : {"sRGB", "1:1:5:1", "1:1:7:4"}) {
    fail_unless (
        gst_video_colorimetry_from_string (&layers[0].picture.info.colorimetry, colors));
    Picture made = composed (layers, "");
    fail_unless (gst_video_colorimetry_is_equal (
        &made.info.colorimetry, &layers[0].picture.info.colorimetry));
    check_blend (layers, made, "checker");
    made = composed (layers, "", "! " DEVICE ",colorimetry=1:1:12:1 ");
    expect_equal (made.info.colorimetry.transfer, GST_VIDEO_TRANSFER_ADOBERGB);
  }
}

TEST (test_compositor_takes_downstreams_format)
{
  std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 20, 10, 1))};
  for (const char *format : formats) {
    Picture made = composed (layers, "", text ("! " DEVICE ",format=%s ", format));
    expect_equal (GST_VIDEO_INFO_NAME (&made.info), format);
    check_blend (layers, made, "checker");
  }
}

TEST (test_compositor_properties_change_while_playing)
{
  std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 40, 30, 1)),
      layer_of (random_picture ("RGBA", 10, 10, 2))};
  Mix mix (description_of (layers, "background=black"));
  Owned<GstPad> pad = mix.pad ("mix", "sink_1");
  mix.start ();
  for (int frame = 0; frame < 5; frame++) {
    layers[1].x = 5 * frame;
    layers[1].alpha = 0.2 * frame;
    layers[1].width = 10 + frame;
    g_object_set (pad.operator->(), "xpos", layers[1].x, "alpha", layers[1].alpha,
        "width", layers[1].width, nullptr);
    for (int i = 0; i < 2; i++)
      mix.push (i, layers[i].picture, frame * 40 * GST_MSECOND);
    if (frame > 0)
      mix.picture (); /* of the frame before, now that its end is known */
  }
  /* the last frame uses the properties set before it arrived */
  mix.end (0);
  mix.end (1);
  check_blend (layers, mix.picture (), "black");
}

TEST (test_compositor_carries_a_change_of_size)
{
  std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 40, 30, 1)),
      layer_of (random_picture ("RGBA", 10, 10, 2))};
  std::string description = description_of (layers, "background=black");
  description.replace (
      description.find ("! appsink"), 0, "! " DEVICE ",width=40,height=30 ");
  Mix mix (description);
  mix.start ();
  for (int frame = 0; frame < 4; frame++) {
    layers[1] = layer_of (random_picture (formats[frame], 10 + 3 * frame, 9, frame));
    for (int i = 0; i < 2; i++)
      mix.push (i, layers[i].picture, frame * 40 * GST_MSECOND);
    if (frame > 0)
      mix.picture ();
  }
  mix.end (0);
  mix.end (1);
  check_blend (layers, mix.picture (), "black");
}

TEST (test_compositor_repeats_the_last_frame_of_a_stream_that_ended)
{
  std::vector<Layer> layers = {layer_of (even_picture (16, 16, {1, 0, 0, 1})),
      layer_of (even_picture (8, 8, {0, 0, 1, 1}))};
  Mix mix (description_of (layers, "sink_1::repeat-after-eos=true"));
  mix.start ();
  mix.push (1, layers[1].picture, 0);
  mix.end (1);
  for (int frame = 0; frame < 5; frame++)
    mix.push (0, layers[0].picture, frame * 40 * GST_MSECOND);
  mix.end (0);
  for (int frame = 0; frame < 5; frame++)
    check_blend (layers, mix.picture (), "checker");
  fail_unless (mix.ends ());
}

TEST (test_compositor_a_stream_that_ended_is_gone)
{
  std::vector<Layer> layers = {layer_of (even_picture (16, 16, {1, 0, 0, 1})),
      layer_of (even_picture (8, 8, {0, 0, 1, 1}))};
  Mix mix (description_of (layers, ""));
  mix.start ();
  mix.push (1, layers[1].picture, 0);
  mix.end (1);
  for (int frame = 0; frame < 3; frame++)
    mix.push (0, layers[0].picture, frame * 40 * GST_MSECOND);
  mix.end (0);
  check_blend (layers, mix.picture (), "checker");
  check_blend ({layers[0]}, mix.picture (), "checker");
  check_blend ({layers[0]}, mix.picture (), "checker");
  fail_unless (mix.ends ());
}

TEST (test_compositor_follows_the_fastest_stream)
{
  Mix mix ("openclcompositor name=mix ! appsink name=out sync=false "
           "videotestsrc num-buffers=10 ! video/x-raw,framerate=50/1,width=32,height=32 "
           "! openclupload ! openclconvert ! mix. "
           "videotestsrc num-buffers=4 pattern=ball ! "
           "video/x-raw,framerate=20/1,width=32,height=32 "
           "! openclupload ! openclconvert ! mix.");
  mix.start ();
  int frames = 0;
  while (Owned<GstSample> sample = mix.pull ()) {
    expect_equal (
        GST_BUFFER_PTS (gst_sample_get_buffer (sample)), frames * 20 * GST_MSECOND);
    frames++;
  }
  expect_equal (frames, 10);
}

TEST (test_compositor_takes_two_live_inputs)
{
  Mix mix ("openclcompositor name=mix sink_1::xpos=16 ! appsink name=out sync=false "
           "videotestsrc is-live=true pattern=white ! "
           "video/x-raw,format=RGBA,framerate=25/1,width=16,height=16 ! openclupload ! "
           "mix.sink_0 "
           "videotestsrc is-live=true pattern=red ! "
           "video/x-raw,format=RGBA,framerate=25/1,width=16,height=16 ! openclupload ! "
           "mix.sink_1");
  mix.start ();
  bool both = false;
  for (int frame = 0; frame < 30 && !both; frame++) {
    Picture made = mix.picture ();
    if (made.info.width < 32)
      continue; /* before the second stream has caps */
    View view (made);
    both =
        view.at (1, 8, 8) == 255 && view.at (0, 24, 8) == 255 && view.at (1, 24, 8) == 0;
  }
  fail_unless (both);
}

/* A frame of another size would size the window of a sink. */
TEST (test_compositor_live_waits_for_the_first_caps)
{
  Mix mix ("openclcompositor name=mix ! appsink name=out sync=false "
           "appsrc name=in0 is-live=true format=time ! mix.sink_0");
  mix.start ();
  g_usleep (300 * 1000); /* several deadlines */
  Owned<GstClock> clock (gst_element_get_clock (mix));
  const GstClockTime now = gst_clock_get_time (clock) - gst_element_get_base_time (mix);
  mix.push (0, random_picture ("RGBA", 48, 32, 7), now);
  const Picture first = mix.picture ();
  expect_equal (first.info.width, 48);
  expect_equal (first.info.height, 32);
}

/* Everything stays on the device, and the host never waits for data. */
TEST (test_compositor_no_transfers_and_no_waits)
{
  const int frames = 20;
  Mix mix ("openclcompositor name=mix async-depth=64 sink_1::alpha=0.5 ! "
           "fakesink name=out sync=false "
           "videotestsrc num-buffers=20 ! video/x-raw,format=RGBA,width=64,height=64 ! "
           "openclupload ! mix.sink_0 "
           "videotestsrc num-buffers=20 ! video/x-raw,format=BGRA,width=64,height=64 ! "
           "openclupload ! mix.sink_1");
  mix.play_to_eos ();
  const GstOpenCLCounts counts = counts_of (mix["mix"]);
  expect_equal (counts.launches, frames);
  expect_equal (counts.uploads, 0);
  expect_equal (counts.downloads, 0);
  expect_equal (counts.host_waits, 0);
}

/* --- a flush while a frame is processed --- */

/* Control binding of `background` that flushes sink_1 when properties are synchronized:
 * after the frames are shown to the element and before they are used. */
#define TYPE_FLUSHING (flushing_get_type ())
G_DECLARE_FINAL_TYPE (Flushing, flushing, TEST, FLUSHING, GstControlBinding)

struct _Flushing {
  GstControlBinding parent;
  int flushes;
  bool buffer_lived; /* after the flush */
};

G_DEFINE_FINAL_TYPE (Flushing, flushing, GST_TYPE_CONTROL_BINDING)

static gboolean
flushing_sync_values (GstControlBinding *binding, GstObject *object,
    GstClockTime timestamp, GstClockTime last_sync)
{
  Flushing *self = TEST_FLUSHING (binding);
  Owned<GstPad> pad = gst_element_get_static_pad (GST_ELEMENT (object), "sink_1");
  GstBuffer *shown =
      gst_video_aggregator_pad_get_current_buffer (GST_VIDEO_AGGREGATOR_PAD (pad));

  if (shown && self->flushes++ == 0) {
    bool freed = false;
    GstMiniObjectNotify notify = [] (gpointer freed, GstMiniObject *) {
      *static_cast<bool *> (freed) = true;
    };
    gst_mini_object_weak_ref (GST_MINI_OBJECT (shown), notify, &freed);
    gst_pad_send_event (pad, gst_event_new_flush_start ());
    gst_pad_send_event (pad, gst_event_new_flush_stop (FALSE));
    self->buffer_lived = !freed;
    if (!freed)
      gst_mini_object_weak_unref (GST_MINI_OBJECT (shown), notify, &freed);
  }
  return TRUE;
}

static void
flushing_class_init (FlushingClass *klass)
{
  GST_CONTROL_BINDING_CLASS (klass)->sync_values = flushing_sync_values;
}

static void
flushing_init (Flushing *self)
{
}

TEST (test_compositor_keeps_a_frame_that_is_flushed_while_it_mixes)
{
  std::vector<Layer> layers = {layer_of (even_picture (16, 16, {1, 0, 0, 1})),
      layer_of (even_picture (8, 8, {0, 0, 1, 1}))};
  Mix mix (description_of (layers, ""));
  GstElement *element = mix["mix"];
  auto *flushing = static_cast<Flushing *> (
      g_object_new (TYPE_FLUSHING, "object", element, "name", "background", nullptr));
  gst_object_ref_sink (flushing);
  gst_object_add_control_binding (GST_OBJECT (element), GST_CONTROL_BINDING (flushing));
  mix.start ();
  for (size_t i = 0; i < 2; i++)
    mix.push (i, layers[i].picture, 0);
  mix.end (0);
  mix.end (1);
  check_blend (layers, mix.picture (), "checker");
  expect_equal (flushing->flushes, 1);
  fail_unless (flushing->buffer_lived);
  gst_object_unref (flushing);
}

/* Sources and sinks restart by themselves, which appsrc and appsink do not. */
TEST (test_compositor_works_again_after_ready)
{
  Mix mix ("openclcompositor name=mix ! fakesink name=out sync=false "
           "videotestsrc num-buffers=2 pattern=red ! "
           "video/x-raw,format=RGBA,width=16,height=16 ! openclupload ! mix.");
  for (int run = 0; run < 3; run++) {
    Owned<GstSample> sample;
    mix.play_to_eos ();
    g_object_get (mix["out"], "last-sample", sample.out (), nullptr);
    fail_unless (sample);
    check_blend ({layer_of (even_picture (16, 16, {1, 0, 0, 1}))},
        Mix::picture_of (sample), "black");
    mix.set_state (GST_STATE_READY);
  }
}

/* --- interlaced video --- */

static const char *const modes[] = {"progressive", "interleaved", "mixed"};

static std::string
caps_of_mode (const char *mode, const char *more = "")
{
  return text (DEVICE "%s,interlace-mode=%s", more, mode);
}

static bool
is_offered (GstPad *pad, const char *mode)
{
  Owned<GstCaps> offered = gst_pad_query_caps (pad, nullptr);
  return gst_caps_can_intersect (offered, caps_of (caps_of_mode (mode)));
}

/* Without any input, all modes that downstream accepts are offered; then only the mode of
 * the other inputs. */
TEST_ROWS (test_compositor_offers_one_interlace_mode_to_all, modes)
{
  Mix mix ("openclcompositor name=mix ! capsfilter name=filter ! fakesink");
  Owned<GstPad> early = gst_element_request_pad_simple (mix["mix"], "sink_%u");
  Owned<GstPad> late = gst_element_request_pad_simple (mix["mix"], "sink_%u");
  for (const char *other : modes)
    fail_unless (is_offered (early, other));

  set_together (mix["filter"], "caps=" + caps_of_mode (row));
  for (const char *other : modes)
    expect_equal (is_offered (early, other), g_str_equal (other, row));
  set_together (mix["filter"], "caps=");

  mix.start ();
  const char *const small = ",format=RGBA,width=16,height=16,framerate=25/1";
  Owned<GstCaps> caps = caps_of (caps_of_mode (row, small));
  gst_pad_send_event (early, gst_event_new_stream_start ("first"));
  fail_unless (gst_pad_send_event (early, gst_event_new_caps (caps)));
  Owned<GstQuery> drained = gst_query_new_drain ();
  gst_pad_query (early, drained); /* ensures that the caps have arrived */
  for (const char *other : modes)
    expect_equal (is_offered (late, other), g_str_equal (other, row));
  fail_unless (gst_pad_query_accept_caps (late, caps));
  const char *another = g_str_equal (row, "mixed") ? "progressive" : "mixed";
  fail_if (gst_pad_query_accept_caps (late, caps_of (caps_of_mode (another, small))));
}

TEST (test_compositor_output_is_interlaced_as_its_pictures_are)
{
  for (GstVideoInterlaceMode mode : {GST_VIDEO_INTERLACE_MODE_PROGRESSIVE,
           GST_VIDEO_INTERLACE_MODE_INTERLEAVED, GST_VIDEO_INTERLACE_MODE_MIXED}) {
    bool woven = mode != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
    std::vector<Layer> layers = {layer_of (random_fields (20, 12, 1, mode, false)),
        layer_of (random_fields (8, 6, 2, mode, woven))};
    GST_VIDEO_INFO_FIELD_ORDER (&layers[0].picture.info) =
        woven ? GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST : GST_VIDEO_FIELD_ORDER_UNKNOWN;
    Picture made = composed (layers, "");
    expect_equal (made.info.interlace_mode, mode);
    fail_unless (mode != GST_VIDEO_INTERLACE_MODE_INTERLEAVED
                 || GST_VIDEO_INFO_FIELD_ORDER (&made.info)
                        == GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST);
    expect_equal (
        GST_BUFFER_FLAG_IS_SET (made.buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED), woven);
    check_blend (layers, made, "checker");
  }
}

TEST (test_compositor_scales_fields_each_by_itself)
{
  const int sizes[][2] = {{60, 50}, {13, 9}, {1, 1}, {29, 41}};
  for (auto &size : sizes)
    for (GstVideoInterlaceMode mode :
        {GST_VIDEO_INTERLACE_MODE_INTERLEAVED, GST_VIDEO_INTERLACE_MODE_MIXED}) {
      std::vector<Layer> layers = {layer_of (random_fields (30, 21, 1, mode)),
          layer_of (random_fields (22, 17, 2, mode, false)),
          layer_of (random_fields (9, 1, 3, mode))};
      for (Layer &layer : layers) {
        layer.width = size[0];
        layer.height = size[1];
        layer.alpha = 0.5;
      }
      check_blend (layers, composed (layers, "background=white"), "white");
    }
}

TEST (test_compositor_says_whose_fields_come_first)
{
  Layer layer = layer_of (random_fields (16, 16, 1, GST_VIDEO_INTERLACE_MODE_MIXED));
  Picture made = composed ({layer}, "");
  fail_unless (GST_BUFFER_FLAG_IS_SET (made.buffer, GST_VIDEO_BUFFER_FLAG_TFF));
  GST_BUFFER_FLAG_UNSET (layer.picture.buffer, GST_VIDEO_BUFFER_FLAG_TFF);
  made = composed ({layer}, "");
  fail_if (GST_BUFFER_FLAG_IS_SET (made.buffer, GST_VIDEO_BUFFER_FLAG_TFF));
}

/* --- events from downstream --- */

using Points = std::vector<std::pair<double, double>>;

/* Adds the places of navigation events that arrive at the source of an input. */
static void
record_pointer (Mix &mix, int input, Points &points)
{
  watch (mix.pad ("in" + std::to_string (input), "src"),
      GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, [&points] (GstPadProbeInfo *info) {
        GstEvent *event = GST_PAD_PROBE_INFO_EVENT (info);
        double x, y;
        if (GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION
            && gst_navigation_event_get_coordinates (event, &x, &y))
          points.push_back ({x, y});
        return GST_PAD_PROBE_OK;
      });
}

static void
move_pointer (Mix &mix, const Points &points)
{
  for (const auto &[x, y] : points)
    gst_element_send_event (mix["out"],
        gst_navigation_event_new_mouse_move (x, y, GST_NAVIGATION_MODIFIER_NONE));
}

/* Two inputs; the second has pixels of 2/1, is twice as large and partly covers the
 * first. */
TEST (test_compositor_navigation_events_reach_pads_under_the_pointer)
{
  std::vector<Layer> layers = {layer_of (random_picture ("RGBA", 100, 80, 1)),
      layer_of (random_picture ("RGBA", 20, 10, 2))};
  layers[1].picture.info.par_n = 2;
  layers[1].x = 60;
  layers[1].y = 30;
  layers[1].width = 40; /* of these wide pixels */
  layers[1].height = 20;
  Mix mix (description_of (layers, ""));
  Points points[2];
  for (int i = 0; i < 2; i++)
    record_pointer (mix, i, points[i]);
  mix.start ();
  for (int i = 0; i < 2; i++) {
    mix.push (i, layers[i].picture, 0);
    mix.end (i);
  }
  Picture made = mix.picture ();
  move_pointer (mix, {{10, 70}, {80, 40}, {120, 35}, {140, 35}, {60, 30}, {-1, 5}});
  fail_unless (points[0] == Points ({{10, 70}, {80, 40}, {60, 30}}));
  fail_unless (points[1] == Points ({{5, 5}, {15, 2.5}, {0, 0}}));
}

/* Places are pixels of the caps, which describe the whole frame or what a crop meta
 * leaves. */
TEST_ROWS (test_compositor_navigation_events_of_cropped_frames, {0, 1, 2, 3, 4, 5})
{
  const int (&crop)[4] = crops[row];
  for (bool describes_rest : {false, true}) {
    Layer layer = layer_of (random_picture ("RGBA", 30, 21, 4));
    const Picture rest = cut (layer.picture, crop);
    GstVideoCropMeta *meta = gst_buffer_add_video_crop_meta (layer.picture.buffer);
    meta->x = crop[0], meta->y = crop[2];
    meta->width = rest.info.width, meta->height = rest.info.height;
    if (describes_rest)
      layer.picture.info = rest.info;
    layer.x = 7, layer.y = 3;
    Mix mix (description_of ({layer}, "sink_0::crop-left=1"));
    Points points;
    record_pointer (mix, 0, points);
    mix.start ();
    mix.push (0, layer.picture, 0);
    mix.end (0);
    mix.picture ();
    move_pointer (mix, {{7, 3}, {12, 8}});
    const double x = describes_rest ? 1 : crop[0] + 1, y = describes_rest ? 0 : crop[2];
    fail_unless (points == Points ({{x, y}, {x + 5, y + 5}}),
        "crop %d, describes %s: %g, %g", row, describes_rest ? "the rest" : "all",
        points.empty () ? -1 : points[0].first, points.empty () ? -1 : points[0].second);
  }
}
