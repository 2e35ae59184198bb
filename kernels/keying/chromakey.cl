/* chromakey: what has the colour of the key becomes transparent
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#define LANES 8
#include "softkey.clh"
#include "unkeyed.clh"

uint8
as_pixel (uint color)
{
  return (uint8)((color >> 16 & 255) << RED | (color >> 8 & 255) << GREEN
                 | (color & 255) << BLUE);
}

/* Eight pixels a work-item. `inverted` is all ones when what differs is keyed. */
__kernel void
key_by_distance (FRAME (const, input), FRAME (, output), uint width, uint height,
    __global const uint *auto_key, uint use_auto_key, uint key, uint mask, uint threshold,
    int inverted, uint opacity, uint channel, float spill)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  uint color = use_auto_key ? *auto_key : key;
  uint8 pixels = load_pixels (LINE (input, y), x, width);
  int8 keyed = (difference (pixels, as_pixel (color), mask) < threshold) ^ inverted;
  uint8 alpha = select (scaled_alpha (pixels, opacity), (uint8)(0), keyed);
  if (spill > 0) {
    float4 screen = color_of_key (color);
    pixels =
        with_colors (pixels, despilled (colors_of_pixels (pixels), same_color (screen),
                                 main_component (screen, channel), 1, 0, spill));
  }
  store_pixels (LINE (output, y), x, width, with_alpha (pixels, alpha));
}

/* The screen's colour, measured place by place: in a grid of blocks, the centre of each
 * the place of its colour */

float
sum_of_lanes (float8 values)
{
  float4 four = values.lo + values.hi;
  float2 two = four.lo + four.hi;
  return two.x + two.y;
}

/* Eight samples of a line, `step` pixels apart; `there`: 1 for those within the line */
uint8
load_samples (__global const uchar *line, uint x, uint step, uint width, float8 *there)
{
  uint8 columns = x + step * (uint8)(0, 1, 2, 3, 4, 5, 6, 7);
  *there = select ((float8)(0), (float8)(1), columns < width);
  columns = min (columns, width - 1);
  return (uint8)(load_pixel (line, columns.s0), load_pixel (line, columns.s1),
      load_pixel (line, columns.s2), load_pixel (line, columns.s3),
      load_pixel (line, columns.s4), load_pixel (line, columns.s5),
      load_pixel (line, columns.s6), load_pixel (line, columns.s7));
}

/* What of a block is screen: more than `least` of the chroma that is expected there, and
 * of its hue. The sums and the count of such samples, eight a work-item. */
__kernel void
measure_screen (FRAME (const, input), uint width, uint height,
    __global const uint *auto_key, uint use_auto_key, uint key,
    __global const float4 *screen, uint use_screen, uint block_size, float least,
    __global float4 *measured)
{
  __local float4 sums[SAMPLES * SAMPLES / 8];
  uint block = get_group_id (1) * get_num_groups (0) + get_group_id (0);
  uint step = block_size / SAMPLES;
  Colors expected = same_color (
      use_screen ? screen[block] : color_of_key (use_auto_key ? *auto_key : key));

  float4 sum = 0;
  for (uint n = get_local_id (0); n < SAMPLES * SAMPLES / 8; n += get_local_size (0)) {
    uint x = get_group_id (0) * block_size + 8 * n % SAMPLES * step;
    uint y = get_group_id (1) * block_size + 8 * n / SAMPLES * step;
    if (x >= width || y >= height)
      continue;
    float8 is;
    Colors samples =
        colors_of_pixels (load_samples (LINE (input, y), x, step, width, &is));
    float8 along, across;
    chroma_along_key (samples, expected, &along, &across);
    is = select ((float8)(0), is, along > least && fabs (across) < 0.25f * along);
    sum += (float4)(sum_of_lanes (samples.red * is), sum_of_lanes (samples.green * is),
        sum_of_lanes (samples.blue * is), sum_of_lanes (is));
  }
  sums[get_local_id (0)] = sum;
  barrier (CLK_LOCAL_MEM_FENCE);
  if (get_local_id (0) != 0)
    return;
  for (uint n = 1; n < get_local_size (0); n++)
    sum += sums[n];
  measured[block] = sum;
}

