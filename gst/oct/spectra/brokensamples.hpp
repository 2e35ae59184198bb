/* How many samples of spectra were not finite, as the device counts them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-hpp.hpp>
#include <gst/opencl/opencl-private.hpp>

#include <memory>

namespace oct {
/* Read back now and then, without anybody waiting for it, and told once. */
class BrokenSamples {
public:
  BrokenSamples () = default;
  BrokenSamples (const BrokenSamples &) = delete;
  ~BrokenSamples ();

  bool create (GstOpenCLContext *context, GError **error);

  /* Null before create(). Frames share it. */
  const std::shared_ptr<cl::Buffer> &counter () const { return counter_; }

  /* After a frame, or, waiting for the count, after the last one. How many there are to
   * tell of, 0 if none or once that was told. Failures are those of the frames
   * themselves, and reported there. */
  guint look (cl_command_queue queue);
  guint look_at_last (cl_command_queue queue);

private:
  guint tell ();
  bool read (cl_command_queue queue);
  bool wait ();

  std::shared_ptr<cl::Buffer> counter_;
  cl::Event under_way; /* empty where nothing is read */
  std::unique_ptr<cl_uint> count = std::make_unique<cl_uint> (0);
  bool told = false;
  guint frames = 0;
};
} // namespace oct
