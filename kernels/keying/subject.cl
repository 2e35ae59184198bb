/* chromakey: edges by the colours of the subject beside them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A chroma key assumes that the subject is grey. So edges of skin, which has less green
 * than grey, get too much alpha, and those of greenish cloth too little. Here, the
 * subject's colours are measured where the key is opaque, in blocks of BLOCK by BLOCK
 * pixels, and spread to the blocks around. At each pixel they and the screen are the ends
 * of a line through the colours. The nearest place on it is another estimate of alpha (as
 * in Bayesian matting, Chuang 2001, with one colour each). The nearer the pixel is to the
 * line, the more this estimate counts.
 *
 * `keyed` is a frame with the matte in its alpha and colours as filmed.
 */
#define LANES 8
#include "screenline.clh"
#include "blockgrid.clh"

#define BLOCK 16
/* Middles of eight pixels */
#define MIDDLES ((float8)(0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f))

/* --- the colours of the subject --- */

/* Pixels count if they and those INSIDE pixels away are opaque: not the edge itself. Lanes of
 * neighbouring vectors give the pixels that are so far to the left and to the right. */
#define INSIDE 3
#define TO_THE_LEFT(before, here) (int8) (before.s567, here.s0123, here.s4)
#define TO_THE_RIGHT(here, after) (int8) (here.s3456, here.s7, after.s012)
#define OPAQUE (0.9f * LEVELS)

/* Alpha of eight pixels from x, a multiple of 8. Beyond the row its first or last pixel is
 * repeated. */
uint8
alphas_from (__global const uchar *line, int x, int width)
{
  if (x >= 0 && x + 8 <= width)
    return COMPONENT8 (load_pixels (line, x, width), ALPHA);
  uint each[8];
  for (int n = 0; n < 8; n++)
    each[n] = COMPONENT (load_pixel (line, clamp (x + n, 0, width - 1)), ALPHA);
  return vload8 (0, each);
}

int8
is_opaque (__global const uchar *line, int x, int width)
{
  return convert_float8 (alphas_from (line, x, width)) >= OPAQUE;
}

/* Kinds of blocks. Only those at an EDGE are compared. */
enum { EDGE, SCREEN, SOLID };

/* Sums the colours of a block's opaque pixels, in every second row, and their number. Each
 * work-item takes two rows. `kinds` gets what the pixels of the block are. */
#define PAIRS (BLOCK / 2)
__kernel __attribute__ ((reqd_work_group_size (PAIRS, 1, 1))) void
measure_subject (FRAME (const, keyed), uint width, uint height, __global float4 *measured,
    __global int *kinds)
{
  __local float4 sums[PAIRS];
  __local uint least[PAIRS], most[PAIRS];
  const uint pair = get_local_id (0);
  const uint block = get_group_id (1) * get_num_groups (0) + get_group_id (0);
  const int y = get_group_id (1) * BLOCK + 2 * pair, last = height - 1;
  float4 sum = 0;
  uint8 low = LEVELS, high = 0;
  for (int x = get_group_id (0) * BLOCK;
       x < min ((int)width, (int)(get_group_id (0) + 1) * BLOCK) && y <= last; x += 8) {
    __global const uchar *line = LINE (keyed, y);
    const uint8 alpha = alphas_from (line, x, width),
                next = alphas_from (LINE (keyed, min (y + 1, last)), x, width);
    low = min (low, min (alpha, next));
    high = max (high, max (alpha, next));
    if (all (convert_float8 (alpha) < OPAQUE))
      continue;
    const int8 here = is_opaque (line, x, width);
    const int8 is = here & is_opaque (LINE (keyed, max (y - INSIDE, 0)), x, width)
                    & is_opaque (LINE (keyed, min (y + INSIDE, last)), x, width)
                    & TO_THE_LEFT (is_opaque (line, x - 8, width), here)
                    & TO_THE_RIGHT (here, is_opaque (line, x + 8, width))
                    & (x + (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)(width));
    const float8 weight = select ((float8)(0), (float8)(1), is);
    const Colors colors = colors_of_pixels (load_pixels (line, x, width));
    sum +=
        (float4)(sum_of_lanes (colors.red * weight), sum_of_lanes (colors.green * weight),
            sum_of_lanes (colors.blue * weight), sum_of_lanes (weight));
  }
  sums[pair] = sum;
  const uint4 low4 = min (low.lo, low.hi), high4 = max (high.lo, high.hi);
  least[pair] = min (min (low4.x, low4.y), min (low4.z, low4.w));
  most[pair] = max (max (high4.x, high4.y), max (high4.z, high4.w));
  barrier (CLK_LOCAL_MEM_FENCE);
  if (pair > 0)
    return;
  for (uint n = 1; n < PAIRS; n++) {
    sum += sums[n];
    least[0] = min (least[0], least[n]);
    most[0] = max (most[0], most[n]);
  }
  measured[block] = sum;
  kinds[block] = most[0] == 0 ? SCREEN : least[0] == LEVELS ? SOLID : EDGE;
}

