/* Input formats of the keying elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/colorconversion.hpp>
#include <gst/opencl/kernel/kernel.hpp>
#include <gst/opencl/opencl.h>

#include <string>

namespace keying {
class Filmed;

/* How inputformat.clh reads frames of one format: pixels of four bytes as they are, what
 * cameras give as openclconvert would convert it to the output's. */
class FilmedFormat {
public:
  FilmedFormat () = default;
  FilmedFormat (const GstVideoInfo &input, const GstVideoInfo &output);

  /* Then it has no alpha. */
  bool is_of_camera () const { return of_camera; }
  const GstVideoInfo &input () const { return input_; }
  /* As the keyed picture is */
  const GstVideoInfo &output () const { return output_; }
  /* What was learnt of one holds for the other. */
  bool shows_the_same (const FilmedFormat &other) const;
  /* Of kernels that read and write such frames */
  std::string options () const;

  /* An argument, FILMED; `frame` and this outlive it. */
  Filmed of (const GstOpenCLFrame *frame) const;

private:
  friend class Filmed;

  GstVideoInfo input_ = {}, output_ = {};
  bool of_camera = false;
  opencl::FixedPointRow rows[3] = {}; /* to red, green and blue */
};

class Filmed : public opencl::ArgumentGroup {
public:
  Filmed (const FilmedFormat *format, const GstOpenCLFrame *frame)
      : format (format), frame_ (frame)
  {
  }

  bool set (opencl::Kernel &kernel, cl_uint &index, GError **error) const override;
  const GstOpenCLFrame *aligned () const override;
  const GstOpenCLFrame *frame () const { return frame_; }

private:
  const FilmedFormat *format;
  const GstOpenCLFrame *frame_;
};
} // namespace keying
