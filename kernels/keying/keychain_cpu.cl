/* keying: runs a chain of keying steps on a CPU, one tile per work-item
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Like keychain_gpu.cl, but in vectors as wide as the registers of a CPU, and without
 * local memory or barriers. A row of a tile has 512 pixels. Pixel 16 * b + w is bit b of
 * word w. So sixteen adjacent pixels are the same bit of the sixteen words, and no bits
 * have to be gathered. A pixel's neighbour is the same bit of the next word.
 */
#define COLUMNS 16 /* input pixels per load */
#include "flowrule.clh"
#include "keysteps.clh"
#include "unkeyed.clh"
#include "pixels_cpu.clh"

/* Otherwise compilers leave calls, which pass rows through memory. */
#define INLINED __attribute__ ((always_inline))
#define LINE_PIXELS 512
#define VECTORS 32
#define COMPONENT16(pixels, shift) COMPONENT_OF (16, pixels, shift)

typedef struct {
  uint16 keyed[WIDE_ROWS + 2]; /* with a row above and one below */
  uint16 right[WIDE_ROWS], down[WIDE_ROWS + 1], within[WIDE_ROWS];
} Tile;

typedef struct {
  int x, y;          /* the tile's first pixel */
  int width, height; /* of the frame */
  int begin, end;    /* rows of the tile that are in the frame */
  uint16 columns;    /* that are in the frame */
  uint16 pairs;      /* that have a right neighbour in the frame */
} Place;

