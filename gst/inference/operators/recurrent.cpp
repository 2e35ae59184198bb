/* LSTM, GRU and RNN of ONNX
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

namespace inference {
namespace {
/* The three operators. Their inputs are X, W, R, B, sequence_lens, initial_h, and for LSTM
 * initial_c and P, which must be left out. */
struct Recurrence {
  RecurrentOp::Kind kind;
  gint64 gates;
  std::vector<std::string> activations; /* of one direction */
};

const Recurrence lstm = {RecurrentOp::lstm, 4, {"Sigmoid", "Tanh", "Tanh"}};
const Recurrence gru = {RecurrentOp::gru, 3, {"Sigmoid", "Tanh"}};
const Recurrence rnn = {RecurrentOp::rnn, 1, {"Tanh"}};

class RecurrentLowering {
public:
  RecurrentLowering (Lowering &l, const Recurrence &own, GError **error)
      : l (l), own (own), f (l, error), error (error)
  {
  }
  bool run ()
  {
    return check_cell () && read_direction () && read_activations () && read_shapes ()
           && add ();
  }

private:
  bool check_cell ()
  {
    const char *refused = l.has (7)                               ? "P (peepholes)"
                          : l.node ().integer ("input_forget", 0) ? "input_forget"
                          : l.node ().number ("clip", 0) > 0      ? "clip"
                                                                  : nullptr;
    return !refused || l.fail (error, "%s is not supported", refused);
  }
  bool read_direction ()
  {
    const std::string direction = l.node ().text ("direction", "forward");
    if (direction == "forward" || direction == "reverse")
      what.backward = {direction == "reverse"};
    else if (direction == "bidirectional")
      what.backward = {false, true};
    else
      return l.fail (error, "unsupported direction %s", direction.c_str ());
    what.kind = own.kind;
    what.linear_before_reset = l.node ().integer ("linear_before_reset", 0) != 0;
    by_image = l.node ().integer ("layout", 0) != 0;
    return true;
  }
  bool read_activations ();
  bool read_shapes ();
  bool expect (gsize n, const Shape &shape);
  bool add ();
  ValueId projected ();
  ValueId blocks ();
  /* Input `n` as (directions, images, hidden), else zeros */
  ValueId initial (gsize n)
  {
    if (!l.has (n))
      return filled (type, {directions, images, hidden}, 0);
    return by_image ? f.transpose (l.input (n), {1, 0, 2}) : l.input (n);
  }
  ValueId filled (ElementType of, const Shape &shape, double value)
  {
    return l.reserve (of, shape, error) ? f.expand (l.number (of, value), shape)
                                        : no_value;
  }

  Lowering &l;
  const Recurrence &own;
  Formula f;
  GError **error;
  RecurrentOp what;
  bool by_image = false; /* layout 1 */
  ElementType type = ElementType::f32;
  gint64 directions = 1, times = 0, images = 0, features = 0, hidden = 0;
};

/* Parameters are listed for the activations that have them, in order. */
bool
RecurrentLowering::read_activations ()
{
  const Node &node = l.node ();
  std::vector<std::string> names = node.texts ("activations");
  if (names.empty ())
    for (gsize d = 0; d < what.backward.size (); d++)
      names.insert (names.end (), own.activations.begin (), own.activations.end ());
  if (names.size () != own.activations.size () * what.backward.size ())
    return l.fail (error, "%" G_GSIZE_FORMAT " activations, expected %" G_GSIZE_FORMAT,
        names.size (), own.activations.size () * what.backward.size ());
  const std::vector<float> alphas = node.numbers ("activation_alpha"),
                           betas = node.numbers ("activation_beta");
  gsize alpha = 0, beta = 0;
  type = l.value (l.input (0)).type;
  for (const std::string &name : names) {
    const Activated *activated = activation_named (name);
    if (!activated)
      return l.fail (error, "activation %s is not supported", name.c_str ());
    Instruction instruction = {element_op (name), {0}, {}, type, type};
    for (const auto &[parameter, initial] : activated->parameters) {
      const bool is_alpha = parameter == std::string ("alpha");
      const std::vector<float> &given = is_alpha ? alphas : betas;
      gsize &next = is_alpha ? alpha : beta;
      instruction.parameters.push_back (
          next < given.size () ? double (given[next++]) : initial);
    }
    what.activations.push_back (instruction);
  }
  return true;
}

