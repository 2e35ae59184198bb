/* Operators of ONNX that rearrange elements: views, and joins of arrays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <numeric>

namespace inference {
namespace {
/* Values that are an attribute in old opsets and input `n` in newer ones */
bool
integers_of (Lowering &l, const char *attribute, gsize n, std::vector<gint64> &values,
    bool &given, GError **error)
{
  given = l.has (n) || l.node ().has (attribute);
  if (l.has (n))
    return l.integers_of_input (n, values, error);
  values = l.node ().integers (attribute);
  return true;
}

bool
identity (Lowering &l, GError **error)
{
  return give (l, l.input (0));
}

/* Runs both branches and selects their outputs, which must have one type and shape. */
bool
select_branch (Lowering &l, GError **error)
{
  if (l.value (l.input (0)).type != ElementType::boolean)
    return l.fail (error, "expected a condition of type bool");
  std::vector<ValueId> yes, no;
  if (!l.take_branch ("then_branch", yes, error)
      || !l.take_branch ("else_branch", no, error))
    return false;
  Formula f (l, error);
  const ValueId condition = f.reshape (l.input (0), {});
  for (gsize n = 0; n < yes.size (); n++) {
    const Value &a = l.value (yes[n]), &b = l.value (no[n]);
    if (a.type != b.type || a.shape != b.shape)
      return l.fail (error,
          "output \"%s\" is %s %s in then_branch and %s %s in else_branch, expected one "
          "type and shape for a computed condition",
          l.node ().outputs[n].c_str (), info_of (a.type).name,
          text_of (a.shape).c_str (), info_of (b.type).name, text_of (b.shape).c_str ());
    if (!give (l, yes[n] == no[n] ? yes[n] : f.where (condition, yes[n], no[n]), n))
      return false;
  }
  return true;
}

/* Takes the branch of a constant condition, as those on shapes are. */
bool
choose_branch (Lowering &l, GError **error)
{
  if (count_of (l.shape (l.input (0))) != 1)
    return l.fail (error, "expected one condition");
  const Array *condition = l.constant (l.input (0));
  if (!condition)
    return select_branch (l, error);
  std::vector<ValueId> outputs;
  const char *branch = condition->integer (0) ? "then_branch" : "else_branch";
  if (!l.take_branch (branch, outputs, error))
    return false;
  for (gsize n = 0; n < outputs.size (); n++)
    l.set_output (n, outputs[n]);
  return true;
}

/* For inference, and in training with a ratio of 0: the identity. The mask, if it is an output,
 * is all true. */
bool
dropout (Lowering &l, GError **error)
{
  if (l.has (2)) {
    const Array *training = l.constant_input (2, error);
    if (!training)
      return false;
    const Array *ratio = l.has (1) ? l.constant (l.input (1)) : nullptr;
    const bool keeps_all = ratio && ratio->count () == 1 && ratio->number (0) == 0;
    if (training->count () != 1 || (training->integer (0) != 0 && !keeps_all))
      return l.fail (error, "training_mode is not supported");
  }
  if (l.outputs () > 1 && !l.node ().outputs[1].empty ()) {
    Array one (ElementType::boolean, {});
    one.set_integer (0, 1);
    if (!l.reserve (one.type, l.shape (l.input (0)), error))
      return false;
    l.set_output (1, l.add_constant (expanded (one, l.shape (l.input (0)))));
  }
  return give (l, l.input (0));
}

bool
reshape (Lowering &l, GError **error)
{
  std::vector<gint64> wanted;
  if (!l.integers_of_input (1, wanted, error))
    return false;
  const Shape &from = l.shape (l.input (0));
  const bool zero_is_length = l.node ().integer ("allowzero", 0) != 0;
  gint64 known = 1, *unknown = nullptr;
  for (gsize d = 0; d < wanted.size (); d++) {
    if (wanted[d] == 0 && !zero_is_length) {
      if (d >= from.size ())
        return l.fail (error, "0 in the shape, but no dimension to take it from");
      wanted[d] = from[d];
    }
    if (wanted[d] == -1 && !unknown)
      unknown = &wanted[d];
    else if (wanted[d] < 0)
      return l.fail (error, "expected lengths from 0 on, and at most one -1");
    else if (wanted[d] > 0 && known > G_MAXINT32 / wanted[d])
      return l.fail (error, "the shape is too large");
    else
      known *= wanted[d];
  }
  const gint64 count = count_of (from);
  if (unknown) {
    if (known == 0 || count % known != 0)
      return l.fail (
          error, "the shape does not divide %" G_GINT64_FORMAT " elements", count);
    *unknown = count / known;
  }
  return give (l, l.reshape (l.input (0), wanted, error));
}

