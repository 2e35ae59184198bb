/* Passes for networks with attention: transformers, and convolutional ones built like them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "links.hpp"
#include "lowering.hpp"

#include <map>

namespace inference {
namespace {
/* --- move-views: from before an element-wise operation to behind it, so that a convolution
 * can take the operation in --- */

std::vector<gint64>
inverse_of (const std::vector<gint64> &order)
{
  std::vector<gint64> inverse (order.size ());
  for (gsize d = 0; d < order.size (); d++)
    inverse[gsize (order[d])] = gint64 (d);
  return inverse;
}

/* `id` with its dimensions in another order: a constant, or a view that is added to `views`.
 * no_value if it has fewer dimensions. */
ValueId
reordered (Graph &graph, ValueId id, const std::vector<gint64> &order,
    std::vector<Operation> &views)
{
  const Value &value = graph[id];
  Shape shape = value.shape;
  if (value.constant) {
    shape.insert (shape.begin (), order.size () - shape.size (), 1);
    Array array = transposed (value.constant->reshaped (shape), order);
    return graph.add ({value.name, value.type, array.shape, array, value.single});
  }
  if (shape.size () != order.size ())
    return no_value;
  for (gsize d = 0; d < order.size (); d++)
    shape[d] = value.shape[gsize (order[d])];
  const ValueId made = graph.add ({value.name, value.type, shape, {}, value.single});
  views.push_back ({value.name, ViewOp{ViewOp::transpose, order, {}, {}}, {id}, {made}});
  return made;
}

/* `id`, which broadcasts to the shape that a reshape of `shape` makes, with the shape that
 * broadcasts to `shape`; or no_value */
ValueId
reshaped (Graph &graph, ValueId id, const Shape &from, const Shape &shape,
    std::vector<Operation> &views)
{
  const Value &value = graph[id];
  const gint64 count = count_of (value.shape);
  const bool is_last = !value.shape.empty () && !shape.empty () && !from.empty ()
                       && value.shape.back () == count && shape.back () == count
                       && from.back () == count;
  if (value.shape != from && !(value.constant && (count == 1 || is_last)))
    return no_value;
  const Shape to = value.shape == from ? shape : Shape{count};
  if (value.constant) {
    const Array array = value.constant->reshaped (to);
    return graph.add ({value.name, value.type, to, array, value.single});
  }
  const ValueId made = graph.add ({value.name, value.type, to, {}, value.single});
  views.push_back ({value.name, ViewOp{ViewOp::reshape, {}, {}, {}}, {id}, {made}});
  return made;
}

/* Makes the views and operations that replace `view` and its reader. Returns false if an
 * operand does not allow it. */
bool
exchange (Graph &graph, const Operation &view, const Operation &reader,
    std::vector<Operation> &made)
{
  const auto &what = std::get<ViewOp> (view.what);
  const ValueId before = view.inputs[0], after = reader.outputs[0];
  Operation first = reader, second = view;
  for (ValueId &id : first.inputs) {
    if (id == view.outputs[0])
      id = before;
    else if (what.kind == ViewOp::transpose)
      id = reordered (graph, id, inverse_of (what.order), made);
    else
      id = reshaped (graph, id, graph[view.outputs[0]].shape, graph[before].shape, made);
    if (id == no_value)
      return false;
  }
  const ValueId middle = graph.add ({graph[after].name, graph[after].type,
      graph[before].shape, {}, graph[after].single});
  first.outputs = {middle};
  second.inputs = {middle};
  second.outputs = {after};
  made.push_back (first);
  made.push_back (second);
  return true;
}

