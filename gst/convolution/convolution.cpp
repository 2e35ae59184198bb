/* Settings, sizes and filters of a convolution
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolution.hpp"

#include <gst/common/npyfile.hpp>
#include <gst/video/video.h>

#include <algorithm>

namespace compute {
namespace {
template <typename... Arguments>
bool
fail (GError **error, const char *format, Arguments... arguments)
{
  g_set_error (
      error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, format, arguments...);
  return false;
}

/* Component order of a pixel format. The colours are adjacent in all of these formats. */
struct Components {
  GstVideoFormat format;
  gsize first, colors, all;
  gint other; /* alpha or padding; -1: none */
};

constexpr Components orders[] = {
    {GST_VIDEO_FORMAT_GRAY8, 0, 1, 1, -1},
    {GST_VIDEO_FORMAT_GRAY16_LE, 0, 1, 1, -1},
    {GST_VIDEO_FORMAT_RGB, 0, 3, 3, -1},
    {GST_VIDEO_FORMAT_BGR, 0, 3, 3, -1},
    {GST_VIDEO_FORMAT_RGBA, 0, 3, 4, 3},
    {GST_VIDEO_FORMAT_BGRA, 0, 3, 4, 3},
    {GST_VIDEO_FORMAT_RGBx, 0, 3, 4, 3},
    {GST_VIDEO_FORMAT_BGRx, 0, 3, 4, 3},
    {GST_VIDEO_FORMAT_ARGB, 1, 3, 4, 0},
    {GST_VIDEO_FORMAT_ABGR, 1, 3, 4, 0},
    {GST_VIDEO_FORMAT_xRGB, 1, 3, 4, 0},
    {GST_VIDEO_FORMAT_xBGR, 1, 3, 4, 0},
    {GST_VIDEO_FORMAT_RGBA64_LE, 0, 3, 4, 3},
    {GST_VIDEO_FORMAT_BGRA64_LE, 0, 3, 4, 3},
    {GST_VIDEO_FORMAT_ARGB64_LE, 1, 3, 4, 0},
    {GST_VIDEO_FORMAT_ABGR64_LE, 1, 3, 4, 0},
    {GST_VIDEO_FORMAT_ARGB64, 1, 3, 4, 0},
};

bool
set_video_input (const ConvolutionSettings &settings, const opencl::ArrayFormat &input,
    GstVideoFormat format, Convolution &convolution, GError **error)
{
  auto order = std::find_if (std::begin (orders), std::end (orders),
      [=] (const Components &one) { return one.format == format; });
  if (order == std::end (orders))
    return fail (error, "video format %s is not supported, expected gray or RGB",
        gst_video_format_to_string (format));
  const bool all = settings.alpha && order->other >= 0;
  convolution.video = true;
  convolution.components = order->all;
  convolution.first_component = all ? 0 : order->first;
  convolution.kept_component = all ? -1 : order->other;
  convolution.input = {
      1, all ? order->all : order->colors, input.shape[0], input.shape[1]};
  return true;
}

/* Accepts (height, width), (height, width, channels) and (images, height, width,
 * channels), or the same with channels first (NCHW). */
bool
set_tensor_input (const ConvolutionSettings &settings, const opencl::ArrayFormat &input,
    Convolution &convolution, GError **error)
{
  std::vector<gsize> shape = input.shape;
  const bool nchw = settings.layout == TensorLayout::nchw;

  while (shape.size () > 4 && shape.front () == 1)
    shape.erase (shape.begin ());
  if (shape.size () < 2 || shape.size () > 4)
    return fail (error, "array of dimensions %s: expected 2 to 4 dimensions",
        opencl::dimensions_text (input.shape).c_str ());
  if (shape.size () == 2)
    shape.insert (nchw ? shape.begin () : shape.end (), 1);
  if (shape.size () == 3)
    shape.insert (shape.begin (), 1);
  convolution.nchw = nchw;
  convolution.input = nchw ? Extent{shape[0], shape[1], shape[2], shape[3]}
                           : Extent{shape[0], shape[3], shape[1], shape[2]};
  return true;
}

/* --- weights --- */

/* Lengths of a kernel's four dimensions (filters, channels of a group, rows, columns),
 * and their strides in the file */
struct KernelShape {
  gsize length[4] = {1, 1, 1, 1};
  gsize step[4] = {0, 0, 0, 0};
};

