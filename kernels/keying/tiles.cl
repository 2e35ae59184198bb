/* keying: iterations of a tile's bits in local memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * To reduce noise and to fill are one rule: a pixel leaves a set when fewer than three of
 * its neighbours are in it, and outside the frame counts as in it. The set is that of
 * keyed pixels to reduce noise, and that of un-keyed ones to fill.
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

/* Where flow can go in a tile: from and to the right neighbour, the one below, and, where
 * `limited`, only to what is `within` the limit */
typedef struct {
  __local const uint *right, *down, *within;
  bool limited;
} Ways;

/* What a word becomes: flow comes from its left, right, upper and lower neighbours. */
uint
flow_word (__local const uint *keyed, Ways ways, int at)
{
  uint word = keyed[at];
  uint right = ways.right[at];
  uint reached = (word & right) << 1 | (keyed[at - 1] & ways.right[at - 1]) >> 31;
  reached |= (word >> 1 | keyed[at + 1] << 31) & right;
  reached |= keyed[at - TILE_WORDS] & ways.down[at - TILE_WORDS];
  reached |= keyed[at + TILE_WORDS] & ways.down[at];
  return word | (ways.limited ? reached & ways.within[at] : reached);
}

/* Where the keyed pixels lie after the iterations: `keyed` or `other` */
__local uint *
flow (__local uint *keyed, __local uint *other, Ways ways, uint iterations)
{
  for (uint i = 0; i < iterations; i++) {
    FOR_EACH_OF_GROUP (n, TILE_SIZE)
    other[n + TILE_WORDS] = flow_word (keyed, ways, n + TILE_WORDS);
    barrier (CLK_LOCAL_MEM_FENCE);
    __local uint *result = other;
    other = keyed;
    keyed = result;
  }
  return keyed;
}