bool
flatten (Lowering &l, GError **error)
{
  const Shape &from = l.shape (l.input (0));
  gint64 axis = l.node ().integer ("axis", 1);
  if (axis < -gint64 (from.size ()) || axis > gint64 (from.size ()))
    return l.fail (error, "the input has no axis %" G_GINT64_FORMAT, axis);
  if (axis < 0)
    axis += gint64 (from.size ());
  const Shape outer (from.begin (), from.begin () + axis),
      inner (from.begin () + axis, from.end ());
  return give (l, l.reshape (l.input (0), {count_of (outer), count_of (inner)}, error));
}

bool
squeeze (Lowering &l, GError **error)
{
  std::vector<gint64> axes;
  bool given;
  if (!integers_of (l, "axes", 1, axes, given, error))
    return false;
  const Shape &from = l.shape (l.input (0));
  std::vector<bool> gone (from.size (), false);
  for (gint64 axis : axes) {
    if (!l.normalize_axis (axis, from.size (), error))
      return false;
    if (from[gsize (axis)] != 1)
      return l.fail (
          error, "dimension %" G_GINT64_FORMAT " has a length other than 1", axis);
    gone[gsize (axis)] = true;
  }
  Shape to;
  for (gsize d = 0; d < from.size (); d++)
    if (!gone[d] && (given || from[d] != 1))
      to.push_back (from[d]);
  return give (l, l.reshape (l.input (0), to, error));
}

bool
unsqueeze (Lowering &l, GError **error)
{
  std::vector<gint64> axes;
  bool given;
  if (!integers_of (l, "axes", 1, axes, given, error))
    return false;
  const Shape &from = l.shape (l.input (0));
  const gsize rank = from.size () + axes.size ();
  std::vector<bool> added (rank, false);
  for (gint64 axis : axes) {
    if (!l.normalize_axis (axis, rank, error))
      return false;
    if (added[gsize (axis)])
      return l.fail (error, "axis %" G_GINT64_FORMAT " is given twice", axis);
    added[gsize (axis)] = true;
  }
  Shape to;
  for (gsize d = 0, own = 0; d < rank; d++)
    to.push_back (added[d] ? 1 : from[own++]);
  return give (l, l.reshape (l.input (0), to, error));
}

bool
transpose (Lowering &l, GError **error)
{
  std::vector<gint64> order = l.node ().integers ("perm");
  if (order.empty ()) {
    order.resize (l.shape (l.input (0)).size ());
    std::iota (order.rbegin (), order.rend (), 0);
  }
  return give (l, l.transpose (l.input (0), order, error));
}

bool
expand (Lowering &l, GError **error)
{
  std::vector<gint64> wanted;
  return l.integers_of_input (1, wanted, error)
         && give (l, l.expand (l.input (0), wanted, error));
}

/* One dimension after the other: (outer, inner) is repeated to (outer, repeats, inner). */
bool
tile (Lowering &l, GError **error)
{
  std::vector<gint64> repeats;
  Shape to = l.shape (l.input (0));
  gint64 count;
  if (!l.integers_of_input (1, repeats, error))
    return false;
  if (repeats.size () != to.size ())
    return l.fail (error, "expected a number of repeats for each dimension");
  Formula f (l, error);
  ValueId result = l.input (0);
  for (gsize d = 0; d < to.size (); d++) {
    const gint64 outer = count_of (Shape (to.begin (), to.begin () + gssize (d))),
                 inner = count_of (Shape (to.begin () + gssize (d), to.end ()));
    if (!count_within ({repeats[d], outer, inner}, G_MAXINT32, count))
      return l.fail (
          error, "unsupported number of repeats %" G_GINT64_FORMAT, repeats[d]);
    to[d] *= repeats[d];
    if (repeats[d] == 0)
      return f.give (l.add_constant (Array (l.value (l.input (0)).type, to)));
    if (repeats[d] == 1)
      continue;
    result = f.reshape (result, {outer, 1, inner});
    result = f.reshape (f.expand (result, {outer, repeats[d], inner}), to);
  }
  return f.give (result);
}

