/* Assigns memory, offset and strides to every value of a graph
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "placement.hpp"

#include "tensor.hpp"

#include <algorithm>
#include <map>

namespace inference {
namespace {
using opencl::NumberType;

/* --- views --- */

/* Finds strides with which a tensor of shape `to` uses the memory of `from`, which has as
 * many elements. Returns false if a dimension would need more than one stride. NumPy's
 * reshape copies in that case. */
bool
reshaped_strides (const Tensor &from, const Shape &to, std::vector<gint64> &strides)
{
  Shape own;
  std::vector<gint64> steps;
  for (gsize d = 0; d < from.rank (); d++) {
    if (from.shape[d] == 1)
      continue;
    own.push_back (from.shape[d]);
    steps.push_back (from.strides[d]);
  }
  strides.assign (to.size (), 0);
  gsize i = 0, j = 0;
  while (i < own.size () && j < to.size ()) {
    gint64 left = own[i], right = to[j];
    gsize end_i = i + 1, end_j = j + 1;
    while (left != right) {
      if (left < right) {
        if (end_i == own.size ())
          return false;
        left *= own[end_i++];
      } else {
        if (end_j == to.size ())
          return false;
        right *= to[end_j++];
      }
    }
    for (gsize k = i; k + 1 < end_i; k++)
      if (steps[k] != steps[k + 1] * own[k + 1])
        return false;
    gint64 step = steps[end_i - 1];
    for (gsize k = end_j; k > j; k--) {
      strides[k - 1] = step;
      step *= to[k - 1];
    }
    i = end_i;
    j = end_j;
  }
  for (; j < to.size (); j++)
    strides[j] = 1; /* length 1 */
  for (gsize d = to.size (); d-- > 0;)
    if (to[d] == 1)
      strides[d] = d + 1 < to.size () ? strides[d + 1] * to[d + 1] : 1;
  return true;
}

/* Describes the output of a view in the memory of its input. Returns false if the output
 * must be a copy instead. */
bool
view_of (const ViewOp &what, const Tensor &from, const Shape &shape, Tensor &to)
{
  to = from;
  to.shape = shape;
  switch (what.kind) {
  case ViewOp::reshape:
    return reshaped_strides (from, shape, to.strides);
  case ViewOp::transpose:
    for (gsize d = 0; d < shape.size (); d++)
      to.strides[d] = from.strides[gsize (what.order[d])];
    return true;
  case ViewOp::slice:
    for (gsize d = 0; d < shape.size (); d++) {
      to.offset += what.starts[d] * from.strides[d];
      to.strides[d] = what.steps[d] * from.strides[d];
    }
    return true;
  case ViewOp::expand:
    to.strides.assign (shape.size (), 0);
    for (gsize d = 0; d < from.rank (); d++)
      if (from.shape[d] != 1)
        to.strides[shape.size () - from.rank () + d] = from.strides[d];
    return true;
  }
  return false;
}

/* Describes the output `to` of a reshape with the dimensions `from` of its input, so that
 * a copy writes it in the input's order. Returns false if there are no such strides. */
bool
target_of_reshape (const Tensor &to, const Shape &from, Tensor &target)
{
  target = to;
  target.shape = from;
  return reshaped_strides (to, from, target.strides);
}

bool
has_same_innermost (const Tensor &a, const Tensor &b)
{
  for (gsize d = 0; d < a.rank (); d++)
    if (a.shape[d] > 1 && (a.strides[d] == 1) != (b.strides[d] == 1))
      return false;
  return true;
}

/* --- placement --- */

class Placing {
public:
  Placing (const Graph &graph, Precision precision,
      const std::vector<PortLayout> &input_layouts)
      : graph (graph), precision (precision), input_layouts (input_layouts),
        root (graph.values.size ()), is_viewed (graph.values.size (), false),
        maker (graph.values.size (), nullptr), keeps_type (graph.values.size (), false)
  {
    for (const Operation &operation : graph.operations) {
      for (const ValueId id : operation.outputs)
        maker[gsize (id)] = &operation;
      for (const ValueId id : operation.inputs)
        if (id != no_value && !converts_types (operation))
          keeps_type[gsize (id)] = true;
    }
  }
  Placements run ();

private:
  NumberType stored_type (const Value &value) const;
  bool is_output (ValueId id) const;
  void place_inputs ();
  void place_constants ();
  void place_results ();
  void place_operation (gsize n);
  bool wants_channels_last (const Operation &operation, const Shape &shape) const;
  bool copies_to_channels_last (const Operation &operation) const;
  void place_outputs ();
  bool can_lie (ValueId id, const Tensor &place) const;
  void join_parts ();
  void find_lifetimes ();

