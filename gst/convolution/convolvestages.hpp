/* Stages of the convolution methods, each one kernel launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "convolver.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace compute {
/* Strides of an array, in elements */
struct Steps {
  cl_int image = 0, channel = 0, line = 0, column = 0;
};
Steps steps_of (const Placement &place, opencl::NumberType type);

/* Copies the input to floats and adds the border. */
class Gathering {
public:
  /* Output as planes [image][channel][line][pitch], or as pixels
   * [image][line][column][depth], with the channels of each group padded to a multiple of
   * four. `lines` and `columns` are the size of the padded input. */
  bool create_planes (const Device &device, const Convolution &convolution, gsize lines,
      gsize columns, GError **error);
  bool create_pixels (const Device &device, const Convolution &convolution, gsize lines,
      gsize columns, GError **error);

  bool enqueue (cl_command_queue queue, const Region &input, GError **error);

  cl_mem data () const { return (*workspace)[Workspace::gathered]; }
  gsize lines () const { return n_lines; }
  gsize columns () const { return n_columns; }
  gsize pitch () const { return of_line; }
  gsize depth () const { return of_pixel; }

private:
  bool create (const Device &device, const Convolution &convolution, const char *kind,
      gsize count, GError **error);

  Extent extent;
  gsize groups, top, left, n_lines, n_columns, of_line = 0, of_pixel = 0;
  Border border;
  bool in_lanes;
  opencl::Kernel kernel;
  std::shared_ptr<Workspace> workspace;
};

/* Rows of a matrix product: one per output pixel, images × lines × columns */
struct Rows {
  gsize images, lines, columns;
  gsize count () const { return images * lines * columns; }
};

/* The steps between a sum and its element of the output */
struct Finishing {
  Finishing () = default; /* none: sums are stored as float32 */
  explicit Finishing (const Convolution &convolution)
      : type (convolution.output_type),
        activation (convolution.activation), numbers{{convolution.a, convolution.b,
                                                 convolution.low, convolution.high}},
        adds_residual (convolution.adds_residual)
  {
  }

  opencl::NumberType type = opencl::NumberType::f32;
  Activation activation = Activation::none;
  cl_float4 numbers = {};
  bool adds_residual = false;
};

/* FINISH_PARAMETERS of kernels/convolution/convolve.clh, for one output */
class FinishArguments : public opencl::ArgumentGroup {
public:
  FinishArguments (const Finishing &finishing, const Region &output)
      : finishing (finishing), output (output)
  {
  }
  bool set (opencl::Kernel &kernel, cl_uint &index, GError **error) const override;
  const GstOpenCLFrame *aligned () const override { return nullptr; }

private:
  Finishing finishing;
  const Region &output;
};

/* Adds up partial products, and applies bias and activation:
 * kernels/convolution/convolvefinish.cl */
class ProductEnding {
public:
  bool create (GstOpenCLContext *context, const Finishing &finishing, GError **error);

  /* `numbers` is [part][batch][row][width]. `bias_batch` is the distance between the
   * biases of two batches. */
  struct Products {
    cl_mem numbers, bias;
    gsize parts, batches, width, bias_batch;
  };
  bool enqueue (cl_command_queue queue, const Products &products, const Rows &rows,
      const Region &c, const Steps &c_steps, gsize c_batch, GError **error);

private:
  Finishing finishing;
  opencl::Kernel kernel;
};

/* C = activation (A · B + bias) for each batch: kernels/convolution/convolvemultiply.cl */
class Multiplication {
public:
  /* `depth`: length of a row of A, a multiple of four. `width`: columns of B and C. */
  bool create (const Device &device, gsize batch, gsize rows, gsize depth, gsize width,
      const Finishing &finishing, GError **error);

