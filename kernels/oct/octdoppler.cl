/* How far the phase turns from A-line to A-line, or from B-scan to B-scan
 *
 * After Kasai et al., Real-time two-dimensional blood flow imaging using an
 * autocorrelation technique (1985): the phase is that of the sum of X_j+1 X_j* over a
 * window. A pair j of an A-line is of it and the next one, of which there is one fewer than
 * A-lines, or of it in two B-scans.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/* LANES: of the vectors, on a CPU; without, a work-item has a place. With PIXEL and FULL
 * it makes a picture, see rows.clh, of flow times `factor` plus `zero`. */
#ifdef LANES
#include "vectors_cpu.clh"
#include <unaligned.clh>
#else
#define INLINED
#define FLOATS float
#define AS_INTS as_int
#define AS_WORDS as_uint
#define AS_FLOATS as_float
#endif
#include "threshold.clh"
#ifdef FULL
#define COMPONENT FLOATS
#include "level.clh"
#include "rows.clh"
#endif

/* By its bits and by comparisons, which are vectors everywhere. */
INLINED FLOATS
magnitude (FLOATS value)
{
  return AS_FLOATS (AS_INTS (value) & 0x7fffffff);
}

/* atan2 (y, x) by Abramowitz and Stegun's 4.4.49, 2e-8 off at most. */
INLINED FLOATS
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

typedef struct {
  global const float2 *before, *after; /* the first pair */
  int depths, lines, pairs, window_depths, window;
  float least_power, unit;
} Flow;

#define FLOW                                                                             \
  global const uchar *restrict before_bytes, ulong before_offset,                        \
      global const uchar *restrict after_bytes, ulong after_offset, uint depths,         \
      uint lines, uint pairs, uint window_depths, uint window, float least_power,        \
      float unit
#define THE_FLOW                                                                         \
  {                                                                                      \
    (global const float2 *)(before_bytes + before_offset),                               \
        (global const float2 *)(after_bytes + after_offset), depths, lines, pairs,       \
        window_depths, window, least_power, unit                                         \
  }
#define PICTURE                                                                          \
  float factor, float zero, float least, global PIXEL *restrict output, ulong offset,    \
      int output_stride

INLINED FLOATS
flow_of (FLOATS real, FLOATS imaginary, FLOATS power, float least_power, float unit)
{
  return above_threshold (phase_of (imaginary, real) * unit, power, least_power);
}

#ifndef LANES
/* All in one, for a window that is small. */
float
flow_at (Flow flow, int depth, int line)
{
  const int middle = min (line, flow.pairs - 1), earlier = (flow.window - 1) / 2;
  const int above = (flow.window_depths - 1) / 2;
  const int first_pair = max (middle - earlier, 0);
  const int end_pair = min (middle + flow.window - earlier, flow.pairs);
  const int from = max (depth - above, 0);
  const int end = min (depth + flow.window_depths - above, flow.depths);
  float real = 0.0f, imaginary = 0.0f, power = 0.0f;
  for (int pair = first_pair; pair < end_pair; pair++) {
    for (int at = from; at < end; at++) {
      const float2 a = flow.after[(size_t)pair * flow.depths + at];
      const float2 b = flow.before[(size_t)pair * flow.depths + at];
      real += a.x * b.x + a.y * b.y;
      imaginary += a.y * b.x - a.x * b.y;
      power += a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
    }
  }
  power *= 0.5f / ((end - from) * (end_pair - first_pair));
  return flow_of (real, imaginary, power, flow.least_power, flow.unit);
}

#ifdef FULL
kernel void
show_flow (FLOW, PICTURE)
{
  local float tile[TILE][TILE + 1];
  const Flow flow = THE_FLOW;
  const size_t first_line = get_group_id (0) * TILE;
  const size_t first_depth = get_group_id (1) * TILE;
  if (first_line >= lines) /* the whole group */
    return;

  for (uint n = get_local_id (0); n < TILE * TILE; n += get_local_size (0)) {
    const size_t line = first_line + n / TILE, depth = first_depth + n % TILE;
    if (line < lines && depth < depths)
      tile[n / TILE][n % TILE] =
          at_least (flow_at (flow, (int)depth, (int)line) * factor + zero, least);
  }
  barrier (CLK_LOCAL_MEM_FENCE);

  write_tile (
      tile, first_line, first_depth, lines, depths, output + offset, output_stride);
}
#else
kernel void
find_flow (FLOW, global uchar *restrict output, ulong output_offset)
{
  const Flow flow = THE_FLOW;
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth < depths && line < lines)
    ((global float *)(output + output_offset))[(size_t)line * depths + depth] =
        flow_at (flow, depth, line);
}
#endif
#else
/* For a CPU: BLOCK depths of LINES A-lines a work-item, for which each pair is multiplied,
 * and summed up over the window's depths, once. Powers are, where any are too low. What is
 * stored whole is read again soon: a CPU is slow where the one is not within the other. */
