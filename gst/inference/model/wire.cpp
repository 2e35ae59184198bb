/* Reader of the protobuf wire format
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "wire.hpp"

#include <cstring>

namespace inference {
bool
WireReader::read_varint (guint64 &value)
{
  value = 0;
  for (guint shift = 0; shift < 64; shift += 7) {
    if (at == end)
      return fail ();
    const guint8 byte = *at++;
    value |= guint64 (byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return fail ();
}

/* Fixed-size numbers are little-endian. */
bool
WireReader::read_fixed (gsize size)
{
  if (gsize (end - at) < size)
    return fail ();
  integer = 0;
  for (gsize n = 0; n < size; n++)
    integer |= guint64 (at[n]) << (8 * n);
  at += size;
  return true;
}

bool
WireReader::next ()
{
  guint64 key, length;

  bytes = {};
  integer = 0;
  if (is_broken || at == end || !read_varint (key))
    return false;
  field = guint32 (key >> 3);
  type = guint32 (key & 7);
  switch (type) {
  case varint:
    return read_varint (integer);
  case fixed64:
    return read_fixed (8);
  case fixed32:
    return read_fixed (4);
  case delimited:
    if (!read_varint (length) || length > guint64 (end - at))
      return fail ();
    bytes = {at, gsize (length)};
    at += length;
    return true;
  default:
    return fail ();
  }
}

float
WireReader::as_float () const
{
  const guint32 bits = guint32 (integer);
  float value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

void
WireReader::append_to (std::vector<gint64> &values)
{
  if (type != delimited) {
    values.push_back (as_signed ());
    return;
  }
  WireReader packed (bytes);
  while (packed.at != packed.end && packed.read_varint (packed.integer))
    values.push_back (packed.as_signed ());
  is_broken |= packed.is_broken;
}

template <typename Number>
void
WireReader::append_fixed (std::vector<Number> &values)
{
  auto append = [&] (guint64 bits) {
    Number value;
    const guint32 half = guint32 (bits);
    if (sizeof value == sizeof half)
      memcpy (&value, &half, sizeof half);
    else
      memcpy (&value, &bits, sizeof value);
    values.push_back (value);
  };
  if (type != delimited) {
    append (integer);
    return;
  }
  WireReader packed (bytes);
  while (packed.at != packed.end && packed.read_fixed (sizeof (Number)))
    append (packed.integer);
  is_broken |= packed.is_broken;
}

void
WireReader::append_to (std::vector<float> &values)
{
  append_fixed (values);
}

void
WireReader::append_to (std::vector<double> &values)
{
  append_fixed (values);
}
} // namespace inference