bool
RecurrentLowering::expect (gsize n, const Shape &shape)
{
  if (!l.has (n) || l.shape (l.input (n)) == shape)
    return true;
  return l.fail (error, "input %" G_GSIZE_FORMAT ": expected the shape %s", n,
      text_of (shape).c_str ());
}

bool
RecurrentLowering::read_shapes ()
{
  const Shape &x = l.shape (l.input (0)), &r = l.shape (l.input (2));
  if (x.size () != 3 || r.size () != 3 || count_of (x) == 0 || count_of (r) == 0)
    return l.fail (error, "expected three dimensions");
  directions = gint64 (what.backward.size ());
  times = x[by_image ? 1 : 0];
  images = x[by_image ? 0 : 1];
  features = x[2];
  hidden = r[2];
  for (gsize n = 0; n < l.inputs (); n++)
    if (l.has (n) && n != 4 && (l.value (l.input (n)).type != type || !is_float (type)))
      return l.fail (error, "expected inputs of one floating-point type");
  const gint64 rows = own.gates * hidden;
  const Shape state =
      by_image ? Shape{images, directions, hidden} : Shape{directions, images, hidden};
  return expect (1, {directions, rows, features})
         && expect (2, {directions, rows, hidden}) && expect (3, {directions, 2 * rows})
         && expect (4, {images}) && expect (5, state) && expect (6, state);
}

/* X W for all times, gates and directions, as one product */
ValueId
RecurrentLowering::projected ()
{
  const gint64 rows = directions * own.gates * hidden;
  ValueId x = l.input (0);
  if (by_image)
    x = f.transpose (x, {1, 0, 2});
  x = f.reshape (x, {times * images, features});
  const ValueId w = f.reshape (l.input (1), {rows, features});
  return f.reshape (f.product (x, f.transpose (w, {1, 0})), {times, images, rows});
}

/* R as (directions, blocks of rows, hidden, rows of a block) */
ValueId
RecurrentLowering::blocks ()
{
  const gint64 rows = own.gates * hidden;
  gint64 block = 32;
  while (rows % block != 0)
    block /= 2;
  const ValueId r = f.reshape (l.input (2), {directions, rows / block, block, hidden});
  return f.transpose (r, {0, 1, 3, 2});
}

bool
RecurrentLowering::add ()
{
  const bool has_cell = own.kind == RecurrentOp::lstm;
  std::vector<ValueId> inputs = {projected (), blocks (),
      l.has (3) ? l.input (3) : filled (type, {directions, 2 * own.gates * hidden}, 0),
      initial (5),
      l.has (4) ? l.cast (l.input (4), ElementType::i32, error)
                : filled (ElementType::i32, {images}, double (times))};
  if (has_cell)
    inputs.push_back (initial (6));
  if (std::count (inputs.begin (), inputs.end (), no_value) > 0)
    return false;
  Value all, last;
  all.type = last.type = type;
  all.shape = {times, directions, images, hidden};
  last.shape = {directions, images, hidden};
  std::vector<Value> outputs = {all, last};
  if (has_cell)
    outputs.push_back (last);
  std::vector<ValueId> ids;
  if (!l.add (what, inputs, outputs, ids, error))
    return false;
  if (by_image) {
    ids[0] = f.transpose (ids[0], {2, 0, 1, 3});
    for (gsize n = 1; n < ids.size (); n++)
      ids[n] = f.transpose (ids[n], {1, 0, 2});
  }
  for (gsize n = 0; n < ids.size (); n++)
    l.set_output (n, ids[n]);
  return std::count (ids.begin (), ids.end (), no_value) == 0;
}

template <const Recurrence &own>
bool
recurrent (Lowering &l, GError **error)
{
  return RecurrentLowering (l, own, error).run ();
}
} // namespace

const std::vector<Operator> recurrent_operators = {
    {"LSTM", 3, 8, recurrent<lstm>},
    {"GRU", 3, 6, recurrent<gru>},
    {"RNN", 3, 6, recurrent<rnn>},
};
} // namespace inference
