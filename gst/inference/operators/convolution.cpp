/* Convolutions of ONNX
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>

namespace inference {
namespace {
Shape
spatial (const Shape &shape)
{
  return Shape (shape.begin () + 2, shape.end ());
}

Shape
joined (gint64 images, gint64 channels, const Shape &lengths)
{
  Shape shape = {images, channels};
  shape.insert (shape.end (), lengths.begin (), lengths.end ());
  return shape;
}

WindowOp
window_op (WindowOp::Kind kind, const WindowAttributes &attributes, gint64 groups)
{
  WindowOp what{};
  what.kind = kind;
  what.window = attributes.window;
  what.stride = attributes.stride;
  what.dilation = attributes.dilation;
  what.before = attributes.before;
  what.after = attributes.after;
  what.groups = groups;
  return what;
}

/* Checks that weights (and a bias) fit the input. `filters` is their number in all. */
bool
check_operands (Lowering &l, gint64 channels_of_weights, gint64 groups, gint64 filters,
    GError **error)
{
  const Shape &input = l.shape (l.input (0)), &weights = l.shape (l.input (1));
  if (input.size () != weights.size () || input.size () < 3)
    return l.fail (error, "input and weights differ in rank");
  if (input[1] != channels_of_weights || filters % groups != 0 || input[1] % groups != 0)
    return l.fail (error, "the weights do not fit the channels of the input");
  if (l.has (2) && l.shape (l.input (2)) != Shape{filters})
    return l.fail (
        error, "expected a bias for each of %" G_GINT64_FORMAT " filters", filters);
  return true;
}

/* A ConvolutionOp has two spatial dimensions, floating-point numbers and constants. */
ConvolutionOp
convolution_op (const Array &weights, const Array *bias, gint64 groups,
    const WindowAttributes &attributes)
{
  ConvolutionOp what;
  what.weights = weights;
  if (bias)
    what.bias = bias->floats ();
  what.groups = groups;
  for (gsize d = 0; d < 2; d++) {
    what.stride[d] = attributes.stride[d];
    what.dilation[d] = attributes.dilation[d];
    what.before[d] = attributes.before[d];
  }
  return what;
}

bool
conv (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data), weights = l.shape (l.input (1));
  const gint64 groups = l.node ().integer ("group", 1);
  WindowAttributes attributes;
  Shape lengths;
  if (weights.size () < 3 || groups < 1 || groups > (1 << 24))
    return l.fail (error, "unsupported group %" G_GINT64_FORMAT, groups);
  if (!check_operands (l, weights[1] * groups, groups, weights[0], error)
      || !read_window_attributes (l, from, spatial (weights), attributes, error)
      || !output_lengths (l, from, attributes, false, lengths, error))
    return false;
  if (attributes.window != spatial (weights))
    return l.fail (error, "kernel_shape differs from the weights");

  const Array *taps = l.constant (l.input (1));
  const Array *bias = l.has (2) ? l.constant (l.input (2)) : nullptr;
  const ElementType type = l.value (data).type;
  const Shape to = joined (from[0], weights[0], lengths);
  const bool is_constant = taps && (!l.has (2) || bias)
                           && (type == ElementType::f32 || type == ElementType::f16);
  /* Each convolution packs its weights, which may be one constant for several. */
  if (is_constant && !l.reserve (taps->type, weights, error))
    return false;
  if (is_constant && attributes.rank () == 2)
    return give (l, l.add (convolution_op (*taps, bias, groups, attributes), {data}, type,
                        to, error));
  if (is_constant && attributes.rank () == 1) {
    /* One dimension is two, of which one has length 1. */
    for (std::vector<gint64> *values : {&attributes.stride, &attributes.dilation})
      values->insert (values->begin (), 1);
    attributes.before.insert (attributes.before.begin (), 0);
    const ValueId row = l.reshape (data, {from[0], from[1], 1, from[2]}, error);
    if (row == no_value)
      return false;
    const ValueId made =
        l.add (convolution_op (taps->reshaped ({weights[0], weights[1], 1, weights[2]}),
                   bias, groups, attributes),
            {row}, type, {to[0], to[1], 1, to[2]}, error);
    return made != no_value && give (l, l.reshape (made, to, error));
  }
  std::vector<ValueId> inputs = {data, l.input (1)};
  if (l.has (2))
    inputs.push_back (l.input (2));
  return give (l, l.add (window_op (WindowOp::convolve, attributes, groups), inputs, type,
                      to, error));
}

