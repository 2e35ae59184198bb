/* What changes between repeats of a B-scan: blood, where all else stands still
 *
 * Repeats are `values` bins each: all but the last one after the other in `kept`, the last
 * in the input; or HELD of them, up to eight, in buffers of their own, so many that none is
 * looked for while it runs. WIDTH: depths that a work-item makes of amplitudes, 8 on a CPU,
 * else 1.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifdef HELD
#define COUNT HELD
#define REPEATS                                                                          \
  global const uchar *restrict held0, global const uchar *restrict held1,                \
      global const uchar *restrict held2, global const uchar *restrict held3,            \
      global const uchar *restrict held4, global const uchar *restrict held5,            \
      global const uchar *restrict held6, global const uchar *restrict held7,            \
      ulong8 offsets, uint repeats, uint depths, uint lines

typedef struct {
  global const float2 *all[8];
} Repeats;

#define BINS_OF(bytes, offset) (global const float2 *)((bytes) + (offset))
#define THE_REPEATS                                                                      \
  {                                                                                      \
    {                                                                                    \
      BINS_OF (held0, offsets.s0), BINS_OF (held1, offsets.s1),                          \
          BINS_OF (held2, offsets.s2), BINS_OF (held3, offsets.s3),                      \
          BINS_OF (held4, offsets.s4), BINS_OF (held5, offsets.s5),                      \
          BINS_OF (held6, offsets.s6), BINS_OF (held7, offsets.s7)                       \
    }                                                                                    \
  }

global const float2 *
repeat (const Repeats *of, uint n)
{
  return of->all[n];
}
#else
#define COUNT repeats
#define REPEATS                                                                          \
  global const float2 *restrict kept, global const uchar *restrict last_bytes,           \
      ulong last_offset, uint repeats, uint depths, uint lines

typedef struct {
  global const float2 *kept;
  global const float2 *last;
  uint repeats;
  size_t values;
} Repeats;

#define THE_REPEATS                                                                      \
  {                                                                                      \
    kept, (global const float2 *)(last_bytes + last_offset), repeats,                    \
        (size_t)depths * lines                                                           \
  }

global const float2 *
repeat (const Repeats *of, uint n)
{
  return n + 1 < of->repeats ? of->kept + n * of->values : of->last;
}
#endif

#if WIDTH == 1
#define FLOATS float
#define STORE(values, to) *(to) = values
#define STORED(from) *(from)

float
amplitude (global const float2 *bin)
{
  return sqrt (bin->x * bin->x + bin->y * bin->y);
}
#else
#define FLOATS float8
#define STORE(values, to) vstore8 (values, 0, to)
#define STORED(from) vload8 (0, from)

float8
amplitude (global const float2 *bins)
{
  const float16 pairs = vload16 (0, (global const float *)bins);
  return sqrt (pairs.even * pairs.even + pairs.odd * pairs.odd);
}
#endif

/* What is put out: `share` of it, and with `adds` what is there already. */
#define OUTPUT                                                                           \
  float share, uint adds, global uchar *restrict output, ulong output_offset

void
put_out (FLOATS value, size_t at, float share, uint adds, global uchar *output, ulong offset)
{
  global float *to = (global float *)(output + offset) + at;
  STORE (adds ? STORED (to) + share * value : share * value, to);
}

/* How alike the amplitudes of an A-line are to those of another, `shifts` bins deeper and
 * higher, and all between: 2 shifts + 1 sums of each A-line. */
kernel void
correlate (global const float2 *restrict first, global const uchar *restrict bytes,
    ulong offset, uint depths, uint lines, uint shifts, global float *restrict sums)
{
  const uint shift = get_global_id (0), line = get_global_id (1);
  if (shift > 2 * shifts || line >= lines)
    return;
  global const float2 *a = first + (size_t)line * depths;
  global const float2 *b = (global const float2 *)(bytes + offset) + (size_t)line * depths;
  const int deeper = (int)shift - (int)shifts;
  const uint from = max (0, -deeper), end = depths - max (0, deeper);
  float sum = 0.0f;
  for (uint depth = from; depth < end; depth++) {
    const float2 x = a[depth], y = b[depth + deeper];
    sum += sqrt ((x.x * x.x + x.y * x.y) * (y.x * y.x + y.y * y.y));
  }
  sums[(size_t)line * (2 * shifts + 1) + shift] = sum <= FLT_MAX ? sum : 0.0f;
}

