/* Passes that make a graph smaller and faster without changing its results
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "links.hpp"
#include "lowering.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace inference {
namespace {
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

/* A constant that has one number, or a number for each channel, of an array of `rank`
 * dimensions with the channels along `axis` */
bool
per_channel (const Value &value, gsize rank, gsize axis, gint64 channels,
    std::vector<float> &numbers)
{
  if (!value.constant || value.shape.size () > rank || value.constant->count () == 0)
    return false;
  Shape shape = value.shape;
  shape.insert (shape.begin (), rank - shape.size (), 1);
  const gint64 own = std::exchange (shape[axis], 1);
  if (count_of (shape) != 1 || (own != 1 && own != channels))
    return false;
  numbers = value.constant->floats ();
  numbers.resize (gsize (channels), numbers[0]);
  return true;
}

void
scale_filters (ConvolutionOp &convolution, const std::vector<float> &factors)
{
  const gsize filters = factors.size ();
  const gsize taps = convolution.is_turned
                         ? 1
                         : convolution.weights.count () / std::max (filters, gsize (1));
  Array scaled (ElementType::f32, convolution.weights.shape);
  for (gsize n = 0; n < convolution.weights.count (); n++)
    scaled.set_number (
        n, convolution.weights.number (n) * double (factors[n / taps % filters]));
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
  const gsize rank = graph[convolved].shape.size ();
  if ((op != "Mul" && op != "Add" && op != "Sub" && op != "Div")
      || graph[operation.outputs[0]].shape != graph[convolved].shape)
    return false;
  const bool first = operation.inputs[0] == convolved;
  std::vector<float> numbers;
  if ((!first && (op == "Sub" || op == "Div"))
      || !per_channel (graph[operation.inputs[first ? 1 : 0]], rank,
          convolution.channel_axis (rank), convolution.weights.shape[0], numbers))
    return false;
  if (op == "Mul" || op == "Div") {
    if (convolution.exact)
      return false;
    if (op == "Div")
      for (float &number : numbers)
        number = 1 / number;
    /* A sum of infinite products is not the product of a sum. */
    if (!std::all_of (numbers.begin (), numbers.end (),
            [] (float number) { return std::isfinite (number); }))
      return false;
    scale_filters (convolution, numbers);
  } else {
    convolution.bias.resize (numbers.size (), 0);
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
    if (convolution && convolution->of_rows)
      continue;
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
      {"LeakyRelu", Activation::leaky}, {"Tanh", Activation::tanh},
      {"Silu", Activation::silu}, {"Gelu", Activation::gelu},
      {"GeluTanh", Activation::gelu_tanh}};
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

/* Activations that exporters write as several operators */
const std::vector<const ElementOp *> &
written_out ()
{
  static const std::vector<const ElementOp *> ops = {element_op ("Silu"),
      element_op ("HardSwish"), element_op ("Gelu"), element_op ("GeluTanh")};
  return ops;
}

/* Does the operation compute one of these already? */
bool
is_found (const Operation &operation)
{
  const auto &program = std::get<ElementwiseOp> (operation.what).program;
  const auto &ops = written_out ();
  return program.size () == 1
         && std::find (ops.begin (), ops.end (), program[0].op) != ops.end ();
}

/* Arrays for the inputs of an operation of one operand and numbers: samples for the operand.
 * False if it has other inputs. */
bool
samples_of (const Graph &graph, const Operation &operation, const Array &samples,
    std::vector<const Array *> &arrays, ValueId &operand)
{
  operand = no_value;
  for (const ValueId id : operation.inputs) {
    const Value &value = graph[id];
    if (value.type != ElementType::f32
        || (!value.constant && operand != no_value && operand != id)
        || (value.constant && value.constant->count () != 1))
      return false;
    arrays.push_back (value.constant ? &*value.constant : &samples);
    if (!value.constant)
      operand = id;
  }
  return operand != no_value && graph[operand].shape == graph[operation.outputs[0]].shape;
}

/* The activation whose values an operation has at `count` samples. (nullable) */
const ElementOp *
match_activation (
    const Graph &graph, const Operation &operation, gint64 count, ValueId &operand)
{
  const double tolerance = 2e-6;
  Array samples (ElementType::f32, {count}), values;
  for (gsize n = 0; n < samples.count (); n++)
    samples.set_number (n, -9.1 + 18.3 * double (n) / double (count - 1));
  std::vector<const Array *> arrays;
  if (!samples_of (graph, operation, samples, arrays, operand)
      || !evaluate (std::get<ElementwiseOp> (operation.what).program, arrays, values)
      || values.type != ElementType::f32 || values.count () != samples.count ())
    return nullptr;
  for (const ElementOp *op : written_out ()) {
    bool same = true;
    for (gsize n = 0; n < samples.count () && same; n++) {
      const double x = samples.number (n), wanted = op->number (&x, nullptr);
      same = std::fabs (values.number (n) - wanted)
             <= tolerance * std::max (1.0, std::fabs (wanted));
    }
    if (same)
      return op;
  }
  return nullptr;
}

/* Replaces a program whose values are those of an activation by that. */
void
find_activation (const Graph &graph, Operation &operation)
{
  ValueId operand;
  const gint64 few = 3, many = 17;
  if (!match_activation (graph, operation, few, operand))
    return;
  if (const ElementOp *op = match_activation (graph, operation, many, operand)) {
    operation.what = ElementwiseOp{{{op, {0}, {}, ElementType::f32, ElementType::f32}}};
    operation.inputs = {operand};
  }
}

/* By value: the operand, beside constants, that it is computed from by element-wise operations,
 * or itself */
std::vector<ValueId>
roots_of (const Graph &graph)
{
  std::vector<ValueId> roots (graph.values.size ());
  for (gsize n = 0; n < roots.size (); n++)
    roots[n] = ValueId (n);
  for (const Operation &operation : graph.operations) {
    ValueId root = no_value;
    bool single = std::holds_alternative<ElementwiseOp> (operation.what);
    for (const ValueId id : operation.inputs) {
      if (!single || graph[id].constant)
        continue;
      single = root == no_value || root == roots[gsize (id)];
      root = roots[gsize (id)];
    }
    if (single && root != no_value)
      roots[gsize (operation.outputs[0])] = root;
  }
  return roots;
}

bool
has_one_root (
    const Graph &graph, const Operation &operation, const std::vector<ValueId> &roots)
{
  std::set<ValueId> found;
  for (const ValueId id : operation.inputs)
    if (!graph[id].constant)
      found.insert (roots[gsize (id)]);
  return found.size () == 1;
}

bool
merge_once (Graph &graph, bool activations)
{
  const gsize count = graph.operations.size ();
  const Links links (graph);
  const std::vector<ValueId> roots =
      activations ? roots_of (graph) : std::vector<ValueId> ();
  for (gsize n = 0; n < graph.operations.size (); n++) {
    Operation &before = graph.operations[n];
    if (!as<ElementwiseOp> (before) || before.outputs.size () != 1
        || (activations && is_found (before)))
      continue;
    const ValueId joint = before.outputs[0];
    const gint32 next = links.reader[gsize (joint)];
    if (next < 0)
      continue;
    Operation &after = graph.operations[gsize (next)];
    Operation merged;
    if (!as<ElementwiseOp> (after) || after.outputs.size () != 1
        || (activations && is_found (after)))
      continue;
    /* Only this reader may use it, once or several times. */
    const gsize reads =
        gsize (std::count (after.inputs.begin (), after.inputs.end (), joint));
    if (links.uses[gsize (joint)] != reads
        || graph[joint].shape != graph[after.outputs[0]].shape
        || !merge_programs (before, after, joint, merged)
        || (activations && !has_one_root (graph, merged, roots)))
      continue;
    before.outputs.clear ();
    after = merged;
    if (activations)
      find_activation (graph, after);
  }
  remove_marked (graph);
  return graph.operations.size () < count;
}

/* Merges only to find them: chains that are no such function stay as they are. */
void
find_activations (Graph &graph)
{
  std::vector<Operation> before = graph.operations;
  while (merge_once (graph, true))
    ;
  const std::vector<Operation> merged =
      std::exchange (graph.operations, std::move (before));
  const Links links (graph);
  for (const Operation &found : merged)
    if (std::holds_alternative<ElementwiseOp> (found.what) && is_found (found)) {
      const gint32 maker = links.producer[gsize (found.outputs[0])];
      graph.operations[gsize (maker)].what = found.what;
      graph.operations[gsize (maker)].inputs = found.inputs;
    }
  remove_unused (graph);
}

void
merge_elementwise (Graph &graph)
{
  while (merge_once (graph, false))
    ;
}
} // namespace

const std::vector<Pass> passes = {
    {"remove-unused", remove_unused},
    {"fold-padding", fold_padding},
    {"fuse-attention", fuse_attention},
    {"move-views", move_views},
    {"fold-scale", fold_scale},
    {"fuse-sum", fuse_sum},
    {"find-activations", find_activations},
    {"fuse-activation", fuse_activation},
    {"fuse-quantization", fuse_quantization},
    {"merge-elementwise", merge_elementwise},
};

void
run_passes (Graph &graph)
{
  for (const Pass &pass : passes)
    pass.run (graph);
}
} // namespace inference
