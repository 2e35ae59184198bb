/* Passes that make a graph smaller and faster without changing its results
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace inference {
namespace {
/* Readers and the producer of each value */
class Links {
public:
  explicit Links (const Graph &graph)
      : uses (graph.count_uses ()), producer (graph.values.size (), -1),
        reader (graph.values.size (), -1)
  {
    for (gsize n = 0; n < graph.operations.size (); n++) {
      for (const ValueId id : graph.operations[n].outputs)
        producer[gsize (id)] = gint32 (n);
      for (const ValueId id : graph.operations[n].inputs)
        if (id != no_value)
          reader[gsize (id)] = gint32 (n);
    }
  }

  bool is_read_once (ValueId id) const { return uses[gsize (id)] == 1; }
  std::vector<guint> uses;
  std::vector<gint32> producer; /* index of an operation, or -1 */
  std::vector<gint32> reader;   /* the last one */
};

template <typename Kind>
Kind *
as (Operation &operation)
{
  return std::get_if<Kind> (&operation.what);
}

/* The only operation that reads the output of another. (nullable) */
Operation *
only_reader (Graph &graph, const Links &links, const Operation &operation)
{
  const ValueId id = operation.outputs.empty () ? no_value : operation.outputs[0];
  if (id == no_value || !links.is_read_once (id) || links.reader[gsize (id)] < 0)
    return nullptr;
  return &graph.operations[gsize (links.reader[gsize (id)])];
}

/* Operations without an output are dead. */
void
remove_marked (Graph &graph)
{
  auto &all = graph.operations;
  all.erase (std::remove_if (all.begin (), all.end (),
                 [] (const Operation &operation) { return operation.outputs.empty (); }),
      all.end ());
}

/* --- remove-unused: operations whose outputs are not read --- */

void
remove_unused (Graph &graph)
{
  std::vector<guint> uses = graph.count_uses ();
  for (gsize n = graph.operations.size (); n-- > 0;) {
    Operation &operation = graph.operations[n];
    const bool used = std::any_of (operation.outputs.begin (), operation.outputs.end (),
        [&] (ValueId id) { return uses[gsize (id)] > 0; });
    if (used)
      continue;
    for (const ValueId id : operation.inputs)
      if (id != no_value)
        uses[gsize (id)]--;
    operation.outputs.clear ();
  }
  remove_marked (graph);
}

/* --- fold-scale: a scale or shift for each channel becomes part of the convolution --- */

/* A constant that has one number, or a number for each channel of (images, channels, h, w) */
bool
per_channel (const Value &value, gint64 channels, std::vector<float> &numbers)
{
  if (!value.constant || value.shape.size () > 4 || value.constant->count () == 0)
    return false;
  Shape shape = value.shape;
  shape.insert (shape.begin (), 4 - shape.size (), 1);
  if (shape[0] != 1 || shape[2] != 1 || shape[3] != 1
      || (shape[1] != 1 && shape[1] != channels))
    return false;
  numbers = value.constant->floats ();
  numbers.resize (gsize (channels), numbers[0]);
  return true;
}

void
scale_filters (ConvolutionOp &convolution, const std::vector<float> &factors)
{
  const gsize filters = factors.size ();
  const gsize taps = convolution.weights.count () / std::max (filters, gsize (1));
  Array scaled (ElementType::f32, convolution.weights.shape);
  for (gsize n = 0; n < convolution.weights.count (); n++)
    scaled.set_number (n, convolution.weights.number (n) * double (factors[n / taps]));
  convolution.weights = scaled;
  for (gsize f = 0; f < convolution.bias.size (); f++)
    convolution.bias[f] *= factors[f];
}

