/* Lowers an ONNX model to a graph of operations, for given input shapes
 *
 * One function for each operator of ONNX (operators/) checks attributes and shapes and adds
 * operations. Functions of Lowering that get constants compute their result on the host, so
 * constants are folded while the graph is made.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../model/model.hpp"
#include "graph.hpp"

#include <map>

namespace inference {
/* Values of inputs that a shape depends on, and shapes of the others */
struct InputChoice {
  std::map<std::string, Shape> shapes;
  std::map<std::string, Array> constants; /* inputs that become constants */
  /* Bytes of constants that the host computes beside those that the size of the model
   * allows. Some networks without data, for tests, have 0.6 GB of weights. */
  gint64 most_folded = gint64 (1) << 31;
};

/* Effort of operators that can make a large constant of a small one */
constexpr gint64 growth_effort = 8;

class Lowering;
using Lower = bool (*) (Lowering &lowering, GError **error);

/* An operator of ONNX. The first `least` inputs are there when `lower` is called. */
struct Operator {
  const char *name;
  gsize least, most; /* number of inputs */
  Lower lower;
};

/* (nullable) */
const Operator *operator_named (const std::string &name);
/* Names of all operators, sorted */
std::vector<std::string> operator_names ();

class Lowering {
public:
  /* Returns the graph of `model`, or NULL with an error that names node, operator, opset and
   * shapes. If the model has operators that are not supported, the error lists all of them. */
  static std::unique_ptr<Graph> run (
      const Model &model, const InputChoice &choice, GError **error);
  /* Branches that are not taken may have any operators. */
  static bool check_operators (const Model &model, const Body &body, GError **error);

  /* --- for operators: the node that is lowered --- */

  const Node &node () const { return *current; }
  gint64 opset () const { return model.opset; }
  gsize inputs () const { return operands.size (); }
  gsize outputs () const { return current->outputs.size (); }
  bool has (gsize input) const
  {
    return input < operands.size () && operands[input] != no_value;
  }
  ValueId input (gsize n) const { return operands[n]; }
  const Value &value (ValueId id) const { return (*graph)[id]; }
  const Shape &shape (ValueId id) const { return (*graph)[id].shape; }
  const Array *constant (ValueId id) const
  {
    const auto &held = (*graph)[id].constant;
    return held ? &*held : nullptr;
  }
  /* The constant that input `n` is, else an error. */
  const Array *constant_input (gsize n, GError **error);
  bool integers_of_input (gsize n, std::vector<gint64> &values, GError **error);
  void set_output (gsize n, ValueId id);
  /* Does the file store input `n`, a constant or an input of the network, as bfloat16? */
  bool is_bfloat16 (gsize n) const
  {
    return model.bfloat16.count (current->inputs[n]) > 0;
  }
  /* Lowers the graph in attribute `name`, which has as many outputs as the node. */
  bool take_branch (
      const char *name, std::vector<ValueId> &branch_outputs, GError **error);
  /* Lowers another operator with the attributes of this node. Its outputs become those of
   * the node. */
  bool apply (const char *op, std::vector<ValueId> inputs, GError **error);

  /* Sets an error about this node and returns false. */
  bool fail (GError **error, const char *format, ...) G_GNUC_PRINTF (3, 4);

  /* Checks the size of a constant before the host computes it. Counts its bytes, times
   * `effort`, against the limit for the whole network. */
  bool reserve (ElementType type, const Shape &shape, GError **error, gint64 effort = 1);

  /* A dimension counted from the end if negative. */
  bool normalize_axis (gint64 &axis, gsize rank, GError **error);

  /* --- for operators: new values. All return no_value with an error set on failure. --- */

  ValueId add_constant (Array array);
  ValueId number (ElementType type, double value);
  /* `inputs` have one type and broadcast to a common shape. */
  ValueId elementwise (const char *op, const std::vector<ValueId> &inputs, GError **error,
      const std::vector<double> &parameters = {});
  ValueId cast (ValueId input, ElementType type, GError **error);

  /* `input` as float32 that half precision does not shorten */
  ValueId single (ValueId input, GError **error);
  void keep_single (ValueId id) { (*graph)[id].single = true; }
  /* Stores that the integers in `whole` are `real`, in float32, plus the number `zero`. */
  void set_real (ValueId whole, ValueId real, ValueId zero)
  {
    reals[{whole, zero}] = real;
  }
  /* Returns `real`, or no_value without such a call. */
  ValueId real_of (ValueId whole, ValueId zero) const
  {
    const auto found = reals.find ({whole, zero});
    return found == reals.end () ? no_value : found->second;
  }
  /* The first output of another operator, which sums products of whole numbers, with the
   * attributes of this node. */
  ValueId apply_exact (const char *op, std::vector<ValueId> inputs, GError **error);

  ValueId reshape (ValueId input, Shape shape, GError **error);
  ValueId transpose (ValueId input, std::vector<gint64> order, GError **error);
  ValueId slice (ValueId input, std::vector<gint64> starts, std::vector<gint64> steps,
      Shape lengths, GError **error);
  ValueId expand (ValueId input, Shape shape, GError **error);
  /* Adds an operation with one output. */
  ValueId add (What what, std::vector<ValueId> inputs, ElementType type, Shape shape,
      GError **error);
  /* Adds an operation with several outputs. */
  bool add (What what, std::vector<ValueId> inputs, std::vector<Value> outputs,
      std::vector<ValueId> &ids, GError **error);

private:
  Lowering (const Model &model, const InputChoice &choice);

  /* Names of a graph. A branch also sees those of the graphs around it. */
  struct Scope {
    const Body &body;
    Scope *outer; /* (nullable) */
    std::map<std::string, ValueId> named;
  };

  bool order_nodes (
      const Body &body, std::vector<const Node *> &ordered, GError **error) const;
  bool lower (const Body &body, GError **error);
  bool add_inputs (GError **error);
  bool lower (const Node &node, GError **error);
  bool check_inputs (const Operator &op, GError **error);
  bool finish (GError **error);
  bool check_size (ElementType type, const Shape &shape, GError **error);
  ValueId find (const std::string &name);

  const Model &model;
  const InputChoice &choice;
  std::unique_ptr<Graph> graph;
  Scope whole;
  Scope *scope = &whole;
  gint64 folded = 0; /* bytes */
  const Node *current = nullptr;
  std::vector<ValueId> operands;
  std::map<gsize, ValueId> results;
  std::map<ValueId, ValueId> singles;
  std::map<std::pair<ValueId, ValueId>, ValueId> reals;
  bool exact = false;
};

/* NumPy's rule; false if the shapes do not broadcast. */
bool broadcast (const std::vector<Shape> &shapes, Shape &result);

/* Host forms of views and element-wise operators */
Array transposed (const Array &array, const std::vector<gint64> &order);
Array sliced (const Array &array, const std::vector<gint64> &starts,
    const std::vector<gint64> &steps, const Shape &lengths);
Array expanded (const Array &array, const Shape &shape);
bool evaluate (const ElementProgram &program, const std::vector<const Array *> &inputs,
    Array &result);
} // namespace inference
