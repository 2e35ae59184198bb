/* noisereduce: removes isolated keyed pixels, or fills isolated holes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "masks.clh"
#include "tiles.clh"

/* `iterations` iterations on a bit plane in tiles of local memory, whose margin is as
 * wide as the number of iterations. With `flip` all ones, the un-keyed pixels are the set
 * that shrinks. After a launch that changed nothing, both planes are equal, and later
 * launches return at once. */
__kernel void
reduce_plane (__global const uint *from, __global uint *to, uint width, uint height,
    uint flip, uint iterations, volatile __global uint *changed, uint launch)
{
  __local uint first[TILE_ARRAY];
  __local uint second[TILE_ARRAY];
  if (launch > 0 && changed[launch - 1] == 0)
    return;
  int words = (width + 31) / 32;
  int margin = iterations;
  int word0 = (int)get_group_id (0) * (TILE_WORDS - 2) - 1;
  int y0 = (int)get_group_id (1) * (TILE_ROWS - 2 * margin) - margin;
  Place place = place_of_tile (32 * word0, y0, width, height);

  clear_margin (first);
  clear_margin (second);
  FOR_EACH_OF_GROUP (n, TILE_SIZE)
  {
    int word = word0 + n % TILE_WORDS;
    int y = y0 + n / TILE_WORDS;
    bool there = word >= 0 && word < words && y >= 0 && y < (int)height;
    first[n + TILE_WORDS] = there ? from[(ulong)y * words + word] : 0;
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  begin_set (first, place, flip);
  __local uint *set = shrink (first, second, place, iterations);

  FOR_EACH_OF_GROUP (n, TILE_SIZE)
  {
    int column = n % TILE_WORDS;
    int row = n / TILE_WORDS;
    int word = word0 + column;
    int y = y0 + row;
    if (column < 1 || column >= TILE_WORDS - 1 || row < margin
        || row >= TILE_ROWS - margin || word >= words || y >= (int)height)
      continue;
    ulong at = (ulong)y * words + word;
    uint keyed = (set[n + TILE_WORDS] ^ flip) & inside_line (32 * word, width, 32);
    to[at] = keyed;
    if (keyed != from[at])
      changed[launch] = 1;
  }
}