/* Takes one instruction of an element-wise operation that reads the convolution. */
bool
fold_into (Graph &graph, ConvolutionOp &convolution, const Operation &operation,
    ValueId convolved)
{
  const auto *what = std::get_if<ElementwiseOp> (&operation.what);
  if (!what || what->program.size () != 1 || convolution.activation != Activation::none)
    return false;
  const std::string op = what->program[0].op->name;
  const gint64 channels = graph[convolved].shape[1];
  if ((op != "Mul" && op != "Add" && op != "Sub" && op != "Div")
      || graph[operation.outputs[0]].shape != graph[convolved].shape)
    return false;
  const bool first = operation.inputs[0] == convolved;
  std::vector<float> numbers;
  if ((!first && (op == "Sub" || op == "Div"))
      || !per_channel (graph[operation.inputs[first ? 1 : 0]], channels, numbers))
    return false;
  if (op == "Mul" || op == "Div") {
    if (op == "Div")
      for (float &number : numbers)
        number = 1 / number;
    /* A sum of infinite products is not the product of a sum. */
    if (!std::all_of (numbers.begin (), numbers.end (),
            [] (float number) { return std::isfinite (number); }))
      return false;
    scale_filters (convolution, numbers);
  } else {
    convolution.bias.resize (gsize (channels), 0);
    for (gsize c = 0; c < numbers.size (); c++)
      convolution.bias[c] += op == "Sub" ? -numbers[c] : numbers[c];
  }
  return true;
}

/* Each of them computes the weights anew. A batch normalization has two. */
const int most_folded = 16;

void
fold_scale (Graph &graph)
{
  const Links links (graph);
  for (Operation &operation : graph.operations) {
    auto *convolution = as<ConvolutionOp> (operation);
    if (!convolution || operation.inputs.size () > 1)
      continue;
    for (int folded = 0; folded < most_folded; folded++) {
      Operation *reader = only_reader (graph, links, operation);
      if (!reader || reader->outputs.size () != 1
          || !fold_into (graph, *convolution, *reader, operation.outputs[0]))
        break;
      operation.outputs[0] = reader->outputs[0];
      reader->outputs.clear ();
    }
  }
  remove_marked (graph);
}

/* --- fold-padding: zeros around the input of a convolution --- */

void
fold_padding (Graph &graph)
{
  const Links links (graph);
  for (Operation &operation : graph.operations) {
    auto *convolution = as<ConvolutionOp> (operation);
    const gint32 maker = convolution ? links.producer[gsize (operation.inputs[0])] : -1;
    if (maker < 0 || !links.is_read_once (operation.inputs[0]))
      continue;
    Operation &padding = graph.operations[gsize (maker)];
    const auto *what = as<ResampleOp> (padding);
    if (!what || what->fill != 0 || what->tables[0] || what->tables[1])
      continue;
    gint64 before[2] = {0, 0};
    bool plain = true;
    for (gsize d = 0; d < 2 && plain; d++) {
      const auto &table = what->tables[d + 2];
      const gint64 length = graph[padding.inputs[0]].shape[d + 2];
      if (!table)
        continue;
      plain = table->weights.empty ();
      while (plain && before[d] < gint64 (table->index.size ())
             && table->index[gsize (before[d])] < 0)
        before[d]++;
      for (gsize n = 0; n < table->index.size () && plain; n++) {
        const gint64 at = gint64 (n) - before[d];
        plain = table->index[n] == (at >= 0 && at < length ? at : -1);
      }
      /* The convolution would read the end that the padding cuts off. */
      plain = plain && before[d] + length <= gint64 (table->index.size ());
    }
    if (!plain)
      continue;
    convolution->before[0] += before[0];
    convolution->before[1] += before[1];
    operation.inputs[0] = padding.inputs[0];
    padding.outputs.clear ();
  }
  remove_marked (graph);
}

/* --- fuse-sum: a residual sum becomes part of the convolution that runs last --- */

/* The convolution that can take the sum: the later one of its operands, `sum.inputs[side]`.
 * (nullable) */
Operation *
convolution_before (Graph &graph, const Links &links, const Operation &sum, gsize &side)
{
  gint32 last = -1;
  for (gsize k = 0; k < 2; k++) {
    const gint32 maker = links.producer[gsize (sum.inputs[k])];
    if (maker <= last || !links.is_read_once (sum.inputs[k]))
      continue;
    Operation &operation = graph.operations[gsize (maker)];
    const auto *convolution = as<ConvolutionOp> (operation);
    if (convolution && operation.inputs.size () == 1
        && convolution->activation == Activation::none) {
      last = maker;
      side = k;
    }
  }
  if (last < 0 || graph[sum.inputs[1 - side]].constant)
    return nullptr;
  /* The other operand must be there before the convolution runs. */
  return links.producer[gsize (sum.inputs[1 - side])] > last
             ? nullptr
             : &graph.operations[gsize (last)];
}

