/* chromakey: soft methods on a GPU
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A work-group writes a tile of TILE_COLUMNS by TILE_ROWS pixels. With REFINE it first
 * stores lumas and distances in local memory. Then each work-item processes ITEM_ROWS rows of
 * four columns, with moving sums in registers. So the input is read little more than once, and
 * the output is written once.
 *
 * Built for one combination of
 *   REFINE: 1 with edge refinement
 *   PLATE_IMAGE: 1 if the plate is an image
 *   TILE_COLUMNS: a multiple of 32; TILE_ROWS: a multiple of ITEM_ROWS
 */
#define LANES 4
#include "screenline.clh"

#define MARGIN 8 /* columns read on each side */
#define LOOKED_EIGHTS ((TILE_COLUMNS + 2 * MARGIN) / 8)

/* Rows of lumas and distances, four columns per vector. The tile's first columns are at
 * 1. */
#define EDGE_ROWS (TILE_ROWS + 2 * RADIUS)
#define EDGE_FOURS (TILE_COLUMNS / 4 + 2)

/* Returns the screen colour of four columns from x, a multiple of four. Columns beyond
 * the row have any value. */
INLINED Colors
screen_of_four (Keyer keyer, Segment segment, int x, int y)
{
  if (PLATE_IMAGE)
    return colors_of_pixels (((__global const Pixel4 *)PLATE_LINE (
        keyer, y))[clamp (x / 4, 0, (int)keyer.plate_stride / (4 * PIXEL_BYTES) - 1)]);
  return colors_along (segment, x - segment.from + (float4)(0.5f, 1.5f, 2.5f, 3.5f));
}

/* Loads eight pixels from x, a multiple of eight. Beyond the row its first or last pixel
 * is repeated. */
Pixel8
load_eight (__global const uchar *line, int x, int width)
{
  return x >= 0 && x < width ? load_pixels (line, x, width)
                             : (Pixel8)(load_pixel (line, x < 0 ? 0 : width - 1));
}

/* Stores lumas and distances of eight pixels. Of the first and last eight in a row only
 * one half is stored. */
INLINED void
keep_edges (const Colors *colors, const float4 *distance, uint eight,
    __local float4 *lumas, __local float4 *distances)
{
  if (eight > 0) {
    lumas[2 * eight - 1] = luma_of (colors[0]);
    distances[2 * eight - 1] = distance[0];
  }
  if (eight < LOOKED_EIGHTS - 1) {
    lumas[2 * eight] = luma_of (colors[1]);
    distances[2 * eight] = distance[1];
  }
}

INLINED void
look_at_eight (Pixel8 pixels, Keyer keyer, Segment segment, int x, int y, uint eight,
    __local float4 *lumas, __local float4 *distances)
{
  Colors colors[2] = {colors_of_pixels (pixels.lo), colors_of_pixels (pixels.hi)};
  float4 distance[2] = {
      distance_from_screen (colors[0], screen_of_four (keyer, segment, x, y), keyer),
      distance_from_screen (colors[1], screen_of_four (keyer, segment, x + 4, y), keyer)};
  keep_edges (colors, distance, eight, lumas, distances);
}

/* Reads the tile and its margin. Beyond the frame its edge pixels are repeated. Each
 * work-item processes eight columns from top to bottom. */
INLINED void
look_at_tile (FRAME (const, seen), int width, int height, int x0, int y0, Keyer keyer,
    __local float4 *lumas, __local float4 *distances)
{
  const uint item = get_local_id (0);
  const uint eights = min ((uint)get_local_size (0), (uint)LOOKED_EIGHTS);
  const uint lines = get_local_size (0) / eights;
  if (item >= eights * lines)
    return;
  for (uint eight = item % eights; eight < LOOKED_EIGHTS; eight += eights) {
    int x = x0 - MARGIN + 8 * (int)eight;
    Strip strip;
    strip.end = INT_MIN;
    for (uint row = item / eights; row < EDGE_ROWS; row += lines) {
      int y = clamp (y0 - RADIUS + (int)row, 0, height - 1);
      if (y >= strip.end)
        strip = strip_at (keyer, x, y);
      look_at_eight (load_eight (LINE (seen, y), x, width), keyer,
          line_of_strip (strip, y), x, y, eight, lumas + row * EDGE_FOURS,
          distances + row * EDGE_FOURS);
    }
  }
}

/* Sums SIDE values around each of the four in the middle. */
INLINED float4
sum_of_side (float4 before, float4 middle, float4 after)
{
  float all = middle.s0 + middle.s1 + (middle.s2 + middle.s3);
  float near_before = before.s2 + before.s3, near_after = after.s0 + after.s1;
  return all
         + (float4)(before.s1 + near_before, near_before + after.s0,
             before.s3 + near_after, near_after + after.s2);
}

