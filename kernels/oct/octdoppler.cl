/* How far the phase turns from A-line to A-line, or from B-scan to B-scan
 *
 * After Kasai et al., Real-time two-dimensional blood flow imaging using an
 * autocorrelation technique (1985): the phase is that of the sum of X_j+1 X_j* over a
 * window. A pair j of an A-line is of it and the next one, of which there is one fewer than
 * A-lines, or of it in two B-scans.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* WIDTH: of the vectors, on a CPU 8 or what its own have, else 1. */
#if WIDTH == 1
#define FLOATS float
#define AS_INTS as_int
#define AS_FLOATS as_float
#else
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED (a, b)
#define FLOATS JOIN (float, WIDTH)
#define INTS JOIN (int, WIDTH)
#define AS_INTS JOIN (as_int, WIDTH)
#define AS_FLOATS JOIN (as_float, WIDTH)
#define TO_FLOATS JOIN (convert_float, WIDTH)
#define LOAD JOIN (vload, WIDTH)
#define STORE JOIN (vstore, WIDTH)
#endif

/* By its bits and by comparisons, which are vectors everywhere. */
FLOATS
magnitude (FLOATS value)
{
  return AS_FLOATS (AS_INTS (value) & 0x7fffffff);
}

/* atan2 (y, x) by Abramowitz and Stegun's 4.4.49, 2e-8 off at most. */
FLOATS
phase_of (FLOATS y, FLOATS x)
{
  const FLOATS across = magnitude (x), up = magnitude (y);
  const FLOATS least = up > across ? across : up, most = up > across ? up : across;
  const FLOATS ratio = least / (most > FLT_MIN ? most : (FLOATS)FLT_MIN);
  const FLOATS square = ratio * ratio;
  FLOATS sum = 0.0028662257f;
  sum = sum * square - 0.0161657367f;
  sum = sum * square + 0.0429096138f;
  sum = sum * square - 0.0752896400f;
  sum = sum * square + 0.1065626393f;
  sum = sum * square - 0.1420889944f;
  sum = sum * square + 0.1999355085f;
  sum = sum * square - 0.3333314528f;
  sum = (sum * square + 1.0f) * ratio;
  sum = up > across ? M_PI_2_F - sum : sum;
  sum = x < 0.0f ? M_PI_F - sum : sum;
  return y < 0.0f ? -sum : sum;
}

#define FLOW                                                                             \
  global const uchar *restrict before_bytes, ulong before_offset,                        \
      global const uchar *restrict after_bytes, ulong after_offset, uint depths,         \
      uint lines, uint pairs, uint window_depths, uint window, float least_power,        \
      float unit, global uchar *restrict output, ulong output_offset

FLOATS
flow_of (FLOATS real, FLOATS imaginary, FLOATS power, float least_power, float unit)
{
  const FLOATS phase = phase_of (imaginary, real) * unit;
  return ((power >= least_power) & (power > 0.0f)) ? phase : (FLOATS)0.0f;
}

/* All in one, for a window that is small. */
#if WIDTH == 1
kernel void
find_flow (FLOW)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;

  global const float2 *before = (global const float2 *)(before_bytes + before_offset);
  global const float2 *after = (global const float2 *)(after_bytes + after_offset);
  const uint middle = min (line, pairs - 1), earlier = (window - 1) / 2;
  const uint above = (window_depths - 1) / 2;
  const uint first_pair = max (middle, earlier) - earlier;
  const uint end_pair = min (middle + window - earlier, pairs);
  const uint from = max (depth, above) - above;
  const uint end = min (depth + window_depths - above, depths);
  float real = 0.0f, imaginary = 0.0f, power = 0.0f;
  for (uint pair = first_pair; pair < end_pair; pair++) {
    for (uint at = from; at < end; at++) {
      const float2 a = after[(size_t)pair * depths + at];
      const float2 b = before[(size_t)pair * depths + at];
      real += a.x * b.x + a.y * b.y;
      imaginary += a.y * b.x - a.x * b.y;
      power += a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
    }
  }
  power *= 0.5f / ((end - from) * (end_pair - first_pair));
  ((global float *)(output + output_offset))[(size_t)line * depths + depth] =
      flow_of (real, imaginary, power, least_power, unit);
}
#else
/* For a CPU: BLOCK depths of LINES A-lines a work-item, for which each pair is multiplied,
 * and summed up over the window's depths, once. Powers are, where any are too low. */
#define BLOCK 256
#define LINES 16
#define ALL (BLOCK + MOST_WINDOW + WIDTH)

typedef struct {
  float real[BLOCK], imaginary[BLOCK], power[BLOCK];
} Sums;