  Tensor &tensor (ValueId id) { return placements.tensors[gsize (id)]; }
  const Shape &shape (ValueId id) const { return graph[id].shape; }

  const Graph &graph;
  Precision precision;
  const std::vector<PortLayout> &input_layouts;
  Placements placements;
  std::vector<ValueId> root;            /* value that owns the memory of each value */
  std::vector<bool> is_viewed;          /* does a view show this value? */
  std::vector<const Operation *> maker; /* (nullable): of each value */
  std::vector<bool> keeps_type; /* is a reader's output of the type of this value? */
  MemoryId next = 1;
};

NumberType
Placing::stored_type (const Value &value) const
{
  if (precision == Precision::half && value.type == ElementType::f32 && !value.single)
    return NumberType::f16;
  return info_of (value.type).number;
}

/* Constants are contiguous. Weights of a ConvolutionOp are no values, and convolutions pack
 * them. */
void
Placing::place_constants ()
{
  std::vector<bool> used (graph.values.size (), false);
  for (const Operation &operation : graph.operations)
    for (const ValueId id : operation.inputs)
      if (id != no_value)
        used[gsize (id)] = true;
  for (const ValueId id : graph.outputs)
    used[gsize (id)] = true;
  for (gsize n = 0; n < graph.values.size (); n++) {
    const Value &value = graph.values[n];
    if (!value.constant || !used[n])
      continue;
    Tensor &placed = placements.tensors[n];
    placed = {
        next++, 0, value.shape, contiguous_strides (value.shape), stored_type (value)};
    root[n] = ValueId (n);
    placements.constants.push_back (ValueId (n));
  }
}

void
Placing::place_inputs ()
{
  for (gsize n = 0; n < graph.inputs.size (); n++) {
    const ValueId id = graph.inputs[n];
    const Value &value = graph[id];
    PortLayout layout;
    layout.type = info_of (value.type).number;
    if (n < input_layouts.size ())
      layout = input_layouts[n];
    tensor (id) = {next++, 0, value.shape,
        layout.channels_last && value.shape.size () >= 3
            ? channels_last_strides (value.shape)
            : contiguous_strides (value.shape),
        layout.type};
    root[gsize (id)] = id;
    placements.inputs.push_back (tensor (id));
  }
}

/* Images have their channels innermost, so that convolutions read them as they are. */
bool
Placing::wants_channels_last (const Operation &operation, const Shape &to) const
{
  if (to.size () < 3 || to.size () > 5)
    return false;
  const auto *convolution = std::get_if<ConvolutionOp> (&operation.what);
  if (convolution || std::holds_alternative<WindowOp> (operation.what))
    return !convolution || !convolution->of_rows;
  for (const ValueId id : operation.inputs) {
    if (id == no_value || shape (id).size () != to.size () || graph[id].constant)
      continue;
    const Tensor &from = placements.tensors[gsize (id)];
    if (from.shape[1] > 1 && from.strides[1] == 1)
      return true;
  }
  return false;
}

/* A reshape that copies keeps the innermost dimension if that is one of channels. */
bool
Placing::copies_to_channels_last (const Operation &operation) const
{
  const Shape &to = shape (operation.outputs[0]);
  const Tensor &from = placements.tensors[gsize (operation.inputs[0])];
  const Tensor last = {arena_memory, 0, to,
      to.size () == 4 ? channels_last_strides (to) : contiguous_strides (to), from.type};
  Tensor target;
  return to.size () == 4 && to[1] > 1 && target_of_reshape (last, from.shape, target)
         && has_same_innermost (target, from);
}

/* Strides of (…, heads, rows, columns) in memory as (…, rows, heads, columns), in which the
 * heads are joined next */
std::vector<gint64>
strides_by_row (Shape shape)
{
  const gsize rank = shape.size ();
  if (rank < 3)
    return contiguous_strides (shape);
  std::swap (shape[rank - 3], shape[rank - 2]);
  std::vector<gint64> strides = contiguous_strides (shape);
  std::swap (strides[rank - 3], strides[rank - 2]);
  return strides;
}

