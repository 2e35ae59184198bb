/* Runs a chain of keying steps in one kernel launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "inputformat.hpp"
#include "keyrun.hpp"
#include "formatconverter.hpp"

#include <gst/opencl/kernel/kernel.hpp>

#include <mutex>

namespace keying {
/* For frames of one size and format. Any thread may use it at any time, with the same queue. */
class KeyRunner {
public:
  /* Tiles in local memory, many work-items each; or wide vectors and one work-item */
  enum class Form { tiles, wide };

  KeyRunner (GstOpenCLContext *context, const InputFormat &format);
  KeyRunner (GstOpenCLContext *context, const InputFormat &format, Form form);
  ~KeyRunner ();
  KeyRunner (const KeyRunner &) = delete;
  KeyRunner &operator= (const KeyRunner &) = delete;

  const InputFormat &format () const { return format_; }

  /* Its kernels are built when first needed. */
  bool enqueue (cl_command_queue queue, const KeyRun &run, const GstOpenCLFrame *input,
      const GstOpenCLFrame *output, GError **error);

private:
  bool makes_pixels () const { return format_.is_of_camera () && !read.is_of_camera (); }
  template <typename... Rest>
  bool launch (const opencl::Groups &groups, cl_command_queue queue, const KeyRun &run,
      const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error,
      Rest... rest);
  bool enqueue_tiles (cl_command_queue queue, const KeyRun &run,
      const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error);
  bool enqueue_wide (cl_command_queue queue, const KeyRun &run,
      const GstOpenCLFrame *input, const GstOpenCLFrame *output, GError **error);

  GstOpenCLContext *const context;
  const InputFormat format_;
  const Form form;
  const InputFormat read; /* what the kernel reads: the filmed, or pixels made of it */
  gsize items = 1;        /* of a work-group */
  gsize tile_words = 0;   /* a line of a tile, in the form `tiles` */
  std::mutex launching;   /* a kernel's arguments are one launch's at a time */
  opencl::FrameKernel kernel;
  FormatConverter pixels;
};
} // namespace keying
