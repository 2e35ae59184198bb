/* Display stage: converts depths to an image or to levels, also with automatic range
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthengine.hpp"

#include <gst/opencl/device/kernel.hpp>

#include <cmath>

namespace oct {
enum class Scale {
  log,
  linear,
};

const double least_db = -1000, most_db = 1000;

/* Limits in dB of the mean power; the minimum disables the threshold */
const double least_threshold = -1000, most_threshold = 1000;

/* Returns the power for the kernels; 0 without a threshold. */
inline float
power_of_threshold (double threshold)
{
  return float (std::pow (10, threshold / 10));
}

/* Quantity of the values to display */
enum class ValueType {
  complex,
  amplitudes,
  powers,
  values, /* displayed without conversion, such as decibels */
};

/* Memory layout of the values to display */
struct DisplayInput {
  cl_mem data;
  gsize offset; /* in values, as is `stride`, from A-line to A-line */
  guint stride;
  guint lines;
};

/* Background that is subtracted from the complex depths of an A-line before display */
struct Difference {
  cl_mem pattern;  /* (nullable) real and imaginary part of each depth */
  cl_float weight; /* of `pattern` in the subtraction; 0: not subtracted */
  guint empty;     /* number of first depths set to 0 */
};

/* Returns `output` with the first depth in the bottom row. */
DepthOutput flipped (DepthOutput output);

class Display {
public:
  static constexpr guint most_samples = 1 << 16; /* for an automatic range */

  /* Creates the kernel for these values and this output format. */
  bool create (GstOpenCLContext *context, ValueType value_type, DepthFormat format,
      GError **error);

  /* Neither allocates nor waits. If `output` is logarithmic, levels, black and white are
   * in decibels. ValueType::values are never converted. */
  bool enqueue (cl_command_queue queue, const DisplayInput &values,
      const DepthOutput &output, GError **error);

  /* As enqueue(), for ValueType::complex less a background. The first call builds the
   * kernel. */
  bool enqueue_difference (cl_command_queue queue, const DisplayInput &values,
      const Difference &difference, const DepthOutput &output, GError **error);

  /* For kernels of other classes that write an image: build options, scale, and launch
   * over depths and A-lines. The kernel's arguments must be set before the launch. */
  std::string options () const;
  std::string input_option () const;
  bool is_logarithmic (const DepthOutput &output) const
  {
    return output.logarithmic && value_type != ValueType::values;
  }
  DepthScaling scaling_of (const DepthOutput &output) const;
  GstOpenCLContext *get_context () const { return context; }
  gsize bytes_of_pixel () const;
  bool enqueue_image (cl_command_queue queue, opencl::Kernel &kernel, gsize lines,
      gsize depths, GError **error) const;

  /* As enqueue(), with black and white from this image and earlier ones: 1 in 20 pixels
   * is below black, 1 in 1000 above white. Needs create_range() first. ValueType::values
   * must be decibels. */
  bool create_range (GError **error);
  bool has_range () const { return counts () != nullptr; }
  bool enqueue_in_range (cl_command_queue queue, const DisplayInput &values,
      const DepthOutput &output, GError **error);

private:
  const char *image_kernel () const { return strips ? "make_image_cpu" : "make_image"; }
  bool launch (opencl::Kernel &kernel, cl_command_queue queue, const DisplayInput &values,
      const Difference &given, const DepthOutput &output, GError **error);

  GstOpenCLContext *context = nullptr;

  ValueType value_type = ValueType::complex;
  DepthFormat format = DepthFormat::gray8;
  bool strips = false; /* images are written in strips (CPU) */
  opencl::Kernel kernel, kernel_of_difference;

  opencl::Kernel kernel_in_range, count_levels, find_range;
  cl::Buffer counts, range;
  gsize group = 1;
};
} // namespace oct
