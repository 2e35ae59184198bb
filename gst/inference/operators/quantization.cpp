/* Quantized operators of ONNX: those of the QDQ form, and integer products
 *
 * Integers of 8 bits are computed with as float32 numbers minus their zero point, which half
 * precision also stores exactly. Sums of products are exact below 2^24. Longer sums are split
 * into parts, which are added as int32, or are sums of int32 altogether.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "operators.hpp"

#include <algorithm>
#include <cmath>

namespace inference {
namespace {
struct Range {
  double low, high;
  double largest () const { return std::max (-low, high); }
};

Range
range_of (ElementType type)
{
  const double count = std::ldexp (1, 8 * int (size_of (type)));
  const double low = info_of (type).name[0] == 'u' ? 0 : -count / 2;
  return {low, low + count - 1};
}

bool
is_byte (ElementType type)
{
  return type == ElementType::i8 || type == ElementType::u8;
}

bool
is_quantized (ElementType type)
{
  return is_byte (type) || type == ElementType::i16 || type == ElementType::u16;
}

/* Scale and zero point of a tensor: a number, or one for each index or block along an axis */
struct Steps {
  ValueId scale = no_value, zero = no_value; /* broadcast to the tensor, float32 */
  ValueId zero_input = no_value;             /* the node's input */
};

bool
is_zero (Lowering &l, ValueId id)
{
  const Array *array = id == no_value ? nullptr : l.constant (id);
  if (!array)
    return id == no_value;
  for (gsize n = 0; n < array->count (); n++)
    if (array->number (n) != 0)
      return false;
  return true;
}

/* Repeats a number for each block of `block` indices along `axis`. */
ValueId
blocks (
    Lowering &l, ValueId id, const Shape &of, gsize axis, gint64 block, GError **error)
{
  Shape shape = l.shape (id), repeated;
  const gint64 count = shape.size () == of.size () ? shape[axis] : 0;
  if (block > of[axis] || count != (of[axis] + block - 1) / block) {
    l.fail (error, "scales of shape %s do not fit blocks of %" G_GINT64_FORMAT,
        text_of (shape).c_str (), block);
    return no_value;
  }
  shape.insert (shape.begin () + gssize (axis) + 1, 1);
  repeated = shape;
  repeated[axis + 1] = block;
  id = l.reshape (id, shape, error);
  id = id == no_value ? id : l.expand (id, repeated, error);
  repeated.erase (repeated.begin () + gssize (axis) + 1);
  repeated[axis] = count * block;
  id = id == no_value ? id : l.reshape (id, repeated, error);
  repeated[axis] = of[axis];
  return id == no_value ? id
                        : l.slice (id, std::vector<gint64> (of.size (), 0),
                            std::vector<gint64> (of.size (), 1), repeated, error);
}

/* A scale or zero point for a tensor of shape `of`, as float32 */
ValueId
spread (
    Lowering &l, ValueId id, const Shape &of, gint64 axis, gint64 block, GError **error)
{
  id = l.single (id, error);
  if (id == no_value)
    return id;
  const Shape &own = l.shape (id);
  const gint64 count = count_of (own);
  if (count == 1 && own.size () <= of.size ())
    return id;
  if (count == 1)
    return l.reshape (id, {}, error);
  if (!l.normalize_axis (axis, of.size (), error))
    return no_value;
  if (block > 0)
    return blocks (l, id, of, gsize (axis), block, error);
  if (own.size () == 1 && count == of[gsize (axis)]) {
    Shape shape (of.size () - gsize (axis), 1);
    shape[0] = count;
    return l.reshape (id, shape, error);
  }
  if (own.size () == of.size ()) /* of rows or columns of matrices */
    return id;
  l.fail (error, "a scale or zero point of shape %s does not fit %s",
      text_of (own).c_str (), text_of (of).c_str ());
  return no_value;
}

/* Reads the zero point in input `n`, 0 if it is left out, for a tensor of shape `of`. */
bool
read_zero (Lowering &l, gsize n, const Shape &of, gint64 axis, gint64 block, Steps &steps,
    GError **error)
{
  steps.zero_input = l.has (n) ? l.input (n) : no_value;
  steps.zero = steps.zero_input == no_value
                   ? l.number (ElementType::f32, 0)
                   : spread (l, steps.zero_input, of, axis, block, error);
  Shape all;
  if (steps.zero == no_value)
    return false;
  if (l.constant (steps.zero))
    l.keep_single (steps.zero);
  return (broadcast ({of, l.shape (steps.zero)}, all) && all == of)
         || l.fail (error, "a zero point of shape %s does not fit the input",
             text_of (l.shape (steps.zero)).c_str ());
}

