/* octattenuation: attenuation coefficients of A-lines, for any device
 *
 * GROUP is the work-group size of find_attenuation and measure_noise. See attenuation.clh
 * for COMPLEX and AVERAGED. With WINDOWED, find_attenuation averages A-lines of up to
 * DEPTHS depths itself, in local memory.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "groupbarrier.clh"
#include "attenuation.clh"

/* Sums over the work-group; the result is in sums[0]. */
void
sum_group (local float *sums, float value)
{
  const uint item = get_local_id (0);
  sums[item] = value;
  SUM_OF_GROUP (sums, item)
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
}

/* Writes the mean intensity of the depths from `first` on. One work-group; it takes every
 * `every`th A-line. */
kernel void
measure_noise (global const uchar *restrict input, ulong offset, uint depths, uint lines,
    uint first, uint every, global float *restrict noise)
{
  local float sums[GROUP];
  const uint count = depths - first, rows = (lines + every - 1) / every;
  float sum = 0.0f;
  for (uint n = get_local_id (0); n < count * rows; n += GROUP) {
    global const INPUT *line =
        (global const INPUT *)(input + offset) + (size_t)(n / count) * every * depths;
    const float power = power_of (line[first + n % count]);
    sum += power <= FLT_MAX ? power : 0.0f;
  }
  sum_group (sums, sum);
  if (get_local_id (0) == 0)
    noise[0] = sums[0] / ((float)count * rows);
}

/* Writes the mean intensity less the noise over a window, which is cropped at the edges. */
kernel void
average_intensity (global const uchar *restrict input, ulong offset, uint depths,
    uint lines, uint window_depths, uint window_lines, global const float *restrict noise,
    global float *restrict output)
{
  const uint depth = get_global_id (0), line = get_global_id (1);
  if (depth >= depths || line >= lines)
    return;
  const uint above = (window_depths - 1) / 2, before = (window_lines - 1) / 2;
  const uint first = max (depth, above) - above, first_line = max (line, before) - before;
  const uint end = min (depth + window_depths - above, depths);
  const uint end_line = min (line + window_lines - before, lines);
  float sum = 0.0f;
  for (uint row = first_line; row < end_line; row++) {
    global const INPUT *values =
        (global const INPUT *)(input + offset) + (size_t)row * depths;
    for (uint at = first; at < end; at++)
      sum += power_of (values[at]);
  }
  output[(size_t)line * depths + depth] =
      sum / ((end - first) * (end_line - first_line)) - noise[0];
}

/* A-line to read */
typedef struct {
#if defined(WINDOWED)
  local const float *values;
#elif defined(AVERAGED)
  global const float *values;
#else
  global const INPUT *values;
#endif
  global const float *gains;
  float noise;
} Source;

/* Returns the intensity less the noise, before roll-off and focus are taken off. */
float
signal_at (Source from, int depth)
{
#ifdef AVERAGED
  return from.values[depth];
#else
  return power_of (from.values[depth]) - from.noise;
#endif
}

/* Sums the light of two groups of `count` depths, of which the first ends at `end` and the
 * second before the first. Half of the work-items sum each. */
