/* keying: runs a chain of keying steps, one tile in local memory per work-group
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A work-group keys a tile, iterates it in local memory, and writes its core. The margin
 * around the core is as deep as all iterations together. The size of work-groups is a
 * compile-time constant, so that the compiler unrolls loops over the words of a tile.
 */
#include "flowrule.clh"
#include "keysteps.clh"
#include "tiles.clh"
#include "unkeyed.clh"

/* Returns which of eight pixels the key or their own alpha makes transparent. */
uint
keyed_by (Pixel8 pixels, Key key, int x, int width)
{
  uint near = pack_near (pixels, (Pixel8)(key.color), key.mask, key.threshold);
  uint clear = pack_signs (COMPONENT8 (pixels, ALPHA) - key.least_alpha);
  return ((near ^ key.inverted) | clear) & inside_line (x, width, 8);
}

/* Bit planes of a tile. right, down and within are only used with `flows`. */
typedef struct {
  __local uint *keyed, *other;
  __local uint *right, *down, *within;
} Planes;

Planes
planes_in (__local uint *words)
{
  Planes planes = {words, words + TILE_ARRAY, words + 2 * TILE_ARRAY,
      words + 3 * TILE_ARRAY, words + 4 * TILE_ARRAY};
  return planes;
}

__local uchar *
bytes_of (__local uint *plane)
{
  return (__local uchar *)(plane + TILE_WORDS);
}

/* A work-item processes strips of eight columns from top to bottom, so that each row is
 * loaded once for the comparisons with the rows above and below. */
#define STRIP_ROWS 4

void
load_strip (INPUT_FRAME (input), Place place, Key key, Rule rule, bool flows,
    Planes planes, int row, int byte)
{
  int x = place.x + 8 * byte;
  bool there = x >= 0 && x < place.width;
  int first = place.y + row;
  Pixel8 pixels = 0;
  if (there && first >= 0 && first < place.height)
    pixels = input_pixels (INPUT_ROW (input, first), x, place.width);
  for (int end = row + STRIP_ROWS; row < end; row++) {
    int y = place.y + row;
    Pixel8 below = 0;
    uint k = 0, r = 0, d = 0, w = 0;
    if (there && y + 1 >= 0 && y + 1 < place.height && (flows || row + 1 < end))
      below = input_pixels (INPUT_ROW (input, y + 1), x, place.width);
    if (there && y >= 0 && y < place.height) {
      k = keyed_by (pixels, key, x, place.width);
      if (flows) {
        r = same_as_right (INPUT_ROW (input, y), pixels, rule, x, place.width);
        if (y + 1 < place.height)
          d = same_as_below (pixels, below, rule, x, place.width);
        if (rule.limit > 0)
          w = open_of (pixels, rule, 0, x, place.width);
      }
    }
    int at = BYTE_INDEX (row * TILE_BYTES + byte);
    bytes_of (planes.keyed)[at] = k;
    if (flows) {
      bytes_of (planes.right)[at] = r;
      bytes_of (planes.down)[at] = d;
      if (rule.limit > 0)
        bytes_of (planes.within)[at] = w;
    }
    pixels = below;
  }
}

/* Afterwards `keyed` has the result, and the next step may write to `other`. */
void
take_step (Planes *planes, Place place, Rule rule, uint kind, uint iterations)
{
  __local uint *keyed = planes->keyed;
  if (kind == FLOW) {
    Connections connections = {
        planes->right, planes->down, planes->within, rule.limit > 0};
    keyed = flow (keyed, planes->other, connections, iterations);
  } else {
    uint flip = kind == FILL ? ~0u : 0;
    if (kind == FILL || !place.within)
      begin_set (keyed, place, flip);
    keyed = shrink (keyed, planes->other, place, iterations);
    if (kind == FILL)
      begin_set (keyed, place, flip);
  }
  if (keyed != planes->keyed) {
    planes->other = planes->keyed;
    planes->keyed = keyed;
  }
}

/* Writes the core of a tile. */
void
write_core (INPUT_FRAME (input), FRAME (, output), UNKEYED, Place place, int side,
    int margin, uint opacity, Planes planes)
{
  int columns = TILE_BYTES - 2 * side / 8;
  int rows = min (TILE_ROWS - 2 * margin, place.height - place.y - margin);
  FOR_EACH_OF_GROUP (n, rows * columns)
  {
    int row = margin + n / columns;
    int byte = side / 8 + n % columns;
    int x = place.x + 8 * byte;
    int y = place.y + row;
    if (x >= place.width)
      continue;
    int at = BYTE_INDEX (row * TILE_BYTES + byte);
    Pixel8 pixels = input_pixels (INPUT_ROW (input, y), x, place.width);
    uint8 alpha = alpha_unless_keyed (scaled_alpha (pixels, opacity),
        spread_mask (bytes_of (planes.keyed)[at]), THE_UNKEYED, x, y, place.width);
    store_pixels (LINE (output, y), x, place.width, with_alpha (pixels, alpha));
  }
}

/* `words`: memory for those planes of planes_in() that are used */
__kernel __attribute__ ((reqd_work_group_size (GROUP_ITEMS, 1, 1))) void
run_chain_gpu (INPUT_FRAME (input), FRAME (, output), UNKEYED, uint width, uint height,
    KEY, RULE, ulong steps, uint depth, uint flows, __local uint *words)
{
  int side = (depth + 7) / 8 * 8;
  Place place = place_of_tile (
      (int)get_group_id (0) * (32 * TILE_WORDS - 2 * side) - side,
      (int)get_group_id (1) * (TILE_ROWS - 2 * (int)depth) - (int)depth, width, height);
  Planes planes = planes_in (words);
  Key key = THE_KEY;
  Rule rule = THE_RULE;

  clear_margin (planes.keyed);
  clear_margin (planes.other);
  if (flows) {
    clear_margin (planes.right);
    clear_margin (planes.down);
  }
  FOR_EACH_OF_GROUP (n, TILE_ROWS / STRIP_ROWS * TILE_BYTES)
  load_strip (THE_INPUT_FRAME (input), place, key, rule, flows, planes,
      n / TILE_BYTES * STRIP_ROWS, n % TILE_BYTES);
  barrier (CLK_LOCAL_MEM_FENCE);
  for (; steps > 0; steps >>= 8)
    take_step (&planes, place, rule, KIND_OF_STEP (steps), ITERATIONS_OF_STEP (steps));
  barrier (CLK_LOCAL_MEM_FENCE);
  write_core (THE_INPUT_FRAME (input), FRAME_ARGUMENTS (output), THE_UNKEYED, place, side,
      depth, opacity, planes);
}