/* Reads the scale in input `n`, and the zero point behind it. */
bool
read_steps (Lowering &l, gsize n, const Shape &of, gint64 axis, gint64 block,
    Steps &steps, GError **error)
{
  if (!l.has (n))
    return l.fail (error, "input %" G_GSIZE_FORMAT " is missing", n);
  steps.scale = spread (l, l.input (n), of, axis, block, error);
  Shape all;
  if (steps.scale == no_value || !read_zero (l, n + 1, of, axis, block, steps, error))
    return false;
  if (l.constant (steps.scale))
    l.keep_single (steps.scale);
  return (broadcast ({of, l.shape (steps.scale)}, all) && all == of)
         || l.fail (
             error, "a scale of shape %s", text_of (l.shape (steps.scale)).c_str ());
}

/* Computes a constant from `values`, of which the first has the shape of the result. */
template <typename Of>
ValueId
folded (Lowering &l, ElementType type, const std::vector<ValueId> &values, Of of,
    GError **error)
{
  std::vector<Array> arrays;
  for (const ValueId id : values) {
    const Array &array = *l.constant (id);
    if (!l.reserve (type, l.shape (values[0]), error))
      return no_value;
    arrays.push_back (
        array.count () == 1 ? array : expanded (array, l.shape (values[0])));
  }
  Array result (type, l.shape (values[0]));
  std::vector<double> x (values.size ());
  for (gsize n = 0; n < result.count (); n++) {
    for (gsize k = 0; k < x.size (); k++)
      x[k] = arrays[k].number (arrays[k].count () == 1 ? 0 : n);
    result.set_number (n, of (x));
  }
  return l.add_constant (std::move (result));
}

bool
are_constant (Lowering &l, const std::vector<ValueId> &values)
{
  return std::all_of (
      values.begin (), values.end (), [&] (ValueId id) { return l.constant (id); });
}

/* x minus its zero point, in float32 */
ValueId
centered (Lowering &l, ValueId x, const Steps &steps, GError **error)
{
  const ElementType type = l.value (x).type;
  if (!is_quantized (type) && type != ElementType::i32) {
    l.fail (error, "unsupported quantized numbers of type %s", info_of (type).name);
    return no_value;
  }
  const ValueId real = l.real_of (x, steps.zero_input);
  if (real != no_value)
    return real;
  if (are_constant (l, {x, steps.zero}))
    return folded (
        l, ElementType::f32, {x, steps.zero},
        [] (const std::vector<double> &v) { return v[0] - v[1]; }, error);
  ValueId id = type == ElementType::i32 ? x : l.cast (x, ElementType::f32, error);
  if (id != no_value && !is_zero (l, steps.zero)) {
    const ValueId zero = l.cast (steps.zero, l.value (id).type, error);
    id = zero == no_value ? zero : l.elementwise ("Sub", {id, zero}, error);
  }
  id = id == no_value ? id : l.cast (id, ElementType::f32, error);
  if (id != no_value && !is_byte (type))
    l.keep_single (id);
  return id;
}

ValueId
dequantized (Lowering &l, ValueId x, const Steps &steps, GError **error)
{
  if (are_constant (l, {x, steps.scale, steps.zero}))
    return folded (
        l, ElementType::f32, {x, steps.scale, steps.zero},
        [] (const std::vector<double> &v) { return double (float (v[0] - v[2])) * v[1]; },
        error);
  x = centered (l, x, steps, error);
  return x == no_value ? x : l.elementwise ("Mul", {x, steps.scale}, error);
}

/* Rounds x / scale. */
ValueId
quantized (Lowering &l, ValueId x, const Steps &steps, ElementType type, GError **error)
{
  const Range range = range_of (type);
  if (!is_quantized (type)) {
    l.fail (error, "unsupported quantized numbers of type %s", info_of (type).name);
    return no_value;
  }
  if (are_constant (l, {x, steps.scale, steps.zero}))
    return folded (
        l, type, {x, steps.scale, steps.zero},
        [&] (const std::vector<double> &v) {
          const double rounded = std::nearbyint (double (float (v[0] / v[1]))) + v[2];
          return std::fmin (std::fmax (rounded, range.low), range.high);
        },
        error);
  const ValueId real = l.elementwise (
      "Quantize", {x, steps.scale, steps.zero}, error, {range.low, range.high});
  if (real == no_value)
    return real;
  if (!is_byte (type))
    l.keep_single (real);
  ValueId whole = real;
  if (!is_zero (l, steps.zero))
    whole = l.elementwise ("Add", {real, steps.zero}, error);
  whole = whole == no_value ? whole : l.cast (whole, type, error);
  if (whole != no_value && count_of (l.shape (steps.zero)) == 1)
    l.set_real (whole, real, steps.zero_input);
  return whole;
}

