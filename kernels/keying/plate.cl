/* chromakey: clean plate, the screen colour at each position, also behind the foreground
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define LANES 8
#include "softkey.clh"
#include "blockgrid.clh"
#include "resampled.clh"

/* The screen colour is measured in a grid of blocks. It is the colour at the centre of
 * each block. */

/* Returns the sum over a work-group to each work-item. All work-items must call it;
 * `sums` has one element per work-item. */
float4
sum_of_group (float4 mine, __local float4 *sums)
{
  uint item = get_local_id (0);
  barrier (CLK_LOCAL_MEM_FENCE);
  sums[item] = mine;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint count = get_local_size (0); count > 1; count = (count + 1) / 2) {
    uint half_count = (count + 1) / 2;
    if (item + half_count < count)
      sums[item] += sums[item + half_count];
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  return sums[0];
}

/* Loads eight samples of a row, `step` pixels apart. `there`: 1 for those within the
 * row */
Pixel8
load_samples (__global const uchar *line, uint x, uint step, uint width, float8 *there)
{
  uint8 columns = x + step * (uint8)(0, 1, 2, 3, 4, 5, 6, 7);
  *there = select ((float8)(0), (float8)(1), columns < width);
  columns = min (columns, (uint8)(width - 1));
  return (Pixel8)(load_pixel (line, columns.s0), load_pixel (line, columns.s1),
      load_pixel (line, columns.s2), load_pixel (line, columns.s3),
      load_pixel (line, columns.s4), load_pixel (line, columns.s5),
      load_pixel (line, columns.s6), load_pixel (line, columns.s7));
}

/* Least chroma of the screen's second tone, which the search has measured */
#define LEAST_OF_TONE 0.6f

/* Returns 1 for samples with more than `least` of the chroma of a colour, and of its hue. */
float8
is_like (Colors samples, Colors color, float least)
{
  float8 along, across;
  chroma_along_key (samples, color, &along, &across);
  return select (
      (float8)(0), (float8)(1), along > least && fabs (across) < 0.25f * along);
}

/* Finds the screen samples of a block: those like the colour expected there, or like the
 * screen's second tone, unless that is 0. Writes their sums and their count. A work-item
 * reads eight samples at a time. */
__kernel void
measure_screen (FRAME (const, input), uint width, uint height,
    __global const uint *auto_key, uint use_auto_key, uint key, uint tone,
    __global const float4 *screen, uint use_screen, uint block_size, float least,
    __global float4 *measured)
{
  __local float4 sums[SAMPLES * SAMPLES / 8];
  uint block = get_group_id (1) * get_num_groups (0) + get_group_id (0);
  uint step = block_size / SAMPLES;
  Colors expected = same_color (
      use_screen ? screen[block] : color_of_key (use_auto_key ? *auto_key : key));
  const Colors second = same_color (color_of_key (tone));

  float4 sum = 0;
  for (uint n = get_local_id (0); n < SAMPLES * SAMPLES / 8; n += get_local_size (0)) {
    uint x = get_group_id (0) * block_size + 8 * n % SAMPLES * step;
    uint y = get_group_id (1) * block_size + 8 * n / SAMPLES * step;
    if (x >= width || y >= height)
      continue;
    float8 is;
    Colors samples =
        colors_of_pixels (load_samples (LINE (input, y), x, step, width, &is));
    is *= max (is_like (samples, expected, least),
        tone ? is_like (samples, second, LEAST_OF_TONE) : 0);
    sum += (float4)(sum_of_lanes (samples.red * is), sum_of_lanes (samples.green * is),
        sum_of_lanes (samples.blue * is), sum_of_lanes (is));
  }
  sum = sum_of_group (sum, sums);
  if (get_local_id (0) == 0)
    measured[block] = sum;
}

/* Returns the squared ratio of chroma, in 1/128, to luma. The intensity of the light on a
 * screen does not change it. */
float
saturation_of (float4 sum)
{
  float luma = dot (sum, (float4)(0.299f, 0.587f, 0.114f, 0));
  float cb = dot (sum, (float4)(-21, -43, 64, 0));
  float cr = dot (sum, (float4)(64, -54, -10, 0));
  return (cb * cb + cr * cr) / max (luma * luma, 1e-6f);
}

/* Minimum saturation of screen blocks, relative to their mean. A large subject of a
 * similar colour is paler than the screen, which most blocks show. The first round
 * computes the mean of all blocks, the second of those that are not paler. */
#define LEAST_SATURATION 0.85f

/* All work-items must call it. `sums` has one element per work-item. */
float
least_saturation (__global const float4 *measured, uint blocks, __local float4 *sums)
{
  float least = 0;
  for (uint round = 0; round < 2; round++) {
    float4 sum = 0;
    for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
      if (saturation_of (measured[n]) >= least)
        sum += measured[n];
    }
    least =
        LEAST_SATURATION * LEAST_SATURATION * saturation_of (sum_of_group (sum, sums));
  }
  return least;
}

