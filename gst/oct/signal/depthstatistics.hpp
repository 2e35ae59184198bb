/* Mean intensities over the A-lines of a frame of depths, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../depth/depthfilter.hpp"
#include "peak.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <vector>

namespace oct {
class DepthStatistics {
public:
  bool create (GstOpenCLContext *context, const DepthLayout &layout, GError **error);
  /* Number of values of the result */
  gsize size () const { return 2 * depths + (complex ? 1 + around_blocks * around : 0); }
  /* `line` -1: the mean of all. `least_bin`: first bin in which a peak is searched */
  bool enqueue (cl_command_queue queue, const GstOpenCLFrame *frame, gint line,
      guint least_bin, cl_mem result, GError **error);
  AScan read (const float *result, gint line, guint least_bin) const;

private:
  static constexpr guint around = 32; /* values between bins around a peak */
  static constexpr guint most_around_blocks = 32;

  opencl::Kernel sum, find, sum_around;
  cl::Buffer partial;
  gsize depths = 0;
  guint wide = 1; /* depths per work-item */
  guint lines = 0, first_bin = 0, value_bytes = 4;
  bool complex = false;
  cl_uint lines_of_block = 1, blocks = 1, around_blocks = 1;
};
} // namespace oct
