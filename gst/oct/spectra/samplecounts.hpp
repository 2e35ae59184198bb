/* Two numbers that kernels count in spectra, read back without waiting: of floats that are
 * not finite, or of integers looked at and saturated ones of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "rawspectra.hpp"

#include <gst/opencl/kernel/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/opencl-private.hpp>
#include <gst/opencl/memory/devicevalues.hpp>

#include <memory>

namespace oct {
/* Read every few frames. Failures are those of the frames themselves, and reported there. */
class SampleCounts {
public:
  /* `option` (nullable): of unpack.cl, for integers */
  bool create (GstOpenCLContext *context, const char *option, GError **error);

  /* Null before create(). Frames share it. */
  const std::shared_ptr<cl::Buffer> &counter () const { return counter_; }

  /* Counts in one frame of a few, in some of its A-lines: of `samples` from `first` on those
   * of at least `full_scale` after the shift. */
  bool count_saturated (cl_command_queue queue, guint first, guint samples,
      guint full_scale, RawSpectra &spectra, GError **error);

  /* Before a frame: both counts of those so far, where they have just come, else null. */
  const cl_uint *look (cl_command_queue queue);
  /* After the last frame. Waits for them; null where there are none. */
  const cl_uint *look_at_last (cl_command_queue queue);

private:
  std::shared_ptr<cl::Buffer> counter_;
  opencl::Kernel kernel;
  cl_uint items_of_line = 1;
  guint candidates = 0; /* frames that could have been looked at */
  opencl::ReadBack counts;
  guint frames = 0;
};
} // namespace oct
