/* Last step of a chain of depths: display levels, their range, and the output image or rows
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthparts.hpp"

#include <gst/opencl/kernel/kernel.hpp>
#include <gst/opencl/base/opencl-hpp.hpp>

namespace oct {
enum class Scale {
  log,
  linear,
};
GType scale_get_type (void);

const double least_db = -1000, most_db = 1000;

/* Quantity of the depths */
enum class Numbers {
  complex,
  amplitudes,
  powers,
  values, /* shown as they are; also decibels */
};

/* Where they lie. */
struct Shown {
  cl_mem data;
  gsize offset; /* in numbers, as the stride from A-line to A-line */
  guint stride;
  guint lines;
};

/* Background that is subtracted from the complex depths of an A-line before display */
struct Difference {
  cl_mem pattern;  /* (nullable) floats, real and imaginary parts */
  bool subtracted; /* the pattern is, not only: */
  guint empty;     /* first depths that become 0 */
};

/* A picture whose first depth is its lowest row. */
DepthOutput flipped (DepthOutput output);

class Display {
public:
  static constexpr guint most_samples = 1 << 16; /* that a range is found of */

  /* The kernel for such numbers and such an output. */
  bool create (
      GstOpenCLContext *context, Numbers numbers, DepthFormat format, GError **error);

  /* Neither allocates nor waits. What is logarithmic is in decibels, and so are then black
   * and white; values are never. */
  bool enqueue (cl_command_queue queue, const Shown &shown, const DepthOutput &output,
      GError **error);

  /* Likewise, of what is complex. Its kernel is made the first time. */
  bool enqueue_difference (cl_command_queue queue, const Shown &shown,
      const Difference &difference, const DepthOutput &output, GError **error);

  /* For a kernel of other work that makes a picture, of depths and A-lines in two
   * dimensions: how it is built, and launched with its arguments set. */
  std::string options () const;
  DepthScaling scaling_of (const DepthOutput &output) const;
  GstOpenCLContext *get_context () const { return context; }
  gsize bytes_of_pixel () const;
  bool enqueue_picture (cl_command_queue queue, opencl::Kernel &kernel, gsize lines,
      gsize depths, GError **error) const;

  /* Likewise, black and white by the picture itself and those before: 1 in 20 pixels is
   * darker, 1 in 1000 is brighter. create_range() comes first. `values` are decibels. */
  bool create_range (GError **error);
  bool has_range () const { return counts () != nullptr; }
  bool enqueue_in_range (cl_command_queue queue, const Shown &shown,
      const DepthOutput &output, GError **error);

private:
  bool is_logarithmic (const DepthOutput &output) const
  {
    return output.logarithmic && numbers != Numbers::values;
  }
  const char *picture_kernel () const
  {
    return strips ? "make_image_cpu" : "make_picture";
  }
  bool launch (opencl::Kernel &kernel, cl_command_queue queue, const Shown &shown,
      const Difference &given, const DepthOutput &output, GError **error);

  GstOpenCLContext *context = nullptr;

  Numbers numbers = Numbers::complex;
  DepthFormat format = DepthFormat::gray8;
  bool strips = false; /* a picture is made in strips */
  opencl::Kernel kernel, kernel_of_difference;

  opencl::Kernel kernel_in_range, count_levels, find_range;
  cl::Buffer counts, range;
  gsize group = 1;
};
} // namespace oct
