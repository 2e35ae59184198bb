/* Automatic display range from a histogram of levels
 *
 * The histogram has STEPS steps of 1 / STEPS_OF_DECIBEL dB, from LEAST_DECIBELS on. The
 * host does not wait for the result: the display kernel reads it on the device.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define COMPONENT float
#include "groupbarrier.clh"
#include "level.clh"
#include "depthtypes.clh"

float
decibels_of (BIN bin)
{
#ifdef VALUES
  return REAL (bin);
#else
  return 3.01029996f * log2 (finite_power (POWER (REAL (bin), IMAGINARY (bin))));
#endif
}

/* Adds every `every_depth`-th depth of every `every_line`-th A-line to the histogram. */
kernel void
count_levels (global const BIN *restrict bins, uint bin_stride, ulong first, uint depths,
    uint lines, uint every_depth, uint every_line, global uint *restrict counts)
{
  const uint depth = get_global_id (0) * every_depth;
  const uint line = get_global_id (1) * every_line;
  if (depth >= depths || line >= lines)
    return;
  const float decibels = at_least (
      decibels_of (bins[line * (size_t)bin_stride + first + depth]), LEAST_DECIBELS);
  const float step = (decibels - LEAST_DECIBELS) * STEPS_OF_DECIBEL;
  atomic_inc (counts + (uint)fmin (step, STEPS - 1.0f));
}

/* Returns the level below which `rank` of the counted samples lie. sums[n] is the count
 * of the STEPS / GROUP histogram steps of work-item n. */
float
level_of_rank (local const uint *sums, global const uint *counts, uint rank)
{
  uint below = 0, part = 0;
  while (part < GROUP - 1 && below + sums[part] <= rank)
    below += sums[part++];
  uint step = part * (STEPS / GROUP);
  while (step < STEPS - 1 && below + counts[step] <= rank)
    below += counts[step++];
  return LEAST_DECIBELS + (step + 0.5f) / STEPS_OF_DECIBEL;
}

/* Finds the black and white levels of an image, and its scale:
 * grey = range[0] * level + range[1], at least range[2]
 *
 * black_share, white_share: shares of samples below black and below white
 * share: weight of this frame; earlier frames have the rest
 * logarithmic: the scale is in dB. Otherwise it is in power or amplitude
 * full: largest grey value
 * unit: factor of a level before scaling
 * least: lowest displayed level, in units of the scale
 * range: in and out. [0] to [2] as above, [3] and [4] black and white in dB, [5] not 0 if
 *   there was an earlier frame
 * counts: the histogram; cleared afterwards */
kernel __attribute__ ((reqd_work_group_size (GROUP, 1, 1))) void
find_range (global uint *restrict counts, float black_share, float white_share,
    float share, uint logarithmic, float full, float unit, float least,
    global float *restrict range)
{
  const uint item = get_local_id (0);
  local uint sums[GROUP];
  uint sum = 0;
  for (uint n = 0; n < STEPS / GROUP; n++)
    sum += counts[item * (STEPS / GROUP) + n];
  sums[item] = sum;
  WAIT_FOR_GROUP (CLK_LOCAL_MEM_FENCE);

  if (item == 0) {
    uint all = 0;
    for (uint n = 0; n < GROUP; n++)
      all += sums[n];
    float black = level_of_rank (sums, counts, (uint)(black_share * all));
    float white = level_of_rank (sums, counts, (uint)(white_share * all));
    if (range[5] != 0.0f) {
      black = range[3] + share * (black - range[3]);
      white = range[4] + share * (white - range[4]);
    }
    range[3] = black;
    range[4] = white;
    range[5] = 1.0f;
    white = fmax (white, black + LEAST_SPAN);
    if (!logarithmic) {
      black = exp10 (black / DECIBELS_OF_TEN);
      white = exp10 (white / DECIBELS_OF_TEN);
    }
    const float factor = full / (white - black);
    range[0] = unit * factor;
    range[1] = -black * factor;
    range[2] = fmax (0.0f, (least - black) * factor);
  }
  WAIT_FOR_GROUP (CLK_GLOBAL_MEM_FENCE);
  for (uint n = 0; n < STEPS / GROUP; n++)
    counts[item * (STEPS / GROUP) + n] = 0;
}
