/* Operators of ONNX by name, and the attributes that windows share
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>

namespace inference {
static const std::vector<Operator> *const families[] = {&elementwise_operators,
    &view_operators, &shape_operators, &convolution_operators, &pooling_operators,
    &reduction_operators, &product_operators, &resize_operators, &normalization_operators,
    &index_operators, &region_operators, &quantization_operators, &composed_operators,
    &recurrent_operators};

const Operator *
operator_named (const std::string &name)
{
  for (const std::vector<Operator> *family : families)
    for (const Operator &op : *family)
      if (name == op.name)
        return &op;
  return nullptr;
}

std::vector<std::string>
operator_names ()
{
  std::vector<std::string> names;
  for (const std::vector<Operator> *family : families)
    for (const Operator &op : *family)
      names.push_back (op.name);
  std::sort (names.begin (), names.end ());
  return names;
}

/* --- formulas --- */

ValueId
Formula::part (ValueId x, gsize axis, gint64 start, gint64 length)
{
  if (!known ({x}))
    return no_value;
  Shape lengths = l.shape (x);
  std::vector<gint64> starts (lengths.size (), 0), steps (lengths.size (), 1);
  lengths[axis] = length;
  starts[axis] = start;
  return l.slice (x, starts, steps, lengths, error);
}

ValueId
Formula::reduce (Reduction kind, ValueId x, const std::vector<bool> &reduced)
{
  return known ({x}) ? add_reduction (l, kind, x, reduced, error) : no_value;
}

ValueId
Formula::product (ValueId a, ValueId b)
{
  return known ({a, b}) ? matrix_product (l, a, b, error) : no_value;
}

/* --- windows --- */

namespace {
const gint64 largest = 1 << 24; /* of an attribute */

bool
check (Lowering &l, const char *name, const std::vector<gint64> &values, gsize count,
    gint64 least, GError **error)
{
  if (values.size () == count
      && std::all_of (values.begin (), values.end (),
          [&] (gint64 value) { return value >= least && value <= largest; }))
    return true;
  return l.fail (error, "%s: expected %" G_GSIZE_FORMAT " numbers from %" G_GINT64_FORMAT,
      name, count, least);
}

std::vector<gint64>
values_or_ones (const Node &node, const char *name, gsize count)
{
  std::vector<gint64> values = node.integers (name);
  return values.empty () ? std::vector<gint64> (count, 1) : values;
}
} // namespace

bool
read_window_attributes (Lowering &l, const Shape &input, const Shape &window,
    WindowAttributes &attributes, GError **error)
{
  const Node &node = l.node ();
  if (input.size () < 3 || input.size () > 5)
    return l.fail (error, "expected one to three spatial dimensions");
  const gsize rank = input.size () - 2;
  attributes.window = node.integers ("kernel_shape");
  if (attributes.window.empty ())
    attributes.window = window;
  attributes.stride = values_or_ones (node, "strides", rank);
  attributes.dilation = values_or_ones (node, "dilations", rank);
  if (!check (l, "kernel_shape", attributes.window, rank, 1, error)
      || !check (l, "strides", attributes.stride, rank, 1, error)
      || !check (l, "dilations", attributes.dilation, rank, 1, error))
    return false;

  std::vector<gint64> pads = node.integers ("pads");
  if (pads.empty ())
    pads.resize (2 * rank, 0);
  if (!check (l, "pads", pads, 2 * rank, 0, error))
    return false;
  attributes.before.assign (pads.begin (), pads.begin () + gssize (rank));
  attributes.after.assign (pads.begin () + gssize (rank), pads.end ());

  const std::string automatic = node.text ("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty ())
    return true;
  if (automatic != "VALID" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
    return l.fail (error, "unsupported auto_pad %s", automatic.c_str ());
  for (gsize d = 0; d < rank; d++) {
    const gint64 length = input[d + 2], stride = attributes.stride[d];
    const gint64 outputs = (length + stride - 1) / stride;
    const gint64 total =
        automatic == "VALID"
            ? 0
            : std::max (
                (outputs - 1) * stride + attributes.reach (d) - length, gint64 (0));
    attributes.before[d] = automatic == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
    attributes.after[d] = total - attributes.before[d];
  }
  return true;
}

bool
output_lengths (Lowering &l, const Shape &input, const WindowAttributes &attributes,
    bool ceiling, Shape &lengths, GError **error)
{
  lengths.clear ();
  for (gsize d = 0; d < attributes.rank (); d++) {
    const gint64 stride = attributes.stride[d], length = input[d + 2];
    const gint64 room =
        length + attributes.before[d] + attributes.after[d] - attributes.reach (d);
    if (room < 0)
      return l.fail (error, "the window is larger than the padded input");
    gint64 outputs = room / stride + 1;
    if (ceiling && room % stride != 0 && outputs * stride < length + attributes.before[d])
      outputs++;
    lengths.push_back (outputs);
  }
  return true;
}
} // namespace inference
