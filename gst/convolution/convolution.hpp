/* Settings, sizes and filters of a convolution
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "taps.hpp"

#include <gst/common/arrayformat.hpp>
#include <gst/video/video.h>

#include <tuple>

namespace compute {
/* In the order of kernels/convolution/convolve.clh */
enum class Border { zero, clamp, mirror, wrap };
enum class Activation {
  none,
  relu,
  relu6,
  hardswish,
  sigmoid,
  silu,
  hardsigmoid, /* clamp (a x + b, 0, 1) */
  clip,        /* clamp (x, a, b) */
  leaky,       /* a x where x < 0 */
  tanh,
  gelu,
  gelu_tanh,
  quantize, /* b round (clamp (a x, low, high)) */
};

enum class Method { automatic, direct, separable, winograd, fft };
enum class TensorLayout { nhwc, nchw };
enum class KernelLayout { automatic, oihw, hwio };
enum class Flip { automatic, no, yes };

/* Properties of openclconvolve */
struct ConvolutionSettings {
  std::string kernel, bias;
  guint kernel_sets = 0, bias_sets = 0; /* times set: each reads the file again */
  KernelLayout kernel_layout = KernelLayout::automatic;
  TensorLayout layout = TensorLayout::nhwc;
  Flip flip = Flip::automatic;
  guint stride = 1, dilation = 1, groups = 1;
  gint padding = -1;
  Border border = Border::zero;
  Activation activation = Activation::none;
  float a = 0, b = 0; /* parameters of the activation */
  /* The output has Region::added, which is added before the activation. */
  bool adds_residual = false;
  Method method = Method::automatic;
  double scale = 1, offset = 0;
  bool alpha = false;
};

/* Size of the input or the output */
struct Extent {
  gsize images = 1, channels = 1, height = 1, width = 1;

  gsize pixels () const { return height * width; }
  gsize count () const { return images * channels * pixels (); }
  auto all () const { return std::tie (images, channels, height, width); }
  bool operator== (const Extent &other) const { return all () == other.all (); }
};

/* Position of an array in memory: offset of the first element, and strides, in bytes */
struct Placement {
  gsize offset = 0;
  gssize image = 0, channel = 0, line = 0, column = 0;
};

/* Scale and offset of the result, applied before it is rounded to the video format. */
struct Levels {
  double scale = 1, offset = 0;
};

/* Strides of a kernel array, in elements */
struct KernelSteps {
  gsize filter = 0, channel = 0, line = 0, column = 0;
  bool flipped = false; /* lines and columns are in reverse order */

  auto all () const { return std::tie (filter, channel, line, column, flipped); }
  bool operator== (const KernelSteps &other) const { return all () == other.all (); }
};

/* Rows and columns from one position to the next */
struct Distance {
  gsize y = 1, x = 1;

  auto all () const { return std::tie (y, x); }
  bool operator== (const Distance &other) const { return all () == other.all (); }
};

/* Parameters of a convolution, except its weights. The output is activation (weights ×
 * input + bias) · scale + offset. */
struct Convolution {
  Extent input, output; /* without the component that is only copied */
  gsize groups = 1;
  gsize tap_lines = 1, tap_columns = 1;
  Distance stride, dilation;
  gsize top = 0, left = 0; /* padding before the first line and column */
  Border border = Border::zero;
  Activation activation = Activation::none;
  float a = 0, b = 0, low = 0, high = 0; /* parameters of the activation */
  /* Sums of whole numbers are exact: no method that computes with fractions */
  bool exact = false;
  /* The output has Region::added, which is added before the activation. */
  bool adds_residual = false;
  Method method = Method::automatic;
  opencl::NumberType input_type, output_type;
  bool video = false;
  bool nchw = false;
  /* Video: first convolved component, number of components, and the component that is
   * only copied (-1: none) */
  gsize first_component = 0, components = 1;
  gint kept_component = -1;

  TapsSource kernel, bias;
  KernelSteps kernel_steps;