bool
quantize_linear (Lowering &l, GError **error)
{
  const ValueId x = l.cast (l.input (0), ElementType::f32, error);
  const ElementInfo *wanted =
      element_of_onnx (gint32 (l.node ().integer ("output_dtype", 0)));
  Steps steps;
  if (x == no_value
      || !read_steps (l, 1, l.shape (x), l.node ().integer ("axis", 1),
          l.node ().integer ("block_size", 0), steps, error))
    return false;
  const ElementType type = l.has (2) ? l.value (l.input (2)).type
                           : wanted  ? wanted->type
                                     : ElementType::u8;
  return give (l, quantized (l, x, steps, type, error));
}

bool
dequantize_linear (Lowering &l, GError **error)
{
  Steps steps;
  if (!read_steps (l, 1, l.shape (l.input (0)), l.node ().integer ("axis", 1),
          l.node ().integer ("block_size", 0), steps, error))
    return false;
  const ValueId result = dequantized (l, l.input (0), steps, error);
  return result != no_value
         && give (l, l.cast (result, l.value (l.input (1)).type, error));
}

/* Weights in input `n` of shape (directions, features, gates), as float32 of shape
 * (directions, gates, features). Input `scale` and the zero point behind it have a number for
 * each direction, or for each gate of each direction. */
ValueId
dequantize_gate_weights (Lowering &l, gsize n, gsize scale, GError **error)
{
  const Shape of = l.shape (l.input (n));
  ValueId numbers[2];
  if (of.size () != 3 || !is_byte (l.value (l.input (n)).type)) {
    l.fail (error,
        "input %" G_GSIZE_FORMAT ": expected int8 or uint8 of three dimensions", n);
    return no_value;
  }
  for (gsize k = 0; k < 2; k++) {
    const Shape own = l.has (scale + k) ? l.shape (l.input (scale + k)) : Shape ();
    if (own != Shape{of[0]} && own != Shape{of[0], of[2]}) {
      l.fail (error, "input %" G_GSIZE_FORMAT ": expected the shape %s or %s", scale + k,
          text_of ({of[0]}).c_str (), text_of ({of[0], of[2]}).c_str ());
      return no_value;
    }
    const ValueId id =
        l.reshape (l.input (scale + k), {of[0], 1, own.size () > 1 ? of[2] : 1}, error);
    numbers[k] = id == no_value ? id : l.single (id, error);
    if (numbers[k] == no_value)
      return no_value;
  }
  const ValueId weights =
      dequantized (l, l.input (n), {numbers[0], numbers[1], l.input (scale + 1)}, error);
  return weights == no_value ? weights : l.transpose (weights, {0, 2, 1}, error);
}

/* An LSTM whose weights are quantized. Unlike in onnxruntime, the activations are not. */
bool
dynamic_quantize_lstm (Lowering &l, GError **error)
{
  std::vector<ValueId> inputs;
  for (gsize n = 0; n < 8; n++)
    inputs.push_back (l.has (n) ? l.input (n) : no_value);
  inputs[1] = dequantize_gate_weights (l, 1, 8, error);
  inputs[2] =
      inputs[1] == no_value ? no_value : dequantize_gate_weights (l, 2, 10, error);
  return inputs[2] != no_value && l.apply ("LSTM", inputs, error);
}