void
fuse_sum (Graph &graph)
{
  Links links (graph);
  for (Operation &sum : graph.operations) {
    const auto *what = as<ElementwiseOp> (sum);
    gsize side = 0;
    if (!what || what->program.size () != 1
        || std::string (what->program[0].op->name) != "Add"
        || graph[sum.inputs[0]].shape != graph[sum.inputs[1]].shape
        || sum.inputs[0] == sum.inputs[1])
      continue;
    Operation *operation = convolution_before (graph, links, sum, side);
    if (!operation)
      continue;
    links.producer[gsize (sum.outputs[0])] = links.producer[gsize (sum.inputs[side])];
    operation->inputs.push_back (sum.inputs[1 - side]);
    operation->outputs[0] = sum.outputs[0];
    sum.outputs.clear ();
  }
  remove_marked (graph);
}

/* --- fuse-activation --- */

struct FusedActivation {
  const char *op;
  Activation activation;
};

bool
activation_of (const Instruction &instruction, ConvolutionOp &convolution)
{
  static const FusedActivation known[] = {{"Relu", Activation::relu},
      {"Clip", Activation::clip}, {"HardSwish", Activation::hardswish},
      {"Sigmoid", Activation::sigmoid}, {"HardSigmoid", Activation::hardsigmoid},
      {"LeakyRelu", Activation::leaky}, {"Tanh", Activation::tanh}};
  for (const FusedActivation &fused : known) {
    if (std::string (instruction.op->name) != fused.op)
      continue;
    convolution.activation = fused.activation;
    const auto &p = instruction.parameters;
    convolution.a = p.size () > 0 ? float (p[0]) : 0;
    convolution.b = p.size () > 1 ? float (p[1]) : 0;
    return true;
  }
  return false;
}

/* Elements may be rearranged between a convolution and its activation, as behind a
 * transposed convolution. */
void
fuse_activation (Graph &graph)
{
  const Links links (graph);
  for (Operation &operation : graph.operations) {
    auto *convolution = as<ConvolutionOp> (operation);
    if (!convolution || convolution->activation != Activation::none)
      continue;
    Operation *before = &operation, *reader = only_reader (graph, links, operation);
    while (reader && as<ViewOp> (*reader)) {
      before = reader;
      reader = only_reader (graph, links, *before);
    }
    const auto *what = reader ? as<ElementwiseOp> (*reader) : nullptr;
    if (!what || what->program.size () != 1 || reader->inputs.size () != 1
        || !is_float (what->program[0].type)
        || !activation_of (what->program[0], *convolution))
      continue;
    before->outputs[0] = reader->outputs[0];
    reader->outputs.clear ();
  }
  remove_marked (graph);
}

/* --- fuse-silu: x sigmoid (x) and x hardsigmoid (x) after a convolution become its
 * activation --- */

/* The convolution's output is read by the gate and by the product. */
void
fuse_gate (Graph &graph)
{
  const Links links (graph);
  for (Operation &product : graph.operations) {
    const auto *what = as<ElementwiseOp> (product);
    if (!what || what->program.size () != 1 || product.outputs.empty ()
        || std::string (what->program[0].op->name) != "Mul")
      continue;
    for (gsize k = 0; k < 2; k++) {
      const ValueId x = product.inputs[k], gated = product.inputs[1 - k];
      const gint32 gate_at = links.producer[gsize (gated)],
                   maker_at = links.producer[gsize (x)];
      if (gate_at < 0 || maker_at < 0 || links.uses[gsize (x)] != 2
          || !links.is_read_once (gated))
        continue;
      Operation &gate = graph.operations[gsize (gate_at)],
                &maker = graph.operations[gsize (maker_at)];
      const auto *gating = as<ElementwiseOp> (gate);
      auto *convolution = as<ConvolutionOp> (maker);
      if (!gating || !convolution || gating->program.size () != 1
          || gate.inputs != std::vector<ValueId>{x}
          || convolution->activation != Activation::none)
        continue;
      const Instruction &instruction = gating->program[0];
      const std::string op = instruction.op->name;
      if (op == "Sigmoid")
        convolution->activation = Activation::silu;
      else if (op == "HardSigmoid"
               && std::fabs (instruction.parameters[0] - 1.0 / 6) < 1e-6
               && instruction.parameters[1] == 0.5)
        convolution->activation = Activation::hardswish;
      else
        continue;
      maker.outputs[0] = product.outputs[0];
      gate.outputs.clear ();
      product.outputs.clear ();
      break;
    }
  }
  remove_marked (graph);
}

