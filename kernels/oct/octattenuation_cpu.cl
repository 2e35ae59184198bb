/* octattenuation: attenuation coefficients of A-lines, for a CPU
 *
 * LANES is the length of the vectors. See attenuation.clh for COMPLEX. With AVERAGED,
 * find_averaged_attenuation averages LINES A-lines of DEPTHS depths at once, in memory of
 * its own that stays in the cache. Otherwise find_attenuation reads the input.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "vectors_cpu.clh"
#include "windowsum_cpu.clh"
#define COMPONENT FLOATS
#include "logarithm_cpu.clh"
#include "attenuation.clh"

/* Returns the power of LANES adjacent values. */
INLINED Floats
power_of_values (global const INPUT *values)
{
#ifdef COMPLEX
  const Floats first = LOAD_UNALIGNED (Floats, values);
  const Floats second = LOAD_UNALIGNED (Floats, values + LANES / 2);
  const Floats x = (Floats)(first.even, second.even);
  const Floats y = (Floats)(first.odd, second.odd);
  return x * x + y * y;
#else
  const Floats x = LOAD_UNALIGNED (Floats, values);
  return x * x;
#endif
}

#ifdef AVERAGED
/* Depths that are averaged at once */
#define BLOCK 256
#define VECTORS (BLOCK / LANES)
#define MAX_ROWS (LINES + MAX_WINDOW - 1)
#define ROW_VECTORS ((BLOCK + MAX_WINDOW + LANES - 1) / LANES)
#define TILE_VECTORS ((DEPTHS + BLOCK - 1) / BLOCK * VECTORS)

/* Fills `row` with the power of the depths from `begin` on, which may be negative. Depths
 * outside the A-line are 0. */
INLINED void
load_row (Floats *row, global const INPUT *line, int begin, int count, int depths)
{
  for (int n = 0; n * LANES < count; n++) {
    const int at = begin + n * LANES;
    if (at >= 0 && at + LANES <= depths) {
      row[n] = power_of_values (line + at);
      continue;
    }
    float each[LANES];
    for (int k = 0; k < LANES; k++)
      each[k] = at + k >= 0 && at + k < depths ? power_of (line[at + k]) : 0.0f;
    row[n] = LOAD (0, each);
  }
}

/* A-lines to average, and the window */
typedef struct {
  global const INPUT *values;
  int depths, lines, window_depths, window_lines;
  float noise;
} Lines;

/* Averages the depths from `begin` on of the A-lines from `first_line` on, and subtracts
 * the noise. */
INLINED void
average_block (Lines of, int begin, int first_line, Floats (*tile)[TILE_VECTORS])
{
  const int above = (of.window_depths - 1) / 2, before = (of.window_lines - 1) / 2;
  const int count = min (of.depths - begin, BLOCK);
  const int end_line = min (first_line + LINES, of.lines);
  const int first_row = max (first_line - before, 0);
  const int end_row = min (end_line - 1 - before + of.window_lines, of.lines);
  Floats rows[MAX_ROWS][VECTORS], row[ROW_VECTORS];
  for (int n = first_row; n < end_row; n++) {
    load_row (row, of.values + (size_t)n * of.depths, begin - above,
        count + of.window_depths - 1, of.depths);
    for (int k = 0; k * LANES < count; k++)
      rows[n - first_row][k] = sum_of_depths (row + k, of.window_depths);
  }
  for (int k = 0; k * LANES < count; k++) {
    const Floats share =
        1.0f / summed_depths (begin + k * LANES, of.depths, of.window_depths);
    for (int line = first_line; line < end_line; line++) {
      const int first = max (line - before, 0);
      const int end = min (line - before + of.window_lines, of.lines);
      Floats sum = rows[first - first_row][k];
      for (int n = first + 1; n < end; n++)
        sum += rows[n - first_row][k];
      tile[line - first_line][begin / LANES + k] =
          sum * share / (float)(end - first) - of.noise;
    }
  }
}
#endif

