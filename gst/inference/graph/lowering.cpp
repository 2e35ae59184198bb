/* Makes a graph of a model for certain input shapes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "lowering.hpp"

#include <gst/gst.h>

#include <algorithm>
#include <cstdarg>
#include <set>

namespace inference {
namespace {
/* A larger value is an error and not an allocation. */
const gint64 most_elements = gint64 (1) << 31;
const gsize most_dimensions = 8;
/* Evaluating an element takes about as long as copying this many. */
const gint64 evaluation_effort = 64;
/* The host may compute this many bytes of constants for each byte of the model. */
const gint64 folded_of_byte = 128;
/* Copying a byte takes as long as copying this many together. */
const gsize least_size = 4;

std::string
full_name (const Node &node)
{
  return node.domain.empty () ? node.op : node.domain + "." + node.op;
}
} // namespace

Lowering::Lowering (const Model &model, const InputChoice &choice)
    : model (model), choice (choice),
      graph (std::make_unique<Graph> ()), whole{model, nullptr, {}}
{
}

std::unique_ptr<Graph>
Lowering::run (const Model &model, const InputChoice &choice, GError **error)
{
  Lowering lowering (model, choice);

  if (!check_operators (model, model, error) || !lowering.add_inputs (error)
      || !lowering.lower (model, error) || !lowering.finish (error))
    return nullptr;
  return std::move (lowering.graph);
}

bool
Lowering::lower (const Body &body, GError **error)
{
  std::vector<const Node *> ordered;
  return order_nodes (body, ordered, error)
         && std::all_of (ordered.begin (), ordered.end (),
             [&] (const Node *node) { return lower (*node, error); });
}

static bool
is_supported (const Node &node)
{
  return operator_named (full_name (node)) != nullptr;
}

static void
collect_missing (const Body &body, std::set<std::string> &missing)
{
  for (const Node &node : body.nodes) {
    if (!is_supported (node))
      missing.insert (full_name (node));
    for (const auto &[name, attribute] : node.attributes)
      if (attribute.graph)
        collect_missing (*attribute.graph, missing);
  }
}

std::string
missing_operators (const Body &body)
{
  std::set<std::string> missing;
  std::string list;
  collect_missing (body, missing);
  for (const std::string &name : missing)
    list += (list.empty () ? "" : ", ") + name;
  const bool qoperator =
      list.find ("QLinear") != list.npos || list.find ("QGemm") != list.npos;
  return qoperator ? list + "; quantize in QDQ form" : list;
}

/* The error lists those of the whole network. */
bool
Lowering::check_operators (const Model &model, const Body &body, GError **error)
{
  if (std::all_of (body.nodes.begin (), body.nodes.end (), is_supported))
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_NOT_IMPLEMENTED,
      "operators that are not supported: %s (opset %" G_GINT64_FORMAT ")",
      missing_operators (model).c_str (), model.opset);
  return false;
}

/* Adds the names that a node or its branches read. */
static void
collect_inputs (const Node &node, std::set<std::string> &names)
{
  names.insert (node.inputs.begin (), node.inputs.end ());
  for (const auto &[name, attribute] : node.attributes) {
    if (!attribute.graph)
      continue;
    std::set<std::string> inner;
    for (const Port &port : attribute.graph->outputs)
      inner.insert (port.name);
    for (const Node &one : attribute.graph->nodes)
      collect_inputs (one, inner);
    for (const Node &one : attribute.graph->nodes)
      for (const std::string &output : one.outputs)
        inner.erase (output);
    for (const auto &[constant, array] : attribute.graph->constants)
      inner.erase (constant);
    names.insert (inner.begin (), inner.end ());
  }
}

/* ONNX asks for nodes in topological order. Files of some tools are not; a cycle is an
 * error. */