/* Puts each view directly behind the operation that makes its input. */
void
hoist_views (Graph &graph)
{
  std::vector<gsize> place (graph.values.size (), 0); /* 1 + index of the operation */
  std::vector<std::vector<Operation>> views (graph.operations.size () + 1);
  std::vector<Operation> all;
  for (gsize n = 0; n < graph.operations.size (); n++) {
    const Operation &operation = graph.operations[n];
    const bool is_view = std::holds_alternative<ViewOp> (operation.what);
    for (const ValueId id : operation.outputs)
      place[gsize (id)] = is_view ? place[gsize (operation.inputs[0])] : n + 1;
    if (is_view)
      views[place[gsize (operation.inputs[0])]].push_back (operation);
  }
  for (gsize n = 0; n < views.size (); n++) {
    if (n > 0 && !as<ViewOp> (graph.operations[n - 1]))
      all.push_back (std::move (graph.operations[n - 1]));
    all.insert (all.end (), views[n].begin (), views[n].end ());
  }
  graph.operations = std::move (all);
}

/* The operation whose output views show to `view`, and to no other */
const Operation &
first_before (const Graph &graph, const Links &links, const Operation &view)
{
  const Operation *operation = &view;
  while (std::holds_alternative<ViewOp> (operation->what)) {
    const gint32 maker = links.producer[gsize (operation->inputs[0])];
    if (maker < 0 || !links.is_read_once (operation->inputs[0]))
      break;
    operation = &graph.operations[gsize (maker)];
  }
  return *operation;
}

bool
move_views_once (Graph &graph)
{
  const Links links (graph);
  std::map<gsize, std::vector<Operation>> replaced; /* by the index of a reader */
  for (Operation &view : graph.operations) {
    const auto *what = as<ViewOp> (view);
    const gint32 maker = what ? links.producer[gsize (view.inputs[0])] : -1;
    if (maker < 0 || (what->kind != ViewOp::transpose && what->kind != ViewOp::reshape)
        || !links.is_read_once (view.inputs[0]))
      continue;
    const Operation &before = first_before (graph, links, view);
    const Operation *reader = only_reader (graph, links, view);
    if ((!std::holds_alternative<ConvolutionOp> (before.what)
            && !std::holds_alternative<ElementwiseOp> (before.what))
        || !reader || !std::holds_alternative<ElementwiseOp> (reader->what)
        || graph[reader->outputs[0]].shape != graph[view.outputs[0]].shape)
      continue;
    const gsize at = gsize (reader - graph.operations.data ());
    std::vector<Operation> made;
    if (replaced.count (at) || replaced.count (gsize (maker))
        || !exchange (graph, view, *reader, made))
      continue;
    replaced[at] = std::move (made);
    view.outputs.clear ();
  }
  if (replaced.empty ())
    return false;
  std::vector<Operation> all;
  for (gsize n = 0; n < graph.operations.size (); n++) {
    const auto found = replaced.find (n);
    if (found == replaced.end ())
      all.push_back (std::move (graph.operations[n]));
    else
      all.insert (all.end (), found->second.begin (), found->second.end ());
  }
  graph.operations = std::move (all);
  remove_marked (graph);
  return true;
}

/* --- fuse-attention: softmax between two products of matrices --- */

/* Larger matrices do not fit the local memory of a work-group. */
const gint64 most_depth = 128;

/* The operation whose only output is `id`, if nothing else reads that. (nullable) */
Operation *
made_once (Graph &graph, const Links &links, ValueId id)
{
  const gint32 maker = links.producer[gsize (id)];
  return maker >= 0 && links.is_read_once (id) ? &graph.operations[gsize (maker)]
                                               : nullptr;
}

/* Is `operation` (nullable) the one instruction `op` on two inputs, of which `other` only
 * broadcasts? */
bool
reads_as (Graph &graph, Operation *operation, const std::string &op, gsize other)
{
  const auto *what = operation ? as<ElementwiseOp> (*operation) : nullptr;
  return what && what->program.size () == 1 && what->program[0].op->name == op
         && operation->inputs.size () == 2
         && what->program[0].operands == std::vector<gint32>{0, 1}
         && graph[operation->inputs[1 - other]].shape
                == graph[operation->outputs[0]].shape;
}

