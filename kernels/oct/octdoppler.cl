/* How far the phase turns from A-line to A-line, or from B-scan to B-scan
 *
 * After Kasai et al., Real-time two-dimensional blood flow imaging using an
 * autocorrelation technique (1985): the phase is that of the sum of X_j+1 X_j* over a
 * window. A pair j of an A-line is of it and the next one, of which there is one fewer than
 * A-lines, or of it in two B-scans.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* WIDTH: of the vectors, 8 on a CPU, else 1. */
#if WIDTH == 1
#define FLOATS float
#else
#define FLOATS float8
#endif

/* atan2 (y, x) by Abramowitz and Stegun's 4.4.49, 2e-8 off at most. */
FLOATS
phase_of (FLOATS y, FLOATS x)
{
  /* By comparisons, which are vectors everywhere. */
  const FLOATS across = x < 0.0f ? -x : x, up = y < 0.0f ? -y : y;
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
  return (power >= least_power) & (power > 0.0f) ? phase : (FLOATS)0.0f;
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
 * and summed up over the window's depths, once. */
#define BLOCK 256
#define LINES 16
#define ALL (BLOCK + MOST_WINDOW + WIDTH)

typedef struct {
  float real[BLOCK], imaginary[BLOCK], power[BLOCK];
} Sums;

/* Of a pair, from the depth `start` on, which may lie before the A-line's first. */
void
sum_pair (global const float2 *a, global const float2 *b, int start, int depths,
    int window_depths, Sums *sums)
{
  const int needed = BLOCK + window_depths - 1;
  const int whole = (needed + WIDTH - 1) / WIDTH * WIDTH;
  float real[ALL], imaginary[ALL], power[ALL];
  if (start >= 0 && start + whole <= depths) {
    for (int n = 0; n < whole; n += WIDTH) {
      const float16 x = vload16 (0, (global const float *)(a + start + n));
      const float16 y = vload16 (0, (global const float *)(b + start + n));
      const float8 ax = x.even, ay = x.odd, bx = y.even, by = y.odd;
      vstore8 (ax * bx + ay * by, 0, real + n);
      vstore8 (ay * bx - ax * by, 0, imaginary + n);
      vstore8 (ax * ax + ay * ay + bx * bx + by * by, 0, power + n);
    }
  } else {
    for (int n = 0; n < needed; n++) {
      const int at = start + n;
      const bool there = at >= 0 && at < depths;
      const float2 x = there ? a[at] : (float2)0.0f, y = there ? b[at] : (float2)0.0f;
      real[n] = x.x * y.x + x.y * y.y;
      imaginary[n] = x.y * y.x - x.x * y.y;
      power[n] = x.x * x.x + x.y * x.y + y.x * y.x + y.y * y.y;
    }
  }
  for (int n = 0; n < BLOCK; n += WIDTH) {
    float8 x = vload8 (0, real + n), y = vload8 (0, imaginary + n);
    float8 p = vload8 (0, power + n);
    for (int k = 1; k < window_depths; k++) {
      x += vload8 (0, real + n + k);
      y += vload8 (0, imaginary + n + k);
      p += vload8 (0, power + n + k);
    }
    vstore8 (x, 0, sums->real + n);
    vstore8 (y, 0, sums->imaginary + n);
    vstore8 (p, 0, sums->power + n);
  }
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
  Sums sums[MOST_WINDOW]; /* of the pairs of a window, a pair's at its number modulo that */
  uint next = max (min (first_line, pairs - 1), earlier) - earlier;
  for (uint line = first_line; line < min (first_line + LINES, lines); line++) {
    const uint middle = min (line, pairs - 1);
    const uint first_pair = max (middle, earlier) - earlier;
    const uint end_pair = min (middle + window - earlier, pairs);
    for (; next < end_pair; next++)
      sum_pair (after + (size_t)next * depths, before + (size_t)next * depths,
          (int)begin - above, depths, window_depths, &sums[next % window]);
    global float *to =
        (global float *)(output + output_offset) + (size_t)line * depths + begin;
    for (int n = 0; n < BLOCK && begin + n < depths; n += WIDTH) {
      float8 x = 0.0f, y = 0.0f, p = 0.0f;
      for (uint pair = first_pair; pair < end_pair; pair++) {
        const Sums *of = &sums[pair % window];
        x += vload8 (0, of->real + n);
        y += vload8 (0, of->imaginary + n);
        p += vload8 (0, of->power + n);
      }
      const int8 depth = (int)begin + n + (int8) (0, 1, 2, 3, 4, 5, 6, 7);
      const int8 summed = min (depth + (int)window_depths - above, (int)depths)
                          - (max (depth, above) - above);
      p *= 0.5f / (convert_float8 (max (summed, 1)) * (float)(end_pair - first_pair));
      const float8 flow = flow_of (x, y, p, least_power, unit);
      if (begin + n + WIDTH <= depths) {
        vstore8 (flow, 0, to + n);
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