/* Start, end and step of a dimension as the number of elements, by Python's rules */
gint64
clamp_slice (gint64 length, gint64 &start, gint64 end, gint64 step)
{
  const gint64 last = step > 0 ? length : length - 1, first = step > 0 ? 0 : -1;
  auto place = [&] (gint64 at) { return at < 0 ? at + length : at; };
  /* Unlike NumPy's, a start before the first element is that element. */
  start = std::clamp (
      start < -length ? first : place (start), std::min<gint64> (last, 0), last);
  end = std::clamp (end < -length ? first : place (end), first, last);
  const gint64 span = step > 0 ? end - start : start - end;
  const gint64 stride = step > 0 ? step : step == G_MININT64 ? G_MAXINT64 : -step;
  return span <= 0 ? 0 : (span - 1) / stride + 1;
}

bool
slice (Lowering &l, GError **error)
{
  std::vector<gint64> starts, ends, axes, steps;
  bool given;
  if (!integers_of (l, "starts", 1, starts, given, error)
      || !integers_of (l, "ends", 2, ends, given, error)
      || !integers_of (l, "axes", 3, axes, given, error)
      || !integers_of (l, "steps", 4, steps, given, error))
    return false;
  const Shape &from = l.shape (l.input (0));
  if (axes.empty ()) {
    axes.resize (starts.size ());
    std::iota (axes.begin (), axes.end (), 0);
  }
  if (steps.empty ())
    steps.resize (starts.size (), 1);
  if (ends.size () != starts.size () || axes.size () != starts.size ()
      || steps.size () != starts.size ())
    return l.fail (error, "starts, ends, axes and steps differ in length");
  Shape lengths = from;
  std::vector<gint64> begins (from.size (), 0), strides (from.size (), 1);
  for (gsize n = 0; n < starts.size (); n++) {
    if (!l.normalize_axis (axes[n], from.size (), error))
      return false;
    if (steps[n] == 0)
      return l.fail (error, "a step is 0");
    const gsize d = gsize (axes[n]);
    begins[d] = starts[n];
    lengths[d] = clamp_slice (from[d], begins[d], ends[n], steps[n]);
    strides[d] = lengths[d] > 1 ? steps[n] : 1;
    begins[d] = lengths[d] > 0 ? begins[d] : 0;
  }
  return give (l, l.slice (l.input (0), begins, strides, lengths, error));
}

/* Lengths are an attribute before opset 13, then an input; without them the parts are equal,
 * and the last one may be shorter. */
bool
split (Lowering &l, GError **error)
{
  std::vector<gint64> parts;
  bool given;
  if (!integers_of (l, "split", 1, parts, given, error))
    return false;
  const Shape from = l.shape (l.input (0));
  gint64 axis = l.node ().integer ("axis", 0), begin = 0;
  if (!l.normalize_axis (axis, from.size (), error))
    return false;
  const gint64 length = from[gsize (axis)], outputs = gint64 (l.outputs ());
  if (outputs == 0)
    return l.fail (error, "the node has no outputs");
  if (!given) {
    const gint64 part = (length + outputs - 1) / outputs;
    for (gint64 n = 0; n < outputs; n++)
      parts.push_back (std::clamp (length - n * part, gint64 (0), part));
  }
  if (gint64 (parts.size ()) != outputs)
    return l.fail (error, "%" G_GSIZE_FORMAT " lengths for %" G_GINT64_FORMAT " outputs",
        parts.size (), outputs);
  for (gsize n = 0; n < parts.size (); n++) {
    if (parts[n] < 0 || parts[n] > length - begin)
      return l.fail (error, "the parts are longer than the dimension");
    std::vector<gint64> starts (from.size (), 0);
    Shape lengths = from;
    starts[gsize (axis)] = begin;
    lengths[gsize (axis)] = parts[n];
    const ValueId part = l.slice (
        l.input (0), starts, std::vector<gint64> (from.size (), 1), lengths, error);
    if (part == no_value)
      return false;
    l.set_output (n, part);
    begin += parts[n];
  }
  return begin == length || l.fail (error, "the parts are shorter than the dimension");
}