constant int lanes_of_vector[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Real and imaginary parts of bins beside each other. */
typedef struct {
  FLOATS x, y;
} Bins;

Bins
load_bins (global const float2 *bins)
{
  const FLOATS first = LOAD (0, (global const float *)bins);
  const FLOATS second = LOAD (1, (global const float *)bins);
  return (Bins){(FLOATS) (first.even, second.even), (FLOATS) (first.odd, second.odd)};
}

FLOATS
sum_of_depths (const float *of, int window_depths)
{
  FLOATS sum = LOAD (0, of);
  for (int k = 1; k < window_depths; k++)
    sum += LOAD (0, of + k);
  return sum;
}

/* Of a pair, from the depth `start` on, which may lie before the A-line's first: nothing is
 * beyond its ends. */
void
sum_pair (global const float2 *after, global const float2 *before, int start, int depths,
    int window_depths, bool powers, Sums *sums)
{
  const int needed = BLOCK + window_depths - 1;
  const int end = min (needed, depths - start);
  float real[ALL], imaginary[ALL], power[ALL];
  int n = 0;
  for (; start + n < 0; n++)
    real[n] = imaginary[n] = power[n] = 0.0f;
  for (; n < end && start + n + WIDTH <= depths; n += WIDTH) {
    const Bins a = load_bins (after + start + n), b = load_bins (before + start + n);
    STORE (a.x * b.x + a.y * b.y, 0, real + n);
    STORE (a.y * b.x - a.x * b.y, 0, imaginary + n);
    if (powers)
      STORE (a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y, 0, power + n);
  }
  for (; n < end; n++) {
    const float2 a = after[start + n], b = before[start + n];
    real[n] = a.x * b.x + a.y * b.y;
    imaginary[n] = a.y * b.x - a.x * b.y;
    power[n] = a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
  }
  for (; n < needed; n++)
    real[n] = imaginary[n] = power[n] = 0.0f;
  for (int n = 0; n < BLOCK; n += WIDTH) {
    STORE (sum_of_depths (real + n, window_depths), 0, sums->real + n);
    STORE (sum_of_depths (imaginary + n, window_depths), 0, sums->imaginary + n);
    if (powers)
      STORE (sum_of_depths (power + n, window_depths), 0, sums->power + n);
  }
}

/* Of the pairs of a window, from depth `begin` + `n` on; sums[pair % window] is a pair's. */
FLOATS
flow_of_pairs (const Sums *sums, uint window, uint first_pair, uint end_pair, uint n,
    uint begin, uint depths, uint window_depths, float least_power, float unit)
{
  const bool powers = least_power > 0.0f;
  FLOATS x = 0.0f, y = 0.0f, p = 0.0f;
  for (uint pair = first_pair, at = first_pair % window; pair < end_pair; pair++) {
    x += LOAD (0, sums[at].real + n);
    y += LOAD (0, sums[at].imaginary + n);
    if (powers)
      p += LOAD (0, sums[at].power + n);
    at = at + 1 < window ? at + 1 : 0;
  }
  if (!powers) {
    /* What is not a number has no flow, and what is nothing has none. */
    const FLOATS flow = phase_of (y, x) * unit;
    return flow == flow ? flow : (FLOATS)0.0f;
  }
  const int above = (window_depths - 1) / 2;
  const INTS depth = (int)(begin + n) + LOAD (0, lanes_of_vector);
  const INTS below = depth + (int)window_depths - above;
  const INTS end = below < (int)depths ? below : (INTS)(int)depths;
  const INTS first = depth > above ? depth - above : (INTS)0;
  const INTS summed = end > first ? end - first : (INTS)1;
  p *= 0.5f / (TO_FLOATS (summed) * (float)(end_pair - first_pair));
  return flow_of (x, y, p, least_power, unit);
}

kernel void
find_flow (FLOW)
{
  const uint begin = get_global_id (0) * BLOCK, first_line = get_global_id (1) * LINES;
  if (begin >= depths || first_line >= lines)
    return;

  global const float2 *before = (global const float2 *)(before_bytes + before_offset);
  global const float2 *after = (global const float2 *)(after_bytes + after_offset);
  const uint earlier = (window - 1) / 2;
  const int above = (window_depths - 1) / 2;
  Sums sums[MOST_WINDOW];
  uint next = max (min (first_line, pairs - 1), earlier) - earlier;
  for (uint line = first_line; line < min (first_line + LINES, lines); line++) {
    const uint middle = min (line, pairs - 1);
    const uint first_pair = max (middle, earlier) - earlier;
    const uint end_pair = min (middle + window - earlier, pairs);
    for (; next < end_pair; next++)
      sum_pair (after + (size_t)next * depths, before + (size_t)next * depths,
          (int)begin - above, depths, window_depths, least_power > 0.0f,
          &sums[next % window]);
    global float *to =
        (global float *)(output + output_offset) + (size_t)line * depths + begin;
    for (uint n = 0; n < BLOCK && begin + n < depths; n += WIDTH) {
      const FLOATS flow = flow_of_pairs (sums, window, first_pair, end_pair, n, begin,
          depths, window_depths, least_power, unit);
      if (begin + n + WIDTH <= depths) {
        STORE (flow, 0, to + n);
        continue;
      }
      for (uint rest = 0; begin + n + rest < depths; rest++)
        to[n + rest] = ((const float *)&flow)[rest];
    }
  }
}
#endif

#if WIDTH == 1
/* Of each pair and depth, the sum of X_j+1 X_j* over `window` depths around it, and of the
 * power (|X_j|^2 + |X_j+1|^2) / 2. */
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
    sum += (float3) (a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y,
        0.5f * (a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y));
  }
  vstore3 (sum, line + depth, sums);
}

/* Of each A-line and depth, the phase of these sums over `window` pairs around it, times
 * `unit`; 0 where the mean power is below `least_power`. */
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
  const uint summed = min (depth + window_depths - above, depths) - (max (depth, above) - above);
  const float power = sum.z / (summed * (end - from));
  const float phase = power >= least_power && power > 0.0f ? phase_of (sum.y, sum.x) : 0.0f;
  ((global float *)(output + output_offset))[(size_t)line * depths + depth] = phase * unit;
}
#endif
