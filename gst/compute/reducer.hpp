/* Reductions of strided arrays on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "reductionpass.hpp"

namespace compute {
class Reducer {
public:
  /* Dimensions that have length 1 in `output`, and not in `input`, are reduced. Integers
   * can be reduced to floating-point numbers, but not the other way round. */
  bool create (GstOpenCLContext *context, Reduction reduction, opencl::NumberType stored,
      opencl::NumberType written, const ArrayLayout &input, const ArrayLayout &output,
      GError **error);

  /* Offsets are in elements. */
  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

private:
  bool create_in_two (GstOpenCLContext *context, const ReductionPass::Request &request,
      const ReductionParts &parts, GError **error);

  /* With few results, work-groups share each of them, and a second pass combines these
   * partial results. */
  ReductionPass first, second;
  gint64 partial_count = 0; /* 0: one pass */
  cl::Buffer partials;
};
} // namespace compute