bool
Lowering::order_nodes (
    const Body &body, std::vector<const Node *> &ordered, GError **error) const
{
  std::map<std::string, const Node *> producers;
  std::map<const Node *, gsize> waiting; /* number of inputs that are not there yet */
  std::map<std::string, std::vector<const Node *>> readers;

  for (const Node &node : body.nodes) {
    for (const std::string &output : node.outputs) {
      if (output.empty ())
        continue;
      if (!producers.emplace (output, &node).second) {
        g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
            "%s: \"%s\" is the output of another node, too",
            text_of (model, node).c_str (), output.c_str ());
        return false;
      }
    }
  }
  for (const Node &node : body.nodes) {
    std::set<std::string> inputs;
    collect_inputs (node, inputs);
    for (const std::string &input : inputs) {
      if (producers.count (input) == 0)
        continue;
      waiting[&node]++;
      readers[input].push_back (&node);
    }
  }
  for (const Node &node : body.nodes)
    if (waiting[&node] == 0)
      ordered.push_back (&node);
  for (gsize n = 0; n < ordered.size (); n++)
    for (const std::string &output : ordered[n]->outputs)
      for (const Node *reader : readers[output])
        if (--waiting[reader] == 0)
          ordered.push_back (reader);
  if (ordered.size () == body.nodes.size ())
    return true;
  const Node *cyclic = nullptr;
  for (const Node &node : body.nodes)
    if (!cyclic && waiting[&node] > 0)
      cyclic = &node;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
      "%s depends on its own output", text_of (model, *cyclic).c_str ());
  return false;
}

bool
Lowering::add_inputs (GError **error)
{
  for (const Port &port : model.inputs) {
    auto constant = choice.constants.find (port.name);
    if (constant != choice.constants.end ()) {
      whole.named[port.name] = add_constant (constant->second);
      continue;
    }
    auto chosen = choice.shapes.find (port.name);
    const Shape shape = chosen == choice.shapes.end () ? port.shape : chosen->second;
    gint64 count;
    if (!count_within (shape, most_elements, count) || shape.size () > most_dimensions) {
      g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
          "input \"%s\": no shape for it, or one that is too large: %s",
          port.name.c_str (), text_of (shape).c_str ());
      return false;
    }
    const ValueId id = graph->add ({port.name, port.type, shape, {}});
    whole.named[port.name] = id;
    graph->inputs.push_back (id);
  }
  return true;
}

/* Constants become values when a node reads them: most weights are read once. */
ValueId
Lowering::find (const std::string &name)
{
  for (Scope *in = scope; in; in = in->outer) {
    auto found = in->named.find (name);
    if (found != in->named.end ())
      return found->second;
    auto constant = in->body.constants.find (name);
    if (constant == in->body.constants.end ())
      continue;
    const Array &array = constant->second;
    return in->named[name] = graph->add ({name, array.type, array.shape, array});
  }
  return no_value;
}

static std::string
shapes_text (const Graph &graph, const std::vector<ValueId> &operands)
{
  std::string text;
  for (const ValueId id : operands)
    text += (text.empty () ? "" : ", ")
            + (id == no_value ? std::string ("none") : text_of (graph[id].shape));
  return text;
}

bool
Lowering::check_inputs (const Operator &op, GError **error)
{
  gsize given = 0;
  while (has (given))
    given++;
  if (given < op.least)
    return fail (error, "%" G_GSIZE_FORMAT " inputs, expected at least %" G_GSIZE_FORMAT,
        given, op.least);
  return inputs () <= op.most
         || fail (error, "%" G_GSIZE_FORMAT " inputs, expected at most %" G_GSIZE_FORMAT,
             inputs (), op.most);
}

bool
Lowering::lower (const Node &node, GError **error)
{
  const Operator &op = *operator_named (full_name (node));
  current = &node;
  operands.clear ();
  results.clear ();
  for (const std::string &name : node.inputs) {
    const ValueId id = name.empty () ? no_value : find (name);
    if (id == no_value && !name.empty ())
      return fail (error, "no node and no input is called \"%s\"", name.c_str ());
    operands.push_back (id);
  }
  GError *reason = nullptr;
  if (!check_inputs (op, &reason) || !op.lower (*this, &reason)) {
    if (!reason)
      fail (&reason, "failed");
    g_propagate_error (error, reason);
    return false;
  }
  for (gsize n = 0; n < node.outputs.size (); n++) {
    if (node.outputs[n].empty ())
      continue;
    if (results.count (n) == 0)
      return fail (error, "output %" G_GSIZE_FORMAT " is not supported", n);
    scope->named[node.outputs[n]] = results[n];
    if ((*graph)[results[n]].name.empty ())
      (*graph)[results[n]].name = node.outputs[n];
  }
  return true;
}