void
Placing::place_operation (gsize n)
{
  const Operation &operation = graph.operations[n];
  const auto *view = std::get_if<ViewOp> (&operation.what);
  if (view) {
    const ValueId from = operation.inputs[0], to = operation.outputs[0];
    if (view_of (*view, tensor (from), shape (to), tensor (to))) {
      root[gsize (to)] = root[gsize (from)];
      is_viewed[gsize (root[gsize (from)])] = true;
      return;
    }
    placements.copies[n] = true;
  }
  for (const ValueId id : operation.outputs) {
    const Value &value = graph[id];
    const bool last = view ? copies_to_channels_last (operation)
                           : wants_channels_last (operation, value.shape);
    tensor (id) = {arena_memory, 0, value.shape,
        std::holds_alternative<AttentionOp> (operation.what)
            ? strides_by_row (value.shape)
        : last ? channels_last_strides (value.shape)
               : contiguous_strides (value.shape),
        view ? tensor (operation.inputs[0]).type : stored_type (value)};
    root[gsize (id)] = id;
  }
}

/* An output is contiguous and has the type of the model. The operation that computes it writes
 * it there if it can. */
void
Placing::place_outputs ()
{
  std::vector<bool> taken (graph.values.size (), false);
  for (gsize n = 0; n < graph.outputs.size (); n++) {
    const ValueId id = graph.outputs[n];
    const Value &value = graph[id];
    const Tensor external = {next++, 0, value.shape, contiguous_strides (value.shape),
        info_of (value.type).number};
    const Operation *operation = maker[gsize (id)];
    const bool direct = root[gsize (id)] == id && operation && !is_viewed[gsize (id)]
                        && !taken[gsize (id)] && tensor (id).memory == arena_memory
                        && !std::holds_alternative<ConcatOp> (operation->what)
                        && ((converts_types (*operation) && !keeps_type[gsize (id)])
                            || tensor (id).type == external.type);
    placements.outputs.push_back (external);
    taken[gsize (id)] = true;
    if (direct)
      tensor (id) = external;
    else
      placements.copied_outputs.emplace_back (n, id);
  }
}

/* Returns whether the operation of a value can write it to `place`. A reshape that copies
 * cannot write every combination of strides. */
bool
Placing::can_lie (ValueId id, const Tensor &place) const
{
  const Operation *operation = maker[gsize (id)];
  Tensor target;
  return !operation || !std::holds_alternative<ViewOp> (operation->what)
         || target_of_reshape (place, shape (operation->inputs[0]), target);
}

/* A value that only its operation writes, and no view shows, moves into the result of the last
 * ConcatOp that reads it. */
void
Placing::join_parts ()
{
  std::vector<bool> moved (graph.values.size (), false);
  std::vector<guint> reads (graph.values.size (), 0); /* by the operation */
  for (gsize n = graph.operations.size (); n-- > 0;) {
    const Operation &operation = graph.operations[n];
    const auto *concat = std::get_if<ConcatOp> (&operation.what);
    if (!concat)
      continue;
    const ValueId whole = operation.outputs[0];
    const gsize axis = gsize (concat->axis);
    gint64 begin = 0;
    for (const ValueId part : operation.inputs)
      reads[gsize (part)]++;
    for (const ValueId part : operation.inputs) {
      Tensor &placed = tensor (part);
      Tensor place = tensor (whole);
      place.shape = shape (part);
      place.offset += begin * place.strides[axis];
      const bool movable = root[gsize (part)] == part && placed.memory == arena_memory
                           && place.memory == arena_memory && !is_viewed[gsize (part)]
                           && !moved[gsize (part)] && placed.type == place.type
                           && can_lie (part, place) && reads[gsize (part)] == 1;
      if (movable) {
        placed = place;
        root[gsize (part)] = root[gsize (whole)];
        moved[gsize (part)] = true;
      }
      begin += shape (part)[axis];
    }
    for (const ValueId part : operation.inputs)
      reads[gsize (part)] = 0;
  }
}

/* Operations run in order; a value lives from the first write of its memory to the last
 * read. */
