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
  what.column_major = l.node ().integer ("storage_order", 0) != 0;

  const bool has_indices =
      kind == WindowOp::maximum && l.outputs () > 1 && !l.node ().outputs[1].empty ();
  if (!has_indices && is_global (from, lengths, what))
    return reduce (
        l, kind == WindowOp::maximum ? Reduction::maximum : Reduction::mean, error);

  Value output, indices;
  output.type = l.value (data).type;
  output.shape = {from[0], from[1]};
  output.shape.insert (output.shape.end (), lengths.begin (), lengths.end ());
  indices.type = ElementType::i64;
  indices.shape = output.shape;
  std::vector<Value> outputs = {output};
  if (has_indices)
    outputs.push_back (indices);
  std::vector<ValueId> ids;
  if (!l.add (what, {data}, outputs, ids, error))
    return false;
  for (gsize n = 0; n < ids.size (); n++)
    l.set_output (n, ids[n]);
  return true;
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
/* (sum of |x|^p)^(1/p) over all spatial dimensions */
bool
global_power (Lowering &l, GError **error)
{
  const ValueId data = l.input (0);
  const double p = double (l.node ().integer ("p", 2));
  std::vector<bool> reduced (l.shape (data).size (), true);
  if (reduced.size () < 2 || p < 1)
    return l.fail (error, "expected (images, channels, …) and p from 1");
  reduced[0] = reduced[1] = false;
  Formula f (l, error);
  if (p == 1 || p == 2)
    return f.give (f.reduce (p == 1 ? Reduction::l1 : Reduction::l2, data, reduced));
  const ValueId powers = f.op ("Pow", f.op ("Abs", {data}), p);
  return f.give (f.op ("Pow", f.reduce (Reduction::sum, powers, reduced), 1 / p));
}
} // namespace

const std::vector<Operator> pooling_operators = {
    {"MaxPool", 1, 1, pool_of<WindowOp::maximum>},
    {"AveragePool", 1, 1, pool_of<WindowOp::average>},
    {"GlobalAveragePool", 1, 1, global<Reduction::mean>},
    {"GlobalMaxPool", 1, 1, global<Reduction::maximum>},
    {"GlobalLpPool", 1, 1, global_power},
};
} // namespace inference
