/* octsurface: depth of the surface of each A-line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "bscan.clh"

#define MOST_LINES 31

/* Finds where the level of each A-line first exceeds `threshold`, not before depth `first`,
 * by linear interpolation between depths. NaN: nowhere */
kernel void
find_surface (
    B_SCAN, uint first, float threshold, uint reach, global float *restrict found)
{
  const uint line = get_global_id (0);
  if (line >= lines)
    return;
  global const INPUT *from = input + offset + line * (size_t)line_step;
  float before =
      first > 0 ? level_around (from, depth_step, depths, first - 1, reach) : NAN;
  found[line] = NAN;
  for (uint depth = first; depth < depths; depth++) {
    const float level = level_around (from, depth_step, depths, depth, reach);
    if (level > threshold) {
      const float part = (level - threshold) / (level - before);
      found[line] = (float)depth - (part >= 0.0f && part <= 1.0f ? part : 0.0f);
      return;
    }
    before = level;
  }
}

/* Median over the A-lines within `reach`, without NaN. The second row of the output is in
 * micrometres, or NaN if `step` is. */
kernel void
smooth_surface (global const float *restrict found, uint lines, uint reach,
    float first_depth, float step, global float *restrict output)
{
  const uint line = get_global_id (0);
  if (line >= lines)
    return;
  float sorted[MOST_LINES];
  uint count = 0;
  const uint from = max (line, reach) - reach, last = min (line + reach, lines - 1);
  for (uint n = from; n <= last; n++) {
    const float value = found[n];
    uint place = count;
    if (isnan (value))
      continue;
    for (; place > 0 && sorted[place - 1] > value; place--)
      sorted[place] = sorted[place - 1];
    sorted[place] = value;
    count++;
  }
  const float middle =
      count > 0 ? 0.5f * (sorted[(count - 1) / 2] + sorted[count / 2]) + first_depth
                : NAN;
  output[line] = middle;
  output[lines + line] = middle * step;
}
