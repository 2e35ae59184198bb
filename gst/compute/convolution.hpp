/* What a convolution is: its settings, its taps, and how large everything of it is
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "stream.hpp"
#include "taps.hpp"

#include <tuple>

namespace compute {
/* In the order of kernels/compute/convolve.clh */
enum class Border { zero, clamp, mirror, wrap };
enum class Activation { none, relu, relu6, hardswish, sigmoid, silu };

enum class Method { automatic, direct, separable, winograd, im2col, fft };
/* Who multiplies matrices that are written out */
enum class Gemm { automatic, own, clblast };
enum class TensorLayout { nhwc, nchw };
enum class KernelLayout { automatic, oihw, hwio };
enum class Flip { automatic, no, yes };

/* An element's properties. */
struct ConvolutionSettings {
  std::string kernel, bias;
  guint kernel_sets = 0, bias_sets = 0; /* files are read when they are set */
  KernelLayout kernel_layout = KernelLayout::automatic;
  TensorLayout layout = TensorLayout::nhwc;
  Flip flip = Flip::automatic;
  guint stride = 1, dilation = 1, groups = 1;
  gint padding = -1;
  Border border = Border::zero;
  Activation activation = Activation::none;
  Method method = Method::automatic;
  Gemm gemm = Gemm::automatic;
  double scale = 1, offset = 0;
  bool alpha = false;
};

/* Numbers of either side: images of so many channels. */
struct Extent {
  gsize images = 1, channels = 1, height = 1, width = 1;

  gsize pixels () const { return height * width; }
  gsize count () const { return images * channels * pixels (); }
  auto all () const { return std::tie (images, channels, height, width); }
  bool operator== (const Extent &other) const { return all () == other.all (); }
};

/* From one number to the next, in bytes, and where the first is. */
struct Placement {
  gsize offset = 0;
  gssize image = 0, channel = 0, line = 0, column = 0;
};

/* All that a method has to know. The output is activation (taps × input + bias) · scale +
 * offset; taps and input are multiplied without a turn: a flip is in the weights. */
struct Convolution {
  Extent input, output; /* of what is convolved: without components that are kept */
  gsize groups = 1;
  gsize tap_lines = 1, tap_columns = 1;
  gsize stride = 1, dilation = 1;
  gsize top = 0, left = 0; /* padding before the first line and column */
  Border border = Border::zero;
  Activation activation = Activation::none;
  Method method = Method::automatic;
  Gemm gemm = Gemm::automatic;
  double scale = 1, offset = 0;
  opencl::NumberType input_type, output_type;
  bool video = false;
  bool nchw = false;
  /* Of video's components the first that is convolved, and the one that is kept, or -1;
   * all of a pixel. */
  gsize first_component = 0, components = 1;
  gint kept_component = -1;

  std::vector<double> weights; /* [filter][channel of group][line][column] */
  std::vector<double> bias;    /* [filter] */

  gsize channels_of_group () const { return input.channels / groups; }
  gsize filters_of_group () const { return output.channels / groups; }
  gsize taps () const { return tap_lines * tap_columns; }
  /* Lines and columns of the input, border and all, that the taps reach. */
  gsize reach (gsize outputs, gsize of_taps) const
  {
    return (outputs - 1) * stride + (of_taps - 1) * dilation + 1;
  }
  gsize reach_lines () const { return reach (output.height, tap_lines); }
  gsize reach_columns () const { return reach (output.width, tap_columns); }
  double weight (gsize filter, gsize channel, gsize line, gsize column) const
  {
    return weights[((filter * channels_of_group () + channel) * tap_lines + line)
                       * tap_columns
                   + column];
  }
  auto all () const
  {
    return std::tie (input, output, groups, tap_lines, tap_columns, stride, dilation, top,
        left, border, activation, method, gemm, scale, offset, input_type, output_type,
        video, nchw, first_component, components, kept_component, weights, bias);
  }
  bool operator== (const Convolution &other) const { return all () == other.all (); }
  /* Of arrays; of video the frame says from line to line. */
  Placement place_of (const Extent &extent, opencl::NumberType type) const;
};

/* Weights and bias as they were read. */
struct ConvolutionData {
  std::shared_ptr<const Taps> kernel, bias;
};

/* `output`: what it makes of `input`; NULL where `settings` do not fit, with an error
 * that says which value it is. The format of `output` is video's where the input is. */
bool make_convolution (const ConvolutionSettings &settings, const ConvolutionData &data,
    const Stream &input, GstVideoFormat format, Convolution &convolution,
    opencl::ArrayFormat &output, GError **error);
} // namespace compute
