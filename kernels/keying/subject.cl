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
 * `keyed` is a frame with the matte in its alpha and colours as filmed. `balance` of KEYER
 * is that of the inside of the subject.
 */
#define LANES 8
#include "screenline.clh"
#include "blockgrid.clh"

#define BLOCK 8
#define FIRST_LANES ((int8)(0, 1, 2, 3, 4, 5, 6, 7))

/* --- the colours of the subject --- */

/* Least alpha of pixels that show the subject alone */
#define OPAQUE (0.97f * LEVELS)

/* Kinds of blocks. Only those at an EDGE are compared. */
enum { EDGE, SCREEN, SOLID };

/* Mean and largest alpha that are noise in a block of the screen */
#define NOISE_MEAN 0.004f
#define NOISE_PEAK 0.3f

/* The inside of a subject is opaque (core): blocks whose pixels all have a distance of
 * more than CLOSED, and fully from CLOSED_FULL on. Clothes near the screen's colour have
 * less: they are held where is_held (). */
#define CLOSED 0.6f
#define CLOSED_FULL 0.75f
#define HELD 0.38f
#define HELD_FULL 0.45f

/* But glass, smoke and veils are not closed. They are smooth, and partly clear: alpha
 * between CLEAR and VEILED that changes by less than SMOOTH over two pixels. */
#define CLEAR 0.1f
#define VEILED 0.5f
#define SMOOTH 0.08f
/* Shares of such pixels around from which on less is closed, and nothing */
#define FEW 0.03f
#define MANY 0.1f

typedef struct {
  float4 all; /* sum of the colours of all pixels, and their number, of an EDGE */
  int kind;
  float distance;    /* the least of its pixels; 1 if SOLID, 0 without core */
  float transparent; /* share of smooth, partly clear pixels */
  float core;        /* closed, and not at an edge */
} Kind;

INLINED Colors
screen_of_eight (Keyer keyer, int x, int y)
{
  const Floats middles = (Floats)(0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f);
  if (keyer.plate_stride > 0)
    return colors_of_pixels (
        load_pixels (PLATE_LINE (keyer, y), x, keyer.plate_stride / PIXEL_BYTES));
  const Segment segment = segment_at (keyer, x, y);
  return colors_along (segment, x - segment.from + middles);
}

float
least_of_lanes (float8 values)
{
  const float4 four = min (values.lo, values.hi);
  return min (min (four.x, four.y), min (four.z, four.w));
}

/* Returns 1 for lanes whose neighbours differ little: the inner six, of the middle row */
INLINED float8
is_smooth (float8 above, float8 row, float8 below)
{
  const float8 across = fabs (row.s12345677 - row.s00123456), down = fabs (below - above);
  const float8 margin =
      min (min (row - CLEAR, VEILED - row), SMOOTH - max (across, down));
  const float8 inner = (float8)(0, 1, 1, 1, 1, 1, 1, 0);
  return select ((float8)(0), inner, margin > 0);
}

INLINED float4
sum_of_colors (Colors colors, Floats weights)
{
  return (float4)(sum_of_lanes (colors.red * weights),
      sum_of_lanes (colors.green * weights), sum_of_lanes (colors.blue * weights),
      sum_of_lanes (weights));
}

/* Measures the colours and the least distance from the screen of all pixels. */
INLINED void
measure_all (FRAME (const, seen), int x, int y, int end, int width, Floats inside,
    Keyer keyer, Kind *kind)
{
  Floats least = 1;
  kind->all = 0;
  for (; y < end; y++) {
    const Colors colors = colors_of_pixels (load_pixels (LINE (seen, y), x, width));
    kind->all += sum_of_colors (colors, inside);
    least =
        min (least, distance_from_screen (colors, screen_of_eight (keyer, x, y), keyer));
  }
  kind->distance = least_of_lanes (max (least, 1 - inside));
}

/* Sums the colours of a block's opaque pixels, and their number. `kinds` gets what the
 * pixels are. A work-item takes a block. */
