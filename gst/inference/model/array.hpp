/* Arrays of a network on the host: weights of a file and folded constants
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>

#include <memory>
#include <string>
#include <vector>

namespace inference {
/* Lengths of the dimensions, outermost first. Empty for a single number. */
using Shape = std::vector<gint64>;

gint64 count_of (const Shape &shape);
std::string text_of (const Shape &shape); /* "1x3x224x224", "scalar" */

/* The number of elements, or false if it is negative, or more than `limit`. */
bool count_within (const Shape &shape, gint64 limit, gint64 &count);

/* Element type of a tensor. A boolean is a byte, 0 or 1. */
enum class ElementType { f32, f64, f16, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

struct ElementInfo {
  ElementType type;
  gint32 onnx;      /* number of TensorProto.DataType */
  const char *name; /* as onnx and caps say it */
  opencl::NumberType number;
};

const ElementInfo &info_of (ElementType type);
/* (nullable) */
const ElementInfo *element_of_onnx (gint32 number);
gsize size_of (ElementType type);
bool is_float (ElementType type);

/* A contiguous array. Copies share the storage, which does not change after it is filled. */
/* Truncates a floating-point number; a value outside int64 becomes its nearest, NaN 0. */
gint64 truncated (double value);

class Array {
public:
  Array () = default;
  /* Zeros */
  Array (ElementType type, Shape shape);
  /* Bytes that `owner` keeps, such as a part of a mapped file. They may be unaligned. */
  Array (ElementType type, Shape shape, std::shared_ptr<const void> owner,
      const guint8 *bytes);

  static Array of_integers (const std::vector<gint64> &values);
  static Array of_float (float value);
  /* float32 from the bits of bfloat16 as uint16, which are the upper ones of float32 */
  static Array of_bfloat16 (const Array &bits);

  const guint8 *bytes () const { return data; }
  guint8 *writable () { return const_cast<guint8 *> (data); }
  gsize count () const { return gsize (count_of (shape)); }
  gsize size () const { return count () * size_of (type); }

  double number (gsize n) const;
  gint64 integer (gsize n) const;
  void set_number (gsize n, double value);
  void set_integer (gsize n, gint64 value);

  std::vector<float> floats () const;
  std::vector<gint64> integers () const;
  /* The same values with another shape of as many elements */
  Array reshaped (Shape other) const;

  ElementType type = ElementType::f32;
  Shape shape;

private:
  std::shared_ptr<const void> owner;
  const guint8 *data = nullptr;
};
} // namespace inference
