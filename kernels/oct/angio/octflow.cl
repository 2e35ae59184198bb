/* octangio: noise floor, thresholds and projection artefacts of an angiogram
 *
 * `flow` is the angiogram before these steps, `powers` the mean power of its repeats.
 * `noise` has the noise power of the B-scan. Values are zero where the power is below
 * `least_power`, or below the noise power times `least_snr`.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "groupbarrier.clh"

#if WIDTH == 1
#define FLOATS float
#define LOAD(from) *(from)
#define STORE(values, to) *(to) = values
#define SUM(values) (values)
#define LANES 0.0f
#define LOG2(value) log2 (value)
#else
#define FLOATS float8
#define LOAD(from) vload8 (0, from)
#define STORE(values, to) vstore8 (values, 0, to)
#define SUM(values) (dot (values.lo, (float4)(1.0f)) + dot (values.hi, (float4)(1.0f)))
#define LANES ((float8)(0, 1, 2, 3, 4, 5, 6, 7))
#define COMPONENT float8
#define INTS int8
#define AS_INTS as_int8
#define AS_FLOATS as_float8
#define TO_FLOATS convert_float8
#include "logarithm_cpu.clh"
#define LOG2(value) log2_of (value)
#endif

#define INLINED
#include "threshold.clh"

/* 0 for NaN and infinite values */
FLOATS
finite_value (FLOATS value)
{
  return fabs (value) <= FLT_MAX ? value : (FLOATS)0.0f;
}

float
threshold_of (global const float *noise, float least_power, float least_snr)
{
  return least_snr > 0.0f ? fmax (least_power, *noise * least_snr) : least_power;
}

#if WIDTH == WIDEST
/* Computes the mean power of each tile of `tile_lines` A-lines and `tile_depths` depths.
 * One work-group per tile. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
tile_powers (global const uchar *restrict bytes, ulong offset, uint depths,
    uint tile_depths, uint tile_lines, uint columns, global float *restrict tiles)
{
  global const float *powers = (global const float *)(bytes + offset);
  const uint item = get_local_id (0), tile = get_group_id (0);
  const uint first_line = tile / columns * tile_lines;
  const uint first_depth = tile % columns * tile_depths;
  local float parts[GROUP];
  global const float *from = powers + (size_t)first_line * depths + first_depth;
  float sum = 0.0f;
#if WIDTH == 1
  /* Unrolled, so that several reads are under way */
#pragma unroll 8
  for (uint n = item; n < tile_lines * tile_depths; n += GROUP)
    sum += finite_value (from[(size_t)(n / tile_depths) * depths + n % tile_depths]);
#else
  for (uint row = 0; row < tile_lines; row++, from += depths) {
    FLOATS middle = 0.0f;
    uint depth = item * WIDTH;
    for (; depth + WIDTH <= tile_depths; depth += GROUP * WIDTH)
      middle += finite_value (LOAD (from + depth));
    sum += SUM (middle);
    for (; depth < tile_depths; depth++)
      sum += fabs (from[depth]) <= FLT_MAX ? from[depth] : 0.0f;
  }
#endif
  parts[item] = sum;
  SUM_OF_GROUP (parts, item)
  if (item == 0)
    tiles[tile] = parts[0] / ((float)tile_lines * tile_depths);
}
#endif

#if WIDTH == 1
/* Finds the noise floor: the value of rank `share` among the tiles that have any power, at
 * most MOST_TILES. One work-group. */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