__kernel void
measure_subject (FRAME (const, seen), FRAME (const, input), FRAME (const, keyed),
    uint width, uint height, KEYER, uint with_core, int subject_columns, int subject_rows,
    __global float4 *measured, __global Kind *kinds)
{
  const int column = get_global_id (0), row = get_global_id (1);
  if (column >= subject_columns || row >= subject_rows)
    return;
  const int x = column * BLOCK, y = row * BLOCK, end = min (y + BLOCK, (int)height);
  const Floats inside =
      select ((Floats)(0), (Floats)(1), x + FIRST_LANES < (int8)((int)width));
  float4 sum = 0;
  Floats low = 1, high = 0, total = 0, smooth = 0, above = 1, here = 1;
  for (int n = y; n < end; n++) {
    const Pixel8 pixels = load_pixels (LINE (keyed, n), x, width);
    const Floats levels = TO_FLOATS (LEVELS_OF (pixels, ALPHA));
    const Floats alpha = levels * (1.0f / LEVELS);
    low = min (low, alpha);
    high = max (high, alpha);
    total += alpha * inside;
    /* Without a condition, with which LLVM 18 of PoCL 6 fails. Rows before are opaque. */
    smooth += is_smooth (above, here, alpha);
    above = here;
    here = alpha;
    if (any (levels >= OPAQUE))
      sum += sum_of_colors (
          colors_of_pixels (pixels), levels >= OPAQUE ? inside : (Floats)(0));
  }
  const bool is_solid = all (low == 1.0f),
             is_screen = all (high < NOISE_PEAK)
                         && sum_of_lanes (total)
                                <= NOISE_MEAN * (end - y) * sum_of_lanes (inside);
  Kind kind = {0,
      is_screen  ? SCREEN
      : is_solid ? SOLID
                 : EDGE,
      is_solid ? 1 : 0, sum_of_lanes (smooth) * (1.0f / ((BLOCK - 2) * (BLOCK - 2)))};
  if (with_core && kind.kind == EDGE)
    measure_all (FRAME_ARGUMENTS (seen), x, y, end, width, inside, THE_KEYER, &kind);
  measured[row * subject_columns + column] = sum;
  kinds[row * subject_columns + column] = kind;
}

/* Weights where no opaque pixel is near */
__constant float far_weights[FARTHEST + 1] = {0.001f, 0.000969233f, 0.000882496903f,
    0.000754839602f, 0.00060653066f, 0.000457833362f, 0.000324652467f, 0.000216265167f,
    0.000135335283f};

/* Returns the least distance of a block and those beside it. */
INLINED float
distance_around (__global const Kind *kinds, int columns, int rows, int column, int row)
{
  float least = 1;
  for (int y = max (row - 1, 0); y <= min (row + 1, rows - 1); y++)
    for (int x = max (column - 1, 0); x <= min (column + 1, columns - 1); x++)
      least = min (least, kinds[y * columns + x].distance);
  return least;
}

/* Returns the kind of block where a way ends that leads over blocks which are near enough to
 * be held: EDGE if it comes to the end of `count` blocks, `step` apart. */
INLINED int
end_of_way (__global const Kind *block, int count, int step)
{
  for (; count > 0; count--, block += step)
    if (block->distance <= HELD || block->kind == SOLID)
      return block->kind == SOLID ? SOLID : SCREEN;
  return EDGE;
}

/* Returns whether a block is part of clothes that touch the frame's lower edge, with nothing
 * opaque in between, or that the subject encloses. A scarf before the screen is not. */
INLINED bool
is_held (__global const Kind *here, int columns, int rows, int column, int row)
{
  const int below = end_of_way (here, rows - row, columns);
  return below == EDGE
         || (below == SOLID && end_of_way (here, row + 1, -columns) == SOLID
             && end_of_way (here, column + 1, -1) == SOLID
             && end_of_way (here, columns - column, 1) == SOLID);
}

