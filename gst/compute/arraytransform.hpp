/* Fourier transforms of arrays along one or two axes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/device/gstopenclfft.h>

#include <vector>
#include <memory>

namespace compute {
/* --- copies with dimensions in another order --- */

/* Elements of the input and the output */
enum class Permuted { real, complex, real_to_complex };

/* Strides are in elements. */
struct PermutedDimension {
  gint64 length, from, to;
};

class Permuter {
public:
  /* `dimensions` may be in any order. */
  bool create (GstOpenCLContext *context, Permuted elements, bool is_double,
      const std::vector<PermutedDimension> &dimensions, GError **error);

  /* Offsets are in elements. */
  bool enqueue_permutation (cl_command_queue queue, cl_mem from, gint64 from_offset,
      cl_mem to, gint64 to_offset, GError **error);

private:
  void order (std::vector<PermutedDimension> dimensions);
  bool create_kernel (
      GstOpenCLContext *context, Permuted elements, bool is_double, GError **error);

  PermutedDimension x, y;
  std::vector<PermutedDimension> outer;
  gsize tile = 1;
  opencl::Kernel kernel;
  cl::Buffer geometry;
};

/* --- Fourier transforms --- */

/* Lengths are in real or complex numbers, outermost dimension first. */
struct TransformShape {
  std::vector<gsize> input, output;
  std::vector<gsize> axes; /* one or two; a half spectrum is along the last */
  bool real_input = false, real_output = false;
  bool half = false; /* the complex side has bins 0 to N/2 */
  bool inverse = false;
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO;
  bool is_double = false;

  gsize number_bytes (bool real) const
  {
    return (is_double ? sizeof (cl_double) : sizeof (cl_float)) * (real ? 1 : 2);
  }
  bool operator== (const TransformShape &other) const;
  gsize signal_length (gsize axis) const { return (inverse ? output : input)[axis]; }
};

class ArrayTransform {
public:
  /* With `copies`, offsets may differ from 0. */
  bool create_plan (GstOpenCLContext *context, const TransformShape &shape, bool copies,
      GError **error);
  bool takes_offsets () const { return !plan || (arranges_input && arranges_output); }

  /* Offsets are in numbers of the input and of the output. */
  bool enqueue_transform (cl_command_queue queue, cl_mem input, gint64 input_offset,
      cl_mem output, gint64 output_offset, GError **error);

private:
  struct FreePlan {
    void operator() (GstOpenCLFFT *plan) const { gst_opencl_fft_free (plan); }
  };

  void choose_order (const TransformShape &shape);
  bool create_plan (
      GstOpenCLContext *context, const TransformShape &shape, GError **error);
  bool arrange_input (GstOpenCLContext *context, const TransformShape &shape, bool copies,
      GError **error);
  bool arrange_output (GstOpenCLContext *context, const TransformShape &shape,
      bool copies, GError **error);

  std::vector<gsize> order; /* all dimensions, as the plan has them */
  std::vector<gsize> transformed;
  bool real_plan = false, arranges_input = false, arranges_output = false;
  /* The plan is empty if all axes have length 1. */
  std::unique_ptr<GstOpenCLFFT, FreePlan> plan;
  Permuter before, after;
  cl::Buffer arranged, result;
};
} // namespace compute