#define BLOCK 256
#ifdef FULL
#define LINES STRIP_LINES
#else
#define LINES 16
#endif
#define VECTORS (BLOCK / LANES)
#define ALL (VECTORS + (MOST_WINDOW + LANES - 1) / LANES)

typedef FLOATS Floats;
AT_ANY_ADDRESS (Floats)

/* Products of adjacent depths */
typedef struct {
  Floats real[ALL], imaginary[ALL], power[ALL];
} Products;

typedef struct {
  Floats real[VECTORS], imaginary[VECTORS], power[VECTORS];
} Sums;

/* Real and imaginary parts of bins beside each other. */
typedef struct {
  Floats x, y;
} Bins;

INLINED Bins
load_bins (global const float2 *bins)
{
  const Floats first = LOAD_AT_ONCE (Floats, bins);
  const Floats second = LOAD_AT_ONCE (Floats, bins + LANES / 2);
  return (Bins){(Floats)(first.even, second.even), (Floats)(first.odd, second.odd)};
}

/* From the depth `at` on, which may lie before the A-line's first; nothing is beyond its
 * ends. */
INLINED Bins
load_inner_bins (global const float2 *line, int at, int depths)
{
  if (at >= 0 && at + LANES <= depths)
    return load_bins (line + at);
  float x[LANES], y[LANES];
  for (int n = 0; n < LANES; n++) {
    const bool inner = at + n >= 0 && at + n < depths;
    x[n] = inner ? line[at + n].x : 0.0f;
    y[n] = inner ? line[at + n].y : 0.0f;
  }
  return (Bins){LOAD (0, x), LOAD (0, y)};
}

/* The `window` places from `of` on. */
INLINED Floats
sum_of_depths (const Floats *of, int window)
{
  const float *at = (const float *)of;
  Floats sum = *of;
  for (int k = 1; k < window; k++)
    sum += ((const ANYWHERE (Floats) *)(at + k))->all;
  return sum;
}

/* Sums the products of a pair of A-lines from depth `start` on. */
INLINED void
sum_pair (global const float2 *after, global const float2 *before, int start, int depths,
    int window_depths, bool powers, Sums *sums)
{
  const int needed = BLOCK + window_depths - 1;
  Products products;
  for (int n = 0; n * LANES < needed; n++) {
    const Bins a = load_inner_bins (after, start + n * LANES, depths);
    const Bins b = load_inner_bins (before, start + n * LANES, depths);
    products.real[n] = a.x * b.x + a.y * b.y;
    products.imaginary[n] = a.y * b.x - a.x * b.y;
    if (powers)
      products.power[n] = a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
  }
  for (int n = 0; n < VECTORS; n++) {
    sums->real[n] = sum_of_depths (products.real + n, window_depths);
    sums->imaginary[n] = sum_of_depths (products.imaginary + n, window_depths);
    if (powers)
      sums->power[n] = sum_of_depths (products.power + n, window_depths);
  }
}

INLINED void
clear_pair (Sums *sums)
{
  for (int n = 0; n < VECTORS; n++)
    sums->real[n] = sums->imaginary[n] = sums->power[n] = 0.0f;
}

/* Depths that the sums of a vector, from `depth` on, are of */
INLINED Floats
summed_depths (int depth, int depths, int window_depths)
{
  const int above = (window_depths - 1) / 2;
  const INTS middle = depth + LOAD (0, lane_numbers);
  const INTS below = middle + window_depths - above;
  const INTS end = below < depths ? below : (INTS)depths;
  const INTS first = middle > above ? middle - above : (INTS)0;
  return TO_FLOATS (end > first ? end - first : (INTS)1);
}

/* The n-th vector of the pairs of a window, of which `summed` are not beyond the B-scan,
 * from the depth `begin` on. */