/* Weights where no opaque pixel is near */
__constant float far_weights[FARTHEST + 1] = {0.001f, 0.000969233f, 0.000882496903f,
    0.000754839602f, 0.00060653066f, 0.000457833362f, 0.000324652467f, 0.000216265167f,
    0.000135335283f};

__kernel void
spread_across (
    __global const float4 *measured, int columns, int rows, __global float4 *across)
{
  const int column = get_global_id (0), row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;
  spread_along_row (measured, columns, column, row, far_weights, across);
}

/* Returns EDGE for blocks beside edges, too. */
int
kind_of (__global const int *kinds, int columns, int rows, int column, int row)
{
  const int kind = kinds[row * columns + column];
  for (int y = max (row - 1, 0); y <= min (row + 1, rows - 1); y++)
    for (int x = max (column - 1, 0); x <= min (column + 1, columns - 1); x++)
      if (kinds[y * columns + x] != kind)
        return EDGE;
  return kind;
}

typedef struct {
  float4 color; /* and 1, or 0 where no subject is near */
  int kind;
  float solid; /* 1 if the key is opaque in all of the block, else 0 */
} Block;

__kernel void
spread_down (__global const float4 *across, __global const int *kinds, int columns,
    int rows, __global Block *blocks)
{
  const int column = get_global_id (0), row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;
  const float4 sum =
      spread_along_column (0, across, columns, rows, column, row, far_weights);
  __global Block *block = blocks + row * columns + column;
  block->color = sum.w > 1e-6f ? sum / sum.w : (float4)(0);
  block->kind = kind_of (kinds, columns, rows, column, row);
  block->solid = kinds[row * columns + column] == SOLID ? 1 : 0;
}

/* --- the comparison --- */

typedef struct {
  __global const Block *blocks;
  int columns, rows;
} Subject;

/* Colours of the subject along eight pixels, from x on. `known`: 1 where there are some, 0
 * far from the subject. `counts`: weight of the comparison, which falls from 1 to 0 between
 * the edge of opaque blocks and the middle of them, so that blocks cannot be seen */
INLINED Colors
subject_along (Subject subject, int x, int y, float8 *known, float8 *counts)
{
  const float part = 1.0f / BLOCK;
  const int left = (x + BLOCK / 2) / BLOCK - 1, above = (y + BLOCK / 2) / BLOCK - 1;
  const float down = (y + 0.5f) * part - 0.5f - above;
  const int columns[2] = {max (left, 0), min (left + 1, subject.columns - 1)};
  float4 ends[2];
  float solid[2];
  for (int n = 0; n < 2; n++) {
    __global const Block *first =
        subject.blocks + max (above, 0) * subject.columns + columns[n];
    __global const Block *second =
        subject.blocks + min (above + 1, subject.rows - 1) * subject.columns + columns[n];
    ends[n] = mix (first->color, second->color, down);
    solid[n] = mix (first->solid, second->solid, down);
  }
  const float8 along = (x - (left + 0.5f) * BLOCK + MIDDLES) * part;
  const float4 slope = ends[1] - ends[0];
  *counts = clamp (3 - 3 * (solid[0] + (solid[1] - solid[0]) * along), 0.0f, 1.0f);
  *known = ends[0].w + slope.w * along;
  const float8 each = 1 / max (*known, 0.01f);
  const Colors colors = {(ends[0].x + slope.x * along) * each,
      (ends[0].y + slope.y * along) * each, (ends[0].z + slope.z * along) * each};
  *known = select ((float8)(0), (float8)(1), *known > 0.01f);
  return colors;
}

INLINED Colors
difference_of (Colors a, Colors b)
{
  Colors difference = {a.red - b.red, a.green - b.green, a.blue - b.blue};
  return difference;
}

INLINED Floats
product_of (Colors a, Colors b)
{
  return a.red * b.red + a.green * b.green + a.blue * b.blue;
}

/* Squares of distances between colours: of a pixel from the line at which the comparison
 * counts half, and of the subject from the screen */
#define NEAR_LINE (3 * 22 * 22.0f)
#define FAR_ENDS (3 * 22 * 22.0f)
/* Largest weight of the comparison. Less than BLACK and more than 1 - WHITE is noise. */
#define MOST 0.9f
#define BLACK 0.03f
#define WHITE 0.98f

