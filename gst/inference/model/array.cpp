/* Arrays of a network on the host: weights of a file and folded constants
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "array.hpp"

#include <gst/common/arrayformat.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace inference {
using opencl::NumberType;

static const ElementInfo elements[] = {
    {ElementType::f32, 1, "float32", NumberType::f32},
    {ElementType::f64, 11, "float64", NumberType::f64},
    {ElementType::f16, 10, "float16", NumberType::f16},
    {ElementType::i8, 3, "int8", NumberType::i8},
    {ElementType::i16, 5, "int16", NumberType::i16},
    {ElementType::i32, 6, "int32", NumberType::i32},
    {ElementType::i64, 7, "int64", NumberType::i64},
    {ElementType::u8, 2, "uint8", NumberType::u8},
    {ElementType::u16, 4, "uint16", NumberType::u16},
    {ElementType::u32, 12, "uint32", NumberType::u32},
    {ElementType::u64, 13, "uint64", NumberType::u64},
    {ElementType::boolean, 9, "bool", NumberType::u8},
};

const ElementInfo &
info_of (ElementType type)
{
  return elements[int (type)];
}

const ElementInfo *
element_of_onnx (gint32 number)
{
  for (const ElementInfo &info : elements) {
    if (info.onnx == number)
      return &info;
  }
  return nullptr;
}

gsize
size_of (ElementType type)
{
  return opencl::info_of (info_of (type).number).size;
}

bool
is_float (ElementType type)
{
  return type == ElementType::f32 || type == ElementType::f64 || type == ElementType::f16;
}

gint64
count_of (const Shape &shape)
{
  gint64 count = 1;
  for (const gint64 length : shape)
    count *= length;
  return count;
}

bool
count_within (const Shape &shape, gint64 limit, gint64 &count)
{
  bool is_empty = false;
  count = 1;
  for (const gint64 length : shape) {
    if (length < 0 || (length > 0 && count > limit / length))
      return false;
    is_empty = is_empty || length == 0;
    count *= length > 0 ? length : 1;
  }
  if (is_empty)
    count = 0;
  return true;
}

std::string
text_of (const Shape &shape)
{
  std::string text;
  for (const gint64 length : shape)
    text += (text.empty () ? "" : "x") + std::to_string (length);
  return text.empty () ? "scalar" : text;
}

/* --- arrays --- */

Array::Array (ElementType a_type, Shape a_shape)
    : type (a_type), shape (std::move (a_shape))
{
  owner = std::shared_ptr<const void> (g_malloc0 (std::max (size (), gsize (1))), g_free);
  data = static_cast<const guint8 *> (owner.get ());
}

Array::Array (ElementType a_type, Shape a_shape, std::shared_ptr<const void> an_owner,
    const guint8 *bytes)
    : type (a_type), shape (std::move (a_shape)), owner (std::move (an_owner)),
      data (bytes)
{
}

Array
Array::of_integers (const std::vector<gint64> &values)
{
  Array array (ElementType::i64, {gint64 (values.size ())});
  for (gsize n = 0; n < values.size (); n++)
    array.set_integer (n, values[n]);
  return array;
}

Array
Array::of_float (float value)
{
  Array array (ElementType::f32, {});
  array.set_number (0, value);
  return array;
}

Array
Array::of_bfloat16 (const Array &bits)
{
  Array array (ElementType::u32, bits.shape);
  for (gsize n = 0; n < array.count (); n++)
    array.set_integer (n, bits.integer (n) << 16);
  array.type = ElementType::f32;
  return array;
}

template <typename Number>
static Number
load (const guint8 *data, gsize n)
{
  Number value;
  memcpy (&value, data + n * sizeof value, sizeof value);
  return value;
}

template <typename Number>
static void
store (guint8 *data, gsize n, Number value)
{
  memcpy (data + n * sizeof value, &value, sizeof value);
}

double
Array::number (gsize n) const
{
  switch (type) {
  case ElementType::f32:
    return load<float> (data, n);
  case ElementType::f64:
    return load<double> (data, n);
  case ElementType::f16:
    return opencl::float_of_half (load<guint16> (data, n));
  case ElementType::u64:
    return double (load<guint64> (data, n));
  default:
    return double (integer (n));
  }
}

gint64
truncated (double value)
{
  if (std::isnan (value))
    return 0;
  if (value >= 9223372036854775807.0)
    return G_MAXINT64;
  return value <= -9223372036854775808.0 ? G_MININT64 : gint64 (value);
}

gint64
Array::integer (gsize n) const
{
  switch (type) {
  case ElementType::i8:
    return load<gint8> (data, n);
  case ElementType::i16:
    return load<gint16> (data, n);
  case ElementType::i32:
    return load<gint32> (data, n);
  case ElementType::i64:
  case ElementType::u64:
    return load<gint64> (data, n);
  case ElementType::u8:
    return load<guint8> (data, n);
  case ElementType::boolean:
    return load<guint8> (data, n) != 0;
  case ElementType::u16:
    return load<guint16> (data, n);
  case ElementType::u32:
    return load<guint32> (data, n);
  default:
    return truncated (number (n));
  }
}

void
Array::set_number (gsize n, double value)
{
  switch (type) {
  case ElementType::f32:
    store (writable (), n, float (value));
    break;
  case ElementType::f64:
    store (writable (), n, value);
    break;
  case ElementType::f16:
    store (writable (), n, opencl::half_of_float (float (value)));
    break;
  case ElementType::u64:
    store (writable (), n,
        value >= 9223372036854775808.0
            ? guint64 (std::fmin (value, 18446744073709549568.0))
            : guint64 (truncated (value)));
    break;
  case ElementType::boolean:
    store (writable (), n, guint8 (value != 0));
    break;
  default:
    set_integer (n, truncated (value));
  }
}

void
Array::set_integer (gsize n, gint64 value)
{
  switch (size_of (type)) {
  case 1:
    store (writable (), n,
        type == ElementType::boolean ? guint8 (value != 0) : guint8 (value));
    break;
  case 2:
    if (type == ElementType::f16)
      set_number (n, double (value));
    else
      store (writable (), n, guint16 (value));
    break;
  case 4:
    if (type == ElementType::f32)
      set_number (n, double (value));
    else
      store (writable (), n, guint32 (value));
    break;
  default:
    if (type == ElementType::f64)
      set_number (n, double (value));
    else
      store (writable (), n, value);
  }
}

std::vector<float>
Array::floats () const
{
  std::vector<float> values (count ());
  if (type == ElementType::f32 && !values.empty ())
    memcpy (values.data (), data, size ());
  else
    for (gsize n = 0; n < values.size (); n++)
      values[n] = float (number (n));
  return values;
}

std::vector<gint64>
Array::integers () const
{
  std::vector<gint64> values (count ());
  for (gsize n = 0; n < values.size (); n++)
    values[n] = integer (n);
  return values;
}

Array
Array::reshaped (Shape other) const
{
  Array array = *this;
  array.shape = std::move (other);
  return array;
}
} // namespace inference