bool
Lowering::take_branch (
    const char *name, std::vector<ValueId> &branch_outputs, GError **error)
{
  const Node *node = current;
  const auto found = node->attributes.find (name);
  if (found == node->attributes.end () || !found->second.graph)
    return fail (error, "%s is no graph", name);
  const Body &branch = *found->second.graph;
  if (branch.outputs.size () != outputs ())
    return fail (
        error, "%s has %" G_GSIZE_FORMAT " outputs", name, branch.outputs.size ());

  const std::vector<ValueId> outer_operands = operands;
  Scope inner = {branch, scope, {}};
  scope = &inner;
  const bool lowered = check_operators (model, branch, error) && lower (branch, error);
  current = node;
  operands = outer_operands;
  results.clear ();
  branch_outputs.clear ();
  for (gsize n = 0; lowered && n < branch.outputs.size (); n++)
    branch_outputs.push_back (find (branch.outputs[n].name));
  scope = inner.outer;
  for (gsize n = 0; n < branch_outputs.size (); n++)
    if (branch_outputs[n] == no_value)
      return fail (
          error, "nothing in %s is called \"%s\"", name, branch.outputs[n].name.c_str ());
  return lowered;
}

bool
Lowering::finish (GError **error)
{
  if (model.outputs.empty ()) {
    g_set_error_literal (
        error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "the network has no output");
    return false;
  }
  for (const Port &port : model.outputs) {
    const ValueId id = find (port.name);
    if (id == no_value) {
      g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE,
          "no node has the output \"%s\"", port.name.c_str ());
      return false;
    }
    graph->outputs.push_back (id);
  }
  return true;
}

/* --- for operators --- */

bool
Lowering::fail (GError **error, const char *format, ...)
{
  if (error && *error) /* the first one is the reason of those behind it */
    return false;
  va_list arguments;
  va_start (arguments, format);
  gchar *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "%s, inputs %s: %s",
      text_of (model, *current).c_str (), shapes_text (*graph, operands).c_str (), text);
  g_free (text);
  return false;
}

const Array *
Lowering::constant_input (gsize n, GError **error)
{
  const Array *array = has (n) ? constant (operands[n]) : nullptr;
  if (!array)
    fail (error, "input %" G_GSIZE_FORMAT " must be a constant", n);
  return array;
}

bool
Lowering::integers_of_input (gsize n, std::vector<gint64> &values, GError **error)
{
  const Array *array = constant_input (n, error);
  if (!array)
    return false;
  if (array->count () > 4096)
    return fail (error, "input %" G_GSIZE_FORMAT " has too many values", n);
  values = array->integers ();
  return true;
}

void
Lowering::set_output (gsize n, ValueId id)
{
  results[n] = id;
}

bool
Lowering::normalize_axis (gint64 &axis, gsize rank, GError **error)
{
  if (axis < -gint64 (rank) || axis >= gint64 (rank))
    return fail (
        error, "axis %" G_GINT64_FORMAT " of %" G_GSIZE_FORMAT " dimensions", axis, rank);
  if (axis < 0)
    axis += gint64 (rank);
  return true;
}

ValueId
Lowering::add_constant (Array array)
{
  Value value;
  value.type = array.type;
  value.shape = array.shape;
  value.single = exact;
  value.constant = std::move (array);
  return graph->add (std::move (value));
}

ValueId
Lowering::number (ElementType type, double value)
{
  Array array (type, {});
  array.set_number (0, value);
  return add_constant (std::move (array));
}

bool
Lowering::check_size (ElementType, const Shape &shape, GError **error)
{
  gint64 count;
  if (shape.size () > most_dimensions)
    return fail (error, "a result of %" G_GSIZE_FORMAT " dimensions, expected at most 8",
        shape.size ());
  if (!count_within (shape, most_elements, count))
    return fail (error, "a result of shape %s is too large", text_of (shape).c_str ());
  return true;
}