/* The shift where all A-lines together are most alike, to a part of a bin by the parabola
 * through three sums. One work-group. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
find_shift (global const float *restrict sums, uint lines, uint shifts,
    global float *restrict found)
{
  const uint count = 2 * shifts + 1, item = get_local_id (0);
  local float parts[GROUP][2 * MOST_SHIFTS + 1];
  for (uint n = 0; n < count; n++) {
    float sum = 0.0f;
    for (uint line = item; line < lines; line += GROUP)
      sum += sums[(size_t)line * count + n];
    parts[item][n] = sum;
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  if (item > 0)
    return;
  local float *totals = parts[0];
  for (uint n = 0; n < count; n++) {
    for (uint other = 1; other < GROUP; other++)
      totals[n] += parts[other][n];
  }
  uint best = shifts;
  for (uint n = 0; n < count; n++)
    best = totals[n] > totals[best] ? n : best;
  float part = 0.0f;
  if (best > 0 && best + 1 < count) {
    const float below = totals[best - 1], above = totals[best + 1];
    const float bend = below - 2.0f * totals[best] + above;
    part = bend < 0.0f ? clamp (0.5f * (below - above) / bend, -0.5f, 0.5f) : 0.0f;
  }
  *found = (float)best - shifts + part;
}

/* Each A-line as much higher: a Catmull-Rom curve through bins that are turned as if the
 * spectrum had its middle at 0, as they do from bin to bin by half a turn. */
kernel void
align (global const uchar *restrict bytes, ulong offset, uint depths, uint lines,
    global const float *restrict found, global float2 *restrict output, ulong to)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;
  global const float2 *b = (global const float2 *)(bytes + offset) + (size_t)line * depths;
  const float whole = floor (*found), t = *found - whole;
  const float weights[] = {((-0.5f * t + 1.0f) * t - 0.5f) * t,
      (1.5f * t - 2.5f) * t * t + 1.0f, ((-1.5f * t + 2.0f) * t + 0.5f) * t,
      (0.5f * t - 0.5f) * t * t};
  float2 sum = 0.0f;
  for (int n = 0; n < 4; n++) {
    const int from = (int)depth + (int)whole - 1 + n;
    if (from >= 0 && from < (int)depths)
      sum += (n % 2 ? weights[n] : -weights[n]) * b[from];
  }
  output[to + (size_t)line * depths + depth] = sum;
}

/* The part of the bins that is of a band of the spectrum: `taps` from -reach to reach. */
kernel void
take_band (global const uchar *restrict bytes, ulong offset, uint depths, uint lines,
    global const float2 *restrict taps, uint first_tap, uint reach,
    global float2 *restrict output, ulong to)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;
  global const float2 *bins =
      (global const float2 *)(bytes + offset) + (size_t)line * depths;
  /* Tap n is for the bin depth + reach - n. */
  const uint from = depth + reach >= depths ? depth + reach + 1 - depths : 0;
  const uint end = min (2 * reach, depth + reach);
  float2 sum = 0.0f;
  for (uint n = from; n <= end; n++) {
    const float2 x = bins[depth + reach - n], w = taps[first_tap + n];
    sum += (float2) (x.x * w.x - x.y * w.y, x.x * w.y + x.y * w.x);
  }
  output[to + (size_t)line * depths + depth] = sum;
}

/* The sum of (A - mean)^2 / N. */
kernel void
speckle_variance (REPEATS, OUTPUT)
{
  const Repeats of = THE_REPEATS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  /* Of how far they are from the first one, which keeps rounding small. */
  const FLOATS first = amplitude (repeat (&of, 0) + at);
  FLOATS sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const FLOATS away = amplitude (repeat (&of, n) + at) - first;
    sum += away;
    squares += away * away;
  }
  const FLOATS mean = sum / (float)COUNT;
  const FLOATS variance = squares / (float)COUNT - mean * mean;
  put_out (variance < 0.0f ? (FLOATS)0.0f : variance, at, share, adds, output,
      output_offset);
}

/* 1 - the mean of A_i A_i+1 / ((A_i^2 + A_i+1^2) / 2) = the mean of (A_i - A_i+1)^2 /
 * (A_i^2 + A_i+1^2), which loses nothing where they are alike. Two that are nothing are
 * alike. */
kernel void
decorrelation (REPEATS, OUTPUT)
{
  const Repeats of = THE_REPEATS;
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  FLOATS sum = 0.0f, before = amplitude (repeat (&of, 0) + at);
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const FLOATS after = amplitude (repeat (&of, n) + at);
    const FLOATS power = before * before + after * after;
    sum += power > 0.0f ? (after - before) * (after - before) / power : (FLOATS)0.0f;
    before = after;
  }
  put_out (sum / (float)(COUNT - 1), at, share, adds, output, output_offset);
}

#if WIDTH == 1
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
complex_variance (REPEATS, global const float2 *restrict phases, OUTPUT)
{
  const Repeats of = THE_REPEATS;
  const size_t depth = get_global_id (0), line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;

  float sum = 0.0f;
  float2 before = repeat (&of, 0)[at];
#pragma unroll
  for (uint n = 1; n < COUNT; n++) {
    const float2 after = repeat (&of, n)[at], turn = phases[(n - 1) * (size_t)lines + line];
    const float2 still =
        (float2) (after.x * turn.x + after.y * turn.y, after.y * turn.x - after.x * turn.y);
    const float2 change = still - before;
    sum += change.x * change.x + change.y * change.y;
    before = after;
  }
  put_out (sum / (COUNT - 1), at, share, adds, output, output_offset);
}
#endif
