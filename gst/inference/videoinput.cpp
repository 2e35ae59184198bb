/* Makes the input of a network from video frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "videoinput.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/videoarguments.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>

namespace inference {
namespace {
#define KERNELS "/org/freedesktop/gstreamer/opencl/inference/"

/* --- geometry --- */

constexpr gsize columns_together = 8; /* COLUMNS of prepare.cl */

/* Weighted input samples of each output sample, as in prepare.cl */
struct Taps {
  std::vector<cl_float> table;
  gsize count = 0;
};

struct Weights {
  gint first = -1;
  std::vector<double> values;
};

/* Mean over the interval of the input that an output sample covers, if that is longer than
 * one sample, else bilinear interpolation at its centre. */
Weights
weights_at (double centre, double covered, gint length)
{
  Weights weights;
  if (centre < 0 || centre > length)
    return weights;
  if (covered <= 1) {
    const double at = std::clamp (centre - 0.5, 0.0, double (length - 1));
    weights.first = std::min (gint (at), std::max (length - 2, 0));
    const double share = at - weights.first;
    weights.values = {1 - share, share};
    return weights;
  }
  const double begin = std::max (centre - covered / 2, 0.0);
  const double end = std::min (centre + covered / 2, double (length));
  weights.first = std::min (gint (begin), length - 1);
  for (gint n = weights.first; n < length && (n < end || n == weights.first); n++)
    weights.values.push_back (
        std::max (std::min (end, n + 1.0) - std::max (begin, double (n)), 0.0)
        / (end - begin));
  return weights;
}

/* `left` and `size` place the `length` input samples among the `outputs` ones. The number of
 * weights is a multiple of `together`. If that is not 1, the first sample has an even index,
 * as chroma of two samples is read at once. */
Taps
make_taps (double left, double size, gint length, gint outputs, gsize together)
{
  std::vector<Weights> all;
  Taps taps;
  const double covered = length / size;
  for (gint n = 0; n < outputs; n++) {
    Weights weights = weights_at ((n + 0.5 - left) * covered, covered, length);
    if (together > 1 && weights.first > 0 && weights.first % 2 == 1) {
      weights.first--;
      weights.values.insert (weights.values.begin (), 0);
    }
    taps.count = std::max (taps.count, weights.values.size ());
    all.push_back (weights);
  }
  taps.count = (std::max (taps.count, gsize (1)) + together - 1) / together * together;
  for (Weights &weights : all) {
    weights.values.resize (taps.count, 0);
    taps.table.push_back (cl_float (weights.first));
    taps.table.insert (taps.table.end (), weights.values.begin (), weights.values.end ());
  }
  return taps;
}

/* --- colours --- */

double
number_for (const std::vector<double> &numbers, gsize channel, double initial)
{
  return numbers.empty () ? initial : numbers[numbers.size () == 1 ? 0 : channel];
}

const double luma[] = {
    0.299, 0.587, 0.114}; /* BT.601, as networks for gray images expect */
} // namespace

/* Gray frames have neutral chroma, so that red is luma, and they may name no matrix. */
void
find_color_rows (const GstVideoInfo &video, double rgb[3][4])
{
  GstVideoInfo rgba;
  gst_video_info_set_format (&rgba, GST_VIDEO_FORMAT_RGBA, video.width, video.height);
  const opencl::ColorMatrix matrix = opencl::color_matrix_between (video, rgba);
  const bool gray = GST_VIDEO_INFO_IS_GRAY (&video);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++)
      rgb[i][k] = matrix.m[gray ? 0 : i][k] / 255;
}

std::string
reading_options (const GstVideoInfo &video)
{
  std::string options;
  opencl::define_samples (options, "IN", video, GST_VIDEO_INFO_IS_GRAY (&video));
  opencl::define_chroma (options, "IN", video, true);
  opencl::define_steps (options, "IN", opencl::layout_of (video, GstOpenCLFrame{}));
  opencl::define (options, "OUT_BITS", "", "8");
  opencl::define (
      options, "WIDE", "", GST_VIDEO_INFO_COMP_DEPTH (&video, 0) == 8 ? "1" : "0");
  return options;
}

