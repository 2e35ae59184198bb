/* Input formats of the keying elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "inputformat.hpp"

#include <gst/common/colorconversion.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/device/videoarguments.hpp>

#include <algorithm>
#include <iterator>

#include "pixelformats.hpp"

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
} // namespace keying