/* The square of a sum's chroma, in 1/128, for its luma: what light falls on a screen
 * changes both alike. */
float
saturation_of (float4 sum)
{
  float luma = dot (sum, (float4)(0.299f, 0.587f, 0.114f, 0));
  float cb = dot (sum, (float4)(-21, -43, 64, 0));
  float cr = dot (sum, (float4)(64, -54, -10, 0));
  return (cb * cb + cr * cr) / max (luma * luma, 1e-6f);
}

/* The least saturation of what is screen: a large subject of a similar colour is paler
 * than the screen, which most blocks show. At first all of them say what that is, and
 * then those alone that are not paler. */
#define LEAST_SATURATION 0.85f

/* All work-items of a group come here; `sums` has room for each. */
float
least_saturation (__global const float4 *measured, uint blocks, __local float4 *sums)
{
  float least = 0;
  for (uint round = 0; round < 2; round++) {
    float4 sum = 0;
    for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
      if (saturation_of (measured[n]) >= least)
        sum += measured[n];
    }
    sums[get_local_id (0)] = sum;
    barrier (CLK_LOCAL_MEM_FENCE);
    if (get_local_id (0) == 0) {
      for (uint n = 1; n < get_local_size (0); n++)
        sums[0] += sums[n];
    }
    barrier (CLK_LOCAL_MEM_FENCE);
    least = LEAST_SATURATION * LEAST_SATURATION * saturation_of (sums[0]);
    barrier (CLK_LOCAL_MEM_FENCE);
  }
  return least;
}

/* Weights of a block so many rows or columns away: of a near one, and, where there is no
 * screen near, of a far one, a millionth of that in rows and columns together */
#define FARTHEST 8
__constant float near_weights[] = {1.0f, 0.706648278f, 0.249352209f, 0.0439369336f, 0.00386592014f, 0.000169856677f, 3.72665317e-06f, 4.08283604e-08f, 2.23363144e-10f};
__constant float far_weights[] = {0.001f, 0.000986207117f, 0.000945959469f, 0.000882496903f, 0.000800737403f, 0.000706648278f, 0.00060653066f, 0.000506335617f, 0.000411112291f};

/* Blocks that have little screen, or none, take their neighbours' colour; where there is
 * none near, the key stands. One work-group; `across`: room for two sums a block. */
__kernel void
smooth_screen (__global const uint *auto_key, uint use_auto_key, uint key,
    __global const float4 *measured, uint columns, uint rows, __global float4 *across,
    __global float4 *screen)
{
  __local float4 sums[GROUP];
  const uint blocks = columns * rows;
  float least = least_saturation (measured, blocks, sums);
  for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
    int column = n % columns;
    float4 near = 0, far = 0;
    for (int x = max (column - FARTHEST, 0);
         x <= min (column + FARTHEST, (int)columns - 1); x++) {
      float4 block = measured[n - column + x];
      if (saturation_of (block) < least)
        continue;
      near += near_weights[abs (x - column)] * block;
      far += far_weights[abs (x - column)] * block;
    }
    across[2 * n] = near;
    across[2 * n + 1] = far;
  }
  barrier (CLK_GLOBAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < blocks; n += get_local_size (0)) {
    int column = n % columns, row = n / columns;
    float4 sum =
        (color_of_key (use_auto_key ? *auto_key : key) + (float4)(0, 0, 0, 1)) * 1e-6f;
    for (int y = max (row - FARTHEST, 0); y <= min (row + FARTHEST, (int)rows - 1); y++) {
      __global const float4 *line = across + 2 * (y * columns + column);
      sum += near_weights[abs (y - row)] * line[0] + far_weights[abs (y - row)] * line[1];
    }
    screen[n] = sum / sum.s3;
  }
}

