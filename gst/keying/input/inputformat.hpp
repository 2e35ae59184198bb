/* Input frames of the keying elements, and their formats
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <string>

namespace keying {
class InputFrame;

/* Describes frames of one format to inputformat.clh. RGBA formats are read as they are.
 * Camera formats are converted to the output format as by openclconvert. */
class InputFormat {
public:
  InputFormat () = default;
  InputFormat (const GstVideoInfo &input, const GstVideoInfo &output);

  /* Camera formats have no alpha. */
  bool is_of_camera () const { return of_camera; }
  const GstVideoInfo &input () const { return input_; }
  /* Format of the keyed frame */
  const GstVideoInfo &output () const { return output_; }
  /* Returns whether statistics of one format are valid for the other. */
  bool is_equivalent (const InputFormat &other) const;
  /* Build options of kernels that read and write such frames */
  std::string options () const;

  /* Returns the arguments INPUT_FRAME. `frame` and this object must outlive them. */
  InputFrame of (const GstOpenCLFrame *frame) const;

private:
  friend class InputFrame;

  GstVideoInfo input_ = {}, output_ = {};
  bool of_camera = false;
  opencl::FixedPointRow rows[3] = {}; /* conversion to red, green and blue */
};

class InputFrame : public opencl::ArgumentGroup {
public:
  InputFrame (const InputFormat *format, const GstOpenCLFrame *frame)
      : format (format), frame_ (frame)
  {
  }

  bool set (opencl::Kernel &kernel, cl_uint &index, GError **error) const override;
  const GstOpenCLFrame *aligned () const override;
  const GstOpenCLFrame *frame () const { return frame_; }

private:
  const InputFormat *format;
  const GstOpenCLFrame *frame_;
};

/* Converts a frame once for kernels that read it several times. All work uses one
 * in-order queue. The next frame overwrites the buffer, so convert it after all work on
 * this one is enqueued. */
class FormatConverter {
public:
  /* The kernel is built when it is first needed. */
  void prepare (GstOpenCLContext *of, const InputFormat &format);
  /* Sets `result` to the converted frame, which is valid during the lifetime of this
   * object. */
  bool convert (const GstOpenCLFrame *input, GstOpenCLFrame *result,
      cl_command_queue queue, GError **error);

private:
  GstOpenCLContext *context = nullptr; /* outlives this object */
  InputFormat format;
  opencl::FrameKernel kernel;
  cl::Buffer pixels;
};
} // namespace keying
