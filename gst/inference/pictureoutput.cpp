/* Makes video of a network's output
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "pictureoutput.hpp"

#include <gst/opencl/device/videoarguments.hpp>

namespace inference {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/inference/picture.cl"

/* Channels of other numbers are the shorter one of the dimensions that may have them. */
static std::string
layout_of_picture (const std::string &wanted, const Shape &shape)
{
  const std::string layout = find_layout (wanted, shape);
  if (!wanted.empty () || (!layout.empty () && layout != "NHW" && layout != "CTHW"))
    return layout;
  if (shape.size () == 3)
    return shape[2] < shape[0] ? "HWC" : "CHW";
  return shape.size () != 4 ? "" : shape[3] < shape[1] ? "NHWC" : "NCHW";
}

bool
find_picture (
    const PictureOptions &options, const Shape &shape, Picture &picture, GError **error)
{
  auto fail = [&] (const std::string &text) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "the network's output has shape %s, %s", text_of (shape).c_str (), text.c_str ());
    return false;
  };
  auto length = [&] (char letter) { return picture.length (letter); };
  picture.shape = shape;
  picture.layout = layout_of_picture (options.layout, shape);
  if (picture.layout.empty ())
    return fail ("expected a height, a width and channels. `output-layout` names the "
                 "dimensions, such as NHWC");
  if (length ('N') != 1 || length ('T') != 1)
    return fail ("expected one picture in its dimensions " + picture.layout);
  if (length ('H') < 1 || length ('W') < 1 || length ('H') > 32767
      || length ('W') > 32767)
    return fail ("expected a height and a width from 1 to 32767");
  const gint64 channels = length ('C');
  if (options.channel >= channels)
    return fail ("but channel is " + std::to_string (options.channel));
  const bool whole = channels == 1 || channels == 3 || channels == 4;
  picture.channels = whole && options.channel == 0 ? channels : 1;
  picture.classes = options.channel < 0 && channels > 1 ? channels : 0;
  return true;
}

bool
PictureOutput::create_kernel (GstOpenCLContext *context, const PictureOptions &options,
    const Tensor &tensor, const GstVideoInfo &video, GError **error)
{
  const opencl::NumberInfo &number = opencl::info_of (tensor.type);
  if (!find_picture (options, tensor.shape, picture, error))
    return false;
  if (tensor.type == opencl::NumberType::f64) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "output=video: the network's output is float64, expected float32, float16 or "
        "integers");
    return false;
  }
  if (video.width != picture.width () || video.height != picture.height ()
      || GST_VIDEO_INFO_IS_GRAY (&video) != (picture.channels == 1)
      || (picture.channels == 4 && !GST_VIDEO_INFO_HAS_ALPHA (&video))) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "output=video: the caps have %dx%d in %s, but the network's output %dx%d",
        video.width, video.height, GST_VIDEO_INFO_NAME (&video), picture.width (),
        picture.height ());
    return false;
  }
  channel = picture.stride (tensor, 'C');
  line = picture.stride (tensor, 'H');
  column = picture.stride (tensor, 'W');
  offset = tensor.offset + std::max (options.channel, gint64 (0)) * channel;
  const bool is_signed_byte = tensor.type == opencl::NumberType::i8;
  range = {{is_signed_byte ? -128.0f : 0.0f, is_signed_byte       ? 127.0f
                                             : number.kind == 'f' ? 1.0f
                                                                  : 255.0f}};
  const bool is_wide = GST_VIDEO_INFO_COMP_DEPTH (&video, 0) > 8;
  if (options.channel < 0)
    range = {{0, is_wide ? 65535.0f : 255.0f}};
  if (!options.range.empty ())
    range = {{cl_float (options.range[0]), cl_float (options.range[1])}};

  std::string defines;
  const char *const names[] = {"RED", "GREEN", "BLUE", "ALPHA"};
  for (guint c = 0; c < 4; c++) {
    const guint from = c < 3 && options.is_bgr ? 2 - c : c;
    const bool has = from < GST_VIDEO_INFO_N_COMPONENTS (&video);
    opencl::define (defines, names[c], "",
        has ? std::to_string (GST_VIDEO_INFO_COMP_POFFSET (&video, from)) : "-1");
  }
  opencl::define (defines, "LOADED", "", number.opencl);
  opencl::define (
      defines, "IS_HALF", "", number.opencl == std::string ("half") ? "1" : "0");
  opencl::define (defines, "CHANNELS", "", std::to_string (picture.channels));
  opencl::define (defines, "CLASSES", "", std::to_string (picture.classes));
  opencl::define (defines, "MAXIMUM", "", is_wide ? "65535" : "255");
  opencl::define (
      defines, "PIXEL", "", std::to_string (GST_VIDEO_INFO_COMP_PSTRIDE (&video, 0)));
  opencl::define (defines, "IS_AUTOMATIC", "", options.is_automatic ? "1" : "0");
  return kernel.create (context, RESOURCE, "picture", defines, error);
}

bool
PictureOutput::enqueue_picture (cl_command_queue queue, cl_mem tensor, cl_mem lowest,
    cl_mem highest, const GstOpenCLFrame *output, GError **error)
{
  return kernel.launch (queue, gsize (picture.width ()), gsize (picture.height ()), error,
      tensor, cl_long (offset), cl_long (channel), cl_long (line), cl_long (column),
      range, lowest ? lowest : tensor, highest ? highest : tensor, output,
      cl_int (picture.width ()), cl_int (picture.height ()));
}
} // namespace inference
