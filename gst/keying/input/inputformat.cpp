/* Input frames of the keying elements, and their formats
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "inputformat.hpp"

#include "pixelformats.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/device/videoarguments.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <iterator>

namespace keying {
InputFormat::InputFormat (const GstVideoInfo &input, const GstVideoInfo &output)
    : input_ (input), output_ (output), of_camera (!GST_VIDEO_INFO_IS_RGB (&input))
{
  if (!of_camera)
    return;
  const opencl::ColorConversion colors = opencl::choose_color_conversion (input, output);
  std::copy (std::begin (colors.rows), std::end (colors.rows), rows);
}

bool
InputFormat::is_equivalent (const InputFormat &other) const
{
  return keying::is_equivalent (&input_, &other.input_)
         && keying::is_equivalent (&output_, &other.output_)
         && input_.interlace_mode == other.input_.interlace_mode;
}

std::string
InputFormat::options () const
{
  std::string options = pixel_options (&output_);
  if (!of_camera)
    return options;
  options += " -DCAMERA=1";
  opencl::define_samples (options, "IN", input_, false);
  opencl::define_chroma (options, "IN", input_, true);
  opencl::define_steps (options, "IN", opencl::layout_of (input_, GstOpenCLFrame{}));
  return options;
}

InputFrame
InputFormat::of (const GstOpenCLFrame *frame) const
{
  return InputFrame (this, frame);
}

/* Camera formats are read byte by byte, at any alignment. */
const GstOpenCLFrame *
InputFrame::aligned () const
{
  return format->of_camera ? nullptr : frame_;
}

bool
InputFrame::set (opencl::Kernel &kernel, cl_uint &index, GError **error) const
{
  if (!format->of_camera)
    return kernel.set (index, frame_, error);
  const opencl::VideoLayout layout = opencl::layout_of (format->input_, *frame_);
  const cl_int fields = opencl::has_two_fields (format->input_, frame_->buffer) ? 2 : 1;
  return kernel.set (index, frame_->data, error) && kernel.set (index, layout.size, error)
         && kernel.set (index, layout.start, error)
         && kernel.set (index, layout.stride, error)
         && kernel.set (index, format->rows[0], error)
         && kernel.set (index, format->rows[1], error)
         && kernel.set (index, format->rows[2], error)
         && kernel.set (index, fields, error);
}

/* --- conversion of camera formats --- */

void
FormatConverter::prepare (GstOpenCLContext *of, const InputFormat &of_camera)
{
  context = of;
  format = of_camera;
  kernel.prepare (context, "/org/freedesktop/gstreamer/opencl/keying/formatconverter.cl",
      "convert_format", format.options ());
}

bool
FormatConverter::convert (const GstOpenCLFrame *input, GstOpenCLFrame *result,
    cl_command_queue queue, GError **error)
{
  const GstVideoInfo &info = format.output ();
  const gsize columns = (gsize (info.width) + 7) / 8;
  const gsize stride = work_stride_of (&info);

  if (!pixels () && !opencl::make_buffer (context, stride * info.height, pixels, error))
    return false;
  *result = {};
  result->buffer = input->buffer;
  result->data = pixels ();
  result->stride[0] = gint (stride);
  const GstOpenCLFrame *output = result;
  return kernel.launch (queue, columns, info.height, error, format.of (input), output,
      cl_uint (info.width), cl_uint (info.height));
}
} // namespace keying