KernelShape
shape_of_kernel (const std::vector<gsize> &shape, bool hwio)
{
  /* Dimension of KernelShape for each dimension of the file, innermost first */
  static constexpr int oihw_order[] = {3, 2, 1, 0}, hwio_order[] = {0, 1, 3, 2};
  static constexpr int planes_order[] = {3, 2, 0, 1}; /* one plane per channel */
  const int *order = shape.size () == 3 ? planes_order : hwio ? hwio_order : oihw_order;
  KernelShape found;
  gsize step = 1;

  for (gsize n = 0; n < shape.size (); n++) {
    const gsize length = shape[shape.size () - 1 - n];
    found.length[order[n]] = length;
    found.step[order[n]] = step;
    step *= length;
  }
  return found;
}

bool
fits (const KernelShape &kernel, gsize channels, gsize groups)
{
  return kernel.length[1] * groups == channels && kernel.length[0] % groups == 0;
}

bool
choose_kernel (const ConvolutionSettings &settings, const std::vector<gsize> &shape,
    gsize channels, KernelShape &kernel, GError **error)
{
  const bool any = settings.kernel_layout == KernelLayout::automatic;
  const bool hwio = settings.kernel_layout == KernelLayout::hwio;
  const KernelShape before = shape_of_kernel (shape, hwio && shape.size () == 4);
  const KernelShape other = shape_of_kernel (shape, true);

  kernel = any && !fits (before, channels, settings.groups) ? other : before;
  if (fits (kernel, channels, settings.groups))
    return true;
  const std::string of_group = std::to_string (MAX (channels / settings.groups, 1));
  const std::string oihw_text = "(filters, " + of_group + ", height, width)";
  const std::string hwio_text = "(height, width, " + of_group + ", filters)";
  return fail (error,
      "kernel of shape %s does not fit %" G_GSIZE_FORMAT
      " channels in %u groups, expected %s",
      opencl::npy_shape_text (shape).c_str (), channels, settings.groups,
      (any       ? oihw_text + " or " + hwio_text
          : hwio ? hwio_text
                 : oihw_text)
          .c_str ());
}

/* Kernels of rank 1 and 2 are used for every channel. Rank 3 has one plane per
 * channel. */
bool
set_planes (const std::vector<gsize> &shape, gsize channels, Convolution &convolution,
    KernelShape &kernel, GError **error)
{
  kernel = shape_of_kernel (shape, false);
  if (shape.size () == 3 && kernel.length[0] != channels)
    return fail (error,
        "kernel of shape %s has %" G_GSIZE_FORMAT
        " planes, expected one per channel (%" G_GSIZE_FORMAT ")",
        opencl::npy_shape_text (shape).c_str (), kernel.length[0], channels);
  kernel.length[0] = channels;
  convolution.groups = channels;
  return true;
}

bool
set_kernel (const ConvolutionSettings &settings, Convolution &convolution, GError **error)
{
  const gsize channels = convolution.input.channels;
  const std::vector<gsize> &shape = convolution.kernel.shape;
  KernelShape kernel;

  if (shape.empty () || shape.size () > (convolution.video ? 3 : 4))
    return fail (error, "kernel has shape %s, expected %s",
        opencl::npy_shape_text (shape).c_str (),
        convolution.video ? "(height, width) or (channels, height, width)"
                          : "(height, width), (channels, height, width) or (filters, "
                            "channels, height, width)");
  convolution.groups = settings.groups;
  if (!(shape.size () < 4 ? set_planes (shape, channels, convolution, kernel, error)
                          : choose_kernel (settings, shape, channels, kernel, error)))
    return false;
  convolution.tap_lines = kernel.length[2];
  convolution.tap_columns = kernel.length[3];
  convolution.output.channels = kernel.length[0];

  const bool flips =
      settings.flip == Flip::automatic ? convolution.video : settings.flip == Flip::yes;
  convolution.kernel_steps = {
      kernel.step[0], kernel.step[1], kernel.step[2], kernel.step[3], flips};
  return true;
}

bool
check_bias (const Convolution &convolution, GError **error)
{
  const gsize filters = convolution.output.channels, count = convolution.bias.count ();

  if (convolution.bias.text.empty () || count == filters || count == 1)
    return true;
  return fail (error,
      "bias has %" G_GSIZE_FORMAT " numbers, expected one per filter (%" G_GSIZE_FORMAT
      "), or one for all",
      count, filters);
}

/* --- sizes --- */

