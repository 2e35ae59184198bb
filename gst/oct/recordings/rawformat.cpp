/* Formats of the samples in raw recordings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "rawformat.hpp"

#include <cstring>

namespace oct {
namespace {
/* Returns the integer of `count` bytes, lowest byte first unless `swapped`. */
guint32
integer (const guint8 *bytes, gsize count, bool swapped)
{
  guint32 value = 0;
  for (gsize n = 0; n < count; n++)
    value = value << 8 | bytes[swapped ? n : count - 1 - n];
  return value;
}

template <typename Type, bool swapped>
double
whole (const guint8 *line, gsize sample)
{
  return Type (integer (line + sample * sizeof (Type), sizeof (Type), swapped));
}

double
float_number (const guint8 *line, gsize sample)
{
  const guint32 bits = integer (line + sample * 4, 4, false);
  gfloat value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Contiguous bits, the lowest first */
template <guint count>
double
contiguous (const guint8 *line, gsize sample)
{
  const gsize first = sample * count;
  const guint32 two_bytes = integer (line + first / 8, 2, false);
  return two_bytes >> first % 8 & ((1u << count) - 1);
}

/* Two samples in three bytes. The middle byte has the lower four bits of both. */
double
in_pairs (const guint8 *line, gsize sample)
{
  const guint8 *pair = line + sample / 2 * 3;
  return sample % 2 ? pair[2] << 4 | pair[1] >> 4 : pair[0] << 4 | (pair[1] & 15);
}
} // namespace

const RawFormat raw_formats[] = {
    {"U16LE", 16, whole<guint16, false>},
    {"U16BE", 16, whole<guint16, true>},
    {"S16LE", 16, whole<gint16, false>},
    {"S16BE", 16, whole<gint16, true>},
    {"U8", 8, whole<guint8, false>},
    {"S8", 8, whole<gint8, false>},
    {"U32LE", 32, whole<guint32, false>},
    {"S32LE", 32, whole<gint32, false>},
    {"F32LE", 32, float_number},
    {"MONO10P", 10, contiguous<10>},
    {"MONO12P", 12, contiguous<12>},
    {"MONO12PACKED", 12, in_pairs},
};
const gsize raw_format_count = G_N_ELEMENTS (raw_formats);

const RawFormat *
find_raw_format (const std::string &name)
{
  for (const RawFormat &format : raw_formats) {
    if (name == format.name)
      return &format;
  }
  return nullptr;
}
} // namespace oct