/* A-line to read */
typedef struct {
#ifdef AVERAGED
  const float *values;
#else
  global const INPUT *values;
#endif
  global const float *gains;
  float noise;
} Source;

/* Returns the intensity less the noise of `count` depths, at most LANES; the others are 0. */
INLINED Floats
signals_at (Source from, int depth, int count)
{
  if (count >= LANES) {
#ifdef AVERAGED
    return ((const UNALIGNED (Floats) *)(from.values + depth))->all;
#else
    return power_of_values (from.values + depth) - from.noise;
#endif
  }
  float each[LANES];
  for (int k = 0; k < LANES; k++) {
#ifdef AVERAGED
    each[k] = k < count ? from.values[depth + k] : 0.0f;
#else
    each[k] = k < count ? power_of (from.values[depth + k]) - from.noise : 0.0f;
#endif
  }
  return LOAD (0, each);
}

INLINED Floats
gains_at (Source from, int depth, int count)
{
  if (count >= LANES)
    return LOAD_UNALIGNED (Floats, from.gains + depth);
  float each[LANES];
  for (int k = 0; k < LANES; k++)
    each[k] = k < count ? from.gains[depth + k] : 0.0f;
  return LOAD (0, each);
}

INLINED float
sum_of_lanes (Floats values)
{
  float each[LANES], sum = 0.0f;
  STORE (values, 0, each);
  for (int k = 0; k < LANES; k++)
    sum += each[k];
  return sum;
}

INLINED float
sum_of_signals (Source from, int begin, int end)
{
  Floats sum = 0.0f;
  for (int depth = begin; depth < end; depth += LANES)
    sum += signals_at (from, depth, end - depth);
  return sum_of_lanes (sum);
}

INLINED float
sum_of_light (Source from, int begin, int end)
{
  Floats sum = 0.0f;
  for (int depth = begin; depth < end; depth += LANES)
    sum += signals_at (from, depth, end - depth) * gains_at (from, depth, end - depth);
  return sum_of_lanes (sum);
}

INLINED Ends
ends_of (Source from, Line of)
{
  Ends ends = {0, 0};
  for (int block = blocks_of (of) - 1; block >= 0; block--) {
    const int begin = begin_of_block (of, block), end = begin_of_block (of, block + 1);
    const float sum = sum_of_signals (from, begin, end);
    if (ends.light == 0 && has_light (of, sum, from.noise, end - begin))
      ends.light = end;
    if (ends.shown == 0 && is_shown (of, sum, from.noise, end - begin))
      ends.shown = end;
    if (ends.light > 0 && ends.shown > 0)
      break;
  }
  return ends;
}

/* Returns in each lane the value of the next one. */
INLINED Floats
next_lanes (Floats v)
{
#if LANES == 4
  return (Floats)(v.s123, 0.0f);
#elif LANES == 8
  return (Floats)(v.s1234, v.s567, 0.0f);
#else
  return (Floats)(v.s12345678, v.s9abc, v.sdef, 0.0f);
#endif
}

/* Returns in each lane the sum of that lane and all later ones. */
INLINED Floats
sums_from_lanes (Floats v)
{
  v += next_lanes (v);
#if LANES == 4
  v += (Floats)(v.s23, 0.0f, 0.0f);
#elif LANES == 8
  v += (Floats)(v.s2345, v.s67, 0.0f, 0.0f);
  v += (Floats)(v.s4567, 0.0f, 0.0f, 0.0f, 0.0f);
#else
  v += (Floats)(v.s23456789, v.sabcd, v.sef, 0.0f, 0.0f);
  v += (Floats)(v.s456789ab, v.scdef, (float4)(0.0f));
  v += (Floats)(v.s89abcdef, (float8)(0.0f));
#endif
  return v;
}

/* Returns ln (1 + light / later) by its logarithm, where `later` is positive. The rest
 * corrects the rounding of the sum. */