void
Placing::find_lifetimes ()
{
  const gsize count = graph.values.size ();
  std::vector<Lifetime> lifetimes (count);
  std::vector<bool> used (count, false);
  auto touch = [&] (ValueId id, gsize n) {
    if (id == no_value)
      return;
    /* Parts of a joined value may be joined themselves. */
    gsize owner = gsize (root[gsize (id)]);
    while (gsize (root[owner]) != owner)
      owner = gsize (root[owner]);
    Lifetime &lifetime = lifetimes[owner];
    if (!used[owner])
      lifetime.first = gint32 (n);
    lifetime.last = gint32 (n);
    used[owner] = true;
  };
  for (gsize n = 0; n < graph.operations.size (); n++) {
    const Operation &operation = graph.operations[n];
    for (const ValueId id : operation.inputs)
      touch (id, n);
    for (const ValueId id : operation.outputs)
      touch (id, n);
  }
  for (const auto &copied : placements.copied_outputs)
    touch (copied.second, graph.operations.size ());

  std::vector<Lifetime> blocks;
  std::vector<gsize> owners;
  for (gsize n = 0; n < count; n++) {
    if (!used[n] || placements.tensors[n].memory != arena_memory || gsize (root[n]) != n)
      continue;
    lifetimes[n].size =
        gsize (placements.tensors[n].count ()) * placements.tensors[n].element_size ();
    blocks.push_back (lifetimes[n]);
    owners.push_back (n);
  }
  const gsize alignment = 256;
  placements.arena_size = assign_offsets (blocks, alignment);
  std::vector<gint64> base (count, 0);
  for (gsize k = 0; k < owners.size (); k++)
    base[owners[k]] = gint64 (blocks[k].offset);
  for (gsize n = 0; n < count; n++) {
    Tensor &placed = placements.tensors[n];
    if (placed.memory != arena_memory)
      continue;
    gsize owner = n;
    while (gsize (root[owner]) != owner)
      owner = gsize (root[owner]);
    placed.offset += base[owner] / gint64 (placed.element_size ());
  }
}

Placements
Placing::run ()
{
  placements.tensors.resize (graph.values.size ());
  placements.copies.resize (graph.operations.size (), false);
  for (gsize n = 0; n < root.size (); n++)
    root[n] = ValueId (n);
  place_constants ();
  place_inputs ();
  for (gsize n = 0; n < graph.operations.size (); n++)
    place_operation (n);
  place_outputs ();
  join_parts ();
  find_lifetimes ();
  placements.n_memories = next;
  return std::move (placements);
}
} // namespace

Tensor
copy_target (const Tensor &to, const Shape &from)
{
  Tensor target;
  if (!target_of_reshape (to, from, target))
    target.strides = contiguous_strides (from); /* no elements */
  return target;
}

bool
converts_types (const Operation &operation)
{
  return std::holds_alternative<ElementwiseOp> (operation.what)
         || std::holds_alternative<ConvolutionOp> (operation.what)
         || std::holds_alternative<ConcatOp> (operation.what);
}

/* A view has the type of its input, so it does not convert, and gets the copy as well. */
void
add_conversions (Graph &graph, const std::vector<PortLayout> &input_layouts)
{
  std::vector<Operation> copies;
  std::map<ValueId, ValueId> copied; /* inputs; no_value without a copy yet */
  for (gsize n = 0; n < graph.inputs.size (); n++) {
    const NumberType type =
        n < input_layouts.size () ? input_layouts[n].type : NumberType::f32;
    if (graph[graph.inputs[n]].type == ElementType::f32 && type == NumberType::f32)
      copied[graph.inputs[n]] = no_value;
  }
  for (Operation &operation : graph.operations) {
    if (converts_types (operation))
      continue;
    for (ValueId &id : operation.inputs) {
      const auto found = copied.find (id);
      if (found == copied.end ())
        continue;
      if (found->second == no_value) {
        found->second = graph.add ({"", ElementType::f32, graph[id].shape, {}});
        copies.push_back ({"input", ElementwiseOp{}, {id}, {found->second}});
      }
      id = found->second;
    }
  }
  graph.operations.insert (graph.operations.begin (), copies.begin (), copies.end ());
}

Placements
place_values (
    const Graph &graph, Precision precision, const std::vector<PortLayout> &input_layouts)
{
  return Placing (graph, precision, input_layouts).run ();
}
} // namespace inference