/* Adds a row to the sums and removes the row that leaves the window, if any. */
INLINED void
add_line (Moments *sum, __local const float4 *lumas, __local const float4 *distances,
    int left_out)
{
  float4 luma[3], distance[3], luma_square[3], product[3], distance_square[3];
  for (int n = 0; n < 3; n++) {
    float4 l = lumas[n - 1], d = distances[n - 1];
    float4 old_l = 0, old_d = 0;
    if (left_out) {
      old_l = lumas[n - 1 - left_out];
      old_d = distances[n - 1 - left_out];
    }
    luma[n] = l - old_l;
    distance[n] = d - old_d;
    luma_square[n] = l * l - old_l * old_l;
    product[n] = l * d - old_l * old_d;
    distance_square[n] = d * d - old_d * old_d;
  }
  sum->luma += sum_of_side (luma[0], luma[1], luma[2]);
  sum->distance += sum_of_side (distance[0], distance[1], distance[2]);
  sum->luma_square += sum_of_side (luma_square[0], luma_square[1], luma_square[2]);
  sum->product += sum_of_side (product[0], product[1], product[2]);
  sum->distance_square +=
      sum_of_side (distance_square[0], distance_square[1], distance_square[2]);
}

/* Moving sums over the rows around a row, updated from row to row */
typedef struct {
  __local const float4 *lumas, *distances; /* of the first row of the window */
  Moments moments;
} Around;

INLINED Around
around_first (__local const float4 *lumas, __local const float4 *distances, uint at)
{
  Around around = {lumas + at, distances + at, {0, 0, 0, 0, 0}};
  for (uint n = 0; n < SIDE; n++)
    add_line (&around.moments, around.lumas + n * EDGE_FOURS,
        around.distances + n * EDGE_FOURS, 0);
  return around;
}

INLINED void
go_down (Around *around)
{
  add_line (&around->moments, around->lumas + SIDE * EDGE_FOURS,
      around->distances + SIDE * EDGE_FOURS, SIDE * EDGE_FOURS);
  around->lumas += EDGE_FOURS;
  around->distances += EDGE_FOURS;
}

/* Returns the distances of four pixels. `low` becomes the distance up to which they are
 * transparent. */
INLINED float4
refined (const Around *around, float similarity, float4 *low)
{
  *low = limit_around (around->moments, similarity);
  return distance_on_line (around->moments, around->lumas[RADIUS * EDGE_FOURS],
      around->distances[RADIUS * EDGE_FOURS]);
}

/* Keys the tile, with REFINE from the rows in local memory. */
INLINED void
key_tile (FRAME (const, seen), FRAME (const, input), FRAME (, output), uint width,
    uint height, uint x0, uint y0, Keyer keyer, __local const float4 *lumas,
    __local const float4 *distances)
{
  for (uint n = get_local_id (0); n < TILE_COLUMNS / 4 * (TILE_ROWS / ITEM_ROWS);
       n += get_local_size (0)) {
    uint four = n % (TILE_COLUMNS / 4);
    uint row = n / (TILE_COLUMNS / 4) * ITEM_ROWS;
    uint x = x0 + 4 * four, y = y0 + row, end = min (y + ITEM_ROWS, height);
    if (x >= width)
      continue;
    Around around;
    if (REFINE)
      around = around_first (lumas, distances, row * EDGE_FOURS + 1 + four);
    Strip strip;
    strip.end = INT_MIN;
#pragma unroll 1
    while (y < end) {
      float4 distance, low = keyer.similarity;
      if (REFINE) {
        distance = refined (&around, keyer.similarity, &low);
      } else {
        if ((int)y >= strip.end)
          strip = strip_at (keyer, x, y);
        distance =
            distance_from_screen (colors_of_pixels (load_four (LINE (seen, y), x, width)),
                screen_of_four (keyer, line_of_strip (strip, y), x, y), keyer);
      }
      store_four (LINE (output, y), x, width,
          keyed (load_four (LINE (input, y), x, width), distance, low, keyer));
      if (++y < end && REFINE)
        go_down (&around);
    }
  }
}

/* The most common settings as constants, so that the compiler drops the other branches */
#define MAIN_COMPONENT 1
#define CAN_SPECIALISE(keyer) ((keyer).by_excess && (keyer).component == MAIN_COMPONENT)

INLINED Keyer
specialised (Keyer keyer)
{
  keyer.by_excess = 1;
  keyer.component = MAIN_COMPONENT;
  return keyer;
}

/* Distances are computed from `seen`: `input` or its denoised version. */
__kernel void
key_gpu (FRAME (const, seen), FRAME (const, input), FRAME (, output), uint width,
    uint height, KEYER)
{
  __local float4 lumas[REFINE ? EDGE_ROWS * EDGE_FOURS : 1];
  __local float4 distances[REFINE ? EDGE_ROWS * EDGE_FOURS : 1];
  Keyer keyer = THE_KEYER;
  uint x0 = get_group_id (0) * TILE_COLUMNS;
  uint y0 = get_group_id (1) * TILE_ROWS;
  if (REFINE) {
    if (CAN_SPECIALISE (keyer))
      look_at_tile (FRAME_ARGUMENTS (seen), width, height, x0, y0, specialised (keyer),
          lumas, distances);
    else
      look_at_tile (
          FRAME_ARGUMENTS (seen), width, height, x0, y0, keyer, lumas, distances);
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  if (!REFINE && CAN_SPECIALISE (keyer))
    key_tile (FRAME_ARGUMENTS (seen), FRAME_ARGUMENTS (input), FRAME_ARGUMENTS (output),
        width, height, x0, y0, specialised (keyer), lumas, distances);
  else
    key_tile (FRAME_ARGUMENTS (seen), FRAME_ARGUMENTS (input), FRAME_ARGUMENTS (output),
        width, height, x0, y0, keyer, lumas, distances);
}
