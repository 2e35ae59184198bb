/* Copies of arrays with their dimensions in another order
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/kernel.hpp>

#include <vector>

namespace compute {
/* Elements of the input and the output */
enum class Permuted { real, complex, real_to_complex };

/* Strides are in elements. */
struct PermutedDimension {
  gint64 length, from, to;
};

class Permuter {
public:
  /* `dimensions` may be in any order. */
  bool create (GstOpenCLContext *context, Permuted elements,
      const std::vector<PermutedDimension> &dimensions, GError **error);
  bool is_created () const { return kernel.created (); }

  /* Offsets are in elements. */
  bool enqueue (cl_command_queue queue, cl_mem from, gint64 from_offset, cl_mem to,
      gint64 to_offset, GError **error);

private:
  void order (std::vector<PermutedDimension> dimensions);
  bool create_kernel (GstOpenCLContext *context, Permuted elements, GError **error);

  PermutedDimension x, y;
  std::vector<PermutedDimension> outer;
  gsize tile = 1;
  opencl::Kernel kernel;
  cl::Buffer geometry;
};
} // namespace compute