bool
Lowering::reserve (ElementType type, const Shape &shape, GError **error, gint64 effort)
{
  if (!check_size (type, shape, error))
    return false;
  folded += count_of (shape) * gint64 (std::max (size_of (type), least_size)) * effort;
  if (folded - choice.most_folded <= gint64 (model.bytes) * folded_of_byte)
    return true;
  return fail (error,
      "a constant of shape %s would be computed on the host, which is too large",
      text_of (shape).c_str ());
}

bool
Lowering::add (What what, std::vector<ValueId> inputs, std::vector<Value> outputs,
    std::vector<ValueId> &ids, GError **error)
{
  Operation operation;
  operation.name = current->name.empty () && !current->outputs.empty ()
                       ? current->outputs[0]
                       : current->name;
  operation.what = std::move (what);
  if (auto *convolution = std::get_if<ConvolutionOp> (&operation.what))
    convolution->exact = exact;
  operation.inputs = std::move (inputs);
  for (Value &value : outputs) {
    if (!check_size (value.type, value.shape, error))
      return false;
    value.single = exact;
    ids.push_back (graph->add (std::move (value)));
  }
  operation.outputs = ids;
  graph->operations.push_back (std::move (operation));
  return true;
}

ValueId
Lowering::add (
    What what, std::vector<ValueId> inputs, ElementType type, Shape shape, GError **error)
{
  std::vector<ValueId> ids;
  Value value;
  value.type = type;
  value.shape = std::move (shape);
  return add (std::move (what), std::move (inputs), {value}, ids, error) ? ids[0]
                                                                         : no_value;
}

ValueId
Lowering::elementwise (const char *name, const std::vector<ValueId> &inputs,
    GError **error, const std::vector<double> &parameters)
{
  if (std::count (inputs.begin (), inputs.end (), no_value) > 0) {
    fail (error, "an input is missing");
    return no_value;
  }
  const ElementOp *op = element_op (name);
  std::vector<Shape> shapes;
  std::vector<const Array *> constants;
  Shape result;
  ElementwiseOp what;
  Instruction instruction = {
      op, {}, parameters, value (inputs[0]).type, value (inputs[0]).type};

  if (op->result == ElementOp::truth)
    instruction.type = ElementType::boolean;
  for (const ValueId id : inputs) {
    instruction.operands.push_back (gint32 (shapes.size ()));
    shapes.push_back (shape (id));
    if (const Array *array = constant (id))
      constants.push_back (array);
    if (value (id).type != value (inputs[0]).type) {
      fail (error, "the operands differ in type: %s and %s",
          info_of (value (inputs[0]).type).name, info_of (value (id).type).name);
      return no_value;
    }
  }
  if (is_float (instruction.computed) ? !op->real : !op->integer) {
    fail (error, "%s is not supported for %s", name, info_of (instruction.computed).name);
    return no_value;
  }
  if (!broadcast (shapes, result)) {
    fail (error, "the shapes cannot be broadcast together");
    return no_value;
  }
  what.program.push_back (instruction);
  if (!check_size (instruction.type, result, error))
    return no_value;
  if (constants.size () == inputs.size ()) {
    Array array;
    if (!reserve (instruction.type, result, error, evaluation_effort))
      return no_value;
    if (evaluate (what.program, constants, array))
      return add_constant (std::move (array));
  }
  return add (std::move (what), inputs, instruction.type, result, error);
}

ValueId
Lowering::cast (ValueId input, ElementType type, GError **error)
{
  if (value (input).type == type)
    return input;
  if (type == ElementType::f32 && real_of (input, no_value) != no_value)
    input = real_of (input, no_value);
  const ElementType from = value (input).type;
  ElementwiseOp what;
  what.program.push_back ({element_op ("Cast"), {0}, {}, from, type});
  if (const Array *array = constant (input)) {
    Array result;
    if (!reserve (type, shape (input), error, evaluation_effort))
      return no_value;
    evaluate (what.program, {array}, result);
    return add_constant (std::move (result));
  }
  return add (std::move (what), {input}, type, shape (input), error);
}

