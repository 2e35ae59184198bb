/* Matrix products of ONNX
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

namespace inference {
namespace {
bool
is_float32_or_16 (ElementType type)
{
  return type == ElementType::f32 || type == ElementType::f16;
}

/* A product with a constant matrix (depth, filters), or (filters, depth) with `by_filter`, is
 * a convolution of the rows. The matrix is not copied. */
ValueId
multiply_rows (Lowering &l, ValueId a, const Array &columns, bool by_filter,
    std::vector<float> bias, GError **error)
{
  const Shape from = l.shape (a);
  const gint64 filters = columns.shape[by_filter ? 0 : 1],
               depth = columns.shape[by_filter ? 1 : 0];
  ConvolutionOp what;
  what.of_rows = true;
  what.is_turned = !by_filter;
  what.weights = columns.reshaped ({filters, depth, 1, 1});
  what.bias = std::move (bias);
  Shape to = from, flat = from;
  to.back () = filters;
  if (from.size () > ConvolutionOp::most_outer + 1)
    flat = {count_of (from) / depth, depth};
  a = l.reshape (a, flat, error);
  if (a == no_value)
    return no_value;
  flat.back () = filters;
  a = l.add (what, {a}, l.value (a).type, flat, error);
  return a == no_value ? no_value : l.reshape (a, to, error);
}

/* The product of the last two dimensions; the others broadcast. */
ValueId
product (Lowering &l, ValueId a, ValueId b, GError **error)
{
  const Shape from = l.shape (a), other = l.shape (b);
  const gsize rank = from.size ();
  if (rank < 2 || other.size () < 2 || from[rank - 1] != other[other.size () - 2]) {
    l.fail (error, "the inner dimensions differ");
    return no_value;
  }
  const gint64 rows = from[rank - 2], depth = from[rank - 1], columns = other.back ();
  const Array *constant = l.constant (b);
  if (constant && other.size () == 2 && is_float32_or_16 (l.value (a).type) && depth > 0
      && columns > 0) {
    if (!l.reserve (constant->type, constant->shape, error))
      return no_value;
    return multiply_rows (l, a, *constant, false, {}, error);
  }
  Shape batch;
  if (!broadcast ({Shape (from.begin (), from.end () - 2),
                      Shape (other.begin (), other.end () - 2)},
          batch)) {
    l.fail (error, "the outer dimensions cannot be broadcast together");
    return no_value;
  }
  Shape of_a = batch, of_b = batch, to = batch;
  of_a.insert (of_a.end (), {rows, depth});
  of_b.insert (of_b.end (), {depth, columns});
  to.insert (to.end (), {rows, columns});
  a = l.expand (a, of_a, error);
  b = a == no_value ? no_value : l.expand (b, of_b, error);
  return b == no_value ? no_value
                       : l.add (ProductOp{}, {a, b}, l.value (a).type, to, error);
}

bool
matmul (Lowering &l, GError **error)
{
  ValueId a = l.input (0), b = l.input (1);
  const Shape from = l.shape (a), other = l.shape (b);
  if (l.value (a).type != l.value (b).type || from.empty () || other.empty ())
    return l.fail (error, "expected arrays of one type");
  /* A vector is a row on the left and a column on the right. */
  if (from.size () == 1)
    a = l.reshape (a, {1, from[0]}, error);
  if (other.size () == 1)
    b = l.reshape (b, {other[0], 1}, error);
  ValueId result = a == no_value || b == no_value ? no_value : product (l, a, b, error);
  if (result == no_value)
    return false;
  Shape to = l.shape (result);
  if (other.size () == 1)
    to.pop_back ();
  if (from.size () == 1)
    to.erase (to.end () - (other.size () == 1 ? 1 : 2));
  result = l.reshape (result, to, error);
  l.set_output (0, result);
  return result != no_value;
}

/* alpha A' B' + beta C */
bool
gemm (Lowering &l, GError **error)
{
  if (l.shape (l.input (0)).size () != 2 || l.shape (l.input (1)).size () != 2
      || l.value (l.input (0)).type != l.value (l.input (1)).type)
    return l.fail (error, "expected two matrices");
  const ElementType type = l.value (l.input (0)).type;
  const double alpha = l.node ().number ("alpha", 1), beta = l.node ().number ("beta", 1);
  const bool by_filter = l.node ().integer ("transB", 0);
  ValueId a = l.input (0), b = l.input (1);
  if (l.node ().integer ("transA", 0))
    a = l.transpose (a, {1, 0}, error);
  if (a == no_value)
    return false;
  if (alpha != 1) {
    /* On the side that is a constant, if there is one */
    ValueId &scaled = l.constant (b) ? b : a;
    scaled = l.elementwise ("Mul", {scaled, l.number (type, alpha)}, error);
    if (scaled == no_value)
      return false;
  }
  ValueId c = l.has (2) ? l.input (2) : no_value;
  if (c != no_value && beta != 1)
    c = l.elementwise ("Mul", {c, l.number (type, beta)}, error);
  if (l.has (2) && c == no_value)
    return false;

  const gint64 columns = l.shape (b)[by_filter ? 0 : 1];
  const Array *weights = l.constant (b), *bias = c == no_value ? nullptr : l.constant (c);
  ValueId result;
  if (weights && bias && is_float32_or_16 (type) && !bias->shape.empty ()
      && count_of (bias->shape) == columns && bias->shape.back () == columns) {
    if (l.shape (a)[1] != weights->shape[by_filter ? 1 : 0])
      return l.fail (error, "the inner dimensions differ");
    if (!l.reserve (weights->type, weights->shape, error))
      return false;
    result = multiply_rows (l, a, *weights, by_filter, bias->floats (), error);
  } else {
    if (by_filter)
      b = l.transpose (b, {1, 0}, error);
    result = b == no_value ? no_value : product (l, a, b, error);
    if (result != no_value && c != no_value)
      result = l.elementwise ("Add", {result, c}, error);
  }
  if (result != no_value && l.shape (result).size () != 2)
    return l.fail (error, "C does not broadcast to the product");
  l.set_output (0, result);
  return result != no_value;
}
} // namespace

ValueId
matrix_product (Lowering &l, ValueId a, ValueId b, GError **error)
{
  return product (l, a, b, error);
}

const std::vector<Operator> product_operators = {
    {"MatMul", 2, 2, matmul}, {"Gemm", 2, 3, gemm}};
} // namespace inference