bool
concat (Lowering &l, GError **error)
{
  Shape shape = l.shape (l.input (0));
  const ElementType type = l.value (l.input (0)).type;
  gint64 axis = l.node ().integer ("axis", 0), length = 0;
  if (!l.normalize_axis (axis, shape.size (), error))
    return false;
  std::vector<ValueId> inputs;
  bool constant = true;
  for (gsize n = 0; n < l.inputs (); n++) {
    if (!l.has (n) || l.value (l.input (n)).type != type)
      return l.fail (error, "an input is missing or has another type");
    Shape own = l.shape (l.input (n));
    if (own.size () != shape.size ())
      return l.fail (error, "the inputs differ in rank");
    length += own[gsize (axis)];
    own[gsize (axis)] = shape[gsize (axis)];
    if (own != shape)
      return l.fail (error, "the inputs differ in other dimensions than the axis");
    constant = constant && l.constant (l.input (n));
    if (count_of (l.shape (l.input (n))) > 0)
      inputs.push_back (l.input (n));
  }
  shape[gsize (axis)] = length;
  if (inputs.size () == 1)
    return give (l, inputs[0]);
  if (!constant)
    return give (l, l.add (ConcatOp{axis}, inputs, type, shape, error));

  if (!l.reserve (type, shape, error, growth_effort))
    return false;
  Array joined (type, shape);
  const gint64 outer =
      count_of (Shape (shape.begin (), shape.begin () + axis)); /* blocks of each input */
  guint8 *to = joined.writable ();
  for (gint64 block = 0; block < outer; block++) {
    for (const ValueId id : inputs) {
      const Array *from = l.constant (id);
      const gsize bytes = from->size () / gsize (outer);
      std::copy_n (from->bytes () + gsize (block) * bytes, bytes, to);
      to += bytes;
    }
  }
  return give (l, l.add_constant (joined));
}

/* (images, channels, height, width) with blocks of channels as pixels */
bool
depth_to_space (Lowering &l, GError **error)
{
  const Shape from = l.shape (l.input (0));
  const gint64 block = l.node ().integer ("blocksize", 0);
  const std::string mode = l.node ().text ("mode", "DCR");
  if (from.size () != 4 || block < 1 || block > G_MAXINT16
      || from[1] % (block * block) != 0 || (mode != "DCR" && mode != "CRD"))
    return l.fail (error, "unsupported blocksize %" G_GINT64_FORMAT ", mode %s", block,
        mode.c_str ());
  const gint64 channels = from[1] / (block * block);
  const bool depth_first = mode == "DCR";
  Formula f (l, error);
  const ValueId blocks = f.reshape (l.input (0),
      depth_first ? Shape{from[0], block, block, channels, from[2], from[3]}
                  : Shape{from[0], channels, block, block, from[2], from[3]});
  const ValueId pixels =
      f.transpose (blocks, depth_first ? std::vector<gint64>{0, 3, 4, 1, 5, 2}
                                       : std::vector<gint64>{0, 1, 4, 2, 5, 3});
  return f.give (
      f.reshape (pixels, {from[0], channels, from[2] * block, from[3] * block}));
}

bool
space_to_depth (Lowering &l, GError **error)
{
  const Shape from = l.shape (l.input (0));
  const gint64 block = l.node ().integer ("blocksize", 0);
  if (from.size () != 4 || block < 1 || block > G_MAXINT16 || from[2] % block != 0
      || from[3] % block != 0)
    return l.fail (error, "unsupported blocksize %" G_GINT64_FORMAT, block);
  Formula f (l, error);
  const ValueId blocks = f.reshape (
      l.input (0), {from[0], from[1], from[2] / block, block, from[3] / block, block});
  return f.give (f.reshape (f.transpose (blocks, {0, 3, 5, 1, 2, 4}),
      {from[0], from[1] * block * block, from[2] / block, from[3] / block}));
}
} // namespace

const std::vector<Operator> view_operators = {
    {"Identity", 1, 1, identity},
    {"Dropout", 1, 3, dropout},
    {"If", 1, 1, choose_branch},
    {"Reshape", 2, 2, reshape},
    {"Flatten", 1, 1, flatten},
    {"Squeeze", 1, 2, squeeze},
    {"Unsqueeze", 1, 2, unsqueeze},
    {"Transpose", 1, 1, transpose},
    {"Expand", 2, 2, expand},
    {"Tile", 2, 2, tile},
    {"Slice", 1, 5, slice},
    {"Split", 1, 2, split},
    {"Concat", 1, any_number, concat},
    {"DepthToSpace", 1, 1, depth_to_space},
    {"SpaceToDepth", 1, 1, space_to_depth},
};
} // namespace inference