INLINED float
core_of (__global const Kind *kinds, int columns, int rows, int column, int row)
{
  const float distance = distance_around (kinds, columns, rows, column, row);
  const bool holds =
      distance > HELD && distance < CLOSED_FULL
      && is_held (kinds + row * columns + column, columns, rows, column, row);
  const float from = holds ? HELD : CLOSED, full = holds ? HELD_FULL : CLOSED_FULL;
  return clamp ((distance - from) / (full - from), 0.0f, 1.0f);
}

/* Makes the core of closed blocks, without those at an edge, and where no smooth, partly
 * clear pixels are near. Its blocks are the subject with all of their pixels. */
__kernel void
make_core (__global float4 *measured, __global Kind *kinds, int columns, int rows)
{
  const int column = get_global_id (0), row = get_global_id (1);
  if (column >= columns || row >= rows)
    return;
  __global Kind *kind = kinds + row * columns + column;
  float core = kind->distance > HELD ? core_of (kinds, columns, rows, column, row) : 0;
  if (kind->kind == EDGE && core > 0) {
    float sum = 0, weights = 0;
    for (int y = max (row - FARTHEST, 0); y <= min (row + FARTHEST, rows - 1); y++)
      for (int x = max (column - FARTHEST, 0); x <= min (column + FARTHEST, columns - 1);
           x++) {
        const float weight = far_weights[abs (x - column)] * far_weights[abs (y - row)];
        sum += weight * kinds[y * columns + x].transparent;
        weights += weight;
      }
    core *= clamp ((MANY - sum / weights) * (1 / (MANY - FEW)), 0.0f, 1.0f);
    if (core == 1)
      measured[row * columns + column] = kind->all;
  }
  kind->core = core;
}

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
kind_of (__global const Kind *kinds, int columns, int rows, int column, int row)
{
  const int kind = kinds[row * columns + column].kind;
  for (int y = max (row - 1, 0); y <= min (row + 1, rows - 1); y++)
    for (int x = max (column - 1, 0); x <= min (column + 1, columns - 1); x++)
      if (kinds[y * columns + x].kind != kind)
        return EDGE;
  return kind;
}

typedef struct {
  float4 color; /* and 1, or 0 where no subject is near */
  int kind;
  float closed; /* 1 if all of the block is opaque, to 0 */
} Block;

__kernel void
spread_down (__global const float4 *across, __global const Kind *kinds, int columns,
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
  block->closed = kinds[row * columns + column].core;
}

/* --- the comparison --- */

typedef struct {
  __global const Block *blocks;
  int columns, rows;
} Subject;

/* Colours of the subject along eight pixels, from x on. `known`: 1 where there are some, 0
 * far from the subject. `closed`: how far the pixels are inside it */
