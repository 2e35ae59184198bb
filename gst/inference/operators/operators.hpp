/* Operators of ONNX by name, and the attributes that windows share
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../graph/lowering.hpp"

namespace inference {
/* The supported operators, a table for each family */
constexpr gsize any_number = G_MAXSIZE;

extern const std::vector<Operator> elementwise_operators, view_operators, shape_operators,
    convolution_operators, pooling_operators, reduction_operators, product_operators,
    resize_operators, normalization_operators, index_operators, region_operators;

/* Gather by indices that are no constants */
ValueId gather_rows (
    Lowering &l, ValueId data, ValueId indices, gint64 axis, GError **error);
    resize_operators, normalization_operators, quantization_operators;

/* Attributes that convolutions and poolings share: windows, strides, paddings */
/* A vector has an entry for each spatial dimension, one to three. */
struct WindowAttributes {
  std::vector<gint64> window, stride, dilation, before, after;

  gsize rank () const { return window.size (); }
  /* Elements that a window covers along dimension `d` */
  gint64 reach (gsize d) const { return (window[d] - 1) * dilation[d] + 1; }
};

/* Reads the node's attributes for an input (images, channels, …). `window` is kernel_shape
 * if the node does not have it. Resolves auto_pad. */
bool read_window_attributes (Lowering &l, const Shape &input, const Shape &window,
    WindowAttributes &attributes, GError **error);

/* Lengths of the spatial dimensions of the output. With `ceiling` a window may begin inside
 * the input and reach beyond the padding. */
bool output_lengths (Lowering &l, const Shape &input, const WindowAttributes &attributes,
    bool ceiling, Shape &lengths, GError **error);
} // namespace inference