/* y = round (x / scale) + zero for the range of x, which includes 0 */
bool
dynamic_quantize_linear (Lowering &l, GError **error)
{
  const ValueId x = l.input (0), none = l.number (ElementType::f32, 0);
  if (l.value (x).type != ElementType::f32)
    return l.fail (error, "expected float32");
  const gsize rank = l.shape (x).size ();
  ValueId limits[2];
  auto apply = [&] (const char *op, ValueId a, ValueId b) {
    return a == no_value ? a : l.elementwise (op, {a, b}, error);
  };
  for (gsize n = 0; n < 2; n++) {
    const ReduceOp what{
        n ? Reduction::maximum : Reduction::minimum, std::vector<bool> (rank, true)};
    ValueId id = l.add (what, {x}, ElementType::f32, Shape (rank, 1), error);
    id = id == no_value ? id : l.reshape (id, {}, error);
    limits[n] = apply (n ? "Max" : "Min", id, none);
    if (limits[n] == no_value)
      return false;
  }
  ValueId scale = apply ("Sub", limits[1], limits[0]);
  scale = apply ("Div", scale, l.number (ElementType::f32, 255));
  const ValueId is_none = apply ("Equal", scale, none);
  if (is_none == no_value)
    return false;
  Steps steps;
  steps.scale = apply ("Add", scale, l.cast (is_none, ElementType::f32, error));
  const ValueId below = l.elementwise ("Neg", {limits[0]}, error);
  if (steps.scale == no_value || below == no_value)
    return false;
  l.keep_single (steps.scale);
  steps.zero = l.elementwise ("Quantize", {below, steps.scale, none}, error, {0, 255});
  if (steps.zero == no_value)
    return false;
  l.keep_single (steps.zero);
  steps.zero_input = l.cast (steps.zero, ElementType::u8, error);
  l.set_real (steps.zero_input, steps.zero, no_value);
  const ValueId shown = l.elementwise ("Add", {steps.scale, none}, error);
  return steps.zero_input != no_value && shown != no_value && give (l, shown, 1)
         && give (l, steps.zero_input, 2)
         && give (l, quantized (l, x, steps, ElementType::u8, error));
}

/* --- sums of products of whole numbers --- */

/* A factor without its zero point, and the dimension that is summed */
struct Factor {
  ValueId id = no_value;
  Range range{0, 0};
  gsize axis = 0;
  bool is_matrix = false; /* (depth, columns), else (filters, depth, …) */
};

bool
read_factor (Lowering &l, ValueId x, const Steps &steps, gsize axis, Factor &factor,
    GError **error)
{
  const ElementType type = l.value (x).type;
  if (!is_byte (type))
    return l.fail (error, "expected int8 or uint8, not %s", info_of (type).name);
  const Range range = range_of (type);
  Range zero = range;
  if (const Array *array = l.constant (steps.zero)) {
    const std::vector<float> numbers = array->floats ();
    if (numbers.empty ())
      return l.fail (error, "the zero point is missing");
    zero.low = *std::min_element (numbers.begin (), numbers.end ());
    zero.high = *std::max_element (numbers.begin (), numbers.end ());
  }
  factor = {centered (l, x, steps, error), {range.low - zero.high, range.high - zero.low},
      axis, false};
  return factor.id != no_value;
}

/* The largest sum of any of the products whose index along the summed dimension lies from
 * `begin` to `end` */
double
largest_sum (Lowering &l, const Factor &x, const Factor &w, gint64 begin, gint64 end)
{
  const Shape &shape = l.shape (w.id);
  const gint64 step = contiguous_strides (shape)[w.axis], depth = shape[w.axis];
  const gint64 filters = w.is_matrix ? step : shape[0];
  const Array *array = l.constant (w.id);
  if (!array || (w.is_matrix && shape.size () > 2))
    return double (end - begin) * double (w.is_matrix ? 1 : step) * x.range.largest ()
           * w.range.largest ();
  std::vector<double> most (gsize (filters), 0), least (gsize (filters), 0);
  for (gint64 n = 0; n < gint64 (array->count ()); n++) {
    const gint64 k = n / step % depth;
    if (k < begin || k >= end)
      continue;
    const gsize filter = gsize (w.is_matrix ? n % step : n / step / depth);
    const double weight = array->number (gsize (n));
    most[filter] += std::max (weight * x.range.low, weight * x.range.high);
    least[filter] += std::min (weight * x.range.low, weight * x.range.high);
  }
  double largest = 0;
  for (gsize f = 0; f < most.size (); f++)
    largest = std::max ({largest, most[f], -least[f]});
  return largest;
}

ValueId
part_of (Lowering &l, const Factor &factor, gint64 begin, gint64 end, GError **error)
{
  Shape lengths = l.shape (factor.id);
  std::vector<gint64> starts (lengths.size (), 0);
  starts[factor.axis] = begin;
  lengths[factor.axis] = end - begin;
  const ValueId part = l.slice (
      factor.id, starts, std::vector<gint64> (lengths.size (), 1), lengths, error);
  if (part != no_value && l.value (factor.id).single)
    l.keep_single (part);
  return part;
}

