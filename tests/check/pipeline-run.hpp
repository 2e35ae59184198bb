/* The older names of what harness.hpp has, and bytes that are known by where they stand
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

namespace testing {
using namespace check;

/* Bytes that differ from place to place and from seed to seed. */
inline guint8
pattern (gsize position, guint seed)
{
  return guint8 ((position * 31 + (position >> 8) * 7 + seed * 101) ^ (position >> 3));
}

/* (transfer full): a buffer of ordinary memory, filled with pattern(). */
inline GstBuffer *
pattern_buffer (gsize size, guint seed)
{
  Bytes bytes (size);
  for (gsize i = 0; i < size; i++)
    bytes[i] = pattern (i, seed);
  return buffer_of (bytes);
}
} // namespace testing
