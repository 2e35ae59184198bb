/* Cumulative sums of strided arrays along an axis
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "reductionpass.hpp"

namespace compute {
class Scanner {
public:
  /* Both arrays have the same lengths. */
  bool create (GstOpenCLContext *context, opencl::NumberType stored,
      opencl::NumberType written, const ArrayLayout &input, const ArrayLayout &output,
      gsize axis, GError **error);

  /* Offsets are in elements. */
  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

private:
  void choose_groups (GstOpenCLContext *context);
  bool create_sums (GstOpenCLContext *context, GError **error);
  bool create_kernel (GstOpenCLContext *context, GError **error);
  gint64 vectors () const;

  ReductionTypes types;
  ReductionShape shape;   /* reduced[0] is the axis */
  gint64 axis_output = 0; /* its stride in the output */
  ReductionParts chunks;
  gsize lanes = 1, group = 1;
  bool alone = false; /* each work-item is a work-group, which a CPU runs in one thread */
  /* If lines are divided into chunks: the sum of each chunk */
  ReductionPass summing;
  cl::Buffer sums;
  opencl::Kernel kernel;
  cl::Buffer geometry;
};
} // namespace compute