INLINED Floats
flow_of_pairs (Flow flow, const Sums *sums, int summed, int n, int begin)
{
  const bool powers = flow.least_power > 0.0f;
  Floats x = sums[0].real[n], y = sums[0].imaginary[n];
  for (int k = 1; k < flow.window; k++) {
    x += sums[k].real[n];
    y += sums[k].imaginary[n];
  }
  if (!powers) {
    /* NaN samples and zero sums have no flow. */
    const Floats phase = phase_of (y, x) * flow.unit;
    return phase == phase ? phase : (Floats)0.0f;
  }
  Floats p = sums[0].power[n];
  for (int k = 1; k < flow.window; k++)
    p += sums[k].power[n];
  p *= 0.5f
       / (summed_depths (begin + n * LANES, flow.depths, flow.window_depths)
           * (float)summed);
  return flow_of (x, y, p, flow.least_power, flow.unit);
}

/* Output of a block */
#ifdef FULL
typedef struct {
  Words (*tile)[STRIP_VECTORS];
  float factor, zero, least;
} Output;

/* The first of a word's A-lines begins it. */
INLINED void
put (Output output, int line, int n, Floats flow, int count)
{
  const Words words =
      words_of (at_least (flow * output.factor + output.zero, output.least));
  Words *place = &output.tile[line / PIXELS_OF_WORD][n];
  const uint part = line % PIXELS_OF_WORD;
  *place = (part ? *place : 0) | words << PLACE_IN_WORD (part);
}
#else
typedef struct {
  global float *flow; /* of the first A-line */
  ulong stride;
} Output;

/* As many of a vector as there are. */
INLINED void
put (Output output, int line, int n, Floats flow, int count)
{
  global float *to = output.flow + line * output.stride + n * LANES;
  if (count >= LANES) {
    STORE_AT_ONCE (Floats, to, flow);
    return;
  }
  float each[LANES];
  STORE (flow, 0, each);
  for (int k = 0; k < count; k++)
    to[k] = each[k];
}
#endif

/* Pairs beyond the B-scan are of nothing. */
INLINED void
find_block (Flow flow, int begin, int first_line, Output output)
{
  const int earlier = (flow.window - 1) / 2, above = (flow.window_depths - 1) / 2;
  const int count = min (flow.depths - begin, BLOCK);
  Sums sums[MOST_WINDOW]; /* one after the other, and the first again */
  int next = min (first_line, flow.pairs - 1) - earlier, place = 0;
  for (int line = first_line; line < min (first_line + LINES, flow.lines); line++) {
    const int first = min (line, flow.pairs - 1) - earlier, end = first + flow.window;
    for (; next < end; next++) {
      if (next >= 0 && next < flow.pairs)
        sum_pair (flow.after + (size_t)next * flow.depths,
            flow.before + (size_t)next * flow.depths, begin - above, flow.depths,
            flow.window_depths, flow.least_power > 0.0f, &sums[place]);
      else
        clear_pair (&sums[place]);
      place = place + 1 < flow.window ? place + 1 : 0;
    }
    const int summed = min (end, flow.pairs) - max (first, 0);
    for (int n = 0; n * LANES < count; n++)
      put (output, line - first_line, n, flow_of_pairs (flow, sums, summed, n, begin),
          count - n * LANES);
  }
}

/* Common window sizes get loops whose lengths are known at compile time. */
INLINED void
find_any_block (Flow flow, int begin, int first_line, Output output)
{
  if (flow.window_depths == 3 && flow.window == 3 && flow.least_power <= 0.0f) {
    flow.window_depths = flow.window = 3;
    flow.least_power = 0.0f;
    find_block (flow, begin, first_line, output);
    return;
  }
  find_block (flow, begin, first_line, output);
}

#ifdef FULL
kernel void
show_flow (FLOW, PICTURE)
{
  const uint begin = get_global_id (0) * BLOCK, first_line = get_global_id (1) * LINES;
  if (begin >= depths || first_line >= lines)
    return;
  Words tile[WORDS_OF_ROW][STRIP_VECTORS];
  const Flow flow = THE_FLOW;
  const Output strip = {tile, factor, zero, least};
  find_any_block (flow, begin, first_line, strip);
  write_strip (tile, min (depths - begin, (uint)BLOCK),
      min (lines - first_line, (uint)STRIP_LINES),
      output + offset + (long)begin * output_stride + first_line, output_stride);
}
#else
kernel void
find_flow (FLOW, global uchar *restrict output, ulong output_offset)
{
  const uint begin = get_global_id (0) * BLOCK, first_line = get_global_id (1) * LINES;
  if (begin >= depths || first_line >= lines)
    return;
  const Flow flow = THE_FLOW;
  const Output block = {
      (global float *)(output + output_offset) + (size_t)first_line * depths + begin,
      depths};
  find_any_block (flow, begin, first_line, block);
}
#endif
#endif

#if !defined(LANES) && !defined(FULL)
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
#endif
