/* Attributes that convolutions and poolings share: windows, strides, paddings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../graph/lowering.hpp"

namespace inference {
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
