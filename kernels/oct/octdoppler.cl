/* Doppler flow in two launches: sums over depths, then over pairs of A-lines. For windows
 * of any size
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define INLINED
#define FLOATS float
#define AS_INTS as_int
#define AS_WORDS as_uint
#define AS_FLOATS as_float
#include "dopplerflow.clh"

/* For each pair and depth, sums X_j+1 X_j* over `window` depths around it, and the power
 * (|X_j|^2 + |X_j+1|^2) / 2. */
kernel void
sum_depths (global const uchar *restrict before_bytes, ulong before_offset,
    global const uchar *restrict after_bytes, ulong after_offset, uint depths, uint pairs,
    uint window, global float *restrict sums)
{
  const uint depth = get_global_id (0), pair = get_global_id (1);
  if (depth >= depths || pair >= pairs)
    return;

  const size_t line = (size_t)pair * depths;
  global const float2 *before =
      (global const float2 *)(before_bytes + before_offset) + line;
  global const float2 *after = (global const float2 *)(after_bytes + after_offset) + line;
  const uint above = (window - 1) / 2;
  const uint from = max (depth, above) - above;
  const uint end = min (depth + window - above, depths);
  float3 sum = 0.0f;
  for (uint at = from; at < end; at++) {
    const float2 a = after[at], b = before[at];
    sum += (float3)(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y,
        0.5f * (a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y));
  }
  vstore3 (sum, line + depth, sums);
}

/* For each A-line and depth, computes the phase of these sums over `window` pairs around
 * it, times `unit`; 0 where the mean power is below `least_power`. */
kernel void
find_phase (global const float *restrict sums, uint depths, uint lines, uint pairs,
    uint window_depths, uint window, float least_power, float unit,
    global uchar *restrict output, ulong output_offset)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;

  const uint middle = min (line, pairs - 1), before = (window - 1) / 2;
  const uint from = max (middle, before) - before;
  const uint end = min (middle + window - before, pairs);
  float3 sum = 0.0f;
  for (uint pair = from; pair < end; pair++)
    sum += vload3 ((size_t)pair * depths + depth, sums);

  const uint above = (window_depths - 1) / 2;
  const uint summed =
      min (depth + window_depths - above, depths) - (max (depth, above) - above);
  const float power = sum.z / (summed * (end - from));
  ((global float *)(output + output_offset))[(size_t)line * depths + depth] =
      flow_of (sum.x, sum.y, power, least_power, unit);
}
