/* chromakey: what has the colour of the key becomes transparent
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Colours are in levels, 0 to 255. The key's chroma is the axis of the soft methods: a
 * pixel of u times that chroma, and of v across it, has a part u of the screen's light
 * where it is grey or black itself.
 */
#include "unkeyed.clh"

typedef struct {
  float8 red, green, blue;
} Colors;

Colors
colors_of_pixels (uint8 pixels)
{
  Colors colors = {convert_float8 (COMPONENT (pixels, RED)),
      convert_float8 (COMPONENT (pixels, GREEN)),
      convert_float8 (COMPONENT (pixels, BLUE))};
  return colors;
}

uint8
level (float8 value)
{
  return convert_uint8 (clamp (value, 0.0f, 255.0f) + 0.5f);
}

uint8
with_colors (uint8 pixels, Colors colors)
{
  return (pixels & ALPHA_MASK) | level (colors.red) << RED | level (colors.green) << GREEN
         | level (colors.blue) << BLUE;
}

/* A colour as 0xRRGGBB, as red, green, blue and nothing */
float4
color_of_key (uint key)
{
  return (float4)(key >> 16 & 255, key >> 8 & 255, key & 255, 0);
}

Colors
same_color (float4 color)
{
  Colors colors = {color.s0, color.s1, color.s2};
  return colors;
}

float8
luma_of (Colors colors)
{
  return 0.299f * colors.red + 0.587f * colors.green + 0.114f * colors.blue;
}

float8
cb_of (Colors colors)
{
  return (-21 * colors.red - 43 * colors.green + 64 * colors.blue) / 128;
}

float8
cr_of (Colors colors)
{
  return (64 * colors.red - 54 * colors.green - 10 * colors.blue) / 128;
}

/* Along the key's chroma and across it, in its length. A grey key has none: then a level
 * is the unit. */
void
chroma_along_key (Colors colors, Colors key, float8 *along, float8 *across)
{
  float8 cb = cb_of (colors), cr = cr_of (colors);
  float8 key_cb = cb_of (key), key_cr = cr_of (key);
  float8 square = max (key_cb * key_cb + key_cr * key_cr, 1.0f);
  *along = (cb * key_cb + cr * key_cr) / square;
  *across = (cb * key_cr - cr * key_cb) / square;
}

/* What is more of the key's chroma than the key has is as near as the key is. */
float8
chroma_distance (float8 along, float8 across)
{
  float8 missing = max (1 - along, 0.0f);
  return sqrt (missing * missing + across * across);
}

/* The component that the screen is of, 0 to 2, and how far it is above the others */
uint
main_component (float4 key, uint channel)
{
  if (channel > 0)
    return channel - 1;
  if (key.s1 >= max (key.s0, key.s2))
    return 1;
  return key.s2 >= key.s0 ? 2 : 0;
}

/* Above the two others: `balance` of the larger and the rest of the smaller */
float8
excess_of (Colors colors, uint component, float balance)
{
  float8 of = component == 0 ? colors.red : component == 1 ? colors.green : colors.blue;
  float8 one = component == 0 ? colors.green : colors.red;
  float8 other = component == 2 ? colors.green : colors.blue;
  return of - mix (min (one, other), max (one, other), balance);
}

/* Takes the screen's light off a colour, in three steps. Where the matte says that the
 * screen is seen through it, the screen is taken out of the mixture, as far as the colour
 * has the key's chroma. Then what is left of light of the key's hue, its luma kept:
 * within HUE_CONE times as far across as along it, so that skin before a yellow-green
 * screen stays. Last what the screen's component still is above the others. `narrow` says
 * how much of the chroma across counts against the first step: the matte of method chroma
 * takes hues near the key for partly screen. */
#define HUE_CONE 1.25f
#define MOST_UNMIXED 0.9f /* less than a tenth of a colour is mostly noise */

