/* noisereduce: single keyed pixels away, single holes filled
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Both rules are one: a pixel leaves a set when fewer than three of its neighbours are in
 * it, and outside the frame counts as in it. The set is that of keyed pixels to reduce
 * noise, and that of un-keyed ones to fill.
 */
uint
three_of_four (uint a, uint b, uint c, uint d)
{
  return (a & b & (c | d)) | (c & d & (a | b));
}

uint
shrink_word (__local const uint *set, int at)
{
  uint word = set[at];
  uint left = word << 1 | set[at - 1] >> 31;
  uint right = word >> 1 | set[at + 1] << 31;
  return word & three_of_four (left, right, set[at - TILE_WORDS], set[at + TILE_WORDS]);
}

typedef struct {
  int x, y;          /* of the tile's first pixel */
  int width, height; /* of the frame */
  bool within;       /* all of the tile is in the frame */
} Place;

Place
place_of_tile (int x, int y, int width, int height)
{
  Place place = {x, y, width, height,
      x >= 0 && y >= 0 && x + 32 * TILE_WORDS <= width && y + TILE_ROWS <= height};
  return place;
}

uint
outside_of (Place place, int n)
{
  return ~inside_frame (place.x + 32 * (n % TILE_WORDS), place.y + n / TILE_WORDS,
      place.width, place.height);
}

/* All of the set's words exchanged by `flip`, and the frame's outside put in */
void
begin_set (__local uint *set, Place place, uint flip)
{
  FOR_EACH_OF_GROUP (n, TILE_SIZE)
  {
    uint outside = place.within ? 0 : outside_of (place, n);
    set[n + TILE_WORDS] = (set[n + TILE_WORDS] ^ flip) | outside;
  }
  barrier (CLK_LOCAL_MEM_FENCE);
}

/* Where the set lies after its iterations: `set` or `other` */
__local uint *
shrink (__local uint *set, __local uint *other, Place place, uint iterations)
{
  for (uint i = 0; i < iterations; i++) {
    if (place.within) {
      FOR_EACH_OF_GROUP (n, TILE_SIZE)
      other[n + TILE_WORDS] = shrink_word (set, n + TILE_WORDS);
    } else {
      FOR_EACH_OF_GROUP (n, TILE_SIZE)
      other[n + TILE_WORDS] = shrink_word (set, n + TILE_WORDS) | outside_of (place, n);
    }
    barrier (CLK_LOCAL_MEM_FENCE);
    __local uint *result = other;
    other = set;
    set = result;
  }
  return set;
}

void
load_tile (FRAME (const, input), Place place, __local uint *keyed)
{
  __local uchar *bytes = (__local uchar *)(keyed + TILE_WORDS);
  FOR_EACH_OF_GROUP (n, TILE_ROWS * TILE_BYTES)
  {
    int x = place.x + 8 * (n % TILE_BYTES);
    int y = place.y + n / TILE_BYTES;
    uint bits = 0;
    if (x >= 0 && x < place.width && y >= 0 && y < place.height)
      bits = keyed_of (load_pixels (LINE (input, y), x, place.width), x, place.width);
    bytes[BYTE_INDEX (n)] = bits;
  }
  barrier (CLK_LOCAL_MEM_FENCE);
}

/* All iterations of a tile, frame to frame; fill + reduce lines of margin around what a
 * work-group writes, and as many columns rounded up to whole bytes */
__kernel void
reduce_frame (FRAME (const, input), FRAME (, output), uint width, uint height, uint fill,
    uint reduce)
{
  __local uint first[TILE_ARRAY];
  __local uint second[TILE_ARRAY];
  int margin = fill + reduce;
  int side = (margin + 7) / 8 * 8;
  Place place =
      place_of_tile ((int)get_group_id (0) * (32 * TILE_WORDS - 2 * side) - side,
          (int)get_group_id (1) * (TILE_ROWS - 2 * margin) - margin, width, height);

  load_tile (input, input_offset, input_stride, place, first);
  __local uint *set = first;
  if (fill > 0) {
    begin_set (set, place, ~0u);
    set = shrink (set, second, place, fill);
    begin_set (set, place, ~0u);
  } else {
    begin_set (set, place, 0);
  }
  set = shrink (set, set == first ? second : first, place, reduce);
  write_core (input, input_offset, input_stride, output, output_offset, output_stride,
      width, height, place.x, place.y, side, margin, set);
}

/* Some iterations of a bit plane; `flip` is all ones for the set of un-keyed pixels.
 * Once a launch has changed nothing, none after it will: they return at once, and either
 * plane has the result. */
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

/* The plain form: an iteration of a mask of bytes; `wanted` is 1 to reduce, 0 to fill */
__kernel void
reduce_mask (__global const uchar *from, __global uchar *to, uint width, uint height,
    uint wanted, volatile __global uint *changed, uint launch)
{
  uint x = get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  __global const uchar *at = from + (ulong)y * width + x;
  uint in_set = (x == 0 || at[-1] == wanted) + (x + 1 == width || at[1] == wanted)
                + (y == 0 || at[-(long)width] == wanted)
                + (y + 1 == height || at[width] == wanted);
  bool leaves = *at == wanted && in_set < 3;
  to[(ulong)y * width + x] = leaves ? !wanted : *at;
  if (leaves)
    changed[launch] = 1;
}