bool
create_for (GstOpenCLContext *context, const GstVideoInfo &video, const char *resource,
    const char *name, const std::string &options, opencl::FrameKernel &kernel,
    GError **error)
{
  if (opencl::has_pixels_of_four_bytes (video))
    kernel.prepare (context, resource, name, options, {4, 1});
  else
    kernel.prepare (context, resource, name, options, {1});
  return kernel.variant ({}, error) != nullptr;
}

FittedFrame
fit_frame (Fit fit, double frame_width, double frame_height, gint width, gint height)
{
  const double x = width / frame_width, y = height / frame_height;
  if (fit == Fit::stretch)
    return {0, 0, double (width), double (height)};
  if (fit == Fit::line)
    return {
        0, 0, std::min (std::ceil (frame_width * y), double (width)), double (height)};
  const double scale = fit == Fit::letterbox ? std::min (x, y) : std::max (x, y);
  const double fitted_width = frame_width * scale, fitted_height = frame_height * scale;
  return {(width - fitted_width) / 2, (height - fitted_height) / 2, fitted_width,
      fitted_height};
}

static const struct {
  Colors colors;
  const char *name;
  gint64 channels;
} color_orders[] = {{Colors::gray, "gray", 1}, {Colors::rgb, "rgb", 3},
    {Colors::rgba, "rgba", 4}, {Colors::bgr, "bgr", 3}, {Colors::bgra, "bgra", 4}};

gint64
channels_of (Colors colors)
{
  for (const auto &order : color_orders)
    if (order.colors == colors)
      return order.channels;
  return 3;
}

/* Replaces Colors::by_channels. */
static bool
find_colors (Colors &colors, gint64 channels, GError **error)
{
  for (const auto &order : color_orders) {
    if (colors != order.colors
        && (colors != Colors::by_channels || channels != order.channels))
      continue;
    colors = order.colors;
    if (order.channels == channels)
      return true;
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "colors=%s: the network's input has %" G_GINT64_FORMAT " channels", order.name,
        channels);
    return false;
  }
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "the network's input has %" G_GINT64_FORMAT
      " channels, expected 1, 3 or 4 for video",
      channels);
  return false;
}

static bool
check_levels (const VideoMapping &mapping, gsize channels, GError **error)
{
  for (const auto *numbers : {&mapping.mean, &mapping.deviation}) {
    if (numbers->size () > 1 && numbers->size () != channels) {
      g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          "%s has %" G_GSIZE_FORMAT
          " numbers, expected one, or one for each of %" G_GSIZE_FORMAT " channels",
          numbers == &mapping.mean ? "mean" : "deviation", numbers->size (), channels);
      return false;
    }
  }
  if (std::count (mapping.deviation.begin (), mapping.deviation.end (), 0.0) == 0)
    return true;
  g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "deviation has a 0, expected numbers other than 0");
  return false;
}

bool
VideoInput::set_rows (
    const GstVideoInfo &video, const VideoMapping &mapping, GError **error)
{
  Colors colors = mapping.colors;
  double rgb[3][4];
  if (!find_colors (colors, place.channels, error)
      || !check_levels (mapping, gsize (place.channels), error))
    return false;
  const bool integers = opencl::info_of (place.type).kind != 'f';
  const double unit = integers ? 255 : 1;
  const double zero = place.type == opencl::NumberType::i8 ? 128 / 255.0 : 0;
  find_color_rows (video, rgb);
  for (gsize c = 0; c < gsize (place.channels); c++) {
    const double factor = unit / number_for (mapping.deviation, c, 1);
    const double mean = number_for (mapping.mean, c, zero);
    const gsize color =
        c < 3 && (colors == Colors::bgr || colors == Colors::bgra) ? 2 - c : c;
    auto level_of = [&] (double red, double green, double blue) {
      const double levels[] = {red, green, blue};
      return colors == Colors::gray ? luma[0] * red + luma[1] * green + luma[2] * blue
                                    : levels[color];
    };
    auto border = [&] (guint shift) { return (mapping.border >> shift & 255) / 255.0; };
    if (c == 3) {
      alpha = {{cl_float (factor / ((1 << opencl::sample_bits (video)) - 1)),
          cl_float (-mean * factor)}};
      fill.s[c] = cl_float ((border (24) - mean) * factor);
      continue;
    }
    for (int k = 0; k < 4; k++)
      rows[c].s[k] = cl_float (
          (level_of (rgb[0][k], rgb[1][k], rgb[2][k]) - (k == 3 ? mean : 0)) * factor);
    fill.s[c] =
        cl_float ((level_of (border (16), border (8), border (0)) - mean) * factor);
  }
  return true;
}