Colors
unmixed (Colors colors, Colors key, float8 matte, float narrow, float spill)
{
  float8 along, across;
  chroma_along_key (colors, key, &along, &across);
  float8 part = min (1 - matte, along - narrow * fabs (across));
  part = clamp (part, 0.0f, MOST_UNMIXED) * spill;
  Colors thing = {clamp ((colors.red - part * key.red) / (1 - part), 0.0f, 255.0f),
      clamp ((colors.green - part * key.green) / (1 - part), 0.0f, 255.0f),
      clamp ((colors.blue - part * key.blue) / (1 - part), 0.0f, 255.0f)};
  return thing;
}

Colors
despilled (
    Colors colors, Colors key, uint component, float8 matte, float narrow, float spill)
{
  colors = unmixed (colors, key, matte, narrow, spill);
  float8 along, across;
  chroma_along_key (colors, key, &along, &across);
  float8 part = clamp (along - HUE_CONE * fabs (across), 0.0f, 1.0f) * spill;
  float8 key_luma = luma_of (key);
  colors.red = clamp (colors.red - part * (key.red - key_luma), 0.0f, 255.0f);
  colors.green = clamp (colors.green - part * (key.green - key_luma), 0.0f, 255.0f);
  colors.blue = clamp (colors.blue - part * (key.blue - key_luma), 0.0f, 255.0f);

  float8 excess = max (excess_of (colors, component, 1), 0.0f) * spill;
  float8 grey = excess * (component == 0 ? 0.299f : component == 1 ? 0.587f : 0.114f);
  colors.red += grey - (component == 0 ? excess : (float8)(0));
  colors.green += grey - (component == 1 ? excess : (float8)(0));
  colors.blue += grey - (component == 2 ? excess : (float8)(0));
  return colors;
}

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

/* What of a block is screen: more than `least` of the chroma that is expected there, and
 * of its hue. The sums and the count of such samples, one a work-item. */