void
sum_of_light (Source from, int end, int count, local float *sums, local float *groups)
{
  const int parts = GROUP > 1 ? 2 : 1, step = GROUP / parts;
  const int item = get_local_id (0), part = item / step;
  for (int group = part; group < 2; group += parts) {
    float sum = 0.0f;
    for (int depth = end - (group + 1) * count + item % step; depth < end - group * count;
         depth += step)
      sum += signal_at (from, depth) * from.gains[depth];
    if (GROUP == 1)
      groups[group] = sum;
    sums[item] = sum;
  }
  for (int apart = step / 2; apart > 0; apart /= 2) {
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
    if (item % step < apart)
      sums[item] += sums[item + apart];
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  if (GROUP > 1 && item % step == 0)
    groups[part] = sums[item];
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
}

Ends
ends_of (Source from, Line of, local int *last)
{
  for (int n = get_local_id (0); n < 2; n += GROUP)
    last[n] = -1;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  for (int block = get_local_id (0); block < blocks_of (of); block += GROUP) {
    const int begin = begin_of_block (of, block), end = begin_of_block (of, block + 1);
    float sum = 0.0f;
#pragma unroll 8
    for (int depth = begin; depth < end; depth++)
      sum += signal_at (from, depth);
    if (has_light (of, sum, from.noise, end - begin))
      atomic_max (&last[0], block);
    if (is_shown (of, sum, from.noise, end - begin))
      atomic_max (&last[1], block);
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  return (Ends){last[0] < 0 ? 0 : begin_of_block (of, last[0] + 1),
      last[1] < 0 ? 0 : begin_of_block (of, last[1] + 1)};
}

#ifdef WINDOWED
#define WINDOW_ARGUMENTS uint window_depths, uint window_lines,

/* As average_intensity, for one A-line: sums over A-lines first, then over depths */
void
average_line (global const INPUT *input, uint line, uint depths, uint lines,
    uint window_depths, uint window_lines, float noise, local float *columns,
    local float *averaged)
{
  const uint above = (window_depths - 1) / 2, before = (window_lines - 1) / 2;
  const uint first_line = max (line, before) - before;
  const uint end_line = min (line + window_lines - before, lines);
  for (uint depth = get_local_id (0); depth < depths; depth += GROUP) {
    float sum = 0.0f;
    for (uint row = first_line; row < end_line; row++)
      sum += power_of (input[(size_t)row * depths + depth]);
    columns[depth] = sum;
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  for (uint depth = get_local_id (0); depth < depths; depth += GROUP) {
    const uint first = max (depth, above) - above;
    const uint end = min (depth + window_depths - above, depths);
    float sum = 0.0f;
    for (uint at = first; at < end; at++)
      sum += columns[at];
    averaged[depth] = sum / ((end - first) * (end_line - first_line)) - noise;
  }
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
}
#else
#define WINDOW_ARGUMENTS
#endif

#define EACH 4 /* adjacent depths of a work-item */
#define TILE (GROUP * EACH)

/* Replaces each item's value by the sum of all later items. Returns the sum of all. */
float
sum_later_items (local float *sums, float *value)
{
  const uint item = get_local_id (0);
  float sum = *value;
  for (uint apart = 1; apart < GROUP; apart *= 2) {
    sums[item] = sum;
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
    if (item + apart < GROUP)
      sum += sums[item + apart];
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  }
  sums[item] = sum;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  *value = item + 1 < GROUP ? sums[item + 1] : 0.0f;
  return sums[0];
}

/* A work-group processes an A-line, from its end to its beginning. */
kernel void
find_attenuation (global const uchar *restrict input, ulong offset,
    WINDOW_ARGUMENTS global const float *restrict noise,
    global const float *restrict gains, LINE_ARGUMENTS, global uchar *restrict output,
    ulong output_offset)
{
  local float sums[GROUP];
  local float groups[2];
  local int last[2];
  const Line of = LINE_OF_ARGUMENTS;
  const size_t line = get_group_id (0);
  if (line >= lines) /* true for the whole group, so the barriers are safe */
    return;
  global float *to = (global float *)(output + output_offset) + line * depths;
#if defined(WINDOWED)
  local float columns[DEPTHS], averaged_line[DEPTHS];
  average_line ((global const INPUT *)(input + offset), line, depths, lines,
      window_depths, window_lines, noise[0], columns, averaged_line);
  const Source from = {averaged_line, gains, noise[0]};
#elif defined(AVERAGED)
  const Source from = {
      (global const float *)(input + offset) + line * depths, gains, noise[0]};
#else
  const Source from = {
      (global const INPUT *)(input + offset) + line * depths, gains, noise[0]};
#endif

  const Ends ends = ends_of (from, of, last);
  const int end = ends.light, fitted = min ((int)end_depths, end / 2);
  sum_of_light (from, end, fitted, sums, groups);
  float below = light_below (
      of, fitted, groups[0], groups[1], from.noise * gains[max (end - 1, 0)]);
  for (int tile = (of.depths - 1) / TILE; tile >= 0; tile--) {
    const int first = tile * TILE + get_local_id (0) * EACH;
    float light[EACH], sum = 0.0f;
    for (int n = 0; n < EACH; n++) {
      light[n] = first + n < end ? signal_at (from, first + n) * gains[first + n] : 0.0f;
      sum += light[n];
    }
    float later = sum;
    const float all = sum_later_items (sums, &later);
    later += below;
    below += all;
    for (int n = EACH - 1; n >= 0; n--) {
      const float ratio = light[n] / later;
      if (first + n < of.depths)
        to[first + n] = later > 0.0f && ratio > -1.0f && ratio <= FLT_MAX
                                && first + n < min (end, ends.shown)
                            ? log1p (ratio) * unit
                            : 0.0f;
      later += light[n];
    }
    WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);
  }
}
