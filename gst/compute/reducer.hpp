/* Reductions of strided arrays on a device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/numbertype.hpp>
#include <gst/opencl/kernel/kernel.hpp>

#include <vector>

namespace compute {
/* In the order of kernels/compute/reduce.cl */
enum class Reduction { sum, mean, maximum, minimum, product, l1, l2, sum_of_squares };

/* Lengths and strides of an array, outermost dimension first, in elements */
struct ArrayLayout {
  std::vector<gint64> lengths, strides;
};

class Reducer {
public:
  /* Dimensions that have length 1 in `output`, and not in `input`, are reduced. */
  bool create (GstOpenCLContext *context, Reduction reduction, opencl::NumberType type,
      const ArrayLayout &input, const ArrayLayout &output, GError **error);

  /* Offsets are in elements. */
  bool enqueue (cl_command_queue queue, cl_mem input, gint64 input_offset, cl_mem output,
      gint64 output_offset, GError **error);

private:
  struct Dimension {
    gint64 length, input, output;
  };
  void choose_split (GstOpenCLContext *context);
  std::string options (Reduction reduction, opencl::NumberType type) const;

  std::vector<Dimension> kept, reduced; /* innermost first */
  gint64 vectors = 1, count = 1;
  gsize lanes = 1, across = 1, split = 1;
  opencl::NumberType stored = opencl::NumberType::f32;
  opencl::Kernel kernel;
  cl::Buffer geometry;
};

/* Macros of kernels/compute/numbers.clh for vectors of `lanes` elements of `type` */
std::string number_macros (opencl::NumberType type, gsize lanes);
} // namespace compute