/* output_shape overrides pads; auto_pad SAME makes the output stride times as large. */
bool
read_transposed_padding (Lowering &l, const Shape &from, WindowAttributes &attributes,
    const std::vector<gint64> &extra, Shape &lengths, GError **error)
{
  const Node &node = l.node ();
  const std::vector<gint64> wanted = node.integers ("output_shape");
  const std::string automatic = node.text ("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  const gsize rank = attributes.rank ();

  if (!wanted.empty () && wanted.size () != rank && wanted.size () != rank + 2)
    return l.fail (error, "output_shape has %" G_GSIZE_FORMAT " numbers", wanted.size ());
  for (gsize d = 0; d < rank; d++) {
    const gint64 full =
        (from[d + 2] - 1) * attributes.stride[d] + extra[d] + attributes.reach (d);
    gint64 &before = attributes.before[d], &after = attributes.after[d];
    if (!wanted.empty () || same) {
      const gint64 length = wanted.empty () ? from[d + 2] * attributes.stride[d]
                                            : wanted[wanted.size () - rank + d];
      const gint64 total = std::max (full - length, gint64 (0));
      before = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after = total - before;
      lengths.push_back (length);
    } else {
      if (automatic == "VALID")
        before = after = 0;
      lengths.push_back (full - before - after);
    }
    if (lengths.back () < 1 || lengths.back () > (1 << 24) || before < 0)
      return l.fail (
          error, "the output would have length %" G_GINT64_FORMAT, lengths.back ());
  }
  return true;
}

/* A transposed convolution as a convolution that computes the stride x stride outputs of each
 * position as channels, which then become rows and columns. Along one dimension, output o is
 * the sum of input[q - j] * weight[phase + j * stride] over j, with q = (o + before) / stride
 * and phase = (o + before) % stride. */
class Phases {
public:
  Phases (const Array &weights, const Shape &from, const Shape &lengths, gint64 groups,
      const WindowAttributes &attributes)
      : weights (weights), groups (groups)
  {
    for (gsize d = 0; d < 2; d++) {
      stride[d] = attributes.stride[d];
      taps[d] = (weights.shape[d + 2] + stride[d] - 1) / stride[d];
      first[d] = std::min (attributes.before[d] / stride[d], taps[d] - 1);
      skipped[d] = attributes.before[d] - first[d] * stride[d];
      positions[d] = (skipped[d] + lengths[d] + stride[d] - 1) / stride[d];
    }
    channels_of_group = from[1] / groups;
    filters = weights.shape[1] * groups;
  }

  ValueId lower (
      Lowering &l, ValueId data, const Array *bias, const Shape &to, GError **error) const
  {
    const gint64 images = to[0], y = stride[0], x = stride[1];
    ConvolutionOp what;
    if (!l.reserve (
            weights.type, {filters * y * x, channels_of_group, taps[0], taps[1]}, error))
      return no_value;
    what.weights = filters_of_phases ();
    what.groups = groups;
    for (gsize d = 0; d < 2; d++)
      what.before[d] = taps[d] - 1 - first[d];
    for (gint64 f = 0; bias && f < filters * y * x; f++)
      what.bias.push_back (float (bias->number (gsize (filter_of (f)))));
    ValueId id = l.add (what, {data}, l.value (data).type,
        {images, filters * y * x, positions[0], positions[1]}, error);
    if (id != no_value)
      id = l.reshape (id,
          {images, groups, y, x, filters / groups, positions[0], positions[1]}, error);
    if (id != no_value)
      id = l.transpose (id, {0, 1, 4, 5, 2, 6, 3}, error);
    if (id != no_value)
      id = l.reshape (id, {images, filters, positions[0] * y, positions[1] * x}, error);
    return id == no_value
               ? id
               : l.slice (id, {0, 0, skipped[0], skipped[1]}, {1, 1, 1, 1}, to, error);
  }

private:
  /* Channels of the convolution are [group][row][column][filter of the group]. */
  gint64 filter_of (gint64 channel) const
  {
    const gint64 per_group = filters / groups;
    return channel / (per_group * stride[0] * stride[1]) * per_group
           + channel % per_group;
  }

  Array filters_of_phases () const
  {
    const gint64 y = stride[0], x = stride[1], rows = weights.shape[2],
                 columns = weights.shape[3], per_group = filters / groups;
    Array result (weights.type, {filters * y * x, channels_of_group, taps[0], taps[1]});
    gsize n = 0;
    for (gint64 f = 0; f < filters * y * x; f++)
      for (gint64 c = 0; c < channels_of_group; c++)
        for (gint64 j = taps[0] - 1; j >= 0; j--)
          for (gint64 i = taps[1] - 1; i >= 0; i--, n++) {
            const gint64 filter = filter_of (f), phase = f / per_group % (y * x);
            const gint64 row = phase / x + j * y, column = phase % x + i * x;
            const gint64 channel = filter / per_group * channels_of_group + c;
            const gint64 place = (channel * per_group + filter % per_group) * rows + row;
            result.set_number (n, row < rows && column < columns
                                      ? weights.number (gsize (place * columns + column))
                                      : 0);
          }
    return result;
  }

  const Array &weights;
  gint64 groups, channels_of_group, filters;
  gint64 stride[2], taps[2];
  gint64 first[2];     /* first position that is computed */
  gint64 skipped[2];   /* outputs of it that are padding */
  gint64 positions[2]; /* that are computed */
};

bool
conv_transpose (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data), weights = l.shape (l.input (1));
  const gint64 groups = l.node ().integer ("group", 1);
  WindowAttributes attributes;
  Shape lengths;
  if (weights.size () < 3 || groups < 1 || groups > (1 << 24))
    return l.fail (error, "unsupported group %" G_GINT64_FORMAT, groups);
  if (!check_operands (l, weights[0], groups, weights[1] * groups, error)
      || !read_window_attributes (l, from, spatial (weights), attributes, error))
    return false;
  if (attributes.window != spatial (weights))
    return l.fail (error, "kernel_shape differs from the weights");
  std::vector<gint64> extra = l.node ().integers ("output_padding");
  extra.resize (attributes.rank (), 0);
  for (const gint64 lines : extra)
    if (lines < 0 || lines > (1 << 24))
      return l.fail (error, "unsupported output_padding %" G_GINT64_FORMAT, lines);
  if (!read_transposed_padding (l, from, attributes, extra, lengths, error))
    return false;
  const Shape to = joined (from[0], weights[1] * groups, lengths);
  const Array *taps = l.constant (l.input (1));
  const Array *bias = l.has (2) ? l.constant (l.input (2)) : nullptr;
  const ElementType type = l.value (data).type;
  /* A stride beyond the window would make more weights of zeros than others. */
  if (taps && (!l.has (2) || bias) && attributes.dilation == std::vector<gint64>{1, 1}
      && attributes.stride[0] <= attributes.window[0]
      && attributes.stride[1] <= attributes.window[1]
      && (type == ElementType::f32 || type == ElementType::f16))
    return give (l, Phases (*taps, from, lengths, groups, attributes)
                        .lower (l, data, bias, to, error));
  std::vector<ValueId> inputs = {data, l.input (1)};
  if (l.has (2))
    inputs.push_back (l.input (2));
  return give (l, l.add (window_op (WindowOp::transposed, attributes, groups), inputs,
                      type, to, error));
}
} // namespace

const std::vector<Operator> convolution_operators = {
    {"Conv", 2, 3, conv},
    {"ConvTranspose", 2, 3, conv_transpose},
};
} // namespace inference