/* Between the centres of four blocks. No centre lies within eight pixels: their number is
 * half of a multiple of 16. */
Colors
screen_at (__global const float4 *screen, uint columns, uint rows, uint block_size,
    uint x, uint y)
{
  float8 offsets = (float8)(0, 1, 2, 3, 4, 5, 6, 7);
  float8 column = ((float)x + offsets + 0.5f) / block_size - 0.5f;
  float row = ((float)y + 0.5f) / block_size - 0.5f;
  uint left = (uint)clamp (floor (column.s0), 0.0f, (float)(columns - 1));
  uint above = (uint)clamp (floor (row), 0.0f, (float)(rows - 1));
  uint right = min (left + 1, columns - 1);
  uint below = min (above + 1, rows - 1);
  float down = clamp (row - above, 0.0f, 1.0f);
  float8 across = clamp (column - (float)left, 0.0f, 1.0f);

  float4 from =
      mix (screen[above * columns + left], screen[below * columns + left], down);
  float4 to =
      mix (screen[above * columns + right], screen[below * columns + right], down);
  Colors colors = {from.s0 + across * (to.s0 - from.s0),
      from.s1 + across * (to.s1 - from.s1), from.s2 + across * (to.s2 - from.s2)};
  return colors;
}

Colors
screen_of (Keyer keyer, uint x, uint y)
{
  return keyer.columns > 0
             ? screen_at (keyer.screen, keyer.columns, keyer.rows, keyer.block_size, x, y)
             : same_color (keyer.key);
}

#define CORE __global const uchar *core, uint core_stride /* 0 where there is none */

float8
core_at (CORE, uint x, uint y)
{
  if (core_stride == 0)
    return 0;
  __global const uchar *line = core + (ulong)y * core_stride;
  return convert_float8 (vload8 (x / 8, line)) / CORE_FULL;
}

__kernel void
mark_core (FRAME (const, seen), uint width, uint height, KEYER, __global uchar *marks,
    uint core_stride)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Keyer keyer = THE_KEYER;
  Colors colors = colors_of_pixels (load_pixels (LINE (seen, y), x, width));
  float8 distance = distance_from_screen (colors, screen_of (keyer, x, y), keyer);
  uchar8 beyond = convert_uchar8 (-(distance > CORE_DISTANCE));
  vstore8 (beyond, x / 8, marks + (ulong)y * core_stride);
}

/* A work-group closes so many groups of eight columns and rows. A row more of bytes
 * stands behind, for what loads by eight beyond its end. */
#define CLOSED_GROUPS 4
#define CLOSED_ROWS 16
#define CLOSED_COLUMNS (8 * CLOSED_GROUPS + 4 * CORE_RADIUS)
#define MARKED_ROWS (CLOSED_ROWS + 4 * CORE_RADIUS)
#define CLOSED_BYTES ((MARKED_ROWS + 1) * CLOSED_COLUMNS)

/* Of CORE_SIDE neighbours `step` apart from each of the first `rows` rows on: whether all
 * are marked, or their sum */