ValueId
Lowering::single (ValueId input, GError **error)
{
  const auto found = singles.find (input);
  if (found != singles.end ())
    return found->second;
  ValueId id = cast (input, ElementType::f32, error);
  if (id == input && constant (input)) {
    id = add_constant (*constant (input));
  } else if (id == input) {
    ElementwiseOp copy;
    copy.program.push_back (
        {element_op ("Cast"), {0}, {}, ElementType::f32, ElementType::f32});
    id = add (std::move (copy), {input}, ElementType::f32, shape (input), error);
  }
  if (id == no_value)
    return id;
  keep_single (id);
  return singles[input] = id;
}

bool
Lowering::apply (const char *op, std::vector<ValueId> inputs, GError **error)
{
  std::swap (operands, inputs);
  const bool done = operator_named (op)->lower (*this, error);
  std::swap (operands, inputs);
  return done;
}

ValueId
Lowering::apply_exact (const char *op, std::vector<ValueId> inputs, GError **error)
{
  std::map<gsize, ValueId> outer;
  std::swap (results, outer);
  exact = true;
  const bool done = apply (op, std::move (inputs), error);
  exact = false;
  std::swap (results, outer);
  return done ? outer[0] : no_value;
}

ValueId
Lowering::reshape (ValueId input, Shape to, GError **error)
{
  const gint64 count = count_of (shape (input));
  gint64 wanted;
  if (!count_within (to, most_elements, wanted) || wanted != count) {
    fail (error, "%s cannot become %s", text_of (shape (input)).c_str (),
        text_of (to).c_str ());
    return no_value;
  }
  if (!check_size (value (input).type, to, error))
    return no_value;
  if (to == shape (input))
    return input;
  if (const Array *array = constant (input))
    return reserve (array->type, to, error) ? add_constant (array->reshaped (to))
                                            : no_value;
  return add (
      ViewOp{ViewOp::reshape, {}, {}, {}}, {input}, value (input).type, to, error);
}

ValueId
Lowering::transpose (ValueId input, std::vector<gint64> order, GError **error)
{
  const Shape &from = shape (input);
  std::vector<bool> seen (from.size (), false);
  Shape to;
  bool valid = order.size () == from.size ();
  for (const gint64 d : order) {
    valid = valid && d >= 0 && d < gint64 (from.size ()) && !seen[gsize (d)];
    if (!valid)
      break;
    seen[gsize (d)] = true;
    to.push_back (from[gsize (d)]);
  }
  if (!valid) {
    fail (error, "no such order of dimensions");
    return no_value;
  }
  if (const Array *array = constant (input))
    return reserve (array->type, to, error) ? add_constant (transposed (*array, order))
                                            : no_value;
  return add (
      ViewOp{ViewOp::transpose, order, {}, {}}, {input}, value (input).type, to, error);
}

ValueId
Lowering::slice (ValueId input, std::vector<gint64> starts, std::vector<gint64> steps,
    Shape lengths, GError **error)
{
  if (const Array *array = constant (input))
    return reserve (array->type, lengths, error, growth_effort)
               ? add_constant (sliced (*array, starts, steps, lengths))
               : no_value;
  if (lengths == shape (input)
      && std::all_of (
          steps.begin (), steps.end (), [] (gint64 step) { return step == 1; }))
    return input;
  return add (ViewOp{ViewOp::slice, {}, starts, steps}, {input}, value (input).type,
      lengths, error);
}

ValueId
Lowering::expand (ValueId input, Shape to, GError **error)
{
  Shape result;
  if (!broadcast ({shape (input), to}, result)
      || !check_size (value (input).type, result, error)) {
    if (error && !*error)
      fail (error, "cannot expand to %s", text_of (to).c_str ());
    return no_value;
  }
  if (result == shape (input))
    return input;
  if (const Array *array = constant (input))
    return reserve (array->type, result, error, growth_effort)
               ? add_constant (expanded (*array, result))
               : no_value;
  return add (
      ViewOp{ViewOp::expand, {}, {}, {}}, {input}, value (input).type, result, error);
}
} // namespace inference
