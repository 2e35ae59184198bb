/* Poolings of ONNX
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

namespace inference {
namespace {
/* Reduces all spatial dimensions. */
bool
reduce (Lowering &l, Reduction kind, GError **error)
{
  Shape shape = l.shape (l.input (0));
  ReduceOp what{kind, std::vector<bool> (shape.size (), false)};
  for (gsize d = 2; d < shape.size (); d++) {
    what.axes[d] = true;
    shape[d] = 1;
  }
  const ValueId result =
      l.add (what, {l.input (0)}, l.value (l.input (0)).type, shape, error);
  l.set_output (0, result);
  return result != no_value;
}

/* Does one window cover just the input? */
bool
is_global (const Shape &from, const Shape &lengths, const WindowOp &what)
{
  for (gsize d = 0; d < lengths.size (); d++)
    if (lengths[d] != 1 || what.window[d] != from[d + 2] || what.dilation[d] != 1
        || what.before[d] != 0 || what.after[d] != 0)
      return false;
  return true;
}

bool
pool (Lowering &l, WindowOp::Kind kind, GError **error)
{
  const ValueId data = l.input (0);
  const Shape from = l.shape (data);
  WindowAttributes attributes;
  Shape lengths;
  if (!read_window_attributes (l, from, {}, attributes, error)
      || !output_lengths (
          l, from, attributes, l.node ().integer ("ceil_mode", 0) != 0, lengths, error))
    return false;

  WindowOp what{};
  what.kind = kind;
  what.window = attributes.window;
  what.stride = attributes.stride;
  what.dilation = attributes.dilation;
  what.before = attributes.before;
  what.after = attributes.after;
  what.counts_padding = l.node ().integer ("count_include_pad", 0) != 0;

  if (is_global (from, lengths, what))
    return reduce (
        l, kind == WindowOp::maximum ? Reduction::maximum : Reduction::mean, error);
  lengths.insert (lengths.begin (), {from[0], from[1]});
  return give (l, l.add (what, {data}, l.value (data).type, lengths, error));
}

template <WindowOp::Kind kind>
bool
pool_of (Lowering &l, GError **error)
{
  return pool (l, kind, error);
}

/* GlobalAveragePool and GlobalMaxPool */
template <Reduction kind>
bool
global (Lowering &l, GError **error)
{
  return l.shape (l.input (0)).size () >= 2
             ? reduce (l, kind, error)
             : l.fail (error, "expected (images, channels, …)");
}
} // namespace

const std::vector<Operator> pooling_operators = {
    {"MaxPool", 1, 1, pool_of<WindowOp::maximum>},
    {"AveragePool", 1, 1, pool_of<WindowOp::average>},
    {"GlobalAveragePool", 1, 1, global<Reduction::mean>},
    {"GlobalMaxPool", 1, 1, global<Reduction::maximum>},
};
} // namespace inference