void
gather (__local const uchar *from, __local uchar *to, uint rows, uint step, bool all_of)
{
  const uint groups = CLOSED_COLUMNS / 8;
  for (uint n = get_local_id (0); n < groups * rows; n += get_local_size (0)) {
    uchar8 sum = 0;
    for (uint k = 0; k < CORE_SIDE; k++)
      sum += vload8 (0, from + 8 * n + k * step);
    vstore8 (all_of ? sum / (uchar)(CORE_SIDE) : sum, n, to);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
}

__kernel void
close_core (__global const uchar *marks, uint width, uint height, uint stride,
    __global uchar *core)
{
  __local uchar one[CLOSED_BYTES], other[CLOSED_BYTES];
  int x0 = get_group_id (0) * CLOSED_GROUPS * 8;
  int y0 = get_group_id (1) * CLOSED_ROWS;
  for (uint n = get_local_id (0); n < CLOSED_BYTES; n += get_local_size (0)) {
    int x = clamp (x0 + (int)(n % CLOSED_COLUMNS) - 2 * CORE_RADIUS, 0, (int)width - 1);
    int y = clamp (y0 + (int)(n / CLOSED_COLUMNS) - 2 * CORE_RADIUS, 0, (int)height - 1);
    one[n] = marks[(ulong)y * stride + x];
    other[n] = 0;
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  gather (one, other, MARKED_ROWS, 1, true);
  gather (other, one, MARKED_ROWS - 2 * CORE_RADIUS, CLOSED_COLUMNS, true);
  gather (one, other, MARKED_ROWS - 2 * CORE_RADIUS, 1, false);
  gather (other, one, CLOSED_ROWS, CLOSED_COLUMNS, false);
  for (uint n = get_local_id (0); n < CLOSED_GROUPS * CLOSED_ROWS;
       n += get_local_size (0)) {
    uint x = x0 + 8 * (n % CLOSED_GROUPS);
    uint row = n / CLOSED_GROUPS;
    if (x < width && y0 + row < height)
      vstore8 (vload8 (0, one + row * CLOSED_COLUMNS + 8 * (n % CLOSED_GROUPS)), x / 8,
          core + (ulong)(y0 + row) * stride);
  }
}

/* Distances are those of `seen`, a quieter picture of the same, or `input` itself. */
__kernel void
key_softly (FRAME (const, seen), FRAME (const, input), FRAME (, output), uint width,
    uint height, KEYER, CORE)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Keyer keyer = THE_KEYER;
  Colors here = screen_of (keyer, x, y);
  uint8 pixels = load_pixels (LINE (input, y), x, width);
  Colors colors = colors_of_pixels (pixels);
  float8 distance = distance_from_screen (
      colors_of_pixels (load_pixels (LINE (seen, y), x, width)), here, keyer);
  store_pixels (
      LINE (output, y), x, width, keyed (pixels, colors, here, distance,
                                          core_at (core, core_stride, x, y), keyer));
}

/* The same with finer edges. A work-group makes CORE_ROWS lines. */
#define CORE_GROUPS 4 /* of eight columns */
#define EDGE_GROUPS (CORE_GROUPS + 2)
#define EDGE_ROWS (CORE_ROWS + 2 * RADIUS)
#define EDGE_COLUMNS (8 * EDGE_GROUPS)

/* Planes of moments in local memory */
#define MOMENT_PLANE (CORE_ROWS * EDGE_COLUMNS)

/* Of a column of SIDE lines */
Moments
moments_of_column (__local const float *lumas, __local const float *distances, uint at)
{
  Moments sum = {0, 0, 0, 0, 0};
  for (uint row = 0; row < SIDE; row++, at += EDGE_COLUMNS) {
    float8 luma = vload8 (0, lumas + at);
    float8 distance = vload8 (0, distances + at);
    sum.luma += luma;
    sum.distance += distance;
    sum.luma_square += luma * luma;
    sum.product += luma * distance;
    sum.distance_square += distance * distance;
  }
  return sum;
}

void
sum_columns (
    __local const float *lumas, __local const float *distances, __local float *moments)
{
  for (uint n = get_local_id (0); n < EDGE_GROUPS * CORE_ROWS; n += get_local_size (0)) {
    Moments sum = moments_of_column (lumas, distances, 8 * n);
    vstore8 (sum.luma, n, moments);
    vstore8 (sum.distance, n, moments + MOMENT_PLANE);
    vstore8 (sum.luma_square, n, moments + 2 * MOMENT_PLANE);
    vstore8 (sum.product, n, moments + 3 * MOMENT_PLANE);
    vstore8 (sum.distance_square, n, moments + 4 * MOMENT_PLANE);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
}

/* Of SIDE columns from `at` */
Moments
sum_of_columns (__local const float *moments, uint at)
{
  Moments sum = {0, 0, 0, 0, 0};
  for (uint column = 0; column < SIDE; column++, at++) {
    sum.luma += vload8 (0, moments + at);
    sum.distance += vload8 (0, moments + at + MOMENT_PLANE);
    sum.luma_square += vload8 (0, moments + at + 2 * MOMENT_PLANE);
    sum.product += vload8 (0, moments + at + 3 * MOMENT_PLANE);
    sum.distance_square += vload8 (0, moments + at + 4 * MOMENT_PLANE);
  }
  return sum;
}

/* Beyond the frame lie the pixels of its rim. */
void
load_edges (FRAME (const, input), uint width, uint height, int x0, int y0, Keyer keyer,
    __local float *lumas, __local float *distances)
{
  for (uint n = get_local_id (0); n < EDGE_GROUPS * EDGE_ROWS; n += get_local_size (0)) {
    int x = x0 + 8 * (int)(n % EDGE_GROUPS);
    int y = clamp (y0 + (int)(n / EDGE_GROUPS), 0, (int)height - 1);
    uint8 pixels = x < 0             ? (uint8)(load_pixel (LINE (input, y), 0))
                   : x >= (int)width ? (uint8)(load_pixel (LINE (input, y), width - 1))
                                     : load_pixels (LINE (input, y), x, width);
    Colors colors = colors_of_pixels (pixels);
    Colors here = screen_of (keyer, clamp (x, 0, (int)width - 1), y);
    vstore8 (luma_of (colors), n, lumas);
    vstore8 (distance_from_screen (colors, here, keyer), n, distances);
  }
}

__kernel void
key_finely (FRAME (const, seen), FRAME (const, input), FRAME (, output), uint width,
    uint height, KEYER, CORE)
{
  __local float lumas[EDGE_ROWS * EDGE_COLUMNS];
  __local float distances[EDGE_ROWS * EDGE_COLUMNS];
  __local float moments[MOMENTS * MOMENT_PLANE];
  Keyer keyer = THE_KEYER;
  int x0 = get_group_id (0) * CORE_GROUPS * 8;
  int y0 = get_group_id (1) * CORE_ROWS;

  load_edges (
      THE_FRAME (seen), width, height, x0 - 8, y0 - RADIUS, keyer, lumas, distances);
  barrier (CLK_LOCAL_MEM_FENCE);
  sum_columns (lumas, distances, moments);

  for (uint n = get_local_id (0); n < CORE_GROUPS * CORE_ROWS; n += get_local_size (0)) {
    uint group = n % CORE_GROUPS;
    uint row = n / CORE_GROUPS;
    uint x = x0 + 8 * group;
    uint y = y0 + row;
    if (x >= width || y >= height)
      continue;
    uint first = row * EDGE_COLUMNS + 8 * group + 8 - RADIUS;
    uint middle = first + RADIUS * EDGE_COLUMNS + RADIUS;
    float8 distance = distance_on_line (sum_of_columns (moments, first),
        vload8 (0, lumas + middle), vload8 (0, distances + middle));
    uint8 pixels = load_pixels (LINE (input, y), x, width);
    store_pixels (LINE (output, y), x, width,
        keyed (pixels, colors_of_pixels (pixels), screen_of (keyer, x, y), distance,
            core_at (core, core_stride, x, y), keyer));
  }
}

/* A quieter picture: where nothing moves, a mean over time. Whether something does, the
 * mean difference of three by three pixels says, which is quieter than that of one: above
 * MOVING levels a pixel is taken as it is, up to STILL the mean takes a part of it. Means
 * are in 1/256 of a level. */
#define STILL 2.5f
#define MOVING 4.5f
#define PART 0.2f

int4
bytes_of_pixel (uint pixel)
{
  return convert_int4 (as_uchar4 (pixel)) << 8;
}

/* Of three pixels above each other; beyond the frame lie those of its rim. */
int4
change_of_column (FRAME (const, input), uint width, uint height,
    __global const ushort4 *before, int x, int y)
{
  int4 sum = 0;
  x = clamp (x, 0, (int)width - 1);
  for (int row = y - 1; row <= y + 1; row++) {
    int line = clamp (row, 0, (int)height - 1);
    sum += bytes_of_pixel (load_pixel (LINE (input, line), x))
           - convert_int4 (before[(ulong)line * width + x]);
  }
  return sum;
}

/* Eight pixels a work-item; `starts`: there is nothing before. */
__kernel void
quiet (FRAME (const, input), FRAME (, seen), uint width, uint height, uint starts,
    __global const ushort4 *before, __global ushort4 *after)
{
  int x = 8 * get_global_id (0);
  int y = get_global_id (1);
  if (x >= (int)width || y >= (int)height)
    return;
  __global const uchar *line = LINE (input, y);
  int4 left = 0, middle = 0;
  if (!starts) {
    left = change_of_column (THE_FRAME (input), width, height, before, x - 1, y);
    middle = change_of_column (THE_FRAME (input), width, height, before, x, y);
  }
  for (int end = min (x + 8, (int)width); x < end; x++) {
    ulong at = (ulong)y * width + x;
    int4 mean = bytes_of_pixel (load_pixel (line, x));
    if (!starts) {
      int4 right =
          change_of_column (THE_FRAME (input), width, height, before, x + 1, y);
      uint4 changes = abs (left + middle + right);
      uint change = max (max (changes.x, changes.y), max (changes.z, changes.w));
      float part = clamp (
          PART + (change / (9 * 256.0f) - STILL) * (1 - PART) / (MOVING - STILL), PART,
          1.0f);
      int4 was = convert_int4 (before[at]);
      mean = was + convert_int4_rte (part * convert_float4 (mean - was));
      left = middle;
      middle = right;
    }
    after[at] = convert_ushort4 (mean);
    store_pixel (LINE (seen, y), x, as_uint (convert_uchar4_sat ((mean + 128) >> 8)));
  }
}

/* Mean colour of a rectangle, rounded; one work-group */
__kernel void
take_key (FRAME (const, input), uint left, uint top, uint columns, uint rows,
    __global uint *auto_key)
{
  __local ulong sums[3 * GROUP];
  uint item = get_local_id (0);
  ulong red = 0, green = 0, blue = 0;
  for (uint row = item; row < rows; row += get_local_size (0)) {
    for (uint column = 0; column < columns; column++) {
      uint pixel = load_pixel (LINE (input, top + row), left + column);
      red += COMPONENT (pixel, RED);
      green += COMPONENT (pixel, GREEN);
      blue += COMPONENT (pixel, BLUE);
    }
  }
  sums[3 * item] = red;
  sums[3 * item + 1] = green;
  sums[3 * item + 2] = blue;
  barrier (CLK_LOCAL_MEM_FENCE);
  if (item != 0)
    return;
  ulong total[3] = {0, 0, 0};
  for (uint n = 0; n < 3 * get_local_size (0); n++)
    total[n % 3] += sums[n];
  ulong count = (ulong)columns * rows;
  uint color = 0xff;
  for (uint n = 0; n < 3; n++)
    color = color << 8 | (uint)((2 * total[n] + count) / (2 * count));
  *auto_key = color;
}

/* The screen of a frame of which nothing is known: what is green or blue, in its hue, and
 * most seen. Hues are told in sixty-fourths of a turn in the plane of Cb and Cr. */
#define HUES 64
#define SEEN 256          /* samples across and down */
#define LEAST_CHROMA 12.0f /* of a colour that has a hue, in levels */
#define STRONG 0.8f       /* of the hue's mean chroma: what is not half hidden or in haze */

/* Chroma, and where that has a hue which a screen may have, which one, else HUES */
uint
hue_of (float4 color, float *chroma)
{
  float cb = dot (color, (float4)(-21, -43, 64, 0)) / 128;
  float cr = dot (color, (float4)(64, -54, -10, 0)) / 128;
  *chroma = sqrt (cb * cb + cr * cr);
  if (*chroma < LEAST_CHROMA || color.s0 >= max (color.s1, color.s2))
    return HUES;
  return (uint)((atan2pi (cr, cb) + 1) * (HUES / 2)) % HUES;
}

/* Sample n of a frame */
float4
sample_of (FRAME (const, input), uint width, uint height, uint n)
{
  uint x = (ulong)(2 * (n % SEEN) + 1) * width / (2 * SEEN);
  uint y = (ulong)(2 * (n / SEEN) + 1) * height / (2 * SEEN);
  uint pixel = load_pixel (LINE (input, y), x);
  return (float4)(
      COMPONENT (pixel, RED), COMPONENT (pixel, GREEN), COMPONENT (pixel, BLUE), 0);
}

/* The hue with most chroma, its neighbours' counted half, or HUES where there is none */
uint
strongest_hue (__local const uint *chromas)
{
  uint best = HUES, most = 0;
  for (uint hue = 0; hue < HUES; hue++) {
    uint sum = 2 * chromas[hue] + chromas[(hue + 1) % HUES]
               + chromas[(hue + HUES - 1) % HUES];
    if (sum > most) {
      most = sum;
      best = hue;
    }
  }
  return best;
}

bool
is_beside (uint hue, uint best)
{
  return hue < HUES && (hue + HUES - best + 2) % HUES <= 4;
}

/* One work-group. The key is the mean of what is strong in the strongest hue, or
 * `fallback`. Integers are summed, in any order to the same. */
__kernel void
find_key (FRAME (const, input), uint width, uint height, uint fallback,
    __global uint *auto_key)
{
  __local uint chromas[HUES];
  __local uint counts[HUES];
  __local uint sums[4];
  float chroma;
  for (uint n = get_local_id (0); n < HUES; n += get_local_size (0))
    chromas[n] = counts[n] = 0;
  for (uint n = get_local_id (0); n < 4; n += get_local_size (0))
    sums[n] = 0;
  barrier (CLK_LOCAL_MEM_FENCE);
  for (uint n = get_local_id (0); n < SEEN * SEEN; n += get_local_size (0)) {
    uint hue = hue_of (sample_of (THE_FRAME (input), width, height, n), &chroma);
    if (hue == HUES)
      continue;
    atomic_add (&chromas[hue], (uint)(chroma + 0.5f));
    atomic_inc (&counts[hue]);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  uint best = strongest_hue (chromas);
  float strong = best < HUES ? STRONG * chromas[best] / max (counts[best], 1u) : 0;
  for (uint n = get_local_id (0); n < SEEN * SEEN; n += get_local_size (0)) {
    float4 color = sample_of (THE_FRAME (input), width, height, n);
    if (!is_beside (hue_of (color, &chroma), best) || chroma < strong)
      continue;
    atomic_add (&sums[0], (uint)color.s0);
    atomic_add (&sums[1], (uint)color.s1);
    atomic_add (&sums[2], (uint)color.s2);
    atomic_inc (&sums[3]);
  }
  barrier (CLK_LOCAL_MEM_FENCE);
  if (get_local_id (0) != 0)
    return;
  uint color = 0xff;
  for (uint n = 0; n < 3; n++)
    color = color << 8 | (2 * sums[n] + sums[3]) / max (2 * sums[3], 1u);
  *auto_key = sums[3] > 0 ? color : fallback;
}