__kernel void
measure_screen (FRAME (const, input), uint width, uint height,
    __global const uint *auto_key, uint use_auto_key, uint key,
    __global const float4 *screen, uint use_screen, uint block_size, float least,
    __global float4 *measured)
{
  __local float4 sums[SAMPLES * SAMPLES];
  uint block = get_group_id (1) * get_num_groups (0) + get_group_id (0);
  uint step = block_size / SAMPLES;
  float4 color =
      use_screen ? screen[block] : color_of_key (use_auto_key ? *auto_key : key);
  Colors expected = same_color (color);

  float4 sum = 0;
  for (uint n = get_local_id (0); n < SAMPLES * SAMPLES; n += get_local_size (0)) {
    uint x = get_group_id (0) * block_size + n % SAMPLES * step;
    uint y = get_group_id (1) * block_size + n / SAMPLES * step;
    if (x >= width || y >= height)
      continue;
    Colors sample = colors_of_pixels ((uint8)(load_pixel (LINE (input, y), x)));
    float8 along, across;
    chroma_along_key (sample, expected, &along, &across);
    if (along.s0 > least && fabs (across.s0) < 0.25f * along.s0)
      sum += (float4)(sample.red.s0, sample.green.s0, sample.blue.s0, 1);
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

/* Blocks that have little screen, or none, take their neighbours' colour; where there is
 * none near, the key stands. */
__kernel void
smooth_screen (__global const uint *auto_key, uint use_auto_key, uint key,
    __global const float4 *measured, uint columns, uint rows, __global float4 *screen)
{
  __local float4 sums[GROUP];
  int column = get_global_id (0);
  int row = get_global_id (1);
  float least = least_saturation (measured, columns * rows, sums);
  if (column >= (int)columns || row >= (int)rows)
    return;
  float4 sum =
      (color_of_key (use_auto_key ? *auto_key : key) + (float4)(0, 0, 0, 1)) * 1e-6f;
  for (int y = max (row - 8, 0); y <= min (row + 8, (int)rows - 1); y++) {
    for (int x = max (column - 8, 0); x <= min (column + 8, (int)columns - 1); x++) {
      float square = (x - column) * (x - column) + (y - row) * (y - row);
      float near = exp (-square / (2 * 1.2f * 1.2f));
      float far = 1e-6f * exp (-square / (2 * 6.0f * 6.0f));
      float4 block = measured[y * columns + x];
      if (saturation_of (block) >= least)
        sum += (near + far) * block;
    }
  }
  screen[row * columns + column] = sum / sum.s3;
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

/* What all pixels of a frame are keyed with */
typedef struct {
  float4 key;
  __global const float4 *screen;
  uint columns, rows, block_size; /* of screen; columns 0 where it is the key all over */
  uint by_excess;                 /* 1 for method difference, 0 for chroma */
  uint component;
  float balance, similarity, smoothness;
  uint inverted;
  float opacity, spill;
  __global const uchar *core; /* how far within the subject, of CORE_FULL */
  uint core_stride;           /* 0 where there is none */
} Keyer;

#define KEYER                                                                            \
  __global const uint *auto_key, uint use_auto_key, uint key,                            \
      __global const float4 *screen, uint columns, uint rows, uint block_size,           \
      uint by_excess, uint channel, float balance, float similarity, float smoothness,   \
      uint inverted, float opacity, float spill, __global const uchar *core,             \
      uint core_stride
#define THE_KEYER                                                                        \
  keyer_of (auto_key, use_auto_key, key, screen, columns, rows, block_size, by_excess,   \
      channel, balance, similarity, smoothness, inverted, opacity, spill, core,          \
      core_stride)

Keyer
keyer_of (KEYER)
{
  float4 color = color_of_key (use_auto_key ? *auto_key : key);
  Keyer keyer = {color, screen, columns, rows, block_size, by_excess,
      main_component (color, channel), balance, similarity, smoothness, inverted, opacity,
      spill, core, core_stride};
  return keyer;
}

/* How far from the screen: 0 is screen, 1 has nothing of it */
float8
distance_from_screen (Colors colors, Colors screen, Keyer keyer)
{
  if (keyer.by_excess)
    return 1
           - excess_of (colors, keyer.component, keyer.balance)
                 / max (excess_of (screen, keyer.component, keyer.balance), 1.0f);
  float8 along, across;
  chroma_along_key (colors, screen, &along, &across);
  return chroma_distance (along, across);
}

Colors
screen_of (Keyer keyer, uint x, uint y)
{
  return keyer.columns > 0
             ? screen_at (keyer.screen, keyer.columns, keyer.rows, keyer.block_size, x, y)
             : same_color (keyer.key);
}

/* The core: what is surely of the subject and not near its edge, closed whatever the ramp
 * makes of it. Marks are a byte a pixel, 1 where the distance is beyond CORE_DISTANCE;
 * eroded and then blurred by the same radius, so that nothing outside is touched. Beyond
 * the frame lie the marks of its rim. */
#define CORE_DISTANCE 0.6f
#define CORE_RADIUS 4
#define CORE_FULL ((2 * CORE_RADIUS + 1) * (2 * CORE_RADIUS + 1))

float8
core_at (Keyer keyer, uint x, uint y)
{
  if (keyer.core_stride == 0)
    return 0;
  __global const uchar *line = keyer.core + (ulong)y * keyer.core_stride;
  return convert_float8 (vload8 (x / 8, line)) / CORE_FULL;
}

uint8
keyed (uint8 pixels, Colors colors, Colors here, float8 distance, uint x, uint y,
    Keyer keyer)
{
  float8 matte = clamp ((distance - keyer.similarity) / keyer.smoothness, 0.0f, 1.0f);
  matte = max (matte, core_at (keyer, x, y));
  float8 covered = matte;
  if (keyer.inverted)
    matte = 1 - matte;
  float8 alpha = convert_float8 (COMPONENT (pixels, ALPHA)) * matte * keyer.opacity;
  if (keyer.spill > 0)
    pixels = with_colors (pixels, despilled (colors, here, keyer.component, covered,
                                      keyer.by_excess ? 0 : 1, keyer.spill));
  return with_alpha (pixels, level (alpha));
}

__kernel void
mark_core (FRAME (const, input), uint width, uint height, KEYER, __global uchar *marks)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Keyer keyer = THE_KEYER;
  Colors colors = colors_of_pixels (load_pixels (LINE (input, y), x, width));
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
#define CORE_SIDE (2 * CORE_RADIUS + 1)

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

__kernel void
key_softly (FRAME (const, input), FRAME (, output), uint width, uint height, KEYER)
{
  uint x = 8 * get_global_id (0);
  uint y = get_global_id (1);
  if (x >= width || y >= height)
    return;
  Keyer keyer = THE_KEYER;
  Colors here = screen_of (keyer, x, y);
  uint8 pixels = load_pixels (LINE (input, y), x, width);
  Colors colors = colors_of_pixels (pixels);
  float8 distance = distance_from_screen (colors, here, keyer);
  store_pixels (
      LINE (output, y), x, width, keyed (pixels, colors, here, distance, x, y, keyer));
}

/* The same with finer edges. Cameras take chroma more coarsely than luma, and with more
 * noise; where the distance goes with luma, as it does at hair, luma says better where it
 * lies. Around each pixel a line is fitted through the distances over luma; the better it
 * fits, the more of it is taken. A work-group makes CORE_ROWS lines. */
#define RADIUS 3
#define SIDE (2 * RADIUS + 1)
#define CORE_GROUPS 4 /* of eight columns */
#define EDGE_GROUPS (CORE_GROUPS + 2)
#define EDGE_ROWS (CORE_ROWS + 2 * RADIUS)
#define EDGE_COLUMNS (8 * EDGE_GROUPS)

/* Sums that a line is fitted from, a plane each in local memory */
typedef struct {
  float8 luma, distance, luma_square, product, distance_square;
} Moments;

#define MOMENTS 5
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

/* Variances below these are noise: 4.5 levels of luma, a hundredth of the distance */
#define LUMA_NOISE 20.0f
#define DISTANCE_NOISE 1e-4f

float8
distance_on_line (Moments sum, float8 luma, float8 distance)
{
  const float part = 1.0f / (SIDE * SIDE);
  float8 mean_luma = sum.luma * part;
  float8 mean_distance = sum.distance * part;
  float8 product = sum.product * part - mean_luma * mean_distance;
  float8 of_luma =
      max (sum.luma_square * part - mean_luma * mean_luma, 0.0f) + LUMA_NOISE;
  float8 of_distance =
      max (sum.distance_square * part - mean_distance * mean_distance, 0.0f)
      + DISTANCE_NOISE;
  float8 fitted = mean_distance + product / of_luma * (luma - mean_luma);
  float8 explained = product * product / (of_luma * of_distance);
  return distance + explained * (fitted - distance);
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
key_finely (FRAME (const, input), FRAME (, output), uint width, uint height, KEYER)
{
  __local float lumas[EDGE_ROWS * EDGE_COLUMNS];
  __local float distances[EDGE_ROWS * EDGE_COLUMNS];
  __local float moments[MOMENTS * MOMENT_PLANE];
  Keyer keyer = THE_KEYER;
  int x0 = get_group_id (0) * CORE_GROUPS * 8;
  int y0 = get_group_id (1) * CORE_ROWS;

  load_edges (
      THE_FRAME (input), width, height, x0 - 8, y0 - RADIUS, keyer, lumas, distances);
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
        keyed (pixels, colors_of_pixels (pixels), screen_of (keyer, x, y), distance, x, y,
            keyer));
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
