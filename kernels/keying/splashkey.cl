/* splashkey: keys blocks that look like an earlier frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A work-group of at most GROUP work-items processes a block. `store` holds the sums of
 * red, green and blue of each block when it was keyed last.
 */
#include "inputformat.clh"

typedef struct {
  uint left, top, right, bottom;
} Block;

uint
sum_of_group (__local uint *sums, uint own)
{
  uint item = get_local_id (1) * get_local_size (0) + get_local_id (0);
  uint items = get_local_size (0) * get_local_size (1);
  sums[item] = own;
  barrier (CLK_LOCAL_MEM_FENCE);
  uint sum = 0;
  for (uint n = 0; n < items; n++)
    sum += sums[n];
  barrier (CLK_LOCAL_MEM_FENCE);
  return sum;
}

#define FOR_EACH_OF_BLOCK(x, y, block)                                                   \
  for (uint y = block.top + get_local_id (1); y < block.bottom; y += get_local_size (1)) \
    for (uint x = block.left + get_local_id (0); x < block.right; x += get_local_size (0))

/* A block is keyed if its sums differ from the stored ones by less than thresholds[0]
 * (full block), [1] (cut at the right), [2] (at the bottom) or [3] (at both). `fill`: 1
 * to fill the store from this frame */
__kernel void
key_blocks (INPUT_FRAME (input), FRAME (, output), uint width, uint height,
    uint block_size, ulong4 thresholds, uint fill, __global uint *store)
{
  __local uint sums[GROUP];
  Block block;
  block.left = get_group_id (0) * block_size;
  block.top = get_group_id (1) * block_size;
  block.right = min (block.left + block_size, width);
  block.bottom = min (block.top + block_size, height);

  uint red = 0, green = 0, blue = 0;
  FOR_EACH_OF_BLOCK (x, y, block)
  {
    Pixel pixel = input_pixel (INPUT_ROW (input, y), x);
    red += COMPONENT (pixel, RED);
    green += COMPONENT (pixel, GREEN);
    blue += COMPONENT (pixel, BLUE);
  }
  red = sum_of_group (sums, red);
  green = sum_of_group (sums, green);
  blue = sum_of_group (sums, blue);

  __global uint *stored =
      store + 3 * (get_group_id (1) * get_num_groups (0) + get_group_id (0));
  ulong differs = fill ? 0
                       : (ulong)abs_diff (red, stored[0]) + abs_diff (green, stored[1])
                             + abs_diff (blue, stored[2]);
  bool cut_right = block.right - block.left < block_size;
  bool cut_bottom = block.bottom - block.top < block_size;
  ulong threshold = cut_bottom ? (cut_right ? thresholds.s3 : thresholds.s2)
                               : (cut_right ? thresholds.s1 : thresholds.s0);
  bool keyed = differs < threshold;

  /* All work-items have read the store before it is written. */
  barrier (CLK_GLOBAL_MEM_FENCE);
  if ((keyed || fill) && get_local_id (0) == 0 && get_local_id (1) == 0) {
    stored[0] = red;
    stored[1] = green;
    stored[2] = blue;
  }
  FOR_EACH_OF_BLOCK (x, y, block)
  {
    Pixel pixel = input_pixel (INPUT_ROW (input, y), x);
    store_pixel (LINE (output, y), x, keyed ? pixel & ~ALPHA_MASK : pixel);
  }
}
