/* Pass that finds squeeze and excitation
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "links.hpp"

namespace inference {
namespace {
/* Pixels whose mean each work-group can take, instead of a launch of its own */
const gint64 most_pooled = 256;
/* Channels of both products, which have to fit into local memory */
const gint64 most_channels = 2048, most_hidden = 256;

/* The operation of this kind whose result is read once, as value `id` (nullable) */
template <typename Kind>
Operation *
single_maker (Graph &graph, const Links &links, ValueId id)
{
  const gint32 maker = links.producer[gsize (id)];
  if (maker < 0 || !links.is_read_once (id))
    return nullptr;
  Operation &operation = graph.operations[gsize (maker)];
  return as<Kind> (operation) ? &operation : nullptr;
}

bool
is_column (const Shape &shape)
{
  return shape.size () == 4 && shape[2] == 1 && shape[3] == 1;
}

/* The product of the channels of one pixel with a constant matrix, as value `id` (nullable) */
Operation *
product_of_channels (Graph &graph, const Links &links, ValueId id)
{
  Operation *made = single_maker<ConvolutionOp> (graph, links, id);
  if (!made || made->inputs.size () != 1)
    return nullptr;
  const auto &what = std::get<ConvolutionOp> (made->what);
  const bool plain = !what.of_rows && !what.exact && what.groups == 1
                     && what.before[0] == 0 && what.before[1] == 0;
  return plain && is_column (graph[id].shape) && is_column (what.weights.shape)
                 && is_column (graph[made->inputs[0]].shape)
             ? made
             : nullptr;
}

/* Input 2 of the operation */
ValueId
add_weights (Graph &graph, const ConvolutionOp &inner, const ConvolutionOp &outer)
{
  const gsize hidden = gsize (inner.weights.shape[0]),
              channels = gsize (outer.weights.shape[0]), count = hidden * channels;
  std::vector<float> all = inner.weights.floats ();
  const std::vector<float> turned = outer.weights.floats ();
  all.insert (all.end (), inner.bias.begin (), inner.bias.end ());
  all.resize (count + hidden, 0);
  for (gsize n = 0; n < count; n++)
    all.push_back (turned[n % channels * hidden + n / channels]);
  all.insert (all.end (), outer.bias.begin (), outer.bias.end ());
  all.resize (2 * count + hidden + channels, 0);
  Array array (ElementType::f32, {gint64 (all.size ())});
  memcpy (array.writable (), all.data (), all.size () * sizeof (float));
  return graph.add ({"", ElementType::f32, array.shape, array, true});
}

/* Channels that lie next to each other in fours: those that a convolution made, unless they
 * are an output of the network */
bool
has_adjacent_channels (Graph &graph, const Links &links, ValueId data, ValueId result)
{
  const gint32 maker = links.producer[gsize (data)];
  bool adjacent = maker >= 0 && as<ConvolutionOp> (graph.operations[gsize (maker)])
                  && graph[data].shape[1] % 4 == 0;
  for (const ValueId id : graph.outputs)
    adjacent = adjacent && id != data && id != result;
  return adjacent;
}

/* Replaces the product of `data` and a gate that is computed from its means. */
void
fuse_gate (
    Graph &graph, const Links &links, Operation &operation, ValueId data, ValueId gate)
{
  Operation *outer = product_of_channels (graph, links, gate), *inner = nullptr,
            *mean = nullptr;
  if (outer)
    inner = product_of_channels (graph, links, outer->inputs[0]);
  if (inner)
    mean = single_maker<ReduceOp> (graph, links, inner->inputs[0]);
  if (!mean || mean->inputs[0] != data || as<ReduceOp> (*mean)->kind != Reduction::mean)
    return;
  const Shape &shape = graph[data].shape;
  const ExciteOp what = {*as<ConvolutionOp> (*inner), *as<ConvolutionOp> (*outer)};
  if (graph[inner->inputs[0]].shape != Shape{shape[0], shape[1], 1, 1}
      || what.outer.weights.shape[0] != shape[1] || shape[1] > most_channels
      || what.inner.weights.shape[0] > most_hidden
      || !has_adjacent_channels (graph, links, data, operation.outputs[0]))
    return;
  const bool pools = shape[2] * shape[3] <= most_pooled;
  operation.inputs = {
      data, pools ? data : mean->outputs[0], add_weights (graph, what.inner, what.outer)};
  operation.what = what;
  for (Operation *fused : {inner, outer, pools ? mean : outer})
    fused->outputs.clear ();
}
} // namespace

void
fuse_excitation (Graph &graph)
{
  const Links links (graph);
  for (Operation &operation : graph.operations) {
    const auto *what = as<ElementwiseOp> (operation);
    if (!what || what->program.size () != 1 || operation.inputs.size () != 2
        || std::string (what->program[0].op->name) != "Mul")
      continue;
    const gsize gate = is_column (graph[operation.inputs[0]].shape) ? 0 : 1;
    fuse_gate (
        graph, links, operation, operation.inputs[1 - gate], operation.inputs[gate]);
  }
  remove_marked (graph);
}
} // namespace inference
