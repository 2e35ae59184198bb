/* Table of the ONNX operators, and common attributes of convolution and pooling
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../graph/lowering.hpp"

#include <algorithm>

namespace inference {
/* The supported operators, a table for each family */
constexpr gsize any_number = G_MAXSIZE;

extern const std::vector<Operator> elementwise_operators, view_operators, shape_operators,
    convolution_operators, pooling_operators, reduction_operators, product_operators,
    resize_operators, normalization_operators, index_operators, region_operators,
    quantization_operators, composed_operators, recurrent_operators;

/* Gather by indices that are no constants */
ValueId gather_rows (
    Lowering &l, ValueId data, ValueId indices, gint64 axis, GError **error);

/* Sets an output of the node, unless its operations failed. */
inline bool
give (Lowering &l, ValueId result, gsize output = 0)
{
  l.set_output (output, result);
  return result != no_value;
}

/* Adds the operations of a formula. After a failure all values are no_value, so that only the
 * last one needs a check. */
class Formula {
public:
  Formula (Lowering &l, GError **error) : l (l), error (error) {}

  ValueId op (const char *name, const std::vector<ValueId> &operands,
      const std::vector<double> &parameters = {})
  {
    return known (operands) ? l.elementwise (name, operands, error, parameters)
                            : no_value;
  }
  /* The second operand is a number. */
  ValueId op (const char *name, ValueId x, double number)
  {
    return known ({x}) ? op (name, {x, l.number (l.value (x).type, number)}) : no_value;
  }
  ValueId where (ValueId condition, ValueId x, ValueId y)
  {
    return known ({condition, x, y})
               ? op ("Where", {l.cast (condition, l.value (x).type, error), x, y})
               : no_value;
  }
  ValueId reshape (ValueId x, const Shape &shape)
  {
    return known ({x}) ? l.reshape (x, shape, error) : no_value;
  }
  ValueId transpose (ValueId x, const std::vector<gint64> &order)
  {
    return known ({x}) ? l.transpose (x, order, error) : no_value;
  }
  ValueId expand (ValueId x, const Shape &shape)
  {
    return known ({x}) ? l.expand (x, shape, error) : no_value;
  }
  /* Elements `start` to `start + length` of a dimension */
  ValueId part (ValueId x, gsize axis, gint64 start, gint64 length);
  /* The reduced dimensions have length 1. */
  ValueId reduce (Reduction kind, ValueId x, const std::vector<bool> &reduced);
  ValueId product (ValueId a, ValueId b);
  /* The result is output 0 of the node. */
  bool give (ValueId result) { return inference::give (l, result); }

private:
  static bool known (const std::vector<ValueId> &ids)
  {
    return std::count (ids.begin (), ids.end (), no_value) == 0;
  }

  Lowering &l;
  GError **error;
};

/* Adds a reduction, or folds it. */
ValueId add_reduction (Lowering &l, Reduction kind, ValueId data,
    const std::vector<bool> &reduced, GError **error);
/* The product of the last two dimensions; the others broadcast. */
ValueId matrix_product (Lowering &l, ValueId a, ValueId b, GError **error);

/* An activation of ONNX, with its parameters' names and initial values */
struct Activated {
  const char *op;
  std::vector<std::pair<const char *, double>> parameters;
};
/* (nullable) */
const Activated *activation_named (const std::string &name);

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