  /* Sets the offset in A of each group of four elements of a row. */
  bool set_fours (std::vector<cl_int> fours, GError **error);
  /* `of` (batch, k, column) returns a weight, `bias_of` (batch, column) a bias. */
  template <typename Of, typename BiasOf>
  bool set_weights (Of of, BiasOf bias_of, GError **error)
  {
    const gsize filled = n_panels () * panel;
    std::vector<cl_float> biases (batch * filled, 0.0f);
    for (gsize n = 0; n < batch; n++)
      for (gsize c = 0; c < width; c++)
        biases[n * filled + c] = cl_float (bias_of (n, c));
    auto fill = [&] (void *panels) {
      cl_float *to = static_cast<cl_float *> (panels);
      for (gsize n = 0; n < batch; n++)
        for (gsize first = 0; first < filled; first += panel)
          for (gsize k = 0; k < padded_depth (); k++)
            for (gsize c = first; c < first + panel; c++)
              *to++ = k < depth && c < width ? cl_float (of (n, k, c)) : 0.0f;
    };
    weights = opencl::share_filled_table (
        context, batch * filled * padded_depth () * sizeof (cl_float), fill, error);
    if (!weights ())
      return false;
    bias = opencl::share_table (context, biases, error);
    return bias () != nullptr;
  }

  /* Offsets and steps are in elements. Ignores `a_steps.channel`. */
  bool enqueue (cl_command_queue queue, const Rows &rows, cl_mem a, gsize a_offset,
      const Steps &a_steps, gsize a_batch, const Region &c, const Steps &c_steps,
      gsize c_batch, GError **error);

private:
  gsize n_panels () const { return (width + panel - 1) / panel; }
  gsize padded_depth () const { return (depth + step - 1) / step * step; }
  bool create_few (GError **error);
  bool create_parts (gsize rows, GError **error);
  gsize run_of (gsize rows) const;

  GstOpenCLContext *context;
  gsize batch, depth, width;
  gsize panel, rows_of_group, step, n_parts;
  gsize across, down, shares; /* work-items of a group */
  bool in_lanes;
  Finishing finishing;
  std::shared_ptr<Workspace> workspace;
  opencl::Kernel kernel;
  ProductEnding ending;
  cl::Buffer fours, weights, bias;
};

/* Returns the offset in `pixels` of each group of four channels that an output pixel
 * reads, tap by tap. */
std::vector<cl_int> fours_of_taps (
    const Convolution &convolution, const Gathering &pixels);
/* Returns the steps in `pixels` from one output pixel to the next. */
Steps steps_of_pixels (const Convolution &convolution, const Gathering &pixels);
/* Returns the weights in the order [group][element of a row][filter of the group]. */
std::vector<cl_float> weights_of_taps (
    const Convolution &convolution, const Filters &filters);
/* Sets these weights, and the biases. Each group is a batch. */
bool set_weights_of_taps (Multiplication &product, const Convolution &convolution,
    const Filters &filters, GError **error);

/* Convolves planes, tap by tap: kernels/convolution/convolveplanes.cl */
class PlaneTaps {
public:
  struct Task {
    gsize images, planes, groups, filters;
    gsize plane_lines, pitch;
    gsize tap_lines, tap_columns;
    Distance stride, dilation;
    gsize height, width; /* of the output */
    Finishing finishing;
  };

  /* Returns the task for all of `convolution`, with the gathered `planes` as input. */
  static Task task_of (const Convolution &convolution, const Gathering &planes);

  /* Allocates planes of `count` elements for another launch to fill. */
  static cl::Buffer make_planes (GstOpenCLContext *context, gsize count, GError **error);

  bool create (GstOpenCLContext *context, const Task &task,
      const std::vector<cl_float> &weights, const std::vector<cl_float> &bias,
      GError **error);

  void set_levels (const Levels &of_output) { levels = of_output; }

  bool enqueue (
      cl_command_queue queue, cl_mem planes, const Region &output, GError **error);

private:
  bool create_kernel (GstOpenCLContext *context, GError **error);

  Task task;
  Levels levels;
  bool in_lanes, is_tall;
  gsize lanes = 0, rows_of_item, tile_lines = 0, tile_columns = 0;
  opencl::Kernel kernel;
  cl::Buffer taps, biases;
};

/* Copies the video component that is not convolved (alpha or padding). */
class KeptComponent {
public:
  /* Does nothing if there is no such component. */
  bool create (GstOpenCLContext *context, const Convolution &convolution, GError **error);
  bool enqueue (
      cl_command_queue queue, const Region &input, const Region &output, GError **error);

private:
  Extent input_extent, output_extent;
  Distance stride;
  cl_int top, left, bytes, from_first;
  opencl::Kernel kernel;
};

/* Returns the build options for the element types of input and output. */
std::string number_options (opencl::NumberType input, const Finishing &finishing);
} // namespace compute