INLINED Floats
logarithm_of (Floats light, Floats later)
{
  const Floats ratio = light / (later > 0.0f ? later : (Floats)1.0f);
  const Floats sum = 1.0f + ratio;
  const INTS valid = later > 0.0f & sum > FLT_MIN & sum <= FLT_MAX;
  const Floats used = valid ? sum : (Floats)1.0f;
  const Floats natural = log2_of (used) * M_LN2_F + (ratio - (sum - 1.0f)) / used;
  return valid ? natural : (Floats)0.0f;
}

/* The same. If light is less than `later` in all lanes, as almost everywhere, it takes
 * the series of 2 artanh (s) with s = light / (light + 2 later). */
INLINED Floats
attenuation_of (Floats light, Floats later, float unit)
{
  const Floats both = light + 2.0f * later;
  if (!all (3.0f * light <= both & -3.0f * light <= both & both > FLT_MIN
            & both <= FLT_MAX))
    return logarithm_of (light, later) * unit;
  const Floats s = light / both, square = s * s;
  Floats sum = 1.0f / 13;
  sum = sum * square + 1.0f / 11;
  sum = sum * square + 1.0f / 9;
  sum = sum * square + 1.0f / 7;
  sum = sum * square + 1.0f / 5;
  sum = sum * square + 1.0f / 3;
  return (sum * square + 1.0f) * s * (2.0f * unit);
}

/* Processes an A-line, from its end to its beginning. */
INLINED void
find_line (Source from, Line of, global float *to)
{
  const Ends ends = ends_of (from, of);
  const int end = ends.light, fitted = min (of.end_depths, end / 2);
  float below = light_below (of, fitted, sum_of_light (from, end - fitted, end),
      sum_of_light (from, end - 2 * fitted, end - fitted),
      from.noise * from.gains[max (end - 1, 0)]);
  const int shown = min (end, ends.shown);
  for (int depth = shown; depth < of.depths; depth += LANES)
    store_values (to + depth, 0.0f, of.depths - depth);
  for (int depth = (end - 1) / LANES * LANES; depth >= 0 && end > 0; depth -= LANES) {
    const int count = end - depth;
    const Floats light = signals_at (from, depth, count) * gains_at (from, depth, count);
    const Floats sums = sums_from_lanes (light);
    if (depth < shown)
      store_values (to + depth,
          attenuation_of (light, next_lanes (sums) + below, of.unit), shown - depth);
    below += sums.s0;
  }
}

#ifdef AVERAGED
/* A work-item processes LINES A-lines. */
kernel void
find_averaged_attenuation (global const uchar *restrict input, ulong offset,
    uint window_depths, uint window_lines, global const float *restrict noise,
    global const float *restrict gains, LINE_ARGUMENTS, global uchar *restrict output,
    ulong output_offset)
{
  const int first_line = get_global_id (0) * LINES;
  if (first_line >= lines)
    return;
  const Lines all = {(global const INPUT *)(input + offset), depths, lines, window_depths,
      window_lines, noise[0]};
  Floats tile[LINES][TILE_VECTORS];
  for (int begin = 0; begin < depths; begin += BLOCK)
    average_block (all, begin, first_line, tile);
  const Line of = LINE_OF_ARGUMENTS;
  for (int n = 0; n < LINES && first_line + n < lines; n++) {
    const Source from = {(const float *)tile[n], gains, noise[0]};
    find_line (from, of,
        (global float *)(output + output_offset) + (size_t)(first_line + n) * depths);
  }
}
#else
/* A work-item processes an A-line. */
kernel void
find_attenuation (global const uchar *restrict input, ulong offset,
    global const float *restrict noise, global const float *restrict gains,
    LINE_ARGUMENTS, global uchar *restrict output, ulong output_offset)
{
  const size_t line = get_global_id (0);
  if (line >= lines)
    return;
  const Line of = LINE_OF_ARGUMENTS;
  const Source from = {
      (global const INPUT *)(input + offset) + line * depths, gains, noise[0]};
  find_line (from, of, (global float *)(output + output_offset) + line * depths);
}
#endif