/* Is `operation` a multiplication or division by a number? */
bool
scales (Graph &graph, Operation *operation, gsize &operand, double &factor)
{
  for (gsize other = 0; other < 2; other++) {
    const bool product = reads_as (graph, operation, "Mul", other);
    if (!product && !(other == 1 && reads_as (graph, operation, "Div", other)))
      continue;
    const auto &number = graph[operation->inputs[other]].constant;
    if (!number || number->count () != 1)
      continue;
    factor = product ? number->number (0) : 1 / number->number (0);
    operand = 1 - other;
    return std::isfinite (factor);
  }
  return false;
}

/* Removes the scale of an input of `reader`, which may lie before views, and returns it. */
double
take_scale (Graph &graph, const Links &links, Operation &reader, gsize input)
{
  Operation *operation = &reader;
  for (;;) {
    Operation *maker = made_once (graph, links, operation->inputs[input]);
    gsize operand;
    double factor;
    if (scales (graph, maker, operand, factor)) {
      operation->inputs[input] = maker->inputs[operand];
      maker->outputs.clear ();
      return factor;
    }
    if (!maker || !as<ViewOp> (*maker))
      return 1;
    operation = maker;
    input = 0;
  }
}

bool
suits_attention (const Graph &graph, const Operation &first, const Operation &second)
{
  const Value &v = graph[second.inputs[1]];
  return (v.type == ElementType::f32 || v.type == ElementType::f16)
         && graph[first.inputs[0]].shape.back () <= most_depth
         && v.shape.back () <= most_depth && count_of (graph[second.outputs[0]].shape) > 0
         && count_of (graph[first.outputs[0]].shape) > 0;
}

/* Makes `second` an attention if its left operand is a softmax of a product. */
void
try_attention (Graph &graph, const Links &links, Operation &second)
{
  Operation *softmax = made_once (graph, links, second.inputs[0]);
  const auto *what = softmax ? as<SoftmaxOp> (*softmax) : nullptr;
  if (!what || what->logarithm
      || what->axis != gint64 (graph[softmax->outputs[0]].shape.size ()) - 1)
    return;
  std::vector<Operation *> taken = {softmax};
  AttentionOp attention;
  ValueId mask = no_value;
  Operation *before = made_once (graph, links, softmax->inputs[0]);
  for (gsize other = 0; other < 2 && mask == no_value; other++) {
    Operation *scores = reads_as (graph, before, "Add", other)
                            ? made_once (graph, links, before->inputs[1 - other])
                            : nullptr;
    gsize operand;
    double factor;
    if (!scores || !(as<ProductOp> (*scores) || scales (graph, scores, operand, factor)))
      continue;
    mask = before->inputs[other];
    taken.push_back (before);
    before = scores;
  }
  gsize operand;
  if (scales (graph, before, operand, attention.scale)) {
    taken.push_back (before);
    before = made_once (graph, links, before->inputs[operand]);
  }
  if (!before || !as<ProductOp> (*before) || !suits_attention (graph, *before, second))
    return;
  taken.push_back (before);
  for (gsize n = 0; n < 2; n++)
    attention.scale *= take_scale (graph, links, *before, n);
  second.inputs = {before->inputs[0], before->inputs[1], second.inputs[1]};
  if (mask != no_value)
    second.inputs.push_back (mask);
  second.what = attention;
  for (Operation *operation : taken)
    operation->outputs.clear ();
}
} // namespace

void
move_views (Graph &graph)
{
  const int most_rounds = 100; /* as many operations behind each other */
  for (int round = 0; round < most_rounds && move_views_once (graph); round++)
    ;
  hoist_views (graph);
}

void
fuse_attention (Graph &graph)
{
  const Links links (graph);
  for (Operation &operation : graph.operations)
    if (!operation.outputs.empty () && as<ProductOp> (operation))
      try_attention (graph, links, operation);
  remove_marked (graph);
}
} // namespace inference
