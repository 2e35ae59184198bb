/* Writes a channel of a network's output into the alpha of a frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "matteoutput.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/videoarguments.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/common/colorconversion.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <cmath>

namespace inference {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/inference/matte.cl"

/* The last two dimensions that are longer than 1 are height and width. */
static bool
find_plane (const Tensor &matte, gsize &row)
{
  gsize last = matte.rank ();
  while (last > 1 && matte.shape[last - 1] == 1)
    last--;
  row = last >= 2 ? last - 2 : 0;
  return last >= 2;
}

bool
MatteOutput::create_kernels (GstOpenCLContext *context, const GstVideoInfo &input,
    const GstVideoInfo &output, const Tensor &matte, gint64 channel, Fit fit,
    gint network_width, gint network_height, GError **error)
{
  gsize row;
  if (matte.type != opencl::NumberType::f32 || !find_plane (matte, row)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "output=alpha: the network's output is %s %s, expected float32 with a height and "
        "a width",
        opencl::info_of (matte.type).name, text_of (matte.shape).c_str ());
    return false;
  }
  const gint64 height = matte.shape[row], width = matte.shape[row + 1];
  const gint64 channels = matte.count () / (height * width);
  if (channel < 0 || channel >= channels) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "channel %" G_GINT64_FORMAT
        " of an output of shape %s, which has %" G_GINT64_FORMAT,
        channel, text_of (matte.shape).c_str (), channels);
    return false;
  }
  info = input;
  offset = matte.offset + channel * height * width;
  line = matte.strides[row];
  column = matte.strides[row + 1];
  size = {{cl_int (width), cl_int (height)}};
  /* From pixels of the frame to pixels of the network's input, then of the matte */
  const FittedFrame frame =
      fit_frame (fit, input.width, input.height, network_width, network_height);
  const double x = double (width) / network_width, y = double (height) / network_height;
  scale = {{cl_float (frame.width / input.width * x),
      cl_float (frame.height / input.height * y)}};
  shift = {{cl_float ((frame.left + 0.5 * frame.width / input.width) * x - 0.5),
      cl_float ((frame.top + 0.5 * frame.height / input.height) * y - 0.5)}};

  double rgb[3][4];
  const int fraction = GST_VIDEO_INFO_COMP_DEPTH (&input, 0) > 8 ? 40 : 20;
  find_color_rows (input, rgb);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++)
      rows[i].values[k] = std::llrint (std::ldexp (255 * rgb[i][k], fraction));
  std::string options = reading_options (input);
  const char *const names[] = {"RED", "GREEN", "BLUE", "ALPHA"};
  for (guint c = 0; c < 4; c++)
    opencl::define (
        options, names[c], "", std::to_string (GST_VIDEO_INFO_COMP_POFFSET (&output, c)));
  keeps_pixels = GST_VIDEO_INFO_FORMAT (&input) == GST_VIDEO_INFO_FORMAT (&output);
  const char *const name = keeps_pixels ? "replace_alpha" : "apply_matte";
  return opencl::make_buffer (
             context, gsize (height) * input.width * sizeof (cl_float), stretched, error)
         && create_for (
             context, input, RESOURCE, "stretch_matte", options, stretch, error)
         && create_for (context, input, RESOURCE, name, options, apply, error);
}

bool
MatteOutput::enqueue_matte (cl_command_queue queue, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_mem matte, GError **error)
{
  if (!stretch.launch (queue, gsize (info.width), gsize (size.s[1]), error, matte,
          cl_long (offset), cl_long (line), cl_long (column), size, scale.s[0],
          shift.s[0], cl_int (info.width), stretched ()))
    return false;
  const gsize columns = (gsize (info.width) + 7) / 8, lines = gsize (info.height);
  const cl_int2 pixels = {{info.width, info.height}};
  if (keeps_pixels)
    return apply.launch (queue, columns, lines, error, input, output, pixels,
        stretched (), size.s[1], scale.s[1], shift.s[1]);
  opencl::Kernel *kernel = apply.variant ({input}, error);
  return kernel
         && kernel->launch (queue, columns, lines, error,
             opencl::FrameArguments (info, *input), rows[0], rows[1], rows[2],
             stretched (), size.s[1], scale.s[1], shift.s[1], output->data,
             cl_ulong (output->offset[0]), cl_long (output->stride[0]));
}
} // namespace inference