/* --- merge-elementwise: chains become one program --- */

const gsize most_inputs = 8, most_instructions = 24;

/* Adds an input to `operation` unless it has it; returns its index. */
gint32
input_index (Operation &operation, ValueId id)
{
  auto &inputs = operation.inputs;
  const auto found = std::find (inputs.begin (), inputs.end (), id);
  if (found != inputs.end ())
    return gint32 (found - inputs.begin ());
  inputs.push_back (id);
  return gint32 (inputs.size ()) - 1;
}

/* Puts the program of `before`, whose output is `joint`, in front of that of `after`. */
bool
merge_programs (
    const Operation &before, const Operation &after, ValueId joint, Operation &merged)
{
  const auto &first = std::get<ElementwiseOp> (before.what).program;
  const auto &second = std::get<ElementwiseOp> (after.what).program;
  if (first.empty () || first.size () + second.size () > most_instructions)
    return false;
  ElementProgram program = first;
  merged.inputs = before.inputs;
  merged.outputs = after.outputs;
  merged.name = before.name + "+" + after.name;
  const gint32 shift = gint32 (first.size ());
  for (Instruction instruction : second) {
    for (gint32 &operand : instruction.operands) {
      if (operand < 0)
        operand -= shift;
      else if (after.inputs[gsize (operand)] == joint)
        operand = -shift; /* the last instruction of the first program */
      else
        operand = input_index (merged, after.inputs[gsize (operand)]);
    }
    program.push_back (instruction);
  }
  merged.what = ElementwiseOp{program};
  return merged.inputs.size () <= most_inputs;
}

bool
merge_once (Graph &graph)
{
  const gsize count = graph.operations.size ();
  const Links links (graph);
  for (gsize n = 0; n < graph.operations.size (); n++) {
    Operation &before = graph.operations[n];
    if (!as<ElementwiseOp> (before) || before.outputs.size () != 1)
      continue;
    const ValueId joint = before.outputs[0];
    const gint32 next = links.reader[gsize (joint)];
    if (next < 0)
      continue;
    Operation &after = graph.operations[gsize (next)];
    Operation merged;
    if (!as<ElementwiseOp> (after) || after.outputs.size () != 1)
      continue;
    /* Only this reader may use it, once or several times. */
    const gsize reads =
        gsize (std::count (after.inputs.begin (), after.inputs.end (), joint));
    if (links.uses[gsize (joint)] != reads
        || graph[joint].shape != graph[after.outputs[0]].shape
        || !merge_programs (before, after, joint, merged))
      continue;
    before.outputs.clear ();
    after = merged;
  }
  remove_marked (graph);
  return graph.operations.size () < count;
}

void
merge_elementwise (Graph &graph)
{
  while (merge_once (graph))
    ;
}
} // namespace

const std::vector<Pass> passes = {
    {"remove-unused", remove_unused},
    {"fold-padding", fold_padding},
    {"fold-scale", fold_scale},
    {"fuse-sum", fuse_sum},
    {"fuse-gate", fuse_gate},
    {"fuse-activation", fuse_activation},
    {"merge-elementwise", merge_elementwise},
};

void
run_passes (Graph &graph)
{
  for (const Pass &pass : passes)
    pass.run (graph);
}
} // namespace inference
