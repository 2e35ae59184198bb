/* octbackground: minimum-variance background of A-lines, and its subtraction
 *
 * A frame has lines of `columns` floats: the real and imaginary parts of depths. Columns
 * are independent. A work-item processes WIDE adjacent columns. If `columns` is no
 * multiple of WIDE, the last two work-items of a line overlap.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED (a, b)
#define FLOATS JOIN (float, WIDE)
#define INTS JOIN (int, WIDE)
#define LOAD JOIN (vload, WIDE)
#define STORE JOIN (vstore, WIDE)

uint
first_column (uint columns)
{
  return min ((uint)get_global_id (0) * WIDE, columns - WIDE);
}

/* Computes mean and variance of the lines of each segment. Subtracting the first line
 * keeps rounding errors small. */
kernel void
find_segments (global const float *restrict input, ulong offset, ulong pitch,
    uint columns, uint lines, uint segments, global float *restrict means,
    global float *restrict variances)
{
  const uint segment = get_global_id (1);
  if (get_global_id (0) * WIDE >= columns || segment >= segments)
    return;
  const uint column = first_column (columns);
  const uint begin = (ulong)lines * segment / segments;
  const uint end = (ulong)lines * (segment + 1) / segments;
  global const float *line = input + offset + begin * pitch + column;
  const FLOATS first = LOAD (0, line);
  FLOATS sum = 0.0f, squares = 0.0f;
#pragma unroll 8
  for (uint n = begin; n < end; n++, line += pitch) {
    const FLOATS value = LOAD (0, line) - first;
    sum += value;
    squares += value * value;
  }
  const FLOATS mean = sum / (float)(end - begin);
  const size_t at = (size_t)segment * columns + column;
  STORE (first + mean, 0, means + at);
  STORE (squares / (float)(end - begin) - mean * mean, 0, variances + at);
}

/* Selects for each column the mean of the segment with the lowest variance, or 0 if no
 * segment has a finite variance. */
kernel void
choose_segments (global const float *restrict means,
    global const float *restrict variances, uint columns, uint segments,
    global float *restrict background)
{
  local FLOATS least[SLICES][ITEMS], chosen[SLICES][ITEMS];
  const uint item = get_local_id (0) % ITEMS, slice = get_local_id (0) / ITEMS;
  const uint number = get_group_id (0) * ITEMS + item;
  const uint column = min (number * WIDE, columns - WIDE);
  const uint end = segments * (slice + 1) / SLICES;
  FLOATS variance = INFINITY, mean = 0.0f;
#pragma unroll 8
  for (uint segment = segments * slice / SLICES; segment < end; segment++) {
    const size_t at = (size_t)segment * columns + column;
    const FLOATS other = LOAD (0, variances + at);
    const INTS less = isless (other, variance);
    variance = select (variance, other, less);
    mean = select (mean, LOAD (0, means + at), less);
  }
#if SLICES > 1
  least[slice][item] = variance;
  chosen[slice][item] = mean;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint n = 1; n < SLICES && slice == 0; n++) {
    const INTS less = isless (least[n][item], variance);
    variance = select (variance, least[n][item], less);
    mean = select (mean, chosen[n][item], less);
  }
#endif
  if (slice == 0 && number * WIDE < columns)
    STORE (mean, 0, background + column);
}

/* Subtracts `weight` times the background, which is not read if `weight` is 0. Columns
 * before `empty` become 0. A work-item processes `lines_of_item` lines. */
kernel void
subtract (global const float *restrict input, ulong offset, ulong pitch, uint columns,
    uint lines, global const float *restrict background, float weight, uint empty,
    uint lines_of_item, global float *restrict output, ulong output_offset,
    ulong output_pitch)
{
  const uint begin = get_global_id (1) * lines_of_item;
  if (get_global_id (0) * WIDE >= columns || begin >= lines)
    return;
  const uint column = first_column (columns);
  const uint end = min (begin + lines_of_item, lines);
  const FLOATS below =
      weight != 0.0f ? weight * LOAD (0, background + column) : (FLOATS)0.0f;
  FLOATS kept;
  for (uint n = 0; n < WIDE; n++)
    ((float *)&kept)[n] = column + n < empty ? 0.0f : 1.0f;
#pragma unroll 8
  for (uint line = begin; line < end; line++) {
    const FLOATS value = LOAD (0, input + offset + line * pitch + column) - below;
    STORE (kept != 0.0f ? value : (FLOATS)0.0f, 0,
        output + output_offset + line * output_pitch + column);
  }
}