/* Conv or MatMul of whole numbers: float32 if all sums are below 2^24, else int32 */
ValueId
exact_sum (Lowering &l, const Factor &x, const Factor &w, GError **error)
{
  const char *op = w.is_matrix ? "MatMul" : "Conv";
  /* A convolution in float32 has constant weights of up to two spatial dimensions. */
  const bool is_float = w.is_matrix || (l.constant (w.id) && l.shape (w.id).size () <= 4);
  const gint64 depth = l.shape (w.id)[w.axis];
  const double limit = 1 << 24;
  const bool grouped = l.shape (x.id)[x.axis] != depth;
  gint64 parts = 1;
  auto fits = [&] {
    for (gint64 n = 0; n < parts; n++)
      if (largest_sum (l, x, w, depth * n / parts, depth * (n + 1) / parts) >= limit)
        return false;
    return true;
  };
  while (is_float && parts <= depth && !fits ())
    parts = grouped ? depth + 1 : 2 * parts;
  if (is_float && parts == 1)
    return l.apply_exact (op, {x.id, w.id}, error);
  ValueId sum = no_value;
  if (!is_float || parts > depth) {
    const ValueId a = l.cast (x.id, ElementType::i32, error);
    const ValueId b = a == no_value ? a : l.cast (w.id, ElementType::i32, error);
    return b == no_value ? b : l.apply_exact (op, {a, b}, error);
  }
  for (gint64 n = 0; n < parts; n++) {
    const gint64 begin = depth * n / parts, end = depth * (n + 1) / parts;
    const ValueId a = part_of (l, x, begin, end, error);
    const ValueId b = a == no_value ? a : part_of (l, w, begin, end, error);
    ValueId part = b == no_value ? b : l.apply_exact (op, {a, b}, error);
    part = part == no_value ? part : l.cast (part, ElementType::i32, error);
    sum = n == 0 || part == no_value ? part : l.elementwise ("Add", {sum, part}, error);
    if (sum == no_value)
      return sum;
  }
  return sum;
}

/* Gives a sum as int32. */
bool
give_whole (Lowering &l, ValueId sum, GError **error)
{
  if (sum == no_value)
    return false;
  const ValueId whole = l.cast (sum, ElementType::i32, error);
  if (whole != no_value && whole != sum)
    l.set_real (whole, sum, no_value);
  return give (l, whole);
}

bool
conv_integer (Lowering &l, GError **error)
{
  Steps of_x, of_w;
  Factor x, w;
  const Shape data = l.shape (l.input (0)), weights = l.shape (l.input (1));
  if (weights.size () < 3 || data.size () != weights.size ())
    return l.fail (error, "input and weights differ in rank");
  return read_zero (l, 2, data, 1, 0, of_x, error)
         && read_zero (l, 3, weights, 0, 0, of_w, error)
         && read_factor (l, l.input (0), of_x, 1, x, error)
         && read_factor (l, l.input (1), of_w, 1, w, error)
         && give_whole (l, exact_sum (l, x, w, error), error);
}

/* Rows of a have the dimension before the last, columns of b the last one. */
bool
matmul_integer (Lowering &l, GError **error)
{
  Steps of_a, of_b;
  Factor x, w;
  const Shape a = l.shape (l.input (0)), b = l.shape (l.input (1));
  const gsize rows_of_b = b.size () < 2 ? 0 : b.size () - 2;
  if (a.empty () || b.empty () || a.back () != b[rows_of_b])
    return l.fail (error, "the inner dimensions differ");
  if (!read_zero (l, 2, a, a.size () < 2 ? -1 : -2, 0, of_a, error)
      || !read_zero (l, 3, b, -1, 0, of_b, error)
      || !read_factor (l, l.input (0), of_a, a.size () - 1, x, error)
      || !read_factor (l, l.input (1), of_b, rows_of_b, w, error))
    return false;
  w.is_matrix = true;
  if (!l.constant (w.id) || b.size () > 2) {
    /* The kernel for two computed matrices has one type. */
    l.keep_single (x.id);
    l.keep_single (w.id);
  }
  return give_whole (l, exact_sum (l, x, w, error), error);
}
} // namespace

const std::vector<Operator> quantization_operators = {
    {"QuantizeLinear", 2, 3, quantize_linear},
    {"DequantizeLinear", 2, 3, dequantize_linear},
    {"DynamicQuantizeLinear", 1, 1, dynamic_quantize_linear},
    {"ConvInteger", 2, 4, conv_integer},
    {"MatMulInteger", 2, 4, matmul_integer},
    {"com.microsoft.QuantizeLinear", 2, 3, quantize_linear},
    {"com.microsoft.DequantizeLinear", 2, 3, dequantize_linear},
    {"com.microsoft.DynamicQuantizeLSTM", 3, 12, dynamic_quantize_lstm},
};
} // namespace inference