  gsize channels_of_group () const { return input.channels / groups; }
  gsize filters_of_group () const { return output.channels / groups; }
  gsize taps () const { return tap_lines * tap_columns; }
  /* Returns the number of rows or columns of the padded input that the taps read. */
  gsize reach_lines () const
  {
    return (output.height - 1) * stride.y + (tap_lines - 1) * dilation.y + 1;
  }
  gsize reach_columns () const
  {
    return (output.width - 1) * stride.x + (tap_columns - 1) * dilation.x + 1;
  }
  auto all () const
  {
    return std::tie (input, output, groups, tap_lines, tap_columns, stride, dilation, top,
        left, border, activation, a, b, low, high, exact, adds_residual, method,
        input_type, output_type, video, nchw, first_component, components, kept_component,
        kernel, bias, kernel_steps);
  }
  bool operator== (const Convolution &other) const { return all () == other.all (); }
  /* Returns the strides. The caller sets the offset and, for video, the row stride. */
  Placement place_of (const Extent &extent, opencl::NumberType type) const;
};

/* Weights and biases on the host. They are large, so a method frees them after the
 * upload. */
template <typename Number> class FiltersOf {
public:
  FiltersOf () = default;
  /* Weights in the order [filter][channel of the group][line][column], or [channel][filter]
   * if `is_turned`. They may be unaligned, and must outlive this. */
  FiltersOf (const Convolution &convolution, const void *weights, bool is_turned,
      std::vector<Number> a_biases)
      : lines (convolution.tap_lines), columns (convolution.tap_columns),
        numbers (static_cast<const guint8 *> (weights)), biases (std::move (a_biases))
  {
    steps.column = 1;
    steps.line = columns;
    steps.channel = is_turned ? convolution.output.channels : lines * columns;
    steps.filter = is_turned ? 1 : convolution.channels_of_group () * steps.channel;
  }

  /* Reads the files, or the texts, of `convolution`. */
  bool read (const Convolution &convolution, GError **error)
  {
    steps = convolution.kernel_steps;
    lines = convolution.tap_lines;
    columns = convolution.tap_columns;
    if (!read_taps ("kernel", convolution.kernel, taps, error))
      return false;
    numbers = reinterpret_cast<const guint8 *> (taps.data ());
    return (convolution.bias.text.empty ()
            || read_taps ("bias", convolution.bias, biases, error));
  }

  /* Returns the weight for the input number at (line, column) of the filter's window. */
  Number weight (gsize filter, gsize channel, gsize line, gsize column) const
  {
    if (steps.flipped) {
      line = lines - 1 - line;
      column = columns - 1 - column;
    }
    Number number;
    const gsize n = filter * steps.filter + channel * steps.channel + line * steps.line
                    + column * steps.column;
    memcpy (&number, numbers + n * sizeof number, sizeof number);
    return number;
  }
  Number bias (gsize filter) const
  {
    return biases.empty () ? 0 : biases[biases.size () == 1 ? 0 : filter];
  }

  /* Returns the weights in the order [filter][channel of the group][line][column]. */
  std::vector<Number> weights_in_order (const Convolution &convolution) const
  {
    const gsize channels = convolution.channels_of_group ();
    std::vector<Number> ordered;
    ordered.reserve (convolution.output.channels * channels * convolution.taps ());
    for (gsize filter = 0; filter < convolution.output.channels; filter++)
      for (gsize channel = 0; channel < channels; channel++)
        for (gsize y = 0; y < convolution.tap_lines; y++)
          for (gsize x = 0; x < convolution.tap_columns; x++)
            ordered.push_back (weight (filter, channel, y, x));
    return ordered;
  }

  /* Returns one bias per filter. */
  std::vector<Number> biases_in_order (const Convolution &convolution) const
  {
    std::vector<Number> ordered (convolution.output.channels);
    for (gsize filter = 0; filter < ordered.size (); filter++)
      ordered[filter] = bias (filter);
    return ordered;
  }

private:
  KernelSteps steps;
  gsize lines = 1, columns = 1;
  const guint8 *numbers = nullptr;
  std::vector<Number> taps, biases; /* `numbers` points to `taps` if they are read here */
};

using Filters = FiltersOf<float>;

/* Derives `convolution` and the array format `output` for `input`, whose video format is
 * `format` (UNKNOWN for arrays). `kernel` and `bias` are the arrays that `settings` name.
 * Returns FALSE with an error that names the value that does not fit. */
bool make_convolution (const ConvolutionSettings &settings, const TapsSource &kernel,
    const TapsSource &bias, const opencl::ArrayFormat &input, GstVideoFormat format,
    Convolution &convolution, opencl::ArrayFormat &output, GError **error);
} // namespace compute