/* Alpha by the key and by the comparison */
INLINED Floats
compared (Floats matte, Colors colors, Colors screen, Colors subject, Floats known)
{
  const Colors line = difference_of (subject, screen),
               seen = difference_of (colors, screen);
  const Floats length = product_of (line, line);
  const Floats place =
      clamp (product_of (seen, line) * RECIPROCAL (max (length, 1.0f)), 0.0f, 1.0f);
  const Floats beside = max (
      product_of (seen, seen) + place * (place * length - 2 * product_of (seen, line)),
      0.0f);
  const Floats weight = known * MOST * NEAR_LINE * RECIPROCAL (NEAR_LINE + beside)
                        * length * RECIPROCAL (length + FAR_ENDS);
  const Floats alpha =
      clamp ((mix (matte, place, weight) - BLACK) * (1 / (WHITE - BLACK)), 0.0f, 1.0f);
  return mix (matte, alpha, known);
}

/* Weight of the subject's colours, relative to that of the pixel, where little of the subject
 * is in the pixel */
#define PRIOR 0.1f

/* The colour that gives the pixel together with the screen, and is near the subject's: the
 * minimum of |alpha F + (1 - alpha) screen - pixel|^2 + PRIOR (1 - alpha) |F - subject|^2 */
INLINED Colors
color_before_screen (Colors colors, Colors screen, Colors subject, Floats alpha)
{
  const Floats gain = alpha * RECIPROCAL (alpha * alpha + PRIOR * (1 - alpha) + 1e-6f);
#define ONE(of)                                                                          \
  clamp (subject.of + gain * (colors.of - alpha * subject.of - (1 - alpha) * screen.of), \
      0.0f, 255.0f)
  const Colors result = {ONE (red), ONE (green), ONE (blue)};
  return result;
}

INLINED Colors
mix_of (Colors a, Colors b, Floats share)
{
  const Colors result = {mix (a.red, b.red, share), mix (a.green, b.green, share),
      mix (a.blue, b.blue, share)};
  return result;
}

INLINED Colors
screen_of_eight (Keyer keyer, int x, int y)
{
  if (keyer.plate_stride > 0)
    return colors_of_pixels (
        load_pixels (PLATE_LINE (keyer, y), x, keyer.plate_stride / PIXEL_BYTES));
  const Segment segment = segment_at (keyer, x, y);
  return colors_along (segment, x - segment.from + MIDDLES);
}

/* Replaces alpha and colours of `keyed`, which was made from `input` without spill
 * suppression, opacity and inversion. Alpha is compared in `seen`: `input` or its denoised
 * version. Eight pixels per work-item */
__kernel void
compare_with_subject (FRAME (const, seen), FRAME (const, input), FRAME (, keyed),
    uint width, uint height, KEYER, __global const Block *blocks, int subject_columns,
    int subject_rows)
{
  const uint x = 8 * get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  const Keyer keyer = THE_KEYER;
  const Subject subject = {blocks, subject_columns, subject_rows};
  const int kind = blocks[y / BLOCK * subject_columns + x / BLOCK].kind;
  const bool is_screen = kind == SCREEN && !keyer.inverted;
  if (is_screen && keyer.shadow == 0)
    return;
  const Pixel8 before = load_pixels (LINE (input, y), x, width);
  const Floats opaque = TO_FLOATS (LEVELS_OF (before, ALPHA));
  const Colors colors = colors_of_pixels (before);
  const Colors looked = colors_of_pixels (load_pixels (LINE (seen, y), x, width));
  const Screen behind = screen_behind (colors, screen_of_eight (keyer, x, y), keyer);
  const bool despills = keyer.spill.strength > 0;
  Colors result = colors;
  Floats matte = is_screen ? 0.0f : 1.0f;
  if (kind == SOLID && !keyer.inverted) {
    if (despills)
      result = without_hue (colors, behind, keyer.spill);
  } else if (!is_screen) {
    Floats known, counts;
    const Colors beside = subject_along (subject, x, y, &known, &counts);
    const Floats keyed_alpha =
        TO_FLOATS (LEVELS_OF (load_pixels (LINE (keyed, y), x, width), ALPHA))
        * RECIPROCAL (max (opaque, 1.0f));
    matte = mix (
        keyed_alpha, compared (keyed_alpha, looked, behind.color, beside, known), counts);
    if (despills) {
      const Colors alone = without_hue (
          mix_of (colors, color_before_screen (colors, behind.color, beside, matte),
              keyer.spill.strength),
          behind, keyer.spill);
      const Colors plain =
          despilled (colors, behind, matte, keyer.by_excess ? 0 : 1, keyer.spill);
      result = mix_of (plain, alone, known);
    }
  }
  const Pixel8 pixels = despills ? with_colors (before, result) : before;
  store_pixels (LINE (keyed, y), x, width,
      with_matte (pixels, result, matte, luma_of (looked), behind.color, keyer));
}