/* Weights where no screen is near */
__constant float far_weights[FARTHEST + 1] = {0.001f, 0.000986207117f, 0.000945959469f,
    0.000882496903f, 0.000800737403f, 0.000706648278f, 0.00060653066f, 0.000506335617f,
    0.000411112291f};

/* A block without a subject mostly has its own colour, so that folds and the edge of a floor
 * stay sharp. */
#define ALL_SEEN (0.98f * SAMPLES * SAMPLES)
#define OWN_WEIGHT 8

/* Gives blocks with little or no screen the colour of their neighbours, or the key colour
 * if no screen is near. Clears blocks of `measured` that are not screen. `across` has two
 * sums per block. One work-group. */
__kernel void
smooth_screen (__global const uint *auto_key, uint use_auto_key, uint key,
    __global float4 *measured, uint columns, uint rows, __global float4 *across,
    __global float4 *screen)
{
  __local float4 sums[GROUP];
  const uint blocks = columns * rows;
  float least = least_saturation (measured, blocks, sums);
  for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
    if (saturation_of (measured[n]) < least)
      measured[n] = 0;
  }
  barrier (CLK_GLOBAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < blocks; n += get_local_size (0))
    spread_along_row (measured, columns, n % columns, n / columns, far_weights, across);
  barrier (CLK_GLOBAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
    float4 sum =
        (color_of_key (use_auto_key ? *auto_key : key) + (float4)(0, 0, 0, 1)) * 1e-6f;
    sum = spread_along_column (
        sum, across, columns, rows, n % columns, n / columns, far_weights);
    if (measured[n].s3 >= ALL_SEEN)
      sum += OWN_WEIGHT * measured[n];
    screen[n] = sum / sum.s3;
  }
}

/* Plate with memory. Each frame updates the remembered colour of a block, except in two
 * cases. If less of the screen is visible than before, a gap or a soft edge may change
 * its colour, which would spread to the blocks around. If the colour differs by more than
 * a change of light explains, the block shows a subject. */
#define LEARNT 0.25f      /* weight of the new frame */
#define MOSTLY_SEEN 0.75f /* relative to the remembered samples */
#define PALER 0.92f
#define OTHER_LIGHT 0.1f

float
mean_luma (float4 sum)
{
  return dot (sum, (float4)(0.299f, 0.587f, 0.114f, 0)) / max (sum.s3, 1.0f);
}

bool
is_known_screen (float4 seen, float4 known)
{
  float luma = mean_luma (known);
  return known.s3 < 1
         || (saturation_of (seen) >= PALER * PALER * saturation_of (known)
             && fabs (mean_luma (seen) - luma) <= OTHER_LIGHT * luma);
}

/* One work-group. `starts`: nothing is remembered. The memory is also replaced if most
 * screen samples do not match it, as after a cut or a change of light. */
__kernel void
remember_screen (
    __global const float4 *measured, uint blocks, uint starts, __global float4 *known)
{
  __local float4 sums[GROUP];
  float4 sum = 0; /* of all screen samples, and of those that match the memory */
  for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
    bool same = !starts && is_known_screen (measured[n], known[n]);
    sum += (float4)(measured[n].s3, same ? measured[n].s3 : 0, 0, 0);
  }
  sum = sum_of_group (sum, sums);
  bool replaces = starts || 2 * sum.s1 < sum.s0;
  for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
    float4 block = measured[n];
    if (replaces)
      known[n] = block;
    else if (block.s3 >= MOSTLY_SEEN * known[n].s3 && is_known_screen (block, known[n]))
      known[n] += LEARNT * (block - known[n]);
  }
}

/* Converts an image of any size and component order to the size and pixel format of the
 * frame. Rows have `stride` bytes and are filled to their ends. */
__kernel void
scale_plate (FRAME (const, image), uint bytes, uint4 shifts, uint from_width,
    uint from_height, uint width, uint height, __global uchar *plate, uint stride)
{
  uint x = get_global_id (0);
  uint y = get_global_id (1);
  if (x >= stride / PIXEL_BYTES || y >= height)
    return;
  float4 color = color_between (FRAME_ARGUMENTS (image), bytes, shifts, from_width,
      from_height, width, height, x, y);
  uint4 levels = convert_uint4_rte (color * SCALE);
  store_pixel (plate + (ulong)y * stride, x,
      (Pixel)levels.s0 << RED | (Pixel)levels.s1 << GREEN | (Pixel)levels.s2 << BLUE
          | ALPHA_MASK);
}