INLINED Colors
subject_along (Subject subject, int x, int y, Floats *known, Floats *closed)
{
  const float part = 1.0f / BLOCK;
  const int left = (x + BLOCK / 2) / BLOCK - 1, above = (y + BLOCK / 2) / BLOCK - 1;
  const float down = (y + 0.5f) * part - 0.5f - above;
  float4 colors[3];
  float inside[3];
  for (int n = 0; n < 3; n++) {
    const int column = clamp (left + n, 0, subject.columns - 1);
    __global const Block *first =
        subject.blocks + max (above, 0) * subject.columns + column;
    __global const Block *second =
        subject.blocks + min (above + 1, subject.rows - 1) * subject.columns + column;
    colors[n] = mix (first->color, second->color, down);
    inside[n] = mix (first->closed, second->closed, down);
  }
  /* The middle of a block is between its fourth and its fifth pixel. */
  const Floats along = (Floats)(9, 11, 13, 15, 1, 3, 5, 7) * (1.0f / (2 * BLOCK));
#define BETWEEN(of)                                                                      \
  ((Floats)((float4)(of (0)), (float4)(of (1)))                                          \
      + along * (Floats)((float4)(of (1) - of (0)), (float4)(of (2) - of (1))))
#define RED_OF(n) colors[n].x
#define GREEN_OF(n) colors[n].y
#define BLUE_OF(n) colors[n].z
#define KNOWN_OF(n) colors[n].w
#define INSIDE_OF(n) inside[n]
  *closed = BETWEEN (INSIDE_OF);
  *known = BETWEEN (KNOWN_OF);
  const Floats each = 1 / max (*known, 0.01f);
  const Colors result = {
      BETWEEN (RED_OF) * each, BETWEEN (GREEN_OF) * each, BETWEEN (BLUE_OF) * each};
  *known = select ((Floats)(0), (Floats)(1), *known > 0.01f);
  return result;
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

/* Distance from the line, relative to its length, up to which the comparison counts */
#define NEAR_LINE 0.4f
/* Square of the length of a line that is too short to compare with */
#define NO_LINE 6.0f
#define LITTLE 0.03f

/* Alpha by the key and by the comparison */
INLINED Floats
compared (Floats matte, Colors colors, Colors screen, Colors subject, Floats known)
{
  const Colors line = difference_of (subject, screen),
               seen = difference_of (colors, screen);
  const Floats length = max (product_of (line, line), NO_LINE),
               along = product_of (seen, line);
  const Floats place = clamp (along * RECIPROCAL (length), 0.0f, 1.0f);
  const Floats beside = product_of (seen, seen) + place * (place * length - 2 * along);
  const Floats near =
      max (1 - beside * RECIPROCAL (NEAR_LINE * NEAR_LINE * length), 0.0f);
  /* Where the key has found nothing, little on the line is noise. */
  const Floats found =
      matte > 0 ? (Floats)(1) : clamp ((place - LITTLE) * (1 / LITTLE), 0.0f, 1.0f);
  return mix (matte, place * found, known * near * near * near * near);
}

/* Weight of the subject's colour, relative to that of the pixel, where little of the subject
 * is in the pixel */
#define PRIOR 0.003f

/* The colour that gives the pixel together with the screen: screen subtraction. Where alpha
 * is near 0 it is that of the subject: the minimum of
 * |alpha F + (1 - alpha) screen - pixel|^2 + PRIOR (1 - alpha) |F - subject|^2 */
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

#if EXTRAS
/* Shadows on the screen. Where a pixel is darker than the plate, black is put behind the
 * subject, so that alpha is at least the missing part of the luma. Up to SHADOW_NOISE of
 * the plate's luma nothing is missing, and from twice of it on all counts. */
#define SHADOW_NOISE 0.05f

INLINED Floats
shadow_of (Floats luma, Colors screen, float strength)
{
  const Floats missing = 1 - luma / max (luma_of (screen), 1.0f);
  return strength * clamp (missing, 0.0f, 1.0f)
         * clamp (missing / SHADOW_NOISE - 1, 0.0f, 1.0f);
}
#endif

/* Returns the pixels with `matte` as alpha, and with the shadow behind. `colors`: of the
 * pixels. `luma`: of the pixels as filmed, in which shadows are looked for */
INLINED Packed
with_matte (Packed pixels, Colors colors, Floats matte, Floats luma, Colors screen,
    uint inverted, float opacity, float shadow)
{
  const Floats before = TO_FLOATS (LEVELS_OF (pixels, ALPHA));
  if (inverted)
    matte = 1 - matte;
#if EXTRAS
  if (shadow > 0 && !inverted) {
    const Floats covered = matte;
    matte = max (matte, shadow_of (luma, screen, shadow));
    const Floats part = matte > covered ? covered / matte : (Floats)(1);
    colors.red *= part;
    colors.green *= part;
    colors.blue *= part;
    pixels = with_colors (pixels, colors);
  }
#endif
  Floats alpha = before * (1.0f / SCALE) * matte * opacity;
  return (pixels & ~ALPHA_MASK) | level (alpha) << ALPHA;
}

/* Replaces alpha and colours of `keyed`, which was made from `input`. Alpha is
 * compared in `seen`: `input` or its denoised version. Eight pixels per work-item */
__kernel void
compare_with_subject (FRAME (const, seen), FRAME (const, input), FRAME (, keyed),
    uint width, uint height, KEYER, uint inverted, float opacity, float strength,
    uint method, float spill_balance, float shadow, __global const Block *blocks,
    int subject_columns, int subject_rows)
{
  const uint x = 8 * get_global_id (0), y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  const Keyer keyer = THE_KEYER;
  const Spill spill = spill_of (strength, method, spill_balance);
  const Subject subject = {blocks, subject_columns, subject_rows};
  const int kind = blocks[y / BLOCK * subject_columns + x / BLOCK].kind;
  const bool is_screen = kind == SCREEN && !inverted;
  if (is_screen && (!EXTRAS || shadow == 0)) {
    const Pixel8 keyed_pixels = load_pixels (LINE (keyed, y), x, width);
    if (any (LEVELS_OF (keyed_pixels, ALPHA) != 0))
      store_pixels (LINE (keyed, y), x, width, keyed_pixels & (Pixel8)(~ALPHA_MASK));
    return;
  }
  const Pixel8 before = load_pixels (LINE (input, y), x, width);
  const Floats opaque = TO_FLOATS (LEVELS_OF (before, ALPHA));
  const Colors colors = colors_of_pixels (before);
  const Colors looked =
      seen == input ? colors : colors_of_pixels (load_pixels (LINE (seen, y), x, width));
  const Screen behind = screen_behind (colors, screen_of_eight (keyer, x, y), keyer);
  const bool despills = strength > 0;
  Colors result = colors;
  Floats matte = is_screen ? 0.0f : 1.0f;
  if (kind == SOLID && !inverted) {
    if (despills)
      result = without_spill (colors, behind, spill);
  } else if (!is_screen) {
    Floats known, closed;
    const Colors beside = subject_along (subject, x, y, &known, &closed);
    matte = TO_FLOATS (LEVELS_OF (load_pixels (LINE (keyed, y), x, width), ALPHA))
            * RECIPROCAL (max (opaque, 1.0f));
    matte = max (compared (matte, looked, behind.color, beside, known), closed);
    if (despills) {
      const Colors alone = without_spill (colors, behind, spill);
      result = color_before_screen (
          colors, behind.color, mix_of (alone, beside, known), matte);
      result = without_spill (mix_of (colors, result, strength), behind, spill);
    }
  }
  const Colors change = difference_of (result, colors);
  const bool changes = any ((change.red != 0) | (change.green != 0) | (change.blue != 0));
  const Pixel8 pixels = changes ? with_colors (before, result) : before;
  store_pixels (LINE (keyed, y), x, width,
      with_matte (pixels, result, matte, luma_of (looked), behind.color, inverted,
          opacity, shadow));
}

#if LINEAR
/* --- light or levels --- */

/* A lens mixes light; a program that composes pictures often mixes encoded levels. Between a
 * screen and an even subject the colours of an edge tell which: both ways make another curve
 * through the colours. Each pixel whose two nearest colours are clearly apart, and one of
 * them near, counts for one of the two. */
#define EDGE_REACH 5
#define LEAST_SUBJECT 4     /* opaque pixels around */
#define EVEN (3 * 8 * 8.0f) /* variance of their colours, in levels */
#define APART 25.0f         /* squares of distances of colours */
#define CLOSE (3 * 6 * 6.0f)
#define NOISE 4.0f /* standard deviation of colours from both curves, in levels */
#define EVIDENCE_UNIT (1 / 32.0f)

typedef struct {
  float3 levels, light;
} TwoColors;

INLINED TwoColors
both_of_levels (float3 levels)
{
  const TransferFunction curve = THE_CURVE;
  const float4 value = (float4)(levels / 255, 0);
  const TwoColors both = {levels, LIGHT_OF (float4, value, curve).xyz};
  return both;
}

INLINED float3
levels_of_light (float3 light)
{
  const TransferFunction curve = THE_CURVE;
  const float4 value = (float4)(light, 0);
  return 255 * LEVEL_OF (float4, value, curve).xyz;
}

INLINED float3
levels_of_pixel (Pixel pixel)
{
  return (float3)(COMPONENT (pixel, RED), COMPONENT (pixel, GREEN),
             COMPONENT (pixel, BLUE))
         / SCALE;
}

INLINED float
place_on_line (float3 seen, float3 screen, float3 subject)
{
  const float3 line = subject - screen;
  return clamp (dot (seen - screen, line) / max (dot (line, line), 1e-6f), 0.0f, 1.0f);
}

/* Returns the number of opaque pixels around, if their colours are alike, else 0. `mean`
 * becomes their mean. */
INLINED int
even_subject_around (
    FRAME (const, keyed), int x, int y, int width, int height, float3 *mean)
{
  float3 sum = 0, squares = 0;
  int count = 0;
  for (int row = max (y - EDGE_REACH, 0); row <= min (y + EDGE_REACH, height - 1); row++)
    for (int column = max (x - EDGE_REACH, 0); column <= min (x + EDGE_REACH, width - 1);
         column++) {
      const Pixel pixel = load_pixel (LINE (keyed, row), column);
      if (COMPONENT (pixel, ALPHA) < OPAQUE)
        continue;
      const float3 levels = levels_of_pixel (pixel);
      sum += levels;
      squares += levels * levels;
      count++;
    }
  *mean = sum / max (count, 1);
  const float3 variance = squares / max (count, 1) - *mean * *mean;
  return variance.x + variance.y + variance.z < EVEN ? count : 0;
}

/* Adds to votes[0] if the pixel is nearer to mixed light, to votes[1] if to mixed levels, and
 * to votes[2] the logarithm of the likelihood ratio of levels to light. It is limited, so that
 * a few pixels of a third colour do not decide. */
INLINED void
count_pixel (TwoColors seen, TwoColors screen, TwoColors subject, __global int *votes)
{
  const float share = place_on_line (seen.light, screen.light, subject.light);
  const float of_levels = place_on_line (seen.levels, screen.levels, subject.levels);
  if (share < 0.05f || share > 0.95f)
    return;
  const float3 first = levels_of_light (mix (screen.light, subject.light, share));
  const float3 second = mix (screen.levels, subject.levels, of_levels);
  const float3 apart = first - second, from_first = seen.levels - first,
               from_second = seen.levels - second;
  const float of_first = dot (from_first, from_first),
              of_second = dot (from_second, from_second);
  if (dot (apart, apart) <= APART || min (of_first, of_second) >= CLOSE)
    return;
  atomic_inc (votes + (of_first < of_second ? 0 : 1));
  const float ratio = clamp ((of_first - of_second) / (2 * NOISE * NOISE), -1.0f, 1.0f);
  atomic_add (votes + 2, convert_int_rte (ratio / EVIDENCE_UNIT));
}

/* `keyed` has the matte of the key, and colours as filmed. Eight pixels per work-item */
__kernel void
count_mixing (FRAME (const, seen), FRAME (const, input), FRAME (const, keyed), uint width,
    uint height, KEYER, __global int *votes)
{
  const int x = 8 * get_global_id (0), y = get_global_id (1);
  if (x >= (int)width || y >= (int)height)
    return;
  const Pixel8 pixels = load_pixels (LINE (keyed, y), x, width);
  const Floats alpha = TO_FLOATS (LEVELS_OF (pixels, ALPHA));
  if (!any ((alpha > 0) & (alpha < OPAQUE)))
    return;
  const Colors behind = screen_of_eight (THE_KEYER, x, y);
  float alphas[8], red[8], green[8], blue[8];
  vstore8 (alpha, 0, alphas);
  vstore8 (behind.red, 0, red);
  vstore8 (behind.green, 0, green);
  vstore8 (behind.blue, 0, blue);
  for (int n = 0; n < min (8, (int)width - x); n++) {
    float3 mean;
    if (alphas[n] == 0 || alphas[n] >= OPAQUE
        || even_subject_around (FRAME_ARGUMENTS (keyed), x + n, y, width, height, &mean)
               < LEAST_SUBJECT)
      continue;
    const float3 light = (float3)(red[n], green[n], blue[n]) / 255;
    const TwoColors screen = {levels_of_light (light), light};
    count_pixel (both_of_levels (levels_of_pixel (load_pixel (LINE (keyed, y), x + n))),
        screen, both_of_levels (mean), votes);
  }
}
#endif