/* Finds the output length and the padding before the input, along one axis. */
bool
set_size (const ConvolutionSettings &settings, const char *axis, gsize input, gsize taps,
    gsize &output, gsize &before, GError **error)
{
  const gsize span = (taps - 1) * settings.dilation + 1;
  const gsize stride = settings.stride;

  if (settings.padding < 0) {
    output = (input + stride - 1) / stride;
    const gsize needed = (output - 1) * stride + span;
    before = needed > input ? (needed - input) / 2 : 0;
    return true;
  }
  before = gsize (settings.padding);
  const gsize padded = input + 2 * before;
  if (padded < span)
    return fail (error,
        "kernel spans %" G_GSIZE_FORMAT
        " %s (dilation %u), but the input with padding has %" G_GSIZE_FORMAT,
        span, axis, settings.dilation, padded);
  output = (padded - span) / stride + 1;
  return true;
}

bool
fits_into_int (const Convolution &convolution, GError **error)
{
  const gsize most = G_MAXINT32;
  const gsize padded = convolution.reach_lines () * convolution.reach_columns ();
  const gsize planes = convolution.input.images * convolution.input.channels;
  if (convolution.output.count () <= most && padded <= most / planes
      && convolution.input.count () <= most)
    return true;
  return fail (error, "arrays of more than %u elements are not supported", guint (most));
}

void
make_output (const opencl::ArrayFormat &input, const Convolution &convolution,
    opencl::ArrayFormat &to)
{
  const Extent &made = convolution.output;
  to.type = convolution.output_type;
  if (convolution.video) {
    to.shape = {made.height, made.width};
    if (convolution.components > 1)
      to.shape.push_back (convolution.components);
    return;
  }
  to.shape =
      convolution.nchw
          ? std::vector<gsize>{made.images, made.channels, made.height, made.width}
          : std::vector<gsize>{made.images, made.height, made.width, made.channels};
  if (input.shape.size () < 4)
    to.shape.erase (to.shape.begin ());
  if (input.shape.size () < 3 && made.channels == 1)
    to.shape.erase (convolution.nchw ? to.shape.begin () : to.shape.end () - 1);
}

/* Video and floating-point arrays keep their type. Integer arrays become float32. */
opencl::NumberType
type_of_output (opencl::NumberType input, bool is_video)
{
  const bool real = opencl::info_of (input).kind == 'f';
  return is_video || real ? input : opencl::NumberType::f32;
}
} // namespace

Placement
Convolution::place_of (const Extent &extent, opencl::NumberType type) const
{
  const gssize size = gssize (opencl::info_of (type).size);
  const gssize channels = gssize (extent.channels), width = gssize (extent.width);
  Placement place;

  if (video) {
    place.channel = size;
    place.column = size * gssize (components);
  } else if (nchw) {
    place.column = size;
    place.line = size * width;
    place.channel = place.line * gssize (extent.height);
    place.image = place.channel * channels;
  } else {
    place.channel = size;
    place.column = size * channels;
    place.line = place.column * width;
    place.image = place.line * gssize (extent.height);
  }
  return place;
}

bool
make_convolution (const ConvolutionSettings &settings, const TapsSource &kernel,
    const TapsSource &bias, const opencl::ArrayFormat &input, GstVideoFormat format,
    Convolution &convolution, opencl::ArrayFormat &output, GError **error)
{
  Extent &made = convolution.output;
  const bool is_video = format != GST_VIDEO_FORMAT_UNKNOWN;

  convolution.kernel = kernel;
  convolution.bias = bias;
  if (!(is_video ? set_video_input (settings, input, format, convolution, error)
                 : set_tensor_input (settings, input, convolution, error))
      || !set_kernel (settings, convolution, error) || !check_bias (convolution, error)
      || !set_size (settings, "rows", convolution.input.height, convolution.tap_lines,
          made.height, convolution.top, error)
      || !set_size (settings, "columns", convolution.input.width, convolution.tap_columns,
          made.width, convolution.left, error))
    return false;
  made.images = convolution.input.images;
  convolution.stride = {settings.stride, settings.stride};
  convolution.dilation = {settings.dilation, settings.dilation};
  convolution.border = settings.border;
  convolution.activation = settings.activation;
  convolution.method = settings.method;
  convolution.input_type = input.type;
  convolution.output_type = type_of_output (input.type, is_video);
  make_output (input, convolution, output);
  return fits_into_int (convolution, error);
}
} // namespace compute
