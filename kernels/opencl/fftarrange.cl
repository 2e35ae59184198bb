/* Copies samples of Fourier transforms between layouts that an FFT library does not
 * support
 *
 * A work-item copies one sample. Components of strides and counts: x along a row, y rows,
 * z transforms. Built with REAL and REAL2 for numbers that are not float.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef REAL
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#else
#define REAL float
#define REAL2 float2
#endif

/* Gets the position of this work-item's sample. Returns false outside of the counts. */
bool
find_sample (uint4 counts, uint4 *at)
{
  const uint column = get_global_id (0);
  const uint line = get_global_id (1);
  *at = (uint4)(column, line % counts.y, line / counts.y, 0);
  return column < counts.x && line / counts.y < counts.z;
}

size_t
place (uint4 at, ulong4 strides)
{
  return at.x * strides.x + at.y * strides.y + at.z * strides.z;
}

#define ARRANGE(name, From, To, expression)                                              \
  kernel void name (global const From *restrict from, ulong4 from_strides,               \
      global To *restrict to, ulong4 to_strides, uint4 counts)                           \
  {                                                                                      \
    uint4 at;                                                                            \
    if (!find_sample (counts, &at))                                                      \
      return;                                                                            \
    const From value = from[place (at, from_strides)];                                   \
    to[place (at, to_strides)] = expression;                                             \
  }

ARRANGE (move_real, REAL, REAL, value)
ARRANGE (move_complex, REAL2, REAL2, value)
ARRANGE (widen, REAL, REAL2, (REAL2)(value, 0))
ARRANGE (extract_real, REAL2, REAL, value.x)

/* Computes all bins of a real signal from the first half of each row: bin -b is the
 * conjugate of bin b. */
kernel void
complete (global const REAL2 *restrict from, ulong4 from_strides,
    global REAL2 *restrict to, ulong4 to_strides, uint4 counts)
{
  uint4 at;
  if (!find_sample (counts, &at))
    return;
  const bool known = at.x <= counts.x / 2;
  const uint4 mirrored = (uint4)(counts.x - at.x, (counts.y - at.y) % counts.y, at.z, 0);
  const REAL2 value = from[place (known ? at : mirrored, from_strides)];
  to[place (at, to_strides)] = known ? value : (REAL2)(value.x, -value.y);
}
