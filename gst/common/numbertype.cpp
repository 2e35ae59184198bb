/* Number types and their names in NumPy, NNStreamer's caps and OpenCL C
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "numbertype.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace opencl {
namespace {
/* In the order of the enumeration */
constexpr NumberInfo numbers[] = {
    {NumberType::i8, "int8", "char", 'i', 1},
    {NumberType::u8, "uint8", "uchar", 'u', 1},
    {NumberType::i16, "int16", "short", 'i', 2},
    {NumberType::u16, "uint16", "ushort", 'u', 2},
    {NumberType::i32, "int32", "int", 'i', 4},
    {NumberType::u32, "uint32", "uint", 'u', 4},
    {NumberType::i64, "int64", "long", 'i', 8},
    {NumberType::u64, "uint64", "ulong", 'u', 8},
    {NumberType::f16, "float16", "half", 'f', 2},
    {NumberType::f32, "float32", "float", 'f', 4},
    {NumberType::f64, "float64", "double", 'f', 8},
};

template <typename Condition>
const NumberInfo *
find (Condition condition)
{
  auto found = std::find_if (std::begin (numbers), std::end (numbers), condition);
  return found == std::end (numbers) ? nullptr : found;
}
} // namespace

const NumberInfo &
info_of (NumberType type)
{
  return numbers[int (type)];
}

const NumberInfo *
number_named (const char *name)
{
  return find (
      [=] (const NumberInfo &number) { return strcmp (number.name, name) == 0; });
}

const NumberInfo *
number_of_opencl (const char *name)
{
  return find (
      [=] (const NumberInfo &number) { return strcmp (number.opencl, name) == 0; });
}

const NumberInfo *
number_of_kind (char kind, gsize size)
{
  return find ([=] (const NumberInfo &number) {
    return number.kind == kind && number.size == size;
  });
}
} // namespace opencl