/* Return for each pixel the bit of its left or right neighbour. */
uint16
of_left (uint16 bits)
{
  return bits.sf0123456789abcde
         << (uint16)(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

uint16
of_right (uint16 bits)
{
  return bits.s123456789abcdef0
         >> (uint16)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
}

/* Returns all ones where the differences of the components in `mask` sum up to less than
 * `threshold`, else 0. */
int16
is_near (Pixel16 a, Pixel16 b, Pixel mask, uint threshold)
{
  a &= mask;
  b &= mask;
  uint16 sum = abs_diff (COMPONENT16 (a, RED), COMPONENT16 (b, RED))
               + abs_diff (COMPONENT16 (a, GREEN), COMPONENT16 (b, GREEN))
               + abs_diff (COMPONENT16 (a, BLUE), COMPONENT16 (b, BLUE));
  return sum < threshold;
}

int16
is_within (Pixel16 pixels, Rule rule)
{
  return (int16)(is_chroma_within (pixels.lo, rule.key_cb, rule.key_cr, rule.limit),
      is_chroma_within (pixels.hi, rule.key_cb, rule.key_cr, rule.limit));
}

uint16
bit_where (int16 condition, int bit)
{
  return as_uint16 (condition) & 1u << bit;
}

/* Returns the position of a tile, and the masks that its rows have in common. */
Place
place_of_tile (int x, int y, int width, int height, int rows)
{
  Place place = {x, y, width, height, max (-y, 0), min (height - y, rows), 0, 0};
  const int16 words = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int bit = 0; bit < VECTORS; bit++) {
    int16 columns = x + 16 * bit + words;
    place.columns |= bit_where (columns >= 0 && columns < width, bit);
    place.pairs |= bit_where (columns >= 0 && columns < width - 1, bit);
  }
  return place;
}

uint16
keyed_by (Pixel16 pixels, Key key, int bit)
{
  int16 here =
      is_near (pixels, (Pixel16)(key.color), key.mask, key.threshold) ^ key.inverted;
  here |= COMPONENT16 (pixels, ALPHA) < key.least_alpha;
  return bit_where (here, bit);
}

/* Part of a tile that is written: range of rows, and of vectors in a row */
typedef struct {
  int begin, stop;
  int first, end;
} Core;

bool
is_in_core (Core core, int row)
{
  return row >= core.begin && row < core.stop;
}

/* Camera formats are converted only once. The converted core pixels are kept in the
 * output, where no other work-item writes, until it is known which of them are keyed. */
#if CAMERA
#define KEEPING true
#define WAITING(input, output, y) ((__global const uchar *)LINE (output, y))
#else
#define KEEPING false
#define WAITING(input, output, y) LINE (input, y)
#endif

void
keep_pixels (FRAME (, output), Place place, int row, int bit, Pixel16 pixels)
{
  store_wide (LINE (output, place.y + row), place.x + 16 * bit, place.width, pixels);
}

/* Returns 0 for vectors outside of the frame, which are not used. */
INLINED Pixel16
pixels_of_tile (InputRow line, int x, int width)
{
  return x > -16 && x < width ? input_cpu (line, x, width) : (Pixel16)(0);
}

void
key_line (INPUT_FRAME (input), FRAME (, output), Place place, Core core, Key key, int row,
    Tile *tile)
{
  InputRow line = INPUT_ROW (input, place.y + row);
  uint16 keyed = 0;
  for (int bit = 0; bit < VECTORS; bit++) {
    Pixel16 pixels = pixels_of_tile (line, place.x + 16 * bit, place.width);
    keyed |= keyed_by (pixels, key, bit);
    if (KEEPING && is_in_core (core, row) && bit >= core.first && bit < core.end)
      keep_pixels (FRAME_ARGUMENTS (output), place, row, bit, pixels);
  }
  tile->keyed[row + 1] = keyed & place.columns;
}

/* Finds keyed pixels, and where the key can flow. `kept` has the pixels of the row, and
 * afterwards those of the next one. */
void
find_connections_of_line (INPUT_FRAME (input), Place place, Key key, Rule rule, int row,
    Pixel16 *kept, Tile *tile)
{
  int y = place.y + row;
  bool last = y + 1 >= place.height;
  InputRow next = INPUT_ROW (input, last ? y : y + 1);
  uint16 keyed = 0, right = 0, down = 0, within = 0;
  for (int bit = 0; bit < VECTORS; bit++) {
    Pixel16 pixels = kept[bit], ahead = kept[bit + 1];
    Pixel16 beside =
        (Pixel16)(pixels.s1234, pixels.s567, pixels.s89ab, pixels.scdef, ahead.s0);
    Pixel16 below =
        last ? pixels : pixels_of_tile (next, place.x + 16 * bit, place.width);
    keyed |= keyed_by (pixels, key, bit);
    right |= bit_where (is_near (pixels, beside, rule.mask, rule.threshold), bit);
    down |= bit_where (is_near (pixels, below, rule.mask, rule.threshold), bit);
    if (rule.limit > 0)
      within |= bit_where (is_within (pixels, rule), bit);
    kept[bit] = below;
  }
  tile->keyed[row + 1] = keyed & place.columns;
  tile->right[row] = right & place.pairs;
  tile->down[row + 1] = last ? 0 : down & place.columns;
  tile->within[row] = rule.limit > 0 ? within : ~(uint16)(0);
}

/* The same for all rows of the tile. Each row is loaded once. */
void
find_connections (INPUT_FRAME (input), FRAME (, output), Place place, Core core, Key key,
    Rule rule, Tile *tile)
{
  Pixel16 kept[VECTORS + 1]; /* the one after the last vector stays 0 */
  InputRow first = INPUT_ROW (input, place.y + place.begin);
  for (int bit = 0; bit < VECTORS; bit++)
    kept[bit] = pixels_of_tile (first, place.x + 16 * bit, place.width);
  kept[VECTORS] = 0;
  tile->down[place.begin] = 0;
  for (int row = place.begin; row < place.end; row++) {
    for (int bit = core.first; KEEPING && is_in_core (core, row) && bit < core.end; bit++)
      keep_pixels (FRAME_ARGUMENTS (output), place, row, bit, kept[bit]);
    find_connections_of_line (THE_INPUT_FRAME (input), place, key, rule, row, kept, tile);
  }
}

/* Sets the words outside of the frame, for a step that reads them. */
void
set_outside (Tile *tile, Place place, int rows, uint16 outside)
{
  for (int row = -1; row < place.begin; row++)
    tile->keyed[row + 1] = outside;
  for (int row = place.end; row <= rows; row++)
    tile->keyed[row + 1] = outside;
  for (int row = place.begin; row < place.end; row++)
    tile->keyed[row + 1] =
        (tile->keyed[row + 1] & place.columns) | (outside & ~place.columns);
}

/* Un-keys pixels with fewer than three keyed neighbours. */
void
reduce_lines (Tile *tile, Place place)
{
  uint16 above = tile->keyed[place.begin];
  for (int row = place.begin; row < place.end; row++) {
    uint16 here = tile->keyed[row + 1];
    uint16 below = tile->keyed[row + 2];
    uint16 left = of_left (here), right = of_right (here);
    uint16 three = (left & right & (above | below)) | (above & below & (left | right));
    tile->keyed[row + 1] = (here & three) | ~place.columns;
    above = here;
  }
}

/* Keys pixels with at least two keyed neighbours. */
void
fill_lines (Tile *tile, Place place)
{
  uint16 above = tile->keyed[place.begin];
  for (int row = place.begin; row < place.end; row++) {
    uint16 here = tile->keyed[row + 1];
    uint16 below = tile->keyed[row + 2];
    uint16 left = of_left (here), right = of_right (here);
    uint16 two = (left & right) | (above & below) | ((left | right) & (above | below));
    tile->keyed[row + 1] = (here | two) & place.columns;
    above = here;
  }
}

void
flow_lines (Tile *tile, Place place)
{
  uint16 above = tile->keyed[place.begin];
  for (int row = place.begin; row < place.end; row++) {
    uint16 here = tile->keyed[row + 1];
    uint16 below = tile->keyed[row + 2];
    uint16 right = tile->right[row];
    uint16 reached = of_left (here & right) | (of_right (here) & right)
                     | (above & tile->down[row]) | (below & tile->down[row + 1]);
    tile->keyed[row + 1] = here | (reached & tile->within[row]);
    above = here;
  }
}

void
take_step (Tile *tile, Place place, int rows, uint kind, uint iterations)
{
  set_outside (tile, place, rows, kind == REDUCE ? ~(uint16)(0) : (uint16)(0));
  for (uint n = 0; n < iterations; n++) {
    if (kind == REDUCE)
      reduce_lines (tile, place);
    else if (kind == FILL)
      fill_lines (tile, place);
    else
      flow_lines (tile, place);
  }
}

/* Writes a row of the core. */
void
write_line (INPUT_FRAME (input), FRAME (, output), UNKEYED, Place place, Core core,
    int row, uint opacity, Tile *tile)
{
  int y = place.y + row;
  uint16 keyed = tile->keyed[row + 1];
  for (int bit = core.first; bit < core.end; bit++) {
    int x = place.x + 16 * bit;
    Pixel16 pixels = load_wide (WAITING (input, output, y), x, place.width);
    uint16 alpha = (COMPONENT16 (pixels, ALPHA) * opacity + 32768) >> 16;
    int16 here = (keyed & 1u << bit) != (uint16)(0);
    alpha =
        (uint16)(alpha_unless_keyed (alpha.lo, here.lo, THE_UNKEYED, x, y, place.width),
            x + 8 < place.width ? alpha_unless_keyed (
                alpha.hi, here.hi, THE_UNKEYED, x + 8, y, place.width)
                                : (uint8)(0));
    store_wide (LINE (output, y), x, place.width,
        (pixels & ~ALPHA_MASK) | TO_PIXEL (16) (alpha) << ALPHA);
  }
}

/* A work-group has one work-item. It writes `core_rows` rows, which with a margin of
 * `depth` above and below are at most WIDE_ROWS. */
__kernel void
run_chain_cpu (INPUT_FRAME (input), FRAME (, output), UNKEYED, uint width, uint height,
    KEY, RULE, ulong steps, uint depth, uint flows, uint core_rows)
{
  Tile tile;
  int side = (depth + 15) / 16 * 16;
  int rows = core_rows + 2 * depth;
  Place place = place_of_tile ((int)get_global_id (0) * (LINE_PIXELS - 2 * side) - side,
      (int)get_global_id (1) * (int)core_rows - (int)depth, width, height, rows);
  Core core = {depth, min (rows - (int)depth, place.end), side / 16,
      min (VECTORS - side / 16, (place.width - place.x + 15) / 16)};
  Key key = THE_KEY;
  Rule rule = THE_RULE;

  if (flows)
    find_connections (
        THE_INPUT_FRAME (input), FRAME_ARGUMENTS (output), place, core, key, rule, &tile);
  else
    for (int row = place.begin; row < place.end; row++)
      key_line (THE_INPUT_FRAME (input), FRAME_ARGUMENTS (output), place, core, key, row,
          &tile);
  for (; steps > 0; steps >>= 8)
    take_step (&tile, place, rows, KIND_OF_STEP (steps), ITERATIONS_OF_STEP (steps));
  for (int row = core.begin; row < core.stop; row++)
    write_line (THE_INPUT_FRAME (input), FRAME_ARGUMENTS (output), THE_UNKEYED, place,
        core, row, opacity, &tile);
}
