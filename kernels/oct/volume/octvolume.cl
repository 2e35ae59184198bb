/* octvolume: collects B-scans in a volume and in rows of an en face projection
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "bscan.clh"

#ifdef PARTS
/* A work-group processes LINES A-lines with PARTS work-items each. Adjacent work-items
 * read adjacent values. ALONG: these are of the same A-line. */
#define GROUP (LINES * PARTS)
#ifdef ALONG
#define LINE_OF(item) ((item) / PARTS)
#define PART_OF(item) ((item) % PARTS)
#else
#define LINE_OF(item) ((item) % LINES)
#define PART_OF(item) ((item) / LINES)
#endif

/* As level_around (), of `powers`, whose A-lines are contiguous */
float
power_around (global const float *powers, uint depths, uint depth, uint reach)
{
  const uint from = max (depth, reach) - reach, last = min (depth + reach, depths - 1);
  float sum = 0.0f;
  for (uint n = from; n <= last; n++)
    sum += powers[n];
  return sum / (float)(last - from + 1);
}

/* Projects a slab of each A-line to row `row` of an en face plane.
 *
 * maximum: take the maximum of the slab, else its mean
 * start, slab: first depth and number of depths of the slab
 * from_surface: `start` counts from the surface: the first depth, not before `first`,
 *   whose level exceeds `threshold`. The level is the mean of the depths within `reach`
 * structured: the surface is that of `structure`, not of the input
 * nothing: value if the slab is empty
 * plane: its `rows` values of an A-line are adjacent */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
project (B_SCAN, uint maximum, int start, uint slab, uint from_surface, float threshold,
    uint reach, uint first, uint structured, global const uchar *restrict structure,
    ulong structure_offset, float empty_value, global float *restrict plane, uint rows,
    uint row)
{
  local uint found[GROUP];
  local float values[GROUP];
  local uint counts[GROUP];
  const uint item = get_local_id (0), part = PART_OF (item);
  const uint line = get_group_id (0) * LINES + LINE_OF (item);
  global const INPUT *from = input + offset + min (line, lines - 1) * (size_t)line_step;

  long origin = 0;
  if (from_surface) {
    uint depth = first + part;
    global const float *powers = (global const float *)(structure + structure_offset)
                                 + min (line, lines - 1) * (size_t)depths;
    while (depth < depths && structured
           && !(power_around (powers, depths, depth, reach) > threshold))
      depth += PARTS;
    while (depth < depths && !structured
           && !(level_around (from, depth_step, depths, depth, reach) > threshold))
      depth += PARTS;
    found[item] = depth;
    barrier (CLK_LOCAL_MEM_FENCE);
    uint surface = found[item];
    for (uint n = 0; n < PARTS; n++)
#ifdef ALONG
      surface = min (surface, found[item - part + n]);
#else
      surface = min (surface, found[item % LINES + n * LINES]);
#endif
    origin = surface < depths ? (long)surface : (long)depths;
  }
  const bool none = origin >= (long)depths;
  const long begin = clamp (origin + start, 0L, (long)depths);
  const long end = clamp (origin + start + (long)slab, begin, (long)depths);
  float value = maximum ? -INFINITY : 0.0f;
  uint count = 0;
  for (long depth = begin + part; depth < end && !none; depth += PARTS) {
    const float number = (float)NUMBER_OF (from[depth * depth_step]);
    if (isnan (number)) /* not measured, as by octdynamic */
      continue;
    value = maximum ? fmax (value, number) : value + number;
    count++;
  }
  values[item] = value;
  counts[item] = count;
  barrier (CLK_LOCAL_MEM_FENCE);
  if (part > 0 || line >= lines)
    return;
  for (uint n = 1; n < PARTS; n++) {
#ifdef ALONG
    const uint other = item + n;
#else
    const uint other = item + n * LINES;
#endif
    value = maximum ? fmax (value, values[other]) : value + values[other];
    count += counts[other];
  }
  plane[line * (size_t)rows + row] = count == 0 ? empty_value
                                     : maximum  ? value
                                                : value / (float)count;
}
#elif defined(TILE)
/* Copies a B-scan to contiguous A-lines of the volume, through a tile in local memory.
 * TRANSPOSED: A-lines are columns of the input. */
kernel __attribute__ ((reqd_work_group_size (TILE, TILE, 1))) void
store (B_SCAN, global NUMBER *restrict volume, ulong place)
{
  local NUMBER tile[TILE][TILE + 1];
  const uint x = get_local_id (0), y = get_local_id (1);
  const uint first_line = get_group_id (0) * TILE, first_depth = get_group_id (1) * TILE;
#ifdef TRANSPOSED
  uint line = first_line + x, depth = first_depth + y;
  if (line < lines && depth < depths)
    tile[x][y] =
        NUMBER_OF (input[offset + line * (size_t)line_step + depth * (size_t)depth_step]);
  barrier (CLK_LOCAL_MEM_FENCE);
  line = first_line + y;
  depth = first_depth + x;
  if (line < lines && depth < depths)
    volume[place + line * (size_t)depths + depth] = tile[y][x];
#else
  const uint line = first_line + y, depth = first_depth + x;
  if (line < lines && depth < depths)
    volume[place + line * (size_t)depths + depth] =
        NUMBER_OF (input[offset + line * (size_t)line_step + depth * (size_t)depth_step]);
#endif
}

#endif

#ifndef TILE
/* Fills a row without data: the first `filled` lines with `value`, the others with the row
 * before. The first row has none before, and remains. */
kernel void
fill_row (global float *restrict plane, uint rows, uint row, uint lines, uint filled,
    float value)
{
  const uint line = get_global_id (0);
  const size_t to = line * (size_t)rows + row;
  if (line < lines)
    plane[to] = line < filled ? value : plane[to - min (row, 1u)];
}
#endif