noise_floor (
    global const float *restrict tiles, uint count, float share, global float *noise)
{
  local float powers[MOST_TILES];
  local uint filled;
  if (get_local_id (0) == 0) {
    filled = 0;
    *noise = 0.0f;
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < count; n += GROUP) {
    powers[n] = tiles[n];
    if (powers[n] > 0.0f)
      atomic_inc (&filled);
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  const uint wanted = (uint)(share * filled);
  for (uint n = get_local_id (0); n < count; n += GROUP) {
    const float power = powers[n];
    uint rank = 0;
    for (uint other = 0; other < count; other++) {
      const float its = powers[other];
      rank += (its > 0.0f) & ((its < power) | ((its == power) & (other < n))) ? 1 : 0;
    }
    if (power > 0.0f && rank == wanted)
      *noise = power;
  }
}
#endif

/* Sets values to 0 where the mean power of the repeats is below a threshold. */
kernel void
apply_threshold (global const uchar *restrict powers, ulong powers_offset, uint depths,
    uint lines, global const float *restrict noise, float least_power, float least_snr,
    global uchar *restrict output, ulong output_offset)
{
  const size_t depth = get_global_id (0) * WIDTH, line = get_global_id (1);
  const size_t at = line * depths + depth;
  if (depth >= depths || line >= lines)
    return;
  const float least = threshold_of (noise, least_power, least_snr);
  global float *value = (global float *)(output + output_offset) + at;
  const FLOATS power = LOAD ((global const float *)(powers + powers_offset) + at);
  STORE (above_threshold (LOAD (value), power, least), value);
}

#if WIDTH == WIDEST
/* Removes projection artefacts, after Zhang et al., Projection-resolved optical coherence
 * tomographic angiography (2016): a value stays only if its flow, normalised by the log
 * reflectance, is above that of all depths before it in the A-line.
 *
 * Speckle makes single values vary by more than vessels differ. So this compares means
 * over 2 * ACROSS + 1 A-lines and 2 * ALONG + 1 depths, and a value stays if its flow is
 * at least `ratio` times the greatest one before. RELATIVE: flow in units of the power
 * (variances) is divided by it first. The logarithm is that of the power over a hundredth
 * of the noise power, plus 1, so that it is positive. Noise has a high flow value, so only
 * depths count whose power is at least CLEAR times that of the noise. Others become 0.
 *
 * One work-group per A-line, which goes from chunk to chunk of depths. */
#define ACROSS 2
#define ALONG 3
#define CHUNK 64
#define CLEAR 16.0f

kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
resolve_projections (global const float *restrict flow,
    global const uchar *restrict bytes, ulong offset, uint depths, uint lines,
    global const float *restrict noise, float least_power, float least_snr, float ratio,
    uint relative, global uchar *restrict output, ulong output_offset)
{
  global const float *powers = (global const float *)(bytes + offset);
  const uint item = get_local_id (0), line = get_group_id (0);
  const uint first = line > ACROSS ? line - ACROSS : 0;
  const uint last = min (line + ACROSS, lines - 1);
  const float least = threshold_of (noise, least_power, least_snr);
  const float counted = fmax (least, *noise * CLEAR);
  const float reference = fmax (*noise * 0.01f, FLT_MIN);
  global float *to = (global float *)(output + output_offset) + (size_t)line * depths;
  /* Sums across A-lines, with ALONG depths before and after the chunk */
  local float flows[CHUNK + 2 * ALONG], strengths[CHUNK + 2 * ALONG];
  local float values[CHUNK];
  float greatest = 0.0f;

  for (uint begin = 0; begin < depths; begin += CHUNK) {
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
    for (uint n = item * WIDTH; n < CHUNK + 2 * ALONG; n += GROUP * WIDTH) {
      const int depth = (int)(begin + n) - ALONG;
#if WIDTH > 1
      if (depth >= 0 && depth + WIDTH <= (int)depths && n + WIDTH <= CHUNK + 2 * ALONG) {
        FLOATS a = 0.0f, b = 0.0f;
        for (uint l = first; l <= last; l++) {
          a += finite_value (LOAD (flow + (size_t)l * depths + depth));
          b += finite_value (LOAD (powers + (size_t)l * depths + depth));
        }
        vstore8 (a, 0, flows + n);
        vstore8 (b, 0, strengths + n);
        continue;
      }
#endif
      for (uint k = n; k < min (n + WIDTH, (uint)(CHUNK + 2 * ALONG)); k++) {
        const int d = (int)(begin + k) - ALONG;
        float a = 0.0f, b = 0.0f;
        for (uint l = first; l <= last && d >= 0 && d < (int)depths; l++) {
          const float x = flow[(size_t)l * depths + d];
          const float y = powers[(size_t)l * depths + d];
          a += fabs (x) <= FLT_MAX ? x : 0.0f;
          b += fabs (y) <= FLT_MAX ? y : 0.0f;
        }
        flows[k] = a;
        strengths[k] = b;
      }
    }
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
    for (uint n = item * WIDTH; n < CHUNK; n += GROUP * WIDTH) {
      FLOATS a = 0.0f, b = 0.0f;
      for (uint k = 0; k <= 2 * ALONG; k++) {
        a += LOAD (flows + n + k);
        b += LOAD (strengths + n + k);
      }
      const FLOATS depth = (float)(begin + n) + LANES, end = (float)depths - 1.0f;
      const FLOATS count =
          (fmin (depth + ALONG, end) - fmax (depth - ALONG, (FLOATS)0.0f) + 1.0f)
          * (float)(last - first + 1);
      const FLOATS power = b / count;
      const FLOATS level = 1.0f + LOG2 (fmax (power / reference, (FLOATS)1.0f));
      const FLOATS value = (relative ? a / b : a / count) / level;
      STORE (
          ((depth <= end) & (power > 0.0f) & (power >= counted)) ? value : (FLOATS)0.0f,
          values + n);
    }
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
    /* Only depths that are bright themselves count as those before others. */
#if GROUP > 1
    const uint depth = begin + item;
    const size_t at = (size_t)line * depths + min (depth, depths - 1);
    const float own = values[item], power = powers[at];
    values[item] = depth < depths && power >= counted ? own : 0.0f;
    barrier (CLK_LOCAL_MEM_FENCE);
    for (uint step = 1; step < CHUNK; step *= 2) {
      const float other = item >= step ? values[item - step] : 0.0f;
      barrier (CLK_LOCAL_MEM_FENCE);
      values[item] = fmax (values[item], other);
      barrier (CLK_LOCAL_MEM_FENCE);
    }
    const float before = fmax (greatest, item > 0 ? values[item - 1] : 0.0f);
    if (depth < depths)
      to[depth] = own > 0.0f && own >= ratio * before
                      ? above_threshold (flow[at], power, least)
                      : 0.0f;
    greatest = fmax (greatest, values[CHUNK - 1]);
#else
    for (uint n = 0; n < CHUNK && begin + n < depths; n++) {
      const size_t at = (size_t)line * depths + begin + n;
      const float own = values[n], power = powers[at];
      const bool is_flow =
          own > 0.0f && own >= ratio * greatest && power >= least && power > 0.0f;
      to[begin + n] = is_flow ? flow[at] : 0.0f;
      greatest = power >= counted ? fmax (greatest, own) : greatest;
    }
#endif
  }
}
#endif
