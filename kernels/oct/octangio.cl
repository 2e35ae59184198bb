/* What changes between repeats of a B-scan: blood, where all else stands still
 *
 * Repeats are `values` bins each: all but the last one after the other in `kept`, the last
 * in the input.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define REPEATS                                                                          \
  global const float2 *restrict kept, global const uchar *restrict last_bytes,              \
      ulong last_offset, uint repeats, uint depths, uint lines

typedef struct {
  global const float2 *kept;
  global const float2 *last;
  uint repeats;
  size_t values;
} Repeats;

#define THE_REPEATS                                                                      \
  {                                                                                      \
    kept, (global const float2 *)(last_bytes + last_offset), repeats,                       \
        (size_t)depths * lines                                                           \
  }

global const float2 *
repeat (const Repeats *of, uint n)
{
  return n + 1 < of->repeats ? of->kept + n * of->values : of->last;
}

float
amplitude (float2 bin)
{
  return sqrt (bin.x * bin.x + bin.y * bin.y);
}

/* The sum of (A - mean)^2 / N. */
kernel void
speckle_variance (REPEATS, global uchar *restrict output, ulong output_offset)
{
  const Repeats of = THE_REPEATS;
  const size_t depth = get_global_id (0), line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  float sum = 0.0f, squares = 0.0f;
  for (uint n = 0; n < repeats; n++)
    sum += amplitude (repeat (&of, n)[at]);
  const float mean = sum / repeats;
  for (uint n = 0; n < repeats; n++) {
    const float away = amplitude (repeat (&of, n)[at]) - mean;
    squares += away * away;
  }
  ((global float *)(output + output_offset))[at] = squares / repeats;
}

/* 1 - the mean of A_i A_i+1 / ((A_i^2 + A_i+1^2) / 2) = the mean of (A_i - A_i+1)^2 /
 * (A_i^2 + A_i+1^2), which loses nothing where they are alike. Two that are nothing are
 * alike. */
kernel void
decorrelation (REPEATS, global uchar *restrict output, ulong output_offset)
{
  const Repeats of = THE_REPEATS;
  const size_t depth = get_global_id (0), line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  float sum = 0.0f, before = amplitude (repeat (&of, 0)[at]);
  for (uint n = 1; n < repeats; n++) {
    const float after = amplitude (repeat (&of, n)[at]);
    const float power = before * before + after * after;
    sum += power > 0.0f ? (after - before) * (after - before) / power : 0.0f;
    before = after;
  }
  ((global float *)(output + output_offset))[at] = sum / (repeats - 1);
}

/* Of each A-line and each two repeats that follow each other, the phase by which the whole
 * line has turned, arg of the sum of X_i+1 X_i*, as a number of amplitude 1. A work-group
 * of GROUP for each. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
bulk_phase (REPEATS, global float2 *restrict phases)
{
  const Repeats of = THE_REPEATS;
  const uint line = get_group_id (0) % lines, pair = get_group_id (0) / lines;
  const uint item = get_local_id (0);
  local float2 sums[GROUP];

  global const float2 *before = repeat (&of, pair) + (size_t)line * depths;
  global const float2 *after = repeat (&of, pair + 1) + (size_t)line * depths;
  float2 sum = 0.0f;
  for (uint depth = item; depth < depths; depth += GROUP) {
    const float2 a = after[depth], b = before[depth];
    sum += (float2) (a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
  }
  sums[item] = sum;
  barrier (CLK_LOCAL_MEM_FENCE);
  if (item > 0)
    return;
  for (uint n = 1; n < GROUP; n++)
    sum += sums[n];
  const float length = sqrt (sum.x * sum.x + sum.y * sum.y);
  phases[(size_t)pair * lines + line] =
      length > 0.0f && length <= FLT_MAX ? sum / length : (float2) (1.0f, 0.0f);
}

/* The mean of |X_i+1 exp (-i bulk phase) - X_i|^2. */
kernel void
complex_variance (REPEATS, global const float2 *restrict phases,
    global uchar *restrict output, ulong output_offset)
{
  const Repeats of = THE_REPEATS;
  const size_t depth = get_global_id (0), line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  float sum = 0.0f;
  float2 before = repeat (&of, 0)[at];
  for (uint n = 1; n < repeats; n++) {
    const float2 after = repeat (&of, n)[at], turn = phases[(n - 1) * (size_t)lines + line];
    const float2 still =
        (float2) (after.x * turn.x + after.y * turn.y, after.y * turn.x - after.x * turn.y);
    const float2 change = still - before;
    sum += change.x * change.x + change.y * change.y;
    before = after;
  }
  ((global float *)(output + output_offset))[at] = sum / (repeats - 1);
}
