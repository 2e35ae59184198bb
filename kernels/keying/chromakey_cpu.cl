/* chromakey: soft methods on a CPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A work-item writes a tile of TILE_COLUMNS by at most WIDE_ROWS pixels, sixteen pixels
 * at a time. It keeps lumas and distances in private memory, for the neighbours. So the
 * input is read twice and the output is written once.
 */
#define LANES 16
#include "screenline.clh"
#include "pixels_cpu.clh"

#define TILE_COLUMNS 256
#define MARGIN 16 /* columns read on each side */
#define LINE_COLUMNS (TILE_COLUMNS + 2 * MARGIN)
#define LINES (WIDE_ROWS + 2 * RADIUS)

typedef struct {
  float luma[LINES * LINE_COLUMNS];
  float distance[LINES * LINE_COLUMNS];
  float moments[MOMENTS][LINE_COLUMNS];
} Tile;

typedef struct {
  int x, y;          /* first pixel that is written */
  int width, height; /* of the frame */
  int columns, rows; /* that are written */
  int reach;         /* rows read above and below */
} Place;

#define OF_BOTH(field, component)                                                        \
  (float16) ((float8)(first.field.component), (float8)(second.field.component))

/* Returns the screen colour of sixteen columns. They contain at most one block centre,
 * after the eighth. */
INLINED Colors
screen_along (Keyer keyer, Segment *segment, int x, int y)
{
  const float16 offsets = (float16)(0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f,
      9.5f, 10.5f, 11.5f, 12.5f, 13.5f, 14.5f, 15.5f);
  if (keyer.plate_stride > 0)
    return colors_of_pixels (
        load_wide (PLATE_LINE (keyer, y), x, keyer.plate_stride / PIXEL_BYTES));
  if (x >= segment->end)
    *segment = segment_at (keyer, x, y);
  Segment first = *segment;
  if (x + 16 <= first.end)
    return colors_along (first, x - first.from + offsets);
  Segment second = *segment = segment_at (keyer, x + 8, y);
  float16 along = x - (float16)((float8)(first.from), (float8)(second.from)) + offsets;
  Colors colors = {OF_BOTH (color, s0) + OF_BOTH (slope, s0) * along,
      OF_BOTH (color, s1) + OF_BOTH (slope, s1) * along,
      OF_BOTH (color, s2) + OF_BOTH (slope, s2) * along};
  return colors;
}

INLINED int
line_of_frame (Place place, int y)
{
  return clamp (y, 0, place.height - 1);
}

/* Computes luma and distance of a row of the tile, with its margins. */
INLINED void
look_at_line (FRAME (const, input), Place place, Keyer keyer, int row, Tile *tile)
{
  int y = line_of_frame (place, place.y - place.reach + row);
  __global const uchar *line = LINE (input, y);
  int at = row * LINE_COLUMNS;
  Segment segment;
  segment.end = INT_MIN;
  for (int column = 0; column < place.columns + 2 * MARGIN; column += 16) {
    int x = place.x - MARGIN + column;
    Colors colors = colors_of_pixels (load_wide (line, x, place.width));
    float16 distance =
        distance_from_screen (colors, screen_along (keyer, &segment, x, y), keyer);
    vstore16 (luma_of (colors), 0, tile->luma + at + column);
    vstore16 (distance, 0, tile->distance + at + column);
  }
}

/* Sums the rows around row `row` of the tile, for each column. */
INLINED void
sum_columns (Place place, int row, Tile *tile)
{
  for (int column = 0; column < place.columns + 2 * MARGIN; column += 16) {
    int at = (row - RADIUS) * LINE_COLUMNS + column;
    Moments sum = {0, 0, 0, 0, 0};
    for (int k = 0; k < SIDE; k++, at += LINE_COLUMNS) {
      float16 luma = vload16 (0, tile->luma + at);
      float16 distance = vload16 (0, tile->distance + at);
      sum.luma += luma;
      sum.distance += distance;
      sum.luma_square += luma * luma;
      sum.product += luma * distance;
      sum.distance_square += distance * distance;
    }
    vstore16 (sum.luma, 0, tile->moments[0] + column);
    vstore16 (sum.distance, 0, tile->moments[1] + column);
    vstore16 (sum.luma_square, 0, tile->moments[2] + column);
    vstore16 (sum.product, 0, tile->moments[3] + column);
    vstore16 (sum.distance_square, 0, tile->moments[4] + column);
  }
}

INLINED float16
sum_around (const float *moments)
{
  float16 sum = vload16 (0, moments - RADIUS);
  for (int k = 1; k < SIDE; k++)
    sum += vload16 (0, moments - RADIUS + k);
  return sum;
}

/* `low` becomes the distance up to which pixels are transparent. */
INLINED float16
refined (const Tile *tile, int column, float16 luma, float16 distance, Keyer keyer,
    float16 *low)
{
  Moments sum = {sum_around (tile->moments[0] + column),
      sum_around (tile->moments[1] + column), sum_around (tile->moments[2] + column),
      sum_around (tile->moments[3] + column), sum_around (tile->moments[4] + column)};
  *low = limit_around (sum, keyer.similarity);
  return distance_on_line (sum, luma, distance);
}

INLINED void
write_line (FRAME (const, input), FRAME (, output), Place place, Keyer keyer, int row,
    bool with_refine, Tile *tile)
{
  int y = place.y + row;
  int at = (row + place.reach) * LINE_COLUMNS + MARGIN;
  for (int column = 0; column < place.columns; column += 16) {
    int x = place.x + column;
    float16 luma = vload16 (0, tile->luma + at + column);
    float16 distance = vload16 (0, tile->distance + at + column);
    float16 low = keyer.similarity;
    if (with_refine)
      distance = refined (tile, MARGIN + column, luma, distance, keyer, &low);
    store_wide (LINE (output, y), x, place.width,
        keyed (load_wide (LINE (input, y), x, place.width), distance, low, keyer));
  }
}

/* Distances are computed from `seen`: `input` or its denoised version. A work-group has
 * one work-item, which writes at most `most_rows` rows. */
__kernel void
key_cpu (FRAME (const, seen), FRAME (const, input), FRAME (, output), uint width,
    uint height, KEYER, uint with_refine, uint most_rows)
{
  Tile tile;
  Keyer keyer = THE_KEYER;
  Place place = {get_global_id (0) * TILE_COLUMNS, get_global_id (1) * most_rows, width,
      height, 0, 0, with_refine ? RADIUS : 0};
  place.columns = (min (place.width - place.x, TILE_COLUMNS) + 15) / 16 * 16;
  place.rows = min (place.height - place.y, (int)most_rows);

  for (int row = 0; row < place.rows + 2 * place.reach; row++)
    look_at_line (FRAME_ARGUMENTS (seen), place, keyer, row, &tile);
  for (int row = 0; row < place.rows; row++) {
    if (with_refine)
      sum_columns (place, row + place.reach, &tile);
    write_line (FRAME_ARGUMENTS (input), FRAME_ARGUMENTS (output), place, keyer, row,
        with_refine, &tile);
  }
}