bool
VideoInput::make_tables (
    GstOpenCLContext *context, const VideoMapping &mapping, GError **error)
{
  const FittedFrame frame = fit_frame (
      mapping.fit, info.width, info.height, gint (place.width), gint (place.height));
  const Taps columns = make_taps (
      frame.left, frame.width, info.width, gint (place.width), columns_together);
  const Taps lines =
      make_taps (frame.top, frame.height, info.height, gint (place.height), 1);
  taps = {{cl_int (columns.count), cl_int (lines.count)}};
  across = opencl::make_table (
      context, columns.table.data (), columns.table.size () * sizeof (cl_float), error);
  if (!across ())
    return false;
  down = opencl::make_table (
      context, lines.table.data (), lines.table.size () * sizeof (cl_float), error);
  return down () != nullptr;
}

bool
VideoInput::create_kernel (GstOpenCLContext *context, const GstVideoInfo &video,
    const VideoMapping &mapping, const PixelPlace &a_place, GError **error)
{
  info = video;
  place = a_place;
  if (!set_rows (video, mapping, error)
      || (!mapping.of_regions && !make_tables (context, mapping, error)))
    return false;
  std::string options = reading_options (video);
  opencl::define (options, "CHANNELS", "", std::to_string (place.channels));
  const opencl::NumberInfo &number = opencl::info_of (place.type);
  opencl::define (options, "STORED", "", number.opencl);
  opencl::define (
      options, "IS_HALF", "", number.opencl == std::string ("half") ? "1" : "0");
  if (number.kind != 'f')
    opencl::define (
        options, "CONVERT", "", std::string ("convert_") + number.opencl + "_sat_rte");
  return mapping.of_regions ? create_for (
             context, video, KERNELS "cutregion.cl", "cut_region", options, kernel, error)
                            : create_for (context, video, KERNELS "prepare.cl", "prepare",
                                options, kernel, error);
}

bool
VideoInput::enqueue_tensor (cl_command_queue queue, const GstOpenCLFrame *frame,
    cl_mem output, gint64 offset, GError **error)
{
  const gint64 size = gint64 (opencl::info_of (place.type).size);
  opencl::Kernel *prepare = kernel.variant ({frame}, error);
  return prepare
         && prepare->launch (queue, gsize (place.width), gsize (place.height), error,
             opencl::FrameArguments (info, *frame), across (), down (), taps, rows[0],
             rows[1], rows[2], alpha, fill, output,
             cl_long (place.offset + offset / size), cl_long (place.channel),
             cl_long (place.line), cl_long (place.column), cl_int (place.width),
             cl_int (place.height));
}

/* As many samples for a pixel as it covers pixels of the frame, in each direction */
bool
VideoInput::enqueue_region (cl_command_queue queue, const GstOpenCLFrame *frame,
    const CutRegion &region, cl_mem output, gint64 offset, GError **error)
{
  const gint64 size = gint64 (opencl::info_of (place.type).size);
  opencl::Kernel *cut = kernel.variant ({frame}, error);
  auto number = [] (double value) { return cl_float (value); };
  auto samples = [] (const double step[2]) {
    return cl_int (std::clamp (std::ceil (std::hypot (step[0], step[1])), 1.0, 32.0));
  };
  const FittedFrame &fitted = region.fitted;
  const cl_float4 box = {{number (fitted.left), number (fitted.top),
      number (fitted.left + fitted.width), number (fitted.top + fitted.height)}};
  const cl_float2 origin = {{number (region.origin[0]), number (region.origin[1])}};
  const cl_float4 steps = {{number (region.across[0]), number (region.across[1]),
      number (region.down[0]), number (region.down[1])}};
  const cl_int2 taken = {{samples (region.across), samples (region.down)}};
  return cut
         && cut->launch (queue, gsize (place.width), gsize (place.height), error,
             opencl::FrameArguments (info, *frame), box, origin, steps, taken, rows[0],
             rows[1], rows[2], alpha, fill, output,
             cl_long (place.offset + offset / size), cl_long (place.channel),
             cl_long (place.line), cl_long (place.column), cl_int (place.width),
             cl_int (place.height));
}
} // namespace inference
