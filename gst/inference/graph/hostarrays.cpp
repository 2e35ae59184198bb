/* Host forms of views and element-wise operators, for constants
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "lowering.hpp"

#include <algorithm>
#include <cstring>

namespace inference {
namespace {
/* Visits the elements of `shape` in order. offset () follows strides of another array. */
class Walk {
public:
  Walk (const Shape &shape, std::vector<gint64> strides, gint64 offset = 0)
      : shape (shape), strides (std::move (strides)), place (shape.size (), 0),
        at (offset)
  {
  }
  gint64 offset () const { return at; }
  void next ()
  {
    for (gsize d = shape.size (); d-- > 0;) {
      at += strides[d];
      if (++place[d] < shape[d])
        return;
      at -= strides[d] * shape[d];
      place[d] = 0;
    }
  }

private:
  const Shape &shape;
  std::vector<gint64> strides;
  std::vector<gint64> place;
  gint64 at;
};

Array
gathered (
    const Array &array, const Shape &shape, std::vector<gint64> strides, gint64 offset)
{
  Array result (array.type, shape);
  const gsize size = size_of (array.type), count = result.count ();
  Walk walk (shape, std::move (strides), offset);
  for (gsize n = 0; n < count; n++, walk.next ())
    memcpy (result.writable () + n * size, array.bytes () + gsize (walk.offset ()) * size,
        size);
  return result;
}

/* Strides along the dimensions of `shape`, 0 where `own` is repeated */
std::vector<gint64>
broadcast_strides (const Shape &own, const Shape &shape)
{
  const std::vector<gint64> dense = contiguous_strides (own);
  std::vector<gint64> strides (shape.size (), 0);
  for (gsize d = 0; d < own.size (); d++)
    if (own[d] != 1)
      strides[shape.size () - own.size () + d] = dense[d];
  return strides;
}
} // namespace

bool
broadcast (const std::vector<Shape> &shapes, Shape &result)
{
  result.clear ();
  for (const Shape &shape : shapes)
    if (shape.size () > result.size ())
      result.insert (result.begin (), shape.size () - result.size (), 1);
  for (const Shape &shape : shapes) {
    for (gsize d = 0; d < shape.size (); d++) {
      gint64 &length = result[result.size () - shape.size () + d];
      if (shape[d] != 1 && length != 1 && shape[d] != length)
        return false;
      if (length == 1)
        length = shape[d];
    }
  }
  return true;
}

Array
transposed (const Array &array, const std::vector<gint64> &order)
{
  const std::vector<gint64> dense = contiguous_strides (array.shape);
  std::vector<gint64> strides;
  Shape shape;
  for (const gint64 d : order) {
    shape.push_back (array.shape[gsize (d)]);
    strides.push_back (dense[gsize (d)]);
  }
  return gathered (array, shape, strides, 0);
}

Array
sliced (const Array &array, const std::vector<gint64> &starts,
    const std::vector<gint64> &steps, const Shape &lengths)
{
  std::vector<gint64> strides = contiguous_strides (array.shape);
  gint64 offset = 0;
  for (gsize d = 0; d < strides.size (); d++) {
    offset += starts[d] * strides[d];
    strides[d] *= steps[d];
  }
  return gathered (array, lengths, strides, offset);
}

Array
expanded (const Array &array, const Shape &shape)
{
  return gathered (array, shape, broadcast_strides (array.shape, shape), 0);
}

/* --- element-wise programs --- */

namespace {
/* A number of either kind */
struct Cell {
  double number = 0;
  gint64 whole = 0;
};

Cell
load (const Array &array, gsize n)
{
  Cell cell;
  if (is_float (array.type))
    cell.number = array.number (n);
  else
    cell.whole = array.integer (n);
  return cell;
}

/* The value as `type` stores it */
Cell
stored (Cell cell, bool from_float, ElementType from, ElementType type)
{
  Array one (type, {});
  if (from_float)
    one.set_number (0, cell.number);
  else if (from == ElementType::u64 && is_float (type))
    one.set_number (0, double (guint64 (cell.whole)));
  else
    one.set_integer (0, cell.whole);
  return load (one, 0);
}

Cell
run (const Instruction &instruction, const std::vector<Cell> &operands)
{
  double numbers[3] = {};
  gint64 wholes[3] = {};
  const bool real = is_float (instruction.computed);
  Cell result;
  for (gsize n = 0; n < operands.size (); n++) {
    numbers[n] = operands[n].number;
    wholes[n] = operands[n].whole;
  }
  if (real)
    result.number = instruction.op->number (numbers, instruction.parameters.data ());
  else
    result.whole = instruction.op->whole (wholes, instruction.parameters.data ());
  return stored (result, real, instruction.computed, instruction.type);
}
} // namespace

bool
evaluate (const ElementProgram &program, const std::vector<const Array *> &inputs,
    Array &result)
{
  std::vector<Shape> shapes;
  Shape shape;
  for (const Array *input : inputs)
    shapes.push_back (input->shape);
  if (!broadcast (shapes, shape))
    return false;
  for (const Instruction &instruction : program)
    if (!(is_float (instruction.computed) ? instruction.op->number != nullptr
                                          : instruction.op->whole != nullptr))
      return false;

  result = Array (program.empty () ? inputs[0]->type : program.back ().type, shape);
  std::vector<Walk> walks;
  for (const Array *input : inputs)
    walks.emplace_back (shape, broadcast_strides (input->shape, shape));
  const gsize count = result.count ();
  std::vector<Cell> results (program.size ()), operands;
  for (gsize n = 0; n < count; n++) {
    for (gsize k = 0; k < program.size (); k++) {
      operands.clear ();
      for (const gint32 operand : program[k].operands)
        operands.push_back (operand >= 0 ? load (*inputs[gsize (operand)],
                                gsize (walks[gsize (operand)].offset ()))
                                         : results[gsize (-1 - operand)]);
      results[k] = run (program[k], operands);
    }
    const Cell cell = program.empty () ? load (*inputs[0], gsize (walks[0].offset ()))
                                       : results.back ();
    if (is_float (result.type))
      result.set_number (n, cell.number);
    else
      result.set_integer (n, cell.whole);
    for (Walk &walk : walks)
      walk.next ();
  }
  return true;
}
} // namespace inference
